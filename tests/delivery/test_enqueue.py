"""One post becomes one message and a delivery for each channel that it reaches, once."""

import asyncio

import pytest

from pressroom.core.errors import InvalidInput
from pressroom.delivery.model import Action, Status
from pressroom.delivery.normalise import content_hash, normalise_text_post, tidy
from tests.delivery.conftest import Desk, add_channel


async def test_tags_reach_the_channels_whose_filter_lets_them(desk: Desk):
    await add_channel(desk.db, desk.workspace, "any", 1, route_filter={"include_any": ["crypto", "ru"]})
    await add_channel(desk.db, desk.workspace, "all", 2, route_filter={"include_all": ["crypto", "listing"]})
    await add_channel(desk.db, desk.workspace, "none", 3, route_filter={"exclude": ["crypto"]})

    await desk.post("Tagged", tags=("Crypto",))

    assert sorted(await desk.statuses()) == ["any", "deals", "news"]


async def test_the_same_post_again_is_suppressed_while_it_is_on_its_way_and_after_it_was_sent(desk: Desk):
    first = await desk.post("Hello")
    on_its_way = await desk.post("Hello")
    await desk.one_pass()
    sent = await desk.post("Hello")

    assert (first.queued, on_its_way.queued, sent.queued) == (2, 0, 0)
    assert (on_its_way.suppressed, sent.suppressed) == (2, 2)
    assert first.message_id == on_its_way.message_id == sent.message_id
    reasons = await desk.fetch(
        "select meta ->> 'reason' as reason from events where workspace_id = $1 and action = 'dedup_suppressed' order by ts"
    )
    assert [row["reason"] for row in reasons] == ["inflight", "inflight", "ttl", "ttl"]


async def test_racing_callers_with_one_post_make_one_delivery_per_channel(desk: Desk):
    results = await asyncio.gather(*(desk.post("The same") for _ in range(12)))

    assert sum(result.queued for result in results) == 2
    assert sum(result.suppressed for result in results) == 22
    assert await desk.queued() == 2


async def test_a_channel_whose_platform_has_no_plug_fails_alone(desk: Desk):
    await add_channel(desk.db, desk.workspace, "pigeon", 9, platform="pigeon")

    enqueued = await desk.post("Hello")

    assert (enqueued.queued, enqueued.failed_permanent) == (2, 1)
    assert (await desk.statuses())["pigeon"] == "failed_permanent"
    assert await desk.actions("pigeon") == [("validation_failed", "error")]


async def test_a_media_channel_gets_no_text(desk: Desk):
    await add_channel(desk.db, desk.workspace, "pictures", 9, send_mode="media")

    enqueued = await desk.post("Hello")

    assert (enqueued.queued, enqueued.send_mode_skipped) == (2, 1)
    assert sorted(await desk.statuses()) == ["deals", "news"]


async def test_a_post_that_was_not_prepared_is_refused_with_a_way_out(desk: Desk):
    with pytest.raises(InvalidInput, match="not prepared") as refused:
        async with desk.db.system() as tx:
            await tx.value(
                "select fn.enqueue_messages_and_deliveries($1, 'door', 'push', '{\"text\": \"raw\"}')",
                desk.workspace,
            )
    assert refused.value.hint == "send it through POST /ingest/push"


async def test_rows_written_by_hand_go_to_work_and_bad_transitions_are_refused(desk: Desk):
    await desk.post("Hello", channel_ids=("news",))
    await desk.one_pass()
    [message] = await desk.fetch("select message_id, content_hash from messages where workspace_id = $1")

    await desk.execute(
        """
        insert into deliveries (workspace_id, delivery_id, message_id, channel_id, hash_version, content_hash,
                                rendered_text)
        values ($1, gen_random_uuid(), $2, 'deals', 1, $3, 'By hand')""",
        desk.workspace, message["message_id"], message["content_hash"],
    )  # fmt: skip
    await desk.one_pass()

    assert desk.telegram.sandbox.messages(-1001000000002) == ["By hand"]
    with pytest.raises(Exception, match="cannot go sent -> queued"):
        await desk.execute("update deliveries set status = 'queued' where workspace_id = $1", desk.workspace)


async def test_a_dead_delivery_requeued_by_hand_is_sent(desk: Desk):
    await desk.post("Hello", channel_ids=("news",))
    desk.telegram.sandbox.fail_next(400, "Bad Request: message is too long")
    await desk.one_pass()

    await desk.execute(
        "update deliveries set status = 'retry', next_retry_at = now() where workspace_id = $1", desk.workspace
    )
    report = await desk.one_pass()

    assert report.counts == {Status.SENT: 1}


@pytest.mark.parametrize(
    ("raw", "tidied"),
    [
        ("  a \t b  \n\n\n\n c ", "a b\n\nc"),
        ("line\r\nnext\rlast", "line\nnext\nlast"),
        ("Привет,\u00a0мир", "Привет, мир"),
        ("bell\x07", "bell"),
    ],
)
def test_text_is_tidied_but_keeps_its_lines(raw: str, tidied: str):
    assert tidy(raw) == tidied


def test_white_space_and_tags_do_not_make_another_post_and_links_do():
    base = normalise_text_post("one two", tags=["a"])

    assert normalise_text_post("one\n\ntwo", tags=["b"]).content_hash == base.content_hash
    assert normalise_text_post("one two", links=["https://example.org"]).content_hash != base.content_hash
    assert content_hash({"text": "x", "type": "text"}) == content_hash({"type": "text", "text": "x"})


async def test_states_and_actions_are_those_that_the_tables_allow(desk: Desk):
    async with desk.db.system() as tx:
        allowed = await tx.values(
            "select pg_get_constraintdef(oid) from pg_constraint "
            "where conrelid in ('deliveries'::regclass, 'events'::regclass) "
            "and conname in ('deliveries_status_check', 'events_action_check') order by conname"
        )

    status, action = (set(definition.split("'")[1::2]) for definition in allowed)
    assert status == set(Status)
    assert action == set(Action)
