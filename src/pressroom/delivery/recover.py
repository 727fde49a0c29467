"""Free what died under way: deliveries of processes whose lease ran out go back to work."""

from pressroom.db.database import Database
from pressroom.delivery import store


async def release_expired_leases(db: Database) -> int:
    """One pass over every workspace that has leases; returns how many deliveries were released."""
    async with db.system() as tx:
        workspaces = await store.leased_workspaces(tx)
    released = 0
    for workspace_id in workspaces:
        async with db.system() as tx:
            released += await store.release_expired_leases(tx, workspace_id)
    return released
