"""Hearing NOTIFY without losing any: a connection of its own, made anew when it dies.

Whoever waits is also woken whenever the connection was made anew, because what was said meanwhile was not
heard.
"""

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Callable, Iterable
from typing import Any

import asyncpg
import structlog

from pressroom.db.errors import BROKEN

log = structlog.stdlib.get_logger(__name__)

FIRST_WAIT = 0.1
LONGEST_WAIT = 5.0
PROBE_EVERY = 15.0


@contextlib.asynccontextmanager
async def listening(dsn: str, channels: Iterable[str], heard: Callable[[str], None]) -> AsyncGenerator[None]:
    """Calls `heard(channel)` for each notification while the block runs."""
    names = tuple(channels)
    if not names:
        yield
        return
    task = asyncio.create_task(_listen_for_ever(dsn, names, heard), name="listen")
    try:
        yield
    finally:
        task.cancel()
        await asyncio.wait([task])


async def _listen_for_ever(dsn: str, channels: tuple[str, ...], heard: Callable[[str], None]) -> None:
    wait = FIRST_WAIT
    while True:
        try:
            connection: asyncpg.Connection[Any] = await asyncpg.connect(
                dsn,
                timeout=10,
                statement_cache_size=0,
                server_settings={"application_name": "pressroom listen"},
            )
        except BROKEN as error:
            log.warning("listener.away", error=str(error), again_in=wait)
            await asyncio.sleep(wait)
            wait = min(wait * 2, LONGEST_WAIT)
            continue
        try:
            await _listen_until_lost(connection, channels, heard)
        except BROKEN as error:
            log.warning("listener.lost", error=str(error))
        finally:
            connection.terminate()
        wait = FIRST_WAIT


async def _listen_until_lost(
    connection: "asyncpg.Connection[Any]", channels: tuple[str, ...], heard: Callable[[str], None]
) -> None:
    lost = asyncio.Event()
    connection.add_termination_listener(lambda _: lost.set())
    for channel in channels:
        await connection.add_listener(channel, lambda _connection, _pid, name, _payload: heard(name))
    for channel in channels:
        heard(channel)
    while not lost.is_set():
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(lost.wait(), PROBE_EVERY)
            return
        await connection.fetchval("select 1", timeout=10)  # a peer that vanished says nothing by itself
