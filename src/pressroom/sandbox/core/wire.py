"""The wire below the emulators: bodies with a limit, answers, and connections that end on purpose."""

import asyncio
import inspect
import json
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar, cast

from starlette.types import Receive, Scope, Send

from pressroom.core.asgi import HANG_UP
from pressroom.sandbox.core.faults import Fault, Kind

T = TypeVar("T")


class TooLarge(Exception):
    """The body is longer than the limit; what is left of it was not read."""


class Gone(Exception):
    """There is nobody to answer any more: the client left, or was cut off on purpose."""


async def read_body(receive: Receive, limit: int) -> bytes:
    message = await receive()
    body: bytes = message.get("body", b"")
    if message.get("more_body"):
        parts = [body]
        size = len(body)
        while message.get("more_body") and size <= limit:
            message = await receive()
            parts.append(message.get("body", b""))
            size += len(parts[-1])
        body = b"".join(parts)
    if message["type"] == "http.disconnect":
        raise Gone
    if len(body) > limit:
        raise TooLarge
    return body


def header(scope: Scope, name: bytes) -> str:
    """The first header of that (lower-case) name; empty when there is none."""
    return next((value for given, value in scope["headers"] if given == name), b"").decode("latin-1")


def to_json(value: object) -> bytes:
    """As the providers write it; a lone surrogate, which UTF-8 cannot hold, stays an escape."""
    try:
        return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()
    except UnicodeEncodeError:
        return json.dumps(value, separators=(",", ":")).encode()


async def answer(
    send: Send,
    status: int,
    body: bytes,
    *,
    content_type: bytes = b"application/json",
    headers: tuple[tuple[bytes, bytes], ...] = (),
) -> None:
    length = (b"content-length", str(len(body)).encode())
    await send(
        {
            "type": "http.response.start",
            "status": status,
            "headers": [(b"content-type", content_type), length, *headers],
        }
    )
    await send({"type": "http.response.body", "body": body})


async def under_fault(fault: Fault, act: Callable[[], T | Awaitable[T]], scope: Scope, receive: Receive) -> T:
    """What `act` gives, with the fault's delay or hang-up around it. Refusals are the provider's own to raise."""
    done: list[T] = []
    if not fault.before_effect:
        done.append(await _result(act()))
    if fault.kind is Kind.DROP:
        await hang_up(scope, receive)
        raise Gone
    if fault.seconds and await gone_within(receive, fault.seconds):
        raise Gone
    return done[0] if done else await _result(act())


async def _result(given: "T | Awaitable[T]") -> T:
    return await cast("Awaitable[T]", given) if inspect.isawaitable(given) else cast("T", given)


async def hang_up(scope: Scope, receive: Receive) -> None:
    """Cut the connection without an answer."""
    extension: dict[str, Any] = scope["extensions"][HANG_UP]
    extension["hang_up"]()
    while (await receive())["type"] != "http.disconnect":
        pass


async def gone_within(receive: Receive, seconds: float) -> bool:
    """Wait that long, or until the client has gone; whether it has."""
    try:
        async with asyncio.timeout(seconds):
            while (await receive())["type"] != "http.disconnect":
                pass
    except TimeoutError:
        return False
    return True
