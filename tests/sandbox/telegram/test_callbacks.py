"""Buttons that people press, and what the bot answers them with."""

from typing import Any

import pytest

from pressroom.sandbox.core.view import NoSuch, NotPossible
from pressroom.sandbox.telegram import callbacks
from tests.sandbox.telegram.hearing import BOT, NEWS, SECOND_BOT, SECOND_TOKEN, TEAM

KEYBOARD = {
    "inline_keyboard": [
        [{"text": "Buy", "callback_data": "buy:42"}, {"text": "Site", "url": "https://example.com/"}],
        [{"text": "Ещё", "callback_data": "еще"}],
    ]
}
TOO_LATE = "Bad Request: query is too old and response timeout expired or query ID is invalid"


@pytest.fixture
def anna(sandbox):
    anna = sandbox.person("Anna", username="anna_k")
    anna.starts(BOT)
    return anna


async def offer(bot, chat: int, **parameters: Any) -> int:
    sent = await bot.result("sendMessage", chat_id=chat, text="Offer", reply_markup=KEYBOARD, **parameters)
    return sent["message_id"]


async def last(bot) -> dict[str, Any]:
    (update,) = await bot.updates(offset=-1)
    return update["callback_query"]


async def test_a_pressed_button_asks_the_bot(bot, anna):
    number = await offer(bot, anna.id)

    query_id = anna.presses(BOT, number, "Buy")
    query = await last(bot)

    assert query.pop("message")["reply_markup"] == KEYBOARD
    assert query.pop("chat_instance").lstrip("-").isdigit()
    assert query == {
        "id": query_id,
        "from": {"id": anna.id, "is_bot": False, "first_name": "Anna", "username": "anna_k"},
        "data": "buy:42",
    }


@pytest.mark.parametrize("button", ["Ещё", "еще", (1, 0)])
async def test_a_button_is_named_by_its_text_its_data_or_its_place(bot, anna, button):
    anna.presses(BOT, await offer(bot, anna.id), button)

    assert (await last(bot))["data"] == "еще"


@pytest.mark.parametrize(
    ("button", "error", "text"),
    [
        ("Site", NotPossible, "opens https://example.com/"),
        ("Sell", NoSuch, "there is 'Buy', 'Site', 'Ещё'"),
        ((1, 1), NoSuch, "no button in row 1, column 1"),
        ((-1, 0), NoSuch, "no button in row -1"),
    ],
)
async def test_other_buttons_cannot_be_pressed(bot, anna, button, error, text):
    number = await offer(bot, anna.id)

    with pytest.raises(error, match=text):
        anna.presses(BOT, number, button)


async def test_only_bots_messages_with_buttons_are_pressed(bot, anna):
    number = anna.writes(BOT, "no buttons").id

    with pytest.raises(NotPossible, match="has no buttons"):
        anna.presses(BOT, number, "Buy")
    with pytest.raises(NoSuch, match="no message 99"):
        anna.presses(BOT, 99, "Buy")


@pytest.mark.parametrize("chat", [NEWS, TEAM])
async def test_in_a_chat_the_bot_whose_message_it_is_is_asked(bot, sandbox, anna, chat):
    sandbox.add("bot", {"token": SECOND_TOKEN, "username": SECOND_BOT})
    number = await offer(bot, chat)

    anna.presses(chat, number, "Buy")

    assert (await last(bot))["message"]["chat"]["id"] == chat
    assert not any("callback_query" in update for update in await bot.of(SECOND_TOKEN).updates())


async def test_a_chat_has_one_instance_for_all_its_messages(bot, anna):
    first, second, elsewhere = await offer(bot, anna.id), await offer(bot, anna.id), await offer(bot, NEWS)

    instances = []
    for chat, number in ((BOT, first), (BOT, second), (NEWS, elsewhere)):
        anna.presses(chat, number, "Buy")
        instances.append((await last(bot))["chat_instance"])

    assert instances[0] == instances[1] != instances[2]


@pytest.mark.parametrize(
    ("answer", "seen"),
    [
        ({}, ("", {})),
        ({"text": "Bought!"}, ("Bought!", {})),
        ({"text": "Sold out", "show_alert": True}, ("Sold out", {"alert": True})),
        ({"url": f"https://t.me/{BOT}?start=x"}, ("", {"url": f"https://t.me/{BOT}?start=x"})),
        ({"text": "я" * 200, "cache_time": 10}, ("я" * 200, {})),
    ],
)
async def test_the_person_sees_the_answer(bot, sandbox, anna, answer, seen):
    number = await offer(bot, anna.id)
    query = anna.presses(BOT, number, "Buy")

    assert await bot.result("answerCallbackQuery", callback_query_id=query, **answer) is True

    (effect,) = [one for one in sandbox.effects() if one.method == "answerCallbackQuery"]
    details = dict(effect.details or {})
    assert (details.pop("callback_query_id"), details.pop("person")) == (query, anna.id)
    assert (effect.actor, effect.chat, effect.message_id) == (BOT, anna.id, number)
    assert (effect.text, details) == seen


@pytest.mark.parametrize(
    ("answer", "description"),
    [
        ({"text": "x" * 201}, "Bad Request: MESSAGE_TOO_LONG"),
        ({"url": "https://example.com/"}, "Bad Request: URL_INVALID"),
        ({"url": "https://t.me/another_bot"}, "Bad Request: URL_INVALID"),
        ({"url": "https://[t.me/"}, "Bad Request: URL_INVALID"),
        ({"text": "\ud83d"}, "Bad Request: strings must be encoded in UTF-8"),
        ({"callback_query_id": "1"}, TOO_LATE),
        ({"callback_query_id": ""}, TOO_LATE),
        ({"callback_query_id": "nonsense", "text": "x" * 999}, TOO_LATE),
    ],
)
async def test_what_cannot_be_answered_is_refused(bot, sandbox, anna, answer, description):
    query = anna.presses(BOT, await offer(bot, anna.id), "Buy")
    before = sandbox.total

    status, said = await bot("answerCallbackQuery", **{"callback_query_id": query, **answer})

    assert (status, said["description"]) == (400, description)
    assert sandbox.total == before


async def test_nobody_answers_after_150_seconds_or_in_another_bots_name(bot, sandbox, anna):
    sandbox.add("bot", {"token": SECOND_TOKEN, "username": SECOND_BOT})
    query = anna.presses(BOT, await offer(bot, anna.id), "Buy")

    stranger = await bot.of(SECOND_TOKEN)("answerCallbackQuery", callback_query_id=query)
    sandbox.world.clock.advance(150)
    in_time = await bot("answerCallbackQuery", callback_query_id=query)
    sandbox.world.clock.advance(0.5)
    late = await bot("answerCallbackQuery", callback_query_id=query)

    assert stranger[1]["description"] == late[1]["description"] == TOO_LATE
    assert in_time == (200, {"ok": True, "result": True})


async def test_a_query_that_nobody_fetched_in_150_seconds_is_gone(bot, sandbox, anna):
    anna.presses(BOT, await offer(bot, anna.id), "Buy")
    sandbox.world.clock.advance(151)

    kinds = {kind for update in await bot.updates() for kind in update}

    assert kinds == {"update_id", "message"}


async def test_only_so_many_queries_are_open(bot, anna, monkeypatch):
    monkeypatch.setattr(callbacks, "OPEN_QUERIES", 2)
    number = await offer(bot, anna.id)
    queries = [anna.presses(BOT, number, "Buy") for _ in range(3)]

    answers = [await bot("answerCallbackQuery", callback_query_id=query) for query in queries]

    assert [status for status, _ in answers] == [400, 200, 200]
    assert answers[0][1]["description"] == TOO_LATE
