"""Health fails when work does not move, and only then."""

from datetime import timedelta
from pathlib import Path

import pytest

from pressroom.core.ids import RunId, WorkspaceId
from pressroom.db.database import Database
from pressroom.delivery import store as delivery_store
from pressroom.ops import health
from pressroom.ops.health import Health, check_health
from pressroom.ops.heartbeat import beat
from tests.conftest import add_workspace
from tests.delivery.conftest import add_channel

STALL = timedelta(seconds=60)


async def put_due(db: Database, workspace: WorkspaceId, *, since: timedelta, channel: str = "news") -> None:
    async with db.system() as tx:
        await tx.execute(
            """
            with message as (
                insert into messages (workspace_id, message_id, content_hash, payload, first_seen_trace_id,
                                      first_ingest_run_id, last_ingest_run_id)
                values ($1, gen_random_uuid(), gen_random_uuid()::text, '{}', 't', 'r', 'r')
                returning message_id, content_hash)
            insert into deliveries (workspace_id, delivery_id, message_id, channel_id, hash_version, content_hash,
                                    not_before, rendered_text)
            select $1, gen_random_uuid(), message_id, $2, 1, content_hash, now() - $3::interval, 'x' from message""",
            workspace, channel, since,
        )  # fmt: skip


async def status_of(db: Database) -> Health:
    return (await check_health(db, stall=STALL)).status


async def test_an_idle_product_is_healthy(own_db: Database):
    report = await check_health(own_db, stall=STALL)

    assert report.status == Health.OK
    assert set(report.checks) == {"database", "delivery", "loops"}


async def test_due_posts_that_nobody_takes_up_make_it_fail(own_db: Database):
    workspace = await add_workspace(own_db)
    await add_channel(own_db, workspace, "news")
    await put_due(own_db, workspace, since=timedelta(seconds=30))
    fresh = await status_of(own_db)
    await put_due(own_db, workspace, since=timedelta(minutes=5))

    report = await check_health(own_db, stall=STALL)

    assert (fresh, report.status) == (Health.OK, Health.DOWN)
    assert "pressroom serve dispatch" in report.checks["delivery"]["error"]


async def test_a_long_queue_that_moves_is_healthy(own_db: Database):
    workspace = await add_workspace(own_db)
    await add_channel(own_db, workspace, "news", max_parallel=2)
    for _ in range(4):
        await put_due(own_db, workspace, since=timedelta(minutes=5))
    async with own_db.system() as tx:
        await delivery_store.take_due(tx, workspace, RunId("busy"), 1, "")

    assert await status_of(own_db) == Health.OK


async def test_what_waits_for_a_closed_channel_or_a_paused_workspace_is_no_standstill(own_db: Database):
    workspace, paused = await add_workspace(own_db), await add_workspace(own_db)
    await add_channel(own_db, workspace, "news", enabled=False)
    await add_channel(own_db, paused, "news")
    async with own_db.system() as tx:
        await tx.execute("update workspaces set status = 'paused' where workspace_id = $1", paused)
    for tenant in (workspace, paused):
        await put_due(own_db, tenant, since=timedelta(hours=5))

    assert await status_of(own_db) == Health.OK


async def test_a_loop_that_failed_or_fell_silent_degrades_it(own_db: Database):
    await beat(own_db, loop="dispatch", process="p1", every=timedelta(seconds=5), worked=True, error="boom")
    failed = await check_health(own_db, stall=STALL)
    await beat(own_db, loop="dispatch", process="p1", every=timedelta(seconds=5), worked=True)
    recovered = await status_of(own_db)
    async with own_db.system() as tx:
        await tx.execute("update heartbeats set passed_at = now() - interval '1 hour'")

    assert (failed.status, recovered) == (Health.DEGRADED, Health.OK)
    assert failed.checks["loops"]["error"] == {"dispatch": "boom"}
    assert await status_of(own_db) == Health.DEGRADED


async def test_a_database_that_does_not_answer_is_down():
    away = await Database.open("postgresql://nobody@127.0.0.1:1/none")

    report = await check_health(away, stall=STALL)

    assert report.status == Health.DOWN
    assert "does not answer" in report.checks["database"]["error"]
    await away.close()


async def test_a_loop_that_died_matters_only_while_nobody_else_runs_it(own_db: Database):
    for process in ("old", "new"):
        await beat(own_db, loop="dispatch", process=process, every=timedelta(seconds=5), worked=True)
    async with own_db.system() as tx:
        await tx.execute("update heartbeats set passed_at = now() - interval '1 hour' where process = 'old'")

    assert await status_of(own_db) == Health.OK


async def test_a_full_disk_makes_it_fail(own_db: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    roomy = await check_health(own_db, stall=STALL, folder=tmp_path)
    monkeypatch.setattr(health, "LEAST_FREE", 2**62)  # more than any disk has

    full = await check_health(own_db, stall=STALL, folder=tmp_path)

    assert (roomy.status, full.status) == (Health.OK, Health.DOWN)
    assert "full" in full.checks["disk"]["error"]
