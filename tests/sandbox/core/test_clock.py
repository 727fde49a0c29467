import asyncio
import time

import pytest

from pressroom.sandbox.core.clock import Clock


def test_it_shows_the_present_until_it_is_moved():
    clock = Clock()
    before = time.time()

    clock.advance(3600)

    assert before + 3600 <= clock.now() <= time.time() + 3600


def test_a_frozen_clock_moves_only_by_hand_and_goes_on_from_there():
    clock = Clock(1_000_000.0, frozen=True)
    assert (clock.now(), clock.now()) == (1_000_000.0, 1_000_000.0)

    clock.advance(-60)
    assert clock.now() == 999_940.0

    clock.thaw()
    assert clock.now() == pytest.approx(999_940, abs=5)
    assert not clock.frozen


async def test_a_sleeper_wakes_when_the_clock_is_moved_past_its_time():
    clock = Clock(0.0, frozen=True)
    sleeper = asyncio.create_task(clock.sleep(60))
    await asyncio.sleep(0)

    clock.advance(59)
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(asyncio.shield(sleeper), 0.01)
    clock.advance(1)

    await asyncio.wait_for(sleeper, 5)


async def test_a_running_clock_wakes_its_sleepers_by_itself():
    await asyncio.wait_for(Clock().sleep(0.01), 5)


async def test_who_waits_on_the_wire_waits_for_real_seconds_or_until_the_clock_is_moved_past_them():
    clock = Clock(0.0, frozen=True)

    await asyncio.wait_for(clock.wait(0.01), 5)
    waiting = asyncio.create_task(clock.wait(3600))
    clock.advance(3600)  # before the task could begin

    await asyncio.wait_for(waiting, 5)
