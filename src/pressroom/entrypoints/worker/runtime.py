"""Repeat passes until told to stop: woken by notifications, by the time that a pass asks for, or by the poll.

A pass that fails is repeated with growing pauses and never ends its neighbours. Each loop has a heartbeat.
Stopping lets the pass under way finish, for so long as the drain allows.
"""

import asyncio
import contextlib
import os
import socket
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import cast

import psutil
import structlog

from pressroom.core.errors import PressroomError
from pressroom.db.database import Database
from pressroom.db.listen import listening
from pressroom.ops.heartbeat import beat, heartbeats, stop_beating

log = structlog.stdlib.get_logger(__name__)

FIRST_PAUSE = timedelta(milliseconds=200)
LONGEST_PAUSE = timedelta(seconds=15)
BEAT_EVERY = timedelta(seconds=5)
PROCESS = f"{socket.gethostname()}:{os.getpid()}"


@dataclass(frozen=True, slots=True)
class Passed:
    """What a pass did: whether there was work, whether more is ready now, and when more is expected."""

    worked: bool = False
    more: bool = False
    next_in: timedelta | None = None


@dataclass(frozen=True, slots=True)
class Loop:
    """`every` is the longest pause; `wakes_on` a channel of NOTIFY that ends it early, and so does `bell`.

    `finish` waits for what the passes began and left under way; it is called when the loop has stopped.
    """

    name: str
    one_pass: Callable[[], Awaitable[Passed]]
    every: timedelta
    wakes_on: str | None = None
    bell: asyncio.Event = field(default_factory=asyncio.Event)
    finish: Callable[[], Awaitable[None]] | None = None


async def run_loops(db: Database, loops: Sequence[Loop], *, stop: asyncio.Event, drain: timedelta) -> None:
    """Until `stop` is set; then waits at most `drain` for the passes under way.

    A loop never ends by itself. One that does all the same stops the others and is raised: a process that goes on
    without one of its loops looks well and is not.
    """

    def heard(channel: str) -> None:
        for loop in loops:
            if loop.wakes_on == channel:
                loop.bell.set()

    with contextlib.suppress(PressroomError):  # if it is away, the loops say so
        await stop_beating(db, processes=await _killed(db))
    if not loops:
        await stop.wait()
        return
    channels = {loop.wakes_on for loop in loops if loop.wakes_on is not None}
    async with listening(db.dsn, channels, heard):
        running = [asyncio.create_task(_repeat(db, loop, stop), name=f"loop {loop.name}") for loop in loops]
        stopped = asyncio.create_task(stop.wait())
        try:
            await asyncio.wait((stopped, *running), return_when=asyncio.FIRST_COMPLETED)
            broken = [task for task in running if task.done() and not stop.is_set()]
            stop.set()
            _, late = await asyncio.wait(running, timeout=drain.total_seconds())
            if late:
                log.warning("loops.cut_off", loops=[task.get_name() for task in late])
        finally:
            stopped.cancel()
            for task in running:
                task.cancel()
            await asyncio.wait(running)
        for task in broken:
            raise RuntimeError(f"{task.get_name()} ended by itself") from _why(task)
    with contextlib.suppress(PressroomError):  # the database may be what we stop for
        await stop_beating(db, processes=[PROCESS])


def _why(task: "asyncio.Task[None]") -> BaseException | None:
    return None if task.cancelled() else task.exception()


async def _killed(db: Database) -> list[str]:
    """Processes of this machine that had no time to take their heartbeats with them."""
    host = socket.gethostname()
    ours = {beat.process for beat in await heartbeats(db) if beat.process.rpartition(":")[0] == host}
    return [process for process in ours if not psutil.pid_exists(int(process.rpartition(":")[2]))]


async def _repeat(db: Database, loop: Loop, stop: asyncio.Event) -> None:
    failures = 0
    pulse = _Pulse(db, loop)
    while not stop.is_set():
        loop.bell.clear()  # before the pass: what rings during it starts another
        try:
            passed = await loop.one_pass()
            failures = 0
            await pulse.beat(worked=passed.worked)
        except Exception as error:  # noqa: BLE001 - the loop owns the work: it reports, waits and goes on
            failures += 1
            pause = min(FIRST_PAUSE * 2 ** min(failures - 1, 10), LONGEST_PAUSE)
            _report(loop, error, failures, pause)
            await pulse.fail(error)
            await _first_of(stop, within=pause)
            continue
        if passed.more:
            continue
        pause = loop.every if passed.next_in is None else min(loop.every, max(passed.next_in, timedelta()))
        await _first_of(stop, loop.bell, within=pause)
    if loop.finish is not None:
        await _finish(loop, loop.finish)


async def _finish(loop: Loop, finish: Callable[[], Awaitable[None]]) -> None:
    """Within the drain, which cuts it off."""
    failures = 0
    while True:
        try:
            return await finish()
        except Exception as error:  # noqa: BLE001 - the loop owns the work
            failures += 1
            _report(loop, error, failures, FIRST_PAUSE)
            await asyncio.sleep(FIRST_PAUSE.total_seconds())


def _report(loop: Loop, error: Exception, failures: int, pause: timedelta) -> None:
    ours, unexpected = _sorted_out(error)
    log.error(
        "pass.failed", loop=loop.name, error="; ".join(ours) or str(error), failures=failures,
        again_in=pause.total_seconds(), exc_info=unexpected,
    )  # fmt: skip


def _sorted_out(error: Exception) -> tuple[list[str], Exception | None]:
    """What our own errors say, each text once, and what needs a traceback."""
    ours, unexpected = ExceptionGroup("", [error]).split(PressroomError)
    texts = [str(inner) for inner in _leaves(ours)] if ours else []
    return list(dict.fromkeys(texts)), unexpected


def _leaves(group: "ExceptionGroup[Exception]") -> Iterator[Exception]:
    for inner in group.exceptions:
        if isinstance(inner, ExceptionGroup):
            yield from _leaves(cast("ExceptionGroup[Exception]", inner))
        else:
            yield inner


async def _first_of(*events: asyncio.Event, within: timedelta) -> None:
    waiting = [asyncio.create_task(event.wait()) for event in events]
    try:
        await asyncio.wait(waiting, timeout=within.total_seconds(), return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in waiting:
            task.cancel()


class _Pulse:
    """Writes heartbeats: every few seconds when all is well, at once when that changes."""

    def __init__(self, db: Database, loop: Loop) -> None:
        self._db, self._loop = db, loop
        self._next = 0.0
        self._worked = False
        self._failing = False

    async def beat(self, *, worked: bool) -> None:
        self._worked |= worked
        if self._failing or time.monotonic() >= self._next:
            await self._write(None)
            self._worked = self._failing = False

    async def fail(self, error: Exception) -> None:
        self._failing = True
        if time.monotonic() >= self._next:
            # Away with the rest of the database: health says so itself.
            with contextlib.suppress(PressroomError):
                await self._write(f"{type(error).__name__}: {error}")

    async def _write(self, error: str | None) -> None:
        self._next = time.monotonic() + BEAT_EVERY.total_seconds()
        await beat(
            self._db,
            loop=self._loop.name,
            process=PROCESS,
            every=self._loop.every,
            worked=self._worked,
            error=error,
        )
