"""No tenant sees, changes or makes a row of another one: read from the catalogue, and tried on every table.

The catalogue is asked, not a list of tables: a table that a later migration brings is held to all of this
without a line here.
"""

import re
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import asyncpg
import pytest

from pressroom.core.ids import EVERY_WORKSPACE, WorkspaceId, uuid_v7
from pressroom.workspaces.model import hash_secret
from tests.conftest import add_workspace

APP, WORKER = "pressroom_app", "pressroom_worker"
TENANT_COLUMNS = ("workspace_id", "tenant_id")
WITH_GLOBAL_ROWS = {"autopost_settings"}
#: What may look across tenants, and why: both resolve before the tenant is known, and events need partitions.
DEFINERS = {
    "fn.resolve_endpoint(text,text)",
    "fn.resolve_token(text)",
    "fn.make_event_partitions(integer)",
}

NOT_OURS = "n.nspname !~ '^pg_' and n.nspname <> 'information_schema'"


@pytest.fixture
async def owner(db) -> AsyncIterator["asyncpg.Connection[asyncpg.Record]"]:
    """The owner of the shared database, to read its catalogue; row-level security does not bind it."""
    connection = await asyncpg.connect(db.dsn)
    yield connection
    await connection.close()


@pytest.fixture
async def lone_owner(own_db) -> AsyncIterator["asyncpg.Connection[asyncpg.Record]"]:
    """The owner of a database for this test alone."""
    connection = await asyncpg.connect(own_db.dsn)
    await connection.execute("delete from autopost_settings")  # the product's defaults, which everybody sees
    yield connection
    await connection.close()


# -- read from the catalogue


@dataclass(frozen=True, slots=True)
class Relation:
    name: str
    kind: str
    partition: bool
    tenant_column: str | None
    secured: bool
    invoker: bool
    bounds: str | None


async def relations(owner) -> list[Relation]:
    """Everything that holds or shows rows, in all schemas but the system's."""
    rows = await owner.fetch(
        f"""select c.oid::regclass::text as name, c.relkind::text as kind, c.relispartition as partition,
                   (select a.attname::text from pg_attribute a
                     where a.attrelid = c.oid and not a.attisdropped and a.attname = any($1)
                     order by a.attnum limit 1) as tenant_column,
                   c.relrowsecurity as secured,
                   coalesce(c.reloptions @> array['security_invoker=true'], false) as invoker,
                   pg_get_expr(c.relpartbound, c.oid) as bounds
              from pg_class c
              join pg_namespace n on n.oid = c.relnamespace
             where c.relkind in ('r', 'p', 'v', 'm', 'f') and {NOT_OURS}
             order by c.relkind, 1""",
        list(TENANT_COLUMNS),
    )
    return [Relation(**row) for row in rows]


async def tables(owner) -> list[Relation]:
    return [one for one in await relations(owner) if one.tenant_column and one.kind in "rp"]


async def policies(owner, table: str) -> set[tuple[str, str, str, str | None]]:
    """Role, command, what it may see and what it may write of everything that `table` permits."""
    rows = await owner.fetch(
        """select case role when 0 then 'everybody' else role::regrole::text end as role,
                  p.polcmd::text as command, p.polpermissive as permissive,
                  pg_get_expr(p.polqual, p.polrelid) as sees, pg_get_expr(p.polwithcheck, p.polrelid) as writes
             from pg_policy p, unnest(p.polroles) role
            where p.polrelid = $1::text::regclass""",
        table,
    )
    return {(row["role"], row["command"], row["sees"], row["writes"]) for row in rows if row["permissive"]}


async def tenancy_faults(owner) -> list[str]:
    """What stands open, one sentence each."""
    faults: list[str] = []
    for one in await relations(owner):
        if one.tenant_column is None:
            continue
        if one.kind in "mf":
            faults.append(f"{one.name} shows tenants' rows and cannot have row-level security")
        elif one.kind == "v":
            if not one.invoker:
                faults.append(f"the view {one.name} shows what its owner sees: create it with security_invoker")
        else:
            faults += await _table_faults(owner, one)
    return faults


async def _table_faults(owner, one: Relation) -> list[str]:
    if not one.secured:
        return [f"{one.name} has no row-level security"]
    found = await policies(owner, one.name)
    if one.partition:  # rows are reached through the parent, whose policies hold
        return [f"the partition {one.name} has policies of its own"] if found else []
    own = f"({one.tenant_column} = current_workspace())"
    expected = {(APP, "*", own, own), (WORKER, "*", "true", "true")}
    if one.name in WITH_GLOBAL_ROWS:
        nil = "(workspace_id = '00000000-0000-0000-0000-000000000000'::uuid)"
        expected.add((APP, "r", nil, None))
    return [] if found == expected else [f"{one.name} has the policies {sorted(map(str, found))}"]


async def test_every_table_view_and_partition_with_a_tenant_is_isolated(owner):
    found = await tables(owner)

    assert await tenancy_faults(owner) == []
    assert {"workspaces", "deliveries", "events", "events_default", "idempotency_keys"} <= {
        one.name for one in found
    }
    assert sum(one.partition for one in found) > 10


@pytest.mark.parametrize(
    ("statements", "fault"),
    [
        ("create table t (workspace_id uuid, a int)", "t has no row-level security"),
        ("create table public.t (tenant_id uuid)", "t has no row-level security"),
        ("create schema s; create table s.t (workspace_id uuid)", "s.t has no row-level security"),
        (
            "create table t (workspace_id uuid); alter table t enable row level security",
            "t has the policies []",
        ),
        (
            """create table t (workspace_id uuid); call isolate_tenants('t');
               create policy more on t for select using (true)""",
            "t has the policies [",
        ),
        (
            "create table t (workspace_id uuid); call isolate_tenants('t', p_with_global_rows => true)",
            "t has the policies [",
        ),
        (
            "create table events_x partition of events for values from ('1999-01-01') to ('1999-01-02')",
            "events_x has no row-level security",
        ),
        ("create view v as select workspace_id from deliveries", "the view v shows what its owner sees"),
        ("create materialized view m as select workspace_id from deliveries", "m shows tenants' rows"),
    ],
)
async def test_what_stands_open_is_reported(owner, statements, fault):
    transaction = owner.transaction()
    await transaction.start()
    await owner.execute(statements)

    faults = await tenancy_faults(owner)

    await transaction.rollback()
    assert len(faults) == 1
    assert faults[0].startswith(fault)
    assert await tenancy_faults(owner) == []


async def test_only_what_is_listed_looks_across_tenants_and_on_a_fixed_search_path(owner):
    rows = await owner.fetch(
        f"""select n.nspname || '.' || p.proname || '(' || replace(oidvectortypes(p.proargtypes), ', ', ',') || ')' as name,
                   p.proconfig as config
              from pg_proc p join pg_namespace n on n.oid = p.pronamespace
             where p.prosecdef and {NOT_OURS}"""
    )

    assert {row["name"] for row in rows} == DEFINERS
    for row in rows:
        assert "search_path=pressroom, pg_temp" in (row["config"] or []), row["name"]


async def test_the_roles_own_nothing_bypass_nothing_and_belong_to_nobody(owner):
    rows = await owner.fetch(
        """select rolname, rolsuper, rolbypassrls, rolcreaterole, rolcreatedb, rolcanlogin, rolreplication,
                  (select count(*) from pg_auth_members m where m.member = r.oid) as memberships,
                  (select count(*) from pg_class c where c.relowner = r.oid) as owned
             from pg_roles r where rolname in ($1, $2)""",
        APP,
        WORKER,
    )

    assert sorted(row["rolname"] for row in rows) == [APP, WORKER]
    for row in rows:
        assert not any(value for name, value in row.items() if name != "rolname"), dict(row)


async def test_the_app_may_not_make_or_change_anything_but_rows(owner):
    await owner.execute(f"set role {APP}")

    for statement in (
        "create table pressroom.t ()",
        "create function fn.f() returns int language sql return 1",
        "alter table deliveries disable row level security",
        "drop policy tenant on deliveries",
        "truncate deliveries",
        f"set role {WORKER}; select 1 / (current_user <> '{WORKER}')::int",
    ):
        with pytest.raises((asyncpg.InsufficientPrivilegeError, asyncpg.DivisionByZeroError)):
            await owner.execute(statement)
        await owner.execute(f"set role {APP}")


# -- tried

NEW_VALUE = {
    "uuid": "gen_random_uuid()",
    "text": "md5(random()::text)",
    "text[]": "'{a}'",
    "uuid[]": "'{}'",
    "integer[]": "'{1}'",
    "integer": "1",
    "bigint": "1",
    "numeric": "1",
    "boolean": "true",
    "jsonb": "'{}'",
    "bytea": r"'\x00'",
    "interval": "'1 second'",
    "timestamp with time zone": "now()",
}


async def insert_statement(owner, table: Relation) -> str:
    """One row with as little in it as the table takes; $1 is its tenant."""
    columns = await owner.fetch(
        """select a.attname::text as name, format_type(a.atttypid, a.atttypmod) as type
             from pg_attribute a
            where a.attrelid = $1::text::regclass and a.attnum > 0 and not a.attisdropped
              and a.attnotnull and not a.atthasdef and a.attidentity = '' and a.attgenerated = ''""",
        table.name,
    )
    values = {row["name"]: "$1" if row["name"] in TENANT_COLUMNS else NEW_VALUE[row["type"]] for row in columns}
    values[table.tenant_column or ""] = "$1"
    if table.partition:  # a moment that it holds: its first one, or one that no day was made for
        first = re.match(r"FOR VALUES FROM \('([^']+)'\)", table.bounds or "")
        values["ts"] = f"'{first[1] if first else '1999-01-01'}'"
    return f"insert into {table.name} ({', '.join(values)}) values ({', '.join(values.values())})"


async def fill(owner, workspace_ids) -> list[Relation]:
    """A row of each tenant in every table and partition, without the rules that would ask for more rows."""
    for row in await owner.fetch(
        f"""select c.conrelid::regclass::text as name, quote_ident(c.conname) as rule
              from pg_constraint c
              join pg_class r on r.oid = c.conrelid
              join pg_namespace n on n.oid = r.relnamespace
             where c.contype in ('c', 'f') and not r.relispartition and {NOT_OURS}"""
    ):
        await owner.execute(f"alter table {row['name']} drop constraint {row['rule']}")
    found = await tables(owner)
    for table in found:
        if not table.partition:
            await owner.execute(f"alter table {table.name} disable trigger user")
    for table in found:
        statement = await insert_statement(owner, table)
        for workspace_id in workspace_ids:
            await owner.execute(statement, workspace_id)
    return found


class AsRole:
    """Statements as a role with a tenant or none, each undone; answers how many rows it touched, or the refusal."""

    def __init__(self, owner, role: str, workspace_id: WorkspaceId | None) -> None:
        self._owner, self._role = owner, role
        self._tenant = "" if workspace_id is None else str(workspace_id)

    async def rows(self, statement: str, *values: object):
        return await self._try(self._owner.fetch, statement, *values)

    async def touched(self, statement: str, *values: object):
        done = await self._try(self._owner.execute, statement, *values)
        return done if done == "refused" else int(done.rpartition(" ")[2])

    async def _try(self, run, statement, *values):
        transaction = self._owner.transaction()
        await transaction.start()
        try:
            await self._owner.execute(f"set local role {self._role}")
            await self._owner.execute("select set_config('pressroom.workspace_id', $1, true)", self._tenant)
            return await run(statement, *values)
        except asyncpg.InsufficientPrivilegeError:
            return "refused"
        finally:
            await transaction.rollback()


async def test_a_tenant_sees_changes_deletes_and_makes_its_own_rows_and_no_others(lone_owner):
    mine, theirs = WorkspaceId(uuid_v7()), WorkspaceId(uuid_v7())
    found = await fill(lone_owner, [mine, theirs])
    app = AsRole(lone_owner, APP, mine)

    for table in found:
        name, tenant = table.name, table.tenant_column
        insert = await insert_statement(lone_owner, table)
        seen = await app.rows(f"select distinct {tenant} as tenant from {name}")
        own = "refused" if table.partition else 1
        assert {row["tenant"] for row in seen} == (set() if table.partition else {mine}), name
        assert {
            "select theirs": len(await app.rows(f"select 1 from {name} where {tenant} = $1", theirs)),
            "update theirs": await app.touched(
                f"update {name} set {tenant} = {tenant} where {tenant} = $1", theirs
            ),
            "take theirs": await app.touched(
                f"update {name} set {tenant} = $1 where {tenant} = $2", mine, theirs
            ),
            "delete theirs": await app.touched(f"delete from {name} where {tenant} = $1", theirs),
            "insert theirs": await app.touched(insert, theirs),
            "insert global": await app.touched(insert, EVERY_WORKSPACE),
            "insert mine": await app.touched(insert, mine) if name != "workspaces" else own,
        } == {
            "select theirs": 0,
            "update theirs": 0,
            "take theirs": 0,
            "delete theirs": 0,
            "insert theirs": "refused",
            "insert global": "refused",
            "insert mine": own,
        }, name
        if not table.partition:
            assert (
                await app.touched(f"update {name} set {tenant} = $1 where {tenant} = $2", theirs, mine)
                == "refused"
            )
            assert await app.touched(f"update {name} set {tenant} = {tenant}") >= 1, name
            assert await app.touched(f"delete from {name}") >= 1, name
    assert len(found) > 20


@pytest.mark.parametrize("tenant", [None, EVERY_WORKSPACE, WorkspaceId(uuid_v7())])
async def test_without_a_tenant_or_for_one_that_is_absent_there_is_nothing(lone_owner, tenant):
    theirs = WorkspaceId(uuid_v7())
    app = AsRole(lone_owner, APP, tenant)

    for table in await fill(lone_owner, [theirs]):
        insert = await insert_statement(lone_owner, table)
        assert await app.rows(f"select * from {table.name}") == [], table.name
        assert await app.touched(f"update {table.name} set {table.tenant_column} = {table.tenant_column}") == 0
        assert await app.touched(f"delete from {table.name}") == 0, table.name
        assert await app.touched(insert, theirs) == "refused", table.name
        assert await app.touched(insert, EVERY_WORKSPACE) == "refused", table.name


async def test_the_worker_sees_every_tenant(lone_owner):
    tenants = {WorkspaceId(uuid_v7()) for _ in range(2)}
    worker = AsRole(lone_owner, WORKER, None)

    for table in await fill(lone_owner, tenants):
        seen = await worker.rows(f"select distinct {table.tenant_column} as tenant from {table.name}")
        assert {row["tenant"] for row in seen} == (set() if table.partition else tenants), table.name


async def test_global_settings_are_read_by_every_tenant_and_written_by_none(own_db, lone_owner):
    a = await add_workspace(own_db)
    await lone_owner.execute(
        "insert into autopost_settings (workspace_id, key, value) values ($1, 'k', '1'), ($2, 'k', '2')",
        EVERY_WORKSPACE,
        a,
    )
    every = "select workspace_id, value from autopost_settings where key = 'k' order by workspace_id"

    for tenant, seen in [(a, [(EVERY_WORKSPACE, "1"), (a, "2")]), (EVERY_WORKSPACE, [(EVERY_WORKSPACE, "1")])]:
        app = AsRole(lone_owner, APP, tenant)
        assert [tuple(row) for row in await app.rows(every)] == seen
        assert [
            await app.touched(
                "update autopost_settings set value = '3' where workspace_id = $1", EVERY_WORKSPACE
            ),
            await app.touched("delete from autopost_settings where workspace_id = $1", EVERY_WORKSPACE),
            await app.touched(
                "insert into autopost_settings (workspace_id, key, value) values ($1, 'new', '3')",
                EVERY_WORKSPACE,
            ),
            await app.touched(
                "insert into autopost_settings (workspace_id, key, value) values ($1, 'k', '3') "
                "on conflict (workspace_id, key) do update set value = excluded.value",
                EVERY_WORKSPACE,
            ),
        ] == [0, 0, "refused", "refused"]


async def test_what_resolves_before_the_tenant_is_known_works_without_one_and_shows_no_more(own_db, lone_owner):
    a, b = await add_workspace(own_db), await add_workspace(own_db)
    for workspace_id in (a, b):
        await lone_owner.execute(
            "insert into workspace_endpoints (workspace_id, endpoint_id, kind, secret_hash) values ($1, 'e', 'webhook_push', $2)",
            workspace_id,
            hash_secret(f"push {workspace_id}"),
        )
        await lone_owner.execute(
            "insert into api_tokens (workspace_id, token_id, token_hash, verbs) values ($1, $2, $3, '{read}')",
            workspace_id,
            str(workspace_id),
            hash_secret(f"api {workspace_id}"),
        )
    nobody = AsRole(lone_owner, APP, None)

    endpoint = await nobody.rows(
        "select * from fn.resolve_endpoint('webhook_push', $1)", hash_secret(f"push {a}")
    )
    token = await nobody.rows("select * from fn.resolve_token($1)", hash_secret(f"api {b}"))

    assert [tuple(row) for row in endpoint] == [(a, "e", 262144)]
    assert [tuple(row) for row in token] == [(b, str(b), ["read"])]
    assert await nobody.rows("select * from workspace_endpoints") == []
    assert await nobody.rows("select * from api_tokens") == []


# -- keys and columns of the specification

SPEC = Path(__file__).parents[2] / "docs" / "spec" / "autopost.md"
#: Ours beside the specification's, listed in docs/spec/changes.md.
MORE_COLUMNS = {"deliveries": {"not_after"}}
TYPES = {"ts": "timestamp with time zone", "bool": "boolean", "int": "integer"}

#: Indexes without the tenant: AP-023 names the first three, docs/spec/changes.md the others.
WITHOUT_TENANT = {
    "workspace_endpoints_by_secret",
    "channels_tags",
    "messages_tags",
    "idempotency_keys_expiry",
    "events_by_time",
}
UNIQUE_WITHOUT_TENANT = {"workspace_endpoints_by_secret"}


@dataclass(frozen=True, slots=True)
class Column:
    """`required` is None and `default` is `?` where the specification does not say."""

    type: str
    required: bool | None
    default: str | None


def specified_columns() -> dict[str, dict[str, Column]]:
    """The tables of section 4 whose columns are listed, by the heading above them."""
    found: dict[str, dict[str, Column]] = {}
    table, listing = "", False
    for line in SPEC.read_text("utf-8").splitlines():
        if heading := re.match(r"### 4\.\d+ `(\w+)`", line):
            table = heading[1]
        if not line.startswith("|"):
            listing = False
        elif line.startswith("| Column | Type |"):
            listing = True
        elif listing and not line.startswith("|---"):
            names, kind, rule = (cell.strip() for cell in line.strip("|").split("|")[:3])
            for name in re.findall(r"`(\w+)`", names):
                found.setdefault(table, {})[name] = _specified(kind, rule)
    return found


def _specified(kind: str, rule: str) -> Column:
    required, default = None, None
    for part in rule.removeprefix("Decision: ").partition(";")[0].replace("`", "").split(","):
        word = part.strip().removesuffix(" at enqueue")
        if word in ("not null", "null"):
            required = word == "not null"
        elif word.startswith("pk"):
            required = True
        elif word == "random":
            default = "gen_random_uuid()"
        elif word and not word.startswith("fk"):
            default = word
    return Column(TYPES.get(kind, kind), required, default)


async def actual_columns(owner, table: str) -> dict[str, Column]:
    rows = await owner.fetch(
        """select a.attname::text as name, format_type(a.atttypid, a.atttypmod) as type, a.attnotnull as required,
                  pg_get_expr(d.adbin, d.adrelid) as default
             from pg_attribute a
             left join pg_attrdef d on (d.adrelid, d.adnum) = (a.attrelid, a.attnum)
            where a.attrelid = $1::text::regclass and a.attnum > 0 and not a.attisdropped""",
        table,
    )
    return {
        row["name"]: Column(
            row["type"], row["required"], row["default"] and re.sub(r"^'(.*)'::\w+$", r"\1", row["default"])
        )
        for row in rows
    }


async def key_of(owner, table: str) -> list[str]:
    return await owner.fetchval(
        """select array_agg(a.attname::text order by k.at)
             from pg_index i, unnest(i.indkey) with ordinality k (attnum, at), pg_attribute a
            where i.indrelid = $1::text::regclass and i.indisprimary
              and a.attrelid = i.indrelid and a.attnum = k.attnum""",
        table,
    )


def test_the_specification_is_read_as_it_stands():
    columns = specified_columns()

    assert {table: len(listed) for table, listed in columns.items()} == {
        "workspaces": 4, "workspace_endpoints": 11, "channels": 24, "platform_limits": 6, "messages": 15,
        "media_origin": 9, "media_blobs": 9, "deliveries": 24, "events": 12,
    }  # fmt: skip
    assert columns["channels"]["max_parallel"] == Column("integer", True, "1")
    assert columns["channels"]["rate_rps"] == Column("numeric", None, "1")
    assert columns["channels"]["dedup_ttl_hours"] == Column("integer", False, "168")
    assert columns["events"]["id"] == Column("uuid", None, "gen_random_uuid()")


@pytest.mark.parametrize(
    ("table", "key"),
    [
        pytest.param("workspaces", ["workspace_id"], marks=pytest.mark.spec("AP-028")),
        pytest.param("workspace_endpoints", ["workspace_id", "endpoint_id"], marks=pytest.mark.spec("AP-031")),
        pytest.param("channels", ["workspace_id", "channel_id"], marks=pytest.mark.spec("AP-021")),
        pytest.param("platform_limits", ["workspace_id", "platform", "rate_group"]),
        pytest.param("messages", ["workspace_id", "message_id"], marks=pytest.mark.spec("AP-021")),
        pytest.param("deliveries", ["workspace_id", "delivery_id"], marks=pytest.mark.spec("AP-021")),
        pytest.param("events", ["workspace_id", "id", "ts"]),
    ],
)
async def test_a_table_has_the_columns_and_the_key_of_the_specification(owner, table, key):
    specified, actual = specified_columns()[table], await actual_columns(owner, table)

    assert set(actual) - MORE_COLUMNS.get(table, set()) == set(specified)
    for name, column in specified.items():
        found = actual[name]
        assert (found.type, found.default) == (column.type, column.default), name
        assert column.required in (None, found.required), name
    assert await key_of(owner, table) == key


async def test_every_specified_table_that_stands_is_compared(owner):
    standing = {one.name for one in await tables(owner)}

    assert standing & set(specified_columns()) == {
        "workspaces", "workspace_endpoints", "channels", "platform_limits", "messages", "deliveries", "events"
    }  # fmt: skip


async def test_what_is_scoped_to_a_workspace_carries_it(owner):
    scoped = {
        "channels", "platform_limits", "messages", "media_origin", "media_blobs", "deliveries", "events",
        "pull_sources", "pull_cursors", "ingest_runs", "ingress_receipts",
    }  # fmt: skip
    every = {one.name: one.tenant_column for one in await relations(owner) if one.kind in "rp"}

    assert {name for name, tenant in every.items() if tenant is None} == {"heartbeats", "pressroom_migrations"}
    assert {every[name] for name in scoped & set(every)} == {"workspace_id"}
    assert {name for name in every if name.startswith("bot_") and every[name] != "workspace_id"} == set()


@dataclass(frozen=True, slots=True)
class Index:
    table: str
    name: str
    unique: bool
    columns: list[str]


async def indexes(owner) -> list[Index]:
    """Of the tables with a tenant; those that partitions inherit are left out."""
    rows = await owner.fetch(
        """select i.indrelid::regclass::text as table, c.relname::text as name, i.indisunique as unique,
                  array(select a.attname::text from unnest(i.indkey) with ordinality k (attnum, at)
                          join pg_attribute a on (a.attrelid, a.attnum) = (i.indrelid, k.attnum)
                         order by k.at) as columns
             from pg_index i join pg_class c on c.oid = i.indexrelid
            where i.indrelid = any($1::text[]::regclass[]) and not c.relispartition""",
        [one.name for one in await tables(owner)],
    )
    return [Index(**row) for row in rows]


@pytest.mark.spec("AP-022")
async def test_every_key_and_index_has_the_tenant_but_those_that_are_named(owner):
    found = await indexes(owner)

    without = {index.name for index in found if "workspace_id" not in index.columns}
    assert without == WITHOUT_TENANT
    assert {one.name for one in found if one.unique and one.name in without} == UNIQUE_WITHOUT_TENANT
    primary = {one.table for one in found if one.unique and one.columns[0] == "workspace_id"}
    assert {one.name for one in await tables(owner) if not one.partition} - primary == {"delivery_queue"}


async def test_the_one_unique_key_without_a_tenant_is_the_look_up_of_endpoints(owner):
    (lookup,) = [one for one in await indexes(owner) if one.unique and "workspace_id" not in one.columns]

    assert (lookup.table, lookup.columns) == ("workspace_endpoints", ["kind", "secret_hash"])


@pytest.mark.spec("AP-024", "AP-086")
async def test_references_are_composite_by_workspace(owner):
    rows = await owner.fetch(
        """select c.conrelid::regclass::text as table, pg_get_constraintdef(c.oid) as reference
             from pg_constraint c where c.contype = 'f' and c.conparentid = 0"""
    )
    references = {(row["table"], row["reference"]) for row in rows}

    assert {reference for table, reference in references if table == "deliveries"} == {
        "FOREIGN KEY (workspace_id, message_id) REFERENCES messages(workspace_id, message_id)",
        "FOREIGN KEY (workspace_id, channel_id) REFERENCES channels(workspace_id, channel_id)",
    }
    for table, reference in references:
        assert re.match(r"FOREIGN KEY \(workspace_id\b.*\) REFERENCES \w+\(workspace_id\b", reference), table


async def test_ids_have_one_type_in_every_table(owner):
    types = {
        **dict.fromkeys(("workspace_id", "message_id", "delivery_id", "enqueue_batch_id"), "uuid"),
        **dict.fromkeys(
            ("channel_id", "endpoint_id", "source_id", "run_id", "trace_id", "claim_token", "blob_ref"), "text"
        ),
    }
    rows = await owner.fetch(
        f"""select r.oid::regclass::text as table, a.attname::text as name, format_type(a.atttypid, a.atttypmod) as type
              from pg_attribute a
              join pg_class r on r.oid = a.attrelid
              join pg_namespace n on n.oid = r.relnamespace
             where r.relkind in ('r', 'p', 'v') and a.attnum > 0 and not a.attisdropped
               and (a.attname = any($1) or (a.attname = 'id' and r.relname like 'events%')) and {NOT_OURS}""",
        list(types),
    )

    wrong = [tuple(row) for row in rows if row["type"] != types.get(row["name"], "uuid")]
    assert wrong == []
    assert {row["name"] for row in rows} >= {
        "workspace_id",
        "message_id",
        "delivery_id",
        "id",
        "run_id",
        "trace_id",
    }
