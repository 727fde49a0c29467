"""Telegram's Bot API, small and honest.

What it does as Telegram does: `/bot<token>/<method>` by GET and POST; parameters in the query string, urlencoded,
as JSON or multipart; method names in any case; lenient numbers; the envelope, the texts of errors and the order
of the checks (read in the source of tdlib/telegram-bot-api); per-chat message ids; texts cleaned and trimmed.

Methods: getMe, getChat, sendMessage. Every other method of Telegram's is answered "method not found".

What it does not do yet it answers with 501: texts with markup (a text without any special character of its
parse_mode is taken as plain), `entities`, and those parameters of sendMessage that change what is sent. It does
not detect links or hashtags in texts, and has no rate limits: `fail_next(429, ...)` plays them.
"""

import asyncio
import json
import re
import time
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from email.message import Message
from email.parser import BytesParser
from functools import partial
from http import HTTPStatus
from itertools import islice
from typing import Any, NamedTuple, cast
from urllib.parse import parse_qsl

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from pressroom.core.asgi import HANG_UP

EXAMPLE_TOKEN = "1000000001:sandbox-example-bot-of-pressroom-00"  # noqa: S105 - opens nothing but this sandbox

LEDGER_SIZE = 100_000
LEDGER_PAGE = 1_000
PARAMETERS_LIMIT = 1 << 20  # bytes, all together
TEXT_BYTES = 1 << 15  # as received
TEXT_LENGTH = 4096  # code points, once parsed and trimmed

Parameters = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Chat:
    id: int
    title: str
    type: str = "channel"
    username: str | None = None

    def as_json(self) -> dict[str, Any]:
        chat = {"id": self.id, "title": self.title, "type": self.type}
        return chat if self.username is None else {**chat, "username": self.username}


EXAMPLE_CHATS = (
    Chat(-1001000000001, "Example news", username="pressroom_example_news"),
    Chat(-1001000000002, "Example deals", username="pressroom_example_deals"),
)


@dataclass(frozen=True, slots=True)
class Bot:
    id: int
    username: str

    def as_json(self) -> dict[str, Any]:
        return {"id": self.id, "is_bot": True, "first_name": self.username, "username": self.username}


class Effect(NamedTuple):
    """Something that a real Telegram would have shown to people. `seq` counts from 1."""

    seq: int
    at: float
    bot: str
    chat: int
    method: str
    message_id: int
    text: str


class Refusal(Exception):
    """An answer with `ok: false`."""

    def __init__(self, code: int, description: str, parameters: Mapping[str, int] | None = None) -> None:
        super().__init__(description)
        self.code, self.description, self.parameters = code, description, parameters


@dataclass(slots=True)
class Fault:
    """What goes wrong with the next sends, in the order given. `chat` narrows it to one chat."""

    chat: int | None = None
    times: int = 1
    refusal: Refusal | None = None
    drop: bool = False
    seconds: float = 0.0
    before_effect: bool = True


class TelegramSandbox:
    """One emulated Bot API; an ASGI app. `bots` maps tokens to user names; `chats` come on top of the examples."""

    def __init__(
        self,
        *,
        bots: Mapping[str, str] | None = None,
        chats: Iterable[Chat] = (),
        ledger_size: int = LEDGER_SIZE,
    ) -> None:
        bots = {EXAMPLE_TOKEN: "pressroom_example_bot"} if bots is None else bots
        self._bots = {token: Bot(int(token.partition(":")[0]), username) for token, username in bots.items()}
        self._chats = {chat.id: chat for chat in (*EXAMPLE_CHATS, *chats)}
        self._names = {f"@{chat.username}".lower(): chat for chat in self._chats.values() if chat.username}
        self._last_message_id: dict[int, int] = {}
        self._ledger: deque[Effect] = deque(maxlen=ledger_size)
        self._total = 0
        self._news = asyncio.Event()
        self._faults: list[Fault] = []
        self._methods: dict[str, Callable[[Bot, Parameters], dict[str, Any]]] = {
            "getme": self._get_me,
            "getchat": self._get_chat,
            "sendmessage": self._send_message,
        }
        self._control = Starlette(
            routes=[
                Route("/sandbox/ledger", self._show_ledger, methods=["GET"]),
                Route("/sandbox/faults", self._plan_fault, methods=["POST"]),
            ],
            exception_handlers={404: _not_found, 405: _not_found},
        )

    # What happened

    @property
    def total(self) -> int:
        """How many effects there were, those that the ledger has dropped since included."""
        return self._total

    def effects(self, after: int = 0) -> list[Effect]:
        """What the ledger still holds of the effects after the one numbered `after`, oldest first."""
        newest_first = islice(reversed(self._ledger), max(self._total - after, 0))
        return list(newest_first)[::-1]

    def messages(self, chat: int) -> list[str]:
        """The texts in one chat, in order."""
        return [effect.text for effect in self._ledger if effect.chat == chat]

    def watch(self) -> AsyncIterator[Effect]:
        """Each effect from now on, as it happens. Who falls behind by more than the ledger holds misses some."""
        return self._watch(self._total)

    async def _watch(self, seen: int) -> AsyncIterator[Effect]:
        while True:
            news = self._news
            for effect in self.effects(seen):
                yield effect
                seen = effect.seq
            if seen >= self._total:
                await news.wait()

    # What goes wrong

    def fail_next(
        self,
        code: int,
        description: str | None = None,
        *,
        retry_after: timedelta | None = None,
        chat: int | None = None,
        times: int = 1,
    ) -> None:
        """Refuse the next sends, before they have any effect."""
        parameters = None
        if retry_after is not None:
            wait = int(retry_after.total_seconds())
            parameters = {"retry_after": wait}
            description = description or f"{_phrase(code)}: retry after {wait}"
        self._faults.append(Fault(chat, times, Refusal(code, description or _phrase(code), parameters)))

    def drop_next(self, *, before_effect: bool, chat: int | None = None, times: int = 1) -> None:
        """Close the connection of the next sends without an answer, before or after they had their effect."""
        self._faults.append(Fault(chat, times, drop=True, before_effect=before_effect))

    def slow_next(
        self, seconds: float, *, before_effect: bool = False, chat: int | None = None, times: int = 1
    ) -> None:
        """Wait before the answer of the next sends; the effect comes first, or only after the wait.

        A client that hangs up before the effect prevents it.
        """
        self._faults.append(Fault(chat, times, seconds=seconds, before_effect=before_effect))

    def heal(self) -> None:
        """Forget the faults that have not happened yet."""
        self._faults.clear()

    # The Bot API

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        path: str = scope.get("path", "")
        if scope["type"] != "http" or path.startswith("/sandbox/"):
            await self._control(scope, receive, send)
        elif not path.startswith("/bot") or "/" not in path[4:]:
            await _answer(send, *_refused(Refusal(404, "Not Found")))
        else:
            await self._bot_api(path, scope, receive, send)

    async def _bot_api(self, path: str, scope: Scope, receive: Receive, send: Send) -> None:
        token, _, name = path[4:].partition("/")
        try:
            parameters = await _read_parameters(scope, receive)
            bot = self._bot(token)
            method = self._method(name or parameters.get("method", ""))
            fault = self._take_fault(parameters) if self._faults and method == self._send_message else None
            if fault is None:
                result = method(bot, parameters)
            else:
                result = await _misbehave(fault, partial(method, bot, parameters), scope, receive)
        except Refusal as refusal:
            await _answer(send, *_refused(refusal), retry_after=(refusal.parameters or {}).get("retry_after"))
        else:
            if result is not None:
                await _answer(send, 200, _json({"ok": True, "result": result}))

    def _bot(self, token: str) -> Bot:
        bot = self._bots.get(token)
        if bot is not None:
            return bot
        if not re.fullmatch(r"[1-9]\d*:.*", token) or len(token) > 80:
            raise Refusal(401, "Unauthorized: invalid token specified")
        raise Refusal(401, "Unauthorized")

    def _method(self, name: str) -> Callable[[Bot, Parameters], dict[str, Any]]:
        method = self._methods.get(name.lower())
        if method is None:
            raise Refusal(404, "Not Found: method not found")
        return method

    def _chat(self, chat_id: str) -> Chat:
        if not chat_id:
            raise Refusal(400, "Bad Request: chat_id is empty")
        chat = self._names.get(chat_id.lower()) if chat_id[0] == "@" else self._chats.get(_integer(chat_id))
        if chat is None:
            raise Refusal(400, "Bad Request: chat not found")
        return chat

    def _get_me(self, bot: Bot, parameters: Parameters) -> dict[str, Any]:
        return {
            **bot.as_json(),
            "can_join_groups": True,
            "can_read_all_group_messages": False,
            "supports_inline_queries": False,
        }

    def _get_chat(self, bot: Bot, parameters: Parameters) -> dict[str, Any]:
        return {
            **self._chat(parameters.get("chat_id", "")).as_json(),
            "accent_color_id": 0,
            "max_reaction_count": 11,
            "accepted_gift_types": dict.fromkeys(
                (
                    "unlimited_gifts",
                    "limited_gifts",
                    "unique_gifts",
                    "premium_subscription",
                    "gifts_from_channels",
                ),
                False,
            ),
        }

    def _send_message(self, bot: Bot, parameters: Parameters) -> dict[str, Any]:
        text = _text(parameters)
        for name in NOT_YET:
            if parameters.get(name):
                raise Refusal(501, f"Not Implemented: the sandbox does not know {name} of sendMessage yet")
        chat = self._chat(parameters.get("chat_id", ""))
        if _integer(parameters.get("message_thread_id", "")):
            raise Refusal(400, "Bad Request: message thread not found")
        text = _trimmed(text)
        if not text:
            raise Refusal(400, "Bad Request: text must be non-empty")
        if len(text) > TEXT_LENGTH:
            raise Refusal(400, "Bad Request: message is too long")
        effect = self._happened(bot, chat, "sendMessage", text)
        shown = chat.as_json()
        sender = {"sender_chat": shown} if chat.type == "channel" else {"from": bot.as_json()}
        return {"message_id": effect.message_id, **sender, "chat": shown, "date": int(effect.at), "text": text}

    def _happened(self, bot: Bot, chat: Chat, method: str, text: str) -> Effect:
        message_id = self._last_message_id.get(chat.id, 0) + 1
        self._last_message_id[chat.id] = message_id
        self._total += 1
        effect = Effect(self._total, time.time(), bot.username, chat.id, method, message_id, text)
        self._ledger.append(effect)
        if not self._news.is_set():
            self._news.set()
            self._news = asyncio.Event()
        return effect

    def _take_fault(self, parameters: Parameters) -> Fault | None:
        chat_id = parameters.get("chat_id", "")
        chat = self._names.get(chat_id.lower()) or self._chats.get(_integer(chat_id))
        for fault in self._faults:
            if fault.chat is None or (chat is not None and fault.chat == chat.id):
                fault.times -= 1
                if fault.times <= 0:
                    self._faults.remove(fault)
                return fault
        return None

    # The control of the sandbox, which Telegram does not have

    async def _show_ledger(self, request: Request) -> JSONResponse:
        try:
            after = int(request.query_params.get("after", "0"))
        except ValueError:
            return JSONResponse({"error": "after is a number: the seq of the last effect you have seen"}, 422)
        page = self.effects(after)[:LEDGER_PAGE]
        return JSONResponse({"total": self._total, "effects": [effect._asdict() for effect in page]})

    async def _plan_fault(self, request: Request) -> JSONResponse:
        """`{"kind": "fail" | "drop" | "slow", ...}` with the arguments of `fail_next`, `drop_next`, `slow_next`."""
        try:
            wish: dict[str, Any] = dict(await request.json())
            kind = wish.pop("kind")
            if "retry_after" in wish:
                wish["retry_after"] = timedelta(seconds=wish["retry_after"])
            {"fail": self.fail_next, "drop": self.drop_next, "slow": self.slow_next}[kind](**wish)
        except (ValueError, KeyError, TypeError) as error:
            return JSONResponse({"error": f"not a fault: {error!r}"}, 422)
        return JSONResponse({"planned": len(self._faults)})


# Parameters of sendMessage that would change what is sent.
NOT_YET = (
    "entities",
    "reply_markup",
    "reply_parameters",
    "reply_to_message_id",
    "business_connection_id",
    "direct_messages_topic_id",
    "message_effect_id",
    "suggested_post_parameters",
)

# A text without any of these means the same in that mode as without a mode.
SPECIAL = {
    "html": re.compile("[<&]"),
    "markdown": re.compile(r"[_*`\[\\]"),
    "markdownv2": re.compile(r"[_*\[\]()~`>#+\-=|{}.!\\]"),
}
MODE_NAMES = {"html": "HTML", "markdown": "Markdown", "markdownv2": "MarkdownV2"}


def _text(parameters: Parameters) -> str:
    text = parameters.get("text", "")
    if not text:
        raise Refusal(400, "Bad Request: message text is empty")
    try:
        size = len(text.encode())
    except UnicodeEncodeError:
        raise Refusal(400, "Bad Request: strings must be encoded in UTF-8") from None
    if size > TEXT_BYTES:
        raise Refusal(400, "Bad Request: text is too long")
    mode = parameters.get("parse_mode", "").lower()
    if mode in ("", "none"):
        return text
    if mode not in SPECIAL:
        raise Refusal(400, "Bad Request: unsupported parse_mode")
    if SPECIAL[mode].search(text):
        raise Refusal(501, f"Not Implemented: the sandbox does not parse {MODE_NAMES[mode]} yet")
    return text


# td/telegram/misc.cpp, clean_input_string: control characters become spaces; these others vanish.
OFFENDING = re.compile("[\x00-\x09\x0b-\x1f\u2028-\u202e\u0333\u033f\u030a]")
VANISHING = frozenset("\r\u0333\u033f\u030a") | {chr(code) for code in range(0x2028, 0x202F)}


def _trimmed(text: str) -> str:
    cleaned = OFFENDING.sub(lambda found: "" if found[0] in VANISHING else " ", text)
    return cleaned.strip(" \n")


def _integer(text: str) -> int:
    """As the server reads integers: an optional minus and the digits that follow; 0 when there are none."""
    found = re.match(r"-?\d{1,19}", text, re.ASCII)
    return int(found[0]) if found else 0


def _phrase(code: int) -> str:
    try:
        return HTTPStatus(code).phrase
    except ValueError:
        return "Unknown Error"


async def _read_parameters(scope: Scope, receive: Receive) -> Parameters:
    """From the query string and the body; the first of a name counts, as it does at Telegram."""
    if scope["method"] not in ("GET", "POST"):
        raise Refusal(501, "Not Implemented")
    query: bytes = scope["query_string"]
    body = await _read_body(receive, PARAMETERS_LIMIT - len(query))
    found = _urlencoded(query) if query else []
    if body:
        kind = next((value for name, value in scope["headers"] if name == b"content-type"), b"").decode(
            "latin-1"
        )
        lowered = kind.lower()
        if "application/json" in lowered:
            found += _json_parameters(body)
        elif "application/x-www-form-urlencoded" in lowered:
            found += _urlencoded(body)
        elif "multipart/form-data" in lowered:
            found += _multipart(kind, body)
    return dict(reversed(found))


async def _read_body(receive: Receive, limit: int) -> bytes:
    message = await receive()
    body: bytes = message.get("body", b"")
    while message.get("more_body") and len(body) <= limit:
        message = await receive()
        body += message.get("body", b"")
    if len(body) > limit:
        raise Refusal(413, "Request Entity Too Large: too many parameters")
    return body


def _urlencoded(raw: bytes) -> list[tuple[str, str]]:
    return parse_qsl(raw.decode(errors="surrogateescape"), keep_blank_values=True, errors="surrogateescape")


def _json_parameters(raw: bytes) -> list[tuple[str, str]]:
    """What is no string keeps its JSON spelling. Without an object there are no parameters, and no complaint."""
    try:
        value = json.loads(raw)
    except (ValueError, RecursionError):
        return []
    if not isinstance(value, dict):
        return []
    given = cast("dict[str, object]", value)
    return [(name, value if isinstance(value, str) else json.dumps(value)) for name, value in given.items()]


def _multipart(kind: str, raw: bytes) -> list[tuple[str, str]]:
    """The fields; files are left out, because no method here takes one."""
    message = BytesParser().parsebytes(b"Content-Type: " + kind.encode("latin-1") + b"\r\n\r\n" + raw)
    if not message.is_multipart():
        raise Refusal(400, "Bad Request: boundary not found")
    fields: list[tuple[str, str]] = []
    for part in cast("list[Message]", message.get_payload()):
        name = part.get_param("name", header="content-disposition")
        if isinstance(name, str) and part.get_filename() is None:
            content = part.get_payload(decode=True)
            fields.append(
                (name, content.decode(errors="surrogateescape") if isinstance(content, bytes) else "")
            )
    return fields


def _json(value: object) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()


def _refused(refusal: Refusal) -> tuple[int, bytes]:
    answer: dict[str, Any] = {"ok": False, "error_code": refusal.code, "description": refusal.description}
    if refusal.parameters:
        answer["parameters"] = refusal.parameters
    return refusal.code, _json(answer)


async def _not_found(_request: Request, _error: Exception) -> JSONResponse:
    code, body = _refused(Refusal(404, "Not Found"))
    return JSONResponse(json.loads(body), code)


async def _answer(send: Send, status: int, body: bytes, *, retry_after: int | None = None) -> None:
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    if retry_after:
        headers.append((b"retry-after", str(retry_after).encode()))
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


async def _misbehave(
    fault: Fault, act: Callable[[], dict[str, Any]], scope: Scope, receive: Receive
) -> dict[str, Any] | None:
    """The result to answer with, late; None when there is nobody to answer any more."""
    if fault.refusal is not None:
        raise fault.refusal
    result = None if fault.before_effect else act()
    if fault.drop:
        await _hang_up(scope, receive)
        return None
    if await _disconnected_within(receive, fault.seconds):
        return None
    return act() if result is None else result


async def _hang_up(scope: Scope, receive: Receive) -> None:
    scope["extensions"][HANG_UP]["hang_up"]()
    while (await receive())["type"] != "http.disconnect":
        pass


async def _disconnected_within(receive: Receive, seconds: float) -> bool:
    """Wait that long, or until the client has gone."""
    try:
        async with asyncio.timeout(seconds):
            while (await receive())["type"] != "http.disconnect":
                pass
    except TimeoutError:
        return False
    return True
