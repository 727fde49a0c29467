import pytest

from tests.sandbox.telegram.api import BOT, NEWS, NOON, SECOND_TOKEN, TEAM, becomes, png

BUTTONS = {"inline_keyboard": [[{"text": "x", "callback_data": "x"}]]}
NOT_MODIFIED = (
    "message is not modified: specified new message content and reply markup are exactly the same as a current"
    " content and reply markup of the message"
)


async def text(api, chat_id: int = NEWS, **more) -> int:
    return (await api.result("sendMessage", chat_id=chat_id, text="old", **more))["message_id"]


async def photo(api, chat_id: int = NEWS, **more) -> int:
    _, answer = await api(
        "sendPhoto", files={"photo": ("a.png", png())}, chat_id=chat_id, caption="old", **more
    )
    return answer["result"]["message_id"]


async def test_a_text_is_edited_and_its_buttons_are_gone(api):
    message = await text(api, reply_markup=BUTTONS)
    api.clock.advance(60)

    edited = await api.result(
        "editMessageText", chat_id=NEWS, message_id=message, text="*new*", parse_mode="MarkdownV2"
    )

    assert edited["edit_date"] == int(NOON) + 60
    assert (edited["text"], edited["entities"]) == ("new", [{"type": "bold", "offset": 0, "length": 3}])
    assert "reply_markup" not in edited
    assert api.last()[5:8] == ("editMessageText", message, "new")


@pytest.mark.parametrize(
    ("parameters", "refusal"),
    [
        ({}, "message text is empty"),
        ({"text": "x", "parse_mode": "x"}, "unsupported parse_mode"),
        ({"text": "x", "reply_markup": "{"}, "can't parse reply keyboard markup JSON object"),
        ({"text": "x"}, "message identifier is not specified"),
        ({"text": "x", "inline_message_id": "abc"}, "MESSAGE_ID_INVALID"),
        ({"text": "x", "message_id": 1}, "chat_id is empty"),
        ({"text": "x", "chat_id": 5, "message_id": 1}, "chat not found"),
        ({"text": "x", "chat_id": NEWS}, "message to edit not found"),
        ({"text": "x", "chat_id": NEWS, "message_id": 99}, "message to edit not found"),
        ({"text": "x", "chat_id": NEWS, "message_id": "1e3"}, NOT_MODIFIED),
        ({"text": "x", "chat_id": NEWS, "message_id": 1, "reply_markup": {"force_reply": True}}, "inline keyboard expected"),
        ({"text": " ", "chat_id": NEWS, "message_id": 1}, "text must be non-empty"),
        ({"text": "x" * 4097, "chat_id": NEWS, "message_id": 1}, "MESSAGE_TOO_LONG"),
        ({"text": "x", "chat_id": NEWS, "message_id": 1}, NOT_MODIFIED),
    ],
)  # fmt: skip
async def test_an_edit_of_a_text_is_refused_in_the_real_order(api, parameters, refusal):
    await api.result("sendMessage", chat_id=NEWS, text="x")

    assert await api.refusal("editMessageText", **parameters) == refusal


async def test_other_buttons_alone_are_a_change_of_a_text(api):
    message = await text(api)
    given = {"chat_id": NEWS, "message_id": message, "text": "old", "reply_markup": BUTTONS}

    assert (await api("editMessageText", **given))[0] == 200
    assert await api.refusal("editMessageText", **given) == NOT_MODIFIED
    assert (await api("editMessageText", **given, link_preview_options={"is_disabled": True}))[0] == 200


async def test_each_content_has_its_own_edit(api):
    of_text, of_photo = await text(api), await photo(api)
    dice = (await api.result("sendDice", chat_id=NEWS))["message_id"]
    given = {"text": "x", "caption": "x", "chat_id": NEWS, "media": {"type": "photo", "media": "attach://p"}}

    refusals = [
        await api.refusal(method, message_id=message, files={"p": ("p.png", png(9, 9))}, **given)
        for method, message in (
            ("editMessageText", of_photo),
            ("editMessageCaption", of_text),
            ("editMessageText", dice),
            ("editMessageCaption", dice),
            ("editMessageMedia", dice),
        )
    ]

    assert refusals == [
        "there is no text in the message to edit",
        "there is no caption in the message to edit",
        "message can't be edited",
        "message can't be edited",
        "message media can't be edited",
    ]


async def test_a_caption_is_edited_and_may_become_empty(api):
    message = await photo(api)

    edited = await api.result(
        "editMessageCaption", chat_id=NEWS, message_id=message, caption="new", show_caption_above_media=True
    )
    emptied = await api.result("editMessageCaption", chat_id=NEWS, message_id=message)

    assert (edited["caption"], edited["show_caption_above_media"]) == ("new", True)
    assert "caption" not in emptied
    assert await api.refusal("editMessageCaption", chat_id=NEWS, message_id=message) == NOT_MODIFIED
    assert await api.refusal("editMessageCaption", chat_id=NEWS, message_id=message, caption="x" * 1025) == (
        "MEDIA_CAPTION_TOO_LONG"
    )


async def test_a_file_takes_the_place_of_another(api):
    message = await photo(api)
    media = {"type": "document", "media": "attach://d", "caption": "new"}

    edited = await api.result(
        "editMessageMedia", files={"d": ("d.pdf", b"%PDF")}, chat_id=NEWS, message_id=message, media=media
    )

    assert (edited["document"]["file_name"], edited["caption"]) == ("d.pdf", "new")
    assert "photo" not in edited
    assert api.last().details["media"][0]["name"] == "d.pdf"
    same = {**media, "media": edited["document"]["file_id"]}
    assert await api.refusal("editMessageMedia", chat_id=NEWS, message_id=message, media=same) == NOT_MODIFIED


@pytest.mark.parametrize(
    ("media", "refusal"),
    [
        ("", 'parameter "media" is required'),
        ("{", "can't parse input media JSON object"),
        ("[]", "can't parse InputMedia: expected an Object"),
        ({"type": "photo"}, "can't parse InputMedia: media not found"),
        ({"type": "sticker", "media": "attach://p"}, 'can\'t parse InputMedia: type "sticker" is unsupported'),
        ({"type": "photo", "media": "attach://p", "caption": "x" * 1025}, "message caption is too long"),
    ],
)
async def test_an_edit_of_a_file_is_refused_in_the_real_words(api, media, refusal):
    message = await photo(api)
    files = {"p": ("p.png", png(9, 9))}

    assert (
        await api.refusal("editMessageMedia", files=files, chat_id=NEWS, message_id=message, media=media)
        == refusal
    )


async def test_albums_keep_their_kind(api):
    files = {"0": ("0.pdf", b"0"), "1": ("1.pdf", b"1"), "p": ("p.png", png())}
    media = [{"type": "document", "media": f"attach://{number}"} for number in range(2)]
    _, answer = await api("sendMediaGroup", files=files, chat_id=NEWS, media=media)
    message = answer["result"][0]["message_id"]

    async def becomes_a(kind: str) -> str:
        given = {"type": kind, "media": "attach://p"}
        return await api.refusal("editMessageMedia", files=files, chat_id=NEWS, message_id=message, media=given)

    assert await becomes_a("photo") == "can't change media type in the album"
    assert await becomes_a("animation") == "message content type can't be used in an album"


async def test_buttons_are_edited_without_a_date(api):
    message = await text(api)

    edited = await api.result("editMessageReplyMarkup", chat_id=NEWS, message_id=message, reply_markup=BUTTONS)

    assert edited["reply_markup"] == BUTTONS
    assert "edit_date" not in edited
    assert (api.last().text, api.last().details) == ("old", {"buttons": BUTTONS["inline_keyboard"]})
    assert (
        await api.refusal("editMessageReplyMarkup", chat_id=NEWS, message_id=message, reply_markup=BUTTONS)
        == NOT_MODIFIED
    )


async def test_an_edited_message_does_not_show_what_it_answers(api):
    first = await text(api)
    second = await text(api, reply_to_message_id=first)

    edited = await api.result("editMessageText", chat_id=NEWS, message_id=second, text="new")

    assert "reply_to_message" not in edited


async def test_messages_of_others_cannot_be_edited(api, anna):
    api.sandbox.person("Anna").writes(BOT, "hello")
    dialog = api.sandbox._state.dialogs[anna]

    assert (
        await api.refusal("editMessageText", chat_id=anna, message_id=dialog.last_message_id, text="x")
        == "message can't be edited"
    )


async def test_posts_of_a_channel_are_edited_by_who_wrote_them_or_may_edit(api):
    message = (await api.of(SECOND_TOKEN).result("sendMessage", chat_id=NEWS, text="old"))["message_id"]
    becomes(api, NEWS, "administrator", can_edit_messages=False)
    refused = await api.refusal("editMessageText", chat_id=NEWS, message_id=message, text="new")
    becomes(api, NEWS, "administrator")

    assert refused == "message can't be edited"
    assert (await api("editMessageText", chat_id=NEWS, message_id=message, text="new"))[0] == 200


@pytest.mark.parametrize("markup", [{"keyboard": [["x"]]}, {"remove_keyboard": True}, {"force_reply": True}])
async def test_a_message_that_changed_the_keyboard_stays_as_it_is(api, markup):
    message = await text(api, TEAM, reply_markup=markup)

    assert (
        await api.refusal("editMessageText", chat_id=TEAM, message_id=message, text="new")
        == "message can't be edited"
    )


async def test_a_forwarded_message_stays_as_it_is(api):
    message = await text(api)
    forwarded = await api.result("forwardMessage", chat_id=TEAM, from_chat_id=NEWS, message_id=message)

    assert (
        await api.refusal("editMessageText", chat_id=TEAM, message_id=forwarded["message_id"], text="new")
        == "message can't be edited"
    )
