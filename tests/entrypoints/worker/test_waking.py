"""What rings while a pass is under way starts another: the pass may have looked before the work was there."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta

import pytest

from pressroom.core.errors import Unavailable
from pressroom.db.database import Database
from pressroom.entrypoints.worker import runtime
from pressroom.entrypoints.worker.runtime import Loop, Passed, run_loops

HOUR = timedelta(hours=1)
SOON = 10  # seconds: how long a test waits for what should come at once


class Passes:
    """Counts itself, and holds the passes from `held_from` on until it is let go."""

    def __init__(self, held_from: int | None = None, error: Exception | None = None) -> None:
        self.begun = 0
        self._held_from, self._error = held_from, error
        self._begin = asyncio.Condition()
        self._let_go = asyncio.Event()

    async def __call__(self) -> Passed:
        async with self._begin:
            self.begun += 1
            self._begin.notify_all()
        if self._held_from is not None and self.begun >= self._held_from:
            await self._let_go.wait()
            if self._error is not None and self.begun == self._held_from:
                raise self._error
        return Passed()

    async def reach(self, begun: int) -> None:
        async with self._begin:
            await asyncio.wait_for(self._begin.wait_for(lambda: self.begun >= begun), SOON)

    def let_go(self) -> None:
        self._let_go.set()


@asynccontextmanager
async def running(db: Database, **passes: Passes) -> AsyncIterator[None]:
    loops = [Loop(name, one_pass, HOUR, "wake_test") for name, one_pass in passes.items()]
    stop = asyncio.Event()
    task = asyncio.create_task(run_loops(db, loops, stop=stop, drain=timedelta(seconds=1)))
    try:
        yield
    finally:
        stop.set()
        await asyncio.wait_for(task, SOON)


async def ring(db: Database) -> None:
    async with db.system() as tx:
        await tx.execute("select pg_notify('wake_test', '')")


async def test_what_rings_during_a_pass_starts_another(own_db: Database):
    held, witness = Passes(held_from=3), Passes()

    async with running(own_db, held=held, witness=witness):
        await asyncio.gather(held.reach(2), witness.reach(2))  # the first, and the one that follows listening
        await ring(own_db)
        await asyncio.gather(held.reach(3), witness.reach(3))
        await ring(own_db)
        await witness.reach(4)  # so it was heard, and the third pass of the other is still under way
        assert held.begun == 3
        held.let_go()
        await held.reach(4)


async def test_what_rings_during_a_pass_that_fails_is_taken_up_when_it_is_tried_again(
    own_db: Database, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(runtime, "FIRST_PAUSE", timedelta(milliseconds=1))
    held, witness = Passes(held_from=3, error=Unavailable("not now")), Passes()

    async with running(own_db, held=held, witness=witness):
        await asyncio.gather(held.reach(2), witness.reach(2))
        await ring(own_db)
        await asyncio.gather(held.reach(3), witness.reach(3))
        await ring(own_db)
        await witness.reach(4)
        held.let_go()
        await held.reach(4)
