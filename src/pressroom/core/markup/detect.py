"""What Telegram marks by itself: mentions, commands, hashtags, cashtags, card numbers, links and e-mail addresses.

Phone numbers are left to the reader's program, and moments of a video are nothing to a bot. Where two finds overlap,
the one that begins first stays, and of those the longer one.
"""

import re
from collections.abc import Iterator

from pressroom.core.markup.detect_links import links_in, own_scheme_links_in
from pressroom.core.markup.entities import in_order, moved
from pressroom.core.markup.model import Entity, EntityType
from pressroom.core.markup.repair import without_overlaps
from pressroom.core.markup.utf16 import check_unicode, unit_of

Span = tuple[int, int]

_SHORT_USERNAMES = {"gif", "nft", "pic", "ufc", "vid"}
_SHORTEST_USERNAME = 4
_LONGEST_HASHTAG = 256

_MENTION = re.compile(r"(?<!\w)@([0-9A-Za-z_]{2,32})(?!\w)")
_BOT_COMMAND = re.compile(
    r"(?<![\w/<>])/[0-9A-Za-z_]{1,64}(?:@[0-9A-Za-z_]{3,32}|(?!@))(?![\w/<>])",
)
_TAG_SIGN = r"\w\u200c\u00b7\u0d80-\u0dff"  # and not a number that is no digit, as ½ or Ⅳ
_TAG_SIGNS = re.compile(f"[{_TAG_SIGN}]*+")
_USERNAME = re.compile("@([0-9A-Za-z_]{3,32})")
_CASHTAG = re.compile(
    r"\$(?:1INCH|[A-Z]{1,8}+(?![A-Z]))(?:@[0-9A-Za-z_]{3,32}+(?![0-9A-Za-z_]))?+",
)
_DIGIT = re.compile("[0-9]")
_CARD_SIGNS = re.compile("[0-9 -]*+")
_PLAIN_CARD = re.compile("[0-9]{16,19}(?= )")


def detect(text: str) -> list[Entity]:
    """Sorted; none overlaps another."""
    check_unicode(text)
    return detected(text)


def detected(text: str) -> list[Entity]:
    """As `detect`, for a text that has been checked."""
    found = [Entity(kind, begin, end - begin) for kind, (begin, end) in _found(text)]
    if not found:
        return found
    apart = without_overlaps(in_order(found))
    place = unit_of(text)
    return apart if place is None else moved(apart, place)


def _found(text: str) -> Iterator[tuple[EntityType, Span]]:
    """A sign that is not in the text costs one look for it."""
    if "@" in text:
        yield from ((EntityType.MENTION, span) for span in _mentions(text))
    if "/" in text:
        yield from ((EntityType.BOT_COMMAND, one.span()) for one in _BOT_COMMAND.finditer(text))
    if "#" in text:
        yield from ((EntityType.HASHTAG, span) for span in _hashtags(text))
    if "$" in text:
        yield from ((EntityType.CASHTAG, span) for span in _cashtags(text))
    if _DIGIT.search(text):
        yield from ((EntityType.BANK_CARD_NUMBER, span) for span in _bank_cards(text))
    if "://" in text:
        yield from ((EntityType.URL, span) for span in own_scheme_links_in(text))
    if "." in text:
        yield from links_in(text)


def _mentions(text: str) -> Iterator[Span]:
    for found in _MENTION.finditer(text):
        if len(found[1]) >= _SHORTEST_USERNAME or found[1].lower() in _SHORT_USERNAMES:
            yield found.span()


def is_tag_sign(sign: str) -> bool:
    return sign.isalpha() or sign.isdecimal() or sign in "_\u200c\u00b7" or "\u0d80" <= sign <= "\u0dff"


def _hashtags(text: str) -> Iterator[Span]:
    end = 0
    while (begin := text.find("#", end)) >= 0:
        end = begin + 1
        if begin and is_tag_sign(text[begin - 1]):
            continue
        end = _end_of_tag(text, begin + 1)
        tag_end = min(end, begin + 1 + _LONGEST_HASHTAG)
        has_letter = any(sign.isalpha() for sign in text[begin + 1 : tag_end])
        username = _USERNAME.match(text, end) if tag_end == end > begin + 1 else None
        if username is not None:
            end = tag_end = username.end()
        if has_letter and not text.startswith("#", end):
            yield begin, tag_end


def _end_of_tag(text: str, begin: int) -> int:
    found = _TAG_SIGNS.match(text, begin)
    assert found is not None
    signs = found[0]
    if signs.isascii():
        return found.end()
    return next((begin + at for at, sign in enumerate(signs) if not is_tag_sign(sign)), found.end())


def _cashtags(text: str) -> Iterator[Span]:
    for found in _CASHTAG.finditer(text):
        begin, end = found.span()
        around = text[begin - 1 : begin] + text[end : end + 1]
        if not any(sign == "$" or is_tag_sign(sign) for sign in around):
            yield begin, end


def _bank_cards(text: str) -> Iterator[Span]:
    end = 0
    while (digit := _DIGIT.search(text, end)) is not None:
        begin = digit.start()
        before = text[begin - 1 : begin]
        if before and (before in ".,+-_" or before.isalpha()):
            end = _after(_CARD_SIGNS, text, begin)
            continue
        plain = _PLAIN_CARD.match(text, begin)
        end = _after(_CARD_SIGNS, text, begin) if plain is None else plain.end()
        number = text[begin:end].rstrip(" -")
        if _is_card_number(number) and not _continues(text, begin + len(number)):
            yield begin, begin + len(number)


def _after(pattern: re.Pattern[str], text: str, start: int) -> int:
    found = pattern.match(text, start)
    assert found is not None
    return found.end()


def _continues(text: str, end: int) -> bool:
    sign = text[end : end + 1]
    return sign in ("-", "_") or sign.isalpha()


def _is_card_number(number: str) -> bool:
    digits = number.replace(" ", "").replace("-", "")
    size = len(digits)
    return 13 <= size <= 19 and len(number) < 2 * size and _is_luhn(digits) and _is_issued(digits)


def _is_luhn(digits: str) -> bool:
    values = [int(digit) for digit in reversed(digits)]
    doubled = [2 * value - 9 if value > 4 else 2 * value for value in values[1::2]]
    return (sum(values[::2]) + sum(doubled)) % 10 == 0


def _is_issued(digits: str) -> bool:
    """Whether the payment system that the number begins with has numbers of this length."""
    size, two, four = len(digits), int(digits[:2]), int(digits[:4])
    if digits[0] == "4":  # Visa
        return size in (13, 16, 18, 19)
    if 51 <= two <= 55 or 2221 <= four <= 2720:  # Mastercard
        return size == 16
    if two in (34, 37):  # American Express
        return size == 15
    if two in (62, 81):  # UnionPay
        return size >= 16
    if 2200 <= four <= 2204:  # Mir
        return size == 16
    return True
