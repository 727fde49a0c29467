"""Endpoints: their secrets open one door of one workspace, until they are rotated or disabled."""

import asyncio
import json
import re
from decimal import Decimal

import asyncpg
import pytest

from pressroom.core.errors import Conflict, InvalidInput, NotFound, Unauthorized
from pressroom.core.ids import WorkspaceId, uuid_v7
from pressroom.workspaces import store
from pressroom.workspaces.endpoints import (
    create_endpoint,
    disable_endpoint,
    enable_endpoint,
    list_endpoints,
    resolve_endpoint,
    rotate_endpoint,
)
from pressroom.workspaces.model import EndpointKind, ResolvedEndpoint, WorkspaceStatus, hash_secret
from pressroom.workspaces.tenants import change_workspace

PUSH, BOT = EndpointKind.WEBHOOK_PUSH, EndpointKind.BOT_WEBHOOK


@pytest.fixture
def create(db, workspace):
    def create(endpoint_id="site", *, workspace_id=workspace, kind=PUSH, **given):
        return create_endpoint(db, workspace_id=workspace_id, endpoint_id=endpoint_id, kind=kind, **given)

    return create


async def opens(db, secret, kind=PUSH):
    try:
        return await resolve_endpoint(db, kind=kind, secret=secret)
    except Unauthorized:
        return None


async def test_an_endpoint_takes_the_defaults_and_a_title(create):
    endpoint, secret = await create(title="Our site")

    assert secret.startswith("prs_push_")
    assert (endpoint.endpoint_id, endpoint.kind, endpoint.enabled, endpoint.title) == (
        "site", PUSH, True, "Our site"
    )  # fmt: skip
    assert (endpoint.ingress_rps, endpoint.max_payload_bytes, endpoint.hash_drop_window_sec) == (5, 262144, 10)


async def test_an_endpoint_takes_what_it_is_given(create, db, workspace):
    endpoint, _ = await create(
        ingress_rps=0.5, max_payload_bytes=10, hash_drop_window_sec=0, meta={"owner": "team"}, title="T"
    )

    assert (endpoint.ingress_rps, endpoint.max_payload_bytes, endpoint.hash_drop_window_sec) == (
        Decimal("0.5"), 10, 0
    )  # fmt: skip
    assert endpoint.meta == {"owner": "team", "title": "T"}
    assert await list_endpoints(db, workspace_id=workspace) == [endpoint]


@pytest.mark.spec("AP-034")
async def test_a_secret_opens_exactly_its_own_enabled_endpoint(create, db, workspace, other_workspace):
    _, first = await create("first")
    _, second = await create("second", max_payload_bytes=100)
    _, elsewhere = await create("first", workspace_id=other_workspace)
    _, bot = await create("bot", kind=BOT)

    assert await opens(db, first) == ResolvedEndpoint(workspace, "first", 262144)
    assert await opens(db, second) == ResolvedEndpoint(workspace, "second", 100)
    assert await opens(db, elsewhere) == ResolvedEndpoint(other_workspace, "first", 262144)
    assert (await opens(db, bot), await opens(db, bot, BOT)) == (
        None, ResolvedEndpoint(workspace, "bot", 262144)
    )  # fmt: skip


@pytest.mark.parametrize("secret", ["", "prs_push_unknown", "x" * 600, "\0", "\udcff", "' or true --"])
async def test_what_opens_nothing_is_unauthorized(db, secret):
    with pytest.raises(Unauthorized) as refused:
        await resolve_endpoint(db, kind=PUSH, secret=secret)

    assert not secret or secret not in f"{refused.value.message} {refused.value.hint}"


async def test_a_disabled_endpoint_opens_nothing_until_it_is_enabled(create, db, workspace):
    _, secret = await create()

    disabled = await disable_endpoint(db, workspace_id=workspace, endpoint_id="site")
    shut = await opens(db, secret)
    enabled = await enable_endpoint(db, workspace_id=workspace, endpoint_id="site")

    assert (disabled.enabled, shut, enabled.enabled) == (False, None, True)
    assert await opens(db, secret) == ResolvedEndpoint(workspace, "site", 262144)


async def test_a_disabled_workspace_answers_like_an_unknown_endpoint_and_a_paused_one_takes_in(
    create, db, workspace
):
    _, secret = await create()

    answers = {}
    for status in WorkspaceStatus:
        await change_workspace(db, workspace_id=workspace, status=status)
        answers[status] = await opens(db, secret) is not None

    assert answers == {"active": True, "paused": True, "disabled": False}


async def test_an_endpoint_id_is_taken_once_in_its_workspace(create, db, workspace, other_workspace):
    await create("site")
    await create("site", workspace_id=other_workspace)

    with pytest.raises(Conflict):
        await create("site")

    assert len(await list_endpoints(db, workspace_id=workspace)) == 1


async def test_a_workspace_that_is_absent_gets_no_endpoint(create, db):
    absent = WorkspaceId(uuid_v7())

    with pytest.raises(NotFound, match=str(absent)):
        await create(workspace_id=absent)
    with pytest.raises(NotFound, match=str(absent)):
        await list_endpoints(db, workspace_id=absent)


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"endpoint_id": "a b"}, "endpoint_id"),
        ({"ingress_rps": 0}, "ingress_rps"),
        ({"ingress_rps": float("nan")}, "ingress_rps"),
        ({"ingress_rps": float("inf")}, "ingress_rps"),
        ({"max_payload_bytes": 0}, "max_payload_bytes"),
        ({"max_payload_bytes": 2**40}, "max_payload_bytes"),
        ({"hash_drop_window_sec": -1}, "hash_drop_window_sec"),
        ({"title": "x" * 201}, "title"),
    ],
)
async def test_values_out_of_bounds_are_refused_by_field(create, given, field):
    with pytest.raises(InvalidInput) as refused:
        await create(**given)

    assert refused.value.field == field
    assert refused.value.hint


# -- rotation


@pytest.mark.spec("AP-039")
async def test_a_rotation_makes_an_enabled_successor_and_keeps_the_old_row_disabled(create, db, workspace):
    old, old_secret = await create(
        "site", ingress_rps=7, max_payload_bytes=9, hash_drop_window_sec=3, title="T"
    )

    new, new_secret = await rotate_endpoint(db, workspace_id=workspace, endpoint_id="site")

    assert (new.endpoint_id, new.enabled, new.kind, new.meta) == (
        "site.2", True, PUSH, {"title": "T", "rotated_from": "site"}
    )  # fmt: skip
    assert (new.ingress_rps, new.max_payload_bytes, new.hash_drop_window_sec) == (7, 9, 3)
    assert new_secret != old_secret
    assert (await opens(db, old_secret), await opens(db, new_secret)) == (
        None, ResolvedEndpoint(workspace, "site.2", 9)
    )  # fmt: skip
    rows = await list_endpoints(db, workspace_id=workspace)
    assert [(row.endpoint_id, row.enabled) for row in rows] == [("site", False), ("site.2", True)]
    assert rows[0].created_at == old.created_at


async def test_successors_are_numbered_on(create, db, workspace):
    for endpoint_id in ("site", "site.7", "other.9", "site.x", "siteb.40"):
        await create(endpoint_id)

    first, _ = await rotate_endpoint(db, workspace_id=workspace, endpoint_id="site")
    second, _ = await rotate_endpoint(db, workspace_id=workspace, endpoint_id=first.endpoint_id)
    other, _ = await rotate_endpoint(db, workspace_id=workspace, endpoint_id="site.7")

    assert (first.endpoint_id, second.endpoint_id, other.endpoint_id) == ("site.8", "site.9", "site.10")


async def test_the_longest_id_has_a_successor_that_can_be_rotated_on(create, db, workspace):
    await create("x" * 100)

    first, _ = await rotate_endpoint(db, workspace_id=workspace, endpoint_id="x" * 100)
    second, _ = await rotate_endpoint(db, workspace_id=workspace, endpoint_id=first.endpoint_id)

    assert (first.endpoint_id, second.endpoint_id) == ("x" * 90 + ".2", "x" * 90 + ".3")


@pytest.mark.spec("AP-039")
async def test_of_racing_rotations_one_wins_and_the_others_get_a_conflict(create, db, workspace):
    _, old_secret = await create()

    outcomes = await asyncio.gather(
        *(rotate_endpoint(db, workspace_id=workspace, endpoint_id="site") for _ in range(8)),
        return_exceptions=True,
    )

    won = [outcome for outcome in outcomes if isinstance(outcome, tuple)]
    assert len(won) == 1
    assert [type(outcome) for outcome in outcomes if not isinstance(outcome, tuple)] == [Conflict] * 7
    assert await opens(db, old_secret) is None
    assert await opens(db, won[0][1]) == ResolvedEndpoint(workspace, "site.2", 262144)
    rows = await list_endpoints(db, workspace_id=workspace)
    assert [(row.endpoint_id, row.enabled) for row in rows] == [("site", False), ("site.2", True)]


async def test_racing_rotations_of_one_family_all_get_a_successor(create, db, workspace):
    for endpoint_id in ("site", "site.2", "site.3", "site.4"):
        await create(endpoint_id)

    outcomes = await asyncio.gather(
        *(
            rotate_endpoint(db, workspace_id=workspace, endpoint_id=endpoint_id)
            for endpoint_id in ("site", "site.2", "site.3", "site.4")
        )
    )

    assert sorted(endpoint.endpoint_id for endpoint, _ in outcomes) == ["site.5", "site.6", "site.7", "site.8"]


async def test_a_rotation_that_dies_in_the_middle_leaves_the_old_secret_open(create, db, workspace):
    _, secret = await create()

    class DiedError(Exception):
        pass

    async def dies():
        async with db.transaction(workspace) as tx:
            await store.rotate_endpoint(tx, workspace, "site", hash_secret("new"))
            raise DiedError

    with pytest.raises(DiedError):
        await dies()

    assert await opens(db, secret) == ResolvedEndpoint(workspace, "site", 262144)
    assert await opens(db, "new") is None
    assert [row.endpoint_id for row in await list_endpoints(db, workspace_id=workspace)] == ["site"]


@pytest.mark.parametrize("use", [rotate_endpoint, disable_endpoint, enable_endpoint])
async def test_an_endpoint_of_another_workspace_does_not_exist(use, create, db, workspace, other_workspace):
    _, secret = await create()

    with pytest.raises(NotFound):
        await use(db, workspace_id=other_workspace, endpoint_id="site")

    assert await opens(db, secret) == ResolvedEndpoint(workspace, "site", 262144)


# -- one enabled endpoint for a secret


@pytest.mark.spec("AP-032")
async def test_one_secret_opens_one_enabled_endpoint_of_its_kind_and_stands_in_any_number_of_disabled_ones(
    create, db, workspace, other_workspace
):
    _, secret = await create("first")
    add = """insert into workspace_endpoints (workspace_id, endpoint_id, kind, secret_hash, enabled)
             values ($1, $2, $3, $4, $5)"""
    same = hash_secret(secret)

    async with db.system() as tx:
        await tx.execute(add, workspace, "history-1", PUSH, same, False)
        await tx.execute(add, other_workspace, "history-2", PUSH, same, False)
        await tx.execute(add, workspace, "other-kind", BOT, same, True)
    with pytest.raises(Conflict):
        async with db.system() as tx:
            await tx.execute(add, other_workspace, "second", PUSH, same, True)

    assert await opens(db, secret) == ResolvedEndpoint(workspace, "first", 262144)
    assert await opens(db, secret, BOT) == ResolvedEndpoint(workspace, "other-kind", 262144)
    with pytest.raises(Conflict, match="another enabled endpoint") as refused:
        await enable_endpoint(db, workspace_id=other_workspace, endpoint_id="history-2")
    assert not {str(workspace), secret, same} & set(f"{refused.value.message} {refused.value.hint}".split())


def plan_nodes(node):
    yield node
    for inner in node.get("Plans", []):
        yield from plan_nodes(inner)


@pytest.mark.spec("AP-033")
async def test_the_lookup_reads_the_partial_unique_index_and_no_second_one_repeats_it(own_db):
    owner = await asyncpg.connect(own_db.dsn)
    try:
        await owner.execute("""
            insert into workspaces (workspace_id, name) select gen_random_uuid(), 'w' from generate_series(1, 50);
            insert into workspace_endpoints (workspace_id, endpoint_id, kind, secret_hash, enabled)
            select workspace_id, 'e' || n, 'webhook_push', md5(workspace_id::text || n), n % 2 = 0
              from workspaces, generate_series(1, 40) n;
            analyze workspace_endpoints""")
        asked = await owner.fetchval("select prosrc from pg_proc where oid = 'fn.resolve_endpoint'::regproc")
        for name, parameter in (("p_kind", "$1"), ("p_secret_hash", "$2")):
            asked = re.sub(rf"\b{name}\b", parameter, asked)
        await owner.execute(f"set plan_cache_mode = force_generic_plan; prepare asked (text, text) as {asked}")
        plan = await owner.fetchval("explain (format json) execute asked ('webhook_push', 'x')")
        indexes = await owner.fetch("""
            select indexdef from pg_indexes where tablename = 'workspace_endpoints' order by indexdef""")
    finally:
        await owner.close()

    scans = [node for node in plan_nodes(json.loads(plan)[0]["Plan"]) if node.get("Alias") == "e"]
    assert [scan["Index Name"] for scan in scans] == ["workspace_endpoints_by_secret"]
    assert "kind" in scans[0]["Index Cond"] and "secret_hash" in scans[0]["Index Cond"]
    assert [row["indexdef"].partition(" USING btree ")[2] for row in indexes] == [
        "(kind, secret_hash) WHERE enabled",
        "(workspace_id, endpoint_id)",
    ]


# -- what is kept


@pytest.mark.spec("AP-040")
async def test_the_database_keeps_the_hash_of_a_secret_and_the_secret_nowhere(create, db, workspace):
    _, created = await create(title="Site")
    _, rotated = await rotate_endpoint(db, workspace_id=workspace, endpoint_id="site")
    with pytest.raises(InvalidInput):
        await create("leaky", meta={"secret": "x"})
    with pytest.raises(InvalidInput):
        await create("leaky", meta={"note": created})

    owner = await asyncpg.connect(db.dsn)
    try:
        tables = await owner.fetch(
            "select c.oid::regclass::text as name from pg_class c join pg_namespace n on n.oid = c.relnamespace "
            "where c.relkind = 'r' and n.nspname not in ('pg_catalog', 'information_schema', 'pg_toast')"
        )
        rows = [
            row["text"]
            for table in tables
            for row in await owner.fetch(f"select t::text as text from {table['name']} t")
        ]
    finally:
        await owner.close()

    everything = "\n".join(rows)
    for secret in (created, rotated):
        assert secret not in everything
        assert secret.removeprefix("prs_push_") not in everything
        assert hash_secret(secret) in everything
    kept = {row.endpoint_id: row.meta for row in await list_endpoints(db, workspace_id=workspace)}
    assert kept == {"site": {"title": "Site"}, "site.2": {"title": "Site", "rotated_from": "site"}}
