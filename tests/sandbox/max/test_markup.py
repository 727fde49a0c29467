import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pressroom.sandbox.max.markup import parse, units
from tests.sandbox.max.openapi import stored

NEWS = -70000000000001


def marks(text, style="markdown"):
    """The plain text, and what each element covers."""
    marked = parse(text, style)
    wide = marked.text.encode("utf-16-le")
    return marked.text, {
        (each.type, wide[2 * each.begin : 2 * (each.begin + each.length)].decode("utf-16-le"))
        for each in marked.elements
    }


@pytest.mark.parametrize("style", ["markdown", "html"])
async def test_the_27_elements_of_the_live_server(style):
    vectors = stored("max_markup_vectors_tamtam.json")

    marked = parse(vectors[style].replace("tamtam://", "max://"), style)

    assert marked.text == vectors["text"]
    expected = {(each["type"], each["from"], each["length"], each.get("url")) for each in vectors["markup"]}
    assert len(marked.elements) == len(vectors["markup"]) == 27
    assert {(each.type, each.begin, each.length, each.url) for each in marked.elements} == expected


@pytest.mark.parametrize(
    ("text", "plain", "elements"),
    [
        ("~~a~~ ++b++ ^^c^^", "a b c", {("strikethrough", "a"), ("underline", "b"), ("highlighted", "c")}),
        ("__a__ _b_ snake_case_name", "a b snake_case_name", {("strong", "a"), ("emphasized", "b")}),
        ("# Заголовок\nтекст", "Заголовок\nтекст", {("heading", "Заголовок")}),
        ("> one\n> two\nrest", "one\ntwo\nrest", {("quote", "one\ntwo")}),
        ("```py\na = 1\nb\n```", "a = 1\nb", {("monospaced", "a = 1\nb")}),
        (r"\*not\* 1 \* 2", "*not* 1 * 2", set()),
        ("**open and *closed*", "**open and closed", {("emphasized", "closed")}),
        ("a ** b ** c", "a ** b ** c", set()),
        ("[a](https://max.ru) [b] (c)", "a [b] (c)", {("link", "a")}),
        ("**👋 жирный** 👋", "👋 жирный 👋", {("strong", "👋 жирный")}),
        ("`one\ntwo`", "one two", {("monospaced", "one two")}),
    ],
)
async def test_markdown(text, plain, elements):
    assert marks(text) == (plain, elements)


@pytest.mark.parametrize(
    ("text", "plain", "elements"),
    [
        (
            "<s>a</s><del>b</del> <u>c</u>",
            "ab c",
            {("strikethrough", "a"), ("strikethrough", "b"), ("underline", "c")},
        ),
        ("<h1>a</h1><blockquote>b</blockquote>", "ab", {("heading", "a"), ("quote", "b")}),
        ("<p>a <span class='x>y'>b</span><br></p>", "a b", set()),
        ("1 < 2 &amp;&lt; 3 &#128075;", "1 < 2 &< 3 👋", set()),
        ("<b>open <i>both", "open both", {("strong", "open both"), ("emphasized", "both")}),
        ('<a href="https://max.ru?a=1&amp;b=2">x</a>', "x", {("link", "x")}),
        ("a<!-- <b>no</b> -->b", "ab", set()),
    ],
)
async def test_html(text, plain, elements):
    assert marks(text, "html") == (plain, elements)


async def test_without_a_format_nothing_is_parsed(call, sandbox):
    _, sent = await call("POST", "/messages", {"text": "**a** @b <i>"}, chat_id=NEWS)

    assert sent["message"]["body"]["text"] == "**a** @b <i>"
    assert "markup" not in sent["message"]["body"]


async def test_markup_comes_back_and_is_recorded(call, sandbox):
    _, sent = await call(
        "POST", "/messages", {"text": "[Анна](max://user/7) **!**", "format": "markdown"}, chat_id=NEWS
    )

    assert sent["message"]["body"]["markup"] == [
        {"from": 0, "length": 4, "type": "user_mention", "user_id": 7},
        {"from": 5, "length": 1, "type": "strong"},
    ]
    assert sandbox.effects()[-1].details["entities"] == [
        {"type": "text_mention", "offset": 0, "length": 4, "user_id": 7},
        {"type": "bold", "offset": 5, "length": 1},
    ]


async def test_an_unknown_format_is_refused(call, sandbox):
    status, _ = await call("POST", "/messages", {"text": "a", "format": "rtf"}, chat_id=NEWS)

    assert status == 400


@settings(max_examples=300, deadline=None)
@given(
    st.text(alphabet="ab *_~+^`[]()#>\n\\<>/&;=\"'@👋bi", max_size=200), st.sampled_from(["markdown", "html"])
)
def test_any_text_is_read_and_elements_lie_inside_it(text, style):
    marked = parse(text, style)

    for each in marked.elements:
        assert each.length > 0
        assert each.begin >= 0
        assert each.begin + each.length <= units(marked.text)


@pytest.mark.parametrize(
    "text", ["*a " * 1300, "a* " * 1300, "*a_ " * 1000, "[" * 4000, "`" * 4000, "<b>" * 1300, "> " * 2000]
)
@pytest.mark.parametrize("style", ["markdown", "html"])
def test_hostile_texts_take_no_time(text, style):
    parse(text, style)
