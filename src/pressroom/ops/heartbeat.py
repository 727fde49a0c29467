"""Every loop says that it passes, and whether its work goes on."""

from collections.abc import Iterable
from datetime import timedelta

from pressroom.db.database import Database
from pressroom.ops import store
from pressroom.ops.store import Heartbeat


async def beat(
    db: Database, *, loop: str, process: str, every: timedelta, worked: bool, error: str | None = None
) -> None:
    """`every` is how often the loop means to pass: silence of several times that means that it died."""
    async with db.system() as tx:
        await store.beat(tx, loop, process, every, worked, error)


async def stop_beating(db: Database, *, processes: Iterable[str]) -> None:
    """Processes that have stopped leave no silent loops behind."""
    async with db.system() as tx:
        await store.forget_heartbeats(tx, list(processes))


async def forget_silent_loops(db: Database) -> None:
    """Those that fell silent a day ago."""
    await stop_beating(db, processes=())


async def heartbeats(db: Database) -> list[Heartbeat]:
    async with db.system() as tx:
        return await store.heartbeats(tx)
