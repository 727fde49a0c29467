"""What Postgres cannot store in text and jsonb, though JSON can say it: found before it gets that far.

That is NUL, half of a surrogate pair, numbers without end, and what is nested too deep to be read again.
"""

import json
import re
from math import inf, isfinite, isnan
from typing import cast

from pressroom.core.errors import InvalidInput

#: Python reads no integer that has more; Postgres would take 131,072.
MOST_DIGITS = 4300
DEEPEST = 200


def parse_json(text: str | bytes) -> object:
    """Numbers that are too large become infinite, so that they can be found and named. ValueError for no JSON."""
    return json.loads(text, parse_int=_integer)


def flaw_of(value: object) -> str | None:
    """Why this one text or number cannot be stored; None when it can."""
    if isinstance(value, str):
        if "\0" in value:
            return "a NUL character"
        if not value.isascii() and any("\ud800" <= sign <= "\udfff" for sign in value):
            return "half of a surrogate pair"
    elif isinstance(value, float) and not isfinite(value):
        return "NaN" if isnan(value) else "a number that is too large"
    return None


def require_storable(value: object) -> None:
    """InvalidInput names the first part of the value that cannot be stored, at whatever depth."""
    rest: list[tuple[str, int, object]] = [("", 0, value)]
    while rest:
        field, depth, part = rest.pop()
        if depth > DEEPEST:
            raise _unstorable(re.split(r"[.\[]", field)[0], f"more than {DEEPEST} levels")
        if flaw := flaw_of(part):
            raise _unstorable(field, flaw)
        if isinstance(part, dict):
            fields = cast("dict[str, object]", part)
            if flaw := next(filter(None, map(flaw_of, fields)), None):
                raise _unstorable(field, f"{flaw} in a name")
            inner = [(f"{field}.{name}".lstrip("."), depth + 1, item) for name, item in fields.items()]
        elif isinstance(part, list):
            items = cast("list[object]", part)
            inner = [(f"{field}[{place}]", depth + 1, item) for place, item in enumerate(items)]
        else:
            continue
        rest.extend(reversed(inner))


def _integer(digits: str) -> int | float:
    return int(digits) if len(digits) <= MOST_DIGITS else inf


def _unstorable(field: str, what: str) -> InvalidInput:
    return InvalidInput(
        f"{field or 'the body'} has {what}, which cannot be stored", hint="leave it out", field=field or None
    )
