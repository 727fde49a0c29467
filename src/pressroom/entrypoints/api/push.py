"""The hot door: `POST /ingest/push`. It takes the request apart, hands it in, and counts what became of it.

A plain route: no dependency, no second parse. The body's own checks belong to intake.
"""

import json
from typing import cast

import structlog
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from pressroom.core.errors import InvalidInput, PressroomError, Unauthorized
from pressroom.core.ids import RunId
from pressroom.entrypoints.api.parts import PlainRoute, product_of
from pressroom.entrypoints.api.trail import trail_of
from pressroom.entrypoints.errors import problem_of
from pressroom.entrypoints.metrics import Metrics
from pressroom.intake import push as intake

log = structlog.get_logger()

PATH = "/ingest/push"
SECRET_HEADERS = (b"x-pressroom-secret", b"x-telegram-bot-api-secret-token", b"x-max-bot-api-secret")
#: All but the first are what programs call a body when nobody told them what it is: the body itself decides.
TAKEN_AS_JSON = {
    "application/json",
    "application/octet-stream",
    "application/x-www-form-urlencoded",  # curl -d
    "text/plain",  # fetch
}
LONGEST_REFERENCE = 255
WORKSPACE_HEADERS = ("X-Pressroom-Workspace", "X-Workspace-Id")


async def push(request: Request) -> Response:
    metrics = cast("Metrics", request.app.state.metrics)
    try:
        receipt = await _taken_in(request)
    except Unauthorized:
        metrics.pushed("unknown_secret")
        log.warning("push with an unknown secret", client=request.client.host if request.client else None)
        raise
    except PressroomError as error:
        metrics.pushed(problem_of(error).slug.replace("-", "_"))
        if problem_of(error).status >= 500:
            log.warning("push refused", error=error.message)
        raise
    except HTTPException:
        metrics.pushed("invalid_input")
        raise
    except Exception:  # counted here, answered and logged by the outermost layer
        metrics.pushed("internal")
        raise
    metrics.pushed("accepted")
    return Response(
        json.dumps(receipt.as_json()).encode(), 202, {"Cache-Control": "no-store"}, "application/json"
    )


ROUTES = (PlainRoute(PATH, push, methods=["POST"]), PlainRoute(PATH + "/{secret}", push, methods=["POST"]))


async def _taken_in(request: Request) -> intake.PushReceipt:
    product = product_of(request)
    trail = trail_of(request.scope)
    secret = _secret_of(request)
    kind = request.headers.get("content-type", "application/json").partition(";")[0].strip().lower()
    if kind not in TAKEN_AS_JSON and not kind.endswith("+json"):
        raise HTTPException(415, f"the body is {kind}, not application/json")
    return await intake.push(
        product.db,
        product.platforms,
        secret=secret,
        body=await request.body(),
        trace_id=trail.trace_id,
        run_id=RunId(trail.request_id),
        idempotency_key=_reference(request, "Idempotency-Key"),
        workflow_run_id=_reference(request, "X-Workflow-Run-Id"),
        hints=_hints(request),
    )


def _hints(request: Request) -> dict[str, str]:
    """The workspace that a header or the query names; the secret decides, whatever they say."""
    named = [request.headers.get(name) for name in WORKSPACE_HEADERS]
    named.append(request.query_params.get("workspace_id"))
    said = next((text for text in named if text), None)
    return {} if said is None else {"workspace_id": said[:LONGEST_REFERENCE].replace("\0", "")}


def _secret_of(request: Request) -> str:
    """The one secret of the request, wherever it stands; twice the same is one."""
    given = {str(request.path_params["secret"])} if "secret" in request.path_params else set[str]()
    for name, value in request.headers.raw:
        if name in SECRET_HEADERS:
            given.add(_text(value))
        elif name == b"authorization":
            scheme, _, secret = value.partition(b" ")
            if scheme.lower() == b"bearer":
                given.add(_text(secret.strip()))
    given.discard("")
    if len(given) > 1:
        raise InvalidInput("the request carries two different secrets", hint="send one, in one place")
    if not given:
        raise Unauthorized(
            "the request carries no secret",
            hint="send it as X-Pressroom-Secret, as a bearer token, or as the last part of the path",
        )
    return given.pop()


def _text(value: bytes) -> str:
    return value.decode("utf-8", "surrogateescape")


def _reference(request: Request, name: str) -> str | None:
    value = request.headers.get(name)
    if value is not None and not (0 < len(value) <= LONGEST_REFERENCE and value.isprintable()):
        raise InvalidInput(f"{name} must be 1 to {LONGEST_REFERENCE} printable characters", field=name)
    return value
