"""Ours against the real parser, on inputs that nobody wrote.

`MARKUP_SEED=7 MARKUP_COUNT=200000 python -m pytest tests/core/markup/test_agreement.py` looks elsewhere, and longer.
"""

import os
import random
import re
from collections import Counter

import pytest

from pressroom.core.markup import Dialect, Entity, EntityType, Markup, ParseFailed
from pressroom.core.markup.fix import tidied
from tests.core.markup import generated, ours, real, russian

SEED = int(os.environ.get("MARKUP_SEED", "20260717"))
COUNT = int(os.environ.get("MARKUP_COUNT", "20000"))

CAN_NOT_PARSE = "Bad Request: can't parse entities: "
ERRORS = {
    Dialect.HTML: (
        r'Unsupported start tag ".*" at byte offset \d+',
        r"Unclosed start tag at byte offset \d+",
        r'Unclosed start tag ".*" at byte offset \d+',
        r"Unclosed end tag at byte offset \d+",
        r"Unexpected end tag at byte offset \d+",
        r'Unmatched end tag at byte offset \d+, expected "</.*>", found "</.*>"',
        r"Can't find end tag corresponding to start tag \".*\"",
        r'Tag "span" must have class "tg-spoiler" at byte offset \d+',
        r'Empty attribute name in the tag ".*" at byte offset \d+',
        r"Unexpected end of name token at byte offset \d+",
        r"Invalid custom emoji identifier specified",
        r"Invalid date format used",
        r"Text contains invalid Unicode characters after decoding HTML entities, check for unmatched surrogate code units",
    ),
    Dialect.MARKDOWN_V2: (
        r"Character '.' is reserved and must be escaped with the preceding '\\'",
        r"Can't find end of a URL at byte offset \d+",
        r"The entity must contain a tg://emoji or tg://time URL",
        r"Invalid tg://emoji or tg://time URL specified",
        *(  # BlockQuote is named in TDLib, but the end of its text closes each quote
            rf"Can't find end of {name} entity at byte offset \d+"
            for name in (
                "Bold", "Italic", "Underline", "Strikethrough", "Spoiler", "Code", "Pre", "PreCode", "TextUrl", "CustomEmoji",
            )
        ),
    ),
    Dialect.MARKDOWN: (r"Can't find end of the entity starting at byte offset \d+",),
}  # fmt: skip
HALF_A_CHARACTER = "messageEntity"  # refused after parsing; TDLib's JSON cannot say it, and ends the process


@pytest.mark.parametrize("dialect", Dialect)
def test_generated_inputs_are_parsed_as_the_real_parser_parses_them(dialect, capsys):
    errors: Counter[str] = Counter()
    differences: list[tuple[str, object, object]] = []
    unspeakable = 0
    for text in generated.inputs(dialect, COUNT, SEED):
        answer = ours.parsed(text, dialect)
        description = answer.get("bot_api_description", "")
        if HALF_A_CHARACTER in description:
            unspeakable += 1
            continue
        expected = real.parsed(text, dialect)
        errors[_kind(description, dialect)] += 1
        if answer != expected:
            differences.append((text, answer, expected))

    parsed = errors.pop("")
    failed = errors.total()
    with capsys.disabled():
        print(f"\n{dialect}, MARKUP_SEED={SEED}: {parsed} parsed, {failed} failed, {unspeakable} left out")
    assert differences[:3] == [], f"{len(differences)} with MARKUP_SEED={SEED}"
    assert min(parsed, failed) >= 0.4 * COUNT
    assert unspeakable < 0.01 * COUNT
    assert {kind: errors[kind] for kind in ERRORS[dialect] if errors[kind] < 50} == {}


def _kind(description: str, dialect: Dialect) -> str:
    """Which of the known errors it is; itself when it is none."""
    error = description.removeprefix(CAN_NOT_PARSE)
    return next((kind for kind in ERRORS[dialect] if re.fullmatch(kind, error, re.DOTALL)), error)


def test_found_entities_are_those_of_the_real_one_in_scattered_signs(capsys):
    _compare_found(generated.signs(COUNT, SEED), "signs", capsys)


def test_found_entities_are_those_of_the_real_one_in_russian_texts(capsys):
    _compare_found(russian.texts(COUNT // 4, SEED), "Russian", capsys)


def _compare_found(texts, name: str, capsys) -> None:
    """Moments of a video, which bots never see, hide what they overlap: a text with one is left out."""
    compared, entities, left_out = 0, 0, 0
    differences: list[tuple[str, object, object]] = []
    for text in texts:
        expected = real.detected(text)
        if any(one["type"] == "media_timestamp" for one in expected):
            left_out += 1
            continue
        answer = ours.detected(text)
        compared += 1
        entities += len(expected)
        if answer != expected:
            differences.append((text, answer, expected))

    with capsys.disabled():
        print(f"\n{name}, MARKUP_SEED={SEED}: {compared} compared, {entities} entities, {left_out} left out")
    assert differences[:3] == [], f"{len(differences)} of {compared} with MARKUP_SEED={SEED}"
    assert entities > compared / 4 > left_out


def test_many_entities_over_the_same_words_come_in_the_real_order():
    """What `std::sort` makes of equal ones: short lists, long ones, and those that it cannot divide well."""
    rng = random.Random(SEED)
    for count in (*range(2, 40), 100, 300, 1000, 1800, 1800, 1800, 1800):
        text = generated.links_over_links(rng, count)

        assert ours.parsed(text, Dialect.HTML) == real.parsed(text, Dialect.HTML), f"MARKUP_SEED={SEED}"


def test_entities_are_repaired_and_refused_as_the_real_one_does():
    rng = random.Random(SEED)
    refusals = 0
    for _ in range(COUNT // 5):
        text, entities = generated.with_entities(rng)
        expected = real.tidied(text, entities)
        try:
            markup = tidied(Markup(text, tuple(entities)))
            answer = ours.said(markup if markup.text.strip(" \n") else Markup(""))
        except ParseFailed as error:
            answer = ours.refused(error)
            refusals += 1

        assert answer == expected, f"{text!r} {entities} with MARKUP_SEED={SEED}"
    assert COUNT / 50 < refusals < COUNT / 10


def test_the_longest_text_is_the_real_one():
    for dialect in Dialect:
        for text in ("x" * 65_536, "x" * 65_537, "👍" * 65_536, "👍" * 65_537):
            assert ours.parsed(text, dialect) == real.parsed(text, dialect)


def test_half_a_character_in_a_link_is_refused_as_sending_refuses_it():
    refusals = [
        ours.parsed('<a href="http://e.com/&#55357;">x</a>', Dialect.HTML),
        ours.parsed("[пример.рф]", Dialect.MARKDOWN),
        ours.parsed('<pre><code class="language-&#55357;">x</code></pre>', Dialect.HTML),
        ours.parsed("\ud800", Dialect.HTML),
    ]

    assert [one["bot_api_description"] for one in refusals] == [
        "Bad Request: messageEntityTextUrl.url must be encoded in UTF-8",
        "Bad Request: messageEntityTextUrl.url must be encoded in UTF-8",
        "Bad Request: messageEntityPreCode.language must be encoded in UTF-8",
        "Bad Request: text must be encoded in UTF-8",
    ]


def test_what_is_found_has_the_form_of_the_vectors():
    text = "@durov и e.com"

    assert (
        ours.detected(text)
        == real.detected(text)
        == [
            {"type": "mention", "offset": 0, "length": 6},
            {"type": "url", "offset": 9, "length": 5},
        ]
    )
    assert Entity(EntityType.URL, 9, 5).end == len(text)
