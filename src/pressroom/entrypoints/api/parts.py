"""What routes share: the product, pages with cursors, and answers with entity tags."""

import base64
import binascii
import json
from collections.abc import Callable, Iterable, Sequence
from hashlib import sha256
from typing import Annotated, Any, Generic, TypeVar, cast

from fastapi import Depends, Header, Query, Request
from pydantic import BaseModel, Field, TypeAdapter, ValidationError
from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.routing import Match, Route
from starlette.types import Scope

from pressroom.core.errors import InvalidInput
from pressroom.core.ids import WorkspaceId
from pressroom.db.database import Database
from pressroom.wiring import Product
from pressroom.workspaces.tenants import get_workspace

Item = TypeVar("Item")
Position = TypeVar("Position")
Place = TypeVar("Place", bound=tuple[Any, ...])


def product_of(request: Request) -> Product:
    return cast("Product", request.app.state.product)


async def _product(request: Request) -> Product:
    return product_of(request)


async def _database(request: Request) -> Database:
    return product_of(request).db


Works = Annotated[Product, Depends(_product)]
Db = Annotated[Database, Depends(_database)]


class PlainRoute(Route):
    """A route without FastAPI's validation around it; it says which one it is, as FastAPI's own do."""

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        match, found = super().matches(scope)
        if match is not Match.NONE:
            found["route"] = self
        return match, found


# -- pages

LARGEST_PAGE = 200

Limit = Annotated[int, Query(ge=1, le=LARGEST_PAGE, description="Items on a page, at most.", examples=[50])]
After = Annotated[
    str | None, Query(max_length=400, description="`next` of the page before; leave it out for the first.")
]


class Page(BaseModel, Generic[Item]):
    """`next` is the `after` of the following page; null on the last one."""

    items: list[Item]
    next: str | None = Field(None, examples=[None])


def cursor(position: object) -> str:
    """A place in a list, in a form that nobody needs to read or make."""
    text = json.dumps(TypeAdapter[object](object).dump_python(position, mode="json"), separators=(",", ":"))
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def position(after: str | None, kind: type[Position]) -> Position | None:
    """What `cursor` made a text of; InvalidInput for any other text."""
    if after is None:
        return None
    try:
        text = base64.b64decode(after + "=" * (-len(after) % 4), altchars=b"-_", validate=True)
        return TypeAdapter(kind).validate_json(text)
    except (binascii.Error, ValueError, ValidationError) as error:
        raise InvalidInput(
            "this is no place in this list", hint="send the `next` of a page", field="after"
        ) from error


def page_of(
    items: Iterable[Item], key: Callable[[Item], Place], after: Place | None, limit: int
) -> tuple[list[Item], str | None]:
    """One page of a list that is short enough to be read whole, in the order of its keys."""
    rest = sorted((item for item in items if after is None or key(item) > after), key=key)
    return rest[:limit], cursor(key(rest[limit - 1])) if len(rest) > limit else None


async def require_workspace(db: Database, workspace_id: WorkspaceId, found: Sequence[object]) -> None:
    """NotFound where there is no such workspace. Asked only when nothing was found in it."""
    if not found:
        await get_workspace(db, workspace_id=workspace_id)


# -- answers

IfMatch = Annotated[
    str | None, Header(description="Change it only if it is still the version with this `ETag`; else 412.")
]


def answer(request: Request, model: BaseModel, status: int = 200) -> Response:
    """A single thing with its ETag; 304 to a reader who has it already."""
    body = model.model_dump_json().encode()
    tag = etag(body)
    headers = {"ETag": tag, "Cache-Control": "no-cache"}
    if request.method == "GET" and _names(request.headers.get("if-none-match"), tag, weak=True):
        return Response(status_code=304, headers=headers)
    return Response(body, status, headers, "application/json")


def answer_once(model: BaseModel, status: int = 201) -> Response:
    """What may not be kept by anybody on the way: an answer that shows a secret."""
    return Response(model.model_dump_json().encode(), status, {"Cache-Control": "no-store"}, "application/json")


def answer_page(request: Request, page: Page[Item]) -> Response:
    headers = {"Cache-Control": "no-cache"}
    if page.next is not None:
        url = request.url.include_query_params(after=page.next)
        headers["Link"] = f'<{url.path}?{url.query}>; rel="next"'
    return Response(page.model_dump_json().encode(), 200, headers, "application/json")


def etag(body: bytes) -> str:
    return '"' + base64.urlsafe_b64encode(sha256(body).digest()[:15]).decode() + '"'


def require_match(if_match: str, present: BaseModel) -> None:
    """412 unless the present version is the one that the caller has seen. To be asked in the transaction that
    changes it, with the row locked: else two callers who have seen the same both change it."""
    tag = etag(present.model_dump_json().encode())
    if not _names(if_match, tag, weak=False):
        raise HTTPException(412, "it was changed since you read it", headers={"ETag": tag})


def _names(header: str | None, tag: str, *, weak: bool) -> bool:
    if header is None:
        return False
    given = [entry.strip() for entry in header.split(",")]
    return "*" in given or tag in ([entry.removeprefix("W/") for entry in given] if weak else given)
