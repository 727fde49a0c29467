import builtins
import sys
from collections.abc import Iterator

import pytest
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from pressroom.core.errors import BadSetup
from pressroom.core.tracing import configure_tracing, span, stop_tracing


@pytest.fixture
def exporter() -> Iterator[InMemorySpanExporter]:
    memory = InMemorySpanExporter()
    configure_tracing(True, exporter=memory)
    yield memory
    stop_tracing()


def test_spans_nest_and_carry_their_attributes(exporter: InMemorySpanExporter):
    with span("outer", workspace_id="w1") as trace, span("inner", attempt=2):
        pass

    inner, outer = exporter.get_finished_spans()
    assert (inner.name, dict(inner.attributes or {})) == ("inner", {"attempt": 2})
    assert (outer.name, dict(outer.attributes or {})) == ("outer", {"workspace_id": "w1"})
    assert inner.parent is not None and inner.parent.span_id == outer.context.span_id
    assert trace == f"{outer.context.trace_id:032x}"


def test_a_span_continues_the_callers_trace(exporter: InMemorySpanExporter):
    traceparent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"

    with span("request", traceparent=traceparent) as trace:
        pass

    assert trace == "4bf92f3577b34da6a3ce929d0e0e4736"


def test_a_span_holds_no_secret(exporter: InMemorySpanExporter):
    with pytest.raises(ValueError, match="hunter2"), span("push", path="/ingest/push/hunter2"):
        raise ValueError("postgresql://u:hunter2@db")

    [failed] = exporter.get_finished_spans()
    assert "hunter2" not in failed.to_json()
    assert (failed.attributes or {})["error.type"] == "ValueError"
    assert not failed.status.is_ok


def test_switched_off_it_is_one_shared_object():
    configure_tracing(False)

    assert span("a") is span("b", workspace_id=1)
    with span("a") as trace:
        assert trace is None


def test_without_the_extra_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch):
    real_import = builtins.__import__

    def without_the_exporter(name: str, *rest: object) -> object:
        if name.startswith("opentelemetry.exporter"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        return real_import(name, *rest)  # type: ignore[arg-type]

    monkeypatch.delitem(sys.modules, "opentelemetry.exporter", raising=False)
    monkeypatch.setattr(builtins, "__import__", without_the_exporter)

    with pytest.raises(BadSetup) as refused:
        configure_tracing(True)

    assert "pressroom[otel]" in (refused.value.hint or "")
