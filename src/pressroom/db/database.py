"""One pool, two roles: every transaction acts for one tenant, or for the workers.

`transaction(workspace_id)` is what people's requests use: row-level security shows it that tenant and no
other. `system()` is for workers and operators, who serve all tenants. Nothing is kept on the connection
between transactions, so a pooler in transaction mode may stand in between.
"""

import contextlib
import json
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, LiteralString, TypeVar

import asyncpg

from pressroom.core.errors import BadSetup, Unavailable
from pressroom.core.ids import WorkspaceId
from pressroom.db.errors import BROKEN, translated

OLDEST_SERVER = 15
_NO_SUCH_ROLE = ("22023", "42501")  # it does not exist, or is not granted
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Transaction:
    """Statements inside one transaction. SQL is literal text; values are parameters."""

    connection: "asyncpg.pool.PoolConnectionProxy[Any]"

    async def rows(self, kind: type[T], sql: LiteralString, *values: object) -> list[T]:
        """Each row as a `kind`, whose field names are the column names."""
        with translated():
            return [kind(**row) for row in await self.connection.fetch(sql, *values)]

    async def row(self, kind: type[T], sql: LiteralString, *values: object) -> T | None:
        with translated():
            row = await self.connection.fetchrow(sql, *values)
        return None if row is None else kind(**row)

    async def values(self, sql: LiteralString, *values: object) -> list[Any]:
        """The first column of each row."""
        with translated():
            return [row[0] for row in await self.connection.fetch(sql, *values)]

    async def value(self, sql: LiteralString, *values: object) -> Any:
        """The first column of the first row, or None."""
        with translated():
            return await self.connection.fetchval(sql, *values)

    async def execute(self, sql: LiteralString, *values: object) -> None:
        with translated():
            await self.connection.execute(sql, *values)

    async def execute_many(self, sql: LiteralString, values: Sequence[Sequence[object]]) -> None:
        with translated():
            await self.connection.executemany(sql, values)


class Database:
    """Open with `Database.open`, close when done."""

    def __init__(self, pool: "asyncpg.Pool[Any]", dsn: str, patience: float) -> None:
        self._pool = pool
        self._patience = patience
        self.dsn = dsn

    @classmethod
    async def open(
        cls,
        dsn: str,
        *,
        size: int = 10,
        name: str = "pressroom",
        pooled: bool = False,
        patience: timedelta = timedelta(seconds=10),
    ) -> "Database":
        """`pooled` says that a pooler in transaction mode is between: no prepared statements are kept.

        `patience` is how long a transaction waits for one of the `size` connections.
        """
        with translated():
            pool = await asyncpg.create_pool(
                dsn,
                min_size=0,
                max_size=size,
                init=_json_as_python,
                reset=_nothing_to_reset,
                command_timeout=60,
                timeout=10,
                statement_cache_size=0 if pooled else 500,
                server_settings={"application_name": name},
            )
        return cls(pool, dsn, patience.total_seconds())

    async def close(self) -> None:
        await self._pool.close()

    @asynccontextmanager
    async def transaction(self, workspace_id: WorkspaceId) -> AsyncGenerator[Transaction]:
        """Acts for one tenant: other tenants' rows do not exist here."""
        async with self._begin(
            "begin; set local role pressroom_app; "
            f"set local pressroom.workspace_id = '{workspace_id.hex}'"  # hex digits: nothing to inject
        ) as tx:
            yield tx

    @asynccontextmanager
    async def system(self) -> AsyncGenerator[Transaction]:
        """Acts for the product: sees every tenant, so every statement names the one it means."""
        async with self._begin("begin; set local role pressroom_worker") as tx:
            yield tx

    @asynccontextmanager
    async def _begin(self, begin: str) -> AsyncGenerator[Transaction]:
        connection = await self._connection()
        try:
            try:
                await _begun(connection, begin)
                yield Transaction(connection)
            except BaseException:
                await _roll_back(connection)
                raise
            with translated():
                done = await connection.execute("commit")
            if done != "COMMIT":
                raise RuntimeError("an error inside the transaction was swallowed: nothing of it was kept")
        finally:
            await self._pool.release(connection)

    async def _connection(self) -> "asyncpg.pool.PoolConnectionProxy[Any]":
        with translated():
            try:
                return await self._pool.acquire(timeout=self._patience)
            except TimeoutError as error:
                if self._pool.get_size() < self._pool.get_max_size() or self._pool.get_idle_size():
                    raise
                raise Unavailable(
                    f"all {self._pool.get_max_size()} connections to the database are in use",
                    hint="try again; see PRESSROOM_DATABASE_POOL_SIZE when it happens often",
                ) from error


async def _begun(connection: "asyncpg.pool.PoolConnectionProxy[Any]", begin: str) -> None:
    with translated():
        try:
            await connection.execute(begin)
        except asyncpg.PostgresError as error:
            if error.sqlstate not in _NO_SUCH_ROLE:
                raise
            raise BadSetup(
                f"the database is not prepared: {error}",
                hint="`pressroom db migrate` makes and grants the roles",
            ) from error


async def _roll_back(connection: "asyncpg.pool.PoolConnectionProxy[Any]") -> None:
    try:
        await connection.execute("rollback")
    except BROKEN:
        with contextlib.suppress(asyncpg.InterfaceError):  # the pool may have dropped it already
            connection.terminate()  # the server rolls back what it cannot reach any more


async def server_version(connection: "asyncpg.Connection[Any]") -> int:
    """The server's major version; an older one than we need is refused."""
    version = int(await connection.fetchval("show server_version_num")) // 10_000
    if version < OLDEST_SERVER:
        raise BadSetup(
            f"this PostgreSQL is version {version}; Pressroom needs {OLDEST_SERVER} or newer",
            hint="upgrade the server, or unset PRESSROOM_DATABASE_URL to use the embedded one",
        )
    return version


async def _json_as_python(connection: "asyncpg.Connection[Any]") -> None:
    for kind in ("json", "jsonb"):
        await connection.set_type_codec(kind, encoder=_dump, decoder=json.loads, schema="pg_catalog")


async def _nothing_to_reset(connection: "asyncpg.Connection[Any]") -> None:
    """Each transaction sets its role locally; there is no session state to clear."""


def _dump(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
