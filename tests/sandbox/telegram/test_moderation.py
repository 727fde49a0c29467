import pytest

from tests.sandbox.telegram.api import BOT_ID, FRIENDS, NEWS, NOON, TEAM, becomes

WEEK = 7 * 86_400


@pytest.fixture
def member(api, anna) -> int:
    """The id of somebody in the team."""
    api.sandbox.person("Anna").joins(TEAM)
    return anna


async def status_of(api, user_id: int) -> str:
    return (await api.result("getChatMember", chat_id=TEAM, user_id=user_id))["status"]


async def test_a_ban_ends_when_it_is_over(api, member):
    await api.result("banChatMember", chat_id=TEAM, user_id=member, until_date=int(NOON) + WEEK)

    banned = await api.result("getChatMember", chat_id=TEAM, user_id=member)
    told = api.last()
    api.clock.advance(WEEK)

    assert (banned["status"], banned["until_date"]) == ("kicked", int(NOON) + WEEK)
    assert (told.method, told.details["service"]["left_chat_member"]["id"]) == ("banChatMember", member)
    assert await status_of(api, member) == "left"


async def test_a_ban_is_lifted(api, member):
    await api.result("banChatMember", chat_id=TEAM, user_id=member)
    await api.result("unbanChatMember", chat_id=TEAM, user_id=member, only_if_banned=True)

    assert await status_of(api, member) == "left"


async def test_without_a_ban_there_may_be_nothing_to_lift(api, member):
    await api.result("unbanChatMember", chat_id=TEAM, user_id=member, only_if_banned=True)
    still = await status_of(api, member)
    await api.result("unbanChatMember", chat_id=TEAM, user_id=member)

    assert (still, await status_of(api, member)) == ("member", "left")


async def test_permissions_of_one_are_narrowed_and_given_back(api, member):
    await api.result("restrictChatMember", chat_id=TEAM, user_id=member, permissions={"can_send_polls": True})
    restricted = await api.result("getChatMember", chat_id=TEAM, user_id=member)
    everything = {name: True for name in restricted if name.startswith("can_")}
    await api.result("restrictChatMember", chat_id=TEAM, user_id=member, permissions=everything)

    assert restricted["status"] == "restricted"
    assert {name for name, value in restricted.items() if value is True} == {
        "can_send_polls", "can_send_messages", "can_react_to_messages", "is_member",
    } - {"can_react_to_messages"}  # fmt: skip
    assert await status_of(api, member) == "member"


async def test_somebody_is_promoted_and_demoted(api, member):
    given = {"chat_id": TEAM, "user_id": member}
    await api.result("promoteChatMember", **given, can_pin_messages=True)
    promoted = await api.result("getChatMember", **given)
    await api.result("setChatAdministratorCustomTitle", **given, custom_title="Boss")
    titled = await api.result("getChatMember", **given)
    await api.result("promoteChatMember", **given)

    assert (promoted["status"], promoted["can_pin_messages"], promoted["can_change_info"]) == (
        "administrator",
        True,
        False,
    )
    assert titled["custom_title"] == "Boss"
    assert await status_of(api, member) == "member"


async def test_permissions_of_all_are_kept(api):
    await api.result("setChatPermissions", chat_id=TEAM, permissions={"can_send_messages": True})

    permissions = (await api.result("getChat", chat_id=TEAM))["permissions"]

    assert {name for name, value in permissions.items() if value} == {
        "can_send_messages",
        "can_react_to_messages",
    }


@pytest.mark.parametrize(
    ("method", "parameters", "refusal"),
    [
        ("banChatMember", {"chat_id": TEAM}, "invalid user_id specified"),
        ("banChatMember", {"chat_id": TEAM, "user_id": BOT_ID}, "can't restrict self"),
        ("banChatMember", {"chat_id": TEAM, "user_id": 7}, "PARTICIPANT_ID_INVALID"),
        ("unbanChatMember", {"chat_id": FRIENDS, "user_id": 7}, "method is available for supergroup and channel chats only"),
        ("restrictChatMember", {"chat_id": NEWS, "user_id": 7}, "method is available only for supergroups"),
        ("restrictChatMember", {"chat_id": TEAM, "user_id": 7, "permissions": "{"}, "can't parse permissions JSON object"),
        ("restrictChatMember", {"chat_id": TEAM, "user_id": 7, "permissions": "[]"}, "object expected as permissions"),
        ("setChatPermissions", {"chat_id": TEAM, "permissions": {"can_send_polls": 1}}, 'can\'t parse chat permissions: Field "can_send_polls" must be of type Boolean'),
        ("setChatPermissions", {"chat_id": NEWS}, "can't change channel chat permissions"),
        ("promoteChatMember", {"chat_id": FRIENDS, "user_id": 7}, "method is available for supergroup and channel chats only"),
        ("promoteChatMember", {"chat_id": TEAM, "user_id": BOT_ID, "can_pin_messages": True}, "can't promote self"),
        ("setChatAdministratorCustomTitle", {"chat_id": NEWS, "user_id": 7}, "method is available only for groups and supergroups"),
    ],
)  # fmt: skip
async def test_moderation_is_refused_in_the_real_words(api, method, parameters, refusal):
    assert await api.refusal(method, **parameters) == refusal


async def test_moderation_needs_rights(api, member):
    becomes(api, TEAM, "administrator", can_restrict_members=False, can_promote_members=False)
    given = {"chat_id": TEAM, "user_id": member, "can_pin_messages": True}

    refusals = [
        await api.refusal(method, **given)
        for method in (
            "banChatMember",
            "unbanChatMember",
            "restrictChatMember",
            "promoteChatMember",
            "setChatPermissions",
        )
    ]

    assert refusals == [
        *["not enough rights to restrict/unrestrict chat member"] * 3,
        "not enough rights",
        "not enough rights to change chat permissions",
    ]


async def test_administrators_and_owners_are_out_of_reach(api, member):
    await api.result("promoteChatMember", chat_id=TEAM, user_id=member, can_pin_messages=True)
    owner = api.sandbox._people.owner(api.sandbox._state.chats[TEAM]).id

    assert await api.refusal("banChatMember", chat_id=TEAM, user_id=member) == (
        "user is an administrator of the chat"
    )
    assert await api.refusal("banChatMember", chat_id=TEAM, user_id=owner) == "can't remove chat owner"


async def test_somebody_outside_is_banned_without_a_word_in_the_chat(api, anna):
    await api.result("banChatMember", chat_id=TEAM, user_id=anna)

    assert await status_of(api, anna) == "kicked"
    assert api.last().details == {"user": anna}


async def test_nobody_gives_rights_that_he_has_not(api, member):
    becomes(api, TEAM, "administrator", can_pin_messages=False)
    given = {"chat_id": TEAM, "user_id": member}

    assert await api.refusal("promoteChatMember", **given, can_pin_messages=True) == "RIGHT_FORBIDDEN"
    assert await api.result("promoteChatMember", **given, can_invite_users=True) is True


async def test_only_members_are_promoted(api, anna):
    assert await api.refusal("promoteChatMember", chat_id=TEAM, user_id=anna, can_pin_messages=True) == (
        "USER_NOT_PARTICIPANT"
    )


async def test_titles_are_for_administrators(api, member):
    given = {"chat_id": TEAM, "user_id": member, "custom_title": "x" * 17}
    owner = api.sandbox._people.owner(api.sandbox._state.chats[TEAM]).id
    before = await api.refusal("setChatAdministratorCustomTitle", **given)
    await api.result("promoteChatMember", **given, can_pin_messages=True)

    assert before == "user is not an administrator"
    assert await api.refusal("setChatAdministratorCustomTitle", **given) == "CUSTOM_TITLE_INVALID"
    assert await api.refusal("setChatAdministratorCustomTitle", **{**given, "user_id": owner}) == (
        "only the owner can edit their custom title"
    )
    becomes(api, TEAM, "administrator", can_promote_members=False)
    assert await api.refusal("setChatAdministratorCustomTitle", **given) == (
        "not enough rights to change custom title of the user"
    )


async def test_dialogs_have_no_moderation(api, anna):
    assert (
        await api.refusal("banChatMember", chat_id=anna, user_id=anna) == "can't ban members in private chats"
    )
    assert await api.refusal("setChatPermissions", chat_id=anna) == "can't change private chat permissions"


@pytest.mark.parametrize(
    ("ahead", "kept"), [(29, False), (30, True), (366 * 86_400, True), (366 * 86_400 + 1, False)]
)
async def test_what_is_too_near_or_too_far_is_for_ever(api, member, ahead, kept):
    until = int(NOON) + ahead
    await api.result("banChatMember", chat_id=TEAM, user_id=member, until_date=until)

    banned = await api.result("getChatMember", chat_id=TEAM, user_id=member)

    assert (banned["status"], banned["until_date"]) == ("kicked", until if kept else 0)


async def test_a_demotion_lets_no_stranger_in(api, anna):
    refusal = await api.refusal("promoteChatMember", chat_id=TEAM, user_id=anna)

    assert refusal == "bots can't add new chat members"
    assert await status_of(api, anna) == "left"
    assert api.sandbox.effects() == [effect for effect in api.sandbox.effects() if effect.chat != TEAM]


async def test_a_demotion_changes_nothing_for_a_plain_member(api, member):
    before = api.sandbox.total

    assert await api.result("promoteChatMember", chat_id=TEAM, user_id=member) is True
    assert (await status_of(api, member), api.sandbox.total) == ("member", before)


@pytest.mark.parametrize(("method", "status"), [("banChatMember", "left"), ("restrictChatMember", "member")])
async def test_a_demotion_ends_a_restriction_and_lets_nobody_in(api, member, method, status):
    given = {"chat_id": TEAM, "user_id": member}
    await api.result(method, **given)
    becomes(api, TEAM, "administrator", can_restrict_members=False)
    refusal = await api.refusal("promoteChatMember", **given)
    becomes(api, TEAM, "administrator")

    assert refusal == "not enough rights to restrict/unrestrict chat member"
    assert await api.result("promoteChatMember", **given) is True
    assert await status_of(api, member) == status
    assert api.last().details == {"user": member}


async def test_a_right_may_be_called_as_it_was(api, member):
    given = {"chat_id": TEAM, "user_id": member}

    await api.result("promoteChatMember", **given, can_manage_voice_chats=True)

    assert (await api.result("getChatMember", **given))["can_manage_video_chats"] is True
