import pytest

from tests.sandbox.telegram.api import BOT, BOT_ID, FORUM, FRIENDS, NEWS, SECOND_TOKEN, TEAM, becomes

NO_GIFTS = dict.fromkeys(
    ("unlimited_gifts", "limited_gifts", "unique_gifts", "premium_subscription", "gifts_from_channels"), False
)


async def test_the_bot_knows_what_it_can(api):
    me = await api.result("getMe")

    assert (me["id"], me["username"], me["is_bot"]) == (BOT_ID, BOT, True)
    assert (me["can_join_groups"], me["can_read_all_group_messages"], me["has_main_web_app"]) == (
        True,
        False,
        False,
    )


async def test_a_channel_is_told_in_full(api):
    assert await api.result("getChat", chat_id=NEWS) == {
        "id": NEWS,
        "title": "Example news",
        "username": "pressroom_example_news",
        "type": "channel",
        "active_usernames": ["pressroom_example_news"],
        "accepted_gift_types": NO_GIFTS,
        "max_reaction_count": 11,
        "accent_color_id": 1000000001 % 7,
    }


async def test_groups_tell_what_all_may_do(api):
    forum = await api.result("getChat", chat_id=FORUM)
    group = await api.result("getChat", chat_id=FRIENDS)

    assert (forum["type"], forum["is_forum"], group["type"]) == ("supergroup", True, "group")
    assert set(forum["permissions"].values()) == {True}


async def test_a_dialog_is_told_by_the_name_of_the_person(api, anna):
    chat = await api.result("getChat", chat_id=anna)

    assert (chat["id"], chat["first_name"], chat["username"], chat["type"]) == (anna, "Anna", "anna", "private")


@pytest.mark.parametrize("chat_id", ["", "@anna", "@nobody", 5, -5, "abc"])
async def test_unknown_chats_are_not_found(api, anna, chat_id):
    refusal = "chat not found" if chat_id else "chat_id is empty"

    assert await api.refusal("getChat", chat_id=chat_id) == refusal


# Members


async def test_members_are_told_by_their_status(api, anna):
    person = api.sandbox.person("Anna")
    before = await api.result("getChatMember", chat_id=TEAM, user_id=anna)
    person.joins(TEAM)
    after = await api.result("getChatMember", chat_id=TEAM, user_id=anna)
    itself = await api.result("getChatMember", chat_id=NEWS, user_id=BOT_ID)
    in_dialog = await api.result("getChatMember", chat_id=anna, user_id=anna)

    assert (before["status"], after["status"], in_dialog["status"]) == ("left", "member", "member")
    assert (itself["status"], itself["can_post_messages"], itself["is_anonymous"]) == (
        "administrator",
        True,
        False,
    )
    assert "can_pin_messages" not in itself


@pytest.mark.parametrize(
    ("chat_id", "user_id", "refusal"),
    [
        (TEAM, "", "invalid user_id specified"),
        (TEAM, "-5", "invalid user_id specified"),
        (5, 7, "chat not found"),
        (TEAM, 7, "user not found"),
        (NEWS, 7, "member not found"),
    ],
)
async def test_unknown_members_are_refused_in_the_real_words(api, chat_id, user_id, refusal):
    assert await api.refusal("getChatMember", chat_id=chat_id, user_id=user_id) == refusal


async def test_only_administrators_see_who_reads_a_channel(api, anna):
    becomes(api, NEWS, "member")

    assert await api.refusal("getChatMember", chat_id=NEWS, user_id=anna) == "member list is inaccessible"
    assert await api.refusal("getChatAdministrators", chat_id=NEWS) == "member list is inaccessible"


async def test_administrators_are_the_owner_and_the_bot_itself(api, anna):
    people = api.sandbox._people
    team = api.sandbox._state.chats[TEAM]
    owner = people.owner(team)

    found = await api.result("getChatAdministrators", chat_id=TEAM)

    assert [(one["user"]["id"], one["status"]) for one in found] == [
        (owner.id, "creator"),
        (BOT_ID, "administrator"),
    ]
    assert await api.refusal("getChatAdministrators", chat_id=anna) == (
        "there are no administrators in the private chat"
    )


async def test_members_are_counted(api, anna):
    before = await api.result("getChatMemberCount", chat_id=TEAM)
    api.sandbox.person("Anna").joins(TEAM)

    assert await api.result("getChatMemberCount", chat_id=TEAM) == before + 1
    assert await api.result("getChatMemberCount", chat_id=anna) == 2


# Changes


async def test_who_leaves_is_out(api, anna):
    await api.result("leaveChat", chat_id=TEAM)

    assert await api.refusal("sendMessage", chat_id=TEAM, text="x") == (
        "Forbidden: bot is not a member of the supergroup chat"
    )
    assert api.last().method == "leaveChat"
    assert await api.refusal("leaveChat", chat_id=anna) == "can't leave private chats"
    (update,) = (one for one in await api.result("getUpdates") if "my_chat_member" in one)
    assert update["my_chat_member"]["new_chat_member"]["status"] == "left"


async def test_a_new_title_is_told_in_the_chat(api):
    await api.result("setChatTitle", chat_id=TEAM, title="  New   title ")

    assert (await api.result("getChat", chat_id=TEAM))["title"] == "New title"
    assert api.last()[5:] == ("setChatTitle", 1, "New title", {"service": {"new_chat_title": "New title"}})


async def test_a_description_is_kept(api):
    await api.result("setChatDescription", chat_id=NEWS, description="What it is about")

    assert (await api.result("getChat", chat_id=NEWS))["description"] == "What it is about"
    assert await api.refusal("setChatDescription", chat_id=NEWS, description="What it is about") == (
        "chat description is not modified"
    )
    await api.result("setChatDescription", chat_id=NEWS)
    assert "description" not in await api.result("getChat", chat_id=NEWS)


@pytest.mark.parametrize(
    ("method", "refusals"),
    [
        ("setChatTitle", ("not enough rights to change chat title", "can't change private chat title")),
        (
            "setChatDescription",
            ("not enough rights to set chat description", "can't change private chat description"),
        ),
    ],
)
async def test_changes_need_rights(api, anna, method, refusals):
    becomes(api, NEWS, "administrator", can_change_info=False)
    given = {"title": "x", "description": "x"}

    assert await api.refusal(method, chat_id=NEWS, **given) == refusals[0]
    assert await api.refusal(method, chat_id=FRIENDS, **given) == refusals[0]
    assert await api.refusal(method, chat_id=anna, **given) == refusals[1]


async def test_a_title_is_not_empty(api):
    assert await api.refusal("setChatTitle", chat_id=TEAM, title=" ") == "title must be non-empty"


@pytest.mark.parametrize("method", ["logOut", "close"])
async def test_moving_between_servers_changes_nothing_here(api, method):
    assert await api.result(method) is True
    assert (await api("getMe"))[0] == 200


async def test_another_bot_sees_its_own_place(api):
    becomes(api, NEWS, "kicked")

    member = await api.of(SECOND_TOKEN).result("getChatMember", chat_id=NEWS, user_id=BOT_ID)

    assert member == {
        "user": {"id": BOT_ID, "is_bot": True, "first_name": BOT, "username": BOT},
        "status": "kicked",
        "until_date": 0,
    }


async def test_nobody_has_photos_of_himself(api, anna):
    assert await api.result("getUserProfilePhotos", user_id=anna) == {"total_count": 0, "photos": []}
    assert await api.refusal("getUserProfilePhotos", user_id=7) == "user not found"
    assert await api.refusal("getUserProfilePhotos") == "invalid user_id specified"
