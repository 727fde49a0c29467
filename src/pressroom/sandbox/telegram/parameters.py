"""What a request says: parameters from the query string and the body, in all four encodings, and files.

Everything is text, as it is at the real server: numbers and truths are read leniently from it, and nested objects are
JSON inside it. Limits and refusals are those of tdnet's `HttpReader`, and of the proxy before the hosted server.
"""

import json
import re
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import cast
from urllib.parse import parse_qsl

from starlette.types import Receive, Scope

from pressroom.sandbox.core.wire import TooLarge, header, read_body
from pressroom.sandbox.telegram.multipart import FilePart, TextPart, read_multipart
from pressroom.sandbox.telegram.refusal import Refusal

PARAMETERS_BYTES = 1 << 20  # all together
FILE_BYTES = 50 << 20  # of one file
BODY_BYTES = FILE_BYTES + PARAMETERS_BYTES  # that the hosted server's proxy lets through
MOST_FILES = 50

FORM = "application/x-www-form-urlencoded"
_INTEGER = re.compile(r"-?\d{1,19}", re.ASCII)
_NAME = re.compile(r'\s*"')
_FOLLOWS = re.compile(r"\s*:\s*")


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

    def has(self, name: str) -> bool:
        return name in self.texts

    def text(self, name: str) -> str:
        return self.texts.get(name, "")

    def integer(self, name: str, default: int = 0, least: int = -(1 << 63), most: int = (1 << 63) - 1) -> int:
        """Clamped into its range, never refused."""
        given = self.texts.get(name, "")
        return min(max(integer(given), least), most) if given else default

    def truth(self, name: str) -> bool:
        return self.texts.get(name, "").strip().lower() in ("true", "yes", "1")


def integer(text: str) -> int:
    """As the server reads them: an optional minus and the digits that follow; 0 when there are none."""
    found = _INTEGER.match(text)
    return int(found[0]) if found else 0


async def read_parameters(scope: Scope, receive: Receive) -> Parameters:
    if scope["method"] not in ("GET", "POST"):
        raise Refusal(501, "Not Implemented")
    query: bytes = scope["query_string"]
    if len(query) > PARAMETERS_BYTES:
        raise Refusal(413, "Request Entity Too Large: too many parameters")
    kind = header(scope, b"content-type")
    lowered = kind.lower()
    is_form = "multipart/form-data" in lowered
    is_args = not is_form and (FORM in lowered or "application/json" in lowered)
    try:
        body = await read_body(receive, PARAMETERS_BYTES - len(query) if is_args else BODY_BYTES)
        if body and (encoding := header(scope, b"content-encoding").lower()) not in ("", "none"):
            body = _decompressed(body, encoding, PARAMETERS_BYTES - len(query) if is_args else BODY_BYTES)
    except TooLarge:
        too_much = ": too many parameters" if is_args else ""
        raise Refusal(413, f"Request Entity Too Large{too_much}") from None
    found = _urlencoded(query) if query else []
    if is_form:
        return _of_form(found, kind, body, PARAMETERS_BYTES - len(query))
    if not body:
        return Parameters(dict(reversed(found)))
    if "application/json" in lowered and FORM not in lowered:
        found += _json_parameters(body)
    elif is_args:
        found += _urlencoded(body)
    else:  # of any other type: one file, called so
        return Parameters(dict(reversed(found)), {"file": Upload("", kind or "application/octet-stream", body)})
    return Parameters(dict(reversed(found)))


def _decompressed(body: bytes, encoding: str, limit: int) -> bytes:
    if encoding not in ("gzip", "deflate"):
        raise Refusal(415, "Unsupported Media Type: unsupported content-encoding")
    try:
        inflate = zlib.decompressobj(zlib.MAX_WBITS | 32)
        plain = inflate.decompress(body, limit + 1)
    except zlib.error:
        raise Refusal(400, "Bad Request: failed to decode the request content") from None
    if len(plain) > limit:
        raise TooLarge
    if not inflate.eof:
        raise Refusal(400, "Bad Request: unexpected end of request content")
    return plain


def _urlencoded(raw: bytes) -> list[tuple[str, str]]:
    return parse_qsl(raw.decode(errors="surrogateescape"), keep_blank_values=True, errors="surrogateescape")


def _json_parameters(raw: bytes) -> list[tuple[str, str]]:
    """What is no string keeps its JSON spelling. Without an object there are no parameters, and no complaint."""
    try:
        value = json.loads(raw)
    except (ValueError, RecursionError):
        return _before_the_break(raw.decode(errors="surrogateescape"))
    if not isinstance(value, dict):
        return []
    given = cast("dict[str, object]", value)
    return [(name, value if isinstance(value, str) else json.dumps(value)) for name, value in given.items()]


def _before_the_break(text: str) -> list[tuple[str, str]]:
    """Of a broken object, the parameters that stand whole before it breaks: the real server goes on with those."""
    found: list[tuple[str, str]] = []
    decoder = json.JSONDecoder()
    at = text.find("{") + 1
    if text[: max(at - 1, 0)].strip() or not at:
        return []
    try:
        while (name_at := _NAME.match(text, at)) is not None:
            name, at = cast("tuple[str, int]", decoder.raw_decode(text, name_at.end() - 1))
            colon = _FOLLOWS.match(text, at)
            if colon is None:
                break
            value, at = cast("tuple[object, int]", decoder.raw_decode(text, colon.end()))
            found.append((name, value if isinstance(value, str) else json.dumps(value)))
            rest = text[at:].lstrip()
            if not rest.startswith(","):
                break
            at = len(text) - len(rest) + 1
    except (ValueError, RecursionError):
        pass  # here it breaks
    return found


def _of_form(found: list[tuple[str, str]], kind: str, body: bytes, room: int) -> Parameters:
    """`room` is what the query string has left of the bytes for parameters; each field has as many."""
    files: dict[str, Upload] = {}
    count = 0
    for part in read_multipart(kind, body):
        match part:
            case TextPart(name, content, content_type):
                if len(content) > room:
                    raise Refusal(413, "Request Entity Too Large: too many parameters in form data")
                if content_type.startswith(FORM):
                    found += _urlencoded(content)
                else:
                    found.append((name, content.decode(errors="surrogateescape")))
            case FilePart(name, file_name, content, content_type):
                if count == MOST_FILES:
                    raise Refusal(413, "Request Entity Too Large: too many files attached")
                count += 1
                if len(content) > FILE_BYTES:
                    raise Refusal(413, "Request Entity Too Large")
                files.setdefault(name, Upload(file_name, content_type, content))
    return Parameters(dict(reversed(found)), files)
