"""Where to, in answer to what, and under which circumstances: what all methods that send have in common."""

import pytest

from tests.sandbox.telegram.api import (
    BOT,
    BOT_ID,
    DEALS,
    FORUM,
    FRIENDS,
    NEWS,
    NEWS_JSON,
    NOON,
    SECOND_TOKEN,
    TEAM,
    becomes,
    new_sandbox,
    png,
)


async def say(api, chat_id: int, text: str = "x", **more) -> int:
    return (await api.result("sendMessage", chat_id=chat_id, text=text, **more))["message_id"]


# Access


@pytest.mark.parametrize(
    ("chat_id", "status", "name"),
    [(TEAM, "kicked", "supergroup"), (NEWS, "kicked", "channel"), (FRIENDS, "kicked", "group")],
)
async def test_a_kicked_bot_is_told_so(api, chat_id, status, name):
    becomes(api, chat_id, status)

    for method in ("sendMessage", "sendChatAction", "editMessageText"):
        code, answer = await api(method, chat_id=chat_id, text="x", action="typing", message_id=1)
        assert (code, answer["description"]) == (403, f"Forbidden: bot was kicked from the {name} chat")


@pytest.mark.parametrize(("chat_id", "name"), [(TEAM, "supergroup"), (NEWS, "channel"), (FRIENDS, "group")])
async def test_a_bot_that_left_is_no_member(api, chat_id, name):
    becomes(api, chat_id, "left")

    assert await api.refusal("sendMessage", chat_id=chat_id, text="x") == (
        f"Forbidden: bot is not a member of the {name} chat"
    )


async def test_a_bot_that_left_still_reads_of_public_chats_and_groups(api):
    for chat_id in (NEWS, FRIENDS, TEAM):
        becomes(api, chat_id, "left")

    codes = [(await api("getChat", chat_id=chat_id))[0] for chat_id in (NEWS, FRIENDS, TEAM)]

    assert codes == [200, 200, 403]


async def test_a_migrated_group_says_where_it_went(api):
    new = api.sandbox._state.add_chat(type(api.sandbox._state.chats[TEAM])(-1001000000099, "New", "supergroup"))
    api.sandbox._state.chats[FRIENDS].upgraded_to = new.id

    status, answer = await api("sendMessage", chat_id=FRIENDS, text="x")

    assert (status, answer) == (
        400,
        {
            "ok": False,
            "error_code": 400,
            "description": "Bad Request: group chat was upgraded to a supergroup chat",
            "parameters": {"migrate_to_chat_id": new.id},
        },
    )
    assert (await api("getChat", chat_id=FRIENDS))[0] == 200


async def test_deleted_chats_are_gone(api):
    for chat_id in (FRIENDS, TEAM):
        api.sandbox._state.chats[chat_id].deleted = True

    assert (
        await api.refusal("sendMessage", chat_id=FRIENDS, text="x") == "Forbidden: the group chat was deleted"
    )
    assert await api.refusal("sendMessage", chat_id=TEAM, text="x") == "chat not found"


async def test_a_person_who_blocked_the_bot_is_asked_last(api, anna):
    api.sandbox.person("Anna").blocks(BOT)

    assert await api.refusal("sendMessage", chat_id=anna, text="x" * 5000) == "message is too long"
    assert await api.refusal("sendMessage", chat_id=anna, text="x") == "Forbidden: bot was blocked by the user"
    assert await api.refusal("sendChatAction", chat_id=anna, action="typing") == (
        "Forbidden: bot was blocked by the user"
    )


async def test_a_deactivated_person_is_refused_at_once(api, anna):
    api.sandbox._state.dialogs[anna].extra["deactivated"] = True

    assert await api.refusal("sendMessage", chat_id=anna, text="x" * 5000) == "Forbidden: user is deactivated"


async def test_whom_the_bot_never_met_it_cannot_write_to(api):
    stranger = api.sandbox.person("Boris").id

    assert await api.refusal("sendMessage", chat_id=stranger, text="x") == (
        "Forbidden: bot can't initiate conversation with a user"
    )


@pytest.mark.parametrize("chat_id", [1000000002, "@second_bot"])
async def test_bots_do_not_write_to_bots(api, chat_id):
    assert await api.refusal("sendMessage", chat_id=chat_id, text="x") == (
        "Forbidden: the bot can't send messages to the bot"
    )


async def test_in_a_channel_one_needs_the_right_to_post(api):
    becomes(api, NEWS, "administrator", can_post_messages=False)
    without_right = await api.refusal("sendMessage", chat_id=NEWS, text=" ")
    becomes(api, NEWS, "member")

    assert without_right == "need administrator rights in the channel chat"
    assert await api.refusal("sendMessage", chat_id=NEWS, text="x") == without_right


async def test_who_is_restricted_writes_no_texts(api):
    becomes(api, TEAM, "restricted", can_send_photos=True)

    assert await api.refusal("sendMessage", chat_id=TEAM, text="x") == (
        "not enough rights to send text messages to the chat"
    )
    assert (await api("sendPhoto", files={"photo": ("a.png", png())}, chat_id=TEAM))[0] == 200


# Answers


async def test_an_answer_shows_what_it_answers_once(api):
    first = await say(api, NEWS, "first")
    second = await say(api, NEWS, "second", reply_to_message_id=first)

    message = await api.result(
        "sendMessage", chat_id=NEWS, text="third", reply_parameters={"message_id": second}
    )

    assert message["reply_to_message"]["text"] == "second"
    assert "reply_to_message" not in message["reply_to_message"]
    assert api.last().details == {"reply_to": second}


@pytest.mark.parametrize(
    "reply",
    [
        {"reply_to_message_id": 99},
        {"reply_parameters": {"message_id": 99}},
        {"reply_parameters": {"message_id": 1, "chat_id": DEALS}},
    ],
)
async def test_what_is_not_there_cannot_be_answered(api, reply):
    await say(api, NEWS)

    assert (
        await api.refusal("sendMessage", chat_id=NEWS, text="x", **reply) == "message to be replied not found"
    )


@pytest.mark.parametrize(
    "reply",
    [
        {"reply_to_message_id": 99, "allow_sending_without_reply": True},
        {"reply_parameters": {"message_id": 99, "allow_sending_without_reply": True}},
        {"reply_to_message_id": -1},
        {"reply_parameters": {}},
        {"reply_parameters": ""},
    ],
)
async def test_an_answer_may_stand_alone(api, reply):
    message = await api.result("sendMessage", chat_id=NEWS, text="x", **reply)

    assert "reply_to_message" not in message


@pytest.mark.parametrize(
    ("given", "refusal"),
    [
        ("{", "can't parse reply parameters JSON object"),
        ("[]", "object expected as reply parameters"),
        ({"x": 1}, 'can\'t find field "message_id"'),
        ({"message_id": "one"}, 'field "message_id" must be a valid Number'),
        ({"message_id": 1, "quote": "<b>", "quote_parse_mode": "HTML"}, "can't parse entities: Can't find end tag corresponding to start tag \"b\""),
    ],
)  # fmt: skip
async def test_broken_reply_parameters_are_refused_before_the_chat_is_looked_at(api, given, refusal):
    assert await api.refusal("sendMessage", chat_id=5, text="x", reply_parameters=given) == refusal


async def test_a_quote_is_shown_where_it_stands(api):
    first = await say(api, TEAM, "🙂 one two three")

    message = await api.result(
        "sendMessage",
        chat_id=TEAM,
        text="x",
        reply_parameters={"message_id": first, "quote": "<b>two</b>", "quote_parse_mode": "HTML"},
    )
    refusal = await api.refusal(
        "sendMessage", chat_id=TEAM, text="x", reply_parameters={"message_id": first, "quote": "four"}
    )

    assert message["quote"] == {
        "text": "two",
        "entities": [{"type": "bold", "offset": 0, "length": 3}],
        "position": 7,
        "is_manual": True,
    }
    assert refusal == "QUOTE_TEXT_INVALID"


async def test_an_answer_to_another_chat_tells_where_it_comes_from(api):
    await api("sendPhoto", files={"photo": ("a.png", png())}, chat_id=NEWS)

    message = await api.result(
        "sendMessage", chat_id=TEAM, text="x", reply_parameters={"message_id": 1, "chat_id": NEWS}
    )

    external = message["external_reply"]
    assert external.pop("photo")[0]["width"] == 40
    assert external == {
        "origin": {"type": "channel", "chat": NEWS_JSON, "message_id": 1, "date": int(NOON)},
        "chat": NEWS_JSON,
        "message_id": 1,
    }


# Other circumstances


async def test_link_previews_and_protection_are_kept(api):
    message = await api.result(
        "sendMessage",
        chat_id=NEWS,
        text="x",
        protect_content=True,
        link_preview_options={"url": "https://example.com", "prefer_large_media": True, "is_disabled": False},
    )
    disabled = await api.result("sendMessage", chat_id=NEWS, text="x", disable_web_page_preview="yes")

    assert message["link_preview_options"] == {"url": "https://example.com", "prefer_large_media": True}
    assert message["has_protected_content"] is True
    assert disabled["link_preview_options"] == {"is_disabled": True}


@pytest.mark.parametrize(
    ("given", "refusal"),
    [
        ("{", "can't parse link preview options JSON object"),
        ("[]", "object expected as link preview options"),
        ({"is_disabled": 1}, 'field "is_disabled" must be of type Boolean'),
    ],
)
async def test_broken_link_preview_options_come_before_the_missing_text(api, given, refusal):
    assert await api.refusal("sendMessage", link_preview_options=given) == refusal


async def test_effects_are_for_dialogs(api, anna):
    message = await api.result("sendMessage", chat_id=anna, text="x", message_effect_id="5104841245755180586")

    assert message["effect_id"] == "5104841245755180586"
    assert await api.refusal("sendMessage", chat_id=NEWS, text="x", message_effect_id="1") == (
        "can't use message effects in the chat"
    )


@pytest.mark.parametrize(
    ("chat_id", "refusal"),
    [
        ("", "chat identifier is empty"),
        ("@news", "chat identifier must be a valid Integer"),
        ("5", "business connection not found"),
    ],
)
async def test_nobody_has_lent_the_bot_his_account(api, chat_id, refusal):
    for method in ("sendMessage", "editMessageText", "pinChatMessage", "sendChatAction"):
        given = {"chat_id": chat_id, "text": "x", "message_id": 1, "action": "typing"}
        assert await api.refusal(method, business_connection_id="abc", **given) == refusal


async def test_threads_are_checked_only_where_there_are_topics(api, anna):
    assert (
        await api.refusal("sendMessage", chat_id=FORUM, text="x", message_thread_id=7)
        == "message thread not found"
    )
    assert (
        await api.refusal("sendMessage", chat_id=FORUM, text="x", message_thread_id=1)
        == "message thread not found"
    )
    assert (
        await api.refusal("sendMessage", chat_id=anna, text="x", message_thread_id=7)
        == "message thread not found"
    )
    assert "message_thread_id" not in await api.result(
        "sendMessage", chat_id=NEWS, text="x", message_thread_id=7
    )
    assert "message_thread_id" not in await api.result(
        "sendMessage", chat_id=TEAM, text="x", message_thread_id=7
    )


# Neither text nor file


@pytest.mark.parametrize(
    ("method", "given", "shown"),
    [
        ("sendLocation", {"latitude": 55.5, "longitude": "37.25"}, {"location": {"latitude": 55.5, "longitude": 37.25}}),
        (
            "sendLocation",
            {"latitude": 1, "longitude": 2, "horizontal_accuracy": 9000, "live_period": 60, "heading": 90},
            {"location": {"latitude": 1.0, "longitude": 2.0, "horizontal_accuracy": 1500.0, "live_period": 60, "heading": 90}},
        ),
        (
            "sendVenue",
            {"latitude": 1, "longitude": 2, "title": "Café", "address": "Street", "foursquare_id": "f"},
            {
                "location": {"latitude": 1.0, "longitude": 2.0},
                "venue": {"location": {"latitude": 1.0, "longitude": 2.0}, "title": "Café", "address": "Street", "foursquare_id": "f"},
            },
        ),
        (
            "sendContact",
            {"phone_number": "+7", "first_name": "Anna", "vcard": "v"},
            {"contact": {"phone_number": "+7", "first_name": "Anna", "vcard": "v"}},
        ),
    ],
)  # fmt: skip
async def test_places_and_contacts_are_shown_as_they_were_given(api, method, given, shown):
    message = await api.result(method, chat_id=TEAM, **given)

    assert {name: message[name] for name in shown} == shown
    assert api.last().details == {"content": shown}


@pytest.mark.parametrize(
    ("method", "given", "refusal"),
    [
        ("sendLocation", {}, "latitude is empty"),
        ("sendLocation", {"latitude": "1"}, "longitude is empty"),
        ("sendLocation", {"latitude": "91", "longitude": "0"}, "invalid location specified"),
        ("sendLocation", {"latitude": "1", "longitude": "1", "live_period": 59}, "wrong live location period specified"),
        ("sendLocation", {"latitude": "1", "longitude": "1", "live_period": 60, "heading": 361}, "wrong live location heading specified"),
        ("sendVenue", {"latitude": "1", "longitude": "181"}, "wrong venue location specified"),
        ("sendContact", {}, 'parameter "phone_number" is required'),
        ("sendContact", {"phone_number": "7"}, 'parameter "first_name" is required'),
    ],
)  # fmt: skip
async def test_places_and_contacts_are_refused_in_the_real_words(api, method, given, refusal):
    assert await api.refusal(method, chat_id=TEAM, **given) == refusal


async def test_dice_are_of_six_kinds(api):
    assert (await api.result("sendDice", chat_id=TEAM))["dice"]["emoji"] == "🎲"
    assert await api.refusal("sendDice", chat_id=TEAM, emoji="🐈") == "EMOTICON_INVALID"


async def test_dice_fall_as_the_seed_wants(api):
    values = [(await api.result("sendDice", chat_id=TEAM, emoji="🎰"))["dice"] for _ in range(5)]

    assert {one["emoji"] for one in values} == {"🎰"}
    assert all(1 <= one["value"] <= 64 for one in values)
    assert len({one["value"] for one in values}) > 1


# Who hears of it


async def test_other_bots_of_a_channel_hear_what_one_posts_and_edits(api):
    other = api.of(SECOND_TOKEN)
    await other.result("getUpdates")
    message = await say(api, NEWS, "one")
    await api.result("editMessageText", chat_id=NEWS, message_id=message, text="two")

    (post,) = await other.result("getUpdates", limit=1)
    (edit,) = await other.result("getUpdates", offset=post["update_id"] + 1, limit=1)

    assert (post["channel_post"]["text"], edit["edited_channel_post"]["text"]) == ("one", "two")


async def test_a_message_of_the_bot_has_the_bot_as_sender_in_groups(api):
    for chat_id in (TEAM, FRIENDS):
        message = await api.result("sendMessage", chat_id=chat_id, text="x")
        assert message["from"]["id"] == BOT_ID


async def test_buttons_are_looked_at_before_the_person_is_reached(api, anna):
    api.sandbox.person("Anna").blocks(BOT)
    button = {"text": "x", "callback_data": "x" * 65}

    refusal = await api.refusal(
        "sendMessage", chat_id=anna, text="x", reply_markup={"inline_keyboard": [[button]]}
    )

    assert refusal == "BUTTON_DATA_INVALID"


async def test_what_is_answered_is_looked_for_before_the_right_to_post(api):
    becomes(api, NEWS, "administrator", can_post_messages=False)

    refusals = [
        await api.refusal("sendMessage", chat_id=NEWS, text="x", **reply)
        for reply in ({"reply_parameters": {"message_id": 99}}, {})
    ]

    assert refusals == ["message to be replied not found", "need administrator rights in the channel chat"]


async def test_an_album_does_not_reach_who_blocked_the_bot(api, anna):
    api.sandbox.person("Anna").blocks(BOT)

    status, answer = await api(
        "sendMediaGroup",
        chat_id=anna,
        media=[{"type": "photo", "media": "http://127.0.0.1:1/never-asked.png"}] * 2,
    )

    assert (status, answer["description"]) == (403, "Forbidden: bot was blocked by the user")


async def test_a_deleted_group_is_still_there_to_be_read(api):
    api.sandbox.act("closes", {"chat": FRIENDS})

    assert (await api.result("getChat", chat_id=FRIENDS))["title"] == "Friends"
    assert await api("sendMessage", chat_id=FRIENDS, text="x") == (
        403,
        {"ok": False, "error_code": 403, "description": "Forbidden: the group chat was deleted"},
    )


async def test_what_the_ledger_drops_is_forgotten_everywhere(api, telegram_stage):
    telegram_stage.app = api.sandbox = sandbox = new_sandbox(ledger_size=2)

    for word in ("one", "two", "three"):
        await api.result("sendMessage", chat_id=NEWS, text=word)

    assert [effect.text for effect in sandbox.effects()] == ["two", "three"]
    assert list(sandbox._state.chats[NEWS].messages) == [2, 3]
    assert [message["text"] for message in sandbox.messages_of(NEWS)] == ["two", "three"]
    assert sandbox.chat(NEWS)["messages"] == 2
    assert await api.refusal("editMessageText", chat_id=NEWS, message_id=1, text="x") == (
        "message to edit not found"
    )


async def test_a_venue_is_of_one_provider(api):
    place = {"chat_id": NEWS, "latitude": 1, "longitude": 2, "title": "x", "address": "y"}
    both = {"foursquare_type": "cafe", "google_place_id": "g", "google_place_type": "bar"}

    venues = [
        (await api.result("sendVenue", **place, **given))["venue"]
        for given in (both, {"google_place_id": "g", "google_place_type": "bar"})
    ]

    assert [{name for name in venue if "_" in name} for venue in venues] == [
        {"foursquare_type"},
        {"google_place_id", "google_place_type"},
    ]
