import json
import re
from collections.abc import Iterator
from html.parser import HTMLParser
from typing import Any

import pytest

from pressroom.entrypoints.api.app import create_app
from pressroom.entrypoints.api.openapi import document
from pressroom.entrypoints.errors import every_problem
from pressroom.settings import Settings
from pressroom.wiring import Product
from pressroom.workspaces.model import EndpointKind
from tests.entrypoints.api.conftest import KEYRING, Api

Json = dict[str, Any]


@pytest.fixture(scope="module")
def schema() -> Json:
    return document(create_app(Product(Settings(), None, KEYRING, {})))  # type: ignore[arg-type]


@pytest.fixture
async def html(api: Api) -> str:
    return (await api.call("GET", "/api/docs"))[2]


def operations(schema: Json) -> Iterator[tuple[str, Json]]:
    for path, methods in schema["paths"].items():
        for method, operation in methods.items():
            yield f"{method.upper()} {path}", operation


def nodes(value: Any) -> Iterator[Json]:
    if isinstance(value, dict):
        yield value
        for inner in value.values():
            yield from nodes(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from nodes(inner)


async def test_a_slash_too_many_leads_to_the_page(api: Api):
    status, headers, _ = await api.call("GET", "/api/docs/")

    assert (status, headers["Location"]) == (307, "/api/docs")


class TestOpenApi:
    async def test_it_is_served(self, api: Api, schema: Json):
        status, headers, served = await api.call("GET", "/api/openapi.json")

        assert (status, headers["Content-Type"], served) == (
            200,
            "application/json",
            json.loads(json.dumps(schema)),
        )

    def test_it_has_the_structure_of_3_1(self, schema: Json):
        assert re.fullmatch(r"3\.1\.\d+", schema["openapi"])
        assert {"title", "version"} <= set(schema["info"])
        tags = {tag["name"] for tag in schema["tags"]}
        for path, methods in schema["paths"].items():
            assert path.startswith("/")
            for method, operation in methods.items():
                assert method in {"get", "post", "put", "patch", "delete"}
                assert set(operation["tags"]) <= tags
                declared = {one["name"] for one in operation.get("parameters", []) if one["in"] == "path"}
                assert declared == set(re.findall(r"\{(\w+)\}", path)), path
                for one in operation.get("parameters", []):
                    assert one["in"] in {"path", "query", "header"}
                    assert "schema" in one
                    assert one["required"] if one["in"] == "path" else True
                for status, answer in operation["responses"].items():
                    assert re.fullmatch(r"[1-5]\d\d", status)
                    assert "$ref" in answer or answer["description"]

    def test_operation_ids_are_unique(self, schema: Json):
        ids = [operation["operationId"] for _, operation in operations(schema)]

        assert len(set(ids)) == len(ids)

    def test_every_reference_leads_somewhere(self, schema: Json):
        for node in nodes(schema):
            if "$ref" in node:
                target: Any = schema
                for part in node["$ref"].removeprefix("#/").split("/"):
                    target = target[part]

    def test_every_body_and_answer_has_an_example(self, schema: Json):
        for name, operation in operations(schema):
            contents = [operation.get("requestBody", {}), *operation["responses"].values()]
            for content in (content for part in contents for content in part.get("content", {}).values()):
                assert content["example"], name
            for one in operation.get("parameters", []):
                assert "example" in one or "examples" in one, (name, one["name"])

    def test_every_operation_says_how_it_may_be_refused(self, schema: Json):
        for name, operation in operations(schema):
            if " /api/v1/" in name:
                assert {"401", "403", "422", "429", "500", "503"} <= set(operation["responses"]), name
                assert operation["security"] == [{"HTTPBearer": []}], name
            if "POST /api/v1/" in name or "PATCH" in name or "DELETE" in name:
                assert "409" in operation["responses"], name
                assert "Idempotency-Key" in {one["name"] for one in operation["parameters"]}, name

    def test_every_problem_is_documented(self, schema: Json):
        assert set(schema["components"]["responses"]) == {problem.slug for problem in every_problem()}

    def test_what_fastapi_says_of_its_own_errors_is_gone(self, schema: Json):
        assert "HTTPValidationError" not in json.dumps(schema)

    async def test_the_examples_of_bodies_are_accepted(self, api: Api, schema: Json, admin: str):
        """What can be posted without knowing anything is posted just as the page shows it."""
        _, _, workspace = await api.call(
            "POST", "/api/v1/workspaces", token=admin, json=_body(schema, "/api/v1/workspaces")
        )
        for part in ("endpoints", "tokens"):
            path = "/api/v1/workspaces/{workspace_id}/" + part
            status, _, made = await api.call(
                "POST", path.format_map(workspace), token=admin, json=_body(schema, path)
            )
            assert status == 201, made
            if part == "endpoints":
                assert made["kind"] == EndpointKind.WEBHOOK_PUSH
                pushed, _, _ = await api.call(
                    "POST", "/ingest/push", json=_body(schema, "/ingest/push"),
                    headers={"X-Pressroom-Secret": made["secret"]},
                )  # fmt: skip
                assert pushed == 202

    async def test_answers_have_the_fields_that_their_examples_show(self, api: Api, schema: Json, admin: str):
        answer = schema["paths"]["/api/v1/workspaces"]["post"]["responses"]["201"]["content"][
            "application/json"
        ]

        _, _, made = await api.call("POST", "/api/v1/workspaces", token=admin, json={"name": "x"})

        assert set(made) == set(answer["example"])


def _body(schema: Json, path: str) -> Json:
    return schema["paths"][path]["post"]["requestBody"]["content"]["application/json"]["example"]


class _Page(HTMLParser):
    VOID = frozenset({"meta", "wbr", "link", "br"})

    def __init__(self, html: str) -> None:
        super().__init__()
        self.ids: list[str] = []
        self.links: list[str] = []
        self.tags: set[str] = set()
        self.open: list[str] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.tags.add(tag)
        if given.get("id"):
            self.ids.append(given["id"] or "")
        self.links += [given[name] or "" for name in ("href", "src") if name in given]
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag, self.getpos()


class TestDocsPage:
    async def test_it_needs_nothing_from_elsewhere(self, api: Api, html: str):
        page = _Page(html)

        assert not {"script", "link", "img", "iframe", "object"} & page.tags
        assert all(link.startswith(("/", "#")) and not link.startswith("//") for link in page.links)
        style = re.search(r"<style>(.*?)</style>", html, re.DOTALL)
        assert style is not None and "url(" not in style[1] and "@import" not in style[1]
        _, headers, _ = await api.call("GET", "/api/docs")
        assert "default-src 'none'" in headers["Content-Security-Policy"]

    def test_its_only_addresses_are_those_of_examples(self, html: str):
        hosts = set(re.findall(r"https?://([^/\s\"'&<]+)", html))

        assert all(host == "example.com" or host.startswith("127.0.0.1:") for host in hosts)

    def test_every_link_leads_somewhere_and_every_tag_is_closed(self, html: str):
        page = _Page(html)

        assert not page.open
        assert len(set(page.ids)) == len(page.ids)
        assert {link[1:] for link in page.links if link.startswith("#")} <= set(page.ids)

    def test_it_shows_every_operation_and_problem(self, html: str, schema: Json):
        for name, operation in operations(schema):
            assert operation["summary"].replace("'", "&#x27;") in html, name
        for problem in every_problem():
            assert f'id="problem-{problem.slug}"' in html

    def test_it_can_be_read_in_the_dark_and_on_a_phone(self, html: str):
        assert "prefers-color-scheme:dark" in html
        assert 'name="viewport"' in html

    async def test_its_examples_call_the_server_that_the_reader_uses(self, api: Api, html: str):
        assert f"curl {api.url}/ingest/push" in html

        strange = await api.raw(b"GET /api/docs HTTP/1.1\r\nHost: <script>\r\nConnection: close\r\n\r\n")
        assert b"<script" not in strange and b"127.0.0.1:8800" in strange

    async def test_the_root_leads_there(self, api: Api):
        status, headers, _ = await api.call("GET", "/")

        assert (status, headers["Location"]) == (307, "/api/docs")
