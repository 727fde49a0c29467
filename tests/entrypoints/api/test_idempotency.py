import asyncio
from collections import Counter
from uuid import uuid4

import pytest

from pressroom.core.ids import WorkspaceId
from pressroom.db.database import Database
from pressroom.entrypoints.api import idempotency
from tests.conftest import add_workspace
from tests.entrypoints.api.conftest import Answer, Api, Logged, Serve


@pytest.fixture
def path(tenant: WorkspaceId) -> str:
    return f"/api/v1/workspaces/{tenant}/endpoints"


async def create(api: Api, path: str, token: str, key: str, endpoint_id: str = "door") -> Answer:
    return await api.call(
        "POST", path, token=token, json={"endpoint_id": endpoint_id}, headers={"Idempotency-Key": key}
    )


async def test_a_repetition_gets_the_same_answer_and_does_nothing(
    api: Api, db: Database, tenant: WorkspaceId, token: str, path: str
):
    first = await create(api, path, token, "k1")
    second = await create(api, path, token, "k1")

    assert (first[0], first[2]) == (second[0], second[2]) and first[0] == 201
    assert ("Idempotency-Replayed" in first[1], second[1]["Idempotency-Replayed"]) == (False, "true")
    assert second[1]["Content-Type"] == first[1]["Content-Type"]
    assert second[1]["Cache-Control"] == first[1]["Cache-Control"] == "no-store"
    assert second[1]["X-Request-Id"] != first[1]["X-Request-Id"]


async def test_the_etag_is_kept_too(api: Api, tenant: WorkspaceId, token: str):
    path = f"/api/v1/workspaces/{tenant}"
    options = {"token": token, "json": {"name": "Evening"}, "headers": {"Idempotency-Key": "k"}}

    first = await api.call("PATCH", path, **options)
    second = await api.call("PATCH", path, **options)

    assert first[1]["ETag"] == second[1]["ETag"]


async def test_the_stored_answer_does_not_show_the_secret_in_it(
    api: Api, db: Database, tenant: WorkspaceId, token: str, path: str
):
    _, _, made = await create(api, path, token, "k1")

    async with db.transaction(tenant) as tx:
        [body] = await tx.values("select body from idempotency_keys where workspace_id = $1", tenant)
    assert made["secret"].encode() not in body


async def test_the_same_key_with_another_request_is_422(api: Api, tenant: WorkspaceId, token: str, path: str):
    await create(api, path, token, "k1")

    other_body = await create(api, path, token, "k1", endpoint_id="another")
    other_path = await create(api, f"{path}/door/rotate", token, "k1")

    for status, _, problem in (other_body, other_path):
        assert (status, problem["field"]) == (422, "Idempotency-Key")


async def test_a_refusal_of_the_work_is_kept_like_a_success(api: Api, token: str, path: str):
    await create(api, path, token, "k1")

    first = await create(api, path, token, "k2")
    second = await create(api, path, token, "k2")

    assert (first[0], first[2]) == (second[0], second[2]) and first[0] == 409
    assert second[1]["Idempotency-Replayed"] == "true"


async def test_a_malformed_request_did_no_work_and_is_not_kept(api: Api, token: str, path: str):
    headers = {"Idempotency-Key": "k1"}
    malformed = await api.call("POST", path, token=token, json={"endpoint": "door"}, headers=headers)

    corrected = await create(api, path, token, "k1")

    assert (malformed[0], corrected[0]) == (422, 201)


async def test_a_key_that_cannot_be_given_back_does_not_hide_why(
    api: Api, token: str, path: str, monkeypatch: pytest.MonkeyPatch, logged: Logged
):
    async def away(*_: object, **__: object) -> None:
        raise RuntimeError("the database went away")

    monkeypatch.setattr(idempotency, "forget", away)

    status, _, problem = await api.call(
        "POST", path, token=token, json={"endpoint": "door"}, headers={"Idempotency-Key": "k1"}
    )

    assert (status, problem["field"]) == (422, "endpoint_id")
    assert [line["event"] for line in logged() if line["level"] == "error"] == [
        "an Idempotency-Key could not be given back; it stays locked until its lock runs out"
    ]


@pytest.mark.parametrize("key", ["", "x" * 256, "tab\there"])
async def test_a_key_has_bounds(api: Api, token: str, path: str, key: str):
    status, _, problem = await create(api, path, token, key)

    assert (status, problem["field"]) == (422, "Idempotency-Key")


async def test_keys_of_two_tokens_and_of_two_workspaces_never_meet(
    api: Api, tenant: WorkspaceId, token: str, path: str
):
    other = await add_workspace(api.product.db)
    both, mine = await api.new_token(tenant, other), await create(api, path, token, "k1", "a")

    same_workspace = await create(api, path, both, "k1", "b")
    same_token = await create(api, f"/api/v1/workspaces/{other}/endpoints", both, "k1", "c")

    assert [answer[0] for answer in (mine, same_workspace, same_token)] == [201, 201, 201]


async def test_twenty_at_once_do_it_once(api: Api, db: Database, admin: str):
    name = f"raced {uuid4()}"

    answers = await asyncio.gather(
        *(
            api.call(
                "POST",
                "/api/v1/workspaces",
                token=admin,
                json={"name": name},
                headers={"Idempotency-Key": name},
            )
            for _ in range(20)
        )
    )

    counts = Counter(status for status, _, _ in answers)
    assert set(counts) <= {201, 409}
    assert len({body["workspace_id"] for status, _, body in answers if status == 201}) == 1
    assert all(headers["Retry-After"] == "1" for status, headers, _ in answers if status == 409)
    assert sum("Idempotency-Replayed" not in headers for status, headers, _ in answers if status == 201) == 1
    async with db.system() as tx:
        assert await tx.value("select count(*) from workspaces where name = $1", name) == 1


async def test_a_failure_of_ours_is_not_kept(serve: Serve, db: Database, tenant: WorkspaceId):
    """The row is locked by somebody else until the request has run out of time; then it is free."""
    api = await serve(api_request_seconds=1)
    token = await api.new_token(tenant)
    options = {"token": token, "json": {"name": "New"}, "headers": {"Idempotency-Key": "k"}}
    path = f"/api/v1/workspaces/{tenant}"

    async with db.system() as tx:
        await tx.execute("select 1 from workspaces where workspace_id = $1 for update", tenant)
        late = await api.call("PATCH", path, **options)
        meanwhile = await api.call("PATCH", path, **options)

    assert (late[0], meanwhile[0]) == (503, 409)
    assert late[1]["Retry-After"] and meanwhile[1]["Retry-After"]
    async with db.system() as tx:  # what the clock does to the lock, sooner
        await tx.execute("update idempotency_keys set locked_until = now() where workspace_id = $1", tenant)
    assert (await api.call("PATCH", path, **options))[0] == 200
