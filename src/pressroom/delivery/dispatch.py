"""Send what is due: take a batch, send each delivery once, settle each answer as it comes.

Attempts, transitions and retries are decided in sql/; the network call happens between two transactions,
never inside one. Sends run in a pool that outlives the pass, so that one slow platform holds up nobody.
"""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import dataclass
from datetime import timedelta

import structlog

from pressroom.core.errors import Category, Outcome, PressroomError, ProviderError, Scope, Unavailable
from pressroom.core.ids import ChannelId, RunId, WorkspaceId
from pressroom.core.tracing import span
from pressroom.db.database import Database
from pressroom.delivery import store
from pressroom.delivery.model import SendJob, Status
from pressroom.ports.platform import Channel, ParseMode, Platform, Receipt, SendMeta

log = structlog.stdlib.get_logger(__name__)

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
    """How many sends one pass began, and the channel to go on behind."""

    taken: int = 0
    last_channel: ChannelId = ChannelId("")


class Sends:
    """What this process has under way, at most `parallel` at once, of one workspace at most half of what the
    others leave.

    An answer that comes while the database is away is kept until it can be settled: a settlement that is lost is
    a post sent twice. `ended` is called whenever a send has ended, since that makes room.
    """

    def __init__(
        self, db: Database, platforms: Mapping[str, Platform], *, parallel: int, ended: Callable[[], None] = lambda: None
    ) -> None:  # fmt: skip
        self._db = db
        self._platforms = platforms
        self._parallel = parallel
        self._ended = ended
        self._under_way: dict[asyncio.Task[None], WorkspaceId] = {}
        self._unsettled: list[Answered] = []
        self.counts: Counter[Status] = Counter()

    def room_for(self, workspace_id: WorkspaceId) -> int:
        held = sum(1 for owner in self._under_way.values() if owner == workspace_id)
        others = len(self._under_way) - held
        fair = max((self._parallel - others + 1) // 2, 1)
        return max(min(fair - held, self._parallel - len(self._under_way)), 0)

    def begin(
        self, workspace_id: WorkspaceId, channel: Channel, secret: str | PressroomError, job: SendJob
    ) -> None:
        task = asyncio.create_task(self._send_and_settle(workspace_id, channel, secret, job))
        self._under_way[task] = workspace_id
        task.add_done_callback(self._forget)

    async def settle_what_waits(self) -> None:
        """Raises Unavailable while the database still is."""
        while self._unsettled:
            self.counts.update(await settle(self._db, self._unsettled[0]))
            self._unsettled.pop(0)

    async def finish(self) -> None:
        """Until nothing is under way and everything is settled."""
        while self._under_way:
            await asyncio.wait(self._under_way)
        await self.settle_what_waits()

    async def _send_and_settle(
        self, workspace_id: WorkspaceId, channel: Channel, secret: str | PressroomError, job: SendJob
    ) -> None:
        # One trace from the door to the platform: the sender's own, which the delivery carries.
        traceparent = f"00-{job.trace_id}-{job.delivery_id.hex[16:]}-01"
        with span("send", traceparent=traceparent, platform=channel.platform, attempt=job.attempt):
            answer = await _send_once(self._platforms, channel, secret, job)
        answered = Answered(workspace_id, job, answer)
        try:
            led_to = await settle(self._db, answered)
        except Unavailable:
            self._unsettled.append(answered)
            return
        self.counts.update(led_to)
        if isinstance(answer, ProviderError) and led_to and Status.RETRY not in led_to:
            log.warning(
                "delivery given up", channel=channel.channel_id, delivery=str(job.delivery_id), code=answer.code,
                error=answer.message,
            )  # fmt: skip

    def _forget(self, task: "asyncio.Task[None]") -> None:
        del self._under_way[task]
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("an answer could not be settled; its lease will run out", exc_info=error)
        self._ended()


async def dispatch_due(
    db: Database,
    sends: Sends,
    secrets: Secrets,
    *,
    workspace_id: WorkspaceId,
    run_id: RunId,
    limit: int = 100,
    after_channel: ChannelId = ChannelId(""),
) -> DispatchReport:
    """One pass over one workspace: take what is due and there is room for, and begin to send it."""
    limit = min(limit, sends.room_for(workspace_id))
    if limit == 0:
        return DispatchReport()
    async with db.system() as tx:
        jobs = await store.take_due(tx, workspace_id, run_id, limit, after_channel)
        if not jobs:
            return DispatchReport()
        channels = await store.channels(tx, workspace_id, {job.channel_id for job in jobs})
    found = await secrets(workspace_id, {(channel.auth_ref, channel.platform) for channel in channels.values()})
    for job in jobs:
        channel = channels[job.channel_id]
        sends.begin(workspace_id, channel, found[channel.auth_ref, channel.platform], job)
    return DispatchReport(len(jobs), max(job.channel_id for job in jobs))


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
    except Exception as error:
        log.exception("a plug failed", platform=channel.platform, channel=channel.channel_id)
        return ProviderError(
            Category.TRANSIENT, Scope.CHANNEL, "plug_failed", f"the {channel.platform} plug failed: "
            f"{type(error).__name__}", outcome=Outcome.UNKNOWN,
        )  # fmt: skip


def _cannot_send(code: str, message: str) -> ProviderError:
    return ProviderError(Category.PERMANENT, Scope.CHANNEL, code, message, outcome=Outcome.NOT_SENT)
