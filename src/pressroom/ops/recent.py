"""The last minutes of a workspace: how fast posts leave, and which channels fail."""

from dataclasses import dataclass
from datetime import timedelta

from pressroom.core.ids import WorkspaceId
from pressroom.db.database import Database
from pressroom.ops import store
from pressroom.ops.store import FailingChannel, RecentWork

WINDOW = timedelta(minutes=5)


@dataclass(frozen=True, slots=True)
class Recent:
    window: timedelta
    work: RecentWork
    failing: list[FailingChannel]


async def recent(db: Database, *, workspace_id: WorkspaceId, window: timedelta = WINDOW) -> Recent:
    async with db.transaction(workspace_id) as tx:
        return Recent(
            window,
            await store.recent_work(tx, workspace_id, window),
            await store.failing_channels(tx, workspace_id, window),
        )
