"""The sandbox's own API, which no provider has: ledger, faults, clock, people, and what the window shows.

Served at the window's port, and below `/sandbox/` at each emulator's, so that a test needs one address. A browser
page of another site can neither read it nor write to it: nothing allows other origins, what changes something has
to be JSON (which browsers ask leave for), and the name in `Host` has to be this machine's.
"""

import json
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any, Literal, Self, cast

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from pressroom.sandbox.core.faults import WEBHOOK, Fault
from pressroom.sandbox.core.view import VERBS, NoSuch, NotPossible, Provider
from pressroom.sandbox.core.wire import Gone, TooLarge, media_type, read_body, read_json, stranger
from pressroom.sandbox.core.world import World

PAGE = 1_000
BODY_BYTES = 64 << 20  # a file that a person sends comes as base64 inside the JSON
LAST_SECOND = 253_402_300_799  # of the year 9999
LONGEST_SECONDS = 86_400

Handler = Callable[[World, Request], Awaitable[Response]]
Answer = Callable[[Request], Awaitable[Response]]


def control_app(world: World) -> Starlette:
    guarded = local_only(world)

    def door(handler: Handler) -> Answer:
        async def answer(request: Request) -> Response:
            try:
                return await handler(world, request)
            except NoSuch as error:
                return _error(404, str(error.args[0]))
            except NotPossible as error:
                return _error(422, str(error))

        return guarded(answer)

    return Starlette(
        routes=[
            Route("/sandbox", door(_overview), methods=["GET"]),
            Route("/sandbox/ledger", door(_ledger), methods=["GET"]),
            Route("/sandbox/calls", door(_calls), methods=["GET"]),
            Route("/sandbox/events", door(_events), methods=["GET"]),
            Route("/sandbox/faults", door(_faults), methods=["GET"]),
            Route("/sandbox/faults", door(_plan), methods=["POST"]),
            Route("/sandbox/faults", door(_heal), methods=["DELETE"]),
            Route("/sandbox/faults/{number}", door(_heal), methods=["DELETE"]),
            Route("/sandbox/clock", door(_clock), methods=["GET"]),
            Route("/sandbox/clock", door(_move_clock), methods=["POST"]),
            Route("/sandbox/{provider}/chats", door(_chats), methods=["GET"]),
            Route("/sandbox/{provider}/chats/{chat}", door(_chat), methods=["GET"]),
            Route("/sandbox/{provider}/chats/{chat}/messages", door(_messages), methods=["GET"]),
            Route("/sandbox/{provider}/chats/{chat}/messages/{message}", door(_message), methods=["GET"]),
            Route("/sandbox/{provider}/bots", door(_bots), methods=["GET"]),
            Route("/sandbox/{provider}/people", door(_people), methods=["GET"]),
            Route("/sandbox/{provider}/files/{file:path}", door(_file), methods=["GET"]),
            Route("/sandbox/{provider}/{what}", door(_add), methods=["POST"]),
            Route("/sandbox/{provider}/act/{verb}", door(_act), methods=["POST"]),
        ],
        exception_handlers={404: _nothing_here, 405: _nothing_here},
    )


def local_only(world: World) -> Callable[[Answer], Answer]:
    """Pages of other sites are turned away."""

    def door(answer: Answer) -> Answer:
        async def guarded(request: Request) -> Response:
            name = "" if world.any_host else stranger(request.scope)
            if not name:
                return await answer(request)
            return _error(403, f"the sandbox does not answer to {name!r}, only to names of this machine")

        return guarded

    return door


async def _nothing_here(request: Request, _error: Exception) -> Response:
    return _error_response_for(request)


def _error_response_for(request: Request) -> Response:
    return _error(
        404, f"the control API has no {request.method} {request.url.path}; see docs/guides/sandbox.md"
    )


def _error(status: int, text: str) -> JSONResponse:
    return JSONResponse({"error": text}, status)


def _provider(world: World, request: Request) -> Provider:
    return _named(world, request.path_params["provider"])


def _named(world: World, name: str) -> Provider:
    if name not in world.providers:
        raise NoSuch(f"there is no emulator {name!r} here; there is {', '.join(sorted(world.providers))}")
    return world.providers[name]


async def _json(request: Request) -> dict[str, Any]:
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
        raise NotPossible("the body has to be JSON, with Content-Type: application/json")
    try:
        value = read_json(await read_body(request.receive, BODY_BYTES) or b"{}")
    except TooLarge:
        raise NotPossible(f"the body is larger than {BODY_BYTES} bytes") from None
    except Gone:
        raise NotPossible("the body did not come to its end") from None
    except ValueError as error:
        raise NotPossible(f"the body is not JSON: {error}") from None
    if not isinstance(value, dict):
        raise NotPossible("the body has to be a JSON object")
    return cast("dict[str, Any]", value)


def _number(request: Request, name: str, default: int) -> int:
    given = request.query_params.get(name, str(default))
    try:
        return int(given)
    except ValueError:
        raise NotPossible(f"{name} is a number, not {given!r}") from None


def _counted(given: str) -> int | None:
    """The number of an effect or a fault; None when it is no number. Nobody ever counts to twenty digits."""
    return int(given[:20]) if given.isascii() and given.isdigit() else None


def _scope(world: World, request: Request) -> dict[str, Any]:
    """`?provider=&actor=&method=&chat=`, as the ledger filters by."""
    scope: dict[str, Any] = {
        name: request.query_params[name]
        for name in ("provider", "actor", "method")
        if name in request.query_params
    }
    if "chat" in request.query_params:
        chat = request.query_params["chat"]
        known = [_named(world, scope["provider"])] if "provider" in scope else list(world.providers.values())
        scope["chat"] = _resolved(known, chat)
    return scope


def _resolved(providers: list[Provider], chat: str | int) -> int:
    for provider in providers:
        try:
            return provider.resolve_chat(chat)
        except NoSuch:
            continue
    raise NoSuch(f"there is no chat {chat!r}")


async def _overview(world: World, _request: Request) -> Response:
    return JSONResponse(
        {
            "now": world.clock.now(),
            "frozen": world.clock.frozen,
            "seed": world.seed,
            "example": world.example,
            "effects": world.ledger.total,
            "faults": len(list(world.faults)),
            "providers": {
                name: {
                    "chats": len(provider.find_chats()),
                    "bots": provider.bots(),
                    "people": len(provider.people()),
                    "errors": sorted(provider.errors),
                }
                for name, provider in world.providers.items()
            },
            "verbs": dict(VERBS),
        }
    )


async def _ledger(world: World, request: Request) -> Response:
    """A page of at most 1,000; `?after=` the `seq` of the last one seen goes on."""
    after, limit = _number(request, "after", 0), min(max(_number(request, "limit", PAGE), 1), PAGE)
    page = world.ledger.effects(after, limit=limit, **_scope(world, request))
    return JSONResponse({"total": world.ledger.total, "effects": [effect.as_json() for effect in page]})


async def _calls(world: World, _request: Request) -> Response:
    return JSONResponse({"calls": [call._asdict() for call in world.calls]})


async def _events(world: World, request: Request) -> Response:
    """Server-sent events: each effect as it happens. `Last-Event-ID` or `?after=` goes on after that one."""
    last = request.headers.get("last-event-id", request.query_params.get("after", ""))
    after = _counted(last)

    async def stream() -> AsyncIterator[str]:
        yield f"retry: 1000\nevent: hello\ndata: {json.dumps({'total': world.ledger.total})}\n\n"
        async for effect in world.ledger.watch(after):
            yield f"id: {effect.seq}\nevent: effect\ndata: {json.dumps(effect.as_json())}\n\n"

    return StreamingResponse(stream(), media_type="text/event-stream", headers={"Cache-Control": "no-store"})


async def _faults(world: World, _request: Request) -> Response:
    return JSONResponse({"faults": [fault.as_json() for fault in world.faults]})


async def _plan(world: World, request: Request) -> Response:
    """The fields of a fault (docs/guides/sandbox.md); a chat may be given by its @name."""
    wish = await _json(request)
    return JSONResponse(plan_fault(world, wish).as_json(), 201)


class FaultWish(BaseModel):
    """What a caller may say of a fault; `core/faults.py` says what it means."""

    model_config = ConfigDict(extra="forbid", strict=True)

    kind: Literal["fail", "drop", "slow", "duplicate", "reorder"]
    provider: str | None = None
    bot: str | None = None
    chat: int | str | None = None
    method: str | None = None
    times: int | None = 1
    skip: int = 0
    probability: float = 1.0
    since: float | None = None
    until: float | None = None
    name: str | None = None
    code: int | None = None
    description: str | None = None
    retry_after: float | None = Field(None, ge=0, le=LONGEST_SECONDS)
    seconds: float = Field(0.0, le=LONGEST_SECONDS)
    before_effect: bool = True

    @model_validator(mode="after")
    def _says_what_its_kind_understands(self) -> Self:
        for name in self.model_fields_set & set(_ONLY_FOR):
            if self.kind not in _ONLY_FOR[name] and getattr(self, name) is not None:
                raise ValueError(f"{name} is for {' and '.join(_ONLY_FOR[name])}, not for {self.kind}")
        if self.kind == "slow" and not self.seconds:
            raise ValueError("slow needs seconds")
        if self.kind in ("duplicate", "reorder") and self.method not in (None, WEBHOOK):
            raise ValueError(f"{self.kind} is for the method {WEBHOOK}")
        if self.method == WEBHOOK and self.name is not None:
            raise ValueError("a webhook answers with a code, not with an error by name")
        if self.since is not None and self.until is not None and self.until <= self.since:
            raise ValueError("until is not after since")
        return self


_ONLY_FOR = {
    **dict.fromkeys(("name", "code", "description", "retry_after"), ("fail",)),
    "seconds": ("slow",),
    "before_effect": ("fail", "drop", "slow"),
}


def plan_fault(world: World, given: dict[str, Any]) -> Fault:
    try:
        wish = FaultWish.model_validate(given)
    except ValidationError as error:
        raise NotPossible(f"not a fault: {_said(error)}") from None
    where = [_named(world, wish.provider)] if wish.provider else list(world.providers.values())
    if wish.name is not None:
        where = _who_knows(where, wish.name)
    chat = None if wish.chat is None else _resolved(where, wish.chat)
    only = where[0].name if len(where) == 1 else wish.provider
    bot = None if wish.bot is None else wish.bot.removeprefix("@")
    fields: dict[str, Any] = {**wish.model_dump(), "chat": chat, "provider": only, "bot": bot}
    try:
        return world.faults.plan(Fault(**fields))
    except ValueError as error:
        raise NotPossible(f"not a fault: {error}") from None


def _who_knows(providers: list[Provider], name: str) -> list[Provider]:
    knowing = [provider for provider in providers if name in provider.errors]
    if not knowing:
        names = sorted({name for provider in providers for name in provider.errors})
        raise NotPossible(f"not a fault: there is no error {name!r}; there is {', '.join(names)}")
    return knowing


def _said(error: ValidationError) -> str:
    return "; ".join(f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in error.errors())


async def _heal(world: World, request: Request) -> Response:
    if "number" not in request.path_params:
        return JSONResponse({"healed": world.faults.heal()})
    number = _counted(request.path_params["number"])
    if number is None or not world.faults.heal(number):
        raise NoSuch(f"there is no fault {request.path_params['number']}, or it has hit already")
    return JSONResponse({"healed": 1})


async def _clock(world: World, _request: Request) -> Response:
    return JSONResponse({"now": world.clock.now(), "frozen": world.clock.frozen})


async def _move_clock(world: World, request: Request) -> Response:
    """`{"advance": seconds}`, `{"set": unix seconds}`, `{"freeze": true|false}`, in any combination."""
    wish = await _json(request)
    unknown = set(wish) - {"advance", "set", "freeze"}
    if unknown or not wish:
        raise NotPossible(
            "the clock understands advance (seconds), set (Unix seconds) and freeze (true or false)"
        )
    for name in ("advance", "set"):
        given = wish.get(name, 0)
        if isinstance(given, bool) or not isinstance(given, int | float):
            raise NotPossible(f"{name} is a number of seconds")
    to = wish.get("set", world.clock.now()) + wish.get("advance", 0)
    if not 0 <= to <= LAST_SECOND:
        raise NotPossible("the clock goes from 1970 to 9999")
    if "freeze" in wish:
        if wish["freeze"]:
            world.clock.freeze()
        else:
            world.clock.thaw()
    if "set" in wish:
        world.clock.set(wish["set"])
    if "advance" in wish:
        world.clock.advance(wish["advance"])
    return await _clock(world, request)


async def _chats(world: World, request: Request) -> Response:
    provider = _provider(world, request)
    found = provider.find_chats(request.query_params.get("q", ""))
    offset, limit = max(_number(request, "offset", 0), 0), min(max(_number(request, "limit", PAGE), 1), PAGE)
    page = [provider.chat(chat) for chat in found[offset : offset + limit]]
    return JSONResponse({"total": len(found), "chats": page})


async def _chat(world: World, request: Request) -> Response:
    provider = _provider(world, request)
    return JSONResponse(provider.chat(provider.resolve_chat(request.path_params["chat"])))


async def _messages(world: World, request: Request) -> Response:
    provider = _provider(world, request)
    chat = provider.resolve_chat(request.path_params["chat"])
    before = request.query_params.get("before")
    limit = min(max(_number(request, "limit", 50), 1), PAGE)
    return JSONResponse({"messages": provider.messages_of(chat, before=before, limit=limit)})


async def _message(world: World, request: Request) -> Response:
    provider = _provider(world, request)
    chat = provider.resolve_chat(request.path_params["chat"])
    return JSONResponse(provider.message(chat, request.path_params["message"]))


async def _bots(world: World, request: Request) -> Response:
    return JSONResponse({"bots": _provider(world, request).bots()})


async def _people(world: World, request: Request) -> Response:
    return JSONResponse({"people": _provider(world, request).people()})


async def _file(world: World, request: Request) -> Response:
    kind, content = _provider(world, request).file(request.path_params["file"])
    # What somebody uploaded is never a page of this origin.
    safe = {"X-Content-Type-Options": "nosniff", "Content-Security-Policy": "sandbox; default-src 'none'"}
    return Response(content, media_type=media_type(kind), headers=safe)


PLURALS = {"chats": "chat", "bots": "bot", "people": "person"}


async def _add(world: World, request: Request) -> Response:
    provider, what = _provider(world, request), PLURALS.get(request.path_params["what"])
    if what is None:
        return _error_response_for(request)
    wish = await _json(request)
    if what == "person" and wish.get("name") in [person["name"] for person in provider.people()]:
        raise NotPossible(f"there is a {wish['name']!r} already, and people are known by their names")
    return JSONResponse(provider.add(what, wish), 201)


async def _act(world: World, request: Request) -> Response:
    provider, verb = _provider(world, request), request.path_params["verb"]
    if verb not in VERBS:
        raise NoSuch(f"nobody can do {verb!r} here; there is {', '.join(VERBS)}")
    return JSONResponse(provider.act(verb, await _json(request)))
