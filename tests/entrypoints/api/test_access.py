import asyncio
from datetime import timedelta
from uuid import uuid4

import pytest

from pressroom.core.ids import WorkspaceId
from pressroom.entrypoints.api import access
from pressroom.workspaces.model import Access, TokenId, Verb
from pressroom.workspaces.tokens import create_token, revoke_token
from tests.conftest import add_workspace
from tests.entrypoints.api.conftest import Api, Serve


@pytest.mark.parametrize(
    "header", [None, "Bearer ", "Bearer prs_api_unknown", "Basic dXNlcjpwYXNz", "prs_api_unknown"]
)
async def test_without_a_known_token_it_is_401(api: Api, header: str | None):
    headers = {} if header is None else {"Authorization": header}

    status, answered, problem = await api.call("GET", "/api/v1/workspaces", headers=headers)

    assert (status, problem["type"]) == (401, "/api/problems/unauthorized")
    assert answered["WWW-Authenticate"] == 'Bearer realm="pressroom"'


async def test_a_missing_verb_is_named(api: Api, tenant: WorkspaceId):
    reader = await api.new_token(tenant, verbs=(Verb.READ,))
    path = f"/api/v1/workspaces/{tenant}/endpoints"

    assert (await api.call("GET", path, token=reader))[0] == 200
    status, _, problem = await api.call("POST", path, token=reader, json={"endpoint_id": "x"})

    assert status == 403
    assert problem["detail"] == f"this token lacks the verb `admin` in workspace {tenant}"


async def test_another_workspace_is_closed_whether_it_exists_or_not(api: Api, tenant: WorkspaceId, token: str):
    other = await add_workspace(api.product.db)

    answers = [
        await api.call(method, f"/api/v1/workspaces/{workspace}{path}", token=token, json={})
        for workspace in (other, uuid4())
        for method, path in [
            ("GET", ""),
            ("GET", "/deliveries"),
            ("PATCH", ""),
            ("GET", "/tokens"),
            ("GET", "/events"),
        ]
    ]

    assert {status for status, _, _ in answers} == {403}


async def test_a_list_shows_the_tokens_own_workspaces(api: Api, tenant: WorkspaceId, token: str, admin: str):
    other = await add_workspace(api.product.db)

    _, _, own = await api.call("GET", "/api/v1/workspaces", token=token)
    every, path = set[str](), "/api/v1/workspaces?limit=200"
    page = {"next": ""}
    while page["next"] is not None:  # other tests of this database have made theirs
        _, _, page = await api.call(
            "GET", f"{path}&after={page['next']}" if page["next"] else path, token=admin
        )
        every |= {item["workspace_id"] for item in page["items"]}

    assert [item["workspace_id"] for item in own["items"]] == [str(tenant)]
    assert {str(tenant), str(other)} <= every


async def test_making_a_workspace_takes_admin_on_all(api: Api, token: str, admin: str):
    assert (await api.call("POST", "/api/v1/workspaces", token=token, json={"name": "x"}))[0] == 403
    assert (await api.call("POST", "/api/v1/workspaces", token=admin, json={"name": "x"}))[0] == 201


async def test_a_revoked_token_is_shut_out_at_once_where_it_was_revoked(
    api: Api, tenant: WorkspaceId, token: str
):
    tokens = f"/api/v1/workspaces/{tenant}/tokens"
    _, _, made = await api.call(
        "POST", tokens, token=token, json={"token_id": f"r-{uuid4()}", "verbs": ["read"]}
    )
    assert (await api.call("GET", f"/api/v1/workspaces/{tenant}", token=made["secret"]))[0] == 200

    status, _, revoked = await api.call("DELETE", f"{tokens}/{made['token_id']}", token=token)

    assert (status, revoked["revoked_at"] is not None, "secret" in revoked) == (200, True, False)
    assert (await api.call("GET", f"/api/v1/workspaces/{tenant}", token=made["secret"]))[0] == 401


async def test_a_token_revoked_elsewhere_is_shut_out_when_the_memory_ends(
    api: Api, tenant: WorkspaceId, monkeypatch: pytest.MonkeyPatch
):
    token_id = f"elsewhere-{uuid4()}"
    _, secret = await create_token(api.product.db, token_id=token_id, workspaces=[tenant], verbs=[Verb.READ])
    monkeypatch.setattr(access, "REMEMBERED_SECONDS", 0.0)
    path = f"/api/v1/workspaces/{tenant}"
    assert (await api.call("GET", path, token=secret))[0] == 200

    await revoke_token(api.product.db, token_id=token_id)

    assert (await api.call("GET", path, token=secret))[0] == 401


async def test_a_token_of_several_workspaces_is_revoked_by_who_administers_all(
    api: Api, tenant: WorkspaceId, token: str, admin: str
):
    other = await add_workspace(api.product.db)
    token_id = f"both-{uuid4()}"
    await create_token(
        api.product.db,
        token_id=token_id,
        workspaces=[tenant, other],
        verbs=[Verb.READ],
        expires_in=timedelta(days=1),
    )
    path = f"/api/v1/workspaces/{tenant}/tokens/{token_id}"

    assert (await api.call("DELETE", path, token=token))[0] == 403
    assert (await api.call("DELETE", path, token=admin))[0] == 200


async def test_a_token_of_another_workspace_does_not_exist_here(api: Api, tenant: WorkspaceId, token: str):
    other = await add_workspace(api.product.db)
    token_id = f"other-{uuid4()}"
    await create_token(api.product.db, token_id=token_id, workspaces=[other], verbs=[Verb.READ])

    status, _, _ = await api.call("DELETE", f"/api/v1/workspaces/{tenant}/tokens/{token_id}", token=token)

    assert status == 404


async def test_a_reference_to_the_servers_machine_takes_admin_on_all(
    api: Api, tenant: WorkspaceId, token: str, admin: str
):
    path = f"/api/v1/workspaces/{tenant}/credentials"
    body = {"auth_ref": "bot", "platform": "telegram", "secret_ref": "env:SOME_TOKEN"}

    assert (await api.call("POST", path, token=token, json=body))[0] == 403
    assert (await api.call("POST", path, token=admin, json=body))[0] == 201
    status, _, page = await api.call("GET", path, token=token)
    assert (status, page["items"][0]["secret_ref"]) == (200, "env:SOME_TOKEN")
    assert "SOME_TOKEN" in page["items"][0]["problem"]


async def test_a_credential_is_bound_and_unbound_and_never_shown(api: Api, tenant: WorkspaceId, token: str):
    path = f"/api/v1/workspaces/{tenant}/credentials"
    body = {"auth_ref": "bot", "platform": "telegram", "secret": "123456789:hunter2"}

    status, _, bound = await api.call("POST", path, token=token, json=body)
    _, _, page = await api.call("GET", path, token=token)

    assert (status, bound["secret_ref"]) == (201, "sealed:telegram/bot")
    assert "hunter2" not in str(bound) + str(page)
    assert (await api.call("DELETE", f"{path}/telegram/bot", token=token))[0] == 204
    assert (await api.call("DELETE", f"{path}/telegram/bot", token=token))[0] == 404
    status, _, problem = await api.call("POST", path, token=token, json=body | {"platform": "myspace"})
    assert (status, problem["hint"]) == (422, "known: telegram")


async def test_a_look_up_that_was_under_way_when_all_was_forgotten_is_not_remembered(
    monkeypatch: pytest.MonkeyPatch,
):
    asked, go_on = asyncio.Queue[str](), asyncio.Event()

    async def resolve(_db: object, *, secret: str) -> Access:
        asked.put_nowait(secret)
        await go_on.wait()
        return Access(TokenId("t"), {})

    monkeypatch.setattr(access, "resolve_token", resolve)
    tokens = access.Tokens(None)  # type: ignore[arg-type]
    under_way = asyncio.create_task(tokens.access("secret"))
    await asked.get()

    tokens.forget()
    go_on.set()
    await under_way
    await tokens.access("secret")
    await tokens.access("secret")

    assert asked.qsize() == 1  # the second looked again, and that is remembered


async def test_the_memory_is_bounded(serve: Serve, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(access, "MOST_REMEMBERED", 2)
    api = await serve()
    tokens = [await api.new_token(verbs=(Verb.READ,)) for _ in range(4)]

    for token in [*tokens, *tokens]:
        assert (await api.call("GET", "/api/v1/workspaces?limit=1", token=token))[0] == 200
