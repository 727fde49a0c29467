"""How entities may lie over each other, and what becomes of those that do not.

Code and links do not cross and do not nest, quotes neither; what crosses the edge of a quote is dropped. Bold and its
like may lie anywhere else: they are cut where another entity begins or ends, joined where they touch, and dropped
inside code.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from pressroom.core.markup.entities import in_order
from pressroom.core.markup.model import Entity, EntityType

STYLES = (
    EntityType.BOLD,
    EntityType.ITALIC,
    EntityType.UNDERLINE,
    EntityType.STRIKETHROUGH,
    EntityType.SPOILER,
)
QUOTES = (EntityType.BLOCKQUOTE, EntityType.EXPANDABLE_BLOCKQUOTE)
_UNSTYLED = (EntityType.PRE, EntityType.CODE, EntityType.DATE_TIME)


def repaired(entities: Iterable[Entity]) -> list[Entity]:
    """Sorted, and as Telegram keeps them."""
    given = _Groups.of(in_order(entities))
    quotes = without_overlaps(given.quotes)
    others = _not_across(without_overlaps(given.others), quotes)
    return _styled(in_order(others + quotes), given.styles)


def merged(entities: Sequence[Entity], found: Sequence[Entity]) -> list[Entity]:
    """Repaired entities, and of those that were found in the text the ones that do not touch any."""
    if not found:
        return list(entities)
    given = _Groups.of(entities)
    others = _with_found(given.others, _not_across(found, given.quotes))
    return _styled(in_order(others + given.quotes), given.styles)


def without_overlaps(entities: Iterable[Entity]) -> list[Entity]:
    """Of sorted ones, those that begin where the last one has ended."""
    kept: list[Entity] = []
    end = 0
    for entity in entities:
        if entity.offset >= end:
            kept.append(entity)
            end = entity.end
    return kept


@dataclass(frozen=True, slots=True)
class _Groups:
    styles: list[Entity] = field(default_factory=list[Entity])
    quotes: list[Entity] = field(default_factory=list[Entity])
    others: list[Entity] = field(default_factory=list[Entity])

    @classmethod
    def of(cls, entities: Iterable[Entity]) -> "_Groups":
        groups = cls()
        for entity in entities:
            if entity.type in STYLES:
                groups.styles.append(entity)
            elif entity.type in QUOTES:
                groups.quotes.append(entity)
            else:
                groups.others.append(entity)
        return groups


def _not_across(entities: Iterable[Entity], quotes: Sequence[Entity]) -> list[Entity]:
    """Those that lie inside a quote or outside of all."""
    kept: list[Entity] = []
    at = 0
    for entity in entities:
        while at < len(quotes) and quotes[at].end <= entity.offset:
            at += 1
        if at == len(quotes) or not _crosses(entity, quotes[at]):
            kept.append(entity)
    return kept


def _crosses(entity: Entity, quote: Entity) -> bool:
    return quote.end < entity.end or entity.offset < quote.offset < entity.end


def _with_found(entities: Sequence[Entity], found: Sequence[Entity]) -> list[Entity]:
    """Both are sorted and without overlaps; the found one gives way."""
    result: list[Entity] = []
    at = 0
    for entity in entities:
        while at < len(found) and found[at].end <= entity.offset:
            result.append(found[at])
            at += 1
        result.append(entity)
        while at < len(found) and found[at].offset < entity.end:
            at += 1
    return result + list(found[at:])


def _styled(others: list[Entity], styles: list[Entity]) -> list[Entity]:
    return in_order(others + _Cut(styles, others).pieces()) if styles else others


class _Cut:
    """Cuts styles at the edges of other entities. Each style is open from `begin` to `end`, as far as is known."""

    def __init__(self, styles: Sequence[Entity], others: Sequence[Entity]) -> None:
        self._styles = styles
        self._others = others
        self._next = 0
        self._open: dict[EntityType, tuple[int, int]] = {}
        self._pieces: list[Entity] = []

    def pieces(self) -> list[Entity]:
        around: list[Entity] = []
        for other in self._others:
            self._leave(around, other.offset)
            self._up_to(other.offset)
            around.append(other)
        last = max((one.end for one in (*self._styles, *self._others)), default=0)
        self._leave(around, last)
        self._up_to(last)
        return self._pieces

    def _leave(self, around: list[Entity], offset: int) -> None:
        """The others that end here or before. Styles over the last stretch of code are dropped."""
        while around and around[-1].end <= offset:
            left = around.pop()
            before = len(self._pieces)
            self._up_to(left.end)
            if left.type in _UNSTYLED:
                del self._pieces[before:]

    def _up_to(self, offset: int) -> None:
        while self._next < len(self._styles) and self._styles[self._next].offset < offset:
            self._take(self._styles[self._next])
            self._next += 1
        self._cut(offset)

    def _take(self, style: Entity) -> None:
        begin, end = self._open.get(style.type, (0, -1))
        if style.offset <= end:
            self._open[style.type] = begin, max(end, style.end)
        else:
            self._cut(style.offset)
            self._open[style.type] = style.offset, style.end

    def _cut(self, offset: int) -> None:
        for kind in STYLES:
            begin, end = self._open.get(kind, (offset, offset))
            if begin >= offset:
                continue
            self._pieces.append(Entity(kind, begin, min(end, offset) - begin))
            if end <= offset:
                del self._open[kind]
            else:
                self._open[kind] = offset, end
