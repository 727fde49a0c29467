import pytest

from tests.sandbox.telegram.api import (
    BOT,
    BOT_ID,
    DAY,
    DEALS,
    FRIENDS,
    NEWS,
    NEWS_JSON,
    NOON,
    SECOND_TOKEN,
    TEAM,
    becomes,
    png,
)

LINK = {"inline_keyboard": [[{"text": "x", "url": "https://example.com/"}]]}
DATA = {"inline_keyboard": [[{"text": "x", "callback_data": "x"}]]}


async def say(api, chat_id: int = NEWS, text: str = "x", **more) -> int:
    return (await api.result("sendMessage", chat_id=chat_id, text=text, **more))["message_id"]


async def photo(api, chat_id: int = NEWS, **more) -> int:
    _, answer = await api(
        "sendPhoto", files={"photo": ("a.png", png())}, chat_id=chat_id, caption="old", **more
    )
    return answer["result"]["message_id"]


async def album(api) -> list[int]:
    files = {"0": ("0.png", png(9, 9)), "1": ("1.png", png(8, 8))}
    media = [{"type": "photo", "media": f"attach://{number}"} for number in range(2)]
    _, answer = await api("sendMediaGroup", files=files, chat_id=NEWS, media=media)
    return [one["message_id"] for one in answer["result"]]


# Forwards


async def test_a_forward_tells_where_it_comes_from_however_often(api):
    message = await say(api, text="<b>old</b>", parse_mode="HTML", reply_markup=LINK)
    api.clock.advance(60)

    once = await api.result("forwardMessage", chat_id=TEAM, from_chat_id=NEWS, message_id=message)
    twice = await api.result("forwardMessage", chat_id=DEALS, from_chat_id=TEAM, message_id=once["message_id"])

    origin = {"type": "channel", "chat": NEWS_JSON, "message_id": message, "date": int(NOON)}
    assert once["forward_origin"] == twice["forward_origin"] == origin
    assert (once["text"], once["entities"]) == ("old", [{"type": "bold", "offset": 0, "length": 3}])
    assert once["reply_markup"] == LINK
    assert api.last().details["from"] == {"chat": TEAM, "message_id": once["message_id"]}


async def test_a_forward_of_a_person_tells_who_it_was(api, anna):
    api.sandbox.person("Anna").writes(BOT, "hello")
    number = api.sandbox._state.dialogs[anna].last_message_id

    forwarded = await api.result("forwardMessage", chat_id=TEAM, from_chat_id=anna, message_id=number)

    assert forwarded["forward_origin"]["sender_user"]["id"] == anna


async def test_buttons_that_lead_nowhere_are_not_forwarded(api):
    message = await say(api, reply_markup=DATA)

    forwarded = await api.result("forwardMessage", chat_id=TEAM, from_chat_id=NEWS, message_id=message)

    assert "reply_markup" not in forwarded


async def test_protected_messages_are_copied_and_not_forwarded(api):
    message = await say(api, protect_content=True)
    given = {"chat_id": TEAM, "from_chat_id": NEWS, "message_id": message}

    assert (
        await api.refusal("forwardMessage", **given) == "message has protected content and can't be forwarded"
    )
    assert (await api("copyMessage", **given))[0] == 200


@pytest.mark.parametrize(
    ("parameters", "refusal"),
    [
        ({}, 'parameter "from_chat_id" is required'),
        ({"from_chat_id": 5}, "chat not found"),
        ({"from_chat_id": NEWS}, "message to {} not found"),
        ({"from_chat_id": NEWS, "message_id": 99}, "message to {} not found"),
        ({"from_chat_id": NEWS, "message_id": 1}, "chat_id is empty"),
        ({"from_chat_id": NEWS, "message_id": 1, "chat_id": 5}, "chat not found"),
    ],
)
async def test_what_is_not_there_cannot_be_repeated(api, parameters, refusal):
    await say(api)

    assert await api.refusal("forwardMessage", **parameters) == refusal.format("forward")
    assert await api.refusal("copyMessage", **parameters) == refusal.format("copy")


async def test_service_messages_cannot_be_repeated(api):
    await api.result("setChatTitle", chat_id=TEAM, title="New")
    given = {"chat_id": NEWS, "from_chat_id": TEAM, "message_id": 1}

    assert await api.refusal("forwardMessage", **given) == "message can't be forwarded"
    assert await api.refusal("copyMessage", **given) == "message can't be copied"


# Copies


async def test_a_copy_is_a_message_of_ones_own(api):
    message = await say(api, text="<b>old</b>", parse_mode="HTML", reply_markup=LINK)

    answer = await api.result(
        "copyMessage", chat_id=TEAM, from_chat_id=NEWS, message_id=message, reply_markup=DATA
    )

    assert answer == {"message_id": 1}
    edited = await api.result("editMessageText", chat_id=TEAM, message_id=1, text="new")
    assert "forward_origin" not in edited
    first = api.sandbox.effects()[-2]
    assert (first.method, first.text) == ("copyMessage", "old")
    assert first.details == {
        "entities": [{"type": "bold", "offset": 0, "length": 3}],
        "buttons": DATA["inline_keyboard"],
        "from": {"chat": NEWS, "message_id": message},
    }


async def test_a_copy_may_have_another_caption(api):
    message = await photo(api)
    given = {"chat_id": TEAM, "from_chat_id": NEWS, "message_id": message}

    for more in ({}, {"caption": "new"}, {"caption": ""}):
        await api.result("copyMessage", **given, **more)

    assert [effect.text for effect in api.sandbox.effects()[-3:]] == ["old", "new", ""]
    assert await api.refusal("copyMessage", **given, caption="x" * 1025) == "message caption is too long"


# Several


async def test_several_are_repeated_in_order_and_missing_ones_passed_over(api):
    first, second = await say(api, text="1"), await say(api, text="2")
    given = {"chat_id": TEAM, "from_chat_id": NEWS, "message_ids": [first, second, 99]}

    forwarded = await api.result("forwardMessages", **given)
    copied = await api.result("copyMessages", **given)

    assert (forwarded, copied) == (
        [{"message_id": 1}, {"message_id": 2}],
        [{"message_id": 3}, {"message_id": 4}],
    )
    assert api.sandbox.effects()[-1].text == "2"


@pytest.mark.parametrize("method", ["forwardMessages", "copyMessages"])
async def test_albums_stay_together(api, method):
    messages = [*await album(api), await say(api)]

    await api.result(method, chat_id=TEAM, from_chat_id=NEWS, message_ids=messages)

    albums = [(effect.details or {}).get("album") for effect in api.sandbox.effects()]
    assert albums[0] == albums[1] != albums[3]
    assert albums[3] == albums[4] is not None
    assert albums[5] is None


async def test_captions_may_be_left_behind(api):
    message = await photo(api)

    await api.result(
        "copyMessages", chat_id=TEAM, from_chat_id=NEWS, message_ids=[message], remove_caption=True
    )

    assert api.last().text == ""


@pytest.mark.parametrize(
    ("ids", "refusal"),
    [
        ("", "message identifiers are not specified"),
        ("[]", "message identifiers are not specified"),
        ("[", "can't parse message_ids JSON object"),
        ("7", "expected an Array of message identifiers"),
        (list(range(1, 102)), "too many message identifiers specified"),
        ([[]], "message identifier must be a Number"),
        ([1.5], "can't parse message identifier as a Number"),
        (["x"], "can't parse message identifier as a Number"),
        ([0], "invalid message identifier specified"),
    ],
)
async def test_lists_of_messages_are_refused_in_the_real_words(api, ids, refusal):
    given = {"chat_id": TEAM, "from_chat_id": NEWS, "message_ids": ids}

    for method in ("forwardMessages", "copyMessages", "deleteMessages"):
        assert await api.refusal(method, **given) == refusal


async def test_several_come_in_increasing_order(api):
    first, second = await say(api), await say(api)
    given = {"chat_id": TEAM, "from_chat_id": NEWS, "message_ids": [second, first]}

    assert await api.refusal("forwardMessages", **given) == (
        "message identifiers must be in a strictly increasing order"
    )
    assert await api.refusal("copyMessages", **{**given, "message_ids": [98, 99]}) == (
        "there are no messages to forward"
    )


# Deletions


async def test_a_message_is_deleted_once(api):
    message = await say(api)
    given = {"chat_id": NEWS, "message_id": message}

    assert await api.result("deleteMessage", **given) is True
    assert api.last()[4:8] == (NEWS, "deleteMessage", message, "")
    assert await api.refusal("deleteMessage", **given) == "message to delete not found"


@pytest.mark.parametrize(
    ("parameters", "refusal"),
    [
        ({}, "chat identifier is not specified"),
        ({"chat_id": 5}, "message identifier is not specified"),
        ({"chat_id": 5, "message_id": 1}, "chat not found"),
        ({"chat_id": NEWS, "message_id": 1}, "message to delete not found"),
    ],
)
async def test_a_deletion_is_refused_in_the_real_order(api, parameters, refusal):
    assert await api.refusal("deleteMessage", **parameters) == refusal


@pytest.mark.parametrize(
    ("chat_id", "refusal"),
    [
        (NEWS, "message can't be deleted"),
        (TEAM, "message can't be deleted"),
        (FRIENDS, "message can't be deleted for everyone"),
    ],
)
async def test_after_two_days_bots_cannot_delete(api, chat_id, refusal):
    old = await say(api, chat_id)
    api.clock.advance(2 * DAY)
    in_time = await api("deleteMessage", chat_id=chat_id, message_id=old)
    old = await say(api, chat_id)
    api.clock.advance(2 * DAY + 1)

    assert in_time[0] == 200
    assert await api.refusal("deleteMessage", chat_id=chat_id, message_id=old) == refusal


async def test_a_bot_deletes_what_others_wrote_in_a_dialog(api, anna):
    api.sandbox.person("Anna").writes(BOT, "hello")
    number = api.sandbox._state.dialogs[anna].last_message_id
    dice = (await api.result("sendDice", chat_id=anna))["message_id"]

    assert await api.result("deleteMessage", chat_id=anna, message_id=number) is True
    assert await api.refusal("deleteMessage", chat_id=anna, message_id=dice) == (
        "message can't be deleted for everyone"
    )


async def test_in_groups_one_needs_the_right_to_delete_what_others_wrote(api):
    person = api.sandbox.person("Anna")
    for chat_id, status in ((TEAM, "member"), (FRIENDS, "member")):
        person.joins(chat_id)
        person.writes(chat_id, "hello")
        becomes(api, chat_id, status)
    numbers = {chat_id: api.sandbox._state.chats[chat_id].last_message_id for chat_id in (TEAM, FRIENDS)}

    refusals = [
        await api.refusal("deleteMessage", chat_id=chat_id, message_id=number)
        for chat_id, number in numbers.items()
    ]
    becomes(api, TEAM, "administrator")

    assert refusals == ["message can't be deleted", "message can't be deleted for everyone"]
    assert (await api("deleteMessage", chat_id=TEAM, message_id=numbers[TEAM]))[0] == 200
    assert (await api("deleteMessage", chat_id=FRIENDS, message_id=await say(api, FRIENDS)))[0] == 200


async def test_of_several_all_are_deleted_or_none(api):
    mine = await say(api)
    theirs = (await api.of(SECOND_TOKEN).result("sendMessage", chat_id=NEWS, text="x"))["message_id"]
    becomes(api, NEWS, "administrator", can_delete_messages=False)
    given = {"chat_id": NEWS, "message_ids": [mine, theirs, 99]}

    refused = await api.refusal("deleteMessages", **given)
    left = len(api.sandbox._state.chats[NEWS].messages)
    becomes(api, NEWS, "administrator")

    assert (refused, left) == ("message can't be deleted", 2)
    assert await api.result("deleteMessages", **given) is True
    assert [effect.message_id for effect in api.sandbox.effects()[-2:]] == [mine, theirs]


# Pins


async def test_a_pinned_message_is_shown_with_the_chat(api):
    first, second = await say(api, text="1"), await say(api, text="2")
    for message in (first, second):
        await api.result("pinChatMessage", chat_id=NEWS, message_id=message)

    newest = (await api.result("getChat", chat_id=NEWS))["pinned_message"]
    await api.result("unpinChatMessage", chat_id=NEWS)
    older = (await api.result("getChat", chat_id=NEWS))["pinned_message"]
    await api.result("unpinAllChatMessages", chat_id=NEWS)

    assert (newest["text"], older["text"]) == ("2", "1")
    assert "pinned_message" not in await api.result("getChat", chat_id=NEWS)
    assert [(effect.method, effect.text) for effect in api.sandbox.effects() if "in" in effect.method][-2:] == [
        ("unpinChatMessage", "2"),
        ("unpinAllChatMessages", "1"),
    ]


async def test_a_pin_is_told_in_the_chat(api):
    message = await say(api, text="important")

    await api.result("pinChatMessage", chat_id=NEWS, message_id=message)

    pin, told = api.sandbox.effects()[-2:]
    assert (pin.method, pin.message_id, pin.text) == ("pinChatMessage", message, "important")
    assert told.details == {"service": {"pinned_message": message}}
    assert await api.refusal("pinChatMessage", chat_id=NEWS, message_id=told.message_id) == (
        "service messages can't be pinned"
    )


async def test_pins_need_rights(api):
    message = await say(api, NEWS)
    in_group = await say(api, FRIENDS)
    becomes(api, NEWS, "administrator", can_edit_messages=False)

    for method, chat_id, number in (
        ("pinChatMessage", NEWS, message),
        ("unpinAllChatMessages", NEWS, 0),
        ("pinChatMessage", FRIENDS, in_group),
    ):
        assert await api.refusal(method, chat_id=chat_id, message_id=number) == (
            "not enough rights to manage pinned messages in the chat"
        )


@pytest.mark.parametrize(
    ("method", "parameters", "refusal"),
    [
        ("pinChatMessage", {}, "chat_id is empty"),
        ("pinChatMessage", {"chat_id": NEWS}, "message to pin not found"),
        ("unpinChatMessage", {"chat_id": NEWS, "message_id": 9}, "message to unpin not found"),
        ("unpinChatMessage", {"chat_id": NEWS}, "message to unpin not found"),
    ],
)
async def test_what_is_not_there_cannot_be_pinned(api, method, parameters, refusal):
    assert await api.refusal(method, **parameters) == refusal


# Without words


@pytest.mark.parametrize(
    ("action", "code"), [("typing", 200), ("Upload_Photo", 200), ("dancing", 400), ("", 400)]
)
async def test_a_chat_action_is_one_of_a_list(api, action, code):
    status, answer = await api("sendChatAction", chat_id=NEWS, action=action)

    assert status == code
    assert answer["ok"] or answer["description"] == "Bad Request: wrong parameter action in request"
    assert api.sandbox.total == 0


async def test_a_reaction_takes_the_place_of_the_one_before(api):
    message = await say(api, TEAM)
    heart = [{"type": "emoji", "emoji": "❤"}]

    await api.result("setMessageReaction", chat_id=TEAM, message_id=message, reaction=heart)
    await api.result("setMessageReaction", chat_id=TEAM, message_id=message)

    assert [effect.details for effect in api.sandbox.effects()[-2:]] == [
        {"reactions": heart},
        {"reactions": []},
    ]
    assert BOT_ID


@pytest.mark.parametrize(
    ("reaction", "refusal"),
    [
        ("{", "can't parse reaction types JSON object"),
        ("{}", "expected an Array of ReactionType"),
        ([7], "can't parse ReactionType: expected an Object"),
        ([{"type": "smile"}], "can't parse ReactionType: invalid reaction type specified"),
        ([{"type": "emoji", "emoji": "❤"}], "message to react not found"),
    ],
)
async def test_reactions_are_refused_in_the_real_words(api, reaction, refusal):
    assert await api.refusal("setMessageReaction", chat_id=NEWS, message_id=9, reaction=reaction) == refusal


async def test_one_reaction_is_all_that_bots_have(api):
    message = await say(api, TEAM)
    two = [{"type": "emoji", "emoji": "❤"}, {"type": "custom_emoji", "custom_emoji_id": "7"}]

    assert await api.refusal("setMessageReaction", chat_id=TEAM, message_id=message, reaction=two) == (
        "REACTIONS_TOO_MANY"
    )


async def test_pinning_again_brings_to_the_front_and_deleting_unpins(api):
    first, second = await say(api, text="1"), await say(api, text="2")
    for message in (first, second, first, first):
        await api.result("pinChatMessage", chat_id=NEWS, message_id=message)
    newest = (await api.result("getChat", chat_id=NEWS))["pinned_message"]["text"]
    await api.result("deleteMessage", chat_id=NEWS, message_id=first)

    assert newest == "1"
    assert (await api.result("getChat", chat_id=NEWS))["pinned_message"]["text"] == "2"
    assert len([effect for effect in api.sandbox.effects() if effect.method == "pinChatMessage"]) == 3
    await api.result("unpinChatMessage", chat_id=NEWS, message_id=second)
    assert "pinned_message" not in await api.result("getChat", chat_id=NEWS)


async def test_where_the_bot_is_not_it_sees_no_messages(api):
    becomes(api, NEWS, "left")
    given = {"chat_id": TEAM, "from_chat_id": NEWS, "message_id": 1, "message_ids": [1]}

    assert await api.refusal("forwardMessage", **given) == "message to forward not found"
    assert await api.refusal("forwardMessages", **given) == "message to forward not found"


async def test_what_cannot_be_repeated_is_left_out_of_several(api):
    await api.result("setChatTitle", chat_id=TEAM, title="New")
    given = {"chat_id": NEWS, "from_chat_id": TEAM, "message_ids": [1]}

    assert await api.refusal("forwardMessages", **given) == "messages can't be forwarded"
    api.sandbox._state.chats[TEAM].extra["protected"] = True
    assert (
        await api.refusal("forwardMessages", **given) == "message has protected content and can't be forwarded"
    )
    assert (await api.result("getChat", chat_id=TEAM))["has_protected_content"] is True
