"""The older dialect Markdown: no nesting, and a backslash before `_`, `*`, the backtick and `[` only."""

import re

from pressroom.core.markup import links
from pressroom.core.markup.entities import markup_of
from pressroom.core.markup.model import Entity, EntityType, Markup, refusal
from pressroom.core.markup.utf16 import bytes_before, check_unicode
from pressroom.core.markup.written import Written

_SPECIAL = re.compile(r"[_*`\[]|\\[_*`\[]")
_LANGUAGE = re.compile("[^ \t\r\n\v\0`]*+")
_NEW_LINE = re.compile(r"\r\n|\n\r|\n|\r")
_FENCE = "```"
_TYPES = {"_": EntityType.ITALIC, "*": EntityType.BOLD, "`": EntityType.CODE}


def parse_markdown(text: str) -> Markup:
    check_unicode(text)
    return _Markdown(text).parsed()


def opened_block(text: str, start: int) -> tuple[str | None, int]:
    """The language behind a fence, and where the text of the block begins."""
    found = _LANGUAGE.match(text, start)
    assert found is not None
    language = None
    if found[0] and found.end() < len(text) and text[found.end()] != "`":
        language, start = found[0], found.end()
    new_line = _NEW_LINE.match(text, start)
    return language, start if new_line is None else new_line.end()


class _Markdown:
    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._written = Written()
        self._found: list[Entity] = []
        self._left_out = 0  # bytes of markup so far

    def parsed(self) -> Markup:
        while True:
            special = _SPECIAL.search(self._text, self._at)
            end = len(self._text) if special is None else special.start()
            self._written.add(self._text[self._at : end])
            self._at = end
            if special is None:
                return markup_of(self._written.whole(), self._found)
            if special[0].startswith("\\"):
                self._written.add(special[0][1])
                self._left_out += 1
                self._at += 2
            elif special[0] == "[":
                self._link()
            elif self._text.startswith(_FENCE, self._at):
                self._block()
            else:
                self._words(special[0])

    def _words(self, sign: str) -> None:
        begin, start = self._at, self._written.length
        words = self._until(sign, begin + 1)
        self._left_out += 2
        if words:
            self._found.append(Entity(_TYPES[sign], start, len(words)))

    def _block(self) -> None:
        begin, start = self._at, self._written.length
        language, self._at = opened_block(self._text, begin + len(_FENCE))
        self._left_out += len(self._text[begin : self._at].encode()) + len(_FENCE)
        text = self._until(_FENCE, self._at, begin)
        if text:
            self._found.append(Entity(EntityType.PRE, start, len(text), language=language))

    def _link(self) -> None:
        start, before = self._written.length, self._left_out
        words = self._until("]", self._at + 1)
        self._left_out += 2
        if not words:
            return
        url = self._url() if self._text.startswith("(", self._at) else _smeared(words, before)
        entity = links.entity_to(url, start, len(words))
        if entity is not None:
            self._found.append(entity)

    def _url(self) -> bytes:
        """As far as the text goes when nothing closes it."""
        end = self._text.find(")", self._at)
        end = len(self._text) if end < 0 else end
        url = self._text[self._at + 1 : end].encode()
        self._left_out += len(url) + 2
        self._at = end + 1
        return url

    def _until(self, sign: str, start: int, begin: int | None = None) -> str:
        """Writes the text up to the sign, and goes on behind it."""
        end = self._text.find(sign, start)
        if end < 0:
            offset = bytes_before(self._text, start - 1 if begin is None else begin)
            raise refusal(f"Can't find end of the entity starting at byte offset {offset}")
        words = self._text[start:end]
        self._written.add(words)
        self._at = end + len(sign)
        return words


def _smeared(words: str, left_out: int) -> bytes:
    """The words of a link as its URL, after so many bytes of markup.

    The real parser reads them where it has begun to write the result over them, so that the URL of `[e.com]` becomes
    `.comm`; the more markup was left out before, the less is wrong.
    """
    url, shift = words.encode(), left_out + 1
    return url[shift:] + url[len(url) - shift :] if shift < len(url) else url
