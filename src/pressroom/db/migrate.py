"""Bring a database to this version: numbered migrations once, all functions every time.

A migration is a file `migrations/NNNN_what.sql`, append-only and held by its checksum; each runs in its own
transaction, so that one which fails leaves nothing behind. Functions are the files `*/sql/*.sql` of the
rooms; all are reloaded in one transaction, and those whose file is gone are dropped, never with CASCADE.
An advisory lock keeps a second migrate waiting.
"""

import hashlib
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Any

import asyncpg

import pressroom
from pressroom.core.errors import BadSetup, Conflict
from pressroom.db.database import server_version
from pressroom.db.errors import translated

LOCK = 0x5052_4553_5352  # "PRESSR": one migrate at a time
LOCK_TIMEOUT = "5s"
TRIES = 5
ROLES = ("pressroom_app", "pressroom_worker")


@dataclass(frozen=True, slots=True)
class Migration:
    number: int
    name: str
    sql: str

    @property
    def checksum(self) -> str:
        return hashlib.sha256(self.sql.encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class SchemaStatus:
    """What the database has, beside what this version brings."""

    server_version: int
    applied: list[str]
    pending: list[str]

    @property
    def current(self) -> bool:
        return not self.pending


@dataclass(frozen=True, slots=True)
class MigrateReport:
    applied: list[str]
    functions: int
    dropped: list[str]

    @property
    def first(self) -> bool:
        """The database was empty."""
        return any(name.startswith("0001_") for name in self.applied)


async def migrate(
    dsn: str, *, migrations: Sequence[Migration] | None = None, say: Callable[[str], None] = lambda _: None
) -> MigrateReport:
    """Idempotent; two at once wait for each other."""
    async with _owner(dsn) as connection:
        await connection.execute("select pg_advisory_lock($1)", LOCK)
        await _prepare(connection)
        applied = await _apply_pending(connection, migrations or ours(), say)
        functions, dropped = await _reload_functions(connection)
        await _make_partitions(connection)
        return MigrateReport(applied, functions, dropped)


async def status(dsn: str, *, migrations: Sequence[Migration] | None = None) -> SchemaStatus:
    async with _owner(dsn) as connection:
        version = await server_version(connection)
        known = await _known(connection)
        every = migrations or ours()
        _check_history(every, known)
        applied = [m.name for m in every if m.number in known]
        pending = [m.name for m in every if m.number not in known]
        if applied and await _loaded(connection) != functions_checksum():
            pending.append("functions")
        return SchemaStatus(version, applied, pending)


def ours() -> list[Migration]:
    """The migrations of this version, in order."""
    found = [
        Migration(int(file.name[:4]), file.name.removesuffix(".sql"), file.read_text("utf-8"))
        for file in files("pressroom.db").joinpath("migrations").iterdir()
        if file.name.endswith(".sql")
    ]
    found.sort(key=lambda migration: migration.number)
    if [m.number for m in found] != list(range(1, len(found) + 1)):
        raise BadSetup(f"migrations are not numbered 1 to {len(found)} without gaps")
    return found


def functions_checksum() -> str:
    """Of every function of this version: what a database that was migrated to it has loaded."""
    every = "".join(file.name + file.read_text("utf-8") for file in function_files())
    return hashlib.sha256(every.encode()).hexdigest()


async def _loaded(connection: "asyncpg.Connection[Any]") -> str | None:
    return await connection.fetchval("select obj_description(to_regnamespace('fn'), 'pg_namespace')")


def function_files() -> list[Traversable]:
    """Every `sql/*.sql` of every room, by name."""
    found = [
        file
        for room in files(pressroom).iterdir()
        if room.is_dir() and room.joinpath("sql").is_dir()
        for file in room.joinpath("sql").iterdir()
        if file.name.endswith(".sql")
    ]
    return sorted(found, key=lambda file: file.name)


@asynccontextmanager
async def _owner(dsn: str) -> AsyncGenerator["asyncpg.Connection[Any]"]:
    with translated():
        connection: asyncpg.Connection[Any] = await asyncpg.connect(
            dsn, timeout=10, statement_cache_size=0, server_settings={"application_name": "pressroom migrate"}
        )
        try:
            yield connection
        finally:
            await connection.close(timeout=5)


async def _prepare(connection: "asyncpg.Connection[Any]") -> None:
    """What has to stand before the first migration: the server's version, roles, search path, history."""
    version = await server_version(connection)
    database, user = await connection.fetchrow("select current_database(), current_user") or ("", "")
    for role in ROLES:
        await _role_of_ours(connection, role, str(user), version)
    await connection.execute(f"alter database {_quoted(str(database))} set search_path = pressroom, fn, public")
    await connection.execute("set search_path = pressroom, fn, public")
    await connection.execute("""
        create table if not exists public.pressroom_migrations (
            number     int primary key,
            name       text not null,
            checksum   text not null,
            applied_at timestamptz not null default now()
        )""")


async def _role_of_ours(connection: "asyncpg.Connection[Any]", role: str, user: str, version: int) -> None:
    """The role stands, and the user of the URL may act as it.

    Since PostgreSQL 16 whoever creates a role is its member but may not act as it without a grant.
    """
    may_act = "set" if version >= 16 else "member"
    if not await connection.fetchval("select 1 from pg_roles where rolname = $1", role):
        await _create_role(connection, role)
    if not await connection.fetchval("select pg_has_role(current_user, $1, $2)", role, may_act):
        await _grant_role(connection, role, user)


async def _create_role(connection: "asyncpg.Connection[Any]", role: str) -> None:
    try:
        await connection.execute(f"create role {role} nologin")
    except (asyncpg.DuplicateObjectError, asyncpg.UniqueViolationError):
        return  # another database of this server was migrated at the same moment
    except asyncpg.InsufficientPrivilegeError as error:
        raise BadSetup(
            f"this user may not create the role {role}",
            hint=f"as an administrator: create role {role} nologin; grant {role} to the user of the URL",
        ) from error


async def _grant_role(connection: "asyncpg.Connection[Any]", role: str, user: str) -> None:
    for tried in range(1, TRIES + 1):
        try:
            await connection.execute(f"grant {role} to {_quoted(user)}")
        except (asyncpg.InternalServerError, asyncpg.UniqueViolationError):
            if tried == TRIES:  # "tuple concurrently updated": another database of this server did it just then
                raise
        except asyncpg.InsufficientPrivilegeError as error:
            raise BadSetup(
                f"the user {user} may not act as {role}",
                hint=f"as an administrator: grant {role} to {_quoted(user)}",
            ) from error
        else:
            return


async def _known(connection: "asyncpg.Connection[Any]") -> dict[int, tuple[str, str]]:
    if not await connection.fetchval("select to_regclass('public.pressroom_migrations')"):
        return {}
    rows = await connection.fetch("select number, name, checksum from public.pressroom_migrations")
    return {row["number"]: (row["name"], row["checksum"]) for row in rows}


def _check_history(every: Sequence[Migration], known: dict[int, tuple[str, str]]) -> None:
    by_number = {migration.number: migration for migration in every}
    for number, (name, checksum) in sorted(known.items()):
        if number not in by_number:
            raise BadSetup(
                f"the database has migration {name}, which this version of Pressroom does not know",
                hint="it was migrated by a newer version: install that one, or restore a backup from before",
            )
        if by_number[number].checksum != checksum:
            raise BadSetup(
                f"migration {name} differs from the one that was applied",
                hint="migrations are append-only: restore the file and put the change into a new migration",
            )


async def _apply_pending(
    connection: "asyncpg.Connection[Any]", every: Sequence[Migration], say: Callable[[str], None]
) -> list[str]:
    known = await _known(connection)
    _check_history(every, known)
    applied: list[str] = []
    for migration in every:
        if migration.number in known:
            continue
        say(f"Migrating: {migration.name}")
        try:
            async with connection.transaction():
                await connection.execute(f"set local lock_timeout = '{LOCK_TIMEOUT}'")
                await connection.execute(migration.sql)
                await connection.execute(
                    "insert into public.pressroom_migrations (number, name, checksum) values ($1, $2, $3)",
                    migration.number, migration.name, migration.checksum,
                )  # fmt: skip
        except asyncpg.LockNotAvailableError as error:
            raise _waited_too_long(f"migration {migration.name}") from error
        except asyncpg.PostgresError as error:
            raise BadSetup(f"migration {migration.name} failed and left nothing behind: {error}") from error
        applied.append(migration.name)
    return applied


async def _reload_functions(connection: "asyncpg.Connection[Any]") -> tuple[int, list[str]]:
    async with connection.transaction():
        await connection.execute(f"set local lock_timeout = '{LOCK_TIMEOUT}'")
        every = function_files()
        before = await _functions(connection)
        await connection.execute("set local check_function_bodies = off")
        for file in every:
            await _replace(connection, file)
        stale = await _drop_stale(connection, before)
        await connection.execute("set local check_function_bodies = on")
        for file in every:  # again, now that all of them are there, and nothing else is
            await _replace(connection, file)
        await connection.execute(f"comment on schema fn is '{functions_checksum()}'")  # hex digits
        await connection.execute(
            "grant execute on all functions in schema fn to pressroom_app, pressroom_worker"
        )
        return len(every), stale


async def _drop_stale(connection: "asyncpg.Connection[Any]", before: dict[str, str]) -> list[str]:
    after = await _functions(connection)
    stale = sorted(signature for signature, written in after.items() if before.get(signature) == written)
    for signature in stale:
        try:
            await connection.execute(f"drop routine {signature}")
        except asyncpg.DependentObjectsStillExistError as error:
            raise BadSetup(
                f"fn.{signature} has no file any more, and something still uses it: {error.detail}",
                hint="drop or change what uses it, then migrate again; functions were left as they were",
            ) from error
    return stale


async def _make_partitions(connection: "asyncpg.Connection[Any]") -> None:
    try:
        async with connection.transaction():
            await connection.execute(f"set local lock_timeout = '{LOCK_TIMEOUT}'")
            await connection.execute("select fn.make_event_partitions()")
    except asyncpg.LockNotAvailableError as error:
        raise _waited_too_long("making the partitions of events") from error


def _waited_too_long(what: str) -> Conflict:
    return Conflict(
        f"{what} waited too long for a lock; nothing of it was applied",
        hint="a long transaction holds the table: try again, or find it in pg_stat_activity",
    )


async def _functions(connection: "asyncpg.Connection[Any]") -> dict[str, str]:
    """Signature and the transaction that wrote it: what a reload leaves alone has no file any more."""
    rows = await connection.fetch("""
        select oid::regprocedure::text as signature, xmin::text as written from pg_proc
         where pronamespace = 'fn'::regnamespace""")
    return {row["signature"]: row["written"] for row in rows}


async def _replace(connection: "asyncpg.Connection[Any]", file: Traversable) -> None:
    """`create or replace`; where the result changed, which Postgres refuses, drop and create."""
    sql = file.read_text("utf-8")
    try:
        try:
            async with connection.transaction():
                await connection.execute(sql)
        except asyncpg.InvalidFunctionDefinitionError:
            name = file.name.removesuffix(".sql")
            old = await connection.fetch(
                "select oid::regprocedure::text as signature from pg_proc "
                "where pronamespace = 'fn'::regnamespace and proname = $1", name,
            )  # fmt: skip
            for row in old:
                await connection.execute(f"drop routine {row['signature']}")
            await connection.execute(sql)
    except asyncpg.LockNotAvailableError as error:
        raise _waited_too_long(f"function file {file.name}") from error
    except asyncpg.PostgresError as error:
        raise BadSetup(f"function file {file.name} failed: {error}") from error


def _quoted(identifier: str) -> str:
    return '"' + identifier.replace('"', '""') + '"'
