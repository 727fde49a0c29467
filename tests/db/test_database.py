"""One pool, two roles: what a transaction may see, keeps or loses, and how trouble is said."""

import asyncio
import socket
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from urllib.parse import urlsplit, urlunsplit

import asyncpg
import pytest

from pressroom.core import errors
from pressroom.core.errors import BadSetup, Conflict, InvalidInput, Unavailable
from pressroom.core.ids import EVERY_WORKSPACE, WorkspaceId, uuid_v7
from pressroom.db.database import Database

WHO = "select current_user::text as role, current_setting('pressroom.workspace_id', true) as tenant"


@dataclass(frozen=True, slots=True)
class Who:
    role: str
    tenant: str | None


@pytest.fixture
async def one(new_database):
    """A database through a pool of one connection, so that each transaction gets the one before's."""
    db = await Database.open(await new_database(), size=1)
    yield db
    await db.close()


@pytest.fixture
async def table(one):
    """A table of single numbers: `kept` reads it."""
    owner = await asyncpg.connect(one.dsn)
    await owner.execute(
        "create table numbers (n int primary key check (n < 100), parent int references numbers)"
    )
    await owner.execute("grant all on numbers to pressroom_app, pressroom_worker")
    await owner.close()


async def kept(db: Database) -> list[int]:
    async with db.system() as tx:
        return await tx.values("select n from numbers order by n")


# -- roles and tenants


async def test_a_transaction_acts_for_its_tenant_and_the_system_for_all(one, workspace):
    async with one.transaction(workspace) as tx:
        as_tenant = await tx.row(Who, WHO)
    async with one.system() as tx:
        as_system = await tx.row(Who, WHO)

    assert as_tenant == Who("pressroom_app", workspace.hex)
    assert as_system is not None
    assert (as_system.role, as_system.tenant or "") == ("pressroom_worker", "")


@pytest.mark.parametrize("end", ["commit", "exception", "cancelled"])
async def test_nothing_leaks_to_the_next_user_of_the_connection(one, workspace, end):
    at_work = asyncio.Event()

    async def work():
        async with one.transaction(workspace) as tx:
            pid = await tx.value("select pg_backend_pid()")
            await tx.execute("create temp table secret on commit drop as select 1")
            if end == "exception":
                raise ZeroDivisionError
            if end == "cancelled":
                at_work.set()
                await tx.value("select pg_sleep(60)")
            return pid

    task = asyncio.create_task(work())
    if end == "cancelled":
        await at_work.wait()
        task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    async with one.transaction(EVERY_WORKSPACE) as tx:
        assert await tx.value("select pressroom.current_workspace()") is None
        assert await tx.row(Who, WHO) == Who("pressroom_app", EVERY_WORKSPACE.hex)
        assert await tx.value("select to_regclass('secret')") is None
    async with one.system() as tx:
        after = await tx.row(Who, WHO)
    connection = await one._connection()
    outside = await connection.fetchval("select current_user = session_user and not pg_is_in_recovery()")
    await one._pool.release(connection)

    assert after is not None
    assert (after.role, after.tenant or "") == ("pressroom_worker", "")
    assert outside is True


async def test_tenants_at_the_same_time_do_not_mix(db):
    async def who(workspace_id):
        async with db.transaction(workspace_id) as tx:
            await asyncio.sleep(0)
            return await tx.row(Who, WHO)

    tenants = [WorkspaceId(uuid_v7()) for _ in range(40)]

    assert await asyncio.gather(*map(who, tenants)) == [Who("pressroom_app", tenant.hex) for tenant in tenants]


# -- all or nothing


@pytest.mark.parametrize("error", [ZeroDivisionError, KeyboardInterrupt, asyncio.CancelledError])
async def test_an_exception_takes_everything_back_and_passes_on(one, table, error):
    async def fails():
        async with one.system() as tx:
            await tx.execute("insert into numbers values (1)")
            raise error

    with pytest.raises(error):
        await fails()

    assert await kept(one) == []


async def test_what_ended_well_is_kept(one, table):
    async with one.system() as tx:
        await tx.execute("insert into numbers values (1)")
        await tx.execute_many("insert into numbers values ($1)", [(2,), (3,)])

    assert await kept(one) == [1, 2, 3]


async def test_an_error_that_was_swallowed_is_raised_in_the_end(one, table):
    async def swallows():
        async with one.system() as tx:
            await tx.execute("insert into numbers values (1)")
            with suppress(Conflict):
                await tx.execute("insert into numbers values (1)")

    with pytest.raises(RuntimeError, match="swallowed: nothing of it was kept"):
        await swallows()

    assert await kept(one) == []


async def test_what_only_the_commit_refuses_is_our_error_too(one, table):
    owner = await asyncpg.connect(one.dsn)
    await owner.execute(
        "alter table numbers alter constraint numbers_parent_fkey deferrable initially deferred"
    )
    await owner.close()

    with pytest.raises(InvalidInput):
        async with one.system() as tx:
            await tx.execute("insert into numbers values (1, 50)")

    assert await kept(one) == []


async def test_a_role_that_is_absent_is_bad_setup_and_leaves_the_pool_usable(one):
    async def refused():
        async with one._begin("begin; set local role absent_role"):
            raise AssertionError("not reached")

    with pytest.raises(BadSetup, match="absent_role") as setup:
        await refused()
    assert "pressroom db migrate" in (setup.value.hint or "")

    async with one.system() as tx:
        assert await tx.value("select 1") == 1


async def test_a_server_process_that_dies_is_unavailable_and_the_next_transaction_works(one):
    async def dies():
        async with one.system() as tx:
            owner = await asyncpg.connect(one.dsn)
            await owner.execute("select pg_terminate_backend($1)", await tx.value("select pg_backend_pid()"))
            await owner.close()
            await tx.value("select 1")

    with pytest.raises(Unavailable):
        await dies()

    async with one.system() as tx:
        assert await tx.value("select 1") == 1


# -- trouble, in our words


def closed_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return taken.getsockname()[1]


async def test_a_server_that_is_away_is_unavailable_and_the_password_is_not_said():
    db = await Database.open(f"postgresql://u:pass-word@127.0.0.1:{closed_port()}/db")

    for begin in (db.system, lambda: db.transaction(EVERY_WORKSPACE)):
        with pytest.raises(Unavailable) as away:
            async with begin():
                pass
        assert "pass-word" not in f"{away.value.message} {away.value.hint}"
        assert away.value.hint
    await db.close()


async def test_a_pool_that_is_used_up_is_unavailable_and_says_how_large_it_is(new_database):
    one = await Database.open(await new_database(), size=1, patience=timedelta(milliseconds=500))
    async with one.system():
        with pytest.raises(Unavailable, match="all 1 connections") as full:
            async with one.system():
                pass

    assert "PRESSROOM_DATABASE_POOL_SIZE" in (full.value.hint or "")
    async with one.system() as tx:
        assert await tx.value("select 1") == 1
    await one.close()


@pytest.mark.parametrize("part", ["path", "user"])
async def test_a_url_that_leads_to_nothing_is_bad_setup(server, part):
    url = urlsplit(server)
    if part == "path":
        url = url._replace(path="/absent_database")
    else:
        url = url._replace(netloc=f"absent_user@{url.netloc.rpartition('@')[2]}")
    db = await Database.open(urlunsplit(url))

    with pytest.raises(BadSetup, match="absent_") as refused:
        async with db.system():
            pass
    await db.close()

    assert "PRESSROOM_DATABASE_URL" in (refused.value.hint or "")


@pytest.mark.parametrize(
    "kind",
    [error for error in vars(errors).values() if isinstance(error, type) and getattr(error, "sqlstate", None)],
)
async def test_our_sqlstates_are_our_errors_with_message_and_hint(one, kind):
    with pytest.raises(kind) as raised:
        async with one.system() as tx:
            await tx.execute(
                f"do $$ begin raise exception 'the message' using errcode = '{kind.sqlstate}', hint = 'the hint'; end $$"
            )

    assert type(raised.value) is kind
    assert (raised.value.message, raised.value.hint) == ("the message", "the hint")


@pytest.mark.parametrize(
    ("statement", "kind"),
    [
        ("insert into numbers values (1), (1)", Conflict),
        ("insert into numbers values (200)", InvalidInput),
        ("insert into numbers values (1, 2)", InvalidInput),
        ("insert into numbers values (null)", InvalidInput),
        ("select 'x'::uuid", InvalidInput),
        ("select '\"\\u0000\"'::jsonb", InvalidInput),
        ("select 2147483647 + 1", InvalidInput),
        ("set local statement_timeout = 1; select pg_sleep(1)", Unavailable),
        ("set transaction read only; insert into numbers values (1)", Unavailable),
        ("do $$ begin raise deadlock_detected; end $$", Unavailable),
        ("do $$ begin raise lock_not_available; end $$", Unavailable),
        ("do $$ begin raise too_many_connections; end $$", Unavailable),
        ("do $$ begin raise cannot_connect_now; end $$", Unavailable),
    ],
)
async def test_what_the_server_refuses_is_our_error_with_its_cause(one, table, statement, kind):
    with pytest.raises(kind) as raised:
        async with one.system() as tx:
            await tx.execute(statement)

    assert type(raised.value) is kind
    assert isinstance(raised.value.__cause__, asyncpg.PostgresError)
    assert await kept(one) == []


@pytest.mark.parametrize(
    ("statement", "kind"),
    [("select * from absent", asyncpg.UndefinedTableError), ("slect 1", asyncpg.PostgresSyntaxError)],
)
async def test_a_mistake_of_ours_stays_what_it_is(one, statement, kind):
    with pytest.raises(kind):
        async with one.system() as tx:
            await tx.execute(statement)


# -- values


@pytest.mark.parametrize(
    "value", [{"a": [1, 2.5, None, True, "Привет 🙂"], "b": {}}, [], "text", 0, False, {"nested": [[[]]]}]
)
async def test_json_goes_there_and_back(one, value):
    async with one.system() as tx:
        assert await tx.value("select $1::jsonb", value) == value
        assert await tx.value("select $1::json", value) == value
        assert await tx.values("select value from jsonb_array_elements($1)", [value, value]) == [value, value]


async def test_rows_become_values_by_the_names_of_their_columns(one):
    @dataclass(frozen=True, slots=True)
    class Pair:
        size: int
        name: str

    async with one.system() as tx:
        assert await tx.rows(Pair, "select * from (values ('b', 2), ('a', 1)) v (name, size)") == [
            Pair(2, "b"), Pair(1, "a")
        ]  # fmt: skip
        assert await tx.row(Pair, "select 1 as size, 'a' as name") == Pair(1, "a")
        assert await tx.row(Pair, "select 1 as size, 'a' as name where false") is None
        assert await tx.values("select n, 'x' from generate_series(1, 3) n") == [1, 2, 3]
        assert await tx.value("select 1 where false") is None


async def test_a_pooler_may_change_the_connection_between_statements(new_database):
    """No prepared statement is kept where `pooled` says that the next transaction may meet another server process."""
    db = await Database.open(await new_database(), size=1, pooled=True)

    async with db.system() as tx:
        await tx.value("select $1::jsonb", {"a": 1})
        names = await tx.values("select name from pg_prepared_statements where statement like '%jsonb%'")
    await db.close()

    assert names == []
