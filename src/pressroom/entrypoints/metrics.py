"""What is counted, for Prometheus: one registry per app, so that a process or a test may hold several.

Labels are few and bounded: route templates, never paths; outcomes, never secrets.
"""

from platform import python_version
from typing import Final

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    ProcessCollector,
    disable_created_metrics,
)
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest

from pressroom import __version__

disable_created_metrics()  # a second series for each, that nobody asks for

#: From a cached answer to the longest request that is allowed by default.
SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)


class Metrics:
    content_type: Final = CONTENT_TYPE_LATEST

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        ProcessCollector(registry=self.registry)
        self._requests = Counter(
            "pressroom_http_requests",
            "Requests answered.",
            ("route", "method", "status"),
            registry=self.registry,
        )
        self._seconds = Histogram(
            "pressroom_http_request_seconds",
            "From the first byte of the head to the last of the answer.",
            ("route", "method"),
            buckets=SECONDS,
            registry=self.registry,
        )
        self.in_flight = Gauge("pressroom_http_in_flight", "Requests under way.", registry=self.registry)
        self._pushes = Counter(
            "pressroom_push_requests",
            "What became of each request at the push door.",
            ("outcome",),
            registry=self.registry,
        )
        build = Gauge("pressroom_build_info", "Always 1.", ("version", "python"), registry=self.registry)
        build.labels(__version__, python_version()).set(1)
        self._series: dict[tuple[str, str, int], tuple[Counter, Histogram]] = {}

    def answered(self, *, route: str, method: str, status: int, seconds: float) -> None:
        """Status 0 is a client that left before it was answered."""
        series = self._series.get((route, method, status))
        if series is None:
            series = self._requests.labels(route, method, str(status)), self._seconds.labels(route, method)
            self._series[route, method, status] = series
        series[0].inc()
        series[1].observe(seconds)

    def pushed(self, outcome: str) -> None:
        self._pushes.labels(outcome).inc()

    def render(self) -> bytes:
        return generate_latest(self.registry)
