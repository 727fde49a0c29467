"""Every refusal as RFC 9457 says it: `application/problem+json`, one shape, from the one error table."""

import asyncio
import json
import math
from collections.abc import Mapping, Sequence
from typing import TypedDict, cast

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from pressroom.core.errors import (
    InvalidInput,
    PressroomError,
    ProviderError,
    RateLimited,
    Unauthorized,
    Unavailable,
)
from pressroom.core.logs import redact
from pressroom.entrypoints.api.trail import shown_path, trail_of
from pressroom.entrypoints.errors import Problem, problem_of, problem_of_status

MEDIA_TYPE = "application/problem+json"
RETRY_SOON = 2  # seconds, when nobody knows better

Headers = Mapping[str, str]


class FieldError(TypedDict):
    """One wrong value: `pointer` is its JSON pointer (RFC 6901) in the body, or `/name` of a parameter."""

    detail: str
    pointer: str


def problem_response(
    scope: Scope,
    problem: Problem,
    detail: str,
    *,
    hint: str | None = None,
    field: str | None = None,
    errors: Sequence[FieldError] = (),
    headers: Headers | None = None,
) -> Response:
    """Says what is given, in the caller's language where that is the title's, and no secret of the request."""
    body: dict[str, object] = {
        "type": problem.type,
        "title": problem.title_ru if _prefers_russian(scope) else problem.title,
        "status": problem.status,
        "detail": redact(detail),
        "instance": shown_path(scope),
        "request_id": trail_of(scope).request_id,
    }
    if hint:
        body["hint"] = redact(hint)
    if field:
        body["field"] = field
    if errors:
        body["errors"] = errors
    return Response(
        json.dumps(body, ensure_ascii=False).encode("utf-8", "backslashreplace"),
        problem.status,
        {"Cache-Control": "no-store"} | dict(headers or {}),
        MEDIA_TYPE,
    )


def error_response(scope: Scope, error: PressroomError) -> Response:
    """One of our errors, in the words it brought along."""
    problem = problem_of(error)
    field = error.field if isinstance(error, InvalidInput) else None
    return problem_response(
        scope,
        problem,
        error.message,
        hint=error.hint,
        field=field,
        errors=() if field is None else [FieldError(detail=redact(error.message), pointer=_pointer_of(field))],
        headers=_headers_of(error),
    )


def answer_errors(app: FastAPI) -> None:
    """From here on every error that a route or the router raises is answered as a problem."""

    async def ours(request: Request, error: Exception) -> Response:
        return error_response(request.scope, cast("PressroomError", error))

    async def invalid(request: Request, error: Exception) -> Response:
        return _validation_response(request.scope, cast("RequestValidationError", error))

    async def of_the_router(request: Request, error: Exception) -> Response:
        refused = cast("HTTPException", error)
        if refused.status_code == 400:  # the one that FastAPI makes of a body that overtaxes its parser
            return error_response(
                request.scope, InvalidInput("body: the body is not JSON that can be read here")
            )
        problem = problem_of_status(refused.status_code)
        path = shown_path(request.scope)
        detail = {
            404: f"nothing is at {path}",
            405: f"{path} does not take {request.method}",
        }.get(refused.status_code, str(refused.detail))
        hint = "GET /api/docs lists every path" if refused.status_code in {404, 405} else None
        headers = dict(refused.headers or {})
        if refused.status_code == 405:
            headers["Allow"] = ", ".join(_methods_at(app, request.url.path))
        return problem_response(request.scope, problem, detail, hint=hint, headers=headers)

    app.add_exception_handler(PressroomError, ours)
    app.add_exception_handler(RequestValidationError, invalid)
    app.add_exception_handler(HTTPException, of_the_router)


def _methods_at(app: FastAPI, path: str) -> list[str]:
    """Of all routes: the router itself names only those of the first."""
    found = [
        route.methods or () for route in app.routes if isinstance(route, Route) and route.path_regex.match(path)
    ]
    return sorted({method for methods in found for method in methods})


async def refuse(scope: Scope, receive: Receive, send: Send, response: Response) -> None:
    """Answer a request whose body is not wanted. The connection is closed, but not before the client had a
    chance to read: closing on unread bytes would reset it and take the answer away."""
    response.headers["Connection"] = "close"

    async def send_and_hold(message: Mapping[str, object]) -> None:
        await send(dict(message) | ({"more_body": True} if message["type"] == "http.response.body" else {}))

    await response(scope, receive, send_and_hold)
    if not any(name == b"expect" for name, _ in scope["headers"]):  # who waits to be asked sends nothing now
        await _swallow(receive)
    await send({"type": "http.response.body", "body": b""})


async def _swallow(receive: Receive) -> None:
    try:
        async with asyncio.timeout(1):
            while (await receive()).get("more_body"):
                pass
    except TimeoutError:
        return


def _headers_of(error: PressroomError) -> dict[str, str]:
    match error:
        case RateLimited():
            return {"Retry-After": str(max(1, math.ceil(error.retry_after.total_seconds())))}
        case Unavailable():
            return {"Retry-After": str(RETRY_SOON)}
        case ProviderError() if error.retry_after is not None:
            return {"Retry-After": str(max(1, math.ceil(error.retry_after.total_seconds())))}
        case Unauthorized():
            return {"WWW-Authenticate": 'Bearer realm="pressroom"'}
        case _:
            return {}


def _validation_response(scope: Scope, error: RequestValidationError) -> Response:
    problems: dict[str, FieldError] = {}
    fields: list[str] = []
    for found in cast("Sequence[Mapping[str, object]]", error.errors()):
        where, *path = cast("Sequence[str | int]", found["loc"])
        if found["type"] == "json_invalid":
            reason = cast("Mapping[str, str]", found["ctx"])["error"]
            path, message = [], f"the body is not JSON: {reason}"
        else:
            message = str(found["msg"]).removeprefix("Value error, ")
        pointer = "".join("/" + str(part).replace("~", "~0").replace("/", "~1") for part in path)
        if pointer not in problems:
            problems[pointer] = FieldError(detail=redact(message), pointer=pointer)
            fields.append(_field_of(path) or str(where))
    errors = list(problems.values())
    first = f"{fields[0]}: {errors[0]['detail']}"
    more = f" (and {len(errors) - 1} more)" if len(errors) > 1 else ""
    return problem_response(scope, problem_of(InvalidInput("")), first + more, field=fields[0], errors=errors)


def _field_of(path: Sequence[str | int]) -> str:
    return "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path).lstrip(".")


def _pointer_of(field: str) -> str:
    """`media[0].url` as `/media/0/url`."""
    return "/" + field.replace("~", "~0").replace("/", "~1").replace("[", ".").replace("]", "").replace(
        ".", "/"
    )


def _prefers_russian(scope: Scope) -> bool:
    for name, value in cast("list[tuple[bytes, bytes]]", scope["headers"]):
        if name == b"accept-language":
            languages = value.decode("latin-1").lower().replace(" ", "").split(",")
            known = [entry.partition(";q=") for entry in languages if entry.startswith(("ru", "en"))]
            return bool(known) and max(known, key=_weight)[0].startswith("ru")
    return False


def _weight(language: tuple[str, str, str]) -> float:
    try:
        return float(language[2] or 1)
    except ValueError:
        return 0
