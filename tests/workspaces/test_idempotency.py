"""Idempotency keys: of any number of callers one does the work, and all get its answer."""

import asyncio
from collections import Counter
from datetime import timedelta

import pytest

from pressroom.core.errors import Conflict, InvalidInput
from pressroom.core.ids import EVERY_WORKSPACE, uuid_v7
from pressroom.workspaces import idempotency
from pressroom.workspaces.idempotency import (
    Held,
    StoredResponse,
    begin,
    finish,
    forget,
    purge_idempotency_keys,
)
from tests.conftest import add_workspace

ANSWER = StoredResponse(201, {"content-type": "application/json", "etag": '"é"'}, b'{"id": 1}\x00\xff')
AT_ONCE = timedelta(microseconds=1)  # a lock that has run out when the next statement looks


@pytest.fixture
def ask(db, workspace):
    """Begins a request under one key of this test."""
    key = f"key {uuid_v7()}"

    async def ask(request_hash="r1", *, workspace_id=workspace, key=key, **times):
        return await begin(db, workspace_id=workspace_id, key=key, request_hash=request_hash, **times)

    return ask


async def test_the_first_works_and_the_later_ones_get_its_answer(ask, db):
    held = await ask()
    with pytest.raises(Conflict, match="under way"):
        await ask()

    finished = await finish(db, held=held, response=ANSWER)

    assert isinstance(held, Held)
    assert finished is True
    assert [await ask() for _ in range(2)] == [ANSWER, ANSWER]


@pytest.mark.parametrize("round_", range(5))
async def test_of_twenty_callers_at_once_one_works(ask, round_):
    outcomes = await asyncio.gather(*(ask() for _ in range(20)), return_exceptions=True)

    assert Counter(type(outcome) for outcome in outcomes) == {Held: 1, Conflict: 19}


async def test_of_twenty_callers_that_find_a_dead_holder_one_takes_over(ask, db):
    dead = await ask(lock_for=AT_ONCE)

    outcomes = await asyncio.gather(*(ask() for _ in range(20)), return_exceptions=True)

    assert Counter(type(outcome) for outcome in outcomes) == {Held: 1, Conflict: 19}
    (second,) = [outcome for outcome in outcomes if isinstance(outcome, Held)]
    assert second.locked_until > dead.locked_until
    assert await finish(db, held=second, response=ANSWER)
    assert await ask() == ANSWER


async def test_a_holder_that_was_overtaken_can_neither_finish_nor_forget(ask, db):
    slow = await ask(lock_for=AT_ONCE)
    second = await ask()
    late = StoredResponse(500, {}, b"late")

    while_it_works = [await finish(db, held=slow, response=late), await forget(db, held=slow)]
    assert await finish(db, held=second, response=ANSWER)
    after = [await finish(db, held=slow, response=late), await forget(db, held=slow)]

    assert while_it_works + after == [False] * 4
    assert await ask() == ANSWER


async def test_a_slow_holder_that_nobody_overtook_may_still_finish(ask, db):
    slow = await ask(lock_for=AT_ONCE)

    assert await finish(db, held=slow, response=ANSWER)
    assert await ask() == ANSWER


async def test_an_answer_is_given_once_and_stays(ask, db):
    held = await ask()
    await finish(db, held=held, response=ANSWER)

    assert await finish(db, held=held, response=StoredResponse(200, {}, b"")) is False
    assert await forget(db, held=held) is False
    assert await ask() == ANSWER


async def test_forgotten_the_next_caller_works_again_also_with_another_request(ask, db):
    held = await ask()

    assert await forget(db, held=held)

    assert isinstance(await ask("r2"), Held)


async def test_callers_that_race_with_forgetting_end_with_one_at_work(ask, db):
    for _ in range(5):
        held = await ask()

        _, *outcomes = await asyncio.gather(
            forget(db, held=held), *(ask() for _ in range(10)), return_exceptions=True
        )

        working = [outcome for outcome in outcomes if isinstance(outcome, Held)]
        assert len(working) <= 1
        current = working[0] if working else await ask()
        with pytest.raises(Conflict):
            await ask()
        await forget(db, held=current)


@pytest.mark.parametrize("state", ["in flight", "finished", "dead"])
async def test_the_same_key_with_another_request_is_refused(ask, db, state):
    held = await ask("r1", **({"lock_for": AT_ONCE} if state == "dead" else {}))
    if state == "finished":
        await finish(db, held=held, response=ANSWER)

    with pytest.raises(InvalidInput, match="another request") as refused:
        await ask("r2")

    assert refused.value.field == "Idempotency-Key"


async def test_a_key_past_its_time_is_absent_whatever_the_request(ask, db):
    first = await ask("r1", lock_for=AT_ONCE, keep_for=AT_ONCE)
    await finish(db, held=first, response=ANSWER)

    again = await ask("r2")

    assert isinstance(again, Held)
    assert await finish(db, held=again, response=StoredResponse(204, {}, b""))
    assert await ask("r2") == StoredResponse(204, {}, b"")


async def test_workspaces_have_keys_of_their_own_and_the_product_too(ask, workspace, other_workspace):
    assert [
        type(await ask(workspace_id=workspace_id))
        for workspace_id in (workspace, other_workspace, EVERY_WORKSPACE)
    ] == [Held] * 3


async def test_the_purge_takes_what_is_past_its_time_bit_by_bit(own_db):
    workspace_id = await add_workspace(own_db)
    for n in range(5):
        await begin(
            own_db,
            workspace_id=workspace_id,
            key=f"old {n}",
            request_hash="r",
            lock_for=AT_ONCE,
            keep_for=AT_ONCE,
        )
    fresh = await begin(own_db, workspace_id=workspace_id, key="fresh", request_hash="r")

    purged = [await purge_idempotency_keys(own_db, limit=3) for _ in range(3)]

    assert purged == [3, 2, 0]
    assert await finish(own_db, held=fresh, response=ANSWER)


@pytest.mark.parametrize("key", ["", "x" * 256, "a\n", "a\0b"])
async def test_a_key_is_printable_and_of_one_line(ask, key):
    with pytest.raises(InvalidInput) as refused:
        await ask(key=key)

    assert refused.value.field == "Idempotency-Key"


async def test_a_key_is_kept_at_least_as_long_as_it_is_locked(ask):
    with pytest.raises(InvalidInput):
        await ask(lock_for=timedelta(seconds=2), keep_for=timedelta(seconds=1))
    with pytest.raises(InvalidInput):
        await ask(lock_for=timedelta(0))


def test_no_repr_shows_an_answer():
    assert "id" not in repr(ANSWER).replace("idempotency", "")
    assert idempotency.LOCK_FOR < idempotency.KEEP_FOR
