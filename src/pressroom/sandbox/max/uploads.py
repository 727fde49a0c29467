"""Uploads: addresses that take one file each, the storage behind them, and the tokens by which messages name files.

POST /uploads gives an address of this emulator, in place of the storage hosts of MAX; for video and audio it gives
the token as well, for image and file the storage does. A file is usable once it is processed: until then POST
/messages answers `attachment.not.ready`.
"""

import hashlib
import json
import mimetypes
import re
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import PurePosixPath
from typing import Any, NamedTuple

from pressroom.sandbox.core.world import World
from pressroom.sandbox.max.errors import bad, named
from pressroom.sandbox.max.looks import Looks, is_image, look_at
from pressroom.sandbox.max.model import Bot, Media
from pressroom.sandbox.max.multipart import Broken, Part, file_name, read_parts

MEDIA_BYTES = 256 << 20
TICKETS = 10_000
FILES = 100_000
LARGEST_SIDE = 7680

#: How long a file is processed before messages may use it. A choice of ours: MAX says "larger ones take longer".
PROCESSING: Mapping[str, timedelta] = {
    "image": timedelta(0),
    "file": timedelta(seconds=0.5),
    "audio": timedelta(seconds=1),
    "video": timedelta(seconds=1),
}
#: MB of the documents taken as MiB, which refuses less.
LIMITS = {"image": 50 << 20, "video": 250 << 20, "audio": 256 << 20, "file": 4 << 30}
#: Which extensions MAX forbids is not known; these run when they are opened.
FORBIDDEN = frozenset(
    {"apk", "bat", "cmd", "com", "dll", "exe", "jar", "js", "lnk", "msi", "ps1", "scr", "sh", "vbs"}
)

_RANGE = re.compile(r"bytes (\d{1,12})-(\d{1,12})/(\d{1,12})", re.ASCII)
_TAKEN = b'<?xml version="1.0" encoding="UTF-8" standalone="no"?>\n<retval>1</retval>'


@dataclass(slots=True)
class Ticket:
    """An upload address. `media` is there from the first step on for video and audio."""

    key: str
    kind: str
    bot: Bot
    media: Media | None = None
    used: bool = False
    total: int = 0
    pieces: dict[int, bytes] = field(default_factory=dict[int, bytes])
    held: int = 0  # bytes in the pieces

    def forget_pieces(self) -> None:
        self.pieces.clear()
        self.held = 0


class Stored(NamedTuple):
    """The storage's answer."""

    status: int
    type: bytes
    body: bytes


class Rejected(Exception):
    """The storage does not take it; its answers are not those of the Bot API."""

    def __init__(self, status: int, code: str, reason: str) -> None:
        super().__init__(reason)
        self.status, self.code, self.reason = status, code, reason

    def answer(self) -> Stored:
        body = json.dumps({"error_code": self.code, "error_data": self.reason}).encode()
        return Stored(self.status, b"application/json", body)


class Uploads:
    def __init__(
        self,
        world: World,
        *,
        media_bytes: int = MEDIA_BYTES,
        processing: Mapping[str, timedelta] = PROCESSING,
        token_lifetime: timedelta | None = None,
    ) -> None:
        unknown = set(processing) - set(LIMITS)
        if unknown:
            raise ValueError(f"processing knows {', '.join(LIMITS)}, not {', '.join(sorted(unknown))}")
        self._world = world
        self.media_bytes, self.token_lifetime = media_bytes, token_lifetime
        self.processing = {**PROCESSING, **processing}
        self._tickets: OrderedDict[str, Ticket] = OrderedDict()
        self.files: OrderedDict[str, Media] = OrderedDict()
        self._bytes: OrderedDict[str, bytes] = OrderedDict()
        self._held = 0

    # The three steps

    def ticket(self, bot: Bot, kind: str) -> Ticket:
        if kind not in LIMITS:
            raise bad(f"Invalid value of parameter: type, must be one of {', '.join(LIMITS)}")
        ticket = Ticket(self._word(32), kind, bot)
        if kind in ("video", "audio"):
            ticket.media = self._register(Media(self._number(), kind, self._token(kind)))
        self._tickets[ticket.key] = ticket
        if len(self._tickets) > TICKETS:
            self._tickets.popitem(last=False)
        return ticket

    def find(self, kind: str, key: str) -> Ticket | None:
        ticket = self._tickets.get(key)
        return ticket if ticket is not None and ticket.kind == kind else None

    def limit(self, kind: str) -> int:
        """The longest body worth reading: the file, and what multipart puts around it."""
        return min(LIMITS[kind], self.media_bytes) + 65_536

    def take(self, ticket: Ticket, headers: Mapping[str, str], body: bytes) -> Stored:
        """What the storage does with a request: a whole file, or a piece of one."""
        if ticket.used:
            raise Rejected(400, "400", "UPLOAD_URL_ALREADY_USED")
        type_ = headers.get("content-type", "")
        if type_.lower().startswith("multipart/"):
            part = _file_part(type_, body)
            return self._complete(ticket, part.filename or part.name, part.type, part.content)
        name = file_name(headers.get("content-disposition", "")) or headers.get("x-file-name", "") or "file"
        if "content-range" not in headers:
            return self._complete(ticket, name, type_, body)
        return self._take_piece(ticket, name, headers["content-range"], body)

    def usable(self, kind: str, token: str) -> Media:
        """The file that a message names, or why it cannot be used."""
        media = self.files.get(token)
        if media is None or media.kind != kind:
            raise bad(f"Invalid {'photo' if kind == 'image' else kind} token provided: {token}")
        now = self._world.clock.now()
        if media.expires_at is not None and now >= media.expires_at:
            raise bad(f"Invalid {'photo' if kind == 'image' else kind} token provided: {token}")
        if media.ready_at is None or now < media.ready_at:
            raise named("not_ready")
        return media

    # What is kept

    def add(self, kind: str, name: str, type_: str, content: bytes) -> Media:
        """A file that did not come by an upload: a person's, or an image from an address."""
        media = self._register(Media(self._number(), kind, self._token(kind)))
        self._fill(media, name, type_, content)
        media.ready_at = self._world.clock.now()
        return media

    def adopt(self, media: Media, content: bytes | None) -> None:
        """A file that a state file remembers."""
        self._register(media)
        if content is not None:
            self._hold(media.token, content)

    def bytes_of(self, media: Media) -> bytes | None:
        return self._bytes.get(media.token)

    def content(self, token: str) -> tuple[str, bytes] | None:
        media, content = self.files.get(token), self._bytes.get(token)
        return None if media is None or content is None else (media.type, content)

    def _register(self, media: Media) -> Media:
        self.files[media.token] = media
        if len(self.files) > FILES:
            token, _ = self.files.popitem(last=False)
            self._held -= len(self._bytes.pop(token, b""))
        return media

    def _fill(self, media: Media, name: str, type_: str, content: bytes) -> None:
        looks = look_at(content) or Looks(type_ or mimetypes.guess_type(name)[0] or "application/octet-stream")
        media.name, media.type, media.size = name[:255], looks.type, len(content)
        media.width, media.height = looks.width, looks.height
        media.sha256 = hashlib.sha256(content).hexdigest()
        self._hold(media.token, content)

    def _hold(self, token: str, content: bytes) -> None:
        self._held += len(content) - len(self._bytes.pop(token, b""))
        self._bytes[token] = content
        while self._held > self.media_bytes and self._bytes:
            _, dropped = self._bytes.popitem(last=False)
            self._held -= len(dropped)

    # Inside the storage

    def _complete(self, ticket: Ticket, name: str, type_: str, content: bytes) -> Stored:
        name = PurePosixPath(name.replace("\\", "/").replace("\x00", "")).name or "file"
        self._check(ticket.kind, name, type_, content)
        media = ticket.media or self._register(Media(self._number(), ticket.kind, self._token(ticket.kind)))
        self._fill(media, name, type_, content)
        now = self._world.clock.now()
        media.ready_at = now + self.processing[ticket.kind].total_seconds()
        if self.token_lifetime is not None:
            media.expires_at = now + self.token_lifetime.total_seconds()
        ticket.media, ticket.used = media, True
        ticket.forget_pieces()
        return _answer(ticket.kind, media, self._word(16))

    def _check(self, kind: str, name: str, type_: str, content: bytes) -> None:
        if not content:
            raise Rejected(400, "400", "EMPTY_FILE")
        if len(content) > LIMITS[kind]:
            raise Rejected(413, "413", "FILE_IS_TOO_BIG")
        looks = look_at(content)
        if kind == "image" and (not is_image(looks) or _too_wide(looks)):
            raise Rejected(200, "503", "IMAGE_INVALID_FORMAT")
        if kind == "video" and (is_image(looks) or type_.startswith("image/")):
            raise Rejected(415, "415", "UNSUPPORTED_MEDIA_TYPE")
        if kind == "audio" and (type_ == "audio/wav" or is_image(looks)):
            raise Rejected(415, "415", "UNSUPPORTED_MEDIA_TYPE")
        if kind == "file" and PurePosixPath(name).suffix.lower().removeprefix(".") in FORBIDDEN:
            raise Rejected(400, "400", "File extension is forbidden")

    def _take_piece(self, ticket: Ticket, name: str, spoken: str, body: bytes) -> Stored:
        """Pieces may come in any order and again; the last missing one completes the file."""
        found = _RANGE.fullmatch(spoken)
        begin, end, total = (int(each) for each in found.groups()) if found else (0, 0, 0)
        if not found or not begin <= end < total or end - begin + 1 != len(body):
            raise Rejected(400, "400", "INVALID_CONTENT_RANGE")
        if total > min(LIMITS[ticket.kind], self.media_bytes):
            raise Rejected(413, "413", "FILE_IS_TOO_BIG")
        if ticket.pieces and total != ticket.total:
            raise Rejected(400, "400", "INVALID_CONTENT_RANGE")
        self._make_room(ticket, len(body))
        ticket.total = total
        ticket.held += len(body) - len(ticket.pieces.get(begin, b""))
        ticket.pieces[begin] = body
        content = _assembled(ticket)
        if content is not None:
            return self._complete(ticket, name, "", content)
        return Stored(201, b"text/plain", f"{begin}-{end}/{total}".encode())

    def _make_room(self, mine: Ticket, size: int) -> None:
        """Half-finished uploads share one file store's worth of memory; the oldest others start again."""
        open_tickets = [ticket for ticket in self._tickets.values() if ticket.pieces]
        held = sum(ticket.held for ticket in open_tickets) + size
        for ticket in open_tickets:
            if held <= self.media_bytes:
                return
            held -= ticket.held
            ticket.forget_pieces()
            if ticket is mine:
                raise Rejected(413, "413", "FILE_IS_TOO_BIG")

    def _word(self, length: int) -> str:
        letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-"
        return "".join(self._world.chance.choices(letters, k=length))

    def _token(self, kind: str) -> str:
        return f"{kind[0]}9LHodD0{self._word(48)}"

    def _number(self) -> int:
        return self._world.chance.randrange(10**9, 10**10)


def _answer(kind: str, media: Media, key: str) -> Stored:
    if kind in ("video", "audio"):
        return Stored(200, b"application/xml", _TAKEN)
    answer: dict[str, Any] = {"fileId": media.id, "token": media.token}
    if kind == "image":
        answer = {"photos": {key: {"token": media.token}}}
    return Stored(200, b"application/json", json.dumps(answer).encode())


def _file_part(type_: str, body: bytes) -> Part:
    """`data`, as the documents say, `file`, as a storage was seen to ask, or any part that is a file."""
    try:
        parts = read_parts(type_, body)
    except Broken as error:
        raise Rejected(400, "400", f"BAD_MULTIPART: {error}") from None
    for part in parts:
        if part.name in ("data", "file") or part.filename is not None:
            return part
    raise Rejected(415, "415", "NO_FILE_IN_REQUEST")


def _too_wide(looks: Looks | None) -> bool:
    return looks is not None and max(looks.width or 0, looks.height or 0) > LARGEST_SIDE


def _assembled(ticket: Ticket) -> bytes | None:
    if ticket.held < ticket.total:
        return None
    parts: list[bytes] = []
    position = 0
    for begin in sorted(ticket.pieces):
        piece = ticket.pieces[begin]
        if begin > position:
            return None
        parts.append(piece[position - begin :])
        position = max(position, begin + len(piece))
    return b"".join(parts) if position == ticket.total else None
