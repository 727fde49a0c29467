"""Files that bots and people have sent: their contents as long as there is room, and the names that bots know them by.

A content is named by the SHA-256 of its bytes (`unique`). Everybody who sends the same bytes has the same
`file_unique_id`; a `file_id` belongs to one bot, and says by itself which file and kind it means.
"""

import binascii
import hashlib
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections import OrderedDict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from mimetypes import MimeTypes
from pathlib import PurePosixPath

from pressroom.sandbox.core.pictures import image_of
from pressroom.sandbox.telegram.model import Media

CONTENT_BYTES = 256 << 20  # of all contents that are kept
KNOWN = 100_000  # files whose contents may have been dropped since, and which can still be sent again
LINK_SECONDS = 3600
WHOLE = ""  # the size of a photo that is the photo itself; others are "s", "m", "x"

KINDS = ("photo", "video", "animation", "audio", "voice", "video_note", "document", "sticker", "thumbnail")
#: As the refusals call them.
KIND_NAMES = {
    "photo": "Photo", "video": "Video", "animation": "Animation", "audio": "Audio", "voice": "VoiceNote",
    "video_note": "VideoNote", "document": "Document", "sticker": "Sticker", "thumbnail": "Thumbnail",
}  # fmt: skip
_FOLDERS = {
    "photo": "photos", "video": "videos", "animation": "animations", "audio": "music", "voice": "voice",
    "video_note": "video_notes", "document": "documents", "sticker": "stickers", "thumbnail": "thumbnails",
}  # fmt: skip
_SIZES = (WHOLE, "s", "m", "x")
_VERSION = 4
_DIGEST, _SEAL = 32, 6
_TYPES = MimeTypes(filenames=())
_TYPES.add_type("image/webp", ".webp")
_TYPES.add_type("audio/ogg", ".ogg")
_TYPES.add_type("audio/ogg", ".oga")
_TYPES.add_type("audio/mp4", ".m4a")
_TYPES.add_type("application/x-tgsticker", ".tgs")


class WrongFileId(ValueError):
    """The reason, in TDLib's words."""


@dataclass(frozen=True, slots=True)
class Known:
    unique: str
    size: int
    name: str | None
    mime: str
    width: int = 0
    height: int = 0

    @property
    def is_image(self) -> bool:
        return self.width > 0


@dataclass(frozen=True, slots=True)
class FileName:
    """What a `file_id` says."""

    kind: str
    unique: str
    size: str = WHOLE


class Files:
    """`known` bounds how many of everything are remembered; what is forgotten of a file goes with its content."""

    def __init__(
        self, now: Callable[[], float], content_bytes: int = CONTENT_BYTES, known: int = KNOWN
    ) -> None:
        self._now, self._room, self._most = now, content_bytes, known
        self._known: OrderedDict[str, Known] = OrderedDict()
        self._contents: OrderedDict[str, bytes] = OrderedDict()
        self._bytes = 0
        self._described: OrderedDict[tuple[str, str], Media] = OrderedDict()
        self._numbers: dict[int, int] = {}  # of the last path, by bot
        self._paths: OrderedDict[tuple[int, FileName], str] = OrderedDict()
        self._links: OrderedDict[tuple[int, str], tuple[FileName, float]] = OrderedDict()

    def keep(self, content: bytes, name: str | None = None, mime: str | None = None) -> Known:
        """Contents that came again count as new ones, and keep the name they came with first."""
        unique = hashlib.sha256(content).hexdigest()
        known = self._known.get(unique)
        if known is None:
            image = image_of(content)
            width, height = (image.width, image.height) if image else (0, 0)
            mime = mime or (image.mime if image else None) or mime_of(name)
            known = self._known[unique] = Known(unique, len(content), name, mime, width, height)
        self._known.move_to_end(unique)
        if unique not in self._contents:
            self._bytes += len(content)
        self._contents[unique] = content
        self._contents.move_to_end(unique)
        while self._bytes > self._room and self._contents:
            self._drop_content(next(iter(self._contents)))
        while len(self._known) > self._most:
            oldest, _ = self._known.popitem(last=False)
            self._drop_content(oldest)
        return known

    def _drop_content(self, unique: str) -> None:
        self._bytes -= len(self._contents.pop(unique, b""))

    def known(self, unique: str) -> Known | None:
        return self._known.get(unique)

    def describe(self, media: Media) -> None:
        """Remember what was said of a file when it was sent, for when it is sent again by its `file_id`."""
        self._described[media.kind, media.file_unique] = media
        if len(self._described) > self._most:
            self._described.popitem(last=False)

    def media(self, kind: str, unique: str) -> Media | None:
        return self._described.get((kind, unique))

    def content(self, unique: str) -> bytes | None:
        """None when it was dropped."""
        return self._contents.get(unique)

    def __iter__(self) -> Iterator[tuple[Known, bytes]]:
        """Those whose contents are kept, the oldest first."""
        for unique, content in list(self._contents.items()):
            if (known := self._known.get(unique)) is not None:
                yield known, content

    def link(self, bot_id: int, name: FileName) -> str | None:
        """The path under which the bot may get the file for an hour from now; None when the content was dropped."""
        if name.unique not in self._contents:
            return None
        now = self._now()
        self._forget_links(now)
        path = self._paths.get((bot_id, name))
        if path is None:
            path = self._paths[bot_id, name] = self._new_path(bot_id, name)
            if len(self._paths) > self._most:
                self._paths.popitem(last=False)
        self._links[bot_id, path] = (name, now + LINK_SECONDS)
        self._links.move_to_end((bot_id, path))
        if len(self._links) > self._most:
            self._links.popitem(last=False)
        return path

    def _new_path(self, bot_id: int, name: FileName) -> str:
        known = self._known.get(name.unique)
        ending = PurePosixPath(known.name or "").suffix if known else ""
        ending = ending or _TYPES.guess_extension(known.mime if known else "") or ""
        if not (ending.isascii() and ending[1:].isalnum()):
            ending = ""
        number = self._numbers.get(bot_id, -1) + 1
        self._numbers[bot_id] = number
        return f"{_FOLDERS[name.kind]}/file_{number}{ending}"

    def download(self, bot_id: int, path: str) -> bytes | None:
        """None when there is no such link, or no longer."""
        link = self._links.get((bot_id, path))
        return None if link is None or self._now() >= link[1] else self._contents.get(link[0].unique)

    def _forget_links(self, now: float) -> None:
        while self._links:
            link, (_, until) = next(iter(self._links.items()))
            if now < until:
                return
            del self._links[link]


def mime_of(name: str | None) -> str:
    return _TYPES.guess_type(name or "")[0] or "application/octet-stream"


# Names of files


def file_id(bot_id: int, name: FileName) -> str:
    body = bytes((KINDS.index(name.kind), _SIZES.index(name.size))) + bytes.fromhex(name.unique)
    return urlsafe_b64encode(body + _seal(bot_id, body) + bytes((_VERSION,))).decode().rstrip("=")


def file_unique_id(name: FileName) -> str:
    kind = b"\x01\x00\x03" if name.kind in ("photo", "thumbnail") else b"\x02\x00\x03"
    return urlsafe_b64encode(kind + bytes.fromhex(name.unique)[:9]).decode() + name.size


def read_file_id(bot_id: int, given: str) -> FileName | None:
    """None for a name that could be one, but of another bot, or of no file. Raises `WrongFileId`."""
    raw = _decoded(given)
    if not raw:
        raise WrongFileId("Remote file identifier must be non-empty")
    if raw[-1] != _VERSION:
        raise WrongFileId("Wrong remote file identifier specified: can't unserialize it. Wrong last symbol")
    if len(raw) != 2 + _DIGEST + _SEAL + 1:
        return None
    body, seal = raw[: 2 + _DIGEST], raw[2 + _DIGEST : -1]
    if seal != _seal(bot_id, body) or body[0] >= len(KINDS) or body[1] >= len(_SIZES):
        return None
    return FileName(KINDS[body[0]], body[2:].hex(), _SIZES[body[1]])


def _decoded(given: str) -> bytes:
    bare = given.rstrip("=")
    padding = len(given) - len(bare)
    reason = ""
    if padding > 2:
        reason = "Wrong string padding"
    elif padding and len(given) % 4:
        reason = "Wrong padding length"
    elif len(bare) % 4 == 1:
        reason = "Wrong string length"
    elif not bare.isascii() or (not bare.replace("-", "a").replace("_", "a").isalnum() and bare):
        reason = "Wrong character in the string"
    if reason:
        raise WrongFileId(f"Wrong remote file identifier specified: {reason}")
    try:
        return urlsafe_b64decode(bare + "=" * (-len(bare) % 4))
    except binascii.Error as error:
        raise WrongFileId(f"Wrong remote file identifier specified: {error}") from None


def _seal(bot_id: int, body: bytes) -> bytes:
    return hashlib.sha256(b"%d %b" % (bot_id, body)).digest()[:_SEAL]
