"""The wire below the emulators: bodies with a limit, answers, and connections that end on purpose."""

import asyncio
import inspect
import json
import re
from collections.abc import Awaitable, Callable
from functools import lru_cache
from http import HTTPStatus
from ipaddress import ip_address
from math import isinf
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


def media_type(said: str) -> str:
    """What somebody says a file is, as a header can carry it."""
    return said if re.fullmatch(r"[\w.+/;= -]+", said, re.ASCII) else "application/octet-stream"


def phrase(code: int) -> str:
    try:
        return HTTPStatus(code).phrase
    except ValueError:
        return "Unknown Error"


def stranger(scope: Scope) -> str:
    """The name under which a page of another site comes to this machine; empty for everybody else.

    Such a page can point a name of its own at 127.0.0.1, or post forms here. Bots and people use addresses, names
    without a dot (`localhost`, those of containers) or names that nobody can own.
    """
    for name, value in scope["headers"]:
        if name == b"host" and not _is_nearby(value):
            return value.decode("latin-1")
        if name == b"origin" and not _is_nearby(value.partition(b"://")[2]):
            return value.decode("latin-1")
    return ""


@lru_cache(1_000)
def _is_nearby(host: bytes) -> bool:
    name = host.decode("latin-1").lower()
    name = name[1:].partition("]")[0] if name[:1] == "[" else name.partition(":")[0]
    if "." not in name and ":" not in name:
        return bool(name)
    try:
        return bool(ip_address(name))
    except ValueError:
        return name.endswith((".localhost", ".sandbox", ".internal", ".local", ".test"))


def read_json(raw: bytes) -> Any:
    """What can be stored and said again. Raises ValueError; also for numbers out of range and for lone surrogates."""
    try:
        value = json.loads(raw, parse_constant=_no_number, parse_float=_finite, parse_int=_whole)
        json.dumps(value, ensure_ascii=False).encode()
    except RecursionError as error:
        raise ValueError("it is too deep") from error
    except UnicodeEncodeError as error:
        raise ValueError("its texts are not Unicode: half of a surrogate pair") from error
    return value


def _no_number(name: str) -> float:
    raise ValueError(f"{name} is no number")


def _finite(given: str) -> float:
    if isinf(value := float(given)):
        raise ValueError("a number is out of range")
    return value


def _whole(given: str) -> int:
    if len(given) > 20 or not -(1 << 63) <= int(given) < 1 << 63:
        raise ValueError("a number is out of range")
    return int(given)


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


async def under_fault(
    fault: Fault, refusal: Exception, act: Callable[[], T | Awaitable[T]], scope: Scope, receive: Receive
) -> T:
    """What `act` gives, with the fault's delay or hang-up around it; or `refusal`, the provider's words for it."""
    done: list[T] = []
    if not fault.before_effect:
        done.append(await _result(act()))
    if fault.kind is Kind.FAIL:
        raise refusal
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
