"""Telegram's Bot API on this machine, written from tdlib/telegram-bot-api and the published documents.

- `app.py` answers `/bot<token>/<method>` and `/file/bot<token>/<path>`; `parameters.py` reads requests.
- `state.py` is what Telegram would know: bots, people, chats, messages. `model.py` says what each of them is.
- One module per family of methods (`messages.py`, `media.py`, `edits.py`, `updates.py` ...), each with its `METHODS`.
- `people.py` lets users act; `show.py` is what the window and the control API see.
"""

from pressroom.sandbox.telegram.app import TelegramSandbox
from pressroom.sandbox.telegram.model import Chat
from pressroom.sandbox.telegram.state import EXAMPLE_CHATS, EXAMPLE_TOKEN

__all__ = ["EXAMPLE_CHATS", "EXAMPLE_TOKEN", "Chat", "TelegramSandbox"]
