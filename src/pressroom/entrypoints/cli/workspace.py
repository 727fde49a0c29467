"""`pressroom workspace`: the tenants."""

from typing import Annotated

import typer

from pressroom.entrypoints.cli.options import Data, Json
from pressroom.entrypoints.cli.output import Cell, Facts, Table, Tone, Toned, answer, at_minute, good
from pressroom.entrypoints.cli.session import meant, product_of
from pressroom.entrypoints.cli.shape import Noun
from pressroom.workspaces.model import Workspace, WorkspaceStatus
from pressroom.workspaces.tenants import change_workspace, create_workspace, list_workspaces

app = Noun("The tenants. Each has its own channels, endpoints and credentials, and sees nobody else's.")

Which = Annotated[str, typer.Argument(metavar="WORKSPACE", help="Name or id.")]


@app.verb("list")
async def list_(data: Data = None, as_json: Json = False) -> None:
    """Show every workspace, the oldest first.

    Examples:
      pressroom workspace list
      pressroom workspace list --json
    """
    async with product_of(data) as product:
        found = await list_workspaces(product.db)
    rows = [(w.name, status_cell(w.status), str(w.workspace_id), at_minute(w.created_at)) for w in found]
    table = Table(
        ("Name", "Status", "Id", "Created"), rows, "No workspaces yet: pressroom workspace create NAME"
    )
    answer(as_json, found, table)


@app.verb("show")
async def show(workspace: Which, data: Data = None, as_json: Json = False) -> None:
    """Show one workspace.

    Examples:
      pressroom workspace show Example
      pressroom workspace show 00000000-0000-7000-8000-000000000001 --json
    """
    async with product_of(data) as product:
        _show(await meant(product.db, workspace), as_json)


@app.verb("create")
async def create(
    name: Annotated[str, typer.Argument(metavar="NAME", help="What people call it.")],
    data: Data = None,
    as_json: Json = False,
) -> None:
    """Make a workspace. It begins active, with no channels and no endpoints.

    Examples:
      pressroom workspace create "City news"
      pressroom workspace create shop --json
    """
    async with product_of(data) as product:
        _show(await create_workspace(product.db, name=name), as_json)


@app.verb("rename")
async def rename(
    workspace: Which,
    name: Annotated[str, typer.Argument(metavar="NEW_NAME", help="Its new name; the id stays.")],
    data: Data = None,
    as_json: Json = False,
) -> None:
    """Give a workspace another name.

    Examples:
      pressroom workspace rename Example "City news"
    """
    async with product_of(data) as product:
        found = await meant(product.db, workspace)
        _show(await change_workspace(product.db, workspace_id=found.workspace_id, name=name), as_json)


@app.verb("pause")
async def pause(workspace: Which, data: Data = None, as_json: Json = False) -> None:
    """Send nothing until it is resumed. What comes in is still taken and waits.

    Examples:
      pressroom workspace pause "City news"
    """
    await _change_status(workspace, WorkspaceStatus.PAUSED, data, as_json)


@app.verb("resume")
async def resume(workspace: Which, data: Data = None, as_json: Json = False) -> None:
    """Make a paused or disabled workspace active again.

    Examples:
      pressroom workspace resume "City news"
    """
    await _change_status(workspace, WorkspaceStatus.ACTIVE, data, as_json)


@app.verb("disable")
async def disable(workspace: Which, data: Data = None, as_json: Json = False) -> None:
    """Take nothing in and send nothing out. Nothing is deleted.

    Examples:
      pressroom workspace disable "City news"
    """
    await _change_status(workspace, WorkspaceStatus.DISABLED, data, as_json)


async def _change_status(workspace: str, status: WorkspaceStatus, data: str | None, as_json: bool) -> None:
    async with product_of(data) as product:
        found = await meant(product.db, workspace)
        _show(await change_workspace(product.db, workspace_id=found.workspace_id, status=status), as_json)


def _show(workspace: Workspace, as_json: bool) -> None:
    facts: list[tuple[str, Cell]] = [
        ("Name", workspace.name),
        ("Status", status_cell(workspace.status)),
        ("Id", str(workspace.workspace_id)),
        ("Created", at_minute(workspace.created_at)),
    ]
    answer(as_json, workspace, Facts(facts))


def status_cell(status: str) -> Toned:
    return good(status) if status == WorkspaceStatus.ACTIVE else Toned(status, Tone.WARNING)
