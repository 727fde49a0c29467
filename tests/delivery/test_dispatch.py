"""What is due is sent once, its outcome settled, and every step is on record."""

import asyncio
import signal
import sys
from datetime import timedelta
from pathlib import Path

import pytest
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from pressroom.core.errors import NotFound, Unavailable
from pressroom.core.ids import EVERY_WORKSPACE, RunId
from pressroom.core.tracing import configure_tracing, stop_tracing
from pressroom.db.database import Database
from pressroom.delivery import store
from pressroom.delivery.dispatch import Answered, settle, workspaces_with_due_work
from pressroom.delivery.model import Status
from pressroom.delivery.recover import release_expired_leases
from pressroom.ports.platform import SendMeta
from pressroom.sandbox.telegram import EXAMPLE_TOKEN
from tests.delivery.conftest import DEALS, NEWS, Desk, add_channel


async def test_a_post_reaches_every_channel_with_each_step_on_record(desk: Desk):
    await desk.post("Hello")

    report = await desk.one_pass()

    assert report.counts == {Status.SENT: 2}
    assert desk.telegram.sandbox.messages(NEWS) == ["Hello"]
    assert desk.telegram.sandbox.messages(DEALS) == ["Hello"]
    assert await desk.actions("news") == [("enqueue", "ok"), ("send_attempt", "ok"), ("sent", "ok")]
    assert (await desk.queued(), await desk.leased()) == (0, 0)


async def test_a_429_waits_as_long_as_the_platform_asks_and_is_then_sent(desk: Desk):
    await desk.post("Hello", channel_ids=("news",))
    desk.telegram.sandbox.fail_next(429, retry_after=timedelta(seconds=30))

    first = await desk.one_pass()
    [wait] = await desk.fetch(
        "select next_retry_at - updated_at as wait, status from deliveries where workspace_id = $1"
    )
    await desk.all_due_now()
    second = await desk.one_pass()

    assert (first.counts, second.counts) == ({Status.RETRY: 1}, {Status.SENT: 1})
    assert timedelta(seconds=30) <= wait["wait"] <= timedelta(seconds=32)
    assert desk.telegram.sandbox.messages(NEWS) == ["Hello"]
    assert await desk.actions("news") == [
        ("enqueue", "ok"), ("send_attempt", "ok"), ("send_attempt", "error"), ("retry_scheduled", "error"),
        ("send_attempt", "ok"), ("sent", "ok"),
    ]  # fmt: skip


async def test_a_refusal_that_nothing_can_change_ends_that_delivery_and_no_other(desk: Desk):
    await desk.post("Hello")
    desk.telegram.sandbox.fail_next(403, "Forbidden: bot was kicked from the channel chat", chat=NEWS)

    report = await desk.one_pass()

    assert report.counts == {Status.SENT: 1, Status.FAILED_PERMANENT: 1}
    assert await desk.statuses() == {"deals": "sent", "news": "failed_permanent"}


async def test_five_attempts_and_then_the_delivery_is_dead(desk: Desk):
    await desk.post("Hello", channel_ids=("news",))
    desk.telegram.sandbox.fail_next(502, times=5)

    reports = []
    for _ in range(5):
        reports.append(dict((await desk.one_pass()).counts))
        await desk.all_due_now()

    assert reports == [{Status.RETRY: 1}] * 4 + [{Status.DEAD: 1}]
    assert (await desk.actions("news"))[-1] == ("dead_letter", "error")
    assert await desk.queued() == 0


async def test_a_credential_that_is_missing_fails_its_channel_with_a_reason(desk: Desk):
    desk.known["bot", "telegram"] = NotFound("no credential 'bot' for telegram")
    await desk.post("Hello", channel_ids=("news",))

    report = await desk.one_pass()

    [row] = await desk.fetch("select last_error from deliveries where workspace_id = $1")
    assert report.counts == {Status.FAILED_PERMANENT: 1}
    assert row["last_error"]["code"] == "credential_missing"


async def test_racing_dispatchers_send_each_delivery_once(desk: Desk):
    for number in range(30):
        await desk.post(f"Post {number}")

    async def dispatcher(name: str) -> int:
        taken, desk_of_its_own = 0, Desk(desk.db, desk.workspace, desk.telegram, RunId(name))
        while report := (await desk_of_its_own.one_pass(limit=7)).taken or await desk.queued():
            taken += report
        return taken

    await asyncio.gather(*(dispatcher(f"run-{n}") for n in range(8)))

    for chat in (NEWS, DEALS):
        assert sorted(desk.telegram.sandbox.messages(chat)) == sorted(f"Post {n}" for n in range(30))
    assert await desk.leased() == 0


async def test_no_channel_has_more_under_way_than_its_max_parallel(desk: Desk):
    await desk.execute("update channels set max_parallel = 2 where workspace_id = $1", desk.workspace)
    for number in range(5):
        await desk.post(f"Post {number}", channel_ids=("news",))

    async with desk.db.system() as tx:
        first = await store.take_due(tx, desk.workspace, RunId("a"), 100, "")
    async with desk.db.system() as tx:
        second = await store.take_due(tx, desk.workspace, RunId("b"), 100, "")

    assert (len(first), len(second)) == (2, 0)


async def test_closed_channels_are_stepped_over_however_many_come_first(desk: Desk):
    for number in range(25):
        await add_channel(desk.db, desk.workspace, f"closed-{number:02}", -(number + 1))
    await desk.post("Hello")
    await desk.execute(
        "update channels set enabled = false where workspace_id = $1 and channel_id like 'closed-%'",
        desk.workspace,
    )

    report = await desk.one_pass()

    assert report.counts == {Status.SENT: 2}


@pytest.mark.spec("AP-029")
@pytest.mark.parametrize("status", ["paused", "disabled"])
async def test_only_an_active_workspace_is_dispatched_and_its_posts_wait(desk: Desk, status: str):
    await desk.post("Hello")
    await desk.execute("update workspaces set status = $2 where workspace_id = $1", desk.workspace, status)

    listed = desk.workspace in await workspaces_with_due_work(desk.db, after=EVERY_WORKSPACE)
    closed = await desk.one_pass()
    await desk.execute("update workspaces set status = 'active' where workspace_id = $1", desk.workspace)
    active = await desk.one_pass()

    assert (listed, closed.taken, active.counts) == (False, 0, {Status.SENT: 2})


DIES = """
import asyncio, os, signal, sys
from uuid import UUID
from pressroom.core.ids import EVERY_WORKSPACE, RunId
from pressroom.core.tracing import configure_tracing, stop_tracing
from pressroom.db.database import Database
from pressroom.delivery import store

async def main():
    db = await Database.open(sys.argv[1])
    async with db.system() as tx:
        await store.take_due(tx, UUID(sys.argv[2]), RunId("doomed"), 100, "")
    os.kill(os.getpid(), signal.SIGKILL)

asyncio.run(main())
"""


async def released_of(desk: Desk) -> int:
    async with desk.db.system() as tx:
        return await store.release_expired_leases(tx, desk.workspace)


async def test_what_a_killed_process_had_under_way_is_freed_when_its_lease_runs_out(desk: Desk, tmp_path: Path):
    await desk.post("Hello", channel_ids=("news",))
    script = tmp_path / "dies.py"
    script.write_text(DIES)

    doomed = await asyncio.create_subprocess_exec(sys.executable, script, desk.db.dsn, str(desk.workspace))
    assert await doomed.wait() == -signal.SIGKILL
    held = await desk.statuses()
    too_early = await released_of(desk)
    await desk.execute(
        "update delivery_leases set taken_at = now() - interval '301 seconds' where workspace_id = $1",
        desk.workspace,
    )
    released = await released_of(desk)
    await desk.all_due_now()
    report = await desk.one_pass()

    assert held == {"news": "sending"}
    assert (too_early, released) == (0, 1)
    assert report.counts == {Status.SENT: 1}
    [row] = await desk.fetch("select attempt from deliveries where workspace_id = $1")
    assert row["attempt"] == 2
    assert ("sending_lease_expired", "error") in await desk.actions("news")


async def test_a_late_answer_of_a_superseded_attempt_changes_nothing(desk: Desk):
    await desk.post("Hello", channel_ids=("news",))
    async with desk.db.system() as tx:
        [job] = await store.take_due(tx, desk.workspace, RunId("slow"), 100, "")
    await desk.execute(
        "update delivery_leases set taken_at = now() - interval '1 hour' where workspace_id = $1",
        desk.workspace,
    )
    await release_expired_leases(desk.db)
    await desk.all_due_now()
    async with desk.db.system() as tx:
        [again] = await store.take_due(tx, desk.workspace, RunId("next"), 100, "")

    async with desk.db.system() as tx:
        settled = await store.settle_failed(
            tx,
            desk.workspace,
            job.lease_id,
            [(job, {"category": "PERMANENT", "scope": "delivery", "code": "400"})],
        )

    assert settled == []
    assert again.attempt == job.attempt + 1
    assert await desk.statuses() == {"news": "sending"}


async def test_what_was_sent_while_the_database_was_away_is_settled_later_and_not_sent_again(desk: Desk):
    await desk.post("Hello", channel_ids=("news",))
    away = await Database.open("postgresql://nobody@127.0.0.1:1/none")
    async with desk.db.system() as tx:
        [job] = await store.take_due(tx, desk.workspace, RunId("cut"), 100, "")
        [channel] = (await store.channels(tx, desk.workspace, [job.channel_id])).values()
    receipt = await desk.telegram.platforms["telegram"].send_text(
        channel.with_token(EXAMPLE_TOKEN),
        job.rendered_text,
        SendMeta(trace_id=job.trace_id, idempotency_key="x"),
    )
    answered = Answered(desk.workspace, job, receipt)

    with pytest.raises(Unavailable):
        await settle(away, answered)
    first, again = await settle(desk.db, answered), await settle(desk.db, answered)

    assert (first, again) == ([Status.SENT], [])
    assert await desk.statuses() == {"news": "sent"}
    assert (await desk.leased(), desk.telegram.sandbox.messages(NEWS)) == (0, ["Hello"])
    await away.close()


async def test_a_send_belongs_to_the_trace_of_its_post(desk: Desk):
    memory = InMemorySpanExporter()
    configure_tracing(True, exporter=memory)
    await desk.post("Hello", channel_ids=("news",))

    await desk.one_pass()
    stop_tracing()

    [send] = [span for span in memory.get_finished_spans() if span.name == "send"]
    assert f"{send.context.trace_id:032x}" == desk.trace_id
    assert dict(send.attributes or {}) == {"platform": "telegram", "attempt": 1}
