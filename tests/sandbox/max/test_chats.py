import pytest

from pressroom.sandbox.max import EXAMPLE_BOT, ChatKind, NewChat
from pressroom.sandbox.max.model import PERMISSIONS

NEWS = -70000000000001
CREW = -71000000000001
ADMIN_ONLY = (403, {"code": "chat.denied", "message": "Method is available only for chat administrator"})


@pytest.fixture
def sandbox(make):
    return make(chats=[NewChat(CREW, "Редакция", ChatKind.CHAT)])


def limit_bot(sandbox, *rights, chat=CREW):
    sandbox.act("restricts_bot", {"chat": chat, "bot": EXAMPLE_BOT, "rights": list(rights)})


async def test_the_list_of_chats_is_not_supported_any_more(call, sandbox):
    status, answer = await call("GET", "/chats")

    assert (status, answer["code"]) == (405, "method.not.allowed")


async def test_a_channel_is_found_by_its_id_and_by_its_link(call, sandbox):
    _, by_id = await call("GET", f"/chats/{NEWS}")
    _, by_link = await call("GET", "/chats/@Pressroom_Example_News")
    unknown, _ = await call("GET", "/chats/nobody")

    assert by_id == by_link
    assert (by_id["title"], by_id["type"], by_id["is_public"]) == ("Example news (MAX)", "channel", True)
    assert unknown == 404


async def test_a_chat_is_renamed_and_everybody_hears_of_it(call, make):
    sandbox = make(bots={"first-token": "first", "second-token": "second"})

    status, chat = await call("PATCH", f"/chats/{NEWS}", {"title": "Новости"}, token="first-token")

    _, page = await call("GET", "/updates", token="second-token", timeout=0)
    assert (status, chat["title"]) == (200, "Новости")
    assert [(each["update_type"], each["title"]) for each in page["updates"]] == [
        ("chat_title_changed", "Новости")
    ]
    assert sandbox.effects()[-1].method == "PATCH /chats/{chatId}"


async def test_an_icon_by_its_address_is_an_internal_error_as_it_was_seen(call, sandbox):
    status, answer = await call("PATCH", f"/chats/{NEWS}", {"icon": {"url": "https://example.com/a.png"}})

    assert (status, answer["code"]) == (500, "internal.error")


async def test_a_message_is_pinned_shown_and_unpinned(call, sandbox):
    _, sent = await call("POST", "/messages", {"text": "x"}, chat_id=NEWS)
    mid = sent["message"]["body"]["mid"]
    nothing = await call("GET", f"/chats/{NEWS}/pin")

    pinned = await call("PUT", f"/chats/{NEWS}/pin", {"message_id": mid})
    _, shown = await call("GET", f"/chats/{NEWS}/pin")
    _, chat = await call("GET", f"/chats/{NEWS}")
    unpinned = await call("DELETE", f"/chats/{NEWS}/pin")

    assert nothing == (200, {})
    assert pinned == unpinned == (200, {"success": True})
    assert shown["message"]["body"]["mid"] == chat["pinned_message"]["body"]["mid"] == mid
    assert [effect.method for effect in sandbox.effects()][1:] == [
        "PUT /chats/{chatId}/pin",
        "DELETE /chats/{chatId}/pin",
    ]


async def test_members_come_in_pages(call, sandbox):
    people = [sandbox.person(f"Person {number}") for number in range(5)]
    for person in people:
        person.joins(CREW)

    _, first = await call("GET", f"/chats/{CREW}/members", count=4)
    _, second = await call("GET", f"/chats/{CREW}/members", count=4, marker=first["marker"])
    _, chosen = await call("GET", f"/chats/{CREW}/members", user_ids=f"{people[0].id},5,{people[1].id}")

    names = [member["name"] for member in first["members"] + second["members"]]
    assert sorted(names) == sorted(["Owner", EXAMPLE_BOT, *(person.name for person in people)])
    assert "marker" not in second
    assert [member["user_id"] for member in chosen["members"]] == [people[0].id, people[1].id]


async def test_members_are_added_and_those_that_cannot_be_are_named(call, sandbox):
    anna = sandbox.person("Anna")

    added = await call("POST", f"/chats/{CREW}/members", {"user_ids": [anna.id]})
    _, partly = await call("POST", f"/chats/{CREW}/members", {"user_ids": [5]})

    assert added == (200, {"success": True})
    assert partly == {
        "success": False,
        "failed_user_ids": [5],
        "failed_user_details": [{"error_code": "add.participant.not.found", "user_ids": [5]}],
    }


async def test_a_member_is_removed_and_a_blocked_one_cannot_come_back(call, make):
    sandbox = make(chats=[NewChat(CREW, "Открытая", ChatKind.CHAT, link="crew")])
    anna = sandbox.person("Anna")
    anna.joins(CREW)

    removed = await call("DELETE", f"/chats/{CREW}/members", user_id=anna.id, block="true")
    _, again = await call("DELETE", f"/chats/{CREW}/members", user_id=anna.id)

    assert removed == (200, {"success": True})
    assert again["success"] is False
    with pytest.raises(ValueError, match="blocked"):
        anna.joins(CREW)


async def test_administrators_get_exactly_the_rights_that_are_given(call, sandbox):
    anna = sandbox.person("Anna")
    anna.joins(CREW)

    async def appoint(*permissions):
        body = {"admins": [{"user_id": anna.id, "permissions": list(permissions), "alias": "редактор"}]}
        return await call("POST", f"/chats/{CREW}/members/admins", body)

    alone, _ = await appoint("write")
    unknown, _ = await appoint("read_all_messages", "delete")
    await appoint("read_all_messages", "post_edit_delete_message")
    _, admins = await call("GET", f"/chats/{CREW}/members/admins")
    dismissed = await call("DELETE", f"/chats/{CREW}/members/admins/{anna.id}")
    _, twice = await call("DELETE", f"/chats/{CREW}/members/admins/{anna.id}")

    shown = next(member for member in admins["members"] if member["user_id"] == anna.id)
    assert (alone, unknown) == (400, 400)
    assert shown["permissions"] == ["read_all_messages", "write", "can_call"]
    assert shown["alias"] == "редактор"
    assert dismissed == (200, {"success": True})
    assert twice["success"] is False


async def test_a_bot_sees_its_membership_and_leaves(call, sandbox):
    _, me = await call("GET", f"/chats/{CREW}/members/me")
    left = await call("DELETE", f"/chats/{CREW}/members/me")
    after, _ = await call("POST", "/messages", {"text": "x"}, chat_id=CREW)
    _, chat = await call("GET", f"/chats/{CREW}")

    assert (me["username"], me["is_admin"]) == (EXAMPLE_BOT, True)
    assert left == (200, {"success": True})
    assert (after, chat["status"]) == (404, "left")


async def test_what_is_for_administrators_is_refused_to_members(call, sandbox):
    limit_bot(sandbox)

    answers = [
        await call("GET", f"/chats/{CREW}/members"),
        await call("GET", f"/chats/{CREW}/members/admins"),
        await call("GET", f"/chats/{CREW}/pin"),
        await call("PATCH", f"/chats/{CREW}", {"title": "x"}),
        await call("POST", f"/chats/{CREW}/members", {"user_ids": []}),
    ]

    assert answers == [ADMIN_ONLY] * 5
    assert (await call("POST", "/messages", {"text": "a member may write"}, chat_id=CREW))[0] == 200


async def test_actions_are_those_of_the_documents(call, sandbox):
    typing = await call("POST", f"/chats/{CREW}/actions", {"action": "typing_on"})
    seen, _ = await call("POST", f"/chats/{CREW}/actions", {"action": "mark_seen"})

    assert typing == (200, {"success": True})
    assert seen == 400


async def test_commands_are_set_shown_and_deleted(call, sandbox):
    commands = [{"name": "start", "description": "Начать"}, {"name": "help"}]

    _, answer = await call("PATCH", "/me/commands", {"commands": commands})
    _, me = await call("GET", "/me")
    long, _ = await call("PATCH", "/me/commands", {"commands": [{"name": "x" * 65}]})
    many, _ = await call("PATCH", "/me/commands", {"commands": commands * 17})
    await call("PATCH", "/me/commands", {"commands": []})
    _, without = await call("GET", "/me")

    assert answer["commands"] == me["commands"] == commands
    assert (long, many) == (400, 400)
    assert "commands" not in without


async def test_adding_nobody_new_does_not_succeed(call, sandbox):
    anna = sandbox.person("Anna")
    anna.joins(CREW)

    answers = [await call("POST", f"/chats/{CREW}/members", {"user_ids": ids}) for ids in ([], [anna.id])]

    assert [(status, answer["success"], bool(answer["message"])) for status, answer in answers] == [
        (200, False, True)
    ] * 2


@pytest.mark.parametrize("title", ["", "   ", " \n\t ", "\u00a0\u2003\u200b\u200d\ufeff", "x" * 201])
async def test_a_title_has_to_show_something(call, sandbox, title):
    status, answer = await call("PATCH", f"/chats/{CREW}", {"title": title})

    assert (status, answer["code"]) == (400, "proto.payload")


async def test_what_cannot_be_pinned_is_refused(call, sandbox):
    dialog = sandbox.person("Anna").starts(EXAMPLE_BOT)

    invalid, _ = await call("PUT", f"/chats/{CREW}/pin", {"message_id": "mid123"})
    in_dialog, _ = await call("DELETE", f"/chats/{dialog}/pin")
    _, nothing = await call("DELETE", f"/chats/{CREW}/pin")

    assert (invalid, in_dialog, nothing["success"]) == (400, 400, False)


async def test_fifty_administrators_are_the_most(call, sandbox):
    people = [sandbox.person(f"Person {number}") for number in range(49)]
    for person in people:
        person.joins(CREW)
    wishes = [{"user_id": person.id, "permissions": ["read_all_messages"]} for person in people]

    too_many = await call("POST", f"/chats/{CREW}/members/admins", {"admins": wishes})
    fits, _ = await call("POST", f"/chats/{CREW}/members/admins", {"admins": wishes[1:]})
    another, _ = await call("POST", f"/chats/{CREW}/members/admins", {"admins": wishes[:1]})
    again, _ = await call("POST", f"/chats/{CREW}/members/admins", {"admins": wishes[1:]})

    assert too_many == (
        400,
        {"code": "proto.payload", "message": "Number of administrators must be at most 50"},
    )
    assert (fits, another, again) == (200, 400, 200)


async def test_an_owner_has_every_right_there_is(call, sandbox):
    _, admins = await call("GET", f"/chats/{CREW}/members/admins")

    owner = next(member for member in admins["members"] if member["is_owner"])
    assert owner["permissions"] == list(PERMISSIONS)
