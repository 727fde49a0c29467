import pytest

from tests.sandbox.telegram.api import NEWS, png


def bold(offset: int = 0, length: int = 1, **more: object) -> dict[str, object]:
    return {"type": "bold", "offset": offset, "length": length, **more}


@pytest.mark.parametrize(
    ("text", "given", "shown"),
    [
        ("🙂 one", [bold(3, 3)], [bold(3, 3)]),
        ("  x", [bold(2, 1)], [bold(0, 1)]),
        ("x", [bold("0", "1")], [bold(0, 1)]),
        ("x", [{"type": "pre", "offset": 0, "length": 1, "language": "py"}], [{"type": "pre", "offset": 0, "length": 1, "language": "py"}]),
        ("x", [{"type": "text_link", "offset": 0, "length": 1, "url": "example.com"}], [{"type": "text_link", "offset": 0, "length": 1, "url": "http://example.com/"}]),
        ("x", [{"type": "custom_emoji", "offset": 0, "length": 1, "custom_emoji_id": "7"}], [{"type": "custom_emoji", "offset": 0, "length": 1, "custom_emoji_id": "7"}]),
        ("x", [{"type": "date_time", "offset": 0, "length": 1, "unix_time": 7, "date_time_format": "TdW"}], [{"type": "date_time", "offset": 0, "length": 1, "unix_time": 7, "date_time_format": "wdT"}]),
        ("x", [{"type": "date_time", "offset": 0, "length": 1, "unix_time": 7, "date_time_format": "R"}], [{"type": "date_time", "offset": 0, "length": 1, "unix_time": 7, "date_time_format": "r"}]),
        ("x", [{"type": "mention", "offset": 0, "length": 1}], None),
        ("x", [], None),
        ("x", "{", None),
        ("x", "{}", None),
    ],
)  # fmt: skip
async def test_given_entities_are_kept_as_telegram_keeps_them(api, text, given, shown):
    message = await api.result("sendMessage", chat_id=NEWS, text=text, entities=given)

    assert message.get("entities") == shown


async def test_a_mention_of_a_person_shows_the_person(api, anna):
    given = [{"type": "text_mention", "offset": 0, "length": 1, "user": {"id": anna}}]

    message = await api.result("sendMessage", chat_id=NEWS, text="x", entities=given)

    assert message["entities"][0]["user"] == {
        "id": anna,
        "is_bot": False,
        "first_name": "Anna",
        "username": "anna",
    }


@pytest.mark.parametrize(
    ("entity", "refusal"),
    [
        (7, "can't parse MessageEntity: expected an Object"),
        ({}, "can't parse MessageEntity: Can't find field \"offset\""),
        ({"offset": 0}, "can't parse MessageEntity: Can't find field \"length\""),
        ({"offset": 0, "length": 1}, "can't parse MessageEntity: Can't find field \"type\""),
        (bold(type=""), "can't parse MessageEntity: Type is not specified"),
        (bold(type="loud"), "can't parse MessageEntity: Unsupported type specified"),
        (bold(True), 'can\'t parse MessageEntity: Field "offset" must be a Number'),
        (bold(type="text_link"), "can't parse MessageEntity: Can't find field \"url\""),
        (bold(type="text_mention"), "can't parse MessageEntity: Can't find field \"user\""),
        (bold(type="text_mention", user={}), "can't parse MessageEntity: Can't find field \"id\""),
        (bold(type="custom_emoji", custom_emoji_id="x"), 'can\'t parse MessageEntity: Field "custom_emoji_id" must be a valid Number'),
        (bold(type="date_time", unix_time=7, date_time_format="q"), "can't parse MessageEntity: Invalid date-time format specified"),
    ],
)  # fmt: skip
async def test_entities_that_are_none_are_refused_before_the_chat_is_looked_at(api, entity, refusal):
    assert await api.refusal("sendMessage", chat_id=5, text="x", entities=[entity]) == refusal


@pytest.mark.parametrize(
    ("entity", "refusal"),
    [
        (bold(-1), "receive an entity with incorrect offset -1"),
        (bold(2, 1), "entity begins after the end of the text at UTF-16 offset 2"),
        (bold(0, 5), "entity beginning at UTF-16 offset 0 ends after the end of the text at UTF-16 offset 5"),
        (bold(type="text_link", url="x"), "entity URL 'x' is invalid: Wrong HTTP URL"),
    ],
)
async def test_entities_outside_the_text_are_refused_after_the_chat_was_looked_at(api, entity, refusal):
    assert await api.refusal("sendMessage", chat_id=5, text="x", entities=[entity]) == "chat not found"
    assert await api.refusal("sendMessage", chat_id=NEWS, text="x", entities=[entity]) == refusal


async def test_a_parse_mode_wins_over_entities(api):
    message = await api.result(
        "sendMessage", chat_id=NEWS, text="<i>x</i>", parse_mode="HTML", entities=[bold()]
    )

    assert message["entities"] == [bold(type="italic")]


async def test_numbers_of_bank_cards_are_not_told(api):
    message = await api.result("sendMessage", chat_id=NEWS, text="4242 4242 4242 4242 #tag")

    assert [one["type"] for one in message["entities"]] == ["hashtag"]


@pytest.mark.parametrize("caption", [" ", "\n", "​"])
async def test_a_caption_of_nothing_is_none(api, caption):
    _, answer = await api("sendPhoto", files={"photo": ("a.png", png())}, chat_id=NEWS, caption=caption)

    assert "caption" not in answer["result"]
