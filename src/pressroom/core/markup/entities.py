"""The order of entities, and from the parsers' own positions to those of the Bot API.

Entities are sorted by offset, the longer first, and then by what their type outranks. Those that are equal in all of
this keep the places that TDLib's `std::sort` gives them: two links over the same words come in its order, not in ours.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from itertools import pairwise
from operator import itemgetter

from pressroom.core.markup.model import Entity, EntityType, Markup, ParseFailed
from pressroom.core.markup.order import Key, sort_as_libstdcxx
from pressroom.core.markup.utf16 import unit_of

_RANKS = {
    EntityType.BLOCKQUOTE: 0,
    EntityType.EXPANDABLE_BLOCKQUOTE: 0,
    EntityType.PRE: 11,  # 10 with a language
    EntityType.CODE: 20,
    EntityType.DATE_TIME: 30,
    EntityType.TEXT_LINK: 49,
    EntityType.TEXT_MENTION: 49,
    EntityType.BOLD: 90,
    EntityType.ITALIC: 91,
    EntityType.UNDERLINE: 92,
    EntityType.STRIKETHROUGH: 93,
    EntityType.SPOILER: 94,
    EntityType.CUSTOM_EMOJI: 99,
}
_RANK_OF_DETECTED = 50


def key_of(entity: Entity) -> Key:
    rank = _RANKS.get(entity.type, _RANK_OF_DETECTED)
    if entity.type is EntityType.PRE and entity.language is not None:
        rank -= 1
    return entity.offset, -entity.length, rank


def in_order(entities: Iterable[Entity]) -> list[Entity]:
    keyed = [(key_of(entity), entity) for entity in entities]
    if all(first[0] <= second[0] for first, second in pairwise(keyed)):
        return [entity for _, entity in keyed]
    if _has_ties(keyed):
        sort_as_libstdcxx(keyed)
    else:
        keyed.sort(key=itemgetter(0))
    return [entity for _, entity in keyed]


def markup_of(text: str, entities: Iterable[Entity]) -> Markup:
    """The answer of a parser, whose entities count characters. Empty ones must be left out already."""
    found = in_order(entities)
    check_arguments(found)
    place = unit_of(text)
    return Markup(text, tuple(found if place is None else moved(found, place)))


def moved(entities: Iterable[Entity], place: Callable[[int], int]) -> list[Entity]:
    """`place` says where an old position is now."""
    return [
        replace(entity, offset=place(entity.offset), length=place(entity.end) - place(entity.offset))
        for entity in entities
    ]


def check_arguments(entities: Sequence[Entity]) -> None:
    """The parser lets half a character through in a link or a language; sending refuses it."""
    for entity in entities:
        if entity.url is not None and not _is_unicode(entity.url):
            raise ParseFailed("messageEntityTextUrl.url must be encoded in UTF-8")
        if entity.language is not None and not _is_unicode(entity.language):
            raise ParseFailed("messageEntityPreCode.language must be encoded in UTF-8")


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _has_ties(keyed: Sequence[tuple[Key, Entity]]) -> bool:
    """Whether the order of equal ones can be seen."""
    first: dict[Key, Entity] = {}
    return any(first.setdefault(key, entity) != entity for key, entity in keyed)
