"""Telegram's Bot API on this machine, written from tdlib/telegram-bot-api and the published documents.

- `app.py` answers `/bot<token>/<method>` and `/file/bot<token>/<path>`; `parameters.py` reads requests.
- `state.py` is what Telegram would know: bots, people, chats, messages. `model.py` says what each of them is.
- One module per family of methods (`messages.py`, `media.py`, `edits.py` ...), each with its `METHODS`.
- `updates.py`, `webhooks.py` and `callbacks.py` are how bots hear of things; `hearing.py` says which bot hears what.
- `people.py` lets users act; `show.py` is what the window and the control API see, `deeds.py` what they may do there,
  and `saved.py` what a state file keeps.
"""

from pressroom.sandbox.telegram.app import TelegramSandbox
from pressroom.sandbox.telegram.model import Chat
from pressroom.sandbox.telegram.state import EXAMPLE_CHATS, EXAMPLE_TOKEN

__all__ = ["EXAMPLE_CHATS", "EXAMPLE_TOKEN", "Chat", "TelegramSandbox"]
