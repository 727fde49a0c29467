"""Backups: one file that holds the whole product's rows, and says how to prove it.

A backup is a tar of `database.dump` (pg_dump's custom format, which pg_restore reads without us) and
`manifest.json`: which migrations it stands at, and for every table the number of rows and a hash of their
content, taken in the same snapshot as the dump. It holds our schemas only; the roles are made anew where it is
restored. The keys that seal secrets are never in it.

Writing is all or nothing, and so is restoring: an interrupted restore leaves the database as it was.
"""

import asyncio
import hashlib
import json
import os
import re
import secrets
import tarfile
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Generator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, BinaryIO, cast

import asyncpg

from pressroom import __version__
from pressroom.core.errors import BadSetup, Conflict, InvalidInput, Unavailable
from pressroom.core.files import sync_folder
from pressroom.db.client_programs import connection, in_database, program
from pressroom.db.database import server_version
from pressroom.db.errors import translated
from pressroom.db.migrate import migrate, ours, status
from pressroom.db.scratch import drop_database

Say = Callable[[str], None]

FORMAT = 1
DUMP, MANIFEST = "database.dump", "manifest.json"
#: How our own connections are called; one that we closed just now may still be in the server's list.
OWN_NAMES = ("pressroom backup", "pressroom migrate")
LARGEST_MANIFEST = 64_000_000
CHUNK = 1 << 20
BLOCK = tarfile.BLOCKSIZE

#: The same row gives the same text on every server.
SAME_TEXT = """
    set search_path = pg_catalog; set timezone = 'UTC'; set datestyle = 'ISO, YMD'; set intervalstyle = 'postgres';
    set extra_float_digits = 1; set bytea_output = 'hex'; set row_security = off; set statement_timeout = 0;
    set idle_in_transaction_session_timeout = 0"""


@dataclass(frozen=True, slots=True)
class TableMark:
    """How many rows, and the sum of their hashes, which does not depend on their order."""

    rows: int
    hash: str


@dataclass(frozen=True, slots=True)
class AppliedMigration:
    number: int
    name: str
    checksum: str
    applied_at: str


@dataclass(frozen=True, slots=True)
class Manifest:
    """`sealing_keys` are the ids of the keys that the sealed secrets need, and that are not in the backup."""

    version: str
    created_at: str
    server_version: int
    owner: str
    schemas: list[str]
    migrations: list[AppliedMigration]
    tables: dict[str, TableMark]
    sealing_keys: list[str]
    dump_bytes: int
    dump_sha256: str

    @property
    def rows(self) -> int:
        return sum(mark.rows for mark in self.tables.values())

    def as_json(self) -> bytes:
        return json.dumps({"format": FORMAT, **asdict(self)}, indent=1).encode()


@dataclass(frozen=True, slots=True)
class BackupReport:
    file: Path
    size: int
    manifest: Manifest


@dataclass(frozen=True, slots=True)
class RestoreReport:
    """`migrated` names the migrations that are newer than the backup."""

    manifest: Manifest
    migrated: list[str]


async def write_backup(url: str, file: Path, *, say: Say) -> BackupReport:
    """An older file of this name is replaced when the new one is complete."""
    with _draft(file) as draft:
        async with _snapshot(url) as (reader, snapshot):
            about = await _describe(reader)
            if not about.migrations:
                raise Conflict(
                    "there is nothing to back up: the database is empty", hint="run `pressroom db migrate`"
                )
            with _member(draft, DUMP) as write:
                await _dump(url, snapshot, about.schemas, write, say)
            say("Counting and hashing rows ...")
            manifest = Manifest(
                version=__version__,
                created_at=datetime.now(UTC).isoformat(timespec="seconds"),
                server_version=about.server_version,
                owner=about.owner,
                schemas=about.schemas,
                migrations=about.migrations,
                sealing_keys=about.sealing_keys,
                tables=await _marks(reader, about.schemas),
                dump_bytes=write.size,
                dump_sha256=write.hash.hexdigest(),
            )
        with _member(draft, MANIFEST) as write:
            write(manifest.as_json())
        draft.write(bytes(2 * BLOCK))
        size = draft.tell()
    return BackupReport(file, size, manifest)


async def restore_backup(url: str, file: Path, *, replace: bool, say: Say) -> RestoreReport:
    """Into an empty database; `replace` gives up what is in it. Then to this version's migrations."""
    say("Checking the backup ...")
    manifest = await asyncio.to_thread(read_manifest, file)
    _check_migrations(manifest)
    await asyncio.to_thread(_check_dump, file, manifest)
    if not replace:
        await _refuse_unless_empty(url)
    await _refuse_while_used(url)
    await _load(url, file, manifest, say)
    report = await migrate(url, say=say)
    async with _reader(url) as owner:  # the loops that ran when it was made do not run here
        await owner.execute("delete from pressroom.heartbeats")
    return RestoreReport(manifest, report.applied)


async def verify_backup(url: str, file: Path, *, say: Say) -> Manifest:
    """Restored into a database of its own on this server, every table is what the manifest says; it is dropped
    again. InvalidInput when something differs, naming it."""
    say("Checking the backup ...")
    manifest = await asyncio.to_thread(read_manifest, file)
    _check_migrations(manifest)
    await asyncio.to_thread(_check_dump, file, manifest)
    async with _scratch_database(url) as scratch:
        await _load(scratch, file, manifest, say)
        say("Comparing rows ...")
        async with _reader(scratch) as reader:
            restored = await _marks(reader, manifest.schemas)
        differing = [
            f"{table}: {_said(manifest.tables.get(table))} in the manifest, {_said(restored.get(table))} restored"
            for table in sorted(manifest.tables.keys() | restored.keys())
            if manifest.tables.get(table) != restored.get(table)
        ]
        if differing:
            raise InvalidInput(
                f"{file} does not restore what it says: {'; '.join(differing[:5])}"
                + (f"; and {len(differing) - 5} tables more" if len(differing) > 5 else ""),
                hint="do not rely on it: make another backup",
            )
        await migrate(scratch, say=say)
    return manifest


def read_manifest(file: Path) -> Manifest:
    try:
        with tarfile.open(file, "r:") as archive:
            member = archive.extractfile(MANIFEST)
            raw: object = json.loads(member.read(LARGEST_MANIFEST) if member else b"")
        return _manifest(raw)
    except FileNotFoundError:
        raise InvalidInput(f"there is no file {file}", hint="`pressroom db backup FILE` makes one") from None
    except IsADirectoryError:
        raise InvalidInput(f"{file} is a folder", hint="name the file of a backup") from None
    except OSError as error:
        raise BadSetup(f"{file} cannot be read: {error.strerror}", hint="check its owner and mode") from error
    except (tarfile.TarError, ValueError, KeyError, TypeError) as error:
        raise _damaged(file, "it is no backup of Pressroom, or its manifest is gone") from error


# -- the file


class _Writer:
    """Counts and hashes what is written."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self.size = 0
        self.hash = hashlib.sha256()

    def __call__(self, piece: bytes) -> None:
        self._file.write(piece)
        self.size += len(piece)
        self.hash.update(piece)


@contextmanager
def _draft(file: Path) -> Generator[BinaryIO]:
    """A file beside `file` that takes its name when the block ends well, and is gone when it does not."""
    draft = file.with_name(f".{file.name}.{secrets.token_hex(4)}.partial")
    try:
        if file.is_dir():
            raise InvalidInput(f"{file} is a folder", hint="name the file that the backup shall be")
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        with open(descriptor, "wb") as opened:
            yield cast("BinaryIO", opened)
            opened.flush()
            os.fsync(descriptor)
        draft.replace(file)
        sync_folder(file.parent)
    except OSError as error:
        raise BadSetup(f"{file} cannot be written: {error.strerror}", hint="name a file elsewhere") from error
    finally:
        with suppress(OSError):
            draft.unlink(missing_ok=True)


@contextmanager
def _member(file: BinaryIO, name: str) -> Generator[_Writer]:
    """A member of the tar whose size is known only when it is written: its header comes last."""
    begin = file.tell()
    file.write(bytes(BLOCK))
    write = _Writer(file)
    yield write
    file.write(bytes(-write.size % BLOCK))
    end = file.tell()
    header = tarfile.TarInfo(name)
    header.size, header.mode, header.mtime = write.size, 0o600, int(datetime.now(UTC).timestamp())
    file.seek(begin)
    file.write(header.tobuf(tarfile.GNU_FORMAT))
    file.seek(end)


def _manifest(raw: object) -> Manifest:
    fields = dict(cast("Mapping[str, Any]", raw))
    if fields.pop("format") != FORMAT:
        raise InvalidInput(
            "this backup was made by a newer Pressroom", hint="install that version, then restore"
        )
    tables = {name: TableMark(**mark) for name, mark in fields.pop("tables").items()}
    migrations = [AppliedMigration(**migration) for migration in fields.pop("migrations")]
    return Manifest(tables=tables, migrations=migrations, **fields)


def _check_dump(file: Path, manifest: Manifest) -> None:
    size, found = 0, hashlib.sha256()
    with _dump_of(file) as pieces:
        for piece in pieces:
            size += len(piece)
            found.update(piece)
    if (size, found.hexdigest()) != (manifest.dump_bytes, manifest.dump_sha256):
        raise _damaged(file, "its dump is not the one that was written")


@contextmanager
def _dump_of(file: Path) -> Generator[Iterator[bytes]]:
    try:
        with tarfile.open(file, "r:") as archive:
            member = archive.extractfile(DUMP)
            if member is None:
                raise KeyError(DUMP)
            yield iter(lambda: member.read(CHUNK), b"")
    except (tarfile.TarError, KeyError) as error:
        raise _damaged(file, "its dump is gone") from error


def _damaged(file: Path, why: str) -> InvalidInput:
    return InvalidInput(f"{file} cannot be used: {why}", hint="take another backup")


def _check_migrations(manifest: Manifest) -> None:
    known = {migration.number: migration for migration in ours()}
    for migration in manifest.migrations:
        if migration.number not in known or known[migration.number].checksum != migration.checksum:
            raise InvalidInput(
                f"the backup has migration {migration.name}, which this version of Pressroom does not know",
                hint=f"install version {manifest.version}, which made it, or a newer one",
            )


# -- what is in the database


@dataclass(frozen=True, slots=True)
class _About:
    server_version: int
    owner: str
    schemas: list[str]
    migrations: list[AppliedMigration]
    sealing_keys: list[str]


@asynccontextmanager
async def _reader(url: str) -> AsyncGenerator["asyncpg.Connection[Any]"]:
    with translated():
        opened: asyncpg.Connection[Any] = await asyncpg.connect(
            url, timeout=10, statement_cache_size=0, server_settings={"application_name": OWN_NAMES[0]}
        )
    try:
        await opened.execute(SAME_TEXT)
        yield opened
    finally:
        with translated():
            await opened.close(timeout=5)


@asynccontextmanager
async def _snapshot(url: str) -> AsyncGenerator[tuple["asyncpg.Connection[Any]", str]]:
    async with _reader(url) as reader, reader.transaction(isolation="repeatable_read", readonly=True):
        yield reader, await reader.fetchval("select pg_export_snapshot()")


def our_schemas() -> list[str]:
    """Those that the migrations create."""
    found = re.findall(r"(?im)^\s*create schema (?:if not exists )?(\w+)", "\n".join(one.sql for one in ours()))
    return sorted(set(found))


async def _describe(reader: "asyncpg.Connection[Any]") -> _About:
    with translated():
        version = await server_version(reader)
        owner = str(await reader.fetchval("select current_user"))
        if not await reader.fetchval("select to_regclass('public.pressroom_migrations') is not null"):
            return _About(version, owner, [], [], [])
        applied = await reader.fetch(
            "select number, name, checksum, applied_at from public.pressroom_migrations order by number"
        )
        schemas = await reader.fetch(
            "select nspname from pg_namespace where nspname = any($1) order by 1", our_schemas()
        )
        keys = await reader.fetch("select distinct key_id from pressroom.sealed_secrets order by 1")
    return _About(
        version,
        owner,
        [row["nspname"] for row in schemas],
        [
            AppliedMigration(row["number"], row["name"], row["checksum"], row["applied_at"].isoformat())
            for row in applied
        ],
        [row["key_id"] for row in keys],
    )


async def _marks(reader: "asyncpg.Connection[Any]", schemas: Sequence[str]) -> dict[str, TableMark]:
    """Partitions one by one; their parents hold nothing."""
    with translated():
        tables = await reader.fetch(
            "select n.nspname || '.' || c.relname as name, format('%I.%I', n.nspname, c.relname) as quoted "
            "from pg_class c join pg_namespace n on n.oid = c.relnamespace "
            "where c.relkind = 'r' and n.nspname = any($1) order by 1",
            list(schemas),
        )
        return {table["name"]: await _mark(reader, table["quoted"]) for table in tables}


async def _mark(reader: "asyncpg.Connection[Any]", table: str) -> TableMark:
    row = await reader.fetchrow(f"""
        select count(*) as n, coalesce(sum(('x' || encode(substring(sha256(convert_to(t::text, 'UTF8')) for 8),
                                                          'hex'))::bit(64)::bigint::numeric), 0)::text as hash
          from only {table} t""")  # noqa: S608 - quoted by format('%I')
    assert row is not None
    return TableMark(row["n"], row["hash"])


def _said(mark: TableMark | None) -> str:
    return "absent" if mark is None else f"{mark.rows} rows with hash {mark.hash}"


async def _refuse_unless_empty(url: str) -> None:
    state = await status(url)
    if not state.applied:
        return
    async with _reader(url) as reader:
        if await reader.fetchval("select exists (select from pressroom.workspaces)"):
            raise Conflict(
                "the database is not empty: it has workspaces",
                hint="--replace gives up what is in it; back it up first, or name another folder with --data",
            )


async def _refuse_while_used(url: str) -> None:
    """Whoever works on the old rows would go on in the new ones."""
    async with _reader(url) as reader:
        names = await reader.fetch(
            "select distinct coalesce(nullif(application_name, ''), 'unnamed') as name from pg_stat_activity "
            "where datname = current_database() and backend_type = 'client backend' and application_name <> all($1) "
            "order by 1",
            list(OWN_NAMES),
        )
    if names:
        raise Conflict(
            f"others use this database: {', '.join(row['name'] for row in names)}",
            hint="stop them first: `pressroom up`, `serve`, psql sessions",
        )


# -- dump and load


async def _dump(url: str, snapshot: str, schemas: Sequence[str], write: _Writer, say: Say) -> None:
    shown, environment = connection(url)
    dump = await asyncio.create_subprocess_exec(
        program("pg_dump"),
        "--format=custom",
        "--no-owner",
        "--no-password",
        "--no-sync",
        "--no-publications",
        "--no-subscriptions",
        f"--snapshot={snapshot}",
        *(f"--schema={schema}" for schema in schemas),
        f"--dbname={shown}",
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env=environment,
    )
    async with _watched(dump, "pg_dump") as output:
        while piece := await output.read(CHUNK):
            write(piece)
            say(f"Dumping: {write.size / 1_000_000:.0f} MB ...")


async def _load(url: str, file: Path, manifest: Manifest, say: Say) -> None:
    """The backup in place of our schemas, in one transaction. The roles and the table of migrations that it needs
    are made as a new installation makes them."""
    await migrate(url)
    shown, environment = connection(url)
    async with _reader(url) as reader:
        owner = str(await reader.fetchval("select quote_ident(current_user)"))
    restore = await asyncio.create_subprocess_exec(
        program("pg_restore"),
        "--no-owner",
        "--file=-",
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        limit=CHUNK,
    )
    psql = await asyncio.create_subprocess_exec(
        program("psql"),
        "--no-psqlrc",
        "--quiet",
        "--no-password",
        "--set=ON_ERROR_STOP=1",
        f"--dbname={shown}",
        "--file=-",
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.PIPE,
        env={**environment, "PGAPPNAME": "pressroom restore"},
    )
    async with _watched(psql, "psql"):
        await _say_to(psql, _before(manifest))
        async with _watched(restore, "pg_restore") as script:
            feeding = asyncio.create_task(_feed(restore, file, manifest, say))
            try:
                async for line in _adapted(script, owner, manifest.owner):
                    await _say_to(psql, line)
            finally:
                feeding.cancel()
                with suppress(asyncio.CancelledError, _HungUpError):
                    await feeding
        await _say_to(psql, _after(manifest))
        _hang_up(psql)


def _before(manifest: Manifest) -> bytes:
    drops = [
        f"drop schema if exists {_quoted(schema)} cascade;" for schema in {*manifest.schemas, *our_schemas()}
    ]
    return "\n".join(
        [
            "begin;",
            "set local client_min_messages = warning;",
            "set local lock_timeout = '10s';",
            *sorted(drops),
            "",
        ]
    ).encode()


def _after(manifest: Manifest) -> bytes:
    """Only now is anything kept: without this end, psql rolls back."""
    rows = ",\n".join(
        f"({migration.number}, {_literal(migration.name)}, {_literal(migration.checksum)}, "
        f"{_literal(migration.applied_at)})"
        for migration in manifest.migrations
    )
    return (
        "\ndelete from public.pressroom_migrations;\n"
        f"insert into public.pressroom_migrations (number, name, checksum, applied_at) values {rows};\ncommit;\n"
    ).encode()


async def _feed(restore: asyncio.subprocess.Process, file: Path, manifest: Manifest, say: Say) -> None:
    done = 0
    with _dump_of(file) as pieces:
        for piece in pieces:
            await _say_to(restore, piece)
            done += len(piece)
            say(f"Restoring: {done * 100 // max(1, manifest.dump_bytes)} % ...")
    _hang_up(restore)


async def _adapted(script: asyncio.StreamReader, owner: str, was: str) -> AsyncIterator[bytes]:
    """pg_restore's script, for this server and this owner; rows pass untouched.

    It sets a parameter that servers before 17 do not know, and names the owner that the backup was made by where
    it grants on tables to come.
    """
    grants = re.compile(rf'^ALTER DEFAULT PRIVILEGES FOR ROLE "?{re.escape(was)}"? '.encode())
    rows = False
    async for line in _lines(script):
        if rows:
            rows = line != b"\\.\n"
        elif line == b"SET transaction_timeout = 0;\n":
            continue
        elif line.startswith(b"COPY ") and line.endswith(b" FROM stdin;\n"):
            rows = True
        elif line.startswith(b"ALTER DEFAULT PRIVILEGES"):
            line = grants.sub(f"ALTER DEFAULT PRIVILEGES FOR ROLE {owner} ".encode(), line)
        yield line


async def _lines(script: asyncio.StreamReader) -> AsyncIterator[bytes]:
    """Of any length: a row may be larger than every buffer."""
    rest = b""
    while piece := await script.read(CHUNK):
        *whole, rest = (rest + piece).split(b"\n")
        for line in whole:
            yield line + b"\n"
    if rest:
        yield rest


class _HungUpError(Exception):
    """A program closed its input before its time; its last words say why."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        super().__init__()
        self.process = process


async def _say_to(process: asyncio.subprocess.Process, piece: bytes) -> None:
    assert process.stdin is not None
    try:
        process.stdin.write(piece)
        await process.stdin.drain()
    except ConnectionError:
        raise _HungUpError(process) from None


def _hang_up(process: asyncio.subprocess.Process) -> None:
    assert process.stdin is not None
    process.stdin.close()


@asynccontextmanager
async def _watched(process: asyncio.subprocess.Process, name: str) -> AsyncGenerator[asyncio.StreamReader]:
    """Its output; when the block ends it has ended too, well or with our error that says what it said."""
    assert process.stderr is not None
    complaining = asyncio.create_task(process.stderr.read())
    try:
        try:
            yield process.stdout or asyncio.StreamReader()
        except _HungUpError as error:
            if error.process is not process:
                raise
        code = await process.wait()
    except BaseException:
        with suppress(ProcessLookupError):
            process.kill()
        await process.wait()
        complaining.cancel()
        raise
    if code != 0:
        said = (await complaining).decode(errors="replace")
        raise Unavailable(f"{name} failed: {_last_words(said)}", hint="nothing was changed")
    await complaining


def _last_words(said: str) -> str:
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    telling = [line for line in lines if "error:" in line.lower()]
    return (telling or lines or ["it said nothing"])[-1]


@asynccontextmanager
async def _scratch_database(url: str) -> AsyncGenerator[str]:
    name = f"pressroom_verify_{secrets.token_hex(8)}"
    async with _reader(url) as admin:
        try:
            await admin.execute(f"create database {name} template template0")
        except asyncpg.InsufficientPrivilegeError as error:
            raise BadSetup(
                "the user of the database URL may not create a database, which verifying needs",
                hint="as an administrator: alter role ... createdb; or verify on another server",
            ) from error
        try:
            yield in_database(url, name)
        finally:
            await drop_database(admin, name)


def _quoted(identifier: str) -> str:
    return '"' + identifier.replace('"', '""') + '"'


def _literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
