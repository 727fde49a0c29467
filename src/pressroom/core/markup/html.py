"""The dialect HTML: a few tags, four named references, and strict nesting."""

import re
from dataclasses import dataclass, replace
from typing import NoReturn

from pressroom.core.markup import links
from pressroom.core.markup.entities import markup_of
from pressroom.core.markup.model import Entity, EntityType, Markup, refusal
from pressroom.core.markup.utf16 import bytes_before, check_unicode
from pressroom.core.markup.written import Written

_TYPES = {
    "b": EntityType.BOLD,
    "strong": EntityType.BOLD,
    "i": EntityType.ITALIC,
    "em": EntityType.ITALIC,
    "u": EntityType.UNDERLINE,
    "ins": EntityType.UNDERLINE,
    "s": EntityType.STRIKETHROUGH,
    "strike": EntityType.STRIKETHROUGH,
    "del": EntityType.STRIKETHROUGH,
    "span": EntityType.SPOILER,
    "tg-spoiler": EntityType.SPOILER,
    "a": EntityType.TEXT_LINK,
    "tg-emoji": EntityType.CUSTOM_EMOJI,
    "tg-time": EntityType.DATE_TIME,
    "code": EntityType.CODE,
    "pre": EntityType.PRE,
    "blockquote": EntityType.BLOCKQUOTE,
}
_REFERENCES = {"lt": "<", "gt": ">", "amp": "&", "quot": '"'}
_LONGEST_NUMBER = 9  # characters of a numeric reference before its semicolon
_LAST_CODE = 0x10FFFF  # which is no longer read itself
_SURROGATES = range(0xD800, 0xE000)

_END = "\0"  # ends a tag wherever it stands, and the text when it stands behind it
_SPECIAL = re.compile("[<&]")
_TAG_NAME = re.compile("[^ \t\r\n\v\0>]*+")
_BLANKS = re.compile("[ \t\r\n\v]*+")
_ATTRIBUTE_NAME = re.compile("[^ \t\r\n\v\0=>/\"']*+")
_TOKEN = re.compile(r"[A-Za-z0-9.\-]*+")
_QUOTED = {quote: re.compile(f"[^&\0{quote}]*+") for quote in "\"'"}
_REFERENCE = re.compile(r"&(?:#x([0-9A-Fa-f]*+)|#([0-9]*+)|([A-Za-z]*+))")
_DATE = re.compile(r"(-?)([0-9]*+)")


@dataclass(frozen=True, slots=True)
class _Tag:
    """An open one. `argument` is what its attributes say: a link, a language, a class, an identifier, a format."""

    name: str
    argument: str
    date: int
    start: int


def parse_html(text: str) -> Markup:
    check_unicode(text)
    return _Html(text).parsed()


class _Html:
    def __init__(self, text: str) -> None:
        self._text = text
        self._source = text + _END
        self._at = 0
        self._written = Written()
        self._open: list[_Tag] = []
        self._found: list[Entity] = []
        self._has_surrogates = False

    def parsed(self) -> Markup:
        size = len(self._text)
        while True:
            special = _SPECIAL.search(self._source, self._at, size)
            end = size if special is None else special.start()
            self._written.add(self._source[self._at : end])
            self._at = end
            if special is None:
                return self._whole()
            if self._source[end] == "&":
                self._written.add(self._reference() or self._next())
            elif self._source[end + 1] == "/":
                self._end_tag()
            else:
                self._start_tag()

    def _whole(self) -> Markup:
        if self._open:
            raise refusal(f'Can\'t find end tag corresponding to start tag "{self._open[-1].name}"')
        if self._has_surrogates:
            raise refusal(
                "Text contains invalid Unicode characters after decoding HTML entities, check for unmatched surrogate"
                " code units"
            )
        found = [
            replace(one, language=None) if one.type is EntityType.CODE and one.language else one
            for one in self._found
        ]
        return markup_of(self._written.whole(), found)

    def _next(self) -> str:
        self._at += 1
        return self._source[self._at - 1]

    def _reference(self) -> str:
        """What it stands for; empty when it is none and stays as it is."""
        found = _REFERENCE.match(self._source, self._at)
        assert found is not None
        sign = _decoded(found)
        if sign:
            self._at = found.end() + (self._source[found.end()] == ";")
            self._has_surrogates |= ord(sign) in _SURROGATES
        return sign

    # -- tags

    def _start_tag(self) -> None:
        begin = self._at
        name = _ascii_lower(self._take(_TAG_NAME, begin + 1))
        if self._source[self._at] == _END:
            self._fail("Unclosed start tag", begin)
        if name not in _TYPES:
            self._fail(f'Unsupported start tag "{name}"', begin)
        argument, date = self._attributes(name, begin)
        if name == "span" and argument != "spoiler":
            self._fail('Tag "span" must have class "tg-spoiler"', begin)
        self._open.append(_Tag(name, argument, date, self._written.length))
        self._at += 1

    def _end_tag(self) -> None:
        begin = self._at
        if not self._open:
            self._fail("Unexpected end tag", begin)
        name = _ascii_lower(self._take(_TAG_NAME, begin + 2))
        self._take(_BLANKS)
        if self._source[self._at] != ">":
            self._fail("Unclosed end tag", begin)
        tag = self._open.pop()
        if name not in ("", tag.name):
            raise refusal(
                f"Unmatched end tag at byte offset {bytes_before(self._text, begin)},"
                f' expected "</{tag.name}>", found "</{name}>"'
            )
        self._at += 1
        if self._written.length > tag.start:
            self._mark(tag)

    def _attributes(self, tag: str, begin: int) -> tuple[str, int]:
        argument, date = "", 0
        while self._source[self._at] != ">":
            self._take(_BLANKS)
            if self._source[self._at] == ">":
                break
            name = self._take(_ATTRIBUTE_NAME)
            if not name:
                self._fail(f'Empty attribute name in the tag "{tag}"', begin)
            self._take(_BLANKS)
            if self._source[self._at] == "=":
                value = self._attribute_value(tag, begin)
            elif self._source[self._at] == _END:
                self._fail(f'Unclosed start tag "{tag}"', begin)
            else:
                value = None
            match tag, name:
                case "blockquote", "expandable":
                    argument = "1"
                case ("a", "href") | ("tg-emoji", "emoji-id") | ("tg-time", "format") if value is not None:
                    argument = value
                case "code", "class" if value is not None and value.startswith("language-"):
                    argument = value.removeprefix("language-")
                case "span", "class" if value is not None and value.startswith("tg-"):
                    argument = value.removeprefix("tg-")
                case "tg-time", "unix" if value is not None:
                    date = _wrapped_integer(value)
                case _:
                    pass
        return argument, date

    def _attribute_value(self, tag: str, begin: int) -> str:
        self._at += 1
        self._take(_BLANKS)
        quote = self._source[self._at]
        if quote == _END:
            self._fail(f'Unclosed start tag "{tag}"', begin)
        value = self._quoted(quote) if quote in _QUOTED else self._token()
        if self._source[self._at] == _END:
            self._fail("Unclosed start tag", begin)
        return value

    def _token(self) -> str:
        begin = self._at
        token = self._take(_TOKEN)
        if self._source[self._at] not in " \t\r\n\v\0>":
            self._fail("Unexpected end of name token", begin)
        return token.lower()

    def _quoted(self, quote: str) -> str:
        self._at += 1
        parts: list[str] = []
        while True:
            parts.append(self._take(_QUOTED[quote]))
            if self._source[self._at] != "&":
                break
            found = _REFERENCE.match(self._source, self._at)
            assert found is not None
            sign = _decoded(found)
            if sign:
                self._at = found.end() + (self._source[found.end()] == ";")
            parts.append(sign or self._next())
        self._at += self._source[self._at] == quote
        return "".join(parts)

    def _take(self, pattern: re.Pattern[str], start: int | None = None) -> str:
        """What the pattern, which may be empty, finds from here on."""
        found = pattern.match(self._source, self._at if start is None else start)
        assert found is not None
        self._at = found.end()
        return found[0]

    def _fail(self, what: str, position: int) -> NoReturn:
        raise refusal(f"{what} at byte offset {bytes_before(self._text, position)}")

    # -- entities

    def _mark(self, tag: _Tag) -> None:
        offset, length = tag.start, self._written.length - tag.start
        match tag.name:
            case "a":
                entity = self._link(tag, length)
            case "tg-emoji":
                entity = self._custom_emoji(tag, length)
            case "tg-time":
                entity = self._date_time(tag, length)
            case "pre":
                entity = self._pre(tag, length)
            case "code":
                entity = self._code(tag, length)
            case "blockquote" if tag.argument:
                entity = Entity(EntityType.EXPANDABLE_BLOCKQUOTE, offset, length)
            case name:
                entity = Entity(_TYPES[name], offset, length)
        if entity is not None:
            self._found.append(entity)

    def _link(self, tag: _Tag, length: int) -> Entity | None:
        url = tag.argument or self._written.link_from(tag.start)
        return links.entity_to(links.bytes_of(url), tag.start, length)

    def _custom_emoji(self, tag: _Tag, length: int) -> Entity:
        identifier = links.custom_emoji_id(links.bytes_of(tag.argument))
        if identifier is None:
            raise refusal("Invalid custom emoji identifier specified")
        return Entity(EntityType.CUSTOM_EMOJI, tag.start, length, custom_emoji_id=identifier)

    def _date_time(self, tag: _Tag, length: int) -> Entity | None:
        shown = links.date_format(tag.argument)
        if shown is None:
            raise refusal("Invalid date format used")
        if tag.date <= 0:
            return None
        return Entity(EntityType.DATE_TIME, tag.start, length, unix_time=tag.date, date_time_format=shown)

    def _pre(self, tag: _Tag, length: int) -> Entity:
        """`<pre><code class="language-x">` is one entity, whichever of the two is outside."""
        code = self._last(EntityType.CODE, tag.start, length)
        language = self._found.pop().language if code is not None and code.language else None
        return Entity(EntityType.PRE, tag.start, length, language=language)

    def _code(self, tag: _Tag, length: int) -> Entity:
        """The language stays until the end, in case a `</pre>` follows."""
        if tag.argument and self._last(EntityType.PRE, tag.start, length) is not None:
            return replace(self._found.pop(), language=tag.argument)
        return Entity(EntityType.CODE, tag.start, length, language=tag.argument or None)

    def _last(self, of: EntityType, offset: int, length: int) -> Entity | None:
        """The entity found last, if it is of this type, over the same text, and has no language as a block."""
        if not self._found:
            return None
        last = self._found[-1]
        is_it = last.type is of and (last.offset, last.length) == (offset, length)
        return last if is_it and not (of is EntityType.PRE and last.language) else None


def _decoded(reference: re.Match[str]) -> str:
    if reference[3] is not None:
        return _REFERENCES.get(reference[3], "")
    if len(reference[0]) > _LONGEST_NUMBER:
        return ""
    code = int(reference[1] or "0", 16) if reference[1] is not None else int(reference[2] or "0")
    return chr(code) if 0 < code < _LAST_CODE else ""


def _wrapped_integer(text: str) -> int:
    """As a machine reads it into 32 bits: the digits in front, without looking at what overflows."""
    found = _DATE.match(text)
    assert found is not None
    value = int(found[2][-32:] or "0") % (1 << 32)  # 10**32 is a multiple of 2**32
    if found[1]:
        value = -value % (1 << 32)
    return value - (1 << 32) if value >= 1 << 31 else value


def _ascii_lower(text: str) -> str:
    return text.lower() if text.isascii() else text.encode().lower().decode()
