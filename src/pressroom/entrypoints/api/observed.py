"""The outermost layer: each request gets its ids, is counted, timed and logged, and is answered in any case."""

import asyncio
import time

import structlog
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from pressroom.core.tracing import span
from pressroom.entrypoints.api.problems import RETRY_SOON, problem_response
from pressroom.entrypoints.api.trail import Trail, begin_trail, shown_path
from pressroom.entrypoints.errors import INTERNAL, problem_of_status
from pressroom.entrypoints.metrics import Metrics

log = structlog.get_logger()

#: Asked every few seconds by machines: not worth a line at the usual level.
POLLED = frozenset({"/api/health", "/metrics"})
LONGEST_PATH = 200


class Observed:
    def __init__(self, app: ASGIApp, metrics: Metrics) -> None:
        self._app = app
        self._metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return await self._app(scope, receive, send)
        begun = time.perf_counter()
        trail = begin_trail(scope)
        request_id = trail.request_id.encode()

        async def send_with_id(message: Message) -> None:
            if message["type"] == "http.response.start":
                trail.status = message["status"]
                message["headers"] = [*message.get("headers", ()), (b"x-request-id", request_id)]
            await send(message)

        self._metrics.in_flight.inc()
        structlog.contextvars.clear_contextvars()
        try:
            with span("http request", traceparent=trail.traceparent, method=scope["method"]) as traced:
                trail.trace_id = traced or trail.trace_id
                structlog.contextvars.bind_contextvars(request_id=trail.request_id, trace_id=trail.trace_id)
                await self._answered(scope, receive, send_with_id, trail)
        finally:
            self._metrics.in_flight.dec()
            self._record(scope, trail, time.perf_counter() - begun)

    async def _answered(self, scope: Scope, receive: Receive, send: Send, trail: Trail) -> None:
        try:
            await self._app(scope, receive, send)
        except asyncio.CancelledError:  # the process stops and will wait no longer
            if not trail.status:
                detail = (
                    "the server is stopping and could not finish this in time; whether it was done is unknown"
                )
                headers = {"Retry-After": str(RETRY_SOON), "Connection": "close"}
                await problem_response(scope, problem_of_status(503), detail, headers=headers)(
                    scope, receive, send
                )
            raise
        except Exception:  # the entrypoint answers for whatever nobody foresaw
            log.exception("request failed", method=scope["method"], path=shown_path(scope))
            if trail.status:
                raise  # the answer is cut off: only closing the connection says so
            detail = f"something unexpected went wrong; the log has it under request id {trail.request_id}"
            await problem_response(scope, INTERNAL, detail)(scope, receive, send)

    def _record(self, scope: Scope, trail: Trail, seconds: float) -> None:
        route: str = getattr(scope.get("route"), "path", "")
        method: str = scope["method"] if scope["method"] in METHODS else "other"
        self._metrics.answered(route=route or "none", method=method, status=trail.status, seconds=seconds)
        path: str = scope["path"]
        say = log.debug if path in POLLED else log.info
        say(
            "request",
            method=method,
            path=shown_path(scope)[:LONGEST_PATH],
            status=trail.status,
            ms=round(seconds * 1000, 1),
        )


METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
