import asyncio
import re
from uuid import uuid4

import pytest

from pressroom.core.ids import WorkspaceId
from pressroom.db.database import Database
from tests.entrypoints.api.conftest import Api


async def test_pages_follow_each_other_to_the_end(api: Api, tenant: WorkspaceId, token: str):
    path = f"/api/v1/workspaces/{tenant}/endpoints"
    for name in ("a", "b", "c", "d", "e"):
        await api.call("POST", path, token=token, json={"endpoint_id": name})

    pages: list[list[str]] = []
    following: str | None = f"{path}?limit=2"
    while following is not None:
        _, headers, page = await api.call("GET", following, token=token)
        pages.append([item["endpoint_id"] for item in page["items"]])
        link = re.fullmatch(r'<(.*)>; rel="next"', headers.get("Link", ""))
        assert (link is None) == (page["next"] is None)
        following = link[1] if link else None

    assert pages == [["a", "b"], ["c", "d"], ["e"]]


@pytest.mark.parametrize("after", ["x", "!!!", "WzFd", "bnVsbA", "WyIyMDI2LTExLTE4IiwgMV0", "x" * 400])
async def test_a_cursor_that_we_did_not_make_is_refused(api: Api, tenant: WorkspaceId, token: str, after: str):
    for collection in ("endpoints", "deliveries", "events", "tokens", "credentials"):
        status, _, problem = await api.call(
            "GET", f"/api/v1/workspaces/{tenant}/{collection}?after={after}", token=token
        )

        assert (status, problem["field"]) == (422, "after")


async def test_a_reader_who_has_it_gets_no_body(api: Api, tenant: WorkspaceId, token: str):
    path = f"/api/v1/workspaces/{tenant}"
    _, headers, _ = await api.call("GET", path, token=token)
    tag = headers["ETag"]

    for known in (tag, f"W/{tag}", f'"other", {tag}', "*"):
        status, again, body = await api.call("GET", path, token=token, headers={"If-None-Match": known})
        assert (status, body, again["ETag"]) == (304, "", tag)
    assert (await api.call("GET", path, token=token, headers={"If-None-Match": '"other"'}))[0] == 200


async def test_an_edit_of_what_has_changed_is_refused(api: Api, tenant: WorkspaceId, token: str):
    path = f"/api/v1/workspaces/{tenant}"
    _, headers, _ = await api.call("GET", path, token=token)
    seen = {"If-Match": headers["ETag"]}

    first, changed, _ = await api.call("PATCH", path, token=token, json={"name": "A"}, headers=seen)
    second, present, problem = await api.call("PATCH", path, token=token, json={"name": "B"}, headers=seen)

    assert (first, second, problem["type"]) == (200, 412, "/api/problems/precondition-failed")
    assert changed["ETag"] == present["ETag"]
    assert (await api.call("GET", path, token=token))[2]["name"] == "A"
    assert (await api.call("PATCH", path, token=token, json={"name": "C"}, headers={"If-Match": "*"}))[0] == 200


async def test_of_two_edits_of_the_same_version_at_once_one_is_refused(
    api: Api, db: Database, tenant: WorkspaceId, token: str
):
    path = f"/api/v1/workspaces/{tenant}"
    seen = {"If-Match": (await api.call("GET", path, token=token))[1]["ETag"]}

    async with db.system() as tx:  # both have come as far as they get before either can write
        await tx.execute("select 1 from workspaces where workspace_id = $1 for update", tenant)
        edits = [
            asyncio.create_task(api.call("PATCH", path, token=token, json={"name": name}, headers=seen))
            for name in ("A", "B")
        ]
        await asyncio.wait(edits, timeout=0.3)
    answers = [await edit for edit in edits]

    assert sorted(status for status, _, _ in answers) == [200, 412]
    [name] = [body["name"] for status, _, body in answers if status == 200]
    assert (await api.call("GET", path, token=token))[2]["name"] == name


@pytest.mark.parametrize("collection", ["deliveries", "events", "tokens", "endpoints", "credentials"])
async def test_a_list_of_a_workspace_that_does_not_exist_is_404(
    api: Api, tenant: WorkspaceId, admin: str, collection: str
):
    missing = await api.call("GET", f"/api/v1/workspaces/{uuid4()}/{collection}", token=admin)
    empty = await api.call("GET", f"/api/v1/workspaces/{tenant}/{collection}", token=admin)

    assert (missing[0], missing[2]["type"]) == (404, "/api/problems/not-found")
    assert (empty[0], empty[2]["items"]) == (200, [])


async def test_what_shows_a_secret_is_kept_by_nobody(api: Api, tenant: WorkspaceId, token: str):
    path = f"/api/v1/workspaces/{tenant}/endpoints"

    _, made, first = await api.call("POST", path, token=token, json={"endpoint_id": "door"})
    _, rotated, second = await api.call("POST", f"{path}/door/rotate", token=token)

    assert made["Cache-Control"] == rotated["Cache-Control"] == "no-store"
    assert second["endpoint_id"] == "door.2" and first["secret"] != second["secret"]


async def test_an_endpoint_is_switched_off_and_on(api: Api, tenant: WorkspaceId, token: str):
    path = f"/api/v1/workspaces/{tenant}/endpoints"
    _, _, made = await api.call("POST", path, token=token, json={"endpoint_id": "door"})
    door = {"X-Pressroom-Secret": made["secret"]}

    off = await api.call("POST", f"{path}/door/disable", token=token)
    refused = await api.call("POST", "/ingest/push", json={"text": "x"}, headers=door)
    on = await api.call("POST", f"{path}/door/enable", token=token)
    accepted = await api.call("POST", "/ingest/push", json={"text": "x"}, headers=door)

    assert [off[2]["enabled"], refused[0], on[2]["enabled"], accepted[0]] == [False, 401, True, 202]
