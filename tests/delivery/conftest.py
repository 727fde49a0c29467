"""A workspace with two channels of a sandbox Telegram, and the verbs that tests speak in."""

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest

from pressroom.core.asgi import serving
from pressroom.core.http import open_session
from pressroom.core.ids import ChannelId, RunId, TraceId, WorkspaceId
from pressroom.db.database import Database
from pressroom.delivery.dispatch import Sends, dispatch_due
from pressroom.delivery.enqueue import enqueue
from pressroom.delivery.model import Enqueued, Origin, Status
from pressroom.delivery.normalise import normalise_text_post
from pressroom.ports.platform import Platform, PlatformContext
from pressroom.sandbox.telegram import EXAMPLE_TOKEN, TelegramSandbox
from pressroom.wiring import platform_plugs

NEWS, DEALS = -1001000000001, -1001000000002


@pytest.fixture
async def telegram() -> AsyncIterator["RunningSandbox"]:
    sandbox = TelegramSandbox()
    async with (
        serving(sandbox, what="the sandbox Telegram", port=0) as port,
        open_session(hosts={"telegram.sandbox": ("127.0.0.1", port)}, user_agent="tests") as http,
    ):
        plug = platform_plugs()["telegram"]
        yield RunningSandbox(sandbox, {"telegram": plug.open(PlatformContext(http))})


@dataclass
class RunningSandbox:
    sandbox: TelegramSandbox
    platforms: Mapping[str, Platform]


async def add_channel(
    db: Database, workspace_id: WorkspaceId, channel_id: str, target: int = NEWS, **columns: Any
) -> ChannelId:
    row = {"settings": {"base_url": "http://telegram.sandbox"}, "platform": "telegram"} | columns
    async with db.system() as tx:
        await tx.execute(
            """
            insert into channels (workspace_id, channel_id, platform, target_id, auth_ref, rate_group, settings,
                                  enabled, paused_until, max_parallel, send_mode, route_filter, dedup_ttl_hours)
            values ($1, $2, $3, $4, 'bot', 'bot', $5, $6, $7, $8, $9, $10, $11)""",
            workspace_id, channel_id, row["platform"], str(target), row["settings"], row.get("enabled", True),
            row.get("paused_until"), row.get("max_parallel", 10), row.get("send_mode", "mixed"),
            row.get("route_filter"), row.get("dedup_ttl_hours", 168),
        )  # fmt: skip
    return ChannelId(channel_id)


@pytest.fixture
async def channels(db: Database, workspace: WorkspaceId) -> None:
    await add_channel(db, workspace, "deals", DEALS)
    await add_channel(db, workspace, "news", NEWS)


@dataclass
class Pass:
    taken: int
    counts: dict[Status, int]


@dataclass
class Desk:
    """One workspace at work: post, pass, look."""

    db: Database
    workspace: WorkspaceId
    telegram: RunningSandbox
    run_id: RunId = RunId("test-run")
    trace_id: TraceId = TraceId("ab" * 16)
    known: dict[tuple[str, str], Any] = field(default_factory=lambda: {("bot", "telegram"): EXAMPLE_TOKEN})

    async def post(
        self, text: str, *, tags: tuple[str, ...] = (), channel_ids: tuple[str, ...] | None = None
    ) -> Enqueued:
        return await enqueue(
            self.db,
            self.telegram.platforms,
            workspace_id=self.workspace,
            post=normalise_text_post(text, tags=tags),
            origin=Origin(
                endpoint_id="door", kind="push", trace_id=self.trace_id, run_id=RunId("ingest"),
                channel_ids=channel_ids,
            ),
        )  # fmt: skip

    async def one_pass(self, **options: Any) -> "Pass":
        """Takes what is due, and waits until it is sent and settled."""

        async def secrets(_: WorkspaceId, refs: Any) -> Any:
            return {ref: self.known[ref] for ref in refs}

        sends = Sends(self.db, self.telegram.platforms, parallel=200)
        report = await dispatch_due(
            self.db, sends, secrets, workspace_id=self.workspace, run_id=self.run_id, **options
        )
        await sends.finish()
        return Pass(report.taken, dict(sends.counts))

    async def statuses(self) -> dict[str, str]:
        return {
            row[0]: row[1]
            for row in await self.fetch(
                "select channel_id, status from deliveries where workspace_id = $1 order by created_at, channel_id"
            )
        }

    async def actions(self, channel_id: str) -> list[tuple[str, str]]:
        return [
            (row[0], row[1])
            for row in await self.fetch(
                "select action, result from events where workspace_id = $1 and channel_id = $2 order by ts, id",
                channel_id,
            )
        ]

    async def queued(self) -> int:
        return (await self.fetch("select count(*) from delivery_queue where workspace_id = $1"))[0][0]

    async def leased(self) -> int:
        rows = await self.fetch("select coalesce(sum(open), 0) from delivery_leases where workspace_id = $1")
        return rows[0][0]

    async def fetch(self, sql: str, *values: Any) -> list[Any]:
        async with self.db.system() as tx:
            return await tx.connection.fetch(sql, self.workspace, *values)

    async def execute(self, sql: str, *values: Any) -> None:
        async with self.db.system() as tx:
            await tx.connection.execute(sql, *values)

    async def all_due_now(self) -> None:
        """Time passes: whatever waits is due."""
        await self.execute("update delivery_queue set due_at = now() where workspace_id = $1", self.workspace)


@pytest.fixture
async def desk(db: Database, workspace: WorkspaceId, channels: None, telegram: RunningSandbox) -> Desk:
    return Desk(db, workspace, telegram)
