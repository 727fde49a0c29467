"""What a file is, by its first bytes: enough to tell images from everything else, and to measure them."""

from typing import NamedTuple

from pressroom.sandbox.core.pictures import image_of


class Looks(NamedTuple):
    type: str
    width: int | None = None
    height: int | None = None


_BEGINNINGS = {
    b"\x89PNG\r\n\x1a\n": "image/png",
    b"\xff\xd8\xff": "image/jpeg",
    b"GIF87a": "image/gif",
    b"GIF89a": "image/gif",
    b"II*\x00": "image/tiff",
    b"MM\x00*": "image/tiff",
    b"\x1aE\xdf\xa3": "video/webm",
    b"ID3": "audio/mpeg",
    b"\xff\xfb": "audio/mpeg",
    b"\xff\xf3": "audio/mpeg",
    b"\xff\xf2": "audio/mpeg",
    b"OggS": "audio/ogg",
}
_IN_RIFF = {b"WAVE": "audio/wav", b"WEBP": "image/webp"}
_BRANDS = {b"heic": "image/heic", b"heix": "image/heic", b"mif1": "image/heic", b"qt  ": "video/quicktime"}


def look_at(content: bytes) -> Looks | None:
    """None for what is not known. A picture whose head is cut off has a type and no size."""
    picture = image_of(content)
    if picture is not None:
        return Looks(picture.mime, picture.width, picture.height)
    if content[4:8] == b"ftyp":
        brand = content[8:12]
        return Looks("audio/mp4") if brand[:3] == b"M4A" else Looks(_BRANDS.get(brand, "video/mp4"))
    if content.startswith(b"RIFF"):
        kind = _IN_RIFF.get(content[8:12])
        return None if kind is None else Looks(kind)
    return next((Looks(kind) for begins, kind in _BEGINNINGS.items() if content.startswith(begins)), None)


def is_image(looks: Looks | None) -> bool:
    return looks is not None and looks.type.startswith("image/")
