"""Send what is due: take a batch, send each delivery once, settle each outcome as it comes.

Attempts, transitions and retries are decided in sql/; the network call happens between two transactions,
never inside one.
"""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import dataclass, field
from datetime import timedelta

from pressroom.core.errors import Category, Outcome, PressroomError, ProviderError, Scope, Unavailable
from pressroom.core.ids import ChannelId, RunId, WorkspaceId
from pressroom.core.tasks import all_of
from pressroom.core.tracing import span
from pressroom.db.database import Database
from pressroom.delivery import store
from pressroom.delivery.model import SendJob, Status
from pressroom.ports.platform import Channel, ParseMode, Platform, Receipt, SendMeta

#: Answers the secret of each (auth_ref, platform) of a workspace, or the reason why there is none.
Secrets = Callable[
    [WorkspaceId, Collection[tuple[str, str]]], Awaitable[Mapping[tuple[str, str], str | PressroomError]]
]


@dataclass(frozen=True, slots=True)
class Answered:
    """A send that has ended: with a receipt, or with the error that says why not."""

    workspace_id: WorkspaceId
    job: SendJob
    answer: Receipt | ProviderError


@dataclass(frozen=True, slots=True)
class DispatchReport:
    """What one pass did. Late answers, of attempts that were superseded, count nowhere.

    `unsettled` were sent while the database was away: give them to `settle` until it takes them, or what they
    hold is free only when their lease runs out, and sent again.
    """

    counts: Mapping[Status, int] = field(default_factory=dict[Status, int])
    last_channel: ChannelId = ChannelId("")
    unsettled: tuple[Answered, ...] = ()

    @property
    def taken(self) -> int:
        return sum(self.counts.values())


async def dispatch_due(
    db: Database,
    platforms: Mapping[str, Platform],
    secrets: Secrets,
    *,
    workspace_id: WorkspaceId,
    run_id: RunId,
    limit: int = 100,
    parallel: int = 50,
    after_channel: ChannelId = ChannelId(""),
) -> DispatchReport:
    """One pass over one workspace. Call it again for more, from `last_channel` on."""
    async with db.system() as tx:
        jobs = await store.take_due(tx, workspace_id, run_id, limit, after_channel)
        if not jobs:
            return DispatchReport()
        channels = await store.channels(tx, workspace_id, {job.channel_id for job in jobs})
    found = await secrets(workspace_id, {(channel.auth_ref, channel.platform) for channel in channels.values()})
    counts: Counter[Status] = Counter()
    unsettled: list[Answered] = []
    room = asyncio.Semaphore(parallel)

    async def send(job: SendJob) -> None:
        channel = channels[job.channel_id]
        # One trace from the door to the platform: the sender's own, which the delivery carries.
        traceparent = f"00-{job.trace_id}-{job.delivery_id.hex[16:]}-01"
        async with room:
            with span("send", traceparent=traceparent, platform=channel.platform, attempt=job.attempt):
                answer = await _send_once(platforms, channel, found[channel.auth_ref, channel.platform], job)
        answered = Answered(workspace_id, job, answer)
        try:
            counts.update(await settle(db, answered))
        except Unavailable:
            unsettled.append(answered)

    await all_of(map(send, jobs))
    return DispatchReport(counts, max(job.channel_id for job in jobs), tuple(unsettled))


async def settle(db: Database, answered: Answered) -> list[Status]:
    """The state that the answer led to; none when the attempt was superseded. Repeated, it changes nothing."""
    job, answer = answered.job, answered.answer
    async with db.system() as tx:
        if isinstance(answer, ProviderError):
            failed = [(job, answer.as_json())]
            return [
                Status(settled.status)
                for settled in await store.settle_failed(tx, answered.workspace_id, job.lease_id, failed)
            ]
        sent = await store.settle_sent(tx, answered.workspace_id, job.lease_id, [(job, answer)])
        return [Status.SENT] * sent


async def workspaces_with_due_work(db: Database, *, after: WorkspaceId) -> list[WorkspaceId]:
    """Active ones, beginning behind `after` and going round."""
    async with db.system() as tx:
        return await store.due_workspaces(tx, after)


async def next_due_in(db: Database) -> timedelta | None:
    """How long until something falls due that is not due yet."""
    async with db.system() as tx:
        return await store.next_due_in(tx)


async def _send_once(
    platforms: Mapping[str, Platform], channel: Channel, secret: str | PressroomError, job: SendJob
) -> Receipt | ProviderError:
    if isinstance(secret, PressroomError):
        return _cannot_send("credential_missing", secret.message)
    if channel.platform not in platforms:
        return _cannot_send("unknown_platform", f"no platform plug is named {channel.platform}")
    rendered = job.render_meta or {}
    meta = SendMeta(
        trace_id=job.trace_id,
        idempotency_key=str(job.delivery_id),
        parse_mode=ParseMode(rendered.get("parse_mode", ParseMode.NONE)),
        disable_preview=bool(rendered.get("disable_preview", False)),
        attempt=job.attempt,
    )
    try:
        return await platforms[channel.platform].send_text(channel.with_token(secret), job.rendered_text, meta)
    except ProviderError as error:
        return error


def _cannot_send(code: str, message: str) -> ProviderError:
    return ProviderError(Category.PERMANENT, Scope.CHANNEL, code, message, outcome=Outcome.NOT_SENT)
