"""Since when something waits that could go out: closed doors do not count, and everything else does."""

from datetime import datetime, timedelta

import pytest

from pressroom.core.ids import WorkspaceId
from pressroom.db.database import Database
from tests.conftest import add_workspace
from tests.delivery.conftest import add_channel
from tests.delivery.test_guarantees import Work, put_due

OLD, YOUNG = timedelta(hours=-2), timedelta(minutes=-5)


async def waiting(db: Database) -> timedelta | None:
    """For how many whole minutes, by the database's clock."""
    async with db.system() as tx:
        due_at: datetime | None = await tx.value("select fn.oldest_open_due_at()")
        now: datetime = await tx.value("select now()")
    return None if due_at is None else timedelta(minutes=round((now - due_at) / timedelta(minutes=1)))


async def shut(db: Database, sql: str, workspace: WorkspaceId) -> None:
    async with db.system() as tx:
        await tx.connection.execute(sql, workspace)


async def test_nothing_due_is_no_standstill(own_db: Database):
    workspace = await add_workspace(own_db)
    await add_channel(own_db, workspace, "news")
    empty = await waiting(own_db)
    await put_due(own_db, workspace, "news", timedelta(hours=1))

    assert (empty, await waiting(own_db)) == (None, None)


async def test_the_oldest_of_all_workspaces_and_channels_counts(own_db: Database):
    for channels in ({"deals": YOUNG, "news": YOUNG}, {"deals": YOUNG, "news": OLD}, {"deals": YOUNG}):
        workspace = await add_workspace(own_db)
        for number, (channel, due_in) in enumerate(channels.items()):
            await add_channel(own_db, workspace, channel, -number)
            await put_due(own_db, workspace, channel, due_in)
            await put_due(own_db, workspace, channel, YOUNG)

    assert await waiting(own_db) == -OLD


CLOSED = {
    "paused channel": "update channels set paused_until = now() + interval '1 hour' "
    "where workspace_id = $1 and channel_id = 'news'",
    "disabled channel": "update channels set enabled = false where workspace_id = $1 and channel_id = 'news'",
    "paused workspace": "update workspaces set status = 'paused' where workspace_id = $1",
    "disabled workspace": "update workspaces set status = 'disabled' where workspace_id = $1",
}


@pytest.mark.parametrize("closed", CLOSED.values(), ids=list(CLOSED))
async def test_what_waits_behind_a_closed_door_does_not_count_and_what_waits_elsewhere_does(
    own_db: Database, closed: str
):
    workspace, other = await add_workspace(own_db), await add_workspace(own_db)
    for tenant in (workspace, other):
        await add_channel(own_db, tenant, "news")
    await put_due(own_db, workspace, "news", OLD)
    open_door = await waiting(own_db)

    await shut(own_db, closed, workspace)
    closed_door = await waiting(own_db)
    await put_due(own_db, other, "news", YOUNG)

    assert (open_door, closed_door, await waiting(own_db)) == (-OLD, None, -YOUNG)


async def test_a_pause_that_is_over_is_no_closed_door(own_db: Database):
    workspace = await add_workspace(own_db)
    await add_channel(own_db, workspace, "news")
    await put_due(own_db, workspace, "news", OLD)

    await shut(
        own_db, "update channels set paused_until = now() - interval '1 s' where workspace_id = $1", workspace
    )

    assert await waiting(own_db) == -OLD


async def test_what_waits_for_room_in_a_full_channel_does_not_count_until_there_is_room(own_db: Database):
    work = Work(own_db, await add_workspace(own_db))
    await add_channel(own_db, work.workspace, "deals", -1, max_parallel=2)
    await add_channel(own_db, work.workspace, "news", -2, max_parallel=2)
    for _ in range(3):
        await put_due(own_db, work.workspace, "news", OLD)

    seen = [await waiting(own_db)]
    [one] = await work.take(limit=1)
    seen.append(await waiting(own_db))  # room for one more
    [_] = await work.take(limit=1)
    seen.append(await waiting(own_db))  # full
    await put_due(own_db, work.workspace, "deals", YOUNG)
    seen.append(await waiting(own_db))  # of the same lease, another channel
    await work.sent(one)
    seen.append(await waiting(own_db))  # room again

    assert seen == [-OLD, -OLD, None, -YOUNG, -OLD]


async def test_a_full_channel_of_one_workspace_is_not_that_of_another(own_db: Database):
    full, other = Work(own_db, await add_workspace(own_db)), Work(own_db, await add_workspace(own_db))
    for work in (full, other):
        await add_channel(own_db, work.workspace, "news", max_parallel=1)
        await put_due(own_db, work.workspace, "news", YOUNG)
    await put_due(own_db, full.workspace, "news", OLD)

    await full.take()

    assert await waiting(own_db) == -YOUNG
