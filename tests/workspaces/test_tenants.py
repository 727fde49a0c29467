"""Workspaces: made, listed, changed; and what their states let in."""

import asyncio

import pytest

from pressroom.core.errors import Conflict, InvalidInput, NotFound
from pressroom.core.ids import EVERY_WORKSPACE, WorkspaceId, uuid_v7
from pressroom.workspaces.model import EndpointKind, Verb, WorkspaceStatus
from pressroom.workspaces.tenants import change_workspace, create_workspace, get_workspace, list_workspaces


async def test_a_workspace_is_made_active_and_found(db):
    made = await create_workspace(db, name=" Новости ")

    assert (made.name, made.status) == ("Новости", WorkspaceStatus.ACTIVE)
    assert made.workspace_id.version == 7
    assert await get_workspace(db, workspace_id=made.workspace_id) == made


async def test_an_id_may_be_given_and_is_taken_once(db):
    chosen = WorkspaceId(uuid_v7())
    made = await create_workspace(db, name="First", workspace_id=chosen)

    with pytest.raises(Conflict):
        await create_workspace(db, name="Second", workspace_id=chosen)

    assert made.workspace_id == chosen
    assert (await get_workspace(db, workspace_id=chosen)).name == "First"


async def test_of_two_that_take_one_id_at_once_one_gets_it(db):
    chosen = WorkspaceId(uuid_v7())

    outcomes = await asyncio.gather(
        *(create_workspace(db, name=f"W{n}", workspace_id=chosen) for n in range(4)), return_exceptions=True
    )

    assert sorted(type(outcome).__name__ for outcome in outcomes) == ["Conflict"] * 3 + ["Workspace"]


async def test_the_nil_uuid_is_no_workspace(db):
    with pytest.raises(InvalidInput) as refused:
        await create_workspace(db, name="All", workspace_id=EVERY_WORKSPACE)

    assert refused.value.field == "workspace_id"


async def test_the_list_is_of_all_or_of_those_that_are_named(own_db):
    first, second, third = [await create_workspace(own_db, name=f"W{n}") for n in range(3)]

    assert await list_workspaces(own_db) == [first, second, third]
    assert await list_workspaces(own_db, only=[third.workspace_id, first.workspace_id]) == [first, third]
    assert await list_workspaces(own_db, only=[]) == []


async def test_a_change_leaves_the_rest(db, workspace, other_workspace):
    renamed = await change_workspace(db, workspace_id=workspace, name="New")
    paused = await change_workspace(db, workspace_id=workspace, status=WorkspaceStatus.PAUSED)

    assert (renamed.name, renamed.status) == ("New", WorkspaceStatus.ACTIVE)
    assert (paused.name, paused.status) == ("New", WorkspaceStatus.PAUSED)
    assert await get_workspace(db, workspace_id=workspace) == paused
    assert (await get_workspace(db, workspace_id=other_workspace)).status is WorkspaceStatus.ACTIVE


async def test_a_check_sees_what_is_there_and_may_prevent_the_change(db, workspace):
    seen = []

    def refuse(present):
        seen.append(present)
        raise Conflict("not so")

    with pytest.raises(Conflict):
        await change_workspace(db, workspace_id=workspace, name="New", check=refuse)

    assert seen == [await get_workspace(db, workspace_id=workspace)]


async def test_an_absent_workspace_is_not_found(db):
    absent = WorkspaceId(uuid_v7())
    with pytest.raises(NotFound):
        await change_workspace(db, workspace_id=absent, name="New", check=lambda _: None)

    with pytest.raises(NotFound):
        await get_workspace(db, workspace_id=absent)
    with pytest.raises(NotFound):
        await change_workspace(db, workspace_id=absent, name="New")


@pytest.mark.parametrize(
    ("states", "table", "column"),
    [
        (WorkspaceStatus, "workspaces", "status"),
        (EndpointKind, "workspace_endpoints", "kind"),
        (Verb, "api_tokens", "verbs"),
    ],
)
async def test_the_states_are_those_that_the_table_takes(tx, states, table, column):
    checks = await tx.values(
        """select pg_get_constraintdef(oid) from pg_constraint
            where conrelid = $1::text::regclass and contype = 'c' and pg_get_constraintdef(oid) like '%' || $2 || '%'""",
        table,
        column,
    )

    allowed = [part.split("'")[0] for check in checks for part in check.split("'")[1::2]]
    assert sorted(allowed) == sorted(states)
