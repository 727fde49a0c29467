"""Migrating: once, whole or not at all, in order; and functions that are what their files say."""

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from urllib.parse import urlsplit, urlunsplit

import asyncpg
import pytest

from pressroom.core.errors import BadSetup, Conflict
from pressroom.db.database import Database, server_version
from pressroom.db.migrate import ROLES, Migration, function_files, migrate, ours, status
from pressroom.db.scratch import drop_database

NOT_YET = "select to_regclass($1) is null"


@asynccontextmanager
async def owner_of(dsn: str) -> AsyncIterator["asyncpg.Connection[asyncpg.Record]"]:
    connection = await asyncpg.connect(dsn)
    try:
        yield connection
    finally:
        await connection.close()


async def ask(dsn: str, statement: str, *values: object) -> list[tuple[object, ...]]:
    async with owner_of(dsn) as owner:
        return [tuple(row) for row in await owner.fetch(statement, *values)]


async def tell(dsn: str, statement: str) -> None:
    async with owner_of(dsn) as owner:
        await owner.execute(statement)


def followed_by(*sql: str) -> list[Migration]:
    """Our migrations and more of them."""
    first = len(ours()) + 1
    return ours() + [
        Migration(number, f"{number:04}_more", text) for number, text in enumerate(sql, start=first)
    ]


async def functions(dsn: str) -> dict[str, tuple[object, ...]]:
    """All of schema fn: their result and their body."""
    rows = await ask(
        dsn,
        """select oid::regprocedure::text, pg_get_function_result(oid), prosrc, prosecdef, proconfig, proacl::text
             from pg_proc where pronamespace = 'fn'::regnamespace""",
    )
    return {str(signature): rest for signature, *rest in rows}


@pytest.fixture
async def migrated(new_database) -> str:
    return await new_database()


# -- migrations


async def test_an_empty_database_gets_everything_and_a_second_run_changes_nothing(empty_database):
    dsn = await empty_database()

    before = await status(dsn)
    first = await migrate(dsn)
    made, history = await functions(dsn), await ask(dsn, "select * from public.pressroom_migrations")
    again = await migrate(dsn)

    names = [migration.name for migration in ours()]
    assert (before.applied, before.pending, before.current) == ([], names, False)
    assert (first.applied, first.functions, first.dropped) == (names, len(function_files()), [])
    assert (again.applied, again.functions, again.dropped) == ([], len(function_files()), [])
    assert await functions(dsn) == made
    assert await ask(dsn, "select * from public.pressroom_migrations") == history
    after = await status(dsn)
    assert (after.applied, after.pending, after.current) == (names, [], True)


async def test_migrations_are_said_as_they_begin(empty_database):
    said: list[str] = []

    await migrate(await empty_database(), say=said.append)

    assert said == [f"Migrating: {migration.name}" for migration in ours()]


async def test_one_that_fails_halfway_leaves_nothing_and_keeps_those_before_it(migrated):
    every = followed_by(
        "create table pressroom.kept ()",
        "create table pressroom.half (); insert into pressroom.absent values (1)",
    )

    with pytest.raises(BadSetup, match=r"0003_more failed and left nothing behind: .*absent") as failed:
        await migrate(migrated, migrations=every)

    assert isinstance(failed.value.__cause__, asyncpg.UndefinedTableError)
    assert await ask(migrated, "select to_regclass('pressroom.kept')::text, to_regclass('pressroom.half')") == [
        ("kept", None)
    ]
    now = await status(migrated, migrations=every)
    assert (now.applied[-1], now.pending) == ("0002_more", ["0003_more"])
    mended = await migrate(migrated, migrations=[*every[:2], Migration(3, "0003_more", "create table half ()")])
    assert mended.applied == ["0003_more"]


async def test_a_migration_that_changed_after_it_was_applied_is_refused(migrated):
    await migrate(migrated, migrations=followed_by("create table t ()"))
    changed = followed_by("create table t (a int)")

    for use in (migrate, status):
        with pytest.raises(BadSetup, match="0002_more differs from the one that was applied") as refused:
            await use(migrated, migrations=changed)
        assert "append-only" in (refused.value.hint or "")


async def test_a_database_of_a_newer_version_is_refused_and_left_alone(migrated):
    await migrate(migrated, migrations=followed_by("create table t ()"))
    before = await functions(migrated)

    for use in (migrate, status):
        with pytest.raises(
            BadSetup, match="0002_more, which this version of Pressroom does not know"
        ) as refused:
            await use(migrated)
        assert "newer version" in (refused.value.hint or "")

    assert await functions(migrated) == before


async def test_of_two_at_once_one_applies_and_the_other_finds_it_done(empty_database):
    dsn = await empty_database()

    reports = await asyncio.gather(*(migrate(dsn) for _ in range(4)))

    names = [migration.name for migration in ours()]
    assert sorted(report.applied for report in reports) == [[], [], [], names]
    assert await ask(dsn, "select count(*) from public.pressroom_migrations") == [(len(names),)]


async def test_databases_of_one_server_may_be_migrated_at_the_same_time(empty_database):
    several = [await empty_database() for _ in range(3)]

    reports = await asyncio.gather(*map(migrate, several))

    assert [report.applied for report in reports] == [[migration.name for migration in ours()]] * 3
    assert await ask(
        several[0], "select rolname::text from pg_roles where rolname = any($1) order by 1", [*ROLES]
    ) == [(role,) for role in sorted(ROLES)]


async def test_one_that_dies_lets_the_next_one_in_and_leaves_nothing(migrated):
    async with owner_of(migrated) as holder:
        await holder.execute("begin; lock table deliveries")
        dying = asyncio.create_task(
            migrate(migrated, migrations=followed_by("create table half (); alter table deliveries add x int"))
        )
        await until(migrated, "wait_event_type = 'Lock' and application_name = 'pressroom migrate'")
        await ask(
            migrated,
            "select pg_terminate_backend(pid) from pg_stat_activity "
            "where datname = current_database() and application_name = 'pressroom migrate'",
        )
        with pytest.raises(Exception):  # noqa: B017, PT011 - whatever the death of its server looks like
            await dying
        await holder.execute("rollback")

    assert await ask(migrated, NOT_YET, "half") == [(True,)]
    assert (await migrate(migrated, migrations=followed_by("create table half ()"))).applied == ["0002_more"]


async def test_one_that_waits_too_long_for_a_lock_gives_up_and_leaves_nothing(migrated):
    every = followed_by(
        "set local lock_timeout = '20ms'; create table half (); alter table deliveries add x int"
    )

    async with owner_of(migrated) as holder:
        await holder.execute("begin; select count(*) from deliveries")
        with pytest.raises(Conflict, match="0002_more waited too long") as refused:
            await migrate(migrated, migrations=every)
        await holder.execute("rollback")

    assert "pg_stat_activity" in (refused.value.hint or "")
    assert await ask(migrated, NOT_YET, "half") == [(True,)]
    assert (await migrate(migrated, migrations=every)).applied == ["0002_more"]


async def test_every_migration_of_ours_is_numbered_without_gaps():
    assert [migration.number for migration in ours()] == list(range(1, len(ours()) + 1))
    assert all(migration.name.startswith(f"{migration.number:04}_") for migration in ours())


# -- functions


async def test_a_function_without_a_file_is_dropped(migrated):
    await tell(
        migrated,
        """create function fn.gone(p_a int) returns int language sql as 'select 1';
           create function fn.gone(p_a text) returns int language sql as 'select 1';
           create procedure fn.gone_too() language sql as 'select 1'""",
    )

    report = await migrate(migrated)

    assert report.dropped == ["gone(integer)", "gone(text)", "gone_too()"]
    assert (await migrate(migrated)).dropped == []


async def test_a_function_of_another_schema_is_left_alone(migrated):
    await tell(migrated, "create function public.theirs() returns int language sql as 'select 1'")

    assert (await migrate(migrated)).dropped == []
    assert await ask(migrated, "select public.theirs()") == [(1,)]


@pytest.mark.parametrize(
    "old",
    [
        pytest.param(
            "create function fn.setting(p_workspace_id uuid, p_key text) returns text language sql as 'select null'",
            id="another result",
        ),
        pytest.param(
            "create function fn.setting(p_who uuid, p_what text) returns jsonb language sql as 'select null::jsonb'",
            id="other names",
        ),
        pytest.param(
            "create function fn.setting(p_workspace_id uuid) returns jsonb language sql as 'select null::jsonb'",
            id="other parameters",
        ),
        pytest.param(
            "create function fn.setting(p_workspace_id uuid, p_key text) returns jsonb "
            "language sql immutable security definer as 'select null::jsonb'",
            id="another body and rights",
        ),
    ],
)
async def test_a_function_that_was_otherwise_becomes_what_its_file_says(migrated, old):
    expected = await functions(migrated)
    await tell(migrated, f"drop function fn.setting(uuid, text); {old}")

    await migrate(migrated)

    assert await functions(migrated) == expected


async def test_what_others_use_is_not_dropped_behind_their_backs(migrated):
    await tell(
        migrated,
        """create function fn.gone() returns int language sql as 'select 1';
           create view public.theirs as select fn.gone() as a;
           drop function fn.setting(uuid, text)""",
    )

    with pytest.raises(
        BadSetup, match=r"fn.gone\(\) has no file any more, and something still uses it: view theirs"
    ):
        await migrate(migrated)

    assert await ask(migrated, "select a from public.theirs") == [(1,)]
    assert "setting(uuid,text)" not in await functions(migrated)  # all of it in one transaction
    await tell(migrated, "drop view public.theirs")
    assert (await migrate(migrated)).dropped == ["gone()"]


async def test_a_changed_result_that_others_use_is_not_replaced_behind_their_backs(migrated):
    await tell(
        migrated,
        """drop function fn.setting(uuid, text);
           create function fn.setting(p_workspace_id uuid, p_key text) returns text language sql as $$select 'old'$$;
           create view public.theirs as select fn.setting(null, 'a') as a""",
    )

    with pytest.raises(BadSetup, match=r"setting\.sql failed: cannot drop function"):
        await migrate(migrated)

    assert await ask(migrated, "select a from public.theirs") == [("old",)]


async def test_every_function_file_makes_the_functions_of_its_name(migrated):
    made = {signature.partition("(")[0] for signature in await functions(migrated)}

    assert made == {file.name.removesuffix(".sql") for file in function_files()}


# -- what surrounds them


async def test_the_database_finds_tables_and_functions_by_their_bare_names(migrated):
    async with owner_of(migrated) as fresh:
        assert await fresh.fetchval("show search_path") == "pressroom, fn, public"
        assert await fresh.fetchval("select count(*) from deliveries") == 0
        assert await fresh.fetchval("select setting($1, 'a')", "00000000-0000-0000-0000-000000000000") is None


async def test_the_partitions_of_events_stand_ahead(migrated):
    made = await ask(
        migrated,
        "select count(*) from pg_inherits where inhparent = 'events'::regclass and inhrelid <> 'events_default'::regclass",
    )

    assert made == [(16,)]  # yesterday, today and fourteen days


async def test_the_user_of_the_url_can_act_as_both_roles(migrated):
    db = await Database.open(migrated)
    try:
        async with db.system() as tx:
            assert await tx.value("select current_user::text") == "pressroom_worker"
    finally:
        await db.close()


async def test_an_owner_that_is_no_superuser_is_enough(server, empty_database):
    """As on managed servers, where whoever creates a role may not act as it before it is granted."""
    owner = f"owner_{os.urandom(6).hex()}"
    dsn = await empty_database()
    name = urlsplit(dsn).path[1:]
    version = await ask(server, "select current_setting('server_version_num')::int")
    privileged = await ask(
        server, "select rolsuper or rolcreaterole from pg_roles where rolname = current_user"
    )
    assert privileged == [(True,)]
    async with owner_of(server) as admin:
        await admin.execute(f"create role {owner} login createrole")
        for role in ROLES:
            await admin.execute(f"grant {role} to {owner} with admin option")
        if version[0][0] >= 160_000:
            for role in ROLES:
                await admin.execute(f"grant {role} to {owner} with set false, inherit false")
        await admin.execute(f"grant {owner} to current_user")
        await admin.execute(f"alter database {name} owner to {owner}")
    async with owner_of(dsn) as admin:
        await admin.execute(f"grant create on schema public to {owner}")

    theirs = as_user(dsn, owner)
    try:
        await migrate(theirs)
        db = await Database.open(theirs)
        try:
            async with db.system() as tx:
                user = await tx.value("select session_user::text || ' as ' || current_user")
        finally:
            await db.close()
    finally:
        async with owner_of(server) as admin:
            await drop_database(admin, name)
            for role in ROLES:
                await admin.execute(f"revoke {role} from {owner} cascade")
            await admin.execute(f"drop role {owner}")

    assert user == f"{owner} as pressroom_worker"


@pytest.mark.parametrize("number", ["140011", "90624"])
async def test_a_server_that_is_too_old_is_refused_with_a_way_out(number):
    class OldServer:
        async def fetchval(self, _: str) -> str:
            return number

    with pytest.raises(
        BadSetup, match=f"version {int(number) // 10_000}; Pressroom needs 15 or newer"
    ) as refused:
        await server_version(OldServer())

    assert "PRESSROOM_DATABASE_URL" in (refused.value.hint or "")


async def test_this_server_is_new_enough(migrated):
    assert (await status(migrated)).server_version >= 15


async def test_a_database_that_is_absent_is_the_setup_of_the_url(server):
    absent = urlunsplit(urlsplit(server)._replace(path="/absent"))

    for use in (migrate, status):
        with pytest.raises(BadSetup, match="absent") as refused:
            await use(absent)
        assert "PRESSROOM_DATABASE_URL" in (refused.value.hint or "")


def as_user(dsn: str, user: str) -> str:
    parts = urlsplit(dsn)
    return urlunsplit(parts._replace(netloc=f"{user}@{parts.netloc.rpartition('@')[2]}"))


async def until(dsn: str, condition: str) -> None:
    async with owner_of(dsn) as owner, asyncio.timeout(10):
        while not await owner.fetchval(  # noqa: ASYNC110 - another process is watched
            f"select exists (select from pg_stat_activity where datname = current_database() and {condition})"
        ):
            await asyncio.sleep(0)
