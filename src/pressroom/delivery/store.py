"""The SQL of delivery: one function per file of sql/, and reads."""

import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from pressroom.core.ids import ChannelId, DeliveryId, RunId, WorkspaceId
from pressroom.db.database import Transaction
from pressroom.delivery.model import Enqueued, SendJob, Settled
from pressroom.ports.platform import Channel, Receipt

LARGEST_ANSWER = 8192


async def enqueue_messages_and_deliveries(
    tx: Transaction, workspace_id: WorkspaceId, endpoint_id: str, kind: str, raw_payload: dict[str, Any]
) -> Enqueued:
    enqueued = await tx.row(
        Enqueued,
        "select message_id, queued, suppressed, failed_permanent, send_mode_skipped "
        "from fn.enqueue_messages_and_deliveries($1, $2, $3, $4)",
        workspace_id, endpoint_id, kind, raw_payload,
    )  # fmt: skip
    assert enqueued is not None
    return enqueued


async def due_workspaces(tx: Transaction, after: WorkspaceId) -> list[WorkspaceId]:
    return await tx.values("select workspace_id from fn.due_workspaces($1)", after)


async def next_due_in(tx: Transaction) -> timedelta | None:
    """By the database's clock; None when nothing waits for its time."""
    return await tx.value("select fn.next_due_at() - now()")


async def take_due(
    tx: Transaction, workspace_id: WorkspaceId, run_id: RunId, limit: int, after_channel: ChannelId
) -> list[SendJob]:
    return await tx.rows(
        SendJob,
        "select lease_id, delivery_id, channel_id, message_id, attempt, rendered_text, render_meta, trace_id, due_at "
        "from fn.take_due($1, $2, $3, $3, $4)",
        workspace_id, run_id, limit, after_channel,
    )  # fmt: skip


async def settle_sent(
    tx: Transaction, workspace_id: WorkspaceId, lease_id: int, sent: Sequence[tuple[SendJob, Receipt]]
) -> int:
    return await tx.value(
        "select fn.settle_sent($1, $2, $3, $4, $5, $6)",
        workspace_id, lease_id, [job.delivery_id for job, _ in sent], [job.attempt for job, _ in sent],
        [receipt.provider_message_id for _, receipt in sent], [{"raw": _bounded(receipt)} for _, receipt in sent],
    )  # fmt: skip


def _bounded(receipt: Receipt) -> dict[str, Any]:
    """The platform's answer, as far as an event may hold it."""
    answer = dict(receipt.raw)
    size = len(json.dumps(answer))
    return answer if size <= LARGEST_ANSWER else {"left_out": f"an answer of {size} characters"}


async def settle_failed(
    tx: Transaction,
    workspace_id: WorkspaceId,
    lease_id: int,
    failed: Sequence[tuple[SendJob, dict[str, object]]],
) -> list[Settled]:
    return await tx.rows(
        Settled,
        "select delivery_id, status, next_retry_at from fn.settle_failed($1, $2, $3, $4, $5)",
        workspace_id, lease_id, [job.delivery_id for job, _ in failed], [job.attempt for job, _ in failed],
        [error for _, error in failed],
    )  # fmt: skip


async def release_expired_leases(tx: Transaction, workspace_id: WorkspaceId) -> int:
    return await tx.value("select fn.release_expired_leases($1)", workspace_id)


async def leased_workspaces(tx: Transaction) -> list[WorkspaceId]:
    return await tx.values("select distinct workspace_id from delivery_leases")


async def make_event_partitions(tx: Transaction) -> int:
    return await tx.value("select fn.make_event_partitions()")


async def channels(
    tx: Transaction, workspace_id: WorkspaceId, ids: Collection[ChannelId]
) -> dict[ChannelId, Channel]:
    rows = await tx.rows(
        Channel,
        "select workspace_id, platform, channel_id, target_id, auth_ref, rate_group, settings "
        "from channels where workspace_id = $1 and channel_id = any($2)",
        workspace_id, list(ids),
    )  # fmt: skip
    return {channel.channel_id: channel for channel in rows}


@dataclass(frozen=True, slots=True)
class DeliveryRow:
    """A delivery as readers see it."""

    delivery_id: DeliveryId
    message_id: UUID
    channel_id: ChannelId
    channel_title: str | None
    platform: str
    status: str
    attempt: int
    not_before: datetime
    next_retry_at: datetime | None
    sent_at: datetime | None
    provider_message_id: str | None
    last_error: dict[str, Any] | None
    rendered_text: str | None
    trace_id: str | None
    created_at: datetime
    updated_at: datetime


async def list_deliveries(
    tx: Transaction, workspace_id: WorkspaceId, status: str | None, channel_id: str | None, message_id: UUID | None,
    before: UUID | None, limit: int,
) -> list[DeliveryRow]:  # fmt: skip
    """Newest first: delivery ids sort by time."""
    return await tx.rows(
        DeliveryRow,
        """
        select d.delivery_id, d.message_id, d.channel_id, c.title as channel_title, c.platform, d.status, d.attempt,
               d.not_before, d.next_retry_at, d.sent_at, d.provider_message_id, d.last_error, d.rendered_text,
               d.trace_id, d.created_at, d.updated_at
          from deliveries d
          join channels c on c.workspace_id = d.workspace_id and c.channel_id = d.channel_id
         where d.workspace_id = $1
           and ($2::text is null or d.status = $2)
           and ($3::text is null or d.channel_id = $3)
           and ($4::uuid is null or d.message_id = $4)
           and ($5::uuid is null or d.delivery_id < $5)
         order by d.delivery_id desc
         limit $6""",
        workspace_id, status, channel_id, message_id, before, limit,
    )  # fmt: skip


async def get_delivery(tx: Transaction, workspace_id: WorkspaceId, delivery_id: UUID) -> DeliveryRow | None:
    return await tx.row(
        DeliveryRow,
        """
        select d.delivery_id, d.message_id, d.channel_id, c.title as channel_title, c.platform, d.status, d.attempt,
               d.not_before, d.next_retry_at, d.sent_at, d.provider_message_id, d.last_error, d.rendered_text,
               d.trace_id, d.created_at, d.updated_at
          from deliveries d
          join channels c on c.workspace_id = d.workspace_id and c.channel_id = d.channel_id
         where d.workspace_id = $1 and d.delivery_id = $2""",
        workspace_id, delivery_id,
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class EventRow:
    """An event as readers see it."""

    id: UUID
    ts: datetime
    action: str
    result: str
    attempt: int
    delivery_id: UUID | None
    message_id: UUID | None
    channel_id: str | None
    error: dict[str, Any] | None
    meta: dict[str, Any]


async def delivery_events(tx: Transaction, workspace_id: WorkspaceId, delivery_id: UUID) -> list[EventRow]:
    return await tx.rows(
        EventRow,
        """
        select id, ts, action, result, attempt, delivery_id, message_id, channel_id, error, meta
          from events
         where workspace_id = $1 and delivery_id = $2
         order by ts, id""",
        workspace_id, delivery_id,
    )  # fmt: skip


async def list_events(
    tx: Transaction, workspace_id: WorkspaceId, since: datetime, before: datetime | None, before_id: UUID | None,
    result: str | None, limit: int,
) -> list[EventRow]:  # fmt: skip
    """Newest first, not older than `since`, so that only the days at hand are read."""
    return await tx.rows(
        EventRow,
        """
        select id, ts, action, result, attempt, delivery_id, message_id, channel_id, error, meta
          from events
         where workspace_id = $1 and ts >= $2
           and ($3::timestamptz is null or (ts, id) < ($3, $4::uuid))
           and ($5::text is null or result = $5)
         order by ts desc, id desc
         limit $6""",
        workspace_id, since, before, before_id, result, limit,
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class QueueState:
    """How much waits and since when; `oldest_due_at` counts only what an open channel could send now."""

    due: int
    waiting: int
    sending: int
    oldest_due_at: datetime | None


async def queue_state(tx: Transaction, workspace_id: WorkspaceId | None) -> QueueState:
    state = await tx.row(
        QueueState,
        """
        select count(*) filter (where q.due_at <= now()) as due,
               count(*) filter (where q.due_at > now()) as waiting,
               (select coalesce(sum(l.open), 0)::int from delivery_leases l
                 where $1::uuid is null or l.workspace_id = $1) as sending,
               min(q.due_at) filter (
                   where q.due_at <= now() and c.enabled and coalesce(c.paused_until, '-infinity') <= now()
                     and w.status = 'active') as oldest_due_at
          from delivery_queue q
          join channels c on c.workspace_id = q.workspace_id and c.channel_id = q.channel_id
          join workspaces w on w.workspace_id = q.workspace_id
         where $1::uuid is null or q.workspace_id = $1""",
        workspace_id,
    )
    assert state is not None
    return state


async def count_by_status(tx: Transaction, workspace_id: WorkspaceId) -> dict[str, int]:
    @dataclass(frozen=True, slots=True)
    class Count:
        status: str
        cnt: int

    rows = await tx.rows(
        Count,
        "select status, count(*) as cnt from deliveries where workspace_id = $1 group by status order by status",
        workspace_id,
    )
    return {row.status: row.cnt for row in rows}


@dataclass(frozen=True, slots=True)
class ClosedChannel:
    """A channel that sends nothing just now, and why."""

    channel_id: str
    title: str | None
    enabled: bool
    paused_until: datetime | None
    error_streak: int


async def closed_channels(tx: Transaction, workspace_id: WorkspaceId) -> list[ClosedChannel]:
    return await tx.rows(
        ClosedChannel,
        """
        select channel_id, title, enabled, paused_until, error_streak
          from channels
         where workspace_id = $1 and (not enabled or paused_until > now())
         order by channel_id""",
        workspace_id,
    )
