"""One connection of the API: the head of a request is bounded in bytes and in time.

Uvicorn bounds neither. A client that opens a connection and sends nothing, sends its head a byte at a time, or
sends one without end, is answered 408 or 431 and disconnected; what is no HTTP at all is answered 400. These
answers are problems like all others, though no route and no middleware has seen the request.
"""

import asyncio
import json
from http import HTTPStatus

import structlog
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from pressroom.core.ids import uuid_v7
from pressroom.entrypoints.errors import problem_of_status

log = structlog.get_logger()

HEAD_BYTES = 32_768
HEAD_SECONDS = 15.0
#: After a refusal: long enough that the client reads the answer before its own bytes make the kernel reset it.
LINGER_SECONDS = 1.0


class HeadTooLargeError(Exception):
    """Raised inside the parser, which then stops."""


class BoundedConnection(HttpToolsProtocol):
    head_bytes = HEAD_BYTES
    head_seconds = HEAD_SECONDS

    _in_head = True
    _completed = False  # whether the bytes just read held the end of a request
    _seen = 0
    _refused = False
    _alarm: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:
        super().connection_made(transport)
        self._await_head()

    def connection_lost(self, exc: Exception | None) -> None:
        self._cancel_alarm()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self._refused:
            return
        if self._in_head and self._alarm is None:
            self._await_head()
        self._completed = not self._in_head
        super().data_received(data)
        if (
            self._in_head and not self._completed and not self._refused
        ):  # all of it belongs to one unfinished head
            self._seen += len(data)
            if self._seen > self.head_bytes:
                self._refuse(431, f"the request line and headers are over the limit of {self.head_bytes} bytes")

    def on_message_begin(self) -> None:
        self._seen = 0
        super().on_message_begin()

    def on_url(self, url: bytes) -> None:
        self._count(len(url))
        super().on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        self._count(len(name) + len(value) + 4)  # trailers of a chunked body are counted too
        super().on_header(name, value)

    def on_headers_complete(self) -> None:
        self._in_head = False
        self._cancel_alarm()
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        self._in_head = self._completed = True
        super().on_message_complete()

    def send_400_response(self, msg: str) -> None:
        if self._seen > self.head_bytes:
            self._refuse(431, f"the request line and headers are over the limit of {self.head_bytes} bytes")
        else:
            self._refuse(400, "this is not readable as an HTTP request")

    def _unsupported_upgrade_warning(self) -> None:
        """An offer to speak another protocol (curl makes one with --http2) is not taken up: this request is
        answered, and as the parser reads no more after such an offer, it is the last one."""
        if self._answering:
            self.cycle.keep_alive = False

    def _count(self, size: int) -> None:
        self._seen += size
        if self._seen > self.head_bytes:
            raise HeadTooLargeError

    def _await_head(self) -> None:
        self._alarm = self.loop.call_later(self.head_seconds, self._head_is_late)

    def _cancel_alarm(self) -> None:
        if self._alarm is not None:
            self._alarm.cancel()
            self._alarm = None

    def _head_is_late(self) -> None:
        self._alarm = None
        if self._answering:
            self._await_head()
        elif not self._seen:  # it never asked for anything
            self.transport.close()
        elif self._in_head and not self._refused:
            self._refuse(408, f"the head of the request did not arrive within {self.head_seconds:g} s")

    @property
    def _answering(self) -> bool:
        return self.cycle is not None and not self.cycle.response_complete  # pyright: ignore[reportUnnecessaryComparison] - None before the first request

    def _refuse(self, status: int, detail: str) -> None:
        self._refused = True
        self._cancel_alarm()
        if self._answering:  # bytes in the middle of another answer would be read as a part of it
            self.transport.abort()
            return
        problem = problem_of_status(status)
        request_id = str(uuid_v7())
        log.info("request refused unread", request_id=request_id, status=status, reason=detail)
        answer = {
            "type": problem.type,
            "title": problem.title,
            "status": status,
            "detail": detail,
            "request_id": request_id,
        }
        body = json.dumps(answer).encode()
        head = (
            f"HTTP/1.1 {status} {HTTPStatus(status).phrase}\r\nContent-Type: application/problem+json\r\n"
            f"X-Request-Id: {request_id}\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n"
        )
        self.transport.write(head.encode() + body)
        if self.transport.can_write_eof():
            self.transport.write_eof()
        self.loop.call_later(LINGER_SECONDS, self.transport.close)
