"""What holds for every text, whoever wrote it."""

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pressroom.core.markup import Dialect, Entity, EntityType, Markup, ParseFailed, detect, fix, parse
from pressroom.core.markup.entities import key_of
from pressroom.core.markup.repair import QUOTES, STYLES, repaired
from tests.core.markup.generated import GRAMMARS, SIGNS

any_text = st.text(st.characters() | st.sampled_from("<>&;*_~|`[]()!>\\\n\r\"'=/ab")) | st.lists(
    st.sampled_from([*SIGNS, *(sign for grammar in GRAMMARS.values() for sign in grammar.signs)])
).map("".join)


def units(text: str) -> int:
    return len(text.encode("utf-16-le")) // 2


def is_surrogate(sign: str) -> bool:
    return "\ud800" <= sign <= "\udfff"


def check(markup: Markup) -> None:
    """Sorted, not empty, inside the text, and between characters."""
    places = {units(markup.text[:at]) for at in range(len(markup.text) + 1)}
    assert all(one.length > 0 and {one.offset, one.end} <= places for one in markup.entities)
    assert all(key_of(first) <= key_of(second) for first, second in pairwise(markup.entities))


def cross(first: Entity, second: Entity) -> bool:
    return first.offset < second.offset < first.end < second.end


@pytest.mark.parametrize("dialect", Dialect)
@given(text=any_text)
@settings(deadline=None)
def test_a_text_is_parsed_or_refused_and_its_entities_lie_in_it_and_in_each_other(dialect, text):
    try:
        markup = parse(text, dialect)
    except ParseFailed:
        return

    check(markup)
    assert not any(cross(first, second) for first, second in pairwise(markup.entities))


@given(text=any_text)
@settings(deadline=None)
def test_what_is_found_lies_apart(text):
    if any(is_surrogate(sign) for sign in text):
        with pytest.raises(ParseFailed, match=r"^text must be encoded in UTF-8$"):
            detect(text)
        return

    found = detect(text)

    check(Markup(text, tuple(found)))
    assert all(first.end <= second.offset for first, second in pairwise(found))


@pytest.mark.parametrize("dialect", Dialect)
@given(text=any_text)
@settings(deadline=None)
def test_what_is_sent_is_trimmed_nested_and_stays_as_it_is_when_it_is_sent_again(dialect, text):
    try:
        sent = fix(parse(text, dialect))
    except ParseFailed:
        return

    check(sent)
    assert sent.text == sent.text.rstrip(" \n")
    assert not any(cross(one, other) for at, one in enumerate(sent.entities) for other in sent.entities[at:])
    assert fix(sent) == sent


spans = st.tuples(st.sampled_from([*EntityType][8:]), st.integers(0, 30), st.integers(1, 12))


@given(given_spans=st.lists(spans, max_size=20))
@settings(deadline=None)
def test_repaired_entities_do_not_cross_and_nothing_lies_in_code(given_spans):
    kept = repaired(Entity(kind, offset, length) for kind, offset, length in given_spans)

    assert repaired(kept) == kept
    for at, outer in enumerate(kept):
        for inner in kept[at + 1 :]:
            assert not cross(outer, inner)
            if inner.offset < outer.end and outer.type not in (*STYLES, *QUOTES):
                assert outer.type not in (EntityType.CODE, EntityType.PRE, EntityType.DATE_TIME)
                assert inner.type in STYLES
