"""Bodies of multipart/form-data: the parts, with their names and contents."""

import re
from email.message import Message
from typing import NamedTuple

MOST_PARTS = 100


class Part(NamedTuple):
    name: str
    filename: str | None
    type: str
    content: bytes


class Broken(ValueError):
    """The body is not what its content type says."""


_NO_NAME = re.compile(rb"[\r\n]")


def read_parts(content_type: str, body: bytes) -> list[Part]:
    boundary = _parameter("Content-Type", content_type, "boundary")
    if not boundary or len(boundary) > 200:
        raise Broken("no boundary")
    delimiter = b"\r\n--" + boundary.encode("latin-1", "replace")
    position = 0 if body.startswith(delimiter[2:]) else body.find(delimiter) + 2
    if position == 1:
        raise Broken("boundary not found")
    position += len(delimiter) - 2
    parts: list[Part] = []
    while not body.startswith(b"--", position):
        if len(parts) >= MOST_PARTS:
            raise Broken("too many parts")
        end = body.find(delimiter, position)
        if end < 0:
            raise Broken("the last boundary is missing")
        parts.append(_part(body, position, end))
        position = end + len(delimiter)
    return parts


def _part(body: bytes, begin: int, end: int) -> Part:
    head_end = body.find(b"\r\n\r\n", begin, end)
    if head_end < 0 or head_end - begin > 8_192:
        raise Broken("a part has no head")
    headers = _headers(body[begin:head_end])
    disposition = headers.get("content-disposition", "")
    name = _parameter("Content-Disposition", disposition, "name")
    if name is None:
        raise Broken("a part has no name")
    filename = _parameter("Content-Disposition", disposition, "filename")
    return Part(name, filename, headers.get("content-type", ""), body[head_end + 4 : end])


def _headers(raw: bytes) -> dict[str, str]:
    headers: dict[str, str] = {}
    for line in raw.decode("utf-8", "replace").split("\r\n"):
        name, colon, value = line.partition(":")
        if colon:
            headers[name.strip().lower()] = value.strip()
    return headers


def file_name(disposition: str) -> str | None:
    """The file name of a Content-Disposition."""
    return _parameter("Content-Disposition", disposition, "filename")


def _parameter(header: str, value: str, name: str) -> str | None:
    if not value or _NO_NAME.search(value.encode("utf-8", "replace")):
        return None
    message = Message()
    message[header] = value
    found = message.get_param(name, header=header)
    if isinstance(found, tuple):  # RFC 2231: charset, language, text
        charset, _, text = found
        try:
            return text.encode("latin-1").decode(charset or "utf-8")
        except (LookupError, UnicodeError):
            return text
    return found if isinstance(found, str) else None
