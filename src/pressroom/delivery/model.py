"""The words of delivery: its states, its events, and what moves between them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any

from pressroom.core.ids import ChannelId, DeliveryId, MessageId, RunId, TraceId


class Status(StrEnum):
    """Where a delivery stands; the transitions are in `pressroom.guard_delivery_update`."""

    QUEUED = "queued"
    CLAIMED = "claimed"
    SENDING = "sending"
    SENT = "sent"
    RETRY = "retry"
    DEDUPED = "deduped"
    FAILED_PERMANENT = "failed_permanent"
    DEAD = "dead"


class Action(StrEnum):
    """What an event says has happened."""

    ENQUEUE = "enqueue"
    VALIDATION_FAILED = "validation_failed"
    SEND_ATTEMPT = "send_attempt"
    SENT = "sent"
    RETRY_SCHEDULED = "retry_scheduled"
    DEDUP_SUPPRESSED = "dedup_suppressed"
    FAILED_PERMANENT = "failed_permanent"
    DEAD_LETTER = "dead_letter"
    CHANNEL_PAUSED = "channel_paused"
    CHANNEL_DISABLED = "channel_disabled"
    CHANNEL_ENABLED = "channel_enabled"
    MESSAGE_TAG_MISMATCH = "message_tag_mismatch"
    SENDING_LEASE_EXPIRED = "sending_lease_expired"
    CLAIMED_LEASE_EXPIRED = "claimed_lease_expired"
    MANUAL_REQUEUE = "manual_requeue"
    AUTH_ROTATED = "auth_rotated"
    INGRESS_RATE_LIMITED = "ingress_rate_limited"
    INGRESS_PAYLOAD_REJECTED = "ingress_payload_rejected"
    INGRESS_DEDUP_DROPPED = "ingress_dedup_dropped"
    CANCELLED = "cancelled"
    EXPIRED = "expired"
    EDITED = "edited"
    RECALLED = "recalled"


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """Where a post came from. `hints` are what the sender said and routing does not trust."""

    endpoint_id: str
    kind: str
    trace_id: TraceId
    run_id: RunId
    source_ref: str | None = None
    workflow_run_id: str | None = None
    channel_ids: tuple[str, ...] | None = None
    hints: Mapping[str, Any] = field(default_factory=dict[str, Any])


@dataclass(frozen=True, slots=True)
class Enqueued:
    """What became of one post. A suppressed pair has the same content on its way or sent lately."""

    message_id: MessageId
    queued: int
    suppressed: int
    failed_permanent: int
    send_mode_skipped: int


@dataclass(frozen=True, slots=True)
class SendJob:
    """One delivery that this run has under way: its attempt is counted and on record."""

    lease_id: int
    delivery_id: DeliveryId
    channel_id: ChannelId
    message_id: MessageId
    attempt: int
    rendered_text: str
    render_meta: Mapping[str, Any] | None
    trace_id: TraceId
    due_at: datetime


@dataclass(frozen=True, slots=True)
class Settled:
    """The state that a failed send led to; `next_retry_at` only for retry."""

    delivery_id: DeliveryId
    status: Status
    next_retry_at: datetime | None
