"""`GET /api/health` and `GET /metrics`: for machines that decide whether to send us work."""

import asyncio
import hmac
import json
import time
from datetime import timedelta
from typing import cast

import structlog
from starlette.requests import Request
from starlette.responses import Response

from pressroom import __version__
from pressroom.core.errors import Unauthorized
from pressroom.entrypoints.api.parts import PlainRoute, product_of
from pressroom.entrypoints.metrics import Metrics
from pressroom.ops.health import Health, HealthReport, check_health
from pressroom.wiring import Product, embedded_folder

log = structlog.get_logger()

CHECK_SECONDS = 5
CACHED_SECONDS = 10
#: A failing answer is kept shorter, so that a recovery is seen at once; asking stays cheap.
CACHED_SECONDS_WHEN_FAILING = 1

_JSON = "application/json"
_PUBLIC = {False: b'{"status": "ok"}', True: b'{"status": "down"}'}
_LOOPBACK = ("127.", "::1", "::ffff:127.")
_OF_PROXIES = ("forwarded", "via", "x-forwarded-for", "x-real-ip")


class HealthCheck:
    """The last report, made anew when it is too old; many who ask at once wait for one check."""

    def __init__(self, product: Product) -> None:
        self._product = product
        self._started = time.monotonic()
        self._report: HealthReport | None = None
        self._good_until = 0.0
        self._checking: asyncio.Task[HealthReport] | None = None

    @property
    def uptime(self) -> timedelta:
        return timedelta(seconds=time.monotonic() - self._started)

    async def report(self) -> HealthReport:
        if self._report is not None and time.monotonic() < self._good_until:
            return self._report
        if self._checking is None:
            self._checking = asyncio.create_task(self._check(), name="health check")
        return await asyncio.shield(self._checking)

    async def _check(self) -> HealthReport:
        stall = timedelta(seconds=self._product.settings.stall_seconds)
        try:
            async with asyncio.timeout(CHECK_SECONDS):
                report = await check_health(
                    self._product.db, stall=stall, folder=embedded_folder(self._product.settings)
                )
        except TimeoutError:
            slow = {"status": Health.DOWN, "error": f"no answer within {CHECK_SECONDS} s"}
            report = HealthReport(Health.DOWN, {"database": slow})
        except Exception:  # this answers the caller: whatever goes wrong here means that work does not move
            log.exception("the health check failed")
            broken = {"status": Health.DOWN, "error": "the check itself failed; the log says why"}
            report = HealthReport(Health.DOWN, {"database": broken})
        finally:
            self._checking = None
        keep = CACHED_SECONDS if report.status is Health.OK else CACHED_SECONDS_WHEN_FAILING
        self._report, self._good_until = report, time.monotonic() + keep
        return report


async def health(request: Request) -> Response:
    check = cast("HealthCheck", request.app.state.health)
    report = await check.report()
    down = report.status is Health.DOWN
    headers = {"Cache-Control": "no-store"} | ({"Retry-After": "5"} if down else {})
    status = 503 if down else 200
    if not _has_health_token(request):
        return Response(_PUBLIC[down], status, headers, _JSON)
    details = {
        "status": report.status,
        "version": __version__,
        "uptime_seconds": round(check.uptime.total_seconds(), 1),
        "checks": report.checks,
    }
    return Response(json.dumps(details, ensure_ascii=False).encode(), status, headers, _JSON)


async def metrics(request: Request) -> Response:
    """They take the token of the health check. While none is set they are open to this machine, without a
    proxy in between."""
    if _health_token(request) is None:
        if not _is_local(request):
            raise Unauthorized(
                "metrics are open to this machine only",
                hint="set PRESSROOM_HEALTH_CHECK_TOKEN, and send it as a bearer token",
            )
    elif not _has_health_token(request):
        raise Unauthorized(
            "metrics take the token of the health check",
            hint="send PRESSROOM_HEALTH_CHECK_TOKEN as a bearer token",
        )
    counted = cast("Metrics", request.app.state.metrics)
    return Response(counted.render(), 200, {"Cache-Control": "no-store"}, counted.content_type)


ROUTES = (PlainRoute("/api/health", health), PlainRoute("/metrics", metrics))


def _has_health_token(request: Request) -> bool:
    token, given = _health_token(request), request.headers.get("authorization")
    if token is None or given is None:
        return False
    return hmac.compare_digest(given.encode("latin-1"), f"Bearer {token}".encode())


def _health_token(request: Request) -> str | None:
    """None for an empty one too."""
    token = product_of(request).settings.health_check_token
    return None if token is None else token.get_secret_value() or None


def _is_local(request: Request) -> bool:
    forwarded = any(name in request.headers for name in _OF_PROXIES)
    return request.client is not None and request.client.host.startswith(_LOOPBACK) and not forwarded
