"""Texts that somebody sends to keep us busy. Twice as much of one makes twice the work; a huge one gets its answer."""

import sys
from collections.abc import Callable

import pytest

from pressroom.core.markup import (
    LONGEST,
    Dialect,
    Entity,
    EntityType,
    Markup,
    ParseFailed,
    detect,
    fix,
    parse,
    parse_html,
    parse_markdown,
    parse_markdown_v2,
)

Text = Callable[[int], str]

DEEP = 200_000
MEBIBYTE = 1 << 20

HTML: dict[str, Text] = {
    "nested tags": lambda n: "<b>" * n + "x" + "</b>" * n,
    "nested tags with text": lambda n: "<b>x" * n + "</b>" * n,
    "nested links": lambda n: "<a>x" * n + "</>" * n,
    "nested links one by one": lambda n: "<a>" * n + "x</>" * n,
    "links over the same words": lambda n: "".join(f"<a href=e{at}.com>" for at in range(n)) + "x" + "</>" * n,
    "deep quotes": lambda n: "<blockquote>" * n + "x" + "</>" * n,
    "code in blocks": lambda n: "<pre><code class=language-x>" * n + "x" + "</></>" * n,
    "attributes": lambda n: "<b " + "x=1 y " * n + ">z</b>",
    "references": lambda n: "&a&#1" * n,
    "a long reference": lambda n: "&#" + "1" * n,
    "a long number": lambda n: '<tg-time unix="' + "9" * n + '">x</tg-time>',
    "a long host": lambda n: '<a href="' + "a." * n + '">x</a>',
    "a long query": lambda n: '<a href="tg://user?' + "id&" * n + '">x</a>',
    "wide characters": lambda n: "👍<b>👍</b>" * n,
}
MARKDOWN_V2: dict[str, Text] = {
    "stars": lambda n: "*" * n,
    "open brackets": lambda n: "[" * n,
    "brackets": lambda n: "[x" * n + "]" * n,
    "alternating": lambda n: "*_" * n + "x" + "_*" * n,
    "unbalanced": lambda n: "*_~" * n + "]",
    "backticks": lambda n: "`" * n,
    "blocks": lambda n: "```a`" * n,
    "quotes": lambda n: ">x\n\n" * n,
    "expandable quotes": lambda n: ">x||\n" * n,
    "quote signs": lambda n: ">" * n,
    "links": lambda n: "[x](e.com)" * n,
    "an open link": lambda n: "[x](" + "\\" * n,
    "escapes": lambda n: "\\*" * n,
}
MARKDOWN: dict[str, Text] = {
    "stars": lambda n: "*" * n,
    "open brackets": lambda n: "[" * n,
    "brackets": lambda n: "[x]" * n,
    "links": lambda n: "[x](e.com)" * n,
    "open links": lambda n: "[x](" * n,
    "backticks": lambda n: "`" * n,
    "a long language": lambda n: "```" + "a" * n,
}
PLAIN: dict[str, Text] = {
    "dots": lambda n: "." * n,
    "punctuation behind a path": lambda n: "a.b/" + "?." * n,
    "brackets behind a path": lambda n: "a.b/" + "()" * n + ")" * n,
    "labels": lambda n: "a." * n,
    "addresses": lambda n: "a@a." * n,
    "paths": lambda n: ".a?" * n,
    "schemes": lambda n: "tg://a?" * n,
    "a long host": lambda n: "ы" * n + ".com",
    "a long port": lambda n: "a.b:" + "1" * n,
    "hashtags": lambda n: "#a½" * n,
    "a long hashtag": lambda n: "#" + "a" * n,
    "cashtags": lambda n: "$A" * n,
    "commands": lambda n: "/a" * n,
    "mentions": lambda n: "👍@abcd " * n,
    "digits": lambda n: "1 " * n,
    "cards": lambda n: "4111111111111111 " * n,
}


def styles(count: int) -> Markup:
    entities = (Entity(EntityType.BOLD, at, 2 * (count - at)) for at in range(count))
    links = (Entity(EntityType.TEXT_LINK, at, 1, url="http://e.com/") for at in range(0, 2 * count, 2))
    return Markup("x\r" * count, (*entities, *links))


CASES: list[tuple[str, Callable[[int], object]]] = [
    *((f"HTML: {name}", lambda n, make=make: parse_html(make(n))) for name, make in HTML.items()),
    *((f"MarkdownV2: {name}", lambda n, make=make: parse_markdown_v2(make(n))) for name, make in MARKDOWN_V2.items()),
    *((f"Markdown: {name}", lambda n, make=make: parse_markdown(make(n))) for name, make in MARKDOWN.items()),
    *((f"plain: {name}", lambda n, make=make: detect(make(n))) for name, make in PLAIN.items()),
    *((f"sent: {name}", lambda n, make=make: fix(Markup(make(n)))) for name, make in PLAIN.items() if name != "dots"),
    ("sent: styles over links", lambda n: fix(styles(n))),
]  # fmt: skip


@pytest.mark.parametrize(("name", "answer"), CASES, ids=[name for name, _ in CASES])
def test_twice_as_much_makes_twice_the_work(name, answer):
    small, large = _calls(answer, 1500), _calls(answer, 3000)

    assert large <= 2.3 * small + 100, name


def _calls(answer: Callable[[int], object], size: int) -> int:
    """Calls of functions, of ours and of Python's own."""
    count = 0

    def counted(_frame: object, event: str, _argument: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(counted)
    try:
        answer(size)
    except ParseFailed:
        pass
    finally:
        sys.setprofile(None)
    return count


def test_two_hundred_thousand_nested_tags_are_as_many_entities():
    markup = parse_html(HTML["nested tags"](DEEP))

    assert (markup.text, len(markup.entities)) == ("x", DEEP)


def test_two_hundred_thousand_open_tags_are_refused():
    with pytest.raises(ParseFailed, match="Can't find end tag corresponding to start tag"):
        parse_html("<b>" * DEEP)


def test_two_hundred_thousand_nested_links_without_a_dot_are_no_entities():
    assert parse_html(HTML["nested links"](DEEP)).entities == ()
    assert parse_markdown_v2(MARKDOWN_V2["brackets"](DEEP)).entities == ()


def test_two_hundred_thousand_nested_quotes_are_as_many_entities():
    assert len(parse_html(HTML["deep quotes"](DEEP)).entities) == DEEP


@pytest.mark.parametrize("parser", [parse_markdown, parse_markdown_v2])
def test_a_mebibyte_of_stars_is_nothing(parser):
    assert parser("*" * MEBIBYTE) == Markup("")


@pytest.mark.parametrize(
    ("parser", "description"),
    [
        (parse_markdown, "Can't find end of the entity starting at byte offset 0"),
        (parse_markdown_v2, f"Can't find end of TextUrl entity at byte offset {MEBIBYTE - 1}"),
    ],
)
def test_a_mebibyte_of_open_brackets_is_refused(parser, description):
    with pytest.raises(ParseFailed) as refused:
        parser("[" * MEBIBYTE)

    assert refused.value.message == f"can't parse entities: {description}"


@pytest.mark.parametrize(
    "name", ["punctuation behind a path", "paths", "cards", "labels", "digits", "a long host"]
)
def test_a_mebibyte_of_almost_links_and_numbers_gets_its_answer(name):
    text = PLAIN[name](MEBIBYTE)[:MEBIBYTE]

    assert all(entity.end <= len(text) for entity in detect(text))


@pytest.mark.parametrize("dialect", Dialect)
def test_a_text_over_the_limit_is_refused_unread(dialect):
    with pytest.raises(ParseFailed) as refused:
        parse("*" * (LONGEST + 1), dialect)

    assert refused.value.message == "can't parse entities: Text is too long"
