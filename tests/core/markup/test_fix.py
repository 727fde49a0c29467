"""What sending does after parsing, where no oracle works offline: trimming, and the entities that are found."""

import pytest

from pressroom.core.markup import Dialect, Entity, EntityType, Markup, ParseFailed, fix, parse


def sent(text: str, dialect: Dialect = Dialect.HTML) -> tuple[str, list[tuple[str, int, int]]]:
    markup = fix(parse(text, dialect))
    return markup.text, [(one.type.value, one.offset, one.length) for one in markup.entities]


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("  \n x  \n", ("x", [])),
        ("  <b>x</b>  ", ("x", [("bold", 0, 1)])),
        ("<b>  x  </b>", ("  x", [("bold", 0, 3)])),
        ("x<b> </b>", ("x", [])),
        ("a\r\nb\tc\x00d", ("a\nb c d", [])),
        ("a\r<b>\rb</b>\u2028", ("ab", [("bold", 1, 1)])),
        ("\u200e\u200f\u200ex", ("\u200c\u200c\u200ex", [])),
        ("👍<b>👍</b> ", ("👍👍", [("bold", 2, 2)])),
        ("e.com @durov", ("e.com @durov", [("url", 0, 5), ("mention", 6, 6)])),
        (" #тег", ("#тег", [("hashtag", 0, 4)])),
        ("<b>a e.com</b>", ("a e.com", [("bold", 0, 2), ("url", 2, 5), ("bold", 2, 5)])),
        ("<code>e.com</code>", ("e.com", [("code", 0, 5)])),
        ('<a href="x.com">e.com</a>', ("e.com", [("text_link", 0, 5)])),
        ("<blockquote>a\ne</blockquote>.com", ("a\ne.com", [("blockquote", 0, 3)])),
        ("<b>a</b><b>b</b>", ("ab", [("bold", 0, 2)])),
        ("<b>a<code>b</code>c</b>", ("abc", [("bold", 0, 1), ("code", 1, 1), ("bold", 2, 1)])),
        ("<b>a<i>b</i></b>", ("ab", [("bold", 0, 1), ("bold", 1, 1), ("italic", 1, 1)])),
    ],
)
def test_a_message_is_cleaned_repaired_trimmed_and_marked(text, answer):
    assert sent(text) == answer


@pytest.mark.parametrize("text", ["", " \n ", "\t", "\u2800", "<b> </b>", "\u200b\ufeff", "\U000e0020"])
def test_a_message_without_a_visible_sign_is_refused(text):
    with pytest.raises(ParseFailed, match=r"^text must be non-empty$"):
        sent(text)


def test_given_entities_that_do_not_format_are_found_anew():
    given = Markup("@durov", (Entity(EntityType.HASHTAG, 0, 3),))

    assert fix(given) == Markup("@durov", (Entity(EntityType.MENTION, 0, 6),))


def test_a_given_link_to_a_user_is_a_mention_and_another_is_kept_as_telegram_keeps_it():
    given = (
        Entity(EntityType.TEXT_LINK, 0, 1, url="tg://user?id=5"),
        Entity(EntityType.TEXT_LINK, 1, 1, url="E.com"),
        Entity(EntityType.TEXT_MENTION, 2, 1, user_id=0),
    )

    assert fix(Markup("abc", given)).entities == (
        Entity(EntityType.TEXT_MENTION, 0, 1, user_id=5),
        Entity(EntityType.TEXT_LINK, 1, 1, url="http://e.com/"),
    )


@pytest.mark.parametrize(
    ("entity", "message"),
    [
        (Entity(EntityType.BOLD, -1, 1), "receive an entity with incorrect offset -1"),
        (Entity(EntityType.BOLD, 0, 1_000_001), "receive an entity with incorrect length 1000001"),
        (Entity(EntityType.BOLD, 1, 1), "entity begins in a middle of a UTF-16 symbol at byte offset 4"),
        (Entity(EntityType.TEXT_LINK, 0, 2, url="x"), "entity URL 'x' is invalid: Wrong HTTP URL"),
        (Entity(EntityType.TEXT_LINK, 0, 2, url="\ud800"), "messageEntityTextUrl.url must be encoded in UTF-8"),
    ],
)
def test_a_wrong_entity_is_refused_in_the_words_of_the_bot_api(entity, message):
    with pytest.raises(ParseFailed) as refused:
        fix(Markup("👍x", (entity,)))

    assert refused.value.message == message
