"""What a command works in: an event loop, the settings, the open product, and the workspace that is meant."""

import asyncio
import signal
import sys
from collections.abc import AsyncGenerator, Coroutine
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, TypeVar
from uuid import UUID

from pressroom.core.errors import BadSetup, Conflict, InvalidInput, NotFound

if TYPE_CHECKING:
    from pressroom.db.database import Database
    from pressroom.settings import Settings
    from pressroom.wiring import Product
    from pressroom.workspaces.model import Workspace

# What a command needs of the product is imported inside these functions: help and completion do without.

T = TypeVar("T")


def run(work: Coroutine[object, object, T]) -> T:
    """To its end. Ctrl-C and SIGTERM cancel the work, which then still leaves the database in order."""

    async def cancelled_by_sigterm() -> T:
        task = asyncio.current_task()
        assert task is not None
        if sys.platform != "win32":
            asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
        return await work

    return asyncio.run(cancelled_by_sigterm())


def settings_of(data: str | None) -> "Settings":
    """The environment's, with `--data` before it. Libraries' warnings go to standard error from here on."""
    from pressroom.core.logs import configure_logs
    from pressroom.settings import load

    if data == "":
        raise InvalidInput("--data is empty", hint="name a folder, or leave the option out", field="data")
    settings = load(data=data)
    asked = "log_level" in settings.model_fields_set
    configure_logs(settings.log_level if asked else "error", settings.log_format)
    return settings


@asynccontextmanager
async def product_of(data: str | None) -> AsyncGenerator["Product"]:
    """The product, its database running, migrated if it is new."""
    from pressroom.entrypoints.cli.output import progress
    from pressroom.wiring import open_product

    async with open_product(settings_of(data), say=progress, name="pressroom command") as product:
        yield product


@asynccontextmanager
async def database_of(data: str | None) -> AsyncGenerator[str]:
    """The URL of the database, its server running, whatever its migrations are; a new one is prepared."""
    from pressroom.db.migrate import status
    from pressroom.entrypoints.cli.output import note, progress
    from pressroom.wiring import reach_database

    settings = settings_of(data)
    async with reach_database(settings, progress) as url:
        try:
            if not (await status(url)).applied:
                await prepare(url, settings)
        except BadSetup as error:
            note(f"note: {error.message}")  # an operator may be here to look into just that
        yield url


async def prepare(url: str, settings: "Settings") -> None:
    """Migrated; and seeded, where the database is our own and new. Sealing keys are needed only then."""
    from pressroom.db.migrate import migrate
    from pressroom.entrypoints.cli.output import progress
    from pressroom.wiring import load_keyring, prepare_database

    if settings.database_url is None:
        await prepare_database(url, settings, load_keyring(settings), progress)
    else:
        await migrate(url, say=progress)


async def meant(db: "Database", given: str | None) -> "Workspace":
    """The workspace of this id or name; the example workspace when none is given."""
    from pressroom.core.ids import WorkspaceId
    from pressroom.example import WORKSPACE
    from pressroom.workspaces.tenants import get_workspace, list_workspaces

    if given is None:
        try:
            return await get_workspace(db, workspace_id=WORKSPACE)
        except NotFound:
            raise NotFound(
                "this database has no example workspace",
                hint="say which with --workspace; `pressroom workspace list` shows them",
            ) from None
    try:
        return await get_workspace(db, workspace_id=WorkspaceId(UUID(given)))
    except ValueError:
        named = [workspace for workspace in await list_workspaces(db) if workspace.name == given]
    if len(named) > 1:
        raise Conflict(
            f"{len(named)} workspaces are named {given!r}",
            hint="take the id: " + ", ".join(str(workspace.workspace_id) for workspace in named),
        )
    if not named:
        raise NotFound(f"there is no workspace {given!r}", hint="`pressroom workspace list` shows them")
    return named[0]
