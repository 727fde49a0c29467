"""The storage hosts of MAX, played by this emulator: where files are sent to, and fetched from."""

import re

from starlette.types import Receive, Scope, Send

from pressroom.sandbox.core.wire import TooLarge, answer, read_body, to_json
from pressroom.sandbox.max.errors import named
from pressroom.sandbox.max.uploads import Rejected, Ticket, Uploads


def ticket_of(uploads: Uploads, verb: str, path: str) -> Ticket:
    """The upload address that a request goes to: it is the key, tokens of bots are not looked at."""
    _, _, kind, *rest = path.split("/")
    ticket = uploads.find(kind, rest[0]) if len(rest) == 1 else None
    if ticket is None:
        raise Rejected(404, "404", "UPLOAD_URL_IS_UNKNOWN")
    if verb != "POST":
        raise Rejected(405, "405", "METHOD_IS_NOT_ALLOWED")
    return ticket


async def read_file(uploads: Uploads, ticket: Ticket, receive: Receive) -> bytes:
    try:
        return await read_body(receive, uploads.limit(ticket.kind))
    except TooLarge:
        raise Rejected(413, "413", "FILE_IS_TOO_BIG") from None


def headers_of(scope: Scope) -> dict[str, str]:
    """The first of each name counts."""
    return {name.decode("latin-1"): _readable(value) for name, value in reversed(scope["headers"])}


async def show_file(uploads: Uploads, path: str, scope: Scope, send: Send) -> None:
    found = uploads.content(path.removeprefix("/media/"))
    if scope["method"] != "GET" or found is None:
        await answer(send, 404, to_json(named("not_found").as_json()))
        return
    kind, content = found
    safe = (
        (b"x-content-type-options", b"nosniff"),
        (b"content-security-policy", b"sandbox; default-src 'none'"),
    )
    await answer(send, 200, content, content_type=_header_value(kind), headers=safe)


def _readable(value: bytes) -> str:
    """Headers are UTF-8 where they can be: file names come so."""
    try:
        return value.decode()
    except UnicodeDecodeError:
        return value.decode("latin-1")


def _header_value(kind: str) -> bytes:
    return kind.encode() if re.fullmatch(r"[\w.+/;= -]+", kind, re.ASCII) else b"application/octet-stream"
