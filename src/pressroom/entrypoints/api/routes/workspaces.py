"""Workspaces: the tenants."""

from datetime import datetime

from fastapi import APIRouter, Request
from pydantic import BaseModel, ConfigDict, Field
from starlette.responses import Response

from pressroom.core.ids import EVERY_WORKSPACE, WorkspaceId
from pressroom.entrypoints.api.access import Administered, Bearer, Readable, require_everywhere
from pressroom.entrypoints.api.idempotency import ApiRoute
from pressroom.entrypoints.api.parts import (
    After,
    Db,
    IfMatch,
    Limit,
    Page,
    answer,
    answer_page,
    page_of,
    position,
    require_match,
)
from pressroom.workspaces import tenants
from pressroom.workspaces.model import Verb, Workspace, WorkspaceStatus

router = APIRouter(prefix="/api/v1/workspaces", tags=["Workspaces"], route_class=ApiRoute)


class WorkspaceView(BaseModel):
    model_config = ConfigDict(from_attributes=True)

    workspace_id: WorkspaceId = Field(examples=["0191f2a4-7c1e-7000-8000-1234567890ab"])
    name: str = Field(examples=["News"])
    status: WorkspaceStatus = Field(
        description="`paused` still takes in and sends nothing; `disabled` does neither."
    )
    created_at: datetime = Field(examples=["2026-11-18T09:30:00Z"])


class NewWorkspace(BaseModel):
    model_config = ConfigDict(extra="forbid")

    name: str = Field(examples=["News"], description="What people call it.")
    workspace_id: WorkspaceId | None = Field(None, description="Yours, if you have one; else one is made.")


class WorkspaceChange(BaseModel):
    model_config = ConfigDict(extra="forbid")

    name: str | None = Field(None, examples=["Evening news"])
    status: WorkspaceStatus | None = Field(None, examples=["paused"])


@router.get("", response_model=Page[WorkspaceView], summary="List workspaces")
async def list_workspaces(
    request: Request, db: Db, access: Bearer, limit: Limit = 50, after: After = None
) -> Response:
    """Those that the token may read, the oldest first."""
    from_here = position(after, tuple[datetime, WorkspaceId])
    readable = [one for one in access.workspaces if access.allows(one, Verb.READ)]
    only = None if access.allows(EVERY_WORKSPACE, Verb.READ) else readable
    found = await tenants.list_workspaces(db, only=only)
    items, following = page_of(found, _place, from_here, limit)
    views = [WorkspaceView.model_validate(item) for item in items]
    return answer_page(request, Page[WorkspaceView](items=views, next=following))


@router.post("", response_model=WorkspaceView, status_code=201, summary="Create a workspace")
async def create_workspace(request: Request, db: Db, access: Bearer, body: NewWorkspace) -> Response:
    """Takes a token that administers all workspaces."""
    require_everywhere(access, Verb.ADMIN, "creating a workspace")
    made = await tenants.create_workspace(db, name=body.name, workspace_id=body.workspace_id)
    return answer(request, WorkspaceView.model_validate(made), 201)


@router.get("/{workspace_id}", response_model=WorkspaceView, summary="Show a workspace")
async def get_workspace(request: Request, db: Db, workspace_id: Readable) -> Response:
    return answer(
        request, WorkspaceView.model_validate(await tenants.get_workspace(db, workspace_id=workspace_id))
    )


@router.patch("/{workspace_id}", response_model=WorkspaceView, summary="Rename, pause or disable a workspace")
async def change_workspace(
    request: Request, db: Db, workspace_id: Administered, body: WorkspaceChange, if_match: IfMatch = None
) -> Response:
    """What is left out stays as it is."""
    changed = await tenants.change_workspace(
        db,
        workspace_id=workspace_id,
        name=body.name,
        status=body.status,
        check=None
        if if_match is None
        else lambda present: require_match(if_match, WorkspaceView.model_validate(present)),
    )
    return answer(request, WorkspaceView.model_validate(changed))


def _place(workspace: Workspace) -> tuple[datetime, WorkspaceId]:
    return workspace.created_at, workspace.workspace_id
