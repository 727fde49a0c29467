import struct

import pytest

from pressroom.sandbox.core.pictures import Image, image_of
from tests.sandbox.telegram.api import jpeg_head, png

GIF = b"GIF89a" + struct.pack("<HH", 31, 17) + bytes(3)
BMP = b"BM" + bytes(12) + struct.pack("<Iii", 40, 12, -9)
WEBP = {
    "lossy": b"VP8 " + bytes(10) + struct.pack("<HH", 21 | 0x4000, 11),
    "lossless": b"VP8L" + bytes(4) + b"\x2f" + struct.pack("<I", (21 - 1) | (11 - 1) << 14) + bytes(9),
    "extended": b"VP8X" + bytes(8) + (21 - 1).to_bytes(3, "little") + (11 - 1).to_bytes(3, "little"),
}


def webp(kind: str) -> bytes:
    return b"RIFF" + bytes(4) + b"WEBP" + WEBP[kind]


@pytest.mark.parametrize(
    ("content", "image"),
    [
        (png(40, 30), Image("image/png", 40, 30)),
        (jpeg_head(640, 480), Image("image/jpeg", 640, 480)),
        (GIF, Image("image/gif", 31, 17)),
        (BMP, Image("image/bmp", 12, 9)),
        (webp("lossy"), Image("image/webp", 21, 11)),
        (webp("lossless"), Image("image/webp", 21, 11)),
        (webp("extended"), Image("image/webp", 21, 11)),
    ],
)
def test_a_picture_says_what_it_is_and_how_large(content, image):
    assert image_of(content) == image


@pytest.mark.parametrize("content", [png(), jpeg_head(640, 480), GIF, BMP, *map(webp, WEBP)])
def test_a_picture_that_ends_too_early_is_none(content):
    needed = next(size for size in range(len(content) + 1) if image_of(content[:size]) is not None)

    assert [image_of(content[:size]) for size in range(needed)] == [None] * needed


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"text",
        b"\xff\xd8" + bytes(40),
        b"\xff\xd8\xff\xff\xff",
        png(0, 30),
        b"RIFFxxxxWEBPVP9 " + bytes(30),
    ],
)
def test_other_bytes_are_no_picture(content):
    assert image_of(content) is None
