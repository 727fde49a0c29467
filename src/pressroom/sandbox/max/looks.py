"""What a file is, by its first bytes: enough to tell images from everything else, and to measure them."""

import struct
from typing import NamedTuple


class Looks(NamedTuple):
    type: str
    width: int | None = None
    height: int | None = None


def look_at(content: bytes) -> Looks | None:
    """None for what is not known."""
    head = content[:32]
    for measure in (_png, _jpeg, _gif, _bmp, _tiff, _boxes, _others):
        found = measure(head, content)
        if found is not None:
            return found
    return None


def is_image(looks: Looks | None) -> bool:
    return looks is not None and looks.type.startswith("image/")


def _png(head: bytes, _content: bytes) -> Looks | None:
    if not head.startswith(b"\x89PNG\r\n\x1a\n"):
        return None
    return Looks("image/png", *struct.unpack(">II", head[16:24])) if len(head) >= 24 else Looks("image/png")


def _gif(head: bytes, _content: bytes) -> Looks | None:
    if head[:6] not in (b"GIF87a", b"GIF89a"):
        return None
    return Looks("image/gif", *struct.unpack("<HH", head[6:10])) if len(head) >= 10 else Looks("image/gif")


def _bmp(head: bytes, _content: bytes) -> Looks | None:
    if not head.startswith(b"BM") or len(head) < 26:
        return None
    width, height = struct.unpack("<ii", head[18:26])
    return Looks("image/bmp", abs(width), abs(height))


def _tiff(head: bytes, _content: bytes) -> Looks | None:
    return Looks("image/tiff") if head[:4] in (b"II*\x00", b"MM\x00*") else None


def _jpeg(head: bytes, content: bytes) -> Looks | None:
    """The size stands in the first start-of-frame segment."""
    if not head.startswith(b"\xff\xd8\xff"):
        return None
    position = 2
    while position + 9 <= len(content) and content[position] == 0xFF:
        marker = content[position + 1]
        if 0xC0 <= marker <= 0xCF and marker not in (0xC4, 0xC8, 0xCC):
            height, width = struct.unpack(">HH", content[position + 5 : position + 9])
            return Looks("image/jpeg", width, height)
        position += 2 + struct.unpack(">H", content[position + 2 : position + 4])[0]
    return Looks("image/jpeg")


_BRANDS = {b"heic": "image/heic", b"heix": "image/heic", b"mif1": "image/heic", b"qt  ": "video/quicktime"}


def _boxes(head: bytes, _content: bytes) -> Looks | None:
    if head[4:8] != b"ftyp":
        return None
    brand = head[8:12]
    return Looks("audio/mp4") if brand[:3] == b"M4A" else Looks(_BRANDS.get(brand, "video/mp4"))


def _others(head: bytes, _content: bytes) -> Looks | None:
    if head.startswith(b"\x1aE\xdf\xa3"):
        return Looks("video/webm")
    if head.startswith(b"RIFF") and head[8:12] == b"WAVE":
        return Looks("audio/wav")
    if head.startswith(b"RIFF") and head[8:12] == b"WEBP":
        return Looks("image/webp")
    if head.startswith(b"ID3") or head[:2] in (b"\xff\xfb", b"\xff\xf3", b"\xff\xf2"):
        return Looks("audio/mpeg")
    return Looks("audio/ogg") if head.startswith(b"OggS") else None
