from typing import Any

import pytest

from tests.sandbox.telegram.api import FRIENDS, NEWS, TEAM


def inline(*buttons: Any) -> dict[str, Any]:
    return {"inline_keyboard": [list(buttons)]}


def keyboard(*buttons: Any, **more: Any) -> dict[str, Any]:
    return {"keyboard": [list(buttons)], **more}


DATA = {"text": "Да", "callback_data": "yes"}

EVERY_BUTTON = [
    DATA,
    {"text": "site", "url": "https://example.com/"},
    {"text": "bare", "url": "example.com"},
    {"text": "user", "url": "tg://user?id=5000000001"},
    {"text": "inline", "switch_inline_query": "q"},
    {"text": "here", "switch_inline_query_current_chat": ""},
    {"text": "there", "switch_inline_query_chosen_chat": {"query": "q", "allow_user_chats": True}},
    {"text": "copy", "copy_text": {"text": "words"}},
    {"text": "login", "login_url": {"url": "https://example.com/login", "bot_username": "@some_bot"}},
    {
        "text": "coloured",
        "callback_data": "x",
        "style": "Danger",
        "icon_custom_emoji_id": "5368324170671202286",
    },
]
EVERY_BUTTON_SHOWN = [
    DATA,
    {"text": "site", "url": "https://example.com/"},
    {"text": "bare", "url": "http://example.com/"},
    {"text": "user", "url": "tg://user?id=5000000001"},
    {"text": "inline", "switch_inline_query": "q"},
    {"text": "here", "switch_inline_query_current_chat": ""},
    {
        "text": "there",
        "switch_inline_query_chosen_chat": {
            "query": "q",
            "allow_user_chats": True,
            "allow_bot_chats": False,
            "allow_group_chats": False,
            "allow_channel_chats": False,
        },
    },
    {"text": "copy", "copy_text": {"text": "words"}},
    {"text": "login", "url": "https://example.com/login"},
    {
        "text": "coloured",
        "icon_custom_emoji_id": "5368324170671202286",
        "style": "danger",
        "callback_data": "x",
    },
]


async def test_buttons_under_a_message_are_shown_and_recorded(api):
    message = await api.result("sendMessage", chat_id=TEAM, text="x", reply_markup=inline(*EVERY_BUTTON))

    assert message["reply_markup"] == {"inline_keyboard": [EVERY_BUTTON_SHOWN]}
    assert api.last().details == {"buttons": [EVERY_BUTTON_SHOWN]}


@pytest.mark.parametrize(
    ("markup", "kept"),
    [
        (
            keyboard("Да", {"text": "Нет"}, resize_keyboard=True, input_field_placeholder="?", selective=True),
            {"keyboard": [[{"text": "Да"}, {"text": "Нет"}]], "selective": True, "resize_keyboard": True, "input_field_placeholder": "?"},
        ),
        ({"remove_keyboard": True}, {"remove_keyboard": True}),
        ({"force_reply": True, "selective": True}, {"force_reply": True, "selective": True}),
    ],
)  # fmt: skip
async def test_a_keyboard_is_recorded_and_not_shown(api, anna, markup, kept):
    message = await api.result("sendMessage", chat_id=anna, text="x", reply_markup=markup)

    assert "reply_markup" not in message
    assert api.last().details == {"keyboard": kept}


@pytest.mark.parametrize(
    "markup",
    [
        {},
        {"inline_keyboard": []},
        {"inline_keyboard": [[]]},
        {"keyboard": [[""]]},
        inline({"text": "", "url": "x.ru"}),
    ],
)
async def test_a_keyboard_without_buttons_is_none(api, anna, markup):
    await api.result("sendMessage", chat_id=anna, text="x", reply_markup=markup)

    assert api.last().details is None


@pytest.mark.parametrize(
    ("markup", "refusal"),
    [
        ("{", "can't parse reply keyboard markup JSON object"),
        ("[]", "object expected as reply markup"),
        ("null", "object expected as reply markup"),
        ({"keyboard": 1}, 'field "keyboard" must be of type Array'),
        ({"keyboard": [1]}, 'field "keyboard" must be an Array of Arrays'),
        ({"keyboard": [[1]]}, "can't parse keyboard button: KeyboardButton must be a String or an Object"),
        ({"keyboard": [[{}]]}, "can't parse keyboard button: Can't find field \"text\""),
        ({"inline_keyboard": {}}, 'field "inline_keyboard" must be of type Array'),
        ({"inline_keyboard": [DATA]}, 'field "inline_keyboard" of the InlineKeyboardMarkup must be an Array of Arrays'),
        (inline("x"), "can't parse inline keyboard button: InlineKeyboardButton must be an Object"),
        (inline({"url": "x.ru"}), "can't parse inline keyboard button: Can't find field \"text\""),
        (inline({"text": "x"}), "can't parse inline keyboard button: Text buttons are unallowed in the inline keyboard"),
        (inline({"text": "x", "callback_data": []}), 'can\'t parse inline keyboard button: Field "callback_data" must be of type String'),
        (inline({"text": "x", "web_app": 1}), 'can\'t parse inline keyboard button: Field "web_app" must be of type Object'),
        (inline({**DATA, "style": "loud"}), "can't parse inline keyboard button: invalid button style specified"),
        (inline({"text": "x", "login_url": {"url": "https://x.ru", "bot_username": "@"}}), "can't parse inline keyboard button: LoginUrl bot username is invalid"),
        ({"remove_keyboard": 1}, 'field "remove_keyboard" must be of type Boolean'),
        ({"force_reply": "yes"}, 'field "force_reply" must be of type Boolean'),
        ({**keyboard("x"), "resize_keyboard": 1}, 'field "resize_keyboard" must be of type Boolean'),
    ],
)  # fmt: skip
async def test_a_keyboard_that_is_none_is_refused_before_the_chat_is_looked_at(api, markup, refusal):
    assert await api.refusal("sendMessage", chat_id=5, text="x", reply_markup=markup) == refusal


FOREIGN = "in a channel chat, because users will not be able to use the button without knowing bot's username"


@pytest.mark.parametrize(
    ("chat_id", "markup", "refusal"),
    [
        (NEWS, keyboard("x"), "inline keyboard expected"),
        (NEWS, {"remove_keyboard": True}, "inline keyboard expected"),
        (NEWS, inline({"text": "x", "switch_inline_query": ""}), f"can't use switch_inline_query button {FOREIGN}"),
        (NEWS, inline({"text": "x", "switch_inline_query_current_chat": ""}), f"can't use switch_inline_query_current_chat button {FOREIGN}"),
        (NEWS, inline({"text": "\ud83d", "url": "x.ru"}), "inline keyboard button text must be encoded in UTF-8"),
        (NEWS, inline({"text": "x", "url": "http://x.ru/\ud83d"}), "inline keyboard button URL must be encoded in UTF-8"),
        (NEWS, inline({"text": " ", "url": "x.ru"}), "inline keyboard button text must be non-empty"),
        (NEWS, inline({"text": "x", "url": "http://localhost:80"}), "inline keyboard button URL 'http://localhost:80' is invalid: Wrong HTTP URL"),
        (NEWS, inline({"text": "x", "url": "javascript:alert(1)"}), "inline keyboard button URL 'javascript:alert(1)' is invalid: Wrong port number specified in the URL"),
        (NEWS, inline({"text": "x", "login_url": {"url": "http://x.ru"}}), "inline keyboard button login URL 'http://x.ru' is invalid: Only HTTPS links are allowed"),
        (NEWS, inline({"text": "x", "web_app": {"url": "tg://user?id=7"}}), "link to a user can't be used in Web App URL buttons"),
        (FRIENDS, keyboard({"text": "x", "request_contact": True}), "phone number can be requested in private chats only"),
        (FRIENDS, keyboard({"text": "x", "request_location": True}), "location can be requested in private chats only"),
        (FRIENDS, keyboard({"text": "x", "request_poll": {}}), "poll can be requested in private chats only"),
        (FRIENDS, keyboard({"text": "x", "request_chat": {"request_id": 1}}), "chats can be requested in private chats only"),
        (FRIENDS, keyboard({"text": "x", "request_user": {"request_id": 1}}), "users can be requested in private chats only"),
        (FRIENDS, keyboard({"text": "x", "web_app": {"url": "https://x.ru"}}), "web App buttons can be used in private chats only"),
    ],
)  # fmt: skip
async def test_what_a_chat_cannot_have_is_refused_before_the_text_is_looked_at(api, chat_id, markup, refusal):
    assert await api.refusal("sendMessage", chat_id=chat_id, text=" ", reply_markup=markup) == refusal


@pytest.mark.parametrize(
    ("chat_id", "markup", "refusal"),
    [
        (NEWS, inline({"text": "x", "callback_data": "x" * 65}), "BUTTON_DATA_INVALID"),
        (NEWS, inline({"text": "x", "callback_data": "я" * 33}), "BUTTON_DATA_INVALID"),
        (NEWS, inline({"text": "x", "url": "https://example.com/" + "x" * 2048}), "BUTTON_URL_INVALID"),
        (NEWS, inline({"text": "x", "copy_text": {"text": "x" * 257}}), "BUTTON_COPY_TEXT_INVALID"),
        (TEAM, inline({"text": "x", "web_app": {"url": "https://x.ru/"}}), "BUTTON_TYPE_INVALID"),
        (NEWS, {"inline_keyboard": [[DATA] * 8] * 13}, "reply markup is too long"),
        (
            NEWS,
            {"inline_keyboard": [[{"text": "x" * 3000, "callback_data": "x"}] * 4]},
            "reply markup is too long",
        ),
    ],
)
async def test_what_telegram_does_not_take_is_refused_last(api, chat_id, markup, refusal):
    assert await api.refusal("sendMessage", chat_id=chat_id, text="x", reply_markup=markup) == refusal
    assert await api.refusal("sendMessage", chat_id=chat_id, text="x" * 4097, reply_markup=markup) == (
        "message is too long"
    )
    assert api.sandbox.total == 0


@pytest.mark.parametrize("data", ["x" * 64, "я" * 32])
async def test_64_bytes_of_data_are_not_too_much(api, data):
    assert (
        await api(
            "sendMessage", chat_id=NEWS, text="x", reply_markup=inline({"text": "x", "callback_data": data})
        )
    )[0] == 200


async def test_buttons_over_the_limits_of_a_row_are_dropped(api, anna):
    rows = [["x"] * 13] * 30

    await api.result("sendMessage", chat_id=anna, text="x", reply_markup={"keyboard": rows})

    assert [len(row) for row in api.last().details["keyboard"]["keyboard"]] == [12] * 25
