"""Who asks: bearer tokens, and what they allow where.

A token that was just looked up is remembered for a second, so that a busy client costs one look-up a second and
not one a request. A revoked or expired token therefore opens nothing after one second at the latest, in every
process; in the process that revokes it, at once. Unknown tokens are never remembered.
"""

import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from hashlib import sha256
from typing import Annotated, cast

from fastapi import Depends, Path, Request, Security
from fastapi.security import HTTPBearer

from pressroom.core.errors import Forbidden, Unauthorized
from pressroom.core.ids import EVERY_WORKSPACE, WorkspaceId
from pressroom.db.database import Database
from pressroom.workspaces.model import Access, Verb
from pressroom.workspaces.tokens import resolve_token

REMEMBERED_SECONDS = 1.0
MOST_REMEMBERED = 1024
_KEY = "pressroom.access"


class Tokens:
    def __init__(self, db: Database) -> None:
        self._db = db
        self._known: OrderedDict[bytes, tuple[float, Access]] = OrderedDict()
        self._forgotten = 0  # times

    async def access(self, secret: str) -> Access:
        digest = sha256(secret.encode("utf-8", "surrogatepass")).digest()
        now = time.monotonic()
        known = self._known.get(digest)
        if known is not None and known[0] > now:
            return known[1]
        forgotten = self._forgotten
        access = await resolve_token(self._db, secret=secret)
        if forgotten != self._forgotten:  # it may have been looked up before what made us forget
            return access
        self._known[digest] = now + REMEMBERED_SECONDS, access  # from before the look-up: never too long
        self._known.move_to_end(digest)
        if len(self._known) > MOST_REMEMBERED:
            self._known.popitem(last=False)
        return access

    def forget(self) -> None:
        self._forgotten += 1
        self._known.clear()


_scheme = HTTPBearer(
    auto_error=False, bearerFormat="prs_api_…", description="An API token, see `pressroom token`."
)


async def authenticated(request: Request) -> Access:
    """What the request's token allows; resolved once for each request."""
    known = cast("Access | None", request.scope.get(_KEY))
    if known is None:
        tokens = cast("Tokens", request.app.state.tokens)
        known = request.scope[_KEY] = await tokens.access(bearer_of(request))
    return known


def bearer_of(request: Request) -> str:
    scheme, _, secret = request.headers.get("authorization", "").partition(" ")
    if scheme.lower() != "bearer" or not secret.strip():
        raise Unauthorized(
            "this needs a token",
            hint="send `Authorization: Bearer <token>`; `pressroom token create` makes one",
        )
    return secret.strip()


async def _documented(request: Request, _shown: Annotated[object, Security(_scheme)]) -> Access:
    return await authenticated(request)


Bearer = Annotated[Access, Depends(_documented)]


def _may(verb: Verb) -> Callable[..., Awaitable[WorkspaceId]]:
    async def may(
        access: Bearer, workspace_id: Annotated[WorkspaceId, Path(description="The workspace's id.")]
    ) -> WorkspaceId:
        if not access.allows(workspace_id, verb):
            raise Forbidden(
                f"this token lacks the verb `{verb}` in workspace {workspace_id}",
                hint=f"make one with `pressroom token create --verb {verb}`",
            )
        return workspace_id

    return may


def require_everywhere(access: Access, verb: Verb, what: str) -> None:
    if not access.allows(EVERY_WORKSPACE, verb):
        raise Forbidden(
            f"{what} needs the verb `{verb}` in all workspaces",
            hint="use a token that was made for all of them",
        )


#: The workspace of the path, for tokens that may do this in it.
Readable = Annotated[WorkspaceId, Depends(_may(Verb.READ))]
Writable = Annotated[WorkspaceId, Depends(_may(Verb.WRITE))]
Administered = Annotated[WorkspaceId, Depends(_may(Verb.ADMIN))]
