"""SQL written by hand, as the owner of the tables: it keeps to the state machine, and the queue stays true."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import asyncpg
import pytest

from pressroom.core.ids import WorkspaceId
from pressroom.db.database import Database
from pressroom.delivery.model import SendJob
from tests.delivery.conftest import add_channel
from tests.delivery.test_guarantees import PERMANENT, SOON, Work, texts

REFUSED = "PR409"


@dataclass
class Owner:
    """Whoever repairs things with psql: the owner of the tables, without a role of ours."""

    connection: "asyncpg.Connection[Any]"
    work: Work

    async def write(self, sql: str, *values: Any) -> None:
        """$1 is the workspace."""
        await self.connection.execute(sql, self.work.workspace, *values)

    async def move(self, status: str) -> None:
        await self.write("update deliveries set status = $2 where workspace_id = $1", status)

    async def insert(self, status: str) -> None:
        await self.write(
            """
            insert into deliveries (workspace_id, delivery_id, message_id, channel_id, hash_version, content_hash,
                                    rendered_text, status)
            select workspace_id, gen_random_uuid(), message_id, 'deals', 1, content_hash, 'By hand', $2
              from messages where workspace_id = $1""",
            status,
        )  # fmt: skip

    async def somebody_waits(self) -> bool:
        """Whether another transaction waits for this one."""
        return await self.connection.fetchval(
            "select exists (select from pg_locks where not granted and pg_backend_pid() = any(pg_blocking_pids(pid)))"
        )

    async def queue(self) -> list[tuple[UUID, int]]:
        """What is queued, and in how many hours it is due."""
        return [
            tuple(row)
            for row in await self.work.rows(
                "select delivery_id, round(extract(epoch from due_at - now()) / 3600)::int "
                "from delivery_queue where workspace_id = $1 order by due_at"
            )
        ]


@pytest.fixture
async def owner(db: Database, workspace: WorkspaceId) -> AsyncIterator[Owner]:
    await add_channel(db, workspace, "deals", -1)
    await add_channel(db, workspace, "news", -2)
    work = Work(db, workspace)
    await work.post("Hello", "news")
    connection: asyncpg.Connection[Any] = await asyncpg.connect(db.dsn)
    yield Owner(connection, work)
    await connection.close()


async def _claim(work: Work) -> None:
    await work.rows("update deliveries set status = 'claimed' where workspace_id = $1")


async def _dedupe(work: Work) -> None:
    await work.rows("update deliveries set status = 'deduped' where workspace_id = $1")


async def _stay(_: Work) -> None: ...


async def _take(work: Work) -> None:
    await work.take()


async def _send(work: Work) -> None:
    await work.sent(*await work.take())


async def _fail(work: Work) -> None:
    await work.failed(*await work.take())


async def _refuse(work: Work) -> None:
    await work.failed(*await work.take(), error=PERMANENT)


async def _use_up(work: Work) -> None:
    await work.setting("max_attempts", 1)
    await _fail(work)


#: How the delivery of a post gets into each state.
LEADS_TO: dict[str, Callable[[Work], Awaitable[None]]] = {
    "queued": _stay,
    "claimed": _claim,
    "deduped": _dedupe,
    "sending": _take,
    "sent": _send,
    "retry": _fail,
    "failed_permanent": _refuse,
    "dead": _use_up,
}


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("queued", "sent"), ("queued", "sending"), ("retry", "sent"), ("retry", "sending"),
        ("sent", "retry"), ("sent", "queued"), ("sent", "sending"), ("sent", "dead"), ("sent", "failed_permanent"),
        ("dead", "queued"), ("dead", "sent"), ("dead", "sending"), ("failed_permanent", "sent"),
        ("sending", "queued"), ("deduped", "sent"), ("deduped", "sending"),
    ],
)  # fmt: skip
async def test_a_step_that_the_state_machine_does_not_know_is_refused(owner: Owner, before: str, after: str):
    await LEADS_TO[before](owner.work)
    queue = await owner.queue()

    with pytest.raises(asyncpg.PostgresError, match=f"cannot go {before} -> {after}") as refused:
        await owner.move(after)

    assert refused.value.sqlstate == REFUSED
    assert (await owner.work.statuses(), await owner.queue()) == ([before], queue)


async def test_one_refused_step_refuses_the_whole_statement(owner: Owner):
    await LEADS_TO["sent"](owner.work)
    await owner.work.post("Again", "deals")

    with pytest.raises(asyncpg.PostgresError, match="cannot go sent -> claimed"):
        await owner.move("claimed")

    assert (await owner.work.statuses(), await owner.work.queued()) == (["queued", "sent"], 1)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("queued", "claimed"), ("queued", "failed_permanent"), ("queued", "deduped"),
        ("retry", "claimed"), ("retry", "failed_permanent"), ("retry", "deduped"), ("retry", "dead"),
    ],
)  # fmt: skip
async def test_what_waits_no_more_leaves_the_queue(owner: Owner, before: str, after: str):
    await LEADS_TO[before](owner.work)
    waiting = await owner.work.queued()

    await owner.move(after)

    await owner.work.all_due_now()
    assert (waiting, await owner.work.queued()) == (1, 0)
    assert (await owner.work.take(), await owner.work.statuses()) == ([], [after])


async def test_only_what_was_changed_leaves_the_queue(owner: Owner):
    await owner.work.post("Stays", "news")
    await owner.work.post("Stays", "deals")

    await owner.write(
        "update deliveries set status = 'failed_permanent' where workspace_id = $1 and rendered_text = 'Hello'"
    )

    assert await owner.work.queued() == 2
    assert texts(await owner.work.take()) == ["Stays", "Stays"]


@pytest.mark.parametrize("status", ["claimed", "sending", "sent", "retry", "dead"])
async def test_a_delivery_cannot_begin_as_what_it_has_to_become(owner: Owner, status: str):
    with pytest.raises(asyncpg.PostgresError, match=f"cannot begin as {status}") as refused:
        await owner.insert(status)

    assert refused.value.sqlstate == REFUSED
    assert (await owner.work.statuses(), await owner.work.queued()) == (["queued"], 1)


@pytest.mark.parametrize(("status", "queued"), [("queued", 1), ("deduped", 0), ("failed_permanent", 0)])
async def test_a_delivery_that_begins_goes_to_work_only_if_it_waits(owner: Owner, status: str, queued: int):
    await LEADS_TO["sent"](owner.work)

    await owner.insert(status)

    assert await owner.work.queued() == queued
    assert texts(await owner.work.take()) == ["By hand"] * queued


async def test_another_not_before_moves_what_is_queued(owner: Owner):
    [(delivery, now)] = await owner.queue()

    await owner.write("update deliveries set not_before = now() + interval '2 hours' where workspace_id = $1")
    later = await owner.queue()
    taken = await owner.work.take()
    await owner.write("update deliveries set not_before = now() - interval '1 hour' where workspace_id = $1")

    assert (now, later, taken) == (0, [(delivery, 2)], [])
    assert await owner.queue() == [(delivery, -1)]
    assert len(await owner.work.take()) == 1


async def test_another_next_retry_at_moves_what_waits_for_its_next_attempt(owner: Owner):
    await LEADS_TO["retry"](owner.work)
    [(delivery, _)] = await owner.queue()

    await owner.write(
        "update deliveries set next_retry_at = now() + interval '3 hours' where workspace_id = $1"
    )
    later = await owner.queue()
    taken = await owner.work.take()
    await owner.write("update deliveries set next_retry_at = now() - interval '1 hour' where workspace_id = $1")

    assert (later, taken) == ([(delivery, 3)], [])
    assert len(await owner.queue()) == 1
    assert len(await owner.work.take()) == 1


async def test_a_retry_is_due_no_sooner_than_its_delivery_may_go_out(owner: Owner):
    await LEADS_TO["retry"](owner.work)

    await owner.write(
        "update deliveries set next_retry_at = now() + interval '1 hour', not_before = now() + interval '2 hours' "
        "where workspace_id = $1"
    )

    [(_, due_in)] = await owner.queue()
    assert due_in == 2


@pytest.mark.parametrize("before", ["queued", "retry", "sent", "dead", "sending"])
async def test_what_says_nothing_of_when_and_whether_leaves_the_queue_as_it_is(owner: Owner, before: str):
    await LEADS_TO[before](owner.work)
    rows = "select ctid, due_at, delivery_id from delivery_queue where workspace_id = $1"
    queue = await owner.work.rows(rows)

    await owner.write(
        "update deliveries set rendered_text = 'Corrected', status = status where workspace_id = $1"
    )

    assert await owner.work.rows(rows) == queue


@pytest.mark.parametrize("before", ["dead", "failed_permanent"])
async def test_what_was_given_up_and_is_requeued_by_hand_is_put_to_work_once(owner: Owner, before: str):
    await LEADS_TO[before](owner.work)
    given_up = await owner.work.queued()

    await owner.write("update deliveries set status = 'retry', next_retry_at = now() where workspace_id = $1")
    once = await owner.queue()
    await owner.write(
        "update deliveries set status = 'retry', next_retry_at = next_retry_at where workspace_id = $1"
    )
    twice = await owner.queue()
    [job] = await owner.work.take()

    assert (given_up, len(once), twice) == (0, 1, once)
    assert (job.attempt, await owner.work.take(), await owner.work.queued()) == (2, [], 0)
    assert (await owner.work.sent(job), await owner.work.statuses(), await owner.work.leased()) == (
        1,
        ["sent"],
        0,
    )


async def test_a_requeue_by_hand_without_a_time_is_due_at_once(owner: Owner):
    await LEADS_TO["dead"](owner.work)

    await owner.move("retry")

    assert texts(await owner.work.take()) == ["Hello"]


async def test_a_claim_by_hand_that_is_given_back_is_queued_once(owner: Owner):
    for status in ("claimed", "queued", "claimed", "retry"):
        await owner.move(status)
        assert await owner.work.queued() == (status != "claimed")

    assert texts(await owner.work.take()) == ["Hello"]


async def test_what_is_taken_out_of_sending_by_hand_makes_room_at_once_and_its_answer_comes_too_late(
    owner: Owner,
):
    await owner.work.post("Other", "news")
    first, second = await owner.work.take()

    await owner.write(
        "update deliveries set status = 'retry', next_retry_at = now() where workspace_id = $1 and delivery_id = $2",
        first.delivery_id,
    )
    leased = [await owner.work.leased()]
    late = await owner.work.sent(first)
    leased.append(await owner.work.leased())
    await owner.work.sent(second)

    assert (late, leased, await owner.work.leased(), await owner.work.queued()) == (0, [1, 1], 0, 1)


async def test_what_is_set_to_sending_by_hand_counts_as_under_way_and_is_freed_when_its_time_is_over(
    owner: Owner,
):
    await owner.move("claimed")
    await owner.move("sending")
    leased = await owner.work.leased()
    await owner.write("update delivery_leases set taken_at = now() - interval '1 hour' where workspace_id = $1")

    released = await owner.work.release()

    assert (leased, released) == (1, 1)
    assert (await owner.work.statuses(), await owner.work.queued(), await owner.work.leased()) == (
        ["retry"],
        1,
        0,
    )


async def _succeeds(work: Work, job: SendJob) -> int:
    return await work.sent(job)


async def _fails(work: Work, job: SendJob) -> int:
    return len(await work.failed(job))


async def _runs_out(work: Work, _: SendJob) -> int:
    await work.rows("update delivery_leases set taken_at = now() - interval '1 hour' where workspace_id = $1")
    return await work.release()


@pytest.mark.parametrize("end", [_succeeds, _fails, _runs_out])
async def test_what_ends_while_it_is_taken_back_by_hand_settles_nothing_and_deadlocks_with_nobody(
    owner: Owner, end: Callable[[Work, SendJob], Awaitable[int]]
):
    [job] = await owner.work.take()
    sql = "update deliveries set status = 'retry', next_retry_at = now() where workspace_id = $1"

    async with owner.connection.transaction():
        await owner.write("select from deliveries where workspace_id = $1 for update")
        ending = asyncio.create_task(end(owner.work, job))
        async with asyncio.timeout(SOON):
            while not (ending.done() or await owner.somebody_waits()):  # noqa: ASYNC110 - only the server knows
                await asyncio.sleep(0)
        await owner.write(sql)
    ended = await ending

    assert (ended, await owner.work.statuses()) == (0, ["retry"])
    assert (await owner.work.queued(), await owner.work.leased()) == (1, 0)


async def test_another_channel_takes_what_is_queued_along(owner: Owner):
    await owner.write("update deliveries set channel_id = 'deals' where workspace_id = $1")

    [job] = await owner.work.take()

    assert (job.channel_id, await owner.work.queued()) == ("deals", 0)
    assert await owner.work.value("select channels from delivery_leases where workspace_id = $1") == ["deals"]
