import re

import pytest

from pressroom.core.ids import WorkspaceId
from pressroom.db.database import Database
from pressroom.entrypoints.api.push import WORKSPACE_HEADERS
from tests.conftest import add_workspace
from tests.entrypoints.api.conftest import Api, Logged

POST = {"text": "Доброе утро!"}


async def pushes(api: Api) -> dict[str, float]:
    _, _, text = await api.call("GET", "/metrics")
    found = re.findall(r'^pressroom_push_requests_total\{outcome="(\w+)"\} (\S+)$', text, re.MULTILINE)
    return {outcome: float(count) for outcome, count in found}


@pytest.mark.parametrize(
    "header", ["X-Pressroom-Secret", "X-Telegram-Bot-Api-Secret-Token", "X-Max-Bot-Api-Secret", "Authorization"]
)
async def test_every_header_may_carry_the_secret(api: Api, tenant: WorkspaceId, header: str):
    secret = await api.new_door(tenant)
    value = f"Bearer {secret}" if header == "Authorization" else secret

    status, _, receipt = await api.call("POST", "/ingest/push", json=POST, headers={header: value})

    assert status == 202
    assert receipt["deliveries"] == {
        "queued": 0,
        "suppressed": 0,
        "failed_permanent": 0,
        "send_mode_skipped": 0,
    }


async def test_the_path_may_carry_it_and_no_log_shows_it(api: Api, tenant: WorkspaceId, logged: Logged):
    secret = await api.new_door(tenant)

    status, _, _ = await api.call("POST", f"/ingest/push/{secret}", json=POST)
    await api.call("GET", f"/ingest/push/{secret}")
    await api.call("POST", f"/ingest/push/{secret}/", json=POST)

    assert status == 202
    assert secret not in str(logged())
    assert {line["path"] for line in logged()} == {"/ingest/push/***"}


async def test_a_refusal_does_not_repeat_the_secret_of_the_path(api: Api, logged: Logged):
    for method, path in [
        ("POST", "/ingest/push/hunter2"),
        ("GET", "/ingest/push/hunter2"),
        ("POST", "/ingest/push/hunter2/x"),
        ("POST", "/ingest/push/one/hunter2"),
        ("POST", "/ingest//push/one%20%22%27%3F/hunter2"),
        ("DELETE", "/ingest/push/one%20hunter2"),
    ]:
        status, headers, problem = await api.call(method, path, json=POST)

        assert status in {401, 404, 405}
        assert "hunter2" not in str(problem) + str(headers)
    assert "hunter2" not in str(logged())


async def test_the_same_secret_twice_is_one(api: Api, tenant: WorkspaceId):
    secret = await api.new_door(tenant)
    headers = {"X-Pressroom-Secret": secret, "Authorization": f"Bearer {secret}"}

    status, _, _ = await api.call("POST", f"/ingest/push/{secret}", json=POST, headers=headers)

    assert status == 202


async def test_two_different_secrets_are_refused(api: Api, tenant: WorkspaceId):
    headers = {"X-Pressroom-Secret": await api.new_door(tenant), "X-Max-Bot-Api-Secret": "another"}

    status, _, problem = await api.call("POST", "/ingest/push", json=POST, headers=headers)

    assert (status, problem["detail"]) == (422, "the request carries two different secrets")


@pytest.mark.spec("AP-036")
@pytest.mark.parametrize("place", ["body", "X-Pressroom-Workspace", "X-Workspace-Id", "query", "everywhere"])
async def test_a_workspace_that_the_request_names_is_a_hint_and_decides_nothing(
    api: Api, db: Database, tenant: WorkspaceId, place: str
):
    other = await add_workspace(db)
    for workspace in (tenant, other):
        async with db.system() as tx:
            await tx.execute(
                """insert into channels (workspace_id, channel_id, platform, target_id, auth_ref, rate_group)
                   values ($1, 'tg', 'telegram', '@news', 'bot', 'bot')""",
                workspace,
            )
    headers = {"X-Pressroom-Secret": await api.new_door(tenant)}
    body: dict[str, str] = dict(POST)
    path = "/ingest/push"
    if place in ("body", "everywhere"):
        body["workspace_id"] = str(other)
    if place in ("query", "everywhere"):
        path += f"?workspace_id={other}"
    headers |= {name: str(other) for name in WORKSPACE_HEADERS if place in (name, "everywhere")}

    status, _, receipt = await api.call("POST", path, json=body, headers=headers)

    assert (status, receipt["deliveries"]["queued"]) == (202, 1)
    async with db.system() as tx:
        kept = await tx.values("select source -> 'meta' from messages where workspace_id = $1", tenant)
        strayed = await tx.value("select count(*) from messages where workspace_id = $1", other)
    assert (kept, strayed) == ([{"workspace_id": str(other)}], 0)


async def test_a_hint_opens_no_door(api: Api, tenant: WorkspaceId):
    status, _, _ = await api.call(
        "POST", f"/ingest/push?workspace_id={tenant}", json=POST, headers={"X-Workspace-Id": str(tenant)}
    )

    assert status == 401


@pytest.mark.parametrize("said", ["%00", "%ff", "x" * 3000, "\u00e9"])
async def test_a_strange_hint_stops_no_post(api: Api, tenant: WorkspaceId, said: str):
    door = {"X-Pressroom-Secret": await api.new_door(tenant)}

    assert (await api.call("POST", f"/ingest/push?workspace_id={said}", json=POST, headers=door))[0] == 202


@pytest.mark.parametrize("number", [b"1e400", b"-1e999", b"7" * 5000, b"NaN"])
async def test_a_number_that_cannot_be_stored_is_named(api: Api, tenant: WorkspaceId, number: bytes):
    door = {"X-Pressroom-Secret": await api.new_door(tenant)}
    body = b'{"text": "x", "meta": {"from": [{"count": %s}]}}' % number

    status, _, problem = await api.call("POST", "/ingest/push", data=body, headers=door)

    assert (status, problem["field"]) == (422, "meta.from[0].count")


@pytest.mark.spec("AP-041")
async def test_an_unknown_secret_is_401_writes_no_event_and_is_counted(api: Api, db: Database, logged: Logged):
    async def events() -> int:
        async with db.system() as tx:
            return await tx.value("select count(*) from events")

    before, counted = await events(), (await pushes(api)).get("unknown_secret", 0)

    status, headers, problem = await api.call(
        "POST", "/ingest/push", json=POST, headers={"X-Pressroom-Secret": "prs_push_nobody_has_this_one"}
    )

    assert (status, problem["type"]) == (401, "/api/problems/unauthorized")
    assert headers["WWW-Authenticate"] == 'Bearer realm="pressroom"'
    assert await events() == before
    assert (await pushes(api))["unknown_secret"] == counted + 1
    assert [line["event"] for line in logged() if line["level"] == "warning"] == ["push with an unknown secret"]
    assert "nobody_has_this_one" not in str(logged())


async def test_without_a_secret_it_says_where_to_put_one(api: Api):
    status, _, problem = await api.call("POST", "/ingest/push", json=POST)

    assert (status, problem["detail"]) == (401, "the request carries no secret")
    assert "X-Pressroom-Secret" in problem["hint"]


@pytest.mark.parametrize("secret", ["", "\u00e4\u00f6", "x" * 5000, "'; drop table events; --"])
async def test_a_strange_secret_is_just_unknown(api: Api, secret: str):
    status, _, _ = await api.call("POST", "/ingest/push", json=POST, headers={"X-Pressroom-Secret": secret})

    assert status == 401


async def test_the_ids_of_the_request_reach_the_record(api: Api, db: Database, tenant: WorkspaceId, token: str):
    headers = {
        "X-Pressroom-Secret": await api.new_door(tenant),
        "X-Request-Id": "request-17",
        "traceparent": "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
        "Idempotency-Key": "order-17",
        "X-Workflow-Run-Id": "n8n-4711",
    }

    async with db.system() as tx:
        await tx.execute(
            """insert into channels (workspace_id, channel_id, platform, target_id, auth_ref, rate_group)
               values ($1, 'tg', 'telegram', '@news', 'bot', 'bot')""",
            tenant,
        )

    _, _, receipt = await api.call("POST", "/ingest/push", json=POST, headers=headers)

    assert (receipt["trace_id"], receipt["run_id"]) == ("4bf92f3577b34da6a3ce929d0e0e4736", "request-17")
    async with db.transaction(tenant) as tx:
        assert await tx.values("select source_ref from messages where workspace_id = $1", tenant) == [
            "order-17"
        ]
    [queued] = (await api.call("GET", f"/api/v1/workspaces/{tenant}/deliveries", token=token))[2]["items"]
    path = f"/api/v1/workspaces/{tenant}/deliveries/{queued['delivery_id']}"
    _, answered, delivery = await api.call("GET", path, token=token)
    assert (delivery["status"], delivery["rendered_text"], "ETag" in answered) == ("queued", POST["text"], True)
    assert delivery["events"][0]["meta"]["workflow_run_id"] == "n8n-4711"
    _, _, events = await api.call("GET", f"/api/v1/workspaces/{tenant}/events", token=token)
    assert events["items"] == delivery["events"]


async def test_the_body_is_checked_by_name(api: Api, tenant: WorkspaceId):
    door = {"X-Pressroom-Secret": await api.new_door(tenant)}

    status, _, problem = await api.call("POST", "/ingest/push", json={"text": "x", "txet": 1}, headers=door)
    assert (status, problem["field"]) == (422, "txet")

    status, _, _ = await api.call(
        "POST", "/ingest/push", data=b"{", headers=door | {"Content-Type": "application/json"}
    )
    assert status == 422

    status, _, _ = await api.call(
        "POST", "/ingest/push", data=b"<x/>", headers=door | {"Content-Type": "application/xml"}
    )
    assert status == 415


@pytest.mark.parametrize("kind", ["application/x-www-form-urlencoded", "text/plain; charset=utf-8", None])
async def test_a_json_body_is_taken_whatever_curl_and_fetch_call_it(
    api: Api, tenant: WorkspaceId, kind: str | None
):
    door = {"X-Pressroom-Secret": await api.new_door(tenant)} | ({"Content-Type": kind} if kind else {})

    status, _, _ = await api.call("POST", "/ingest/push", data=b'{"text": "Called otherwise"}', headers=door)

    assert status == 202


async def test_each_outcome_is_counted(api: Api, tenant: WorkspaceId):
    door = {"X-Pressroom-Secret": await api.new_door(tenant)}
    before = await pushes(api)

    await api.call("POST", "/ingest/push", json=POST, headers=door)
    await api.call("POST", "/ingest/push", json={}, headers=door)

    after = await pushes(api)
    grown = {outcome: after[outcome] - before.get(outcome, 0) for outcome in after}
    assert {outcome: count for outcome, count in grown.items() if count} == {"accepted": 1, "invalid_input": 1}
