"""The OpenAPI 3.1 document: what FastAPI derives from the routes, completed.

Added are the plain routes (the push door, health, metrics), every problem that an operation may answer, and an
example of every body and answer, put together from the examples of its fields.
"""

import json
from collections.abc import Mapping
from typing import Any, cast

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute

from pressroom.entrypoints.api import push
from pressroom.entrypoints.api.parts import PlainRoute
from pressroom.entrypoints.api.problems import MEDIA_TYPE
from pressroom.entrypoints.errors import Problem, every_problem
from pressroom.intake.push import PushBody

Json = dict[str, Any]

PATH = "/api/openapi.json"

TAGS = (
    ("Push", "Bring a post in. This is the door for web sites, scripts and webhooks."),
    ("Deliveries", "Where each post stands in each channel, and what has happened."),
    ("Workspaces", "The tenants. Everything belongs to one."),
    ("Endpoints", "The doors through which senders push into a workspace."),
    ("Tokens", "Who may do what in a workspace, until when."),
    ("Credentials", "What a workspace presents to platforms."),
    ("Health", "For machines that watch this one."),
)

DESCRIPTION = """\
Content comes in through the push door and goes out to every channel, with a record of each step.

Authenticate with `Authorization: Bearer <token>`; the push door takes an endpoint's secret instead. Writes take
an `Idempotency-Key`: repeated within 24 hours, the same request is answered the same and done once. Lists come
in pages: `next` of a page is the `after` of the following one. Single things carry an `ETag`, for
`If-None-Match` on reads and `If-Match` on changes. Refusals are problems as RFC 9457 describes them, listed
at the end. Every answer has an `X-Request-Id`, which the log knows too."""


def routes(app: FastAPI) -> tuple[BaseRoute, ...]:
    made: list[bytes] = []

    async def show(_request: Request) -> Response:
        if not made:
            made.append(json.dumps(document(app), ensure_ascii=False).encode())
        return Response(made[0], 200, {"Cache-Control": "no-cache"}, "application/json")

    return (PlainRoute(PATH, show),)


def document(app: FastAPI) -> Json:
    schema: Json = get_openapi(
        title=app.title,
        version=app.version,
        openapi_version="3.1.0",
        description=DESCRIPTION,
        routes=app.routes,
        tags=[{"name": name, "description": description} for name, description in TAGS],
    )
    schema["paths"] = _plain_paths() | schema["paths"]
    schemas: Json = schema["components"]["schemas"]
    for unused in ("HTTPValidationError", "ValidationError"):
        schemas.pop(unused, None)
    schemas |= {"PushBody": PushBody.model_json_schema(), "Problem": _PROBLEM}
    schema["components"]["responses"] = {problem.slug: _problem_answer(problem) for problem in every_problem()}
    for path, operations in cast("dict[str, Json]", schema["paths"]).items():
        for method, operation in operations.items():
            _complete(operation, path, method, schemas)
    return schema


def example_of(schema: Json, schemas: Json) -> Any:
    """A value as the schema describes it: its own example, else made of those of its parts."""
    if schema.get("examples"):
        return schema["examples"][0]
    if "$ref" in schema:
        return example_of(schemas[schema["$ref"].rpartition("/")[2]], schemas)
    if "const" in schema:
        return schema["const"]
    if schema.get("enum"):
        return schema["enum"][0]
    if "properties" in schema:
        fields = cast("dict[str, Json]", schema["properties"])
        wanted = {
            name: field
            for name, field in fields.items()
            if "examples" in field or name in schema.get("required", ())
        }
        return {name: example_of(field, schemas) for name, field in (wanted or fields).items()}
    if "default" in schema:
        return schema["default"]
    if schema.get("anyOf"):
        return example_of(schema["anyOf"][0], schemas)
    if schema.get("type") == "array":
        return [example_of(schema["items"], schemas)]
    return _ANYTHING.get(str(schema.get("type")))


_ANYTHING: Json = {"string": "text", "integer": 1, "number": 1, "boolean": True, "object": {}}


def _complete(operation: Json, path: str, method: str, schemas: Json) -> None:
    answers: Json = operation["responses"]
    answers.pop("422", None)
    slugs = _problems_of(operation, path, method)
    for problem in every_problem():
        if problem.slug in slugs and str(problem.status) not in answers:
            answers[str(problem.status)] = {"$ref": f"#/components/responses/{problem.slug}"}
    bodies = [operation["requestBody"]] if "requestBody" in operation else []
    for part in [*bodies, *answers.values()]:
        for content in cast("dict[str, Json]", part.get("content", {})).values():
            if "example" not in content and "schema" in content:
                content["example"] = example_of(content["schema"], schemas)
    for parameter in cast("list[Json]", operation.get("parameters", [])):
        if "example" not in parameter and "examples" not in parameter:
            parameter["example"] = _PARAMETERS.get(parameter["name"]) or example_of(
                parameter["schema"], schemas
            )
    if path.startswith("/api/v1/") and method != "get":
        operation.setdefault("parameters", []).append(_IDEMPOTENCY_KEY)


def _problems_of(operation: Json, path: str, method: str) -> set[str]:
    if not path.startswith(("/api/v1/", push.PATH)):
        return set()
    slugs = {"unauthorized", "rate-limited", "unavailable", "internal", "invalid-input"}
    if path.startswith("/api/v1/"):
        slugs |= {"forbidden"}
        if "{" in path:
            slugs |= {"not-found"}
        if method != "get":
            slugs |= {"conflict"}
        if any(parameter["name"].lower() == "if-match" for parameter in operation.get("parameters", [])):
            slugs |= {"precondition-failed"}
    if "requestBody" in operation:
        slugs |= {"too-large", "unsupported-media-type", "request-timeout"}
    return slugs


_WORKSPACE = "0191f2a4-7c1e-7000-8000-1234567890ab"
_PARAMETERS: Mapping[str, Any] = {
    "workspace_id": _WORKSPACE,
    "delivery_id": "0191f2a4-7c1e-7000-8000-00000000d001",
    "message_id": "0191f2a4-7c1e-7000-8000-00000000a001",
    "channel_id": "tg-news",
    "since": "2026-11-18T00:00:00Z",
    "after": "WyIyMDI2LTExLTE4Il0",
    "if-match": '"3q2-7wAAAAAAAAAAAAAA"',
}

_IDEMPOTENCY_KEY: Json = {
    "name": "Idempotency-Key",
    "in": "header",
    "required": False,
    "description": "Makes the request repeatable: its answer is stored for 24 hours. A random uuid does it.",
    "schema": {"type": "string", "minLength": 1, "maxLength": 255},
    "example": "6f1c2a34-7a8e-4e0f-9d53-0a4b5c6d7e8f",
}

_PROBLEM: Json = {
    "title": "Problem",
    "type": "object",
    "description": "Why a request was refused (RFC 9457).",
    "required": ["type", "title", "status", "detail", "instance", "request_id"],
    "properties": {
        "type": {
            "type": "string",
            "format": "uri-reference",
            "description": "Which problem; leads to its paragraph.",
        },
        "title": {
            "type": "string",
            "description": "The same for every problem of the type; Russian where asked for.",
        },
        "status": {"type": "integer"},
        "detail": {"type": "string", "description": "What is wrong here."},
        "instance": {"type": "string", "description": "The path that was asked."},
        "request_id": {"type": "string", "description": "The log knows it too."},
        "hint": {"type": "string", "description": "How to put it right."},
        "field": {"type": "string", "description": "The wrong value, as in `media[0].url`."},
        "errors": {
            "type": "array",
            "description": "Every wrong value, when there are any.",
            "items": {
                "type": "object",
                "required": ["detail", "pointer"],
                "properties": {
                    "detail": {"type": "string"},
                    "pointer": {"type": "string", "description": "Its JSON pointer (RFC 6901)."},
                },
            },
        },
    },
}


def _problem_answer(problem: Problem) -> Json:
    example = {
        "type": problem.type,
        "title": problem.title,
        "status": problem.status,
        "detail": problem.meaning.partition(".")[0].replace("`", ""),
        "instance": f"/api/v1/workspaces/{_WORKSPACE}",
        "request_id": "0191f2a4-7c1e-7000-8000-00000000f001",
    }
    answer: Json = {
        "description": f"{problem.title}. {problem.meaning}",
        "content": {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}, "example": example}},
    }
    if problem.status in {429, 503}:
        description = "Seconds after which to try again."
        answer["headers"] = {"Retry-After": {"description": description, "schema": {"type": "integer"}}}
    return answer


def _plain_paths() -> Json:
    """The routes that FastAPI does not know."""
    return {
        push.PATH: {"post": _push("push", _push_secrets())},
        push.PATH + "/{secret}": {"post": _push("push_with_secret_in_path", [_PATH_SECRET]) | {"security": []}},
        "/api/health": {"get": _HEALTH},
        "/metrics": {"get": _METRICS},
    }


def _push(operation_id: str, secrets: list[Json]) -> Json:
    optional = {"required": False, "schema": {"type": "string", "minLength": 1, "maxLength": 255}}
    return {
        "tags": ["Push"],
        "operationId": operation_id,
        "summary": "Push a post" + (" (secret in the path)" if secrets == [_PATH_SECRET] else ""),
        "description": (
            "Takes in one post and queues it for every channel of the workspace that it matches. The secret says "
            "which workspace; two different ones in one request are refused. An unknown key of the body is "
            "refused and named."
            + (
                "\n\nFor senders that can set no header. This is the only secret that may stand in a URL; it is "
                "masked in every log and answer."
                if secrets == [_PATH_SECRET]
                else ""
            )
        ),
        "security": [],
        "parameters": [
            *secrets,
            {
                "name": "Idempotency-Key", "in": "header", "example": "order-17",
                "description": "Serves as `source_ref` when the body has none. No answer is stored here.",
            } | optional,
            {
                "name": "X-Workflow-Run-Id", "in": "header", "example": "n8n-4711",
                "description": "Kept as `meta.workflow_run_id`.",
            } | optional,
        ],
        "requestBody": {
            "required": True,
            "content": {
                "application/json": {
                    "schema": {"$ref": "#/components/schemas/PushBody"},
                    "example": {"text": "Good morning!", "links": ["https://example.com/news/1"], "tags": ["news"]},
                }
            },
        },
        "responses": {
            "202": {
                "description": "Stored. `deliveries` counts what became of it for each matching channel.",
                "content": {"application/json": {"schema": _RECEIPT}},
            }
        },
    }  # fmt: skip


def _push_secrets() -> list[Json]:
    names = {
        "X-Pressroom-Secret": "The endpoint's secret. One of these headers has to carry it.",
        "Authorization": "`Bearer <secret>`: the same, for senders that know only this header.",
        "X-Telegram-Bot-Api-Secret-Token": "The same, as Telegram's webhooks send it.",
        "X-Max-Bot-Api-Secret": "The same, as MAX's webhooks send it.",
    }
    return [
        {
            "name": name, "in": "header", "required": False, "description": description,
            "schema": {"type": "string"},
            "example": "Bearer prs_push_…" if name == "Authorization" else "prs_push_…",
        }
        for name, description in names.items()
    ]  # fmt: skip


_PATH_SECRET: Json = {
    "name": "secret",
    "in": "path",
    "required": True,
    "description": "The endpoint's secret.",
    "schema": {"type": "string"},
    "example": "prs_push_…",
}

_RECEIPT: Json = {
    "title": "PushReceipt",
    "type": "object",
    "required": ["message_id", "trace_id", "run_id", "deliveries"],
    "properties": {
        "message_id": {
            "type": "string",
            "format": "uuid",
            "examples": ["0191f2a4-7c1e-7000-8000-00000000a001"],
        },
        "trace_id": {"type": "string", "examples": ["4bf92f3577b34da6a3ce929d0e0e4736"]},
        "run_id": {"type": "string", "examples": ["0191f2a4-7c1e-7000-8000-00000000f001"]},
        "deliveries": {
            "type": "object",
            "properties": {
                name: {"type": "integer", "examples": [2 if name == "queued" else 0]}
                for name in ("queued", "suppressed", "failed_permanent", "send_mode_skipped")
            },
        },
    },
}


def _status_answer(status: str, description: str) -> Json:
    schema = {"type": "object", "required": ["status"], "properties": {"status": {"type": "string"}}}
    return {
        "description": description,
        "content": {"application/json": {"schema": schema, "example": {"status": status}}},
    }


_HEALTH: Json = {
    "tags": ["Health"],
    "operationId": "health",
    "summary": "Ask whether work moves",
    "description": (
        "Not whether the port is open: posts that are due and not sent make it fail. With "
        "`Authorization: Bearer <PRESSROOM_HEALTH_CHECK_TOKEN>` the answer also has `version`, `uptime_seconds` and "
        "`checks`, and `status` may be `degraded`."
    ),
    "security": [],
    "responses": {
        "200": _status_answer("ok", "Work moves."),
        "503": _status_answer("down", "The database is away, or what is due is not being sent."),
    },
}

_METRICS: Json = {
    "tags": ["Health"],
    "operationId": "metrics",
    "summary": "Read the metrics",
    "description": (
        "For Prometheus. It takes the bearer token `PRESSROOM_HEALTH_CHECK_TOKEN`; while none is set, it is open "
        "to this machine only, and to nobody through a proxy."
    ),
    "security": [],
    "responses": {
        "200": {
            "description": "Prometheus's text format.",
            "content": {
                "text/plain": {"schema": {"type": "string"}, "example": "pressroom_http_in_flight 1.0\n"}
            },
        },
        "401": {"$ref": "#/components/responses/unauthorized"},
    },
}
