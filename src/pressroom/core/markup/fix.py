"""What sending does to a message: clean its text, repair its entities, trim both, and mark what is found in it.

The Bot API does this after parsing, or with the entities that came with the text.
"""

import re
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import replace

from pressroom.core.markup import links
from pressroom.core.markup.detect import detected
from pressroom.core.markup.entities import in_order, moved
from pressroom.core.markup.model import Entity, EntityType, Markup, ParseFailed
from pressroom.core.markup.repair import QUOTES, STYLES, merged, repaired
from pressroom.core.markup.utf16 import check_unicode, unit_of, units, wide_characters

_FORMATTING = {
    *STYLES,
    *QUOTES,
    EntityType.CODE,
    EntityType.PRE,
    EntityType.TEXT_LINK,
    EntityType.TEXT_MENTION,
    EntityType.CUSTOM_EMOJI,
    EntityType.DATE_TIME,
}
_LARGEST_POSITION = 1_000_000
_REMOVED = re.compile("[\r\u2028-\u202e\u0333\u033f\u030a]")
_BLANKED = re.compile("[\0-\x09\x0b\x0c\x0e-\x1f]")
_DIRECTIONS = re.compile("[\u200e\u200f]{2,}")
_BLANK = " \n"
_INVISIBLE = re.compile(
    "[ \n\u00a0\u1680\u180e\u2000-\u200f\u202f\u205f\u2800\u3000\ufeff\ufffc\U000e0000-\U000e007f]*+"
)


def fix(markup: Markup) -> Markup:
    """Raises `ParseFailed` with the Bot API's description, less its `Bad Request: `.

    Of the given entities those are kept that format; what is found in the text is always found anew.
    """
    trimmed = _trimmed(tidied(markup))
    return Markup(trimmed.text, tuple(merged(trimmed.entities, detected(trimmed.text))))


def tidied(markup: Markup) -> Markup:
    """The text cleaned and the entities repaired; nothing trimmed or found yet."""
    check_unicode(markup.text)
    entities = [_checked(one) for one in markup.entities if one.type in _FORMATTING]
    text = _cleaned(markup.text)
    if not entities:
        return Markup(text)
    _check_range(entities)
    entities = repaired(filter(_is_seen, entities))
    _check_places(markup.text, entities)
    if _REMOVED.search(markup.text):
        entities = repaired(filter(_is_seen, _without_removed(markup.text, entities)))
    return Markup(text, tuple(entities))


def _is_seen(entity: Entity) -> bool:
    if entity.type is EntityType.TEXT_MENTION:
        return entity.length > 0 and links.is_user(entity.user_id or 0)
    return entity.length > 0


def _trimmed(markup: Markup) -> Markup:
    """Blanks behind the text go, and those before it up to the first entity."""
    text = markup.text.rstrip(_BLANK)
    if not text:
        raise ParseFailed("text must be non-empty")
    size = units(text)
    entities = [one for one in markup.entities if one.offset < size]
    front = len(text) - len(text.lstrip(_BLANK))
    if entities:
        front = min(front, entities[0].offset)
    if _INVISIBLE.fullmatch(text, front):
        raise ParseFailed("text must be non-empty")
    if front or any(one.end > size for one in entities):
        entities = in_order(moved(entities, lambda place: min(place, size) - front))
    return Markup(text[front:], tuple(entities))


def _cleaned(text: str) -> str:
    text = _BLANKED.sub(" ", _REMOVED.sub("", text))
    return _DIRECTIONS.sub(lambda found: "\u200c" * (len(found[0]) - 1) + found[0][-1], text)


def _without_removed(text: str, entities: Iterable[Entity]) -> list[Entity]:
    """Where the entities lie once the text is cleaned. What is removed is one code unit each."""
    unit = unit_of(text)
    removed = [found.start() if unit is None else unit(found.start()) for found in _REMOVED.finditer(text)]
    return moved(entities, lambda place: place - bisect_left(removed, place))


# -- given entities


def _checked(entity: Entity) -> Entity:
    if entity.language is not None:
        return replace(entity, language=_cleaned(_unicode(entity.language, "PreCode.language")))
    if entity.url is None:
        return entity
    url = _cleaned(_unicode(entity.url, "TextUrl.url"))
    user_id = links.user_of(url.encode())
    if user_id is not None:
        return Entity(EntityType.TEXT_MENTION, entity.offset, entity.length, user_id=user_id)
    try:
        kept = links.text_of(links.kept(url.encode()))
        return entity if kept == entity.url else replace(entity, url=kept)
    except links.WrongLink as error:
        raise ParseFailed(f"entity URL '{url}' is invalid: {error}") from error


def _unicode(text: str, name: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError:
        raise ParseFailed(f"messageEntity{name} must be encoded in UTF-8") from None
    return text


def _check_range(entities: Iterable[Entity]) -> None:
    for entity in entities:
        if not 0 <= entity.offset <= _LARGEST_POSITION:
            raise ParseFailed(f"receive an entity with incorrect offset {entity.offset}")
        if not 0 <= entity.length <= _LARGEST_POSITION:
            raise ParseFailed(f"receive an entity with incorrect length {entity.length}")


def _check_places(text: str, entities: Sequence[Entity]) -> None:
    """Entities begin and end between characters, inside the text. The first offence in the text is named."""
    _check_between_characters(text, entities)
    size = units(text)
    for entity in entities:
        if entity.offset > size:
            raise ParseFailed(f"entity begins after the end of the text at UTF-16 offset {entity.offset}")
    for entity in reversed(entities):
        if entity.end > size:
            raise ParseFailed(
                f"entity beginning at UTF-16 offset {entity.offset} ends after the end of the text"
                f" at UTF-16 offset {entity.end}"
            )


def _check_between_characters(text: str, entities: Sequence[Entity]) -> None:
    inside = {begin + at + 1: begin + 1 for at, begin in enumerate(wide_characters(text))}
    if not inside:
        return
    ends = [(one.end, 0, -at) for at, one in enumerate(entities) if one.end in inside]
    begins = [(one.offset, 1, at) for at, one in enumerate(entities) if one.offset in inside]
    if not ends and not begins:
        return
    unit, is_begin, at = min(ends + begins)
    place = f"in a middle of a UTF-16 symbol at byte offset {len(text[: inside[unit]].encode())}"
    if is_begin:
        raise ParseFailed(f"entity begins {place}")
    raise ParseFailed(f"entity beginning at UTF-16 offset {entities[-at].offset} ends {place}")
