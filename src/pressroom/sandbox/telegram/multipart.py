"""`multipart/form-data` as tdnet's `HttpReader` reads it: from bytes, part by part, with its refusals.

It is less than the standard and more than a parser of mails: line ends are CRLF, contents are never decoded, and a
part is a file if its disposition has a `filename`, be it empty.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple
from urllib.parse import unquote_to_bytes

from pressroom.sandbox.telegram.refusal import Refusal

BOUNDARY_BYTES = 70
HEADERS_BYTES = 1 << 18  # of all parts together

_FOLDED = re.compile(rb"\r\n?[ \t]")
_BLANKS = b" \t\r\n\0\v"


class TextPart(NamedTuple):
    name: str
    content: bytes
    content_type: str


class FilePart(NamedTuple):
    name: str
    file_name: str
    content: bytes
    content_type: str


class _Head(NamedTuple):
    name: str
    file_name: str | None
    content_type: str


def read_multipart(content_type: str, body: bytes) -> Iterator[TextPart | FilePart]:
    """Raises `Refusal` where the body breaks; the parts before that were given already."""
    if not body:
        return
    mark = b"--" + _boundary(content_type)
    at = body.find(mark)
    if at < 0:
        raise _ended()
    at += len(mark)
    edge = b"\r\n" + mark
    headers_bytes = 0
    while True:
        if len(body) < at + 2:
            raise _ended()
        if body.startswith(b"--", at):
            return
        headers_end = body.find(b"\r\n\r\n", at)
        headers_bytes += (headers_end if headers_end >= 0 else len(body)) - at
        if headers_bytes > HEADERS_BYTES:
            raise Refusal(431, "Request Header Fields Too Large: total headers size exceeded")
        if headers_end < 0:
            raise _ended()
        if headers_end == at:
            raise _broken("headers in multipart/form-data are empty")
        head = _head(body[at + 2 : headers_end + 2])
        start = headers_end + 4
        end = body.find(edge, start)
        if end < 0:
            raise _ended()
        content = body[start:end]
        if head.file_name is None:
            yield TextPart(head.name, content, head.content_type)
        else:
            yield FilePart(head.name, head.file_name, content, head.content_type)
        at = end + len(edge)


def _boundary(content_type: str) -> bytes:
    found = content_type.lower().find("boundary")
    if found < 0:
        raise _broken("boundary not found")
    equals = content_type.find("=", found)
    if equals < 0:
        raise _broken("boundary value not found")
    value = content_type[equals + 1 :].partition(";")[0]
    if len(value) > 1 and value[0] == value[-1] == '"':
        value = value[1:-1]
    if not 0 < len(value) <= BOUNDARY_BYTES:
        raise _broken("boundary too big or empty")
    return value.encode("latin-1")


def _head(lines: bytes) -> _Head:
    """`lines` end with CRLF each."""
    given: dict[bytes, bytes] = {}
    content_type = b"application/octet-stream"
    for line in _FOLDED.sub(b" ", lines).split(b"\r\n"):
        if not line:
            continue
        label, colon, value = line.partition(b":")
        if not colon:
            raise _broken("can't parse form data headers")
        label, value = label.strip(_BLANKS).lower(), value.strip(_BLANKS)
        if label == b"content-disposition":
            given |= _disposition(value)
        elif label == b"content-type":
            content_type = value
    if not given.get(b"name"):
        raise _broken("field name in multipart/form-data not found")
    file_name = given.get(b"filename")
    return _Head(
        given[b"name"].decode(errors="surrogateescape"),
        None if file_name is None else file_name.decode(errors="replace"),
        content_type.decode("latin-1"),
    )


def _disposition(value: bytes) -> Iterator[tuple[bytes, bytes]]:
    if not value.startswith(b"form-data;"):
        raise _broken("expected form-data content disposition")
    rest = value[len(b"form-data;") :]
    while True:
        key, equals, rest = rest.strip(_BLANKS).partition(b"=")
        if not equals:
            return
        rest = rest.lstrip(_BLANKS)
        if rest.startswith(b'"'):
            found, rest = _quoted(rest)
            rest = rest.lstrip(_BLANKS)
            if rest and not rest.startswith(b";"):
                raise _broken("expected ';' in Content-Disposition header")
            rest = rest[1:]
        else:
            found, _, rest = rest.partition(b";")
            found = found.strip(_BLANKS)
        yield key.strip(_BLANKS), unquote_to_bytes(found)


def _quoted(text: bytes) -> tuple[bytes, bytes]:
    """What stands between the quotation marks, and what comes after."""
    found = bytearray()
    at = 1
    while at < len(text):
        byte = text[at : at + 1]
        at += 1
        if byte == b'"':
            return bytes(found), text[at:]
        if byte == b"\\":
            if at == len(text):
                raise _broken("wrong escape sequence in Content-Disposition header")
            byte = text[at : at + 1]
            at += 1
        found += byte
    raise _broken("unclosed quoted string in Content-Disposition header")


def _broken(why: str) -> Refusal:
    return Refusal(400, f"Bad Request: {why}")


def _ended() -> Refusal:
    return _broken("unexpected end of request content")
