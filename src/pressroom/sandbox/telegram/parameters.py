"""What a request says: parameters from the query string and the body, in all four encodings, and files.

Everything is text, as it is at the real server: numbers and truths are read leniently from it, and nested objects are
JSON inside it.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from email.message import Message
from email.parser import BytesParser
from typing import Any, cast
from urllib.parse import parse_qsl

from starlette.types import Receive, Scope

from pressroom.sandbox.core.wire import TooLarge, header, read_body
from pressroom.sandbox.telegram.refusal import Refusal

PARAMETERS_BYTES = 1 << 20  # all together
FILES_BYTES = 50 << 20


@dataclass(frozen=True, slots=True)
class Upload:
    name: str
    kind: str  # MIME type, as the client gave it
    content: bytes = field(repr=False)


@dataclass(slots=True)
class Parameters:
    """The first of a name counts."""

    texts: Mapping[str, str]
    files: Mapping[str, Upload] = field(default_factory=dict[str, Upload])

    def text(self, name: str) -> str:
        return self.texts.get(name, "")

    def integer(self, name: str, default: int = 0, least: int = -(1 << 63), most: int = (1 << 63) - 1) -> int:
        """Clamped into its range, never refused."""
        given = self.texts.get(name, "")
        return min(max(integer(given), least), most) if given else default

    def truth(self, name: str) -> bool:
        return self.texts.get(name, "").strip().lower() in ("true", "yes", "1")

    def json(self, name: str) -> Any:
        """None when absent or empty. Raises ValueError when it is no JSON."""
        given = self.texts.get(name, "")
        try:
            return json.loads(given) if given else None
        except RecursionError as error:
            raise ValueError("too deep") from error


def integer(text: str) -> int:
    """As the server reads them: an optional minus and the digits that follow; 0 when there are none."""
    found = re.match(r"-?\d{1,19}", text, re.ASCII)
    return int(found[0]) if found else 0


async def read_parameters(scope: Scope, receive: Receive) -> Parameters:
    if scope["method"] not in ("GET", "POST"):
        raise Refusal(501, "Not Implemented")
    query: bytes = scope["query_string"]
    kind = header(scope, b"content-type")
    lowered = kind.lower()
    limit = PARAMETERS_BYTES - len(query) + (FILES_BYTES if "multipart/form-data" in lowered else 0)
    try:
        body = await read_body(receive, limit)
    except TooLarge:
        raise Refusal(413, "Request Entity Too Large: too many parameters") from None
    found = _urlencoded(query) if query else []
    if body:
        if "application/json" in lowered:
            found += _json_parameters(body)
        elif "application/x-www-form-urlencoded" in lowered:
            found += _urlencoded(body)
        elif "multipart/form-data" in lowered:
            fields, files = _multipart(kind, body)
            return Parameters(dict(reversed(found + fields)), files)
    return Parameters(dict(reversed(found)))


def _urlencoded(raw: bytes) -> list[tuple[str, str]]:
    return parse_qsl(raw.decode(errors="surrogateescape"), keep_blank_values=True, errors="surrogateescape")


def _json_parameters(raw: bytes) -> list[tuple[str, str]]:
    """What is no string keeps its JSON spelling. Without an object there are no parameters, and no complaint."""
    try:
        value = json.loads(raw)
    except (ValueError, RecursionError):
        return []
    if not isinstance(value, dict):
        return []
    given = cast("dict[str, object]", value)
    return [(name, value if isinstance(value, str) else json.dumps(value)) for name, value in given.items()]


def _multipart(kind: str, raw: bytes) -> tuple[list[tuple[str, str]], dict[str, Upload]]:
    message = BytesParser().parsebytes(b"Content-Type: " + kind.encode("latin-1") + b"\r\n\r\n" + raw)
    if not message.is_multipart():
        raise Refusal(400, "Bad Request: boundary not found")
    fields: list[tuple[str, str]] = []
    files: dict[str, Upload] = {}
    for part in cast("list[Message]", message.get_payload()):
        name = part.get_param("name", header="content-disposition")
        content = part.get_payload(decode=True)
        if not isinstance(name, str) or not isinstance(content, bytes):
            continue
        filename = part.get_filename()
        if filename is None:
            fields.append((name, content.decode(errors="surrogateescape")))
        else:
            files.setdefault(name, Upload(filename, part.get_content_type(), content))
    return fields, files
