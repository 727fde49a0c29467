"""What people ask of deliveries: lists, one with its history, and how the queue stands."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Generic, TypeVar
from uuid import UUID

from pressroom.core.errors import NotFound
from pressroom.core.ids import WorkspaceId
from pressroom.db.database import Database
from pressroom.delivery import store
from pressroom.delivery.store import ClosedChannel, DeliveryRow, EventRow, QueueState

Row = TypeVar("Row")
Position = TypeVar("Position")

DAYS_BACK = timedelta(days=31)


@dataclass(frozen=True, slots=True)
class Page(Generic[Row, Position]):
    """`next` is where the following page begins; None on the last one."""

    items: list[Row]
    next: Position | None


async def list_deliveries(
    db: Database,
    *,
    workspace_id: WorkspaceId,
    status: str | None = None,
    channel_id: str | None = None,
    message_id: UUID | None = None,
    after: UUID | None = None,
    limit: int = 50,
) -> Page[DeliveryRow, UUID]:
    """Newest first."""
    async with db.transaction(workspace_id) as tx:
        rows = await store.list_deliveries(tx, workspace_id, status, channel_id, message_id, after, limit + 1)
    more = len(rows) > limit
    return Page(rows[:limit], rows[limit - 1].delivery_id if more else None)


@dataclass(frozen=True, slots=True)
class DeliveryHistory:
    delivery: DeliveryRow
    events: list[EventRow]


async def get_delivery(db: Database, *, workspace_id: WorkspaceId, delivery_id: UUID) -> DeliveryHistory:
    async with db.transaction(workspace_id) as tx:
        delivery = await store.get_delivery(tx, workspace_id, delivery_id)
        if delivery is None:
            raise NotFound(f"no delivery {delivery_id} in this workspace")
        return DeliveryHistory(delivery, await store.delivery_events(tx, workspace_id, delivery_id))


async def list_events(
    db: Database,
    *,
    workspace_id: WorkspaceId,
    since: datetime | None = None,
    result: str | None = None,
    after: tuple[datetime, UUID] | None = None,
    limit: int = 50,
) -> Page[EventRow, tuple[datetime, UUID]]:
    """Newest first, a month back unless `since` says otherwise."""
    since = since or datetime.now(UTC) - DAYS_BACK
    before, before_id = after or (None, None)
    async with db.transaction(workspace_id) as tx:
        rows = await store.list_events(tx, workspace_id, since, before, before_id, result, limit + 1)
    more = len(rows) > limit
    return Page(rows[:limit], (rows[limit - 1].ts, rows[limit - 1].id) if more else None)


@dataclass(frozen=True, slots=True)
class DeliveryState:
    """One workspace at a glance."""

    queue: QueueState
    by_status: dict[str, int]
    closed_channels: list[ClosedChannel]


async def delivery_state(db: Database, *, workspace_id: WorkspaceId) -> DeliveryState:
    async with db.transaction(workspace_id) as tx:
        return DeliveryState(
            await store.queue_state(tx, workspace_id),
            await store.count_by_status(tx, workspace_id),
            await store.closed_channels(tx, workspace_id),
        )


async def queue_state(db: Database) -> QueueState:
    """Over all workspaces."""
    async with db.system() as tx:
        return await store.queue_state(tx, None)
