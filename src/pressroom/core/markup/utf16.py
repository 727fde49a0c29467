"""The three ways to count a text: characters as Python does, UTF-8 bytes in errors, UTF-16 code units in entities."""

import re
from bisect import bisect_left
from collections.abc import Callable

from pressroom.core.markup.model import ParseFailed

_WIDE = re.compile("[\U00010000-\U0010ffff]")


def check_unicode(text: str) -> None:
    """A lone surrogate cannot be sent to anybody."""
    try:
        text.encode()
    except UnicodeEncodeError:
        raise ParseFailed("text must be encoded in UTF-8") from None


def units(text: str) -> int:
    """UTF-16 code units."""
    return len(text) if text.isascii() else len(text.encode("utf-16-le")) // 2


def unit_of(text: str) -> Callable[[int], int] | None:
    """From the position of a character to that of its first code unit; None where both are the same."""
    if units(text) == len(text):
        return None
    wide = wide_characters(text)
    return lambda position: position + bisect_left(wide, position)


def wide_characters(text: str) -> list[int]:
    """Where those stand that take two code units."""
    return [found.start() for found in _WIDE.finditer(text)]


def bytes_before(text: str, position: int) -> int:
    """The byte offset of a character."""
    return len(text[:position].encode())
