"""The emulator as an ASGI app: `/bot<token>/<method>`, `/file/bot<token>/<path>`, and the control API below `/sandbox`.

Tokens are looked at before methods, methods before parameters; a planned fault comes after all three.
"""

import inspect
import re
from collections.abc import AsyncIterator, Iterable, Mapping
from typing import Any

from starlette.types import Receive, Scope, Send

from pressroom.sandbox.control import control_app
from pressroom.sandbox.core.emulator import Emulator
from pressroom.sandbox.core.faults import Fault, Kind
from pressroom.sandbox.core.ledger import SIZE, Effect
from pressroom.sandbox.core.wire import Gone, answer, stranger, to_json, under_fault
from pressroom.sandbox.core.world import Call, World
from pressroom.sandbox.telegram import (
    absent,
    chats,
    commands,
    copies,
    edits,
    media,
    messages,
    moderation,
    topics,
)
from pressroom.sandbox.telegram.callbacks import Callbacks
from pressroom.sandbox.telegram.deeds import Deeds
from pressroom.sandbox.telegram.files import CONTENT_BYTES
from pressroom.sandbox.telegram.model import Bot, Chat
from pressroom.sandbox.telegram.parameters import Parameters, read_parameters
from pressroom.sandbox.telegram.people import People, Person
from pressroom.sandbox.telegram.rates import Rates
from pressroom.sandbox.telegram.refusal import NAMED, Refusal, planned
from pressroom.sandbox.telegram.request import Answer, Method, Request
from pressroom.sandbox.telegram.saved import restore, saved
from pressroom.sandbox.telegram.show import Show
from pressroom.sandbox.telegram.state import EXAMPLE_BOT, EXAMPLE_TOKEN, PROVIDER, State, example_chats
from pressroom.sandbox.telegram.updates import ROOM, Updates
from pressroom.sandbox.telegram.webhooks import Webhooks

#: Every method by its documented name.
METHODS: Mapping[str, Method] = {
    **absent.METHODS,
    **chats.METHODS,
    **commands.METHODS,
    **copies.METHODS,
    **edits.METHODS,
    **media.METHODS,
    **messages.METHODS,
    **moderation.METHODS,
    **topics.METHODS,
}


#: What faults call the download of a file, which is no method.
DOWNLOAD = "download"
#: Beyond them no token makes a bot of its own.
MOST_BOTS = 10_000
#: As much of a request is noted as somebody would read.
METHOD_LENGTH, SAID_LENGTH = 100, 1_000


def _by_small_name(methods: Mapping[str, Method]) -> dict[str, tuple[str, Method]]:
    return {name.lower(): (name, method) for name, method in methods.items()}


#: What methods were called once, and still may be.
FORMER_NAMES = {
    "getchatmemberscount": "getChatMemberCount",
    "kickchatmember": "banChatMember",
    "setstickersetthumb": "setStickerSetThumbnail",
}
_BY_SMALL_NAME = {
    **_by_small_name(METHODS),
    **{former: (name, METHODS[name]) for former, name in FORMER_NAMES.items()},
}


class TelegramSandbox(Show, Emulator):
    """One emulated Bot API. `bots` maps tokens to user names; `chats` come on top of the examples.

    With `any_token` each well-formed token is a bot of its own, made when it first calls. With `strict_webhooks` they
    need https, a port of Telegram's and a second between two of them. With `rate_limits` who sends too fast is told to
    wait. `updates_kept` bounds what waits for each bot, `media_bytes` the contents of files.
    """

    errors = NAMED

    def __init__(
        self,
        world: World | None = None,
        *,
        bots: Mapping[str, str] | None = None,
        chats: Iterable[Chat] = (),
        any_token: bool = False,
        strict_webhooks: bool = False,
        rate_limits: bool = False,
        media_bytes: int = CONTENT_BYTES,
        updates_kept: int = ROOM,
        ledger_size: int = SIZE,
    ) -> None:
        self.world = world or World(ledger_size=ledger_size)
        state = State(
            self.world,
            bots={EXAMPLE_TOKEN: EXAMPLE_BOT} if bots is None else bots,
            chats=[*example_chats(), *chats],
            any_token=any_token,
            media_bytes=media_bytes,
        )
        if rate_limits:
            state.rates = Rates(self.world.clock.now)
        self._updates = Updates(state, updates_kept)
        self._webhooks = Webhooks(state, self._updates, self._answered, strict=strict_webhooks)
        self._callbacks = Callbacks(state, self._updates)
        self._people = People(state, self._callbacks)
        super().__init__(state, Deeds(state, self._people))
        hearing = {**self._updates.methods, **self._webhooks.methods, **self._callbacks.methods}
        self._methods = {**_BY_SMALL_NAME, **_by_small_name(hearing)}
        self._control = control_app(self.world)
        self.world.providers[PROVIDER] = self

    # What happened

    @property
    def total(self) -> int:
        """How many effects there were, those that the ledger has dropped since included."""
        return self.world.ledger.total

    def messages(self, chat: int) -> list[str]:
        """The texts that were sent to one chat, in order."""
        return [
            effect.text
            for effect in self.world.ledger.effects(provider=PROVIDER, chat=chat)
            if effect.method.startswith("send")
        ]

    def watch(self) -> AsyncIterator[Effect]:
        """Each effect from now on, as it happens. Who falls behind by more than the ledger holds misses some."""
        return self.world.ledger.watch()

    # Who acts

    def person(self, name: str, **wish: str) -> Person:
        """Somebody of that name; a new one is made with `username`, `last_name`, `language`."""
        known = next((one for one in self._state.people.values() if one.first_name == name), None)
        return Person(self._people, self._state, known or self._state.add_person(name, **wish))

    # Saved state

    def state(self) -> dict[str, Any]:
        return {
            **saved(self._state),
            "updates": self._updates.state(),
            "webhooks": self._webhooks.state(),
            "callbacks": self._callbacks.state(),
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """Webhooks go on at once, so that this needs a running event loop."""
        self._updates.clear()
        self._webhooks.clear()
        self._callbacks.clear()
        restore(self._state, state)
        self._updates.restore(state["updates"])
        self._callbacks.restore(state["callbacks"])
        self._webhooks.restore(state["webhooks"])

    async def aclose(self) -> None:
        """Whoever polls is answered, and webhooks get no more."""
        self._updates.close()
        await self._webhooks.aclose()

    # The Bot API

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        path: str = scope.get("path", "")
        if scope["type"] != "http" or path.startswith("/sandbox"):
            await self._control(scope, receive, send)
        elif not self.world.any_host and (name := stranger(scope)):
            await _refuse(send, Refusal(403, f"Forbidden: the sandbox does not answer to {name!r}"))
        elif path.startswith("/file/bot"):
            await self._download(path, scope, receive, send)
        elif not path.startswith("/bot") or "/" not in path[4:]:
            await _refuse(send, Refusal(404, "Not Found"))
        else:
            await self._bot_api(path, scope, receive, send)

    async def _download(self, path: str, scope: Scope, receive: Receive, send: Send) -> None:
        token, _, given = path.removeprefix("/file/bot").partition("/")
        given = given.removeprefix("test/")
        try:
            bot = self._bot(token)
            fault = self._take_fault(bot, None, DOWNLOAD) if self.world.faults else None
            if fault is not None:
                await under_fault(fault, planned(fault), lambda: None, scope, receive)
            content = self._state.files.download(bot.id, given)
        except Refusal as refusal:
            await _refuse(send, refusal)
            return
        except Gone:
            return
        if content is None:
            await _refuse(send, Refusal(404, "Not Found"))
        else:
            await answer(send, 200, content, content_type=b"application/octet-stream")

    async def _bot_api(self, path: str, scope: Scope, receive: Receive, send: Send) -> None:
        token, _, given = path[4:].partition("/")
        if given.startswith("test"):  # the test environment, which is this same world
            if given[4:5] != "/":
                await _refuse(send, Refusal(404, "Not Found"))
                return
            given = given[5:]
        bot, name, parameters = None, given, None
        try:
            parameters = await read_parameters(scope, receive)
            bot = self._bot(token)
            name, method = self._method(given or parameters.text("method"))
            request = Request(self._state, bot, parameters, name, receive)
            fault = self._fault(request) if self.world.faults else None
            if fault is None:
                result = method(request)
                if inspect.isawaitable(result):
                    result = await result
            else:
                result = await under_fault(fault, planned(fault), lambda: method(request), scope, receive)
        except Refusal as refusal:
            self._note(bot, name, parameters, refusal.code, refusal.description)
            await _refuse(send, refusal)
        except Gone:
            self._note(bot, name, parameters, 0, "the connection was cut")
        else:
            self._note(bot, name, parameters, 200, "")
            await answer(send, 200, _done(result))

    async def _answered(self, bot: Bot, method: str, parameters: Parameters) -> None:
        """What a webhook's answer asks for. Nobody hears of the result; a fault prevents it, delays it or is noted."""
        status, said = 200, ""
        try:
            method, act = self._method(method)
            request = Request(self._state, bot, parameters, method)
            fault = self._fault(request) if self.world.faults else None
            if fault is not None and fault.before_effect:
                await self._play(fault)
            result = act(request)
            if inspect.isawaitable(result):
                await result
            if fault is not None and not fault.before_effect:
                await self._play(fault)
        except Refusal as refusal:
            status, said = refusal.code, refusal.description
        self._note(bot, method, parameters, status, said)

    async def _play(self, fault: Fault) -> None:
        """A fault of a call for which nobody waits."""
        if fault.kind is Kind.SLOW:
            await self.world.clock.wait(fault.seconds)
        elif fault.kind is Kind.DROP:
            raise Refusal(0, "the connection was cut")
        else:
            raise planned(fault)

    def _bot(self, token: str) -> Bot:
        bot = self._state.bots.get(token)
        if bot is not None:
            return bot
        number = _bot_id(token)
        if not self._state.any_token:
            raise Refusal(401, "Unauthorized")
        known = self._state.bots_by_id.get(number)
        if known is not None:
            return known
        if len(self._state.bots_by_id) >= MOST_BOTS:
            raise Refusal(401, "Unauthorized")
        return self._state.add_bot(token, f"bot_{number}_bot")

    def _method(self, name: str) -> tuple[str, Method]:
        try:
            return self._methods[name.lower()]
        except KeyError:
            raise Refusal(404, "Not Found: method not found") from None

    def _fault(self, request: Request) -> Fault | None:
        chat = self._state.chat_for(request.bot, request.parameters.text("chat_id"))
        return self._take_fault(request.bot, None if chat is None else chat.key, request.method)

    def _take_fault(self, bot: Bot, chat: int | None, method: str) -> Fault | None:
        return self.world.faults.take(PROVIDER, bot.username or "", chat, method)

    def _note(
        self, bot: Bot | None, method: str, parameters: Parameters | None, status: int, said: str
    ) -> None:
        chat = None
        if bot is not None and parameters is not None and (given := parameters.text("chat_id")):
            found = self._state.chat_for(bot, given)
            chat = None if found is None else found.key
        name = "" if bot is None else bot.username or ""
        method, said = method[:METHOD_LENGTH], said[:SAID_LENGTH]
        self.world.calls.append(Call(self.world.clock.now(), PROVIDER, name, method, chat, status, said))


def _bot_id(token: str) -> int:
    """The number before the colon; refused as `ClientManager::send` refuses."""
    number, colon, _ = token.partition(":")
    if not colon or number[:1] == "0" or len(token) > 80:
        raise Refusal(401, "Unauthorized: invalid token specified")
    if not re.fullmatch(r"-?[1-9]\d*", number, re.ASCII) or not -(1 << 63) <= int(number) < 1 << 63:
        raise Refusal(421, "Misdirected Request: unallowed token specified")
    if not 0 < int(number) < 1 << 54:
        raise Refusal(401, "Unauthorized: invalid token specified")
    return int(number)


def _done(result: Any) -> bytes:
    if not isinstance(result, Answer):
        return to_json({"ok": True, "result": result})
    described = b',"description":' + to_json(result.description) if result.description else b""
    return b'{"ok":true,"result":' + result.result + described + b"}"


async def _refuse(send: Send, refusal: Refusal) -> None:
    wait = (refusal.parameters or {}).get("retry_after")
    headers = ((b"retry-after", str(wait).encode()),) if wait else ()
    await answer(send, refusal.code, to_json(refusal.as_json()), headers=headers)
