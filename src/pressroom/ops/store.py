"""The SQL of ops."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from pressroom.core.ids import WorkspaceId
from pressroom.db.database import Transaction


@dataclass(frozen=True, slots=True)
class Heartbeat:
    """One loop of one process; `silent_for` by the database's clock."""

    loop: str
    process: str
    started_at: datetime
    passed_at: datetime
    progress_at: datetime | None
    every: timedelta
    error: str | None
    silent_for: timedelta

    @property
    def alive(self) -> bool:
        """Three passes missed, and a minute at least, is silence."""
        return self.silent_for < max(3 * self.every, timedelta(minutes=1))


async def beat(
    tx: Transaction, loop: str, process: str, every: timedelta, worked: bool, error: str | None
) -> None:
    await tx.execute("select fn.beat($1, $2, $3, $4, $5)", loop, process, every, worked, error)


async def heartbeats(tx: Transaction) -> list[Heartbeat]:
    return await tx.rows(
        Heartbeat,
        "select loop, process, started_at, passed_at, progress_at, every, error, now() - passed_at as silent_for "
        "from heartbeats order by loop, process",
    )


async def forget_heartbeats(tx: Transaction, processes: Sequence[str]) -> None:
    """Those of these processes, and of any that fell silent a day ago."""
    await tx.execute(
        "delete from heartbeats where process = any($1) or passed_at < now() - interval '1 day'",
        list(processes),
    )


@dataclass(frozen=True, slots=True)
class Standstill:
    """How long the oldest sendable delivery has waited, and the oldest in a workspace where nothing moves."""

    waiting_for: timedelta | None
    stuck_for: timedelta | None


async def standstill(tx: Transaction, stall: timedelta) -> Standstill:
    found = await tx.row(
        Standstill,
        "select now() - fn.oldest_open_due_at() as waiting_for, now() - fn.oldest_open_due_at($1) as stuck_for",
        stall,
    )
    assert found is not None
    return found


async def event_days_ahead(tx: Transaction) -> int:
    """For how many days after today a partition of events is ready."""
    return await tx.value("""
        select count(*)::int
          from generate_series(current_date + 1, current_date + 60, '1 day') as d(day)
         where to_regclass('pressroom.events_' || to_char(d.day, 'YYYYMMDD')) is not null""")


async def events_in_default(tx: Transaction) -> int:
    """The size of the default partition in bytes: its rows are seen through their parent only."""
    return await tx.value("select pg_relation_size('pressroom.events_default')")


async def clock(tx: Transaction) -> datetime:
    return await tx.value("select clock_timestamp()")


@dataclass(frozen=True, slots=True)
class RecentWork:
    """What the last minutes brought."""

    sent_last_minute: int
    sent: int
    retried: int
    given_up: int


async def recent_work(tx: Transaction, workspace_id: WorkspaceId, window: timedelta) -> RecentWork:
    work = await tx.row(
        RecentWork,
        """
        select count(*) filter (where action = 'sent' and ts > now() - interval '1 minute') as sent_last_minute,
               count(*) filter (where action = 'sent') as sent,
               count(*) filter (where action = 'retry_scheduled') as retried,
               count(*) filter (where action in ('failed_permanent', 'dead_letter')) as given_up
          from events
         where workspace_id = $1 and ts > now() - $2::interval""",
        workspace_id, window,
    )  # fmt: skip
    assert work is not None
    return work


@dataclass(frozen=True, slots=True)
class FailingChannel:
    """A channel whose sends failed lately, and what was said the last time."""

    channel_id: str
    title: str | None
    error_streak: int
    failures: int
    code: str | None
    message: str | None


async def failing_channels(
    tx: Transaction, workspace_id: WorkspaceId, window: timedelta
) -> list[FailingChannel]:
    return await tx.rows(
        FailingChannel,
        """
        with failed as (
            select channel_id, count(*) as failures, (array_agg(error order by ts desc))[1] as error
              from events
             where workspace_id = $1 and ts > now() - $2::interval
               and action in ('retry_scheduled', 'failed_permanent', 'dead_letter') and channel_id is not null
             group by channel_id)
        select c.channel_id, c.title, c.error_streak, coalesce(f.failures, 0) as failures,
               f.error ->> 'code' as code, f.error ->> 'message' as message
          from channels c
          left join failed f on f.channel_id = c.channel_id
         where c.workspace_id = $1 and (c.error_streak > 0 or f.channel_id is not null)
         order by coalesce(f.failures, 0) desc, c.channel_id
         limit 20""",
        workspace_id, window,
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class UnboundChannel:
    workspace: str
    channel_id: str
    platform: str
    auth_ref: str


async def unbound_channels(tx: Transaction) -> list[UnboundChannel]:
    """Enabled channels whose credential nobody bound."""
    return await tx.rows(
        UnboundChannel,
        """
        select w.name as workspace, c.channel_id, c.platform, c.auth_ref
          from channels c
          join workspaces w on w.workspace_id = c.workspace_id and w.status <> 'disabled'
         where c.enabled
           and not exists (select from credential_bindings b
                            where b.workspace_id = c.workspace_id and b.auth_ref = c.auth_ref
                              and b.platform = c.platform)
         order by w.name, c.channel_id
         limit 100""",
    )


@dataclass(frozen=True, slots=True)
class UnusedEndpoint:
    workspace: str
    endpoint_id: str


async def unused_endpoints(tx: Transaction, since: timedelta, look_back: int) -> list[UnusedEndpoint]:
    """Endpoints as old as that through which none of the last so many posts of their workspace came."""
    return await tx.rows(
        UnusedEndpoint,
        """
        select w.name as workspace, e.endpoint_id
          from workspace_endpoints e
          join workspaces w on w.workspace_id = e.workspace_id and w.status <> 'disabled'
         where e.enabled and e.updated_at < now() - $1::interval
           and not exists (select from (select source from messages m where m.workspace_id = e.workspace_id
                                         order by m.created_at desc limit $2) lately
                            where lately.source ->> 'endpoint_id' = e.endpoint_id)
         order by w.name, e.endpoint_id
         limit 100""",
        since, look_back,
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class SealedUnder:
    key_id: str
    secrets: int


async def sealed_by_key(tx: Transaction) -> list[SealedUnder]:
    return await tx.rows(
        SealedUnder, "select key_id, count(*) as secrets from sealed_secrets group by key_id order by key_id"
    )
