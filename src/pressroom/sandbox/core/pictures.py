"""What kind of picture some bytes are, and how large it is, from their first few of them."""

import re
from typing import NamedTuple

_SIZED_FRAME = re.compile(rb"[\xc0-\xc3\xc5-\xc7\xc9-\xcb\xcd-\xcf]")
_BARE_MARKERS = frozenset({0x01, 0xD8, *range(0xD0, 0xD8)})


class Image(NamedTuple):
    mime: str
    width: int
    height: int


def image_of(content: bytes) -> Image | None:
    """PNG, JPEG, GIF, WebP, BMP; None for anything else, and for what ends too early."""
    found = (
        _png(content)
        if content.startswith(b"\x89PNG\r\n\x1a\n")
        else _jpeg(content)
        if content.startswith(b"\xff\xd8")
        else _gif(content)
        if content.startswith((b"GIF87a", b"GIF89a"))
        else _webp(content)
        if content.startswith(b"RIFF") and content[8:12] == b"WEBP"
        else _bmp(content)
        if content.startswith(b"BM")
        else None
    )
    return found if found is not None and found.width > 0 and found.height > 0 else None


def _png(content: bytes) -> Image | None:
    if len(content) < 24 or content[12:16] != b"IHDR":
        return None
    return Image("image/png", _big(content[16:20]), _big(content[20:24]))


def _gif(content: bytes) -> Image | None:
    return None if len(content) < 10 else Image("image/gif", _little(content[6:8]), _little(content[8:10]))


def _bmp(content: bytes) -> Image | None:
    if len(content) < 26:
        return None
    height = int.from_bytes(content[22:26], "little", signed=True)  # negative: the rows come from the top
    return Image("image/bmp", _little(content[18:22]), abs(height))


def _jpeg(content: bytes) -> Image | None:
    """Each segment says how long it is; the one that begins a frame says how large the picture is."""
    at = 2
    while at + 9 <= len(content):
        if content[at] != 0xFF:
            return None
        marker = content[at + 1]
        if marker == 0xFF:
            at += 1
        elif marker in _BARE_MARKERS:
            at += 2
        elif _SIZED_FRAME.match(content, at + 1):
            return Image("image/jpeg", _big(content[at + 7 : at + 9]), _big(content[at + 5 : at + 7]))
        else:
            at += 2 + max(_big(content[at + 2 : at + 4]), 2)
    return None


def _webp(content: bytes) -> Image | None:
    if len(content) < 30:
        return None
    match content[12:16]:
        case b"VP8 ":
            width, height = _little(content[26:28]) & 0x3FFF, _little(content[28:30]) & 0x3FFF
        case b"VP8L":
            bits = _little(content[21:25])
            width, height = (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
        case b"VP8X":
            width, height = _little(content[24:27]) + 1, _little(content[27:30]) + 1
        case _:
            return None
    return Image("image/webp", width, height)


def _big(raw: bytes) -> int:
    return int.from_bytes(raw, "big")


def _little(raw: bytes) -> int:
    return int.from_bytes(raw, "little")
