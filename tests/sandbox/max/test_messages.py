import base64

import pytest

from pressroom.sandbox.core.clock import Clock
from pressroom.sandbox.core.world import World
from pressroom.sandbox.max import EXAMPLE_BOT, EXAMPLE_TOKEN, ChatKind, NewChat

NEWS = -70000000000001
DEALS = -70000000000002


def refused(status, code, message):
    return status, {"code": code, "message": message}


async def test_get_me_tells_who_the_bot_is(call, sandbox):
    status, me = await call("GET", "/me")

    assert (status, me["username"], me["is_bot"]) == (200, EXAMPLE_BOT, True)


async def test_a_post_in_a_channel_is_answered_shown_and_recorded(call, sandbox):
    status, answer = await call("POST", "/messages", {"text": "Привет 👋"}, chat_id=NEWS)

    message = answer["message"]
    assert status == 200
    assert message["recipient"] == {"chat_id": NEWS, "chat_type": "channel"}
    assert (message["timestamp"], message["body"]["text"]) == (1795089600000, "Привет 👋")
    assert "sender" not in message
    (effect,) = sandbox.effects()
    assert (effect.provider, effect.actor, effect.chat, effect.method, effect.text) == (
        "max", EXAMPLE_BOT, NEWS, "POST /messages", "Привет 👋",
    )  # fmt: skip
    assert effect.message_id == message["body"]["mid"]
    assert sandbox.messages(NEWS) == ["Привет 👋"]


async def test_ids_are_made_of_the_chat_and_the_time(call, sandbox):
    _, first = await call("POST", "/messages", {"text": "one"}, chat_id=NEWS)
    _, second = await call("POST", "/messages", {"text": "two"}, chat_id=NEWS)

    one, two = first["message"]["body"], second["message"]["body"]
    assert one["seq"] >> 16 == 1795089600000
    assert two["seq"] > one["seq"]
    assert one["mid"] == f"mid.{NEWS & (1 << 64) - 1:016x}{one['seq']:016x}"
    short = base64.urlsafe_b64encode(one["seq"].to_bytes(8, "big")).decode().rstrip("=")
    assert first["message"]["url"] == f"https://max.ru/pressroom_example_news/{short}"


async def test_a_dialog_has_the_xor_of_both_ids_and_names_the_receiving_side(call, sandbox, anna, dialog):
    _, me = await call("GET", "/me")
    anna.writes(EXAMPLE_BOT, "hello")

    _, answer = await call("POST", "/messages", {"text": "hi"}, user_id=anna.id)

    assert answer["message"]["recipient"] == {"chat_id": dialog, "chat_type": "dialog", "user_id": anna.id}
    assert dialog == me["user_id"] ^ anna.id
    _, history = await call("GET", "/messages", chat_id=dialog)
    assert [each["recipient"]["user_id"] for each in history["messages"]] == [anna.id, me["user_id"]]


async def test_texts_have_at_most_4000_characters(call, sandbox):
    fits, _ = await call("POST", "/messages", {"text": "я" * 4000}, chat_id=NEWS)
    answer = await call("POST", "/messages", {"text": "я" * 4001}, chat_id=NEWS)

    assert fits == 200
    assert answer == refused(400, "proto.payload", "Field 'text' size (4001) must be at most 4000")


@pytest.mark.parametrize("body", [{}, {"text": ""}, {"text": None, "attachments": []}])
async def test_a_message_needs_something_in_it(call, sandbox, body):
    status, answer = await call("POST", "/messages", body, chat_id=NEWS)

    assert (status, answer["code"]) == (400, "proto.payload")
    assert sandbox.messages(NEWS) == []


async def test_unknown_chats_and_dialogs_are_told_apart(call, sandbox):
    no_chat = await call("POST", "/messages", {"text": "x"}, chat_id=990000018)
    no_dialog = await call("POST", "/messages", {"text": "x"}, user_id=5)
    nowhere = await call("POST", "/messages", {"text": "x"})

    assert no_chat == refused(404, "chat.not.found", "Chat 990000018 not found")
    assert no_dialog == refused(404, "chat.not.found", "dialog.not.found")
    assert nowhere[0] == 400


async def test_who_stopped_the_bot_cannot_be_written_to(call, sandbox, anna, dialog):
    anna.blocks(EXAMPLE_BOT)

    answer = await call("POST", "/messages", {"text": "x"}, chat_id=dialog)
    anna.unblocks(EXAMPLE_BOT)
    again, _ = await call("POST", "/messages", {"text": "x"}, chat_id=dialog)

    assert answer == refused(403, "chat.denied", f"Key: error.dialog.suspended, args: [{anna.id},].")
    assert again == 200


async def test_only_administrators_who_may_write_post_in_a_channel(call, sandbox):
    sandbox.act("restricts_bot", {"chat": NEWS, "bot": EXAMPLE_BOT, "rights": ["read_all_messages"]})

    answer = await call("POST", "/messages", {"text": "x"}, chat_id=NEWS)

    assert answer == refused(403, "chat.denied", "chat.send.msg.no.permission.because.not.admin")


async def test_a_channel_refuses_silent_posts(call, sandbox, dialog):
    in_channel = await call("POST", "/messages", {"text": "x", "notify": False}, chat_id=NEWS)
    in_dialog, _ = await call("POST", "/messages", {"text": "x", "notify": False}, chat_id=dialog)

    assert in_channel == refused(400, "proto.payload", "errors.send-message.channel-notify")
    assert in_dialog == 200


async def test_an_address_in_the_text_gets_a_preview_unless_it_is_switched_off(call, sandbox):
    body = {"text": "see https://example.com/a."}
    _, shown = await call("POST", "/messages", body, chat_id=NEWS)
    _, hidden = await call("POST", "/messages", body, chat_id=NEWS, disable_link_preview="true")

    assert shown["message"]["body"]["attachments"] == [
        {
            "type": "share",
            "payload": {"url": "https://example.com/a", "token": "aHR0cHM6Ly9leGFtcGxlLmNvbS9h"},
        }
    ]
    assert "attachments" not in hidden["message"]["body"]


async def test_an_answer_carries_what_it_answers(call, sandbox):
    _, first = await call("POST", "/messages", {"text": "one"}, chat_id=NEWS)
    mid = first["message"]["body"]["mid"]

    _, answer = await call(
        "POST", "/messages", {"text": "two", "link": {"type": "reply", "mid": mid}}, chat_id=NEWS
    )
    elsewhere, _ = await call(
        "POST", "/messages", {"text": "two", "link": {"type": "reply", "mid": mid}}, chat_id=DEALS
    )

    assert answer["message"]["link"]["type"] == "reply"
    assert answer["message"]["link"]["message"]["mid"] == mid
    assert elsewhere == 400
    assert sandbox.effects()[-1].details["reply_to"]["text"] == "one"


async def test_a_forwarded_message_has_no_text_and_no_buttons_of_its_own(call, sandbox):
    keyboard = {
        "type": "inline_keyboard",
        "payload": {"buttons": [[{"type": "callback", "text": "a", "payload": "b"}]]},
    }
    _, first = await call("POST", "/messages", {"text": "one", "attachments": [keyboard]}, chat_id=NEWS)
    link = {"type": "forward", "mid": first["message"]["body"]["mid"]}

    with_text = await call("POST", "/messages", {"text": "look", "link": link}, chat_id=DEALS)
    _, forwarded = await call("POST", "/messages", {"link": link}, chat_id=DEALS)
    again = {"type": "forward", "mid": forwarded["message"]["body"]["mid"]}
    _, twice = await call("POST", "/messages", {"link": again}, chat_id=NEWS)

    assert with_text == refused(400, "proto.payload", "errors.forward.text.not-empty")
    shown = forwarded["message"]["link"]
    assert (shown["type"], shown["chat_id"], shown["message"]["text"]) == ("forward", NEWS, "one")
    assert "attachments" not in shown["message"]
    assert twice["message"]["link"] == shown


async def test_editing_keeps_what_is_not_named_and_removes_what_is_emptied(call, sandbox):
    place = {"type": "location", "latitude": 55.75, "longitude": 37.61}
    _, sent = await call("POST", "/messages", {"text": "here", "attachments": [place]}, chat_id=NEWS)
    mid = sent["message"]["body"]["mid"]

    _, first = await call("PUT", "/messages", {"text": "there"}, message_id=mid)
    _, kept = await call("GET", f"/messages/{mid}")
    await call("PUT", "/messages", {"attachments": []}, message_id=mid)
    _, emptied = await call("GET", f"/messages/{mid}")
    status, refusal = await call("PUT", "/messages", {"text": ""}, message_id=mid)

    assert first == {"success": True}
    assert (kept["body"]["text"], kept["body"]["attachments"]) == ("there", [place])
    assert (emptied["body"]["text"], emptied["body"].get("attachments")) == ("there", None)
    assert (status, refusal["success"]) == (200, False)
    assert sandbox.messages(NEWS) == ["there"]
    assert [effect.method for effect in sandbox.effects()] == [
        "POST /messages",
        "PUT /messages",
        "PUT /messages",
    ]


async def test_in_dialogs_only_messages_with_a_keyboard_are_edited_after_a_week(call, sandbox, dialog):
    keyboard = {"type": "inline_keyboard", "payload": {"buttons": [[{"type": "message", "text": "a"}]]}}
    _, plain = await call("POST", "/messages", {"text": "plain"}, chat_id=dialog)
    _, pressed = await call("POST", "/messages", {"text": "keys", "attachments": [keyboard]}, chat_id=dialog)
    _, posted = await call("POST", "/messages", {"text": "post"}, chat_id=NEWS)
    sandbox.world.clock.advance(8 * 24 * 3600)

    answers = [
        (await call("PUT", "/messages", {"text": "x"}, message_id=each["message"]["body"]["mid"]))[1]["success"]
        for each in (plain, pressed, posted)
    ]

    assert answers == [False, True, True]


async def test_a_deleted_message_is_gone(call, sandbox):
    _, sent = await call("POST", "/messages", {"text": "one"}, chat_id=NEWS)
    mid = sent["message"]["body"]["mid"]

    deleted = await call("DELETE", "/messages", message_id=mid)
    again = await call("DELETE", "/messages", message_id=mid)
    malformed = await call("DELETE", "/messages", message_id="000000000782a4e0019d00d3ef744e91")

    assert deleted == (200, {"success": True})
    assert again == refused(404, "not.found", f"Message {mid} not found")
    assert malformed == refused(400, "proto.payload", "Invalid message_id: 000000000782a4e0019d00d3ef744e91")
    assert sandbox.messages(NEWS) == []
    assert sandbox.effects()[-1].method == "DELETE /messages"


async def test_history_comes_newest_first_by_time_and_by_ids(call, sandbox):
    mids = []
    for text in "abc":
        _, sent = await call("POST", "/messages", {"text": text}, chat_id=NEWS)
        mids.append(sent["message"]["body"]["mid"])
        sandbox.world.clock.advance(10)

    async def texts(**query):
        _, answer = await call("GET", "/messages", **query)
        return [each["body"]["text"] for each in answer["messages"]]

    assert await texts(chat_id=NEWS) == ["c", "b", "a"]
    assert await texts(chat_id=NEWS, count=1) == ["c"]
    assert await texts(chat_id=NEWS, **{"from": 1795089605000, "to": 1795089615000}) == ["b"]
    assert await texts(chat_id=NEWS, **{"to": 1795089605000, "from": 1795089615000}) == ["b"]
    assert await texts(message_ids=f"{mids[2]},{mids[0]},{mids[0][:-1]}f") == ["c", "a"]
    assert (await call("GET", "/messages", chat_id=NEWS, count=101))[1]["message"] == (
        "Field 'count' value (101) must be at most 100"
    )


async def test_a_bot_does_not_see_chats_it_is_not_in(call, make):
    private = NewChat(-71000000000001, "Private", ChatKind.CHAT, bots=["other"])
    sandbox = make(bots={"token-of-the-first-one": "first", "token-of-the-other-one": "other"}, chats=[private])
    posted = sandbox.act("posts", {"chat": private.id, "text": "secret"})

    writing = await call("POST", "/messages", {"text": "x"}, token="token-of-the-first-one", chat_id=private.id)
    reading, _ = await call("GET", f"/messages/{posted['message_id']}", token="token-of-the-first-one")
    allowed, _ = await call("GET", f"/messages/{posted['message_id']}", token="token-of-the-other-one")

    assert writing == refused(404, "chat.not.found", f"Chat {private.id} not found")
    assert (reading, allowed) == (404, 200)


async def test_what_the_ledger_forgets_the_sandbox_forgets(call, make):
    sandbox = make(world=World(ledger_size=3, clock=Clock(1.0, frozen=True)))

    for number in range(5):
        await call("POST", "/messages", {"text": str(number)}, chat_id=NEWS)

    assert sandbox.messages(NEWS) == ["2", "3", "4"]


async def test_equal_seeds_make_equal_worlds(call, make):
    answers = []
    for seed in (7, 7, 8):
        make(world=World(seed=seed, clock=Clock(1.0, frozen=True)))
        answers.append(await call("POST", "/messages", {"text": "x"}, chat_id=NEWS))

    assert answers[0] == answers[1] != answers[2]


async def test_a_share_is_sent_again_by_its_token(call, sandbox):
    share = {"type": "share", "payload": {"url": "https://max.ru/"}}
    _, first = await call("POST", "/messages", {"text": "x", "attachments": [share]}, chat_id=NEWS)
    token = first["message"]["body"]["attachments"][0]["payload"]["token"]

    by_token = {"type": "share", "payload": {"token": token}}
    _, second = await call("POST", "/messages", {"text": "x", "attachments": [by_token]}, chat_id=NEWS)
    wrong, _ = await call(
        "POST", "/messages", {"attachments": [{"type": "share", "payload": {"token": "я"}}]}, chat_id=NEWS
    )

    assert second["message"]["body"]["attachments"] == first["message"]["body"]["attachments"]
    assert wrong == 400


async def test_a_removed_text_is_empty_and_not_absent(call, sandbox):
    place = {"type": "location", "latitude": 1.0, "longitude": 2.0}
    _, sent = await call("POST", "/messages", {"text": "here", "attachments": [place]}, chat_id=NEWS)
    mid = sent["message"]["body"]["mid"]

    _, edited = await call("PUT", "/messages", {"text": ""}, message_id=mid)
    _, shown = await call("GET", f"/messages/{mid}")
    _, emptied = await call("PUT", "/messages", {"attachments": []}, message_id=mid)

    assert edited == {"success": True}
    assert (shown["body"]["text"], shown["body"]["attachments"]) == ("", [place])
    assert emptied["success"] is False


async def test_a_signed_channel_names_the_author(call, make):
    make(chats=[NewChat(-71000000000001, "Signed", signed=True)])

    _, sent = await call("POST", "/messages", {"text": "x"}, chat_id=-71000000000001)

    assert sent["message"]["sender"]["username"] == EXAMPLE_BOT


async def test_posts_count_who_else_has_read_them(call, make):
    make(bots={"first-token": "first", "second-token": "second"})
    await call("POST", "/messages", {"text": "x"}, token="first-token", chat_id=NEWS)
    await call("GET", "/messages", token="second-token", chat_id=NEWS)

    _, page = await call("GET", "/messages", token="first-token", chat_id=NEWS)

    assert page["messages"][0]["stat"] == {"views": 1}


async def test_an_id_that_is_none_spoils_a_list_of_ids(call, sandbox):
    answer = await call("GET", "/messages", message_ids="mid.nonexistingmessageid123456789012")

    assert answer == refused(400, "proto.payload", "Invalid message_id: mid.nonexistingmessageid123456789012")


losing_the_chat = pytest.mark.parametrize(
    ("verb", "wish", "status"),
    [
        ("removes_bot", {"chat": NEWS, "bot": EXAMPLE_BOT}, 404),
        ("closes", {"chat": NEWS}, 404),
        ("restricts_bot", {"chat": NEWS, "bot": EXAMPLE_BOT, "rights": []}, 403),
    ],
)


@losing_the_chat
async def test_who_may_not_write_any_more_once_the_image_is_there_does_not(
    call, sandbox, picture, verb, wish, status
):
    picture.meanwhile = lambda: sandbox.act(verb, wish)

    posted, _ = await call(
        "POST", "/messages", {"text": "x", "attachments": [picture.attachment]}, chat_id=NEWS
    )

    assert posted == status
    assert sandbox.messages(NEWS) == []
    assert [effect.method for effect in sandbox.effects()] == [verb]


@losing_the_chat
async def test_an_edit_looks_again_once_the_image_is_there(call, sandbox, picture, verb, wish, status):
    _, sent = await call("POST", "/messages", {"text": "old"}, chat_id=NEWS)
    picture.meanwhile = lambda: sandbox.act(verb, wish)

    answer = await call(
        "PUT", "/messages", {"attachments": [picture.attachment]}, message_id=sent["message"]["body"]["mid"]
    )

    assert answer[0] == status
    assert sandbox.effects()[-1].method == verb


async def test_a_message_deleted_while_its_image_is_fetched_is_not_edited(call, sandbox, picture):
    _, sent = await call("POST", "/messages", {"text": "old"}, chat_id=NEWS)
    mid = sent["message"]["body"]["mid"]
    picture.meanwhile = lambda: call("DELETE", "/messages", message_id=mid)

    answer = await call("PUT", "/messages", {"attachments": [picture.attachment]}, message_id=mid)

    assert answer == refused(404, "not.found", f"Message {mid} not found")
    assert [effect.method for effect in sandbox.effects()] == ["POST /messages", "DELETE /messages"]


async def test_an_edit_that_fetches_an_image_keeps_what_was_edited_meanwhile(call, sandbox, picture):
    _, sent = await call("POST", "/messages", {"text": "old"}, chat_id=NEWS)
    mid = sent["message"]["body"]["mid"]
    picture.meanwhile = lambda: call("PUT", "/messages", {"text": "new"}, message_id=mid)

    await call("PUT", "/messages", {"attachments": [picture.attachment]}, message_id=mid)

    _, message = await call("GET", f"/messages/{mid}")
    assert (message["body"]["text"], message["body"]["attachments"][0]["type"]) == ("new", "image")


async def test_messages_of_a_closed_chat_are_gone_for_bots(call, sandbox):
    _, sent = await call("POST", "/messages", {"text": "x"}, chat_id=NEWS)
    mid = sent["message"]["body"]["mid"]
    sandbox.act("closes", {"chat": NEWS})

    statuses = [
        (await call("PUT", "/messages", {"text": "y"}, message_id=mid))[0],
        (await call("DELETE", "/messages", message_id=mid))[0],
        (await call("GET", f"/messages/{mid}"))[0],
    ]

    assert statuses == [404] * 3
    assert sandbox.messages(NEWS) == ["x"]


async def test_what_the_ledger_forgets_of_people_the_sandbox_forgets_too(make):
    sandbox = make(world=World(ledger_size=3, clock=Clock(1.0, frozen=True)))
    anna = sandbox.person("Anna")
    dialog = anna.starts(EXAMPLE_BOT)

    for number in range(5):
        anna.writes(EXAMPLE_BOT, str(number))
    written = sandbox.messages(dialog)
    for number in range(5):
        sandbox.act("posts", {"chat": NEWS, "text": str(number)})

    assert written == ["2", "3", "4"]
    assert (sandbox.messages(dialog), sandbox.messages(NEWS)) == ([], ["2", "3", "4"])


async def test_a_forgotten_message_is_not_pinned_any_more(call, make):
    make(world=World(ledger_size=2, clock=Clock(1.0, frozen=True)))
    _, sent = await call("POST", "/messages", {"text": "pinned"}, chat_id=NEWS)
    await call("PUT", f"/chats/{NEWS}/pin", {"message_id": sent["message"]["body"]["mid"]})
    await call("POST", "/messages", {"text": "newer"}, chat_id=NEWS)

    pinned = await call("GET", f"/chats/{NEWS}/pin")
    _, unpinned = await call("DELETE", f"/chats/{NEWS}/pin")

    assert pinned == (200, {})
    assert unpinned["success"] is False


async def test_files_are_shown_where_the_client_came_to(http, sandbox, picture):
    async def at(host, verb, path, **request):
        headers = {"Authorization": EXAMPLE_TOKEN, "Host": host}
        async with http.request(verb, path, headers=headers, **request) as response:
            return await response.json()

    body = {"attachments": [picture.attachment]}
    sent = await at("one.test:1", "POST", f"/messages?chat_id={NEWS}", json=body)
    mid = sent["message"]["body"]["mid"]
    again = await at("two.test:2", "GET", f"/messages/{mid}")
    address = await at("two.test:2", "POST", "/uploads?type=file")
    sticker = {
        "attachments": [{"type": "sticker", "payload": {"code": "x"}}],
        "link": {"type": "reply", "mid": mid},
    }
    answer = (await at("two.test:2", "POST", f"/messages?chat_id={NEWS}", json=sticker))["message"]

    assert _urls(sent["message"]["body"])[0].startswith("http://one.test:1/media/")
    assert _urls(again["body"])[0].startswith("http://two.test:2/media/")
    assert address["url"].startswith("http://two.test:2/upload/file/")
    assert _urls(answer["body"]) == ["http://two.test:2/media/sticker"]
    assert _urls(answer["link"]["message"])[0].startswith("http://two.test:2/media/")


def _urls(body):
    return [each["payload"]["url"] for each in body["attachments"]]
