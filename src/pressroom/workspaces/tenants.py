"""Workspaces: make, find, rename, pause and disable them. They are the boundary that everything else keeps."""

from collections.abc import Callable, Collection
from contextlib import AbstractAsyncContextManager

from pressroom.core.errors import Conflict, InvalidInput, NotFound
from pressroom.core.ids import EVERY_WORKSPACE, WorkspaceId, uuid_v7
from pressroom.db.database import Database, Transaction
from pressroom.workspaces import store
from pressroom.workspaces.model import Workspace, WorkspaceStatus, checked_name


async def create_workspace(db: Database, *, name: str, workspace_id: WorkspaceId | None = None) -> Workspace:
    chosen = WorkspaceId(uuid_v7()) if workspace_id is None else workspace_id
    if chosen == EVERY_WORKSPACE:
        raise InvalidInput(
            "the nil uuid stands for all workspaces and cannot be one",
            hint="leave workspace_id out, and one is made",
            field="workspace_id",
        )
    async with db.system() as tx:
        if not await store.add_workspace(tx, chosen, checked_name(name)):
            raise Conflict(
                f"there is a workspace {chosen} already", hint="leave workspace_id out, or choose another"
            )
        return await required(tx, chosen)


async def list_workspaces(db: Database, *, only: Collection[WorkspaceId] | None = None) -> list[Workspace]:
    """The oldest first; None means every one."""
    async with db.system() as tx:
        return await store.list_workspaces(tx, None if only is None else list(only))


async def get_workspace(db: Database, *, workspace_id: WorkspaceId) -> Workspace:
    async with db.transaction(workspace_id) as tx:
        return await required(tx, workspace_id)


async def change_workspace(
    db: Database,
    *,
    workspace_id: WorkspaceId,
    name: str | None = None,
    status: WorkspaceStatus | None = None,
    check: Callable[[Workspace], None] | None = None,
) -> Workspace:
    """What is None stays as it is.

    `check` is shown the workspace as it is, locked until the change is done; when it raises, nothing changes.
    """
    new_name = None if name is None else checked_name(name)
    async with db.transaction(workspace_id) as tx:
        if check is not None:
            check(await store.lock_workspace(tx, workspace_id) or _missing(workspace_id))
        changed = await store.change_workspace(tx, workspace_id, new_name, status)
        return changed or _missing(workspace_id)


def acting_for(db: Database, workspace_id: WorkspaceId) -> AbstractAsyncContextManager[Transaction]:
    """The tenant's transaction; the nil workspace is no tenant, so its rows are the system's to change."""
    return db.system() if workspace_id == EVERY_WORKSPACE else db.transaction(workspace_id)


async def required(tx: Transaction, workspace_id: WorkspaceId) -> Workspace:
    """NotFound where it is absent; for use cases that are about to give it something."""
    return await store.get_workspace(tx, workspace_id) or _missing(workspace_id)


def _missing(workspace_id: WorkspaceId) -> Workspace:
    raise NotFound(f"there is no workspace {workspace_id}", hint="see the list of workspaces")
