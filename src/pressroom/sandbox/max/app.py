"""The emulator as an ASGI app: the Bot API, the storage hosts that it names, and the control API beside them.

The checks of a request come in this order: the token in the query string, the token in the header, the path, the
method, the rate, the body, a planned fault, and then the method itself.
"""

import asyncio
import hashlib
import math
import re
from collections.abc import Awaitable, Iterable, Mapping
from datetime import timedelta
from typing import Any

from starlette.types import Receive, Scope, Send

from pressroom.sandbox.control import control_app
from pressroom.sandbox.core.faults import Fault
from pressroom.sandbox.core.wire import (
    Gone,
    TooLarge,
    answer,
    header,
    read_body,
    stranger,
    to_json,
    under_fault,
)
from pressroom.sandbox.core.world import Call, World
from pressroom.sandbox.max.attachments import Attachments
from pressroom.sandbox.max.callbacks import Callbacks
from pressroom.sandbox.max.chats import Chats
from pressroom.sandbox.max.errors import NAMED, Kept, Refusal, named, with_status
from pressroom.sandbox.max.messages import Messages
from pressroom.sandbox.max.methods import Methods
from pressroom.sandbox.max.model import Bot, ChatKind, NewChat, chat_of
from pressroom.sandbox.max.people import People
from pressroom.sandbox.max.provider import EXAMPLE_BOT, EXAMPLE_CHATS, EXAMPLE_TOKEN, MaxWorld
from pressroom.sandbox.max.rate import Rate
from pressroom.sandbox.max.request import Asked, number, query_of
from pressroom.sandbox.max.routes import Handler, Routes
from pressroom.sandbox.max.state import State
from pressroom.sandbox.max.storage import headers_of, read_file, show_file, ticket_of
from pressroom.sandbox.max.updates import MAILBOX, Updates
from pressroom.sandbox.max.uploads import MEDIA_BYTES, PROCESSING, Rejected, Stored, Uploads

RATE_LIMIT, POLLING_RATE = 30, 2  # requests a second, per bot
BODY_BYTES = 1 << 20
MOST_BOTS = 10_000
LONGEST_NOTE = 300  # characters of a path or a refusal in `world.calls`
UPLOAD = "POST upload"  # how faults and calls name a request to a storage host

_PLAUSIBLE = re.compile(r"[A-Za-z0-9_\-.:=+/]{20,256}")
_HOST = re.compile(r"[A-Za-z0-9.\-_]{1,255}(?::\d{1,5})?|\[[0-9A-Fa-f:.]{2,45}\](?::\d{1,5})?")


class _Progress:
    """What is known of a request so far, for `world.calls`."""

    def __init__(self, method: str) -> None:
        self.method = method
        self.bot = ""
        self.chat: int | None = None
        self.description = ""


class MaxSandbox(MaxWorld):
    """`bots` maps tokens to user names; `chats` come on top of the examples.

    `any_token` makes a bot of every plausible token. `processing` says how long uploads of a kind are not ready,
    `token_lifetime` how long their tokens hold (None: for ever). `rate_limit` and `polling_rate` count requests per
    second of the sandbox's clock and bot; None switches them off. `fetch_images=False` believes addresses of images.
    """

    def __init__(
        self,
        world: World | None = None,
        *,
        bots: Mapping[str, str] | None = None,
        chats: Iterable[NewChat] = (),
        any_token: bool = False,
        rate_limit: int | None = RATE_LIMIT,
        polling_rate: int | None = POLLING_RATE,
        media_bytes: int = MEDIA_BYTES,
        processing: Mapping[str, timedelta] = PROCESSING,
        token_lifetime: timedelta | None = None,
        newest_only: bool = True,
        strict_webhooks: bool = False,
        fetch_images: bool = True,
        mailbox: int = MAILBOX,
    ) -> None:
        self.world = world = World() if world is None else world
        self._state = state = State(world)
        self._updates = updates = Updates(
            world, state, newest_only=newest_only, strict_webhooks=strict_webhooks, mailbox=mailbox
        )
        self.uploads = uploads = Uploads(
            world, media_bytes=media_bytes, processing=processing, token_lifetime=token_lifetime
        )
        messages = Messages(world, state, updates, Attachments(world, state, uploads, fetch=fetch_images))
        group_chats = Chats(world, state, updates, uploads, messages)
        callbacks = Callbacks(world, state, updates, messages)
        self._people = People(world, state, updates, uploads, messages, group_chats, callbacks)
        self._routes = Routes(Methods(state, updates, uploads, messages, group_chats, callbacks).table())
        self._any_token, self._rate_limit = any_token, rate_limit
        self._polling_rate = polling_rate if rate_limit is not None else None
        self._rates: dict[tuple[int, str], Rate] = {}
        for token, username in ({EXAMPLE_TOKEN: EXAMPLE_BOT} if bots is None else bots).items():
            state.add_bot(token, username)
        state.begin_with((*EXAMPLE_CHATS, *chats))
        world.providers[self.name] = self
        world.ledger.on_forget(self.name, self.forget)
        self._control = control_app(world)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        path: str = scope.get("path", "")
        if scope["type"] != "http" or path == "/sandbox" or path.startswith("/sandbox/"):
            await self._control(scope, receive, send)
            return
        if not self.world.any_host and (name := stranger(scope)):
            refusal = Refusal(403, "access.denied", f"The sandbox does not answer to {name!r}")
            await answer(send, refusal.status, to_json(refusal.as_json()))
            return
        try:
            if path.startswith("/upload/"):
                await self._storage(path, scope, receive, send)
            elif path.startswith("/media/"):
                await show_file(self.uploads, path, scope, send)
            else:
                await self._bot_api(path, scope, receive, send)
        except Gone:
            return

    # The Bot API

    async def _bot_api(self, path: str, scope: Scope, receive: Receive, send: Send) -> None:
        progress = _Progress(f"{scope['method']} {path}"[:LONGEST_NOTE])
        status, wait = 200, None
        try:
            result: Mapping[str, Any] = await self._result(progress, path, scope, receive)
        except Refusal as refusal:
            status, result, wait = refusal.status, refusal.as_json(), refusal.retry_after
            progress.description = f"{refusal.code}: {refusal.message}"
        except Kept as kept:
            result = {"success": False, "message": str(kept)}
            progress.description = str(kept)
        except Gone:
            self._note(progress, 0)
            raise
        self._note(progress, status)
        headers = () if wait is None else ((b"retry-after", str(wait).encode()),)
        kind = b"application/json; charset=utf-8"
        await answer(send, status, to_json(result), content_type=kind, headers=headers)

    async def _result(self, progress: _Progress, path: str, scope: Scope, receive: Receive) -> dict[str, Any]:
        query = query_of(scope["query_string"])
        if "access_token" in query:
            raise Refusal(
                403,
                "deprecated.token",
                "Query parameter access_token is deprecated, use Authorization header",
            )
        bot = self._bot(header(scope, b"authorization"))
        progress.bot = bot.username or ""
        found = self._routes.find(scope["method"], path)
        progress.method = found.method
        self._check_rate(bot, found.method)
        origin = _origin(scope) or bot.origin
        asked = Asked(bot, found.method, found.path, query, await _body(receive), origin)
        progress.chat = self._chat_of(asked)
        bot.active_at, bot.origin = self._state.now(), origin
        return await self._under_faults(asked, progress.chat, found.handler, scope, receive)

    async def _under_faults(
        self, asked: Asked, chat: int | None, handler: Handler, scope: Scope, receive: Receive
    ) -> dict[str, Any]:
        fault = self._fault(asked.bot, chat, asked.method)
        if fault is not None:
            refusal = self._planned(fault, chat)
            return await under_fault(fault, refusal, lambda: _done(asked, handler, receive), scope, receive)
        return await _done(asked, handler, receive)

    def _fault(self, bot: Bot, chat: int | None, method: str) -> Fault | None:
        faults = self.world.faults
        return faults.take(self.name, bot.username or "", chat, method) if faults else None

    def _planned(self, fault: Fault, chat_id: int | None) -> Refusal:
        """What the fault names, else what its code means; its own words come before both."""
        chat = self._state.chats.get(chat_id or 0)
        dialog = chat is not None and chat.kind is ChatKind.DIALOG
        user = self._state.person_of(chat).id if chat is not None and dialog else 0
        if fault.name in NAMED:
            refusal = named(fault.name, user=user)
        elif fault.name is not None:
            refusal = Refusal(fault.code or 400, fault.name, fault.name)
        else:
            refusal = with_status(fault.code or 500)
        wait = None if fault.retry_after is None else max(math.ceil(fault.retry_after), 0)
        return Refusal(
            fault.code or refusal.status,
            refusal.code,
            fault.description or refusal.message,
            retry_after=wait,
        )

    def _bot(self, token: str) -> Bot:
        if not token:
            raise Refusal(401, "verify.token", "Empty access_token")
        bot = self._state.bots.get(token)
        if bot is None:
            if not self._any_token or not _PLAUSIBLE.fullmatch(token) or len(self._state.bots) >= MOST_BOTS:
                raise named("unauthorized")
            bot = self._state.add_bot(token, f"bot_{hashlib.sha256(token.encode()).hexdigest()[:8]}")
        return bot

    def _check_rate(self, bot: Bot, method: str) -> None:
        limits = [("all", self._rate_limit)]
        if method == "GET /updates":
            limits.append(("polling", self._polling_rate))
        for what, limit in limits:
            if limit is None:
                continue
            rate = self._rates.get((bot.id, what))
            if rate is None:
                rate = self._rates[bot.id, what] = Rate(limit, self.world.clock.now)
            if not rate.allows():
                raise named("flood")

    def _chat_of(self, asked: Asked) -> int | None:
        """The chat that a request is about, for faults and calls; None where it does not say or says nonsense."""
        try:
            if "chatId" in asked.path:
                return number("chatId", asked.path["chatId"])
            if "chat_id" in asked.query:
                return asked.number("chat_id")
            if "user_id" in asked.query:
                return (asked.number("user_id") or 0) ^ asked.bot.id
        except Refusal:
            return None
        pressed = self._state.pressed.get(asked.query.get("callback_id", ""))
        mid = asked.query.get("message_id") or asked.path.get("messageId") or (pressed.mid if pressed else "")
        return chat_of(mid)

    # The storage hosts

    async def _storage(self, path: str, scope: Scope, receive: Receive, send: Send) -> None:
        progress = _Progress(UPLOAD)
        try:
            stored = await self._store(progress, path, scope, receive)
        except Rejected as rejected:
            progress.description = rejected.reason
            stored = rejected.answer()
        except Gone:
            self._note(progress, 0)
            raise
        self._note(progress, stored.status)
        await answer(send, stored.status, stored.body, content_type=stored.type)

    async def _store(self, progress: _Progress, path: str, scope: Scope, receive: Receive) -> Stored:
        ticket = ticket_of(self.uploads, scope["method"], path)
        progress.bot = ticket.bot.username or ""
        body, headers = await read_file(self.uploads, ticket, receive), headers_of(scope)
        fault = self._fault(ticket.bot, None, UPLOAD)
        if fault is None:
            return self.uploads.take(ticket, headers, body)
        said = self._planned(fault, None)
        rejected = Rejected(said.status, str(said.status), said.message)
        return await under_fault(
            fault, rejected, lambda: self.uploads.take(ticket, headers, body), scope, receive
        )

    def _note(self, progress: _Progress, status: int) -> None:
        self.world.calls.append(
            Call(
                self.world.clock.now(),
                self.name,
                progress.bot,
                progress.method,
                progress.chat,
                status,
                progress.description[:LONGEST_NOTE],
            )
        )


async def _body(receive: Receive) -> bytes:
    try:
        return await read_body(receive, BODY_BYTES)
    except TooLarge:
        raise Refusal(413, "proto.payload", "Request body is too large") from None


def _origin(scope: Scope) -> str:
    """Where the client came to; empty when it does not say so in a way that could be true."""
    host = header(scope, b"host")
    return f"{scope.get('scheme', 'http')}://{host}" if _HOST.fullmatch(host) else ""


async def _done(asked: Asked, handler: Handler, receive: Receive) -> dict[str, Any]:
    """What the method gives. A poll ends when its client leaves; everything else is brought to its end."""
    result = handler(asked)
    if isinstance(result, dict):
        return result
    return await (_unless_gone(result, receive) if asked.method == "GET /updates" else result)


async def _unless_gone(waiting: Awaitable[dict[str, Any]], receive: Receive) -> dict[str, Any]:
    """What is waited for, unless the client leaves before it is there."""
    polling, leaving = asyncio.ensure_future(waiting), asyncio.ensure_future(_left(receive))
    try:
        await asyncio.wait({polling, leaving}, return_when=asyncio.FIRST_COMPLETED)
        if not polling.done():
            raise Gone
        return polling.result()
    finally:
        for task in (polling, leaving):
            task.cancel()
        await asyncio.gather(polling, leaving, return_exceptions=True)


async def _left(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
