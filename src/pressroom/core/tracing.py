"""OpenTelemetry spans, for those who installed the extra and switched them on; else `span` costs nothing.

Where traces go is said by OpenTelemetry's own OTEL_ variables. No span holds a secret: attributes pass through
the redaction of logs, and of an error only its class is told.
"""

from collections.abc import Generator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import TYPE_CHECKING

from pressroom.core.errors import BadSetup
from pressroom.core.ids import TraceId
from pressroom.core.logs import redact

if TYPE_CHECKING:
    from opentelemetry.context import Context
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import SpanExporter

_OFF: AbstractContextManager[None] = nullcontext()
_provider: "TracerProvider | None" = None


def configure_tracing(enabled: bool, *, exporter: "SpanExporter | None" = None) -> None:
    """Once, in the entrypoint. Spans go to the exporter at once where one is given, else by OTLP in batches."""
    global _provider
    stop_tracing()
    if not enabled:
        return
    try:
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor, SimpleSpanProcessor

        if exporter is None:
            from opentelemetry.exporter.otlp.proto.http.trace_exporter import (  # pyright: ignore[reportMissingImports]
                OTLPSpanExporter,  # pyright: ignore[reportUnknownVariableType]
            )

            processor = BatchSpanProcessor(OTLPSpanExporter())  # pyright: ignore[reportUnknownArgumentType]
        else:
            processor = SimpleSpanProcessor(exporter)
    except ImportError as error:
        raise BadSetup(
            f"tracing is switched on, but {error.name} is not installed",
            hint="pip install 'pressroom[otel]', or unset PRESSROOM_TRACING",
        ) from error
    _provider = TracerProvider(resource=Resource.create({"service.name": "pressroom"}))
    _provider.add_span_processor(processor)


def stop_tracing() -> None:
    """Send what is still held, and make no more spans."""
    global _provider
    if _provider is not None:
        _provider.shutdown()
        _provider = None


def span(
    name: str, *, traceparent: str | None = None, **attributes: object
) -> AbstractContextManager[TraceId | None]:
    """A piece of work, inside the one that surrounds it; gives the trace's id, None when tracing is off.

    `traceparent` is the W3C header of a caller whose trace this continues.
    """
    if _provider is None:
        return _OFF
    return _recorded(_provider, name, traceparent, attributes)


@contextmanager
def _recorded(
    provider: "TracerProvider", name: str, traceparent: str | None, attributes: dict[str, object]
) -> Generator[TraceId | None]:
    from opentelemetry.trace import Status, StatusCode

    with provider.get_tracer("pressroom").start_as_current_span(
        name,
        context=_continued(traceparent),
        attributes={
            key: value if isinstance(value, (bool, int, float)) else redact(str(value))
            for key, value in attributes.items()
        },
        record_exception=False,
        set_status_on_exception=False,
    ) as current:
        try:
            yield TraceId(f"{current.get_span_context().trace_id:032x}")
        except BaseException as error:
            current.set_attribute("error.type", type(error).__name__)
            current.set_status(Status(StatusCode.ERROR, type(error).__name__))
            raise


def _continued(traceparent: str | None) -> "Context | None":
    if traceparent is None:
        return None
    from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

    return TraceContextTextMapPropagator().extract({"traceparent": traceparent})
