"""Ids that sort by time, and the types that keep them apart."""

import os
import time
from typing import NewType
from uuid import UUID

WorkspaceId = NewType("WorkspaceId", UUID)
MessageId = NewType("MessageId", UUID)
DeliveryId = NewType("DeliveryId", UUID)
EndpointId = NewType("EndpointId", str)
ChannelId = NewType("ChannelId", str)
RunId = NewType("RunId", str)
TraceId = NewType("TraceId", str)

#: Rows under this workspace are defaults for all of them: readable by every tenant, writable by none.
EVERY_WORKSPACE = WorkspaceId(UUID(int=0))


def uuid_v7() -> UUID:
    """Milliseconds since 1970, then 74 random bits (RFC 9562)."""
    milliseconds = time.time_ns() // 1_000_000
    random = int.from_bytes(os.urandom(10), "big")
    value = (
        milliseconds << 80
        | 0x7 << 76
        | (random >> 68 & 0xFFF) << 64
        | 0b10 << 62
        | random & 0x3FFF_FFFF_FFFF_FFFF
    )
    return UUID(int=value)


def trace_id() -> TraceId:
    """32 hex digits, as W3C trace context wants them."""
    return TraceId(os.urandom(16).hex())
