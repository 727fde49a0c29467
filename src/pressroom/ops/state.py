"""The product at a glance, for `pressroom status`: what waits, what fails, what runs."""

from dataclasses import dataclass

from pressroom.core.ids import WorkspaceId
from pressroom.db.database import Database
from pressroom.delivery.read import DeliveryState, delivery_state
from pressroom.ops.heartbeat import heartbeats
from pressroom.ops.store import Heartbeat


@dataclass(frozen=True, slots=True)
class State:
    delivery: DeliveryState
    loops: list[Heartbeat]


async def state(db: Database, *, workspace_id: WorkspaceId) -> State:
    return State(await delivery_state(db, workspace_id=workspace_id), await heartbeats(db))
