import pytest

from pressroom.core.ids import WorkspaceId
from pressroom.entrypoints.api.server import serve_api
from pressroom.settings import Settings
from pressroom.wiring import Product
from tests.entrypoints.api.conftest import KEYRING, Api, Logged


async def test_a_wrong_body_names_each_field_once_with_its_pointer(api: Api, tenant: WorkspaceId, token: str):
    path = f"/api/v1/workspaces/{tenant}/tokens"
    body = {"token_id": 7, "verbs": ["read", "fly"], "extra/key": 1}

    status, headers, problem = await api.call("POST", path, token=token, json=body)

    assert (status, headers["Content-Type"]) == (422, "application/problem+json")
    assert problem.pop("request_id") == headers["X-Request-Id"]
    assert problem == {
        "type": "/api/problems/invalid-input",
        "title": "Invalid input",
        "status": 422,
        "detail": "token_id: Input should be a valid string (and 2 more)",
        "instance": path,
        "field": "token_id",
        "errors": [
            {"detail": "Input should be a valid string", "pointer": "/token_id"},
            {"detail": "Input should be 'read', 'write', 'operate' or 'admin'", "pointer": "/verbs/1"},
            {"detail": "Extra inputs are not permitted", "pointer": "/extra~1key"},
        ],
    }


async def test_our_own_refusal_has_the_same_shape(api: Api, tenant: WorkspaceId, token: str):
    path = f"/api/v1/workspaces/{tenant}/endpoints"

    status, _, problem = await api.call("POST", path, token=token, json={"endpoint_id": "no spaces"})

    assert status == 422
    assert (problem["field"], problem["errors"][0]["pointer"]) == ("endpoint_id", "/endpoint_id")
    assert problem["hint"]


async def test_a_wrong_parameter_is_named(api: Api, tenant: WorkspaceId, token: str):
    status, _, problem = await api.call("GET", f"/api/v1/workspaces/{tenant}/deliveries?limit=0", token=token)

    assert (status, problem["field"]) == (422, "limit")

    status, _, problem = await api.call("GET", "/api/v1/workspaces/not-an-id", token=token)

    assert (status, problem["field"]) == (422, "workspace_id")


@pytest.mark.parametrize("body", [b"{", b'{"name": "x"', b"\xff\xfe", b"[" * 100_000])
async def test_broken_json_is_said_to_be_broken(api: Api, admin: str, body: bytes):
    status, _, problem = await api.call(
        "POST", "/api/v1/workspaces", token=admin, data=body, headers={"Content-Type": "application/json"}
    )

    assert (status, problem["type"]) == (422, "/api/problems/invalid-input")
    assert problem["detail"].startswith("body: the body is not JSON")


@pytest.mark.parametrize(
    "kind", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"]
)
async def test_another_content_type_is_415(api: Api, admin: str, kind: str):
    status, _, problem = await api.call(
        "POST", "/api/v1/workspaces", token=admin, data=b'{"name": "x"}', headers={"Content-Type": kind}
    )

    assert (status, problem["type"]) == (415, "/api/problems/unsupported-media-type")


async def test_the_router_answers_problems_too(api: Api):
    status, _, missing = await api.call("GET", "/nowhere")
    assert (status, missing["type"]) == (404, "/api/problems/not-found")

    status, headers, wrong = await api.call("DELETE", "/api/v1/workspaces")
    assert (status, wrong["type"]) == (405, "/api/problems/method-not-allowed")
    assert headers["Allow"] == "GET, POST"


async def test_titles_are_russian_where_asked_for(api: Api):
    async def title(language: str) -> str:
        return (await api.call("GET", "/nowhere", headers={"Accept-Language": language}))[2]["title"]

    assert await title("ru-RU,ru;q=0.9,en;q=0.5") == "Не найдено"
    assert await title("en;q=0.9,ru;q=0.5") == "Not found"
    assert await title("de") == "Not found"
    assert await title("ru;q=oops,,;") == "Не найдено"


async def test_what_nobody_foresaw_tells_nothing_and_is_logged_whole(api: Api, logged: Logged):
    product = Product(Settings(drain_seconds=1), object(), KEYRING, {})  # type: ignore[arg-type]
    async with serve_api(product, host="127.0.0.1", port=0) as url:
        broken = Api(url, product, api.http)

        status, headers, problem = await broken.call("GET", "/api/v1/workspaces", token="prs_api_hunter2")

    assert (status, problem["type"]) == (500, "/api/problems/internal")
    assert "object" not in str(problem) and "Traceback" not in str(problem)
    [failure] = [line for line in logged() if line["level"] == "error"]
    assert failure["request_id"] == headers["X-Request-Id"] == problem["request_id"]
    assert "AttributeError" in failure["exception"]
    assert "hunter2" not in str(logged())


async def test_a_type_leads_to_its_paragraph(api: Api):
    assert (await api.call("GET", "/api/problems/not-found"))[1]["Location"] == "/api/docs#problem-not-found"
    assert (await api.call("GET", "/api/problems/unheard-of"))[0] == 404


async def test_a_request_id_is_taken_over_where_it_is_a_sane_one(api: Api, logged: Logged):
    async def answered(given: str) -> str:
        return (await api.call("GET", "/nowhere", headers={"X-Request-Id": given}))[1]["X-Request-Id"]

    assert await answered("order-17.a_b") == "order-17.a_b"
    assert await answered("two words") != "two words"
    assert await answered("x" * 101) != "x" * 101
    raw = await api.raw(
        b"GET /nowhere HTTP/1.1\r\nHost: x\r\nX-Request-Id: evil\xff\r\nConnection: close\r\n\r\n"
    )
    assert b"404 Not Found" in raw and b"evil" not in raw
    assert "order-17.a_b" in {line.get("request_id") for line in logged()}


async def test_the_callers_trace_goes_on_in_the_log(api: Api, logged: Logged):
    trace = "4bf92f3577b34da6a3ce929d0e0e4736"

    await api.call("GET", "/nowhere", headers={"traceparent": f"00-{trace}-00f067aa0ba902b7-01"})
    await api.call("GET", "/nowhere", headers={"traceparent": f"00-{'0' * 32}-00f067aa0ba902b7-01"})

    first, second = [line for line in logged() if line["event"] == "request"]
    assert first["trace_id"] == trace
    assert second["trace_id"] not in {trace, "0" * 32}
