"""Loops go on: they wake when told, survive their failures and the database's, and stop without cutting work off."""

import asyncio
import socket
import sys
from collections.abc import Callable
from contextlib import asynccontextmanager
from datetime import timedelta

import pytest

from pressroom.core.errors import Unavailable
from pressroom.db.database import Database
from pressroom.entrypoints.worker import runtime
from pressroom.entrypoints.worker.runtime import Loop, Passed, run_loops
from pressroom.ops.heartbeat import beat, heartbeats

HOUR = timedelta(hours=1)
SOON = 10  # seconds: how long a test waits for what should come at once


class Counted:
    """A pass that counts itself and can be waited for."""

    def __init__(self, does: Callable[[int], Passed] = lambda _: Passed()) -> None:
        self.passes = 0
        self._does = does
        self._passed = asyncio.Condition()

    async def __call__(self) -> Passed:
        async with self._passed:
            self.passes += 1
            self._passed.notify_all()
        return self._does(self.passes)

    async def reaches(self, passes: int) -> None:
        async with self._passed:
            await asyncio.wait_for(self._passed.wait_for(lambda: self.passes >= passes), SOON)


@asynccontextmanager
async def looping(db: Database, *loops: Loop, drain: timedelta = timedelta(seconds=5)):
    stop = asyncio.Event()
    task = asyncio.create_task(run_loops(db, loops, stop=stop, drain=drain))
    try:
        yield
    finally:
        stop.set()
        await asyncio.wait_for(task, SOON)


async def notify(db: Database, channel: str) -> None:
    async with db.system() as tx:
        await tx.execute("select pg_notify($1, '')", channel)


async def kill_listener(db: Database) -> int:
    async with db.system() as tx:
        await tx.execute("reset role")
        killed = await tx.values(
            "select pg_terminate_backend(pid) from pg_stat_activity "
            "where application_name = 'pressroom listen' and datname = current_database()"
        )
    return len(killed)


async def test_a_notification_wakes_a_loop_that_would_sleep_for_an_hour(own_db: Database):
    counted = Counted()

    async with looping(own_db, Loop("test", counted, HOUR, "wake_test")):
        await counted.reaches(2)  # the first, and the one that follows listening
        await notify(own_db, "wake_test")
        await counted.reaches(3)

    assert counted.passes == 3


async def test_what_was_notified_while_nobody_listened_is_not_lost(own_db: Database):
    counted = Counted()

    async with looping(own_db, Loop("test", counted, HOUR, "wake_test")):
        await counted.reaches(2)
        assert await kill_listener(own_db) == 1
        await notify(own_db, "wake_test")  # heard or not: listening anew rings the bell
        await counted.reaches(3)


async def test_a_loop_goes_on_at_once_while_there_is_more_and_waits_when_there_is_none(own_db: Database):
    counted = Counted(lambda n: Passed(worked=n < 5, more=n < 5))

    async with looping(own_db, Loop("test", counted, HOUR)):
        await counted.reaches(5)

    assert counted.passes == 5


async def test_the_time_that_a_pass_names_comes_before_the_poll(own_db: Database):
    counted = Counted(lambda n: Passed(next_in=timedelta(milliseconds=5) if n < 3 else None))

    async with looping(own_db, Loop("test", counted, HOUR)):
        await counted.reaches(3)


async def test_a_pass_that_fails_is_tried_again_and_its_neighbours_go_on(
    own_db: Database, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(runtime, "FIRST_PAUSE", timedelta(milliseconds=1))

    def fails_twice(n: int) -> Passed:
        if n < 3:
            raise Unavailable("not yet")
        return Passed(worked=True)

    failing, healthy = Counted(fails_twice), Counted()

    async with looping(own_db, Loop("failing", failing, HOUR), Loop("healthy", healthy, HOUR)):
        await failing.reaches(3)
        await healthy.reaches(1)


async def test_a_loop_that_keeps_failing_says_so_in_its_heartbeat(
    own_db: Database, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(runtime, "FIRST_PAUSE", timedelta(milliseconds=1))
    seen = []

    def fails(_: int) -> Passed:
        raise Unavailable("the platform burned down")

    counted = Counted(fails)
    async with looping(own_db, Loop("failing", counted, HOUR)):
        await counted.reaches(3)
        seen = await heartbeats(own_db)

    [beat] = seen
    assert (beat.loop, beat.error) == ("failing", "Unavailable: the platform burned down")
    assert await heartbeats(own_db) == []  # stopped on purpose: nothing falls silent


async def test_stopping_lets_the_pass_under_way_finish(own_db: Database):
    started, may_end, finished = asyncio.Event(), asyncio.Event(), []

    async def one_pass() -> Passed:
        started.set()
        await may_end.wait()
        finished.append(True)
        return Passed()

    stop = asyncio.Event()
    task = asyncio.create_task(
        run_loops(own_db, [Loop("slow", one_pass, HOUR)], stop=stop, drain=timedelta(seconds=9))
    )
    await asyncio.wait_for(started.wait(), SOON)
    stop.set()
    may_end.set()
    await asyncio.wait_for(task, SOON)

    assert finished == [True]


async def test_a_pass_that_outlasts_the_drain_is_cut_off(own_db: Database):
    started = asyncio.Event()

    async def never_ends() -> Passed:
        started.set()
        await asyncio.Event().wait()
        return Passed()

    stop = asyncio.Event()
    task = asyncio.create_task(
        run_loops(own_db, [Loop("stuck", never_ends, HOUR)], stop=stop, drain=timedelta(milliseconds=20))
    )
    await asyncio.wait_for(started.wait(), SOON)
    stop.set()

    await asyncio.wait_for(task, SOON)


async def test_heartbeats_of_killed_processes_of_this_machine_are_forgotten_at_the_next_start(own_db: Database):
    gone = await asyncio.create_subprocess_exec(sys.executable, "-c", "")
    await gone.wait()
    host = socket.gethostname()
    for process in (f"{host}:{gone.pid}", f"{host}:1", "elsewhere:7"):
        await beat(own_db, loop="old", process=process, every=HOUR, worked=True)

    counted = Counted()
    async with looping(own_db, Loop("test", counted, HOUR)):
        await counted.reaches(1)
        left = {beat.process for beat in await heartbeats(own_db) if beat.loop == "old"}

    assert left == {f"{host}:1", "elsewhere:7"}


async def test_a_loop_that_ends_by_itself_stops_the_others_and_is_raised(own_db: Database):
    healthy = Counted()

    async def breaks() -> Passed:
        await healthy.reaches(1)
        raise asyncio.CancelledError

    with pytest.raises(RuntimeError, match="loop broken ended by itself"):
        await asyncio.wait_for(
            run_loops(
                own_db, [Loop("broken", breaks, HOUR), Loop("healthy", healthy, HOUR)], stop=asyncio.Event(),
                drain=timedelta(seconds=5),
            ),
            SOON,
        )  # fmt: skip
