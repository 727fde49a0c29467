"""What follows one request through the process: its ids, and how far its answer has come."""

import re
from dataclasses import dataclass
from typing import cast

from starlette.types import Scope

from pressroom.core.ids import TraceId, trace_id, uuid_v7
from pressroom.core.logs import MASK, redact

_REQUEST_ID = re.compile(rb"[A-Za-z0-9._-]{1,100}")
_TRACEPARENT = re.compile(rb"[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}(?:-.*)?")
_PUSHED = re.compile(r"(/ingest/+push/).+", re.IGNORECASE | re.DOTALL)
_KEY = "pressroom.trail"


@dataclass(slots=True)
class Trail:
    request_id: str
    trace_id: TraceId
    #: The caller's W3C trace context, when it is a valid one.
    traceparent: str | None
    #: Of the answer, once it has begun; 0 before.
    status: int = 0


def begin_trail(scope: Scope) -> Trail:
    """Ids as the caller gave them, where it gave valid ones, else new."""
    given_id = traceparent = trace = None
    for name, value in cast("list[tuple[bytes, bytes]]", scope["headers"]):
        if name == b"x-request-id" and _REQUEST_ID.fullmatch(value):
            given_id = value.decode()
        elif name == b"traceparent":
            trace = _trace_of(value)
            traceparent = value.decode() if trace else None
    trail = Trail(given_id or str(uuid_v7()), trace or trace_id(), traceparent)
    scope[_KEY] = trail
    return trail


def trail_of(scope: Scope) -> Trail:
    return cast("Trail", scope[_KEY])


def shown_path(scope: Scope) -> str:
    """The path, as an answer and the log may show it: what follows the push door is a secret, whatever signs
    it is made of."""
    return redact(_PUSHED.sub(rf"\1{MASK}", scope["path"]))


def _trace_of(traceparent: bytes) -> TraceId | None:
    match = _TRACEPARENT.fullmatch(traceparent)
    if match is None or traceparent.startswith(b"ff") or not int(match[1], 16) or not int(match[2], 16):
        return None
    return TraceId(match[1].decode())
