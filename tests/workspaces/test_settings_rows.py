"""Settings of database functions: a default for all workspaces, and what one sets over it."""

import asyncpg
import pytest

from pressroom.core.errors import InvalidInput, NotFound
from pressroom.core.ids import EVERY_WORKSPACE, WorkspaceId, uuid_v7
from pressroom.workspaces.settings_rows import (
    Setting,
    clear_setting,
    get_setting,
    list_settings,
    set_setting,
)
from pressroom.workspaces.tenants import create_workspace


@pytest.fixture
async def default(db):
    """A key whose default is 5."""
    key = f"max_attempts_{uuid_v7().hex}"
    await set_setting(db, workspace_id=EVERY_WORKSPACE, key=key, value=5)
    yield key
    await clear_setting(db, workspace_id=EVERY_WORKSPACE, key=key)


@pytest.mark.spec("AP-122")
async def test_functions_take_the_global_default_until_a_workspace_has_its_own_row(own_db):
    workspace, other = [
        (await create_workspace(own_db, name=name)).workspace_id for name in ("News", "Weather")
    ]

    async def required(workspace_id):
        async with own_db.transaction(workspace_id) as tx:  # as the application, in this workspace
            return await tx.value("select fn.required_setting($1, 'max_attempts')", workspace_id)

    async with own_db.transaction(workspace) as tx:
        readable = await tx.values(
            "select value from autopost_settings where key = 'max_attempts' and workspace_id = $1",
            EVERY_WORKSPACE,
        )
    assert readable == [5]
    assert await required(workspace) == 5

    await set_setting(own_db, workspace_id=workspace, key="max_attempts", value=9)

    assert (await required(workspace), await required(other)) == (9, 5)
    async with own_db.transaction(workspace) as tx:  # nobody's tenant writes the default
        changed = await tx.values(
            "update autopost_settings set value = '99' where workspace_id = $1 returning 1", EVERY_WORKSPACE
        )
        deleted = await tx.values(
            "delete from autopost_settings where workspace_id = $1 returning 1", EVERY_WORKSPACE
        )
    assert (changed, deleted) == ([], [])
    with pytest.raises(asyncpg.InsufficientPrivilegeError):
        async with own_db.transaction(workspace) as tx:
            await tx.execute(
                "insert into autopost_settings (workspace_id, key, value) values ($1, 'new', '1')",
                EVERY_WORKSPACE,
            )

    await clear_setting(own_db, workspace_id=workspace, key="max_attempts")
    assert await required(workspace) == 5


async def test_a_workspace_has_the_default_under_the_nil_uuid_until_it_sets_its_own(
    db, workspace, other_workspace, default
):
    before = await get_setting(db, workspace_id=workspace, key=default)
    await set_setting(db, workspace_id=workspace, key=default, value=9)

    assert (before, await get_setting(db, workspace_id=workspace, key=default)) == (5, 9)
    assert await get_setting(db, workspace_id=other_workspace, key=default) == 5
    assert await get_setting(db, workspace_id=EVERY_WORKSPACE, key=default) == 5
    async with db.system() as tx:  # as functions read it
        assert await tx.value("select fn.setting($1, $2)", workspace, default) == 9
        assert await tx.value("select fn.setting($1, $2)", other_workspace, default) == 5
        assert await tx.values(
            "select workspace_id from autopost_settings where key = $1 order by 1", default
        ) == [EVERY_WORKSPACE, workspace]  # fmt: skip
        assert await tx.values(
            "select attname || ' ' || format_type(atttypid, atttypmod) from pg_attribute "
            "where attrelid = 'autopost_settings'::regclass and attnum > 0 order by attnum"
        ) == ["workspace_id uuid", "key text", "value jsonb"]

    await clear_setting(db, workspace_id=workspace, key=default)
    assert await get_setting(db, workspace_id=workspace, key=default) == 5


async def test_what_is_set_nowhere_is_none(db, workspace):
    assert await get_setting(db, workspace_id=workspace, key="never_set") is None


async def test_the_list_says_what_holds_and_whose_it_is(db, workspace, default):
    await set_setting(db, workspace_id=workspace, key="own", value={"a": [1, "é"]})
    listed = [
        setting
        for setting in await list_settings(db, workspace_id=workspace)
        if setting.key in ("own", default)
    ]
    await set_setting(db, workspace_id=workspace, key=default, value=False)
    own = [setting for setting in await list_settings(db, workspace_id=workspace) if setting.key == default]

    assert sorted(listed, key=lambda setting: setting.own) == [
        Setting(default, 5, own=False),
        Setting("own", {"a": [1, "é"]}, own=True),
    ]
    assert own == [Setting(default, False, own=True)]


async def test_clearing_what_is_not_set_here_is_not_found(db, workspace, default):
    with pytest.raises(NotFound):
        await clear_setting(db, workspace_id=workspace, key=default)

    assert await get_setting(db, workspace_id=workspace, key=default) == 5


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"key": "a b"}, "key"),
        ({"value": None}, "value"),
        ({"value": float("nan")}, "value"),
        ({"value": object()}, "value"),
        ({"value": "x" * 70_000}, "value"),
    ],
)
async def test_values_out_of_bounds_are_refused_by_field(db, workspace, given, field):
    with pytest.raises(InvalidInput) as refused:
        await set_setting(db, **{"workspace_id": workspace, "key": "k", "value": 1, **given})

    assert refused.value.field == field
    assert refused.value.hint


async def test_an_absent_workspace_gets_no_setting(db):
    with pytest.raises(NotFound):
        await set_setting(db, workspace_id=WorkspaceId(uuid_v7()), key="k", value=1)
