"""Free what died under way: deliveries of processes whose lease ran out go back to work."""

from pressroom.core.ids import WorkspaceId
from pressroom.core.tasks import each_of
from pressroom.db.database import Database
from pressroom.delivery import store


async def release_expired_leases(db: Database) -> int:
    """One pass over every workspace that has leases; returns how many deliveries were released. A workspace that
    fails keeps no other from its turn."""
    async with db.system() as tx:
        workspaces = await store.leased_workspaces(tx)

    async def release(workspace_id: WorkspaceId) -> int:
        async with db.system() as tx:
            return await store.release_expired_leases(tx, workspace_id)

    return sum(await each_of(release(workspace_id) for workspace_id in workspaces))
