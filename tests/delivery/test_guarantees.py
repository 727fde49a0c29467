"""What the functions of delivery promise, called one by one: taking, settling, releasing, enqueueing, looking."""

import asyncio
import contextlib
import random
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any
from uuid import UUID

import asyncpg
import pytest

from pressroom.core.ids import ChannelId, RunId, WorkspaceId
from pressroom.db.database import Database, Transaction
from pressroom.delivery import store
from pressroom.delivery.model import Enqueued, SendJob, Settled
from pressroom.ports.platform import Receipt
from tests.conftest import add_workspace
from tests.delivery.conftest import add_channel

TRANSIENT = {"category": "TRANSIENT", "scope": "delivery", "code": "502", "message": "Bad Gateway"}
PERMANENT = {"category": "PERMANENT", "scope": "delivery", "code": "400", "message": "Bad Request"}
SOON = 10  # seconds: how long a test waits for what should come at once


@dataclass
class Work:
    """One workspace without a platform: posts go in, and the test says what became of each send."""

    db: Database
    workspace: WorkspaceId

    async def post(
        self, text: str, *channels: str, tags: tuple[str, ...] = (), run: str = "ingest"
    ) -> Enqueued:
        async with self.db.transaction(self.workspace) as tx:
            return await self.enqueue(tx, text, *channels, tags=tags, run=run)

    async def enqueue(
        self, tx: Transaction, text: str, *channels: str, tags: tuple[str, ...] = (), run: str = "ingest"
    ) -> Enqueued:
        raw_payload: dict[str, Any] = {
            "trace_id": f"trace of {run}",
            "run_id": run,
            "prepared": {
                "payload": {"type": "text", "text": text},
                "hash_version": 1,
                "content_hash": f"hash of {text}",
                "normalization_version": 1,
                "tags": list(tags),
                "renderings": {"telegram": {"text": text, "meta": {}, "template_version": "1"}},
            },
        }
        if channels:
            raw_payload["channel_ids"] = list(channels)
        return await store.enqueue_messages_and_deliveries(tx, self.workspace, "door", "push", raw_payload)

    async def take(self, run: str = "run", limit: int = 100, after: str = "") -> list[SendJob]:
        async with self.db.system() as tx:
            return await store.take_due(tx, self.workspace, RunId(run), limit, ChannelId(after))

    async def sent(self, *jobs: SendJob) -> int:
        async with self.db.system() as tx:
            return await store.settle_sent(
                tx, self.workspace, jobs[0].lease_id, [(job, Receipt(f"sent as {job.attempt}")) for job in jobs]
            )

    async def failed(self, *jobs: SendJob, error: dict[str, object] = TRANSIENT) -> list[Settled]:
        async with self.db.system() as tx:
            return await store.settle_failed(
                tx, self.workspace, jobs[0].lease_id, [(job, error) for job in jobs]
            )

    async def release(self) -> int:
        async with self.db.system() as tx:
            return await store.release_expired_leases(tx, self.workspace)

    async def rows(self, sql: str, *values: Any) -> list[Any]:
        """$1 is the workspace."""
        async with self.db.system() as tx:
            return await tx.connection.fetch(sql, self.workspace, *values)

    async def value(self, sql: str, *values: Any) -> Any:
        return (await self.rows(sql, *values))[0][0]

    async def statuses(self) -> list[str]:
        return [
            row[0]
            for row in await self.rows("select status from deliveries where workspace_id = $1 order by 1")
        ]

    async def queued(self) -> int:
        return await self.value("select count(*) from delivery_queue where workspace_id = $1")

    async def leased(self) -> int:
        return await self.value("select coalesce(sum(open), 0) from delivery_leases where workspace_id = $1")

    async def all_due_now(self) -> None:
        await self.rows("update delivery_queue set due_at = now() where workspace_id = $1")

    async def due_since(self, text: str, waiting: timedelta) -> None:
        await self.rows(
            """
            update delivery_queue q set due_at = now() - $3::interval
              from deliveries d
             where q.workspace_id = $1 and d.workspace_id = $1 and d.delivery_id = q.delivery_id
               and d.rendered_text = $2""",
            text, waiting,
        )  # fmt: skip

    async def lease_taken(self, run: str, ago: timedelta) -> None:
        await self.rows(
            "update delivery_leases set taken_at = now() - $3::interval where workspace_id = $1 and run_id = $2",
            run, ago,
        )  # fmt: skip

    async def set_channel(self, channel: str, **columns: Any) -> None:
        for column, value in columns.items():
            await self.rows(
                f"update channels set {column} = $3 where workspace_id = $1 and channel_id = $2", channel, value
            )

    async def setting(self, key: str, value: Any) -> None:
        await self.rows(
            "insert into autopost_settings (workspace_id, key, value) values ($1, $2, $3)", key, value
        )


@pytest.fixture
async def work(db: Database, workspace: WorkspaceId) -> Work:
    await add_channel(db, workspace, "deals", -1)
    await add_channel(db, workspace, "news", -2)
    return Work(db, workspace)


async def put_due(db: Database, workspace: WorkspaceId, channel: str, due_in: timedelta = timedelta()) -> None:
    """A delivery written by hand, due then."""
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
            select $1, gen_random_uuid(), message_id, $2, 1, content_hash, now() + $3::interval, 'By hand'
              from message""",
            workspace, channel, due_in,
        )  # fmt: skip


def texts(jobs: list[SendJob]) -> list[str]:
    return sorted(job.rendered_text for job in jobs)


# -- taking


async def test_what_is_in_flight_leaves_less_room_for_the_next_batch(work: Work):
    await work.set_channel("news", max_parallel=3)
    for number in range(5):
        await work.post(f"Post {number}", "news")

    batches = [len(await work.take(limit=2)), len(await work.take("other")), len(await work.take("third"))]

    assert batches == [2, 1, 0]


async def test_while_one_dispatcher_takes_from_a_channel_another_takes_from_others_only(work: Work):
    for number in range(4):
        await work.post(f"Post {number}")

    async with work.db.system() as one, work.db.system() as another:
        await another.execute("set local lock_timeout = '2s'")
        held = await store.take_due(one, work.workspace, RunId("one"), 1, ChannelId("deals"))
        free = await store.take_due(another, work.workspace, RunId("another"), 100, ChannelId(""))

    assert [job.channel_id for job in held] == ["news"]
    assert [job.channel_id for job in free] == ["deals"] * 4


async def test_queue_rows_whose_delivery_does_not_wait_are_dropped_and_hold_no_lease(work: Work):
    await work.post("Sent", "news")
    await work.sent(*await work.take())
    await work.post("Waiting", "news")
    await work.rows(
        "insert into delivery_queue (workspace_id, channel_id, due_at, delivery_id) "
        "select workspace_id, channel_id, now(), delivery_id from deliveries where workspace_id = $1"
    )

    taken = await work.take()
    leased = await work.leased()
    await work.sent(*taken)

    assert (texts(taken), leased) == (["Waiting"], 1)
    assert (await work.queued(), await work.leased()) == (0, 0)


async def test_a_batch_of_which_everything_fell_out_holds_no_lease(work: Work):
    await work.post("Sent", "news")
    await work.sent(*await work.take())
    await work.rows(
        "insert into delivery_queue (workspace_id, channel_id, due_at, delivery_id) "
        "select workspace_id, channel_id, now(), delivery_id from deliveries where workspace_id = $1"
    )

    taken = await work.take()

    assert (taken, await work.queued(), await work.leased()) == ([], 0, 0)
    assert await work.statuses() == ["sent"]


@pytest.mark.parametrize(
    ("closed", "opened"),
    [
        ("set enabled = false", "set enabled = true"),
        ("set paused_until = now() + interval '1 hour'", "set paused_until = now() - interval '1 second'"),
    ],
    ids=["disabled", "paused"],
)
async def test_a_closed_channel_gets_nothing_until_it_is_open_again(work: Work, closed: str, opened: str):
    await work.post("Hello")

    await work.rows(f"update channels {closed} where workspace_id = $1 and channel_id = 'news'")
    while_closed = await work.take()
    await work.rows(f"update channels {opened} where workspace_id = $1 and channel_id = 'news'")
    once_open = await work.take()

    assert [job.channel_id for job in while_closed] == ["deals"]
    assert [job.channel_id for job in once_open] == ["news"]


async def test_a_batch_begins_behind_the_channel_that_it_is_given(work: Work):
    await work.post("Hello")

    behind_all, behind_deals, from_the_first = [await work.take(after=name) for name in ("news", "deals", "")]

    assert behind_all == []
    assert [job.channel_id for job in behind_deals] == ["news"]
    assert [job.channel_id for job in from_the_first] == ["deals"]


async def test_the_oldest_of_a_channel_goes_first(work: Work):
    for text, minutes in (("young", 1), ("old", 3), ("middle", 2)):
        await work.post(text, "news")
        await work.due_since(text, timedelta(minutes=minutes))

    order = [texts(await work.take(limit=1)) for _ in range(3)]

    assert order == [["old"], ["middle"], ["young"]]


async def test_the_oldest_of_all_channels_goes_first(work: Work):
    for text, channel, minutes in (("young", "deals", 1), ("old", "news", 3), ("middle", "deals", 2)):
        await work.post(text, channel)
        await work.due_since(text, timedelta(minutes=minutes))

    order = [texts(await work.take(limit=1)) for _ in range(3)]

    assert order == [["old"], ["middle"], ["young"]]


async def test_what_is_due_later_is_left_alone(work: Work):
    await work.post("Hello", "news")
    await work.due_since("Hello", timedelta(minutes=-1))

    assert (await work.take(), await work.queued()) == ([], 1)


async def test_one_batch_takes_no_more_of_a_channel_than_it_was_told(work: Work):
    for number in range(5):
        await work.post(f"Post {number}")

    taken = await work.rows(
        "select channel_id, count(*) from fn.take_due($1, 'run', p_limit => 100, p_per_channel => 2) "
        "group by channel_id order by channel_id"
    )

    assert [tuple(row) for row in taken] == [("deals", 2), ("news", 2)]


async def test_a_taken_delivery_is_under_way_with_its_attempt_on_record(work: Work):
    await work.post("Hello", "news")

    [job] = await work.take("mine")

    [row] = await work.rows("select status, attempt, claim_token from deliveries where workspace_id = $1")
    events = await work.rows(
        "select action, attempt, result, meta ->> 'phase' as phase, meta ->> 'workflow_run_id' as run from events "
        "where workspace_id = $1 and delivery_id = $2 and action <> 'enqueue'",
        job.delivery_id,
    )
    assert tuple(row) == ("sending", 1, "mine")
    assert [tuple(event) for event in events] == [("send_attempt", 1, "ok", "before", "mine")]
    assert (await work.queued(), await work.leased()) == (0, 1)


# -- settling


async def superseded(work: Work) -> tuple[SendJob, SendJob]:
    """The same delivery as two runs have it: the lease of the first ran out, the second sends it."""
    await work.post("Hello", "news")
    [slow] = await work.take("slow")
    await work.lease_taken("slow", timedelta(hours=1))
    assert await work.release() == 1
    await work.all_due_now()
    [again] = await work.take("next")
    return slow, again


STANDS = "select status, attempt, claim_token, provider_message_id, next_retry_at from deliveries where workspace_id = $1"


async def test_a_late_success_of_a_superseded_attempt_changes_nothing(work: Work):
    slow, again = await superseded(work)

    late = await work.sent(slow)
    [stands] = await work.rows(STANDS)
    leased = await work.leased()
    current = await work.sent(again)

    assert (late, tuple(stands), leased) == (0, ("sending", 2, "next", None, None), 1)
    assert (current, await work.leased()) == (1, 0)
    assert await work.value(
        "select array_agg(attempt) from events where workspace_id = $1 and action = 'sent'"
    ) == [2]


@pytest.mark.parametrize("error", [TRANSIENT, PERMANENT], ids=["transient", "permanent"])
async def test_a_late_failure_of_a_superseded_attempt_changes_nothing(work: Work, error: dict[str, object]):
    slow, _ = await superseded(work)

    late = await work.failed(slow, error=error)

    [stands] = await work.rows(STANDS)
    assert (late, tuple(stands)) == ([], ("sending", 2, "next", None, None))
    assert (await work.queued(), await work.leased()) == (0, 1)


@pytest.mark.parametrize("attempt", [0, 2])
async def test_an_answer_to_an_attempt_that_is_not_under_way_settles_nothing(work: Work, attempt: int):
    await work.post("Hello", "news")
    [job] = await work.take()

    stranger = replace(job, attempt=attempt)
    settled = (await work.sent(stranger), await work.failed(stranger))

    assert (settled, await work.statuses(), await work.leased()) == ((0, []), ["sending"], 1)


async def test_an_answer_counts_once_however_often_it_is_settled(work: Work):
    await work.post("Hello", "news")
    [job] = await work.take()

    settled = [await work.sent(job), await work.sent(job), await work.failed(job)]

    assert (settled, await work.statuses(), await work.leased()) == ([1, 0, []], ["sent"], 0)


async def test_a_success_ends_the_error_streak_of_its_channel_and_of_no_other(work: Work):
    await work.rows("update channels set error_streak = 3 where workspace_id = $1")
    await work.post("Hello", "news")

    await work.sent(*await work.take())

    streaks = await work.rows(
        "select channel_id, error_streak from channels where workspace_id = $1 order by 1"
    )
    assert [tuple(row) for row in streaks] == [("deals", 3), ("news", 0)]


async def test_a_lease_is_open_until_the_last_of_its_deliveries_is_settled(work: Work):
    for number in range(3):
        await work.post(f"Post {number}", "news")
    one, two, three = await work.take()

    left = []
    for settle, job in ((work.sent, one), (work.failed, two), (work.sent, three)):
        await settle(job)
        left.append(await work.leased())

    assert left == [2, 1, 0]


async def test_a_refusal_ends_a_delivery_and_a_failure_queues_it_once_until_its_attempts_are_used_up(
    work: Work,
):
    await work.setting("max_attempts", 2)
    await work.post("Refused", "deals")
    await work.post("Failing", "news")
    jobs = {job.rendered_text: job for job in await work.take()}

    [refused] = await work.failed(jobs["Refused"], error=PERMANENT)
    [first] = await work.failed(jobs["Failing"])
    queue = await work.rows("select delivery_id, due_at from delivery_queue where workspace_id = $1")
    await work.all_due_now()
    [last] = await work.failed(*await work.take())

    assert (refused.status, refused.next_retry_at) == ("failed_permanent", None)
    assert [tuple(row) for row in queue] == [(first.delivery_id, first.next_retry_at)]
    assert (first.status, last.status, last.next_retry_at) == ("retry", "dead", None)
    assert (await work.queued(), await work.leased()) == (0, 0)


# -- waiting for the next attempt

Bounds = tuple[float, float]


async def delays(work: Work, attempt: int, error: dict[str, object]) -> list[float]:
    rows = await work.rows("select fn.retry_delay($1, $2, $3) from generate_series(1, 300)", attempt, error)
    return [row[0].total_seconds() for row in rows]


def assert_spread_over(waits: list[float], bounds: Bounds) -> None:
    low, high = bounds
    assert low <= min(waits)
    assert max(waits) <= high
    assert max(waits) - min(waits) > (high - low) / 2, "they come back all at once"


@pytest.mark.parametrize(
    ("attempt", "bounds"),
    [(1, (1, 2)), (2, (2, 4)), (3, (4, 8)), (4, (8, 16)), (8, (128, 256)), (9, (150, 300)), (30, (150, 300))],
)
async def test_each_attempt_waits_twice_as_long_up_to_the_longest_and_half_of_it_is_chance(
    work: Work, attempt: int, bounds: Bounds
):
    assert_spread_over(await delays(work, attempt, TRANSIENT), bounds)


@pytest.mark.parametrize(("attempt", "bounds"), [(1, (5, 10)), (2, (15, 30)), (3, (20, 40)), (7, (20, 40))])
async def test_a_workspace_has_its_own_base_factor_and_longest_wait(work: Work, attempt: int, bounds: Bounds):
    for key, value in (("retry_base_seconds", 10), ("retry_factor", 3), ("retry_max_seconds", 40)):
        await work.setting(key, value)

    assert_spread_over(await delays(work, attempt, TRANSIENT), bounds)
    assert_spread_over(await delays(work, attempt, TRANSIENT | {"retry_after_ms": 7000}), (7, 17))


@pytest.mark.parametrize("attempt", [1, 4])
async def test_what_the_platform_asks_for_is_waited_and_at_most_the_base_more(work: Work, attempt: int):
    assert_spread_over(await delays(work, attempt, TRANSIENT | {"retry_after_ms": 30_000}), (30, 32))


async def test_a_failed_delivery_is_due_after_the_delay_of_its_attempt(work: Work):
    await work.post("Hello", "news")

    waits = []
    for _ in range(4):
        [settled] = await work.failed(*await work.take())
        [row] = await work.rows(
            "select d.next_retry_at - d.updated_at, q.due_at from deliveries d join delivery_queue q "
            "using (workspace_id, delivery_id) where d.workspace_id = $1"
        )
        assert row[1] == settled.next_retry_at
        waits.append(row[0].total_seconds())
        await work.all_due_now()

    assert all(2**n <= wait <= 2 ** (n + 1) for n, wait in enumerate(waits)), waits


# -- leases that ran out


async def test_what_another_run_has_taken_again_stays_with_it(work: Work):
    _, again = await superseded(work)
    await work.rows(
        "update delivery_leases set open = 1, channels = '{news}', counts = '{1}', delivery_ids = array[$2::uuid] "
        "where workspace_id = $1 and run_id = 'slow'", again.delivery_id,
    )  # fmt: skip  # the lost lease as if it had never been released

    released = await work.release()

    [stands] = await work.rows(STANDS)
    leases = await work.rows("select run_id, open from delivery_leases where workspace_id = $1")
    assert (released, tuple(stands)) == (0, ("sending", 2, "next", None, None))
    assert {row["run_id"]: row["open"] for row in leases} == {"slow": 0, "next": 1}
    assert (await work.sent(again), await work.leased(), await work.queued()) == (1, 0, 0)


async def test_what_the_same_run_has_taken_again_in_a_later_batch_stays_under_way(work: Work):
    await work.post("Hangs", "news")
    await work.post("Failed", "news")
    batch = await work.take("run")
    await work.failed(*(job for job in batch if job.rendered_text == "Failed"))
    await work.all_due_now()
    [again] = await work.take("run")
    await work.rows(
        "update delivery_leases set taken_at = now() - interval '1 hour' where workspace_id = $1 and lease_id = $2",
        batch[0].lease_id,
    )

    released = await work.release()

    rows = await work.rows(
        "select rendered_text, status, attempt from deliveries where workspace_id = $1 order by 1"
    )
    assert (released, [tuple(row) for row in rows]) == (1, [("Failed", "sending", 2), ("Hangs", "retry", 1)])
    assert (await work.sent(again), await work.leased()) == (1, 0)


async def test_what_was_under_way_goes_back_to_work_once_or_is_dead_after_its_last_attempt(work: Work):
    await work.setting("max_attempts", 2)
    await work.post("Last attempt", "news")
    await work.failed(*await work.take())
    await work.all_due_now()
    await work.post("First attempt", "deals")
    assert texts(await work.take("lost")) == ["First attempt", "Last attempt"]
    await work.lease_taken("lost", timedelta(hours=1))

    released = await work.release()
    again = await work.release()

    rows = await work.rows(
        "select d.channel_id, d.status, d.attempt, d.last_error ->> 'code', d.claim_token, "
        "  array(select e.action from events e where e.workspace_id = $1 and e.delivery_id = d.delivery_id "
        "         and e.ts >= d.updated_at order by e.action), "
        "  (select array_agg(q.due_at = d.next_retry_at) from delivery_queue q where q.delivery_id = d.delivery_id) "
        "from deliveries d where d.workspace_id = $1 order by 1"
    )
    code = "sending_lease_expired"
    assert (released, again, await work.leased()) == (2, 0, 0)
    assert [tuple(row) for row in rows] == [
        ("deals", "retry", 1, code, None, [code], [True]),
        ("news", "dead", 2, code, None, ["dead_letter", code], None),
    ]


async def test_a_lease_that_was_released_is_closed_and_says_nothing_any_more(work: Work):
    await work.post("Hello")
    await work.take("lost")
    await work.lease_taken("lost", timedelta(hours=1))

    await work.release()

    [lease] = await work.rows(
        "select open, channels, counts, delivery_ids from delivery_leases where workspace_id = $1"
    )
    assert tuple(lease) == (0, [], [], [])


async def test_a_lease_is_kept_until_the_seconds_of_its_workspace_have_passed(work: Work):
    await work.setting("sending_lease_seconds", 60)
    await work.post("Old", "news")
    await work.take("old")
    await work.post("Young", "news")
    await work.take("young")
    await work.lease_taken("old", timedelta(seconds=61))
    await work.lease_taken("young", timedelta(seconds=55))

    released = await work.release()

    rows = await work.rows("select rendered_text, status from deliveries where workspace_id = $1 order by 1")
    assert (released, [tuple(row) for row in rows]) == (1, [("Old", "retry"), ("Young", "sending")])
    assert await work.leased() == 1


async def test_a_closed_lease_releases_nothing_whatever_it_still_names(work: Work):
    await work.post("Hello", "news")
    await work.take("closed")
    await work.lease_taken("closed", timedelta(hours=1))
    await work.rows("update delivery_leases set open = 0 where workspace_id = $1")

    assert (await work.release(), await work.statuses(), await work.queued()) == (0, ["sending"], 0)


async def test_the_leases_of_other_workspaces_are_left_alone(work: Work, other_workspace: WorkspaceId):
    await add_channel(work.db, other_workspace, "news", -2)
    other = Work(work.db, other_workspace)
    await other.post("Hello")
    await other.take("theirs")
    await other.lease_taken("theirs", timedelta(hours=1))

    assert (await work.release(), await other.leased(), await other.statuses()) == (0, 1, ["sending"])


# -- the same post again


@pytest.mark.parametrize(
    ("hours", "since_sent", "queued"),
    [
        (1, timedelta(minutes=59), 0),
        (1, timedelta(minutes=61), 1),
        (0, timedelta(seconds=1), 1),
        (None, timedelta(hours=167), 0),
        (None, timedelta(hours=169), 1),
        (2160, timedelta(hours=2159), 0),
        (2160, timedelta(hours=2161), 1),
    ],
)
async def test_a_channel_takes_the_same_post_again_when_its_own_dedup_time_is_over(
    work: Work, hours: int | None, since_sent: timedelta, queued: int
):
    await work.set_channel("news", dedup_ttl_hours=hours)
    await work.post("Hello")
    await work.sent(*await work.take())
    await work.rows("update deliveries set sent_at = now() - $2::interval where workspace_id = $1", since_sent)

    again = await work.post("Hello", "news")

    assert (again.queued, again.suppressed) == (queued, 1 - queued)


@pytest.mark.parametrize("status", ["deduped", "failed_permanent", "dead"])
async def test_what_was_not_sent_does_not_prolong_the_dedup_time(work: Work, status: str):
    await work.set_channel("news", dedup_ttl_hours=1)
    await work.setting("max_attempts", 1)
    await work.post("Hello", "news")
    await work.sent(*await work.take())
    await work.rows("update deliveries set sent_at = now() - interval '2 hours' where workspace_id = $1")
    await work.post("Hello", "news")
    await NOT_SENT[status](work)
    await work.rows("update deliveries set sent_at = now() where workspace_id = $1 and status <> 'sent'")

    third = await work.post("Hello", "news")

    assert await work.statuses() == sorted(["sent", status, "queued"])
    assert (third.queued, third.suppressed) == (1, 0)


async def _dedupe_by_hand(work: Work) -> None:
    await work.rows("update deliveries set status = 'deduped' where workspace_id = $1 and status = 'queued'")


async def _refuse(work: Work) -> None:
    await work.failed(*await work.take(), error=PERMANENT)


async def _fail(work: Work) -> None:
    await work.failed(*await work.take())


NOT_SENT: dict[str, Callable[[Work], Awaitable[None]]] = {
    "deduped": _dedupe_by_hand,
    "failed_permanent": _refuse,
    "dead": _fail,
}


@pytest.mark.parametrize("status", ["queued", "claimed", "sending", "retry"])
async def test_what_is_on_its_way_suppresses_the_same_post_though_the_dedup_time_is_zero(
    work: Work, status: str
):
    await work.set_channel("news", dedup_ttl_hours=0)
    await work.post("Hello", "news")
    if status == "claimed":
        await work.rows("update deliveries set status = 'claimed' where workspace_id = $1")
    if status in ("sending", "retry"):
        jobs = await work.take()
        if status == "retry":
            await work.failed(*jobs)

    again = await work.post("Hello", "news")

    assert (again.queued, again.suppressed, await work.statuses()) == (0, 1, [status])


async def test_the_same_post_again_counts_and_leaves_what_was_seen_first(work: Work):
    seen = """
        select message_id, tags, first_seen_trace_id, first_ingest_run_id, created_at, last_ingest_run_id,
               seen_count, last_seen_at from messages where workspace_id = $1"""
    await work.post("Hello", "news", tags=("first",), run="one")
    [first] = await work.rows(seen)

    await work.post("Hello", "news", tags=("second",), run="two")
    await work.post("Hello", "news", run="three")

    [last] = await work.rows(seen)
    assert tuple(first)[1:4] == (["first"], "trace of one", "one")
    assert tuple(last)[:5] == tuple(first)[:5]
    assert (first["last_ingest_run_id"], last["last_ingest_run_id"]) == ("one", "three")
    assert (first["seen_count"], last["seen_count"]) == (1, 3)
    assert first["created_at"] == first["last_seen_at"] < last["last_seen_at"]


async def test_the_tags_that_were_seen_first_route_the_same_post_again(work: Work):
    await work.set_channel("deals", route_filter={"include_any": ["sale"]})
    await work.set_channel("news", route_filter={"include_any": ["world"]})
    await work.post("Hello", tags=("sale",))
    await work.sent(*await work.take())

    again = await work.post("Hello", tags=("world",))

    routed = await work.rows("select channel_id, status from deliveries where workspace_id = $1")
    assert (again.queued, again.suppressed) == (0, 1)
    assert [tuple(row) for row in routed] == [("deals", "sent")]


# -- being told


@pytest.fixture
async def heard(db: Database) -> AsyncIterator["asyncio.Queue[str]"]:
    """The payloads of pressroom_due, as they come."""
    payloads: asyncio.Queue[str] = asyncio.Queue()
    connection: asyncpg.Connection[Any] = await asyncpg.connect(db.dsn)
    await connection.add_listener(
        "pressroom_due", lambda _connection, _pid, _name, payload: payloads.put_nowait(payload)
    )
    yield payloads
    await connection.close()


async def test_who_listens_hears_of_a_post_with_its_workspace_once_it_is_committed(
    work: Work, heard: "asyncio.Queue[str]"
):
    async with work.db.transaction(work.workspace) as tx:
        await work.enqueue(tx, "Hello", "news")
        async with work.db.system() as unrelated:
            await unrelated.execute("select pg_notify('pressroom_due', 'unrelated')")
        before_commit = await asyncio.wait_for(heard.get(), SOON)
    after_commit = await asyncio.wait_for(heard.get(), SOON)

    assert (before_commit, after_commit) == ("unrelated", str(work.workspace))


async def test_who_listens_hears_nothing_of_a_post_that_was_rolled_back(
    work: Work, heard: "asyncio.Queue[str]"
):
    with contextlib.suppress(ZeroDivisionError):
        async with work.db.transaction(work.workspace) as tx:
            await work.enqueue(tx, "Hello", "news")
            raise ZeroDivisionError
    async with work.db.system() as unrelated:
        await unrelated.execute("select pg_notify('pressroom_due', 'unrelated')")

    assert await asyncio.wait_for(heard.get(), SOON) == "unrelated"
    assert await work.queued() == 0


# -- who has work


async def workspaces_with_news(db: Database, number: int) -> list[WorkspaceId]:
    made = [await add_workspace(db) for _ in range(number)]
    for workspace in made:
        await add_channel(db, workspace, "news")
    return sorted(made)


async def listed(db: Database, after: WorkspaceId) -> list[WorkspaceId]:
    async with db.system() as tx:
        return await store.due_workspaces(tx, after)


async def test_the_workspaces_with_due_work_begin_behind_the_given_one_and_go_round(own_db: Database):
    one, two, three = await workspaces_with_news(own_db, 3)
    for workspace in (one, two, three):
        await put_due(own_db, workspace, "news")

    assert await listed(own_db, one) == [two, three, one]
    assert await listed(own_db, two) == [three, one, two]
    assert await listed(own_db, three) == [one, two, three]


async def test_only_active_workspaces_with_work_that_is_due_are_listed(own_db: Database):
    due, paused, disabled, idle, later = await workspaces_with_news(own_db, 5)
    for workspace in (due, paused, disabled):
        await put_due(own_db, workspace, "news")
    await put_due(own_db, later, "news", timedelta(hours=1))
    async with own_db.system() as tx:
        await tx.execute("update workspaces set status = 'paused' where workspace_id = $1", paused)
        await tx.execute("update workspaces set status = 'disabled' where workspace_id = $1", disabled)

    assert await listed(own_db, idle) == [due]


async def test_a_workspace_is_listed_for_what_is_due_behind_what_is_not(own_db: Database):
    [workspace] = await workspaces_with_news(own_db, 1)
    await add_channel(own_db, workspace, "deals", -7)
    await put_due(own_db, workspace, "deals", timedelta(hours=1))
    await put_due(own_db, workspace, "news")

    assert await listed(own_db, workspace) == [workspace]


async def test_the_next_time_is_that_of_the_first_delivery_that_is_not_due_yet(own_db: Database):
    async def next_due_in() -> timedelta | None:
        async with own_db.system() as tx:
            return await store.next_due_in(tx)

    one, two = await workspaces_with_news(own_db, 2)
    nothing = await next_due_in()
    await put_due(own_db, one, "news", timedelta(hours=-1))
    only_due = await next_due_in()
    await put_due(own_db, one, "news", timedelta(hours=3))
    await put_due(own_db, two, "news", timedelta(hours=2))
    first = await next_due_in()

    assert (nothing, only_due) == (None, None)
    assert first is not None
    assert timedelta(hours=1, minutes=59) < first <= timedelta(hours=2)


# -- everything at once

RACE_SECONDS = 5
CHANNELS = [f"channel-{number}" for number in range(5)]


@dataclass
class Race:
    """Callers that get in each other's way until the time is over."""

    work: Work
    until: float
    lost: list[SendJob] = field(default_factory=list)  # taken, and not settled in time
    taken_back: set[tuple[UUID, int]] = field(default_factory=set)  # attempts that somebody ended by hand
    posts: int = 0

    def on(self) -> bool:
        return asyncio.get_running_loop().time() < self.until

    async def post(self) -> None:
        while self.on():
            self.posts += 1
            await self.work.post(f"Post {random.randrange(self.posts)}")

    async def dispatch(self, run: str) -> None:
        while self.on():
            jobs = await self.work.take(run, limit=9)
            random.shuffle(jobs)
            for batch in (jobs[:4], jobs[4:]):
                if batch:
                    await self.answer(batch)

    async def answer(self, jobs: list[SendJob]) -> None:
        match random.randrange(6):
            case 0:
                await self.work.failed(*jobs)
            case 1:
                await self.work.failed(*jobs, error=PERMANENT)
            case 2:
                self.lost += jobs
            case _:
                await self.work.sent(*jobs)

    async def answer_late(self) -> None:
        while self.on():
            if self.lost:
                job = self.lost.pop(random.randrange(len(self.lost)))
                await random.choice([self.work.sent, self.work.failed])(job)
            await asyncio.sleep(0)

    async def let_leases_run_out(self) -> None:
        """As if an hour had passed: whatever is under way at this moment is taken for lost."""
        while self.on():
            await self.work.rows("select fn.release_expired_leases($1, now() + interval '1 hour')")
            await asyncio.sleep(random.random() / 20)

    async def let_time_pass(self) -> None:
        while self.on():
            await self.work.rows(
                "with waiting as (select ctid from delivery_queue where workspace_id = $1 and due_at > now()"
                "                   for update skip locked)"
                "update delivery_queue q set due_at = now() from waiting where q.ctid = waiting.ctid"
            )
            await asyncio.sleep(0.02)

    async def requeue_by_hand(self) -> None:
        while self.on():
            await self.work.rows(
                "update deliveries set status = 'retry', next_retry_at = now() "
                "where workspace_id = $1 and status in ('dead', 'failed_permanent')"
            )

    async def take_back_by_hand(self) -> None:
        while self.on():
            taken_back = await self.work.rows(
                "update deliveries set status = 'retry', next_retry_at = now() "
                "where workspace_id = $1 and status = 'sending' and delivery_id ="
                " (select d.delivery_id from deliveries d where d.workspace_id = $1 and d.status = 'sending'"
                "   order by random() limit 1) returning delivery_id, attempt"
            )
            self.taken_back |= {(row["delivery_id"], row["attempt"]) for row in taken_back}
            await asyncio.sleep(0.01)

    async def cancel_by_hand(self) -> None:
        while self.on():
            await self.work.rows(
                "update deliveries set status = 'failed_permanent' where workspace_id = $1 and delivery_id ="
                " (select d.delivery_id from deliveries d where d.workspace_id = $1"
                "     and d.status in ('queued', 'retry') order by random() limit 1)"
                " and status in ('queued', 'retry')"
            )
            await asyncio.sleep(0.05)

    async def pause(self) -> None:
        while self.on():
            channel = random.choice(CHANNELS)
            await self.work.rows(
                "update channels set paused_until = now() + interval '50 milliseconds' "
                "where workspace_id = $1 and channel_id = $2", channel,
            )  # fmt: skip
            await asyncio.sleep(0.01)

    async def overfull(self) -> None:
        """No channel ever has more under way than it may."""
        while self.on():
            assert not await self.work.rows(
                "select d.channel_id from deliveries d join channels c using (workspace_id, channel_id) "
                "where d.workspace_id = $1 and d.status = 'sending' "
                "group by d.channel_id, c.max_parallel having count(*) > c.max_parallel"
            )
            await asyncio.sleep(0.02)


@pytest.mark.slow
async def test_everybody_at_once_loses_nothing_sends_nothing_twice_and_never_deadlocks(own_db: Database):
    work = Work(own_db, await add_workspace(own_db))
    for number, channel in enumerate(CHANNELS):
        await add_channel(
            own_db, work.workspace, channel, -number - 1, max_parallel=number + 2, dedup_ttl_hours=0
        )
    race = Race(work, asyncio.get_running_loop().time() + RACE_SECONDS)

    async with asyncio.TaskGroup() as callers:
        for caller in (
            race.post, race.post, race.answer_late, race.let_leases_run_out, race.let_leases_run_out,
            race.let_time_pass, race.requeue_by_hand, race.take_back_by_hand, race.cancel_by_hand, race.pause, race.overfull,
        ):  # fmt: skip
            callers.create_task(caller())
        for number in range(4):
            callers.create_task(race.dispatch(f"run-{number % 3}"))
    await work.rows("select fn.release_expired_leases($1, now() + interval '1 hour')")

    astray = await work.rows("""
        select d.status, count(q.delivery_id) from deliveries d
          left join delivery_queue q using (workspace_id, delivery_id)
         where d.workspace_id = $1
         group by d.delivery_id, d.status
        having (case when d.status in ('queued', 'retry') then 1
                     when d.status in ('sent', 'dead', 'failed_permanent', 'deduped') then 0 end)
               is distinct from count(q.delivery_id)""")
    outcomes = await work.rows("""
        select b.delivery_id, b.attempt, count(o.action) as outcomes from events b
          left join events o on o.workspace_id = b.workspace_id and o.delivery_id = b.delivery_id
               and o.attempt = b.attempt
               and (o.action in ('sent', 'sending_lease_expired')
                    or o.action = 'send_attempt' and o.meta ->> 'phase' = 'outcome')
         where b.workspace_id = $1 and b.action = 'send_attempt' and b.meta ->> 'phase' = 'before'
         group by b.delivery_id, b.attempt""")
    without_one_outcome = [
        tuple(row)
        for row in outcomes
        if row["outcomes"] != ((row["delivery_id"], row["attempt"]) not in race.taken_back)
    ]
    sent_twice = await work.rows(
        "select delivery_id from events where workspace_id = $1 and action = 'sent' group by 1 having count(*) > 1"
    )
    assert (astray, without_one_outcome, sent_twice, await work.leased()) == ([], [], [], 0)
    assert {"sent", "retry"} <= set(await work.statuses())
