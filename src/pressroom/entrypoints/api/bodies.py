"""What a body has to be before a route looks at it: JSON, and of text that a database can keep."""

import json
import re
from collections.abc import Iterable
from typing import cast

from starlette.exceptions import HTTPException
from starlette.requests import Request

from pressroom.core.errors import InvalidInput

#: Only through such an escape can JSON say what Postgres cannot store: NUL, and half of a surrogate pair.
_SUSPICIOUS = re.compile(rb"\\u(?:0000|[dD][89a-fA-F])")


async def require_json(request: Request) -> None:
    body = await request.body()
    if not body:
        return
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json" and not (kind.startswith("application/") and kind.endswith("+json")):
        raise HTTPException(415, f"the body is {kind or 'of no declared type'}, not application/json")
    if _SUSPICIOUS.search(body):
        _require_storable(body)


def _require_storable(body: bytes) -> None:
    try:
        said: object = json.loads(body)
    except (ValueError, RecursionError):
        return  # the route's own parser says it better
    for text in _texts(said):
        if "\0" in text or any("\ud800" <= sign <= "\udfff" for sign in text):
            raise InvalidInput("the body has a text with NUL or half of a surrogate pair", hint="leave it out")


def _texts(value: object) -> Iterable[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for inner in cast("list[object]", value):
            yield from _texts(inner)
    elif isinstance(value, dict):
        for name, inner in cast("dict[str, object]", value).items():
            yield name
            yield from _texts(inner)
