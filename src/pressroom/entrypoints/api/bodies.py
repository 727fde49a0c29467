"""What a body has to be before a route looks at it: JSON, and of text that a database can keep."""

import re

from starlette.exceptions import HTTPException
from starlette.requests import Request

from pressroom.core.storable import DEEPEST, parse_json, require_storable

#: Without one of these JSON cannot say what Postgres cannot store: an escape of NUL or of half of a surrogate
#: pair, an exponent of three digits, 200 digits in a row, or a word for no number.
_SUSPICIOUS = re.compile(rb"\\u(?:0000|[dD][89a-fA-F])|\d[eE]\+?\d{3}|\d{200}|NaN|Infinity")


async def require_json(request: Request) -> None:
    body = await request.body()
    if not body:
        return
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json" and not (kind.startswith("application/") and kind.endswith("+json")):
        raise HTTPException(415, f"the body is {kind or 'of no declared type'}, not application/json")
    if _SUSPICIOUS.search(body) or body.count(b"[") + body.count(b"{") > DEEPEST:
        try:
            said = parse_json(body)
        except (ValueError, RecursionError):
            return  # the route's own parser says it better
        require_storable(said)
