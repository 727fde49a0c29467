"""A real Postgres for every test: one server, one migrated template, a workspace or a database of its own.

PRESSROOM_TEST_DATABASE_URL names a server to use instead of the embedded one: an owner that may create
databases and roles.
"""

import asyncio
import os
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit
from uuid import UUID

import asyncpg
import pytest

from pressroom.core.ids import WorkspaceId, uuid_v7
from pressroom.db import embedded
from pressroom.db.database import Database, Transaction
from pressroom.db.migrate import migrate
from pressroom.db.scratch import drop_database

GIVEN_SERVER = os.environ.pop("PRESSROOM_TEST_DATABASE_URL", None)


@pytest.fixture(scope="session")
def server() -> Iterator[str]:
    """The URL of a server's maintenance database."""
    if GIVEN_SERVER:
        yield GIVEN_SERVER
        return
    with (
        tempfile.TemporaryDirectory(prefix="pressroom-test-") as folder,
        embedded.attach(Path(folder) / "data") as attachment,
    ):
        yield attachment.dsn("postgres")


def in_database(url: str, name: str) -> str:
    return urlunsplit(urlsplit(url)._replace(path=f"/{name}"))


CloneDatabase = Callable[[], Awaitable[str]]


@pytest.fixture(scope="session")
async def empty_database(server: str) -> AsyncIterator[CloneDatabase]:
    """Makes databases with nothing in them, and drops them in the end."""
    async with _databases(server, template="template0") as make:
        yield make


@pytest.fixture(scope="session")
async def new_database(server: str, empty_database: CloneDatabase) -> AsyncIterator[CloneDatabase]:
    """Makes migrated databases, each a clone of one template."""
    template = await empty_database()
    await migrate(template)
    async with _databases(server, template=urlsplit(template).path[1:]) as make:
        yield make


@pytest.fixture(scope="session")
async def db(new_database: CloneDatabase) -> AsyncIterator[Database]:
    """A database that all tests share, each in workspaces of its own."""
    async with _opened(await new_database()) as database:
        yield database


@pytest.fixture
async def own_db(new_database: CloneDatabase) -> AsyncIterator[Database]:
    """A database for this test alone."""
    async with _opened(await new_database()) as database:
        yield database


@pytest.fixture
async def workspace(db: Database) -> WorkspaceId:
    return await add_workspace(db)


@pytest.fixture
async def other_workspace(db: Database) -> WorkspaceId:
    return await add_workspace(db)


async def add_workspace(db: Database, status: str = "active") -> WorkspaceId:
    workspace_id = WorkspaceId(uuid_v7())
    async with db.system() as tx:
        await tx.execute(
            "insert into workspaces (workspace_id, name, status) values ($1, $2, $3)",
            workspace_id, f"Test {workspace_id}", status,
        )  # fmt: skip
    return workspace_id


@pytest.fixture
async def tx(db: Database) -> AsyncIterator[Transaction]:
    """One transaction as the worker, rolled back in the end."""

    class RolledBackError(Exception):
        pass

    try:
        async with db.system() as transaction:
            yield transaction
            raise RolledBackError
    except RolledBackError:
        pass


@pytest.fixture(scope="session", autouse=True)
def own_environment() -> Iterator[None]:
    """Whoever runs the tests may have settings of their own: they are put aside."""
    with pytest.MonkeyPatch.context() as patch:
        for name in [name for name in os.environ if name.startswith("PRESSROOM_")]:
            patch.delenv(name)
        yield


class _databases:
    def __init__(self, server: str, template: str) -> None:
        self._server, self._template = server, template
        self._made: list[str] = []
        self._lock = asyncio.Lock()

    async def __aenter__(self) -> CloneDatabase:
        self._admin: asyncpg.Connection[asyncpg.Record] = await asyncpg.connect(self._server)
        return self._make

    async def _make(self) -> str:
        async with self._lock:
            name = f"test_{UUID(bytes=os.urandom(16)).hex}"
            await self._admin.execute(f"create database {name} template {self._template}")
            await self._admin.execute(f"alter database {name} set search_path = pressroom, fn, public")
            self._made.append(name)
            return in_database(self._server, name)

    async def __aexit__(self, *_: object) -> None:
        for name in self._made:
            await drop_database(self._admin, name)
        await self._admin.close()


class _opened:
    def __init__(self, dsn: str) -> None:
        self._dsn = dsn

    async def __aenter__(self) -> Database:
        self._db = await Database.open(self._dsn, size=20)
        return self._db

    async def __aexit__(self, *_: object) -> None:
        await self._db.close()
