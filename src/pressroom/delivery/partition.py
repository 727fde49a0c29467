"""Keep a partition of events ready for each day ahead."""

from pressroom.db.database import Database
from pressroom.delivery import store


async def make_event_partitions(db: Database) -> int:
    """One pass; returns how many were made."""
    async with db.system() as tx:
        return await store.make_event_partitions(tx)
