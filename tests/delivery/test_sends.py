"""Nobody waits for a slow neighbour, and nothing that one plug, channel or setting does stops the others."""

import asyncio
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import pytest

from pressroom.core.ids import RunId, WorkspaceId
from pressroom.db.database import Database
from pressroom.delivery import store
from pressroom.delivery.dispatch import Sends, dispatch_due
from pressroom.delivery.model import Status
from pressroom.delivery.recover import release_expired_leases
from pressroom.entrypoints.worker.passes import one
from pressroom.entrypoints.worker.runtime import run_loops
from pressroom.ports.platform import Channel, Media, Receipt, SendMeta
from pressroom.sandbox.telegram import EXAMPLE_TOKEN
from pressroom.settings import load
from pressroom.wiring import Product
from pressroom.workspaces.credentials import bind_credential
from pressroom.workspaces.sealing import Keyring
from tests.conftest import add_workspace
from tests.delivery.conftest import DEALS, NEWS, Desk, RunningSandbox, add_channel

RUN = RunId("run")


class Gated:
    """A platform that answers when it is let: the other end of a slow wire."""

    def __init__(self) -> None:
        self.begun: list[WorkspaceId] = []
        self.changed = asyncio.Condition()
        self.open = asyncio.Event()

    async def send_text(self, channel: Channel, text: str, meta: SendMeta) -> Receipt:
        async with self.changed:
            self.begun.append(channel.workspace_id)
            self.changed.notify_all()
        await self.open.wait()
        return Receipt(provider_message_id="1")

    async def send_media(
        self, channel: Channel, media: Sequence[Media], text: str | None, links: Sequence[str], meta: SendMeta
    ) -> Receipt:
        raise NotImplementedError

    async def has_begun(self, count: int) -> None:
        async with self.changed:
            await asyncio.wait_for(self.changed.wait_for(lambda: len(self.begun) >= count), 10)


async def no_secrets(_: WorkspaceId, refs: Any) -> Any:
    return dict.fromkeys(refs, EXAMPLE_TOKEN)


@pytest.fixture
async def desks(own_db: Database, telegram: RunningSandbox) -> list[Desk]:
    """Three workspaces with a channel each, which takes 100 at once."""
    desks = [Desk(own_db, await add_workspace(own_db), telegram) for _ in range(3)]
    for desk in desks:
        await add_channel(own_db, desk.workspace, "news", max_parallel=100)
    return desks


async def test_a_pass_returns_while_its_sends_are_under_way_and_others_get_their_turn(desks: list[Desk]):
    slow, quick = Gated(), desks[1]
    sends = Sends(quick.db, {"telegram": slow}, parallel=8)
    for desk in desks[:2]:
        for number in range(20):
            await desk.post(f"Post {number}")

    taken = [
        (await dispatch_due(desk.db, sends, no_secrets, workspace_id=desk.workspace, run_id=RUN)).taken
        for desk in (*desks[:2], desks[0])
    ]
    await slow.has_begun(6)
    begun = sorted(slow.begun)
    slow.open.set()
    await sends.finish()

    assert taken == [4, 2, 0]  # half of what the others leave
    assert begun == sorted([desks[0].workspace] * 4 + [desks[1].workspace] * 2)
    assert sends.counts == {Status.SENT: 6}


async def test_a_plug_that_breaks_costs_its_own_delivery_and_no_other(desk: Desk):
    await desk.execute(
        """update channels set settings = '{"base_url": "http://news..example.com"}'
            where workspace_id = $1 and channel_id = 'news'""",
        desk.workspace,
    )
    await desk.post("Hello")

    report = await desk.one_pass()

    assert report.counts == {Status.SENT: 1, Status.FAILED_PERMANENT: 1}
    assert await desk.statuses() == {"deals": "sent", "news": "failed_permanent"}


async def test_whatever_a_plug_raises_its_delivery_is_settled(desk: Desk):
    class Broken(Gated):
        async def send_text(self, channel: Channel, text: str, meta: SendMeta) -> Receipt:
            raise RuntimeError("nobody thought of this")

    await desk.post("Hello", channel_ids=("news",))
    sends = Sends(desk.db, {"telegram": Broken()}, parallel=8)

    await dispatch_due(desk.db, sends, no_secrets, workspace_id=desk.workspace, run_id=RUN)
    await sends.finish()

    [row] = await desk.fetch("select status, last_error from deliveries where workspace_id = $1")
    assert sends.counts == {Status.RETRY: 1}
    assert (row["last_error"]["code"], row["last_error"]["outcome"]) == ("plug_failed", "unknown")
    assert await desk.leased() == 0


async def test_stopping_begins_nothing_new_and_finishes_what_is_under_way(desks: list[Desk]):
    slow = Gated()
    keyring = Keyring.parse(Keyring.generate_text())
    for desk in desks:
        await desk.post("Hello")
        await bind_credential(
            desk.db,
            keyring,
            workspace_id=desk.workspace,
            auth_ref="bot",
            platform="telegram",
            secret=EXAMPLE_TOKEN,
        )
    product = Product(load(dispatch_parallel=2), desks[0].db, keyring, {"telegram": slow})
    stop = asyncio.Event()

    running = asyncio.create_task(
        run_loops(product.db, [one(product, "dispatch")], stop=stop, drain=timedelta(seconds=20))
    )
    await slow.has_begun(2)
    stop.set()
    slow.open.set()
    await asyncio.wait_for(running, 20)

    statuses = sorted([status for desk in desks for status in (await desk.statuses()).values()])
    assert len(slow.begun) == 2
    assert statuses == ["queued", "sent", "sent"]


async def test_a_channel_with_room_again_goes_on_without_waiting_for_the_poll(desk: Desk):
    keyring = Keyring.parse(Keyring.generate_text())
    await bind_credential(
        desk.db, keyring, workspace_id=desk.workspace, auth_ref="bot", platform="telegram", secret=EXAMPLE_TOKEN
    )
    await desk.execute("update channels set max_parallel = 1 where workspace_id = $1", desk.workspace)
    for number in range(5):
        await desk.post(f"Post {number}", channel_ids=("news",))
    product = Product(load(poll_seconds=3600), desk.db, keyring, desk.telegram.platforms)
    stop = asyncio.Event()

    running = asyncio.create_task(
        run_loops(product.db, [one(product, "dispatch")], stop=stop, drain=timedelta(seconds=9))
    )
    seen = 0
    async for effect in desk.telegram.sandbox.watch():
        seen += effect.chat == NEWS
        if seen == 5:
            break
    stop.set()
    await asyncio.wait_for(running, 20)

    assert desk.telegram.sandbox.messages(NEWS) == [f"Post {number}" for number in range(5)]


async def test_what_somebody_mistyped_in_the_settings_of_a_workspace_stops_nothing(desk: Desk):
    for key, value in (("max_attempts", "five"), ("sending_lease_seconds", 10**18), ("retry_factor", [2])):
        await desk.execute("insert into autopost_settings values ($1, $2, $3)", desk.workspace, key, value)
    await desk.post("Hello")
    desk.telegram.sandbox.fail_next(502, chat=NEWS)

    report = await desk.one_pass()
    await desk.post("Again", channel_ids=("deals",))
    async with desk.db.system() as tx:
        await store.take_due(tx, desk.workspace, RunId("dies"), 10, "")
    await desk.execute(
        "update delivery_leases set taken_at = now() - interval '1 hour' where workspace_id = $1",
        desk.workspace,
    )
    await release_expired_leases(desk.db)

    assert report.counts == {Status.SENT: 1, Status.RETRY: 1}
    assert await desk.leased() == 0
    assert desk.telegram.sandbox.messages(DEALS) == ["Hello"]


async def test_a_claim_looks_at_each_closed_channel_once_however_the_tables_are_filled(own_db: Database):
    """Many small workspaces beside a large one once made the planner begin with its channels, for each channel."""
    large = await add_workspace(own_db)
    async with own_db.system() as tx:
        await tx.execute(
            """
            with small as (
                insert into workspaces (workspace_id, name) select gen_random_uuid(), 'small' from generate_series(1, 500)
                returning workspace_id)
            insert into channels (workspace_id, channel_id, platform, target_id, auth_ref, rate_group)
            select workspace_id, 'only', 'telegram', '1', 'bot', 'bot' from small"""
        )
        await tx.execute(
            """
            insert into channels (workspace_id, channel_id, platform, target_id, auth_ref, rate_group, paused_until)
            select $1, 'c' || n, 'telegram', n::text, 'bot', 'bot', 'infinity' from generate_series(1, 2000) n""",
            large,
        )
        await tx.execute(
            """
            insert into delivery_queue (workspace_id, channel_id, due_at, delivery_id)
            select $1, 'c' || (n % 2000 + 1), now() - interval '1 hour', gen_random_uuid()
              from generate_series(1, 40000) n""",
            large,
        )
    async with own_db.system() as tx:
        await tx.execute("reset role")
        await tx.execute("analyze channels, delivery_queue, workspaces")

    async with own_db.system() as tx:
        taken = await store.take_due(tx, large, RUN, 100, "")
        read = await tx.value(
            "select sum(seq_tup_read + idx_tup_fetch)::bigint from pg_stat_xact_user_tables "
            "where relname in ('channels', 'delivery_queue')"
        )

    assert taken == []
    assert read < 20 * 2000
