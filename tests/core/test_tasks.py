import asyncio

import pytest

from pressroom.core.tasks import all_of


async def test_results_come_in_the_order_of_the_work_and_not_of_its_end():
    gate = asyncio.Event()

    async def last() -> str:
        await gate.wait()
        return "last to end"

    async def first() -> str:
        gate.set()
        return "first to end"

    assert await all_of([last(), first()]) == ["last to end", "first to end"]


async def test_nothing_to_do_is_done():
    assert await all_of([]) == []


async def test_a_failure_waits_until_its_neighbours_have_finished():
    finished: list[str] = []
    failed = asyncio.Event()

    async def fails() -> None:
        failed.set()
        raise ValueError("broken")

    async def goes_on() -> None:
        await failed.wait()
        await asyncio.sleep(0)
        finished.append("neighbour")

    with pytest.raises(ValueError, match="broken"):
        await all_of([fails(), goes_on()])

    assert finished == ["neighbour"]


async def test_several_failures_are_raised_together():
    async def fails(error: Exception) -> None:
        raise error

    with pytest.raises(ExceptionGroup) as caught:
        await all_of([fails(ValueError("one")), fails(KeyError("two"))])

    assert [type(error) for error in caught.value.exceptions] == [ValueError, KeyError]
