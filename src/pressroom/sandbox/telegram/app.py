"""The emulator as an ASGI app: `/bot<token>/<method>`, `/file/bot<token>/<path>`, and the control API below `/sandbox`.

Tokens are looked at before methods, methods before parameters; a planned fault comes after all three.
"""

import inspect
import re
from collections.abc import AsyncIterator, Iterable, Mapping
from datetime import timedelta

from starlette.types import Receive, Scope, Send

from pressroom.sandbox.control import control_app
from pressroom.sandbox.core.faults import Fault, Kind
from pressroom.sandbox.core.ledger import SIZE, Effect
from pressroom.sandbox.core.wire import Gone, answer, to_json, under_fault
from pressroom.sandbox.core.world import Call, World
from pressroom.sandbox.telegram import chats, messages
from pressroom.sandbox.telegram.model import Bot, Chat
from pressroom.sandbox.telegram.parameters import Parameters, read_parameters
from pressroom.sandbox.telegram.refusal import Refusal, planned
from pressroom.sandbox.telegram.request import Method, Request
from pressroom.sandbox.telegram.state import EXAMPLE_BOT, EXAMPLE_TOKEN, PROVIDER, State, example_chats

#: Every method by its documented name.
METHODS: Mapping[str, Method] = {**chats.METHODS, **messages.METHODS}
_BY_SMALL_NAME = {name.lower(): (name, method) for name, method in METHODS.items()}


class TelegramSandbox:
    """One emulated Bot API. `bots` maps tokens to user names; `chats` come on top of the examples.

    With `any_token` each well-formed token is a bot of its own, made when it first calls.
    """

    name = PROVIDER

    def __init__(
        self,
        world: World | None = None,
        *,
        bots: Mapping[str, str] | None = None,
        chats: Iterable[Chat] = (),
        any_token: bool = False,
        ledger_size: int = SIZE,
    ) -> None:
        self.world = world or World(ledger_size=ledger_size)
        self.state = State(
            self.world,
            bots={EXAMPLE_TOKEN: EXAMPLE_BOT} if bots is None else bots,
            chats=[*example_chats(), *chats],
            any_token=any_token,
        )
        self._control = control_app(self.world)

    # What happened

    @property
    def total(self) -> int:
        """How many effects there were, those that the ledger has dropped since included."""
        return self.world.ledger.total

    def effects(self, after: int = 0) -> list[Effect]:
        """What the ledger still holds of the effects after the one numbered `after`, oldest first."""
        return self.world.ledger.effects(after, provider=PROVIDER)

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

    # What goes wrong

    def fail_next(
        self,
        code: int | None = None,
        description: str | None = None,
        *,
        name: str | None = None,
        retry_after: timedelta | None = None,
        chat: int | None = None,
        times: int | None = 1,
        method: str = "send*",
    ) -> Fault:
        """Refuse the next calls, before they have any effect: with a code, or with an error of `refusal.NAMED`."""
        wait = None if retry_after is None else retry_after.total_seconds()
        return self._plan(
            Fault(
                Kind.FAIL, PROVIDER, chat=chat, times=times, method=method,
                code=code, description=description, name=name, retry_after=wait,
            )
        )  # fmt: skip

    def drop_next(
        self, *, before_effect: bool, chat: int | None = None, times: int | None = 1, method: str = "send*"
    ) -> Fault:
        """Close the connection of the next calls without an answer, before or after they had their effect."""
        return self._plan(
            Fault(Kind.DROP, PROVIDER, chat=chat, times=times, method=method, before_effect=before_effect)
        )

    def slow_next(
        self,
        seconds: float,
        *,
        before_effect: bool = False,
        chat: int | None = None,
        times: int | None = 1,
        method: str = "send*",
    ) -> Fault:
        """Wait before the answer of the next calls; the effect comes first, or only after the wait.

        A client that hangs up before the effect prevents it.
        """
        return self._plan(
            Fault(
                Kind.SLOW, PROVIDER, chat=chat, times=times, method=method,
                seconds=seconds, before_effect=before_effect,
            )
        )  # fmt: skip

    def _plan(self, fault: Fault) -> Fault:
        return self.world.faults.plan(fault)

    def heal(self) -> None:
        """Forget the faults that have not happened yet."""
        self.world.faults.heal()

    # The Bot API

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        path: str = scope.get("path", "")
        if scope["type"] != "http" or path.startswith("/sandbox"):
            await self._control(scope, receive, send)
        elif not path.startswith("/bot") or "/" not in path[4:]:
            await _refuse(send, Refusal(404, "Not Found"))
        else:
            await self._bot_api(path, scope, receive, send)

    async def _bot_api(self, path: str, scope: Scope, receive: Receive, send: Send) -> None:
        token, _, given = path[4:].partition("/")
        bot, name, parameters = None, given, None
        try:
            parameters = await read_parameters(scope, receive)
            bot = self._bot(token)
            name, method = self._method(given or parameters.text("method"))
            request = Request(self.state, bot, parameters, name)
            fault = self._fault(request) if self.world.faults else None
            if fault is None:
                result = method(request)
                if inspect.isawaitable(result):
                    result = await result
            else:
                result = await under_fault(fault, lambda: method(request), scope, receive)
        except Refusal as refusal:
            self._note(bot, name, parameters, refusal.code, refusal.description)
            await _refuse(send, refusal)
        except Gone:
            self._note(bot, name, parameters, 0, "the connection was cut")
        else:
            self._note(bot, name, parameters, 200, "")
            await answer(send, 200, to_json({"ok": True, "result": result}))

    def _bot(self, token: str) -> Bot:
        bot = self.state.bots.get(token)
        if bot is not None:
            return bot
        if not re.fullmatch(r"[1-9]\d*:.*", token) or len(token) > 80:
            raise Refusal(401, "Unauthorized: invalid token specified")
        if self.state.any_token:
            return self.state.add_bot(token, f"bot_{token.partition(':')[0]}_bot")
        raise Refusal(401, "Unauthorized")

    def _method(self, name: str) -> tuple[str, Method]:
        try:
            return _BY_SMALL_NAME[name.lower()]
        except KeyError:
            raise Refusal(404, "Not Found: method not found") from None

    def _fault(self, request: Request) -> Fault | None:
        chat = self.state.chat_for(request.bot, request.parameters.text("chat_id"))
        number = None if chat is None else chat.id
        fault = self.world.faults.take(PROVIDER, request.bot.username or "", number, request.method)
        if fault is not None and fault.kind is Kind.FAIL:
            raise planned(fault)
        return fault

    def _note(
        self, bot: Bot | None, method: str, parameters: Parameters | None, status: int, said: str
    ) -> None:
        chat = None
        if bot is not None and parameters is not None and (given := parameters.text("chat_id")):
            found = self.state.chat_for(bot, given)
            chat = None if found is None else found.id
        name = "" if bot is None else bot.username or ""
        self.world.calls.append(Call(self.world.clock.now(), PROVIDER, name, method, chat, status, said))


async def _refuse(send: Send, refusal: Refusal) -> None:
    wait = (refusal.parameters or {}).get("retry_after")
    headers = ((b"retry-after", str(wait).encode()),) if wait else ()
    await answer(send, refusal.code, to_json(refusal.as_json()), headers=headers)
