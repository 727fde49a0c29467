"""Tokens: verbs on workspaces, by the database's clock, until they are revoked."""

import asyncio
from datetime import timedelta

import pytest

from pressroom.core.errors import Conflict, InvalidInput, NotFound, Unauthorized
from pressroom.core.ids import EVERY_WORKSPACE, WorkspaceId, uuid_v7
from pressroom.workspaces import store
from pressroom.workspaces.endpoints import create_endpoint, resolve_endpoint
from pressroom.workspaces.model import EndpointKind, Verb
from pressroom.workspaces.tokens import create_token, get_token, list_tokens, resolve_token, revoke_token
from tests.conftest import add_workspace

READ, WRITE, ADMIN = Verb.READ, Verb.WRITE, Verb.ADMIN


@pytest.fixture
def token_id():
    return f"t-{uuid_v7().hex}"


async def opens(db, secret):
    try:
        return (await resolve_token(db, secret=secret)).opens
    except Unauthorized:
        return None


async def test_a_token_opens_its_workspaces_with_its_verbs(db, workspace, other_workspace, token_id):
    token, secret = await create_token(
        db,
        token_id=token_id,
        workspaces=[workspace, other_workspace, workspace],
        verbs=[WRITE, READ, READ],
        title="CI",
    )

    assert secret.startswith("prs_api_")
    assert (token.token_id, token.title, token.verbs, token.expires_at, token.revoked_at) == (
        token_id, "CI", {READ, WRITE}, None, None
    )  # fmt: skip
    assert token.workspaces == tuple(sorted([workspace, other_workspace]))
    access = await resolve_token(db, secret=secret)
    assert access.token_id == token_id
    assert access.opens == {workspace: {READ, WRITE}, other_workspace: {READ, WRITE}}
    assert await get_token(db, token_id=token_id) == token


async def test_a_token_for_all_opens_workspaces_made_later_too(db, token_id):
    token, secret = await create_token(db, token_id=token_id, workspaces="all", verbs=[ADMIN])

    access = await resolve_token(db, secret=secret)

    assert token.workspaces == "all"
    assert (access.everywhere, access.workspaces, access.only_workspace()) == (True, frozenset(), None)
    assert access.allows(WorkspaceId(uuid_v7()), WRITE)


async def test_a_token_expires_by_the_clock_of_the_database(db, workspace, token_id):
    _, lasting = await create_token(
        db, token_id=token_id, workspaces=[workspace], verbs=[READ], expires_in=timedelta(hours=1)
    )
    gone, secret = await create_token(
        db, token_id=f"{token_id}-2", workspaces=[workspace], verbs=[READ], expires_in=timedelta(microseconds=1)
    )

    assert await opens(db, lasting) == {workspace: {READ}}
    assert await opens(db, secret) is None
    async with db.system() as tx:
        assert await tx.value("select $1::timestamptz < now()", gone.expires_at)
        await tx.execute(
            "update api_tokens set expires_at = now() - interval '1 microsecond' where token_id = $1", token_id
        )
    assert await opens(db, lasting) is None


async def test_a_revoked_token_opens_none_of_its_workspaces_and_keeps_its_first_time(
    db, workspace, other_workspace, token_id
):
    _, secret = await create_token(db, token_id=token_id, workspaces=[workspace, other_workspace], verbs=[READ])

    revoked = await revoke_token(db, token_id=token_id)
    again = await revoke_token(db, token_id=token_id)

    assert revoked.revoked_at is not None
    assert again == revoked
    assert len(revoked.workspaces) == 2
    assert await opens(db, secret) is None


@pytest.mark.parametrize("secret", ["", "prs_api_unknown", "x" * 600, "\0"])
async def test_what_opens_nothing_is_unauthorized_and_not_quoted(db, secret):
    with pytest.raises(Unauthorized) as refused:
        await resolve_token(db, secret=secret)

    assert not secret or secret not in f"{refused.value.message} {refused.value.hint}"


async def test_an_endpoint_secret_is_no_token_and_the_other_way_round(db, workspace, token_id):
    _, push = await create_endpoint(
        db, workspace_id=workspace, endpoint_id="site", kind=EndpointKind.WEBHOOK_PUSH
    )
    _, api = await create_token(db, token_id=token_id, workspaces=[workspace], verbs=[ADMIN])

    assert await opens(db, push) is None
    with pytest.raises(Unauthorized):
        await resolve_endpoint(db, kind=EndpointKind.WEBHOOK_PUSH, secret=api)


async def test_an_id_is_taken_once_in_the_whole_product_also_by_a_race(
    db, workspace, other_workspace, token_id
):
    outcomes = await asyncio.gather(
        *(
            create_token(db, token_id=token_id, workspaces=[opened], verbs=[READ])
            for opened in [workspace, other_workspace] * 4
        ),
        return_exceptions=True,
    )

    won = [outcome for outcome in outcomes if isinstance(outcome, tuple)]
    assert len(won) == 1
    assert [type(outcome) for outcome in outcomes if not isinstance(outcome, tuple)] == [Conflict] * 7
    assert await list_tokens(db, only=[workspace, other_workspace]) == [won[0][0]]


async def test_whoever_takes_an_id_that_is_being_taken_waits_and_is_refused(
    db, workspace, other_workspace, token_id
):
    async with db.system() as tx:
        await store.create_token(tx, [workspace], token_id, "hash", "", ["read"], None)
        second = asyncio.create_task(
            create_token(db, token_id=token_id, workspaces=[other_workspace], verbs=[READ])
        )
        while not second.done() and not await tx.value(  # noqa: ASYNC110 - the server is watched
            "select exists (select from pg_locks where locktype = 'advisory' and not granted)"
        ):
            await asyncio.sleep(0)
        waiting = not second.done()

    with pytest.raises(Conflict):
        await second
    assert waiting


async def test_the_id_of_a_revoked_token_stays_taken(db, workspace, token_id):
    await create_token(db, token_id=token_id, workspaces=[workspace], verbs=[READ])
    await revoke_token(db, token_id=token_id)

    with pytest.raises(Conflict):
        await create_token(db, token_id=token_id, workspaces=[workspace], verbs=[READ])


async def test_the_list_shows_a_workspace_no_other_one(own_db):
    a, b = await add_workspace(own_db), await add_workspace(own_db)
    both, _ = await create_token(own_db, token_id="both", workspaces=[a, b], verbs=[READ])
    every, _ = await create_token(own_db, token_id="every", workspaces="all", verbs=[READ])
    only_b, _ = await create_token(own_db, token_id="only-b", workspaces=[b], verbs=[READ])

    assert await list_tokens(own_db) == [both, every, only_b]
    assert [(token.token_id, token.workspaces) for token in await list_tokens(own_db, only=[a])] == [
        ("both", (a,))
    ]
    assert await list_tokens(own_db, only=[]) == []


async def test_an_absent_workspace_or_token_is_not_found(db, workspace, token_id):
    with pytest.raises(NotFound):
        await create_token(db, token_id=token_id, workspaces=[workspace, WorkspaceId(uuid_v7())], verbs=[READ])
    with pytest.raises(NotFound):
        await revoke_token(db, token_id=token_id)
    with pytest.raises(NotFound):
        await get_token(db, token_id=token_id)


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"token_id": "a b"}, "token_id"),
        ({"workspaces": []}, "workspaces"),
        ({"workspaces": [EVERY_WORKSPACE]}, "workspaces"),
        ({"verbs": []}, "verbs"),
        ({"expires_in": timedelta(0)}, "expires_in"),
        ({"expires_in": timedelta(days=36500)}, "expires_in"),
        ({"title": "two\nlines"}, "title"),
    ],
)
async def test_values_out_of_bounds_are_refused_by_field(db, given, field):
    with pytest.raises(InvalidInput) as refused:
        await create_token(db, **{"token_id": "t", "workspaces": "all", "verbs": [READ], **given})

    assert refused.value.field == field
    assert refused.value.hint


async def test_the_database_keeps_only_the_hash(db, token_id):
    _, secret = await create_token(db, token_id=token_id, workspaces="all", verbs=[READ])

    async with db.system() as tx:
        rows = await tx.values("select t::text from api_tokens t where token_id = $1", token_id)

    assert len(rows) == 1
    assert secret.removeprefix("prs_api_") not in rows[0]
