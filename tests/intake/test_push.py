"""The push door's use case: the secret alone decides the workspace, every key is known, nothing is half-written."""

import json
from typing import Any

import pytest

from pressroom.core.errors import Conflict, InvalidInput, Unauthorized
from pressroom.core.ids import RunId, TraceId, WorkspaceId
from pressroom.db.database import Database
from pressroom.intake.push import PushBody, PushReceipt, accept, parse, push
from pressroom.workspaces.endpoints import create_endpoint, disable_endpoint
from pressroom.workspaces.model import EndpointKind, WorkspaceStatus
from pressroom.workspaces.tenants import change_workspace
from tests.delivery.conftest import NEWS, add_channel


@pytest.fixture
async def secret(db: Database, workspace: WorkspaceId) -> str:
    await add_channel(db, workspace, "news", NEWS)
    _, secret = await create_endpoint(
        db, workspace_id=workspace, endpoint_id="door", kind=EndpointKind.WEBHOOK_PUSH
    )
    return secret


async def send(db: Database, secret: str, body: Any, **options: Any) -> PushReceipt:
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    return await push(
        db, ["telegram"], secret=secret, body=raw, trace_id=TraceId("a" * 32), run_id=RunId("run-1"), **options
    )


async def messages(db: Database, workspace: WorkspaceId) -> list[Any]:
    async with db.system() as tx:
        return await tx.connection.fetch("select * from messages where workspace_id = $1", workspace)


async def test_a_post_becomes_one_message_and_its_deliveries(db: Database, workspace: WorkspaceId, secret: str):
    receipt = await send(
        db,
        secret,
        {"text": " Good  morning ", "tags": ["News"], "meta": {"from": "script"}},
        workflow_run_id="n8n-7",
    )

    [row] = await messages(db, workspace)
    assert receipt.as_json() == {
        "message_id": str(row["message_id"]),
        "trace_id": "a" * 32,
        "run_id": "run-1",
        "deliveries": {"queued": 1, "suppressed": 0, "failed_permanent": 0, "send_mode_skipped": 0},
    }
    assert row["payload"] == {"type": "text", "text": "Good morning"}
    assert (row["tags"], row["source"]["meta"]) == (["news"], {"from": "script"})
    async with db.system() as tx:
        meta = await tx.value(
            "select meta from events where workspace_id = $1 and action = 'enqueue'", workspace
        )
    assert meta["workflow_run_id"] == "n8n-7"


async def test_a_workspace_named_in_the_body_is_a_hint_and_decides_nothing(
    db: Database, workspace: WorkspaceId, other_workspace: WorkspaceId, secret: str
):
    await send(db, secret, {"text": "Mine", "workspace_id": str(other_workspace)})

    [row] = await messages(db, workspace)
    assert row["source"]["meta"] == {"workspace_id": str(other_workspace)}
    assert await messages(db, other_workspace) == []


async def test_what_the_request_says_beside_its_body_is_kept_where_the_body_does_not_say_it(
    db: Database, workspace: WorkspaceId, secret: str
):
    hints = {"workspace_id": "of a header"}

    await send(db, secret, {"text": "One", "meta": {"from": "script"}}, hints=hints)
    await send(db, secret, {"text": "Two", "workspace_id": "of the body"}, hints=hints)

    assert {row["payload"]["text"]: row["source"]["meta"] for row in await messages(db, workspace)} == {
        "One": {"workspace_id": "of a header", "from": "script"},
        "Two": {"workspace_id": "of the body"},
    }


@pytest.mark.spec("AP-035")
@pytest.mark.parametrize("presented", ["", "prs_push_unknown", "x" * 5000])
async def test_a_secret_that_opens_no_endpoint_is_refused_and_nothing_is_written(
    db: Database, workspace: WorkspaceId, secret: str, presented: str
):
    with pytest.raises(Unauthorized):
        await send(db, presented, {"text": "Let me in", "workspace_id": str(workspace)})

    assert await messages(db, workspace) == []


async def test_a_disabled_endpoint_is_an_unknown_one(db: Database, workspace: WorkspaceId, secret: str):
    await disable_endpoint(db, workspace_id=workspace, endpoint_id="door")

    with pytest.raises(Unauthorized):
        await send(db, secret, {"text": "Too late"})


@pytest.mark.spec("AP-030")
async def test_a_paused_workspace_takes_posts_in_and_a_disabled_one_refuses_them(
    db: Database, workspace: WorkspaceId, secret: str
):
    await change_workspace(db, workspace_id=workspace, status=WorkspaceStatus.PAUSED)
    paused = await send(db, secret, {"text": "Waits"})
    await change_workspace(db, workspace_id=workspace, status=WorkspaceStatus.DISABLED)

    assert paused.enqueued.queued == 1
    with pytest.raises(Unauthorized):
        await send(db, secret, {"text": "Refused"})


async def test_an_idempotency_key_serves_as_the_senders_id_of_the_post(
    db: Database, workspace: WorkspaceId, secret: str
):
    await send(db, secret, {"text": "First"}, idempotency_key="key-1")
    await send(db, secret, {"text": "Second", "source_ref": "own-id"}, idempotency_key="key-2")

    assert {row["source_ref"] for row in await messages(db, workspace)} == {"key-1", "own-id"}


@pytest.mark.parametrize(
    ("body", "field", "says"),
    [
        ({"text": "x", "colour": "red"}, "colour", "unknown key"),
        ({"text": "x", "media": []}, "media", "not served yet"),
        ({"text": "x", "buttons": []}, "buttons", "not served yet"),
        ({"text": "x", "scheduled_for": "2030-01-01T00:00:00Z"}, "scheduled_for", "not served yet"),
        ({"text": "x", "not_after": "2030-01-01T00:00:00Z"}, "not_after", "not served yet"),
        ({"text": "x", "parse_mode": "HTML"}, "parse_mode", "not served yet"),
        ({"text": "x", "parse_mode": "BBCode"}, "parse_mode", "HTML, Markdown or None"),
        ({"text": 5}, "text", "string"),
        ({"text": "x", "links": ["ok", 7]}, "links[1]", "string"),
        ({"text": "x", "source_ref": ""}, "source_ref", "at least 1"),
        ({"text": " \n "}, "text", "empty"),
        ({}, "text", "empty"),
        ([1], None, "not a JSON object"),
        (b'{"text": ', None, "not JSON"),
        (b"\xff\xfe", None, "not JSON"),
        (b'{"text": NaN}', "text", "NaN"),
        (b"[" * 100_000, None, "not JSON"),
        (b'{"text": "a\\u0000b"}', "text", "NUL"),
        (b'{"text": "a", "meta": {"deep": ["\\ud800"]}}', "meta.deep[0]", "surrogate"),
        (b'{"text": "a", "meta": {"a\\u0000": 1}}', "meta", "NUL character in a name"),
        (b'{"text": "a", "meta": {"n": 1e400}}', "meta.n", "too large"),
        (b'{"text": "a", "meta": {"n": %s}}' % (b"9" * 5000), "meta.n", "too large"),
        (b'{"text": "a", "meta": {"n": %s}}' % (b"[" * 300 + b"]" * 300), "meta", "200 levels"),
    ],
)
def test_each_bad_body_is_refused_by_name(body: Any, field: str | None, says: str):
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()

    with pytest.raises(InvalidInput, match=says) as refused:
        parse(raw)

    assert refused.value.field == field


async def test_a_disabled_workspace_takes_nothing_in_from_whoever_it_is(db: Database, workspace: WorkspaceId):
    await change_workspace(db, workspace_id=workspace, status=WorkspaceStatus.DISABLED)

    with pytest.raises(Conflict, match="disabled"):
        await accept(
            db, ["telegram"], workspace_id=workspace, endpoint_id="command-line", pushed=PushBody(text="Hello"),
            trace_id=TraceId("a" * 32), run_id=RunId("r"),
        )  # fmt: skip

    assert await messages(db, workspace) == []


@pytest.mark.parametrize("text", ["\u200b", "\u202e \u2066", "\u00a0\n", "\x07"])
def test_a_text_that_nobody_sees_is_empty(text: str):
    with pytest.raises(InvalidInput, match="empty"):
        parse(json.dumps({"text": text}).encode())
