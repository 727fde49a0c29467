"""Writes that may be repeated: the answer to an `Idempotency-Key` is stored before it is sent.

The same key with the same method, path and body is answered the same for 24 hours; with another one it is 422,
and while the first is under way 409. Keys of two tokens, or of two workspaces, never meet. Not stored are 5xx,
and refusals of a request that did no work: not authenticated, not allowed, malformed, too many. Stored answers
are sealed: one that shows a new secret once does not leave it readable in the database.

A process that dies in between leaves the key locked until the lock runs out; then the work is done again.
"""

import json
from collections.abc import Callable, Coroutine
from datetime import timedelta
from hashlib import sha256
from typing import Any
from uuid import UUID

import structlog
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from pressroom.core.errors import BadSetup, Conflict, InvalidInput, PressroomError
from pressroom.core.ids import EVERY_WORKSPACE, WorkspaceId
from pressroom.entrypoints.api.access import authenticated
from pressroom.entrypoints.api.bodies import require_json
from pressroom.entrypoints.api.parts import product_of
from pressroom.entrypoints.api.problems import error_response
from pressroom.entrypoints.errors import problem_of
from pressroom.workspaces.idempotency import LONGEST_KEY, Held, StoredResponse, begin, finish, forget
from pressroom.workspaces.model import Access, Sealed, Verb
from pressroom.workspaces.sealing import Keyring

log = structlog.get_logger()

Handler = Callable[[Request], Coroutine[Any, Any, Response]]

READS = frozenset({"GET", "HEAD", "OPTIONS"})
#: Statuses of refusals that did no work: the same request may well succeed later.
NOT_STORED = frozenset({401, 403, 408, 415, 429})
LONGER_THAN_THE_REQUEST = timedelta(seconds=10)
STORED_HEADERS = ("cache-control", "content-type", "etag", "link", "location")


class ApiRoute(APIRoute):
    """A route of the API: authenticated, JSON in and out, and repeatable when it writes."""

    def get_route_handler(self) -> Handler:
        answer = super().get_route_handler()

        async def handle(request: Request) -> Response:
            access = await authenticated(request)
            if request.method in READS:
                return await answer(request)
            await require_json(request)
            key = request.headers.get("idempotency-key")
            workspace_id = _workspace_of(request)
            if (
                key is None
                or workspace_id is None
                or not any(access.allows(workspace_id, verb) for verb in Verb)
            ):
                return await answer(request)
            return await _answer_once(request, answer, access, workspace_id, key)

        return handle


async def _answer_once(
    request: Request, answer: Handler, access: Access, workspace_id: WorkspaceId, key: str
) -> Response:
    product = product_of(request)
    keeper = _Keeper(product.keyring, workspace_id, _stored_key(access, key))
    try:
        begun = await begin(
            product.db,
            workspace_id=workspace_id,
            key=keeper.key,
            request_hash=await _hash_of(request),
            lock_for=timedelta(seconds=product.settings.api_request_seconds) + LONGER_THAN_THE_REQUEST,
        )
    except Conflict as error:
        response = error_response(request.scope, error)
        response.headers["Retry-After"] = "1"
        return response
    if isinstance(begun, StoredResponse):
        return keeper.replay(begun)
    try:
        response = await _answered(request, answer)
    except Exception:  # whatever it was, it is answered further out; here only the key is given back
        await _give_back(request, begun)
        raise
    if response.status_code >= 500 or response.status_code in NOT_STORED:
        await _give_back(request, begun)
    else:
        await _store(request, begun, keeper.stored(response))
    return response


async def _answered(request: Request, answer: Handler) -> Response:
    """The route's answer, one of our own refusals included; what did no work is raised."""
    try:
        return await answer(request)
    except (RequestValidationError, HTTPException):
        raise
    except PressroomError as error:
        status = problem_of(error).status
        if status >= 500 or status in NOT_STORED:
            raise
        return error_response(request.scope, error)


async def _give_back(request: Request, held: Held) -> None:
    """A failure here must not hide what went wrong before: the key is then free when its lock runs out."""
    try:
        await forget(product_of(request).db, held=held)
    except Exception:  # logged: the caller is told the cause
        log.exception("an Idempotency-Key could not be given back; it stays locked until its lock runs out")


async def _store(request: Request, held: Held, stored: StoredResponse) -> None:
    """The work is done: a failure to store its answer must not look like a failure of the work."""
    try:
        kept = await finish(product_of(request).db, held=held, response=stored)
    except PressroomError:
        log.exception("the answer of a done request could not be stored; a repetition would do it again")
        return
    if not kept:
        log.warning("a request outlived the lock of its Idempotency-Key; another one may have done the same")


class _Keeper:
    """Seals an answer for the database, and opens it again."""

    def __init__(self, keyring: Keyring, workspace_id: WorkspaceId, key: str) -> None:
        self._keyring = keyring
        self._workspace_id = workspace_id
        self.key = key

    def stored(self, response: Response) -> StoredResponse:
        headers = {name: response.headers[name] for name in STORED_HEADERS if name in response.headers}
        sealed = self._keyring.seal(self._workspace_id, self._name, bytes(response.body).decode())
        body = sealed.key_id.encode() + b"\0" + sealed.nonce + sealed.ciphertext
        return StoredResponse(response.status_code, headers, body)

    def replay(self, stored: StoredResponse) -> Response:
        key_id, _, rest = stored.body.partition(b"\0")
        sealed = Sealed(key_id.decode(), rest[:12], rest[12:])
        try:
            body = self._keyring.unseal(self._workspace_id, self._name, sealed)
        except BadSetup as error:
            raise Conflict(
                "this request was done before, but its answer cannot be opened any more",
                hint="the key that sealed it is gone; look at what it made, and use a new Idempotency-Key",
            ) from error
        response = Response(body, stored.status, dict(stored.headers))
        response.headers["Idempotency-Replayed"] = "true"
        return response

    @property
    def _name(self) -> str:
        return f"idempotency/{self.key}"


def _workspace_of(request: Request) -> WorkspaceId | None:
    """The path's workspace, the nil one where the path has none; None for what is no id."""
    try:
        return WorkspaceId(UUID(request.path_params["workspace_id"]))
    except KeyError:
        return EVERY_WORKSPACE
    except ValueError:
        return None


def _stored_key(access: Access, key: str) -> str:
    if not 0 < len(key) <= LONGEST_KEY or not key.isprintable():
        raise InvalidInput(
            f"Idempotency-Key must be 1 to {LONGEST_KEY} printable characters",
            hint="a random uuid for each new request does it",
            field="Idempotency-Key",
        )
    return sha256(json.dumps([access.token_id, key]).encode()).hexdigest()


async def _hash_of(request: Request) -> str:
    asked = json.dumps([request.method, request.url.path, request.url.query]).encode()
    return sha256(asked + b"\0" + await request.body()).hexdigest()
