"""No request may be larger or take longer than the settings say.

The body is read here, whole and against the clock, before any route runs: a client that trickles occupies no
handler, and one that sends too much is refused as soon as that shows, whether it declared a length or not.
"""

import asyncio
from typing import cast

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from pressroom.entrypoints.api.problems import RETRY_SOON, problem_response, refuse
from pressroom.entrypoints.api.trail import trail_of
from pressroom.entrypoints.errors import problem_of_status


class TooLargeError(Exception):
    """The body passed the limit while it was read."""


class Bounded:
    def __init__(self, app: ASGIApp, *, body_bytes: int, seconds: float) -> None:
        self._app = app
        self._body_bytes = body_bytes
        self._seconds = seconds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return await self._app(scope, receive, send)
        deadline = asyncio.get_running_loop().time() + self._seconds
        length = _declared_length(scope)
        if length == 0:
            return await self._in_time(deadline, scope, receive, send)
        try:
            async with asyncio.timeout_at(deadline):
                body = await self._read(receive, length)
        except TooLargeError:
            detail = f"the body is over the limit of {self._body_bytes} bytes"
            hint = "send less, or raise PRESSROOM_API_MAX_BODY_BYTES"
            response = problem_response(scope, problem_of_status(413), detail, hint=hint)
            return await refuse(scope, receive, send, response)
        except TimeoutError:
            detail = f"the request did not arrive within {self._seconds:g} s"
            response = problem_response(scope, problem_of_status(408), detail, hint="send it again, faster")
            return await refuse(scope, receive, send, response)
        if body is None:
            return None
        return await self._in_time(deadline, scope, _replayed(body, receive), send)

    async def _read(self, receive: Receive, length: int | None) -> bytes | None:
        """The whole body; None when the client left."""
        if length is not None and length > self._body_bytes:
            raise TooLargeError
        parts: list[bytes] = []
        size = 0
        while True:
            message = await receive()
            if message["type"] == "http.disconnect":
                return None
            parts.append(message.get("body", b""))
            size += len(parts[-1])
            if size > self._body_bytes:
                raise TooLargeError
            if not message.get("more_body"):
                return b"".join(parts)

    async def _in_time(self, deadline: float, scope: Scope, receive: Receive, send: Send) -> None:
        limit = asyncio.timeout_at(deadline)
        try:
            async with limit:
                await self._app(scope, receive, send)
        except TimeoutError:
            if not limit.expired() or trail_of(scope).status:
                raise
            detail = (
                f"this took longer than {self._seconds:g} s and was given up; whether it was done is unknown"
            )
            response = problem_response(
                scope, problem_of_status(503), detail, headers={"Retry-After": str(RETRY_SOON)}
            )
            await response(scope, receive, send)


def _declared_length(scope: Scope) -> int | None:
    """Bytes that will come: none without either header, unknown when they come in chunks."""
    length = 0
    for name, value in cast("list[tuple[bytes, bytes]]", scope["headers"]):
        if name == b"transfer-encoding":
            return None
        if name == b"content-length":
            length = int(value)  # the parser let only digits through
    return length


def _replayed(body: bytes, receive: Receive) -> Receive:
    given = False

    async def receive_again() -> Message:
        nonlocal given
        if given:
            return await receive()
        given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return receive_again
