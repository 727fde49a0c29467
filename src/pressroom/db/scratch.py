"""Databases that live for a moment: for verifying a backup, for a test."""

import asyncpg


async def drop_database(admin: "asyncpg.Connection[asyncpg.Record]", name: str) -> None:
    """With whoever is still connected.

    `with (force)` would end the sessions as well, but it refuses, where the user is no superuser, while an autovacuum
    worker is inside. A plain drop asks such a worker to go, and waits for it. Workers have no user name.
    """
    await admin.execute(
        "select pg_terminate_backend(pid) from pg_stat_activity where datname = $1 and usename is not null",
        name,
    )
    await admin.execute(f"drop database if exists {name}")
