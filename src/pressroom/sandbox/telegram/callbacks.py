"""Inline buttons that were pressed: callback queries, and what the bot answers the person with."""

from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from hashlib import sha256
from typing import Any
from urllib.parse import urlsplit

from pressroom.sandbox.telegram.model import Bot, Chat, Message, User
from pressroom.sandbox.telegram.parameters import Parameters
from pressroom.sandbox.telegram.refusal import bad_request
from pressroom.sandbox.telegram.request import Answer, Method, Request
from pressroom.sandbox.telegram.shown import message_json
from pressroom.sandbox.telegram.state import State
from pressroom.sandbox.telegram.updates import Updates

PATIENCE = 150  # seconds that Telegram waits for an answer: as long as the update lives
TEXT_LENGTH = 200
OPEN_QUERIES = 100_000


@dataclass(slots=True)
class Query:
    bot_id: int
    person_id: int
    chat: int  # its key
    message_id: int
    asked_at: float


class Callbacks:
    def __init__(self, state: State, updates: Updates) -> None:
        self._state, self._updates = state, updates
        self._open: OrderedDict[int, Query] = OrderedDict()
        self.methods: dict[str, Method] = {"answerCallbackQuery": self.answer_callback_query}

    def ask(self, person: User, chat: Chat, message: Message, data: str) -> str:
        """A button with data was pressed; the bot whose message it is hears of it. The query's id."""
        bot = message.author
        if not isinstance(bot, Bot):
            raise TypeError("only bots' messages have buttons that ask")
        now = self._state.world.clock.now()
        number = self._state.world.chance.getrandbits(63)
        self._drop_old(now)
        self._open[number] = Query(bot.id, person.id, chat.key, message.id, now)
        self._state.record(chat, person, "presses", message.id, data, {"callback_query_id": str(number)})
        said = {
            "id": str(number),
            "from": person.as_json(),
            "message": message_json(self._state, bot, chat, message),
            "chat_instance": self._instance(chat),
            "data": data,
        }
        self._updates.tell(bot, "callback_query", said, person.id, chat, now)
        return str(number)

    def answer_callback_query(self, request: Request) -> Answer:
        """What Telegram refuses here it refuses behind the Bot API's server, after it looked for the query."""
        parameters = request.parameters
        number = parameters.integer("callback_query_id")
        text, url = parameters.text("text"), parameters.text("url")
        for given in (text, url):
            if any("\ud800" <= one <= "\udfff" for one in given):
                raise bad_request("Strings must be encoded in UTF-8")
        query = self._open.get(number)
        if query is None or query.bot_id != request.bot.id or self._is_late(query):
            raise bad_request("query is too old and response timeout expired or query ID is invalid")
        if len(text) > TEXT_LENGTH:
            raise bad_request("MESSAGE_TOO_LONG")
        if url and not _opens(url, request.bot):
            raise bad_request("URL_INVALID")
        chat = self._state.chat_of_key(query.chat)
        if chat is not None:
            shown = _shown(number, query, parameters)
            self._state.record(chat, request.bot, "answerCallbackQuery", query.message_id, text, shown)
        return Answer(b"true")

    def _is_late(self, query: Query) -> bool:
        return self._state.world.clock.now() > query.asked_at + PATIENCE

    def _drop_old(self, now: float) -> None:
        while self._open:
            oldest = next(iter(self._open))
            if now <= self._open[oldest].asked_at + PATIENCE and len(self._open) < OPEN_QUERIES:
                return
            del self._open[oldest]

    def _instance(self, chat: Chat) -> str:
        """One for each chat, the same for all of its messages."""
        digest = sha256(f"chat instance {self._state.world.seed} {chat.key}".encode()).digest()
        return str(int.from_bytes(digest[:8], "big", signed=True))

    def clear(self) -> None:
        self._open.clear()

    def state(self) -> dict[str, Any]:
        return {str(number): asdict(query) for number, query in self._open.items()}

    def restore(self, state: Mapping[str, Any]) -> None:
        for number, saved in state.items():
            self._open[int(number)] = Query(**saved)


def _shown(number: int, query: Query, parameters: Parameters) -> dict[str, Any]:
    """What the person sees: a passing notice, an alert, or a page that opens."""
    shown: dict[str, Any] = {"callback_query_id": str(number), "person": query.person_id}
    if parameters.truth("show_alert"):
        shown["alert"] = True
    if url := parameters.text("url"):
        shown["url"] = url
    return shown


def _opens(url: str, bot: Bot) -> bool:
    """Without a game only the bot itself can be opened."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return False
    name = (bot.username or "").lower()
    if parts.scheme in ("http", "https") and (parts.hostname or "") in ("t.me", "telegram.me", "telegram.dog"):
        return parts.path.strip("/").lower() == name
    return parts.scheme == "tg" and f"domain={name}" in parts.query.lower()
