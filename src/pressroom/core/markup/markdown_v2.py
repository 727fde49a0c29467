"""The dialect MarkdownV2: entities nest, quotes are lines, and every sign that could mark something is reserved."""

import re
from dataclasses import dataclass, replace
from typing import NoReturn

from pressroom.core.markup import links
from pressroom.core.markup.entities import markup_of
from pressroom.core.markup.markdown import opened_block
from pressroom.core.markup.model import Entity, EntityType, Markup, refusal
from pressroom.core.markup.utf16 import bytes_before, check_unicode
from pressroom.core.markup.written import Written

_ESCAPED = r"\\[\x01-\x7e]"
_SPECIAL = re.compile(rf"__|\|\||!\[|```|[_*\[\]()~`>#+\-=|{{}}.!\n]|{_ESCAPED}")
_SPECIAL_IN_CODE = re.compile(rf"```|`|{_ESCAPED}")
_URL = re.compile(rf"(?:[^\\)]++|{_ESCAPED}|\\)*+")
_ESCAPED_SIGN = re.compile(r"\\([\x01-\x7e])")
_END = "\0"  # behind the text, where no sign stands

_OPENED_BY = {
    "*": EntityType.BOLD,
    "_": EntityType.ITALIC,
    "__": EntityType.UNDERLINE,
    "~": EntityType.STRIKETHROUGH,
    "||": EntityType.SPOILER,
    "`": EntityType.CODE,
    "```": EntityType.PRE,
    "[": EntityType.TEXT_LINK,
    "![": EntityType.CUSTOM_EMOJI,
}
_CLOSED_BY = {kind: sign for sign, kind in _OPENED_BY.items()} | {
    EntityType.TEXT_LINK: "]",
    EntityType.CUSTOM_EMOJI: "]",
}
_NAMES = {
    EntityType.BOLD: "Bold",
    EntityType.ITALIC: "Italic",
    EntityType.UNDERLINE: "Underline",
    EntityType.STRIKETHROUGH: "Strikethrough",
    EntityType.SPOILER: "Spoiler",
    EntityType.CODE: "Code",
    EntityType.PRE: "Pre",
    EntityType.TEXT_LINK: "TextUrl",
    EntityType.CUSTOM_EMOJI: "CustomEmoji",
    EntityType.BLOCKQUOTE: "BlockQuote",
}


@dataclass(frozen=True, slots=True)
class _Open:
    """`position` is where its sign stands in the source, `start` where its text begins in the result."""

    type: EntityType
    position: int
    start: int
    language: str | None = None


def parse_markdown_v2(text: str) -> Markup:
    check_unicode(text)
    return _MarkdownV2(text).parsed()


class _MarkdownV2:
    def __init__(self, text: str) -> None:
        self._text = text
        self._source = text + _END
        self._at = 0
        self._written = Written()
        self._open: list[_Open] = []
        self._found: list[Entity] = []
        self._in_quote = False
        self._at_line_begin = True  # where a quote may begin

    def parsed(self) -> Markup:
        while True:
            in_code = bool(self._open) and self._open[-1].type in (EntityType.CODE, EntityType.PRE)
            special = (_SPECIAL_IN_CODE if in_code else _SPECIAL).search(self._text, self._at)
            self._plain(len(self._text) if special is None else special.start())
            if special is None:
                return self._whole()
            sign = special[0]
            if sign.startswith("\\"):
                self._escaped(sign[1])
            elif sign == "\n":
                self._new_line()
            elif self._closes():
                self._close()
            elif sign == ">":
                self._quote()
            elif sign in _OPENED_BY:
                self._begin(sign)
            else:
                self._refuse(sign)

    def _whole(self) -> Markup:
        if self._in_quote:
            self._last_quote()
        if self._open:
            self._fail(self._open[-1])
        return markup_of(self._written.whole(), self._found)

    def _plain(self, end: int) -> None:
        text = self._text[self._at : end]
        self._written.add(text)
        self._at = end
        if text.strip("\r"):
            self._at_line_begin = False

    def _escaped(self, sign: str) -> None:
        self._written.add(sign)
        self._at += 2
        if sign != "\r":
            self._at_line_begin = sign == "\n"

    def _refuse(self, sign: str) -> NoReturn:
        raise refusal(f"Character '{sign[0]}' is reserved and must be escaped with the preceding '\\'")

    def _fail(self, opened: _Open) -> NoReturn:
        name = "PreCode" if opened.language is not None else _NAMES[opened.type]
        offset = bytes_before(self._text, opened.position)
        raise refusal(f"Can't find end of {name} entity at byte offset {offset}")

    # -- quotes, which are made of lines

    def _quote(self) -> None:
        """The sign at the beginning of a further line is left out."""
        if not self._at_line_begin:
            self._refuse(">")
        if not self._in_quote:
            self._open.append(_Open(EntityType.BLOCKQUOTE, self._at, self._written.length))
            self._in_quote = True
        self._at += 1

    def _new_line(self) -> None:
        opened = self._quote_that_ends() if self._in_quote and self._source[self._at + 1] != ">" else None
        self._written.add("\n")
        self._at_line_begin = True
        self._at += 1
        if opened is not None:
            self._end_quote(opened)

    def _quote_that_ends(self) -> _Open:
        """Nothing but the quote may be open, or a spoiler that opens at the very end of the line."""
        opened = self._open.pop()
        if opened.type is EntityType.BLOCKQUOTE:
            return opened
        behind = self._text[opened.position : self._at]
        if opened.type is not EntityType.SPOILER or behind not in ("||", "||\r"):
            self._fail(opened)
        return self._expandable_quote()

    def _expandable_quote(self) -> _Open:
        opened = self._open.pop()
        if opened.type is not EntityType.BLOCKQUOTE:
            self._fail(opened)
        return replace(opened, type=EntityType.EXPANDABLE_BLOCKQUOTE)

    def _last_quote(self) -> None:
        """One that the end of the text closes. What else is open is an error that follows."""
        opened = self._open[-1]
        if opened.type is EntityType.BLOCKQUOTE:
            self._end_quote(self._open.pop())
        elif opened.type is EntityType.SPOILER and opened.position == len(self._text) - len("||"):
            self._open.pop()
            self._end_quote(self._expandable_quote())

    def _end_quote(self, opened: _Open) -> None:
        self._in_quote = False
        self._add(Entity(opened.type, opened.start, self._written.length - opened.start))

    # -- all others

    def _begin(self, sign: str) -> None:
        position, language = self._at, None
        self._at += len(sign)
        if sign == "```":
            language, self._at = opened_block(self._text, self._at)
        self._open.append(_Open(_OPENED_BY[sign], position, self._written.length, language))

    def _closes(self) -> bool:
        if not self._open:
            return False
        kind = self._open[-1].type
        sign = _CLOSED_BY.get(kind)
        if sign is None or not self._source.startswith(sign, self._at):
            return False
        return kind is not EntityType.ITALIC or self._source[self._at + 1] != "_"

    def _close(self) -> None:
        opened = self._open.pop()
        length = self._written.length - opened.start
        self._at += len(_CLOSED_BY[opened.type])
        match opened.type:
            case EntityType.TEXT_LINK:
                entity = self._link(opened, length)
            case EntityType.CUSTOM_EMOJI:
                entity = self._emoji_or_date(opened, length)
            case _:
                entity = Entity(opened.type, opened.start, length, language=opened.language)
        if entity is not None:
            self._add(entity)

    def _link(self, opened: _Open, length: int) -> Entity | None:
        """Without a URL the words themselves are one."""
        url = self._url()
        if url is None:
            url = self._written.link_from(opened.start)
        return links.entity_to(links.bytes_of(url), opened.start, length)

    def _emoji_or_date(self, opened: _Open, length: int) -> Entity:
        url = self._url()
        if url is None:
            raise refusal("The entity must contain a tg://emoji or tg://time URL")
        address = links.bytes_of(url)
        custom_emoji_id = links.custom_emoji_of(address)
        if custom_emoji_id is not None:
            return Entity(EntityType.CUSTOM_EMOJI, opened.start, length, custom_emoji_id=custom_emoji_id)
        date = links.date_of(address)
        if date is None:
            raise refusal("Invalid tg://emoji or tg://time URL specified")
        return Entity(EntityType.DATE_TIME, opened.start, length, unix_time=date[0], date_time_format=date[1])

    def _url(self) -> str | None:
        """In parentheses behind the words; None without them."""
        if self._source[self._at] != "(":
            return None
        begin = self._at + 1
        found = _URL.match(self._text, begin)
        assert found is not None
        if self._source[found.end()] != ")":
            raise refusal(f"Can't find end of a URL at byte offset {bytes_before(self._text, begin)}")
        self._at = found.end() + 1
        return _ESCAPED_SIGN.sub(r"\1", found[0])

    def _add(self, entity: Entity) -> None:
        if entity.length:
            self._found.append(entity)
