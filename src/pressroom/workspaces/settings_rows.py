"""Settings that database functions read: defaults for all workspaces, and what a workspace sets over them."""

import json
from dataclasses import dataclass

from pressroom.core.errors import InvalidInput, NotFound
from pressroom.core.ids import EVERY_WORKSPACE, WorkspaceId
from pressroom.db.database import Database
from pressroom.workspaces import store
from pressroom.workspaces.model import readable_id
from pressroom.workspaces.tenants import acting_for, required

LARGEST_VALUE = 65_536


@dataclass(frozen=True, slots=True)
class Setting:
    """What holds in a workspace; `own` when it is set there, else it is the default of all of them."""

    key: str
    value: object
    own: bool


async def get_setting(db: Database, *, workspace_id: WorkspaceId, key: str) -> object:
    """The workspace's own value, else the default, else None. Asked for the nil workspace: the default."""
    readable_id(key, "key")
    async with db.transaction(workspace_id) as tx:
        return await store.setting(tx, workspace_id, key)


async def list_settings(db: Database, *, workspace_id: WorkspaceId) -> list[Setting]:
    """What holds in the workspace, by key."""
    async with db.transaction(workspace_id) as tx:
        rows = await store.list_settings(tx, workspace_id, EVERY_WORKSPACE)
    holding: dict[str, store.SettingRow] = {}
    for row in rows:
        holding.setdefault(row.key, row)
    return [Setting(row.key, row.value, row.workspace_id == workspace_id) for row in holding.values()]


async def set_setting(db: Database, *, workspace_id: WorkspaceId, key: str, value: object) -> None:
    """Under the nil workspace it becomes the default of all of them, which is for operators."""
    readable_id(key, "key")
    _check(value)
    async with acting_for(db, workspace_id) as tx:
        if workspace_id != EVERY_WORKSPACE:
            await required(tx, workspace_id)
        await store.set_setting(tx, workspace_id, key, value)


async def clear_setting(db: Database, *, workspace_id: WorkspaceId, key: str) -> None:
    """Back to the default."""
    readable_id(key, "key")
    async with acting_for(db, workspace_id) as tx:
        if not await store.clear_setting(tx, workspace_id, key):
            raise NotFound(f"{key} is not set here", hint="it has the default already")


def _check(value: object) -> None:
    if value is None:
        raise InvalidInput("value is null", hint="to go back to the default, clear the setting", field="value")
    try:
        size = len(json.dumps(value, allow_nan=False))
    except (TypeError, ValueError):
        raise InvalidInput(
            "value is not JSON", hint="NaN and infinity are none either", field="value"
        ) from None
    if size > LARGEST_VALUE:
        raise InvalidInput(f"value has more than {LARGEST_VALUE} characters", hint="shorten it", field="value")
