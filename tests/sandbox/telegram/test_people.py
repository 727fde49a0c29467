"""What people do, what bots hear of it, and what bots are refused afterwards."""

from typing import Any

import pytest

from pressroom.sandbox.core.view import NoSuch, NotPossible
from tests.sandbox.telegram.hearing import BOT, FRIENDS, NEWS, NOON, SECOND_BOT, SECOND_TOKEN, TEAM

ME = {"id": 1000000001, "is_bot": True, "first_name": BOT, "username": BOT}


@pytest.fixture
def anna(sandbox):
    return sandbox.person("Anna")


@pytest.fixture
def quiet(sandbox):
    """The bot is in all groups with privacy mode, and administrator in none."""
    for chat in (FRIENDS, TEAM):
        sandbox._state.chats[chat].bots_are = "member"


async def kinds(bot) -> list[str]:
    return [next(kind for kind in update if kind != "update_id") for update in await bot.updates(offset=-100)]


async def news(bot) -> list[Any]:
    """What each update is about."""
    updates = await bot.updates(offset=-100)
    return [value for update in updates for kind, value in update.items() if kind != "update_id"]


# Dialogs


@pytest.mark.parametrize(("payload", "text"), [(None, "/start"), ("ref_42-x", "/start ref_42-x")])
async def test_start_opens_the_dialog(bot, anna, payload, text):
    anna.starts(BOT, payload)

    (message,) = await news(bot)

    assert message["text"] == text
    assert (await bot("sendMessage", chat_id=anna.id, text="hi"))[0] == 200


@pytest.mark.parametrize("payload", ["", "with space", "x" * 65, "кирилл"])
async def test_a_payload_is_64_plain_letters(anna, payload):
    with pytest.raises(NotPossible, match="payload"):
        anna.starts(BOT, payload)


async def test_a_bot_writes_to_nobody_first(bot, anna):
    status, answer = await bot("sendMessage", chat_id=anna.id, text="hi")

    assert (status, answer["description"]) == (
        403,
        "Forbidden: bot can't initiate conversation with a user",
    )


async def test_a_blocked_bot_hears_of_it_once_and_is_refused_until_it_is_let_in_again(bot, anna):
    anna.starts(BOT)
    anna.blocks(BOT)
    anna.blocks(BOT)

    refused = await bot("sendMessage", chat_id=anna.id, text="still there?")
    anna.unblocks(BOT)
    taken = await bot("sendMessage", chat_id=anna.id, text="and now?")
    changes = (await news(bot))[1:]

    assert refused[1]["description"] == "Forbidden: bot was blocked by the user"
    assert taken[0] == 200
    assert [(one["old_chat_member"]["status"], one["new_chat_member"]["status"]) for one in changes] == [
        ("member", "kicked"),
        ("kicked", "member"),
    ]
    assert changes[0] == {
        "chat": {"id": anna.id, "first_name": "Anna", "type": "private"},
        "from": {"id": anna.id, "is_bot": False, "first_name": "Anna"},
        "date": int(NOON),
        "old_chat_member": {"user": ME, "status": "member"},
        "new_chat_member": {"user": ME, "status": "kicked", "until_date": 0},
    }


async def test_start_lets_a_blocked_bot_in_again(bot, anna):
    anna.starts(BOT)
    anna.blocks(BOT)

    with pytest.raises(NotPossible, match="unblock it first"):
        anna.writes(BOT, "hello?")
    anna.starts(BOT)

    assert await kinds(bot) == ["message", "my_chat_member", "my_chat_member", "message"]


async def test_a_text_has_the_entities_that_an_app_finds(bot, anna):
    anna.writes(BOT, "/buy@pressroom_example_bot 👋 example.com #tag")

    (message,) = await news(bot)

    assert message["entities"] == [
        {"offset": 0, "length": 26, "type": "bot_command"},
        {"offset": 30, "length": 11, "type": "url"},
        {"offset": 42, "length": 4, "type": "hashtag"},
    ]


async def test_a_person_may_mark_his_text(bot, anna):
    anna.writes(BOT, "<b>bold</b>", parse_mode="HTML")

    (message,) = await news(bot)

    assert (message["text"], message["entities"]) == (
        "bold",
        [{"offset": 0, "length": 4, "type": "bold"}],
    )


@pytest.mark.parametrize(
    ("text", "mode"), [("", None), (" \n ", None), ("x" * 4097, None), ("<b>x", "HTML"), ("x", "BBCode")]
)
async def test_what_no_app_sends_is_refused(sandbox, anna, text, mode):
    with pytest.raises(NotPossible):
        anna.writes(BOT, text, parse_mode=mode)

    assert sandbox.total == 0
    assert "private" not in {chat["kind"] for chat in sandbox.chats()}


async def test_a_reply_carries_what_it_replies_to(bot, anna):
    anna.starts(BOT)
    sent = await bot.result("sendMessage", chat_id=anna.id, text="question")

    anna.writes(BOT, "answer", reply_to=sent["message_id"])

    assert (await news(bot))[-1]["reply_to_message"]["text"] == "question"
    with pytest.raises(NoSuch, match="no message 99"):
        anna.writes(BOT, "to nothing", reply_to=99)


async def test_people_edit_and_delete_only_what_is_theirs(bot, sandbox, anna):
    mine = anna.writes(FRIENDS, "mine").id
    boris = sandbox.person("Boris")

    with pytest.raises(NotPossible, match="is not Boris's"):
        boris.edits(FRIENDS, mine, "yours")
    with pytest.raises(NotPossible, match="is not Boris's"):
        boris.deletes(FRIENDS, mine)
    anna.edits(FRIENDS, mine, "edited")
    anna.deletes(FRIENDS, mine)

    assert sandbox._state.chats[FRIENDS].messages == {}
    assert [(one.actor, one.method, one.text) for one in sandbox.effects()] == [
        ("Anna", "writes", "mine"),
        ("Anna", "edits", "edited"),
        ("Anna", "deletes", ""),
    ]


async def test_a_dialog_is_two_persons_own(bot, sandbox, anna):
    anna.starts(BOT)
    boris = sandbox.person("Boris")

    with pytest.raises(NotPossible, match="has no part in the dialog of Anna"):
        boris.deletes(anna.id, 1)
    with pytest.raises(NotPossible, match="has no part in the dialog of Anna"):
        boris.writes(anna.id, "hello, Anna")


# Groups


@pytest.mark.usefixtures("quiet")
@pytest.mark.parametrize(
    ("text", "heard"),
    [
        ("just talking", False),
        ("/help", True),
        ("/help@pressroom_example_bot", True),
        ("/HELP@Pressroom_Example_BOT now", True),
        ("/help@second_bot", False),
        ("not at the /beginning", False),
        ("ask @pressroom_example_bot about it", True),
        ("ask @pressroom_example_bot2 about it", False),
    ],
)
async def test_in_privacy_mode_a_bot_hears_what_is_meant_for_it(bot, anna, text, heard):
    anna.writes(TEAM, text)

    assert await kinds(bot) == (["message"] if heard else [])


@pytest.mark.usefixtures("quiet")
async def test_in_privacy_mode_a_bot_hears_replies_to_it(bot, sandbox, anna):
    sent = await bot.result("sendMessage", chat_id=TEAM, text="question")

    anna.writes(TEAM, "to nobody")
    anna.writes(TEAM, "to the bot", reply_to=sent["message_id"])

    assert [message["text"] for message in await news(bot)] == ["to the bot"]


@pytest.mark.usefixtures("quiet")
async def test_a_command_without_a_name_is_for_the_bot_that_spoke_last(bot, sandbox, anna):
    sandbox.add("bot", {"token": SECOND_TOKEN, "username": SECOND_BOT})
    second = bot.of(SECOND_TOKEN)
    anna.writes(TEAM, "/both")
    await second.result("sendMessage", chat_id=TEAM, text="I am here")

    anna.writes(TEAM, "/only_the_second")

    assert [message["text"] for message in await news(bot)] == ["/both"]
    assert [message["text"] for message in await news(second)] == ["/both", "/only_the_second"]


@pytest.mark.usefixtures("quiet")
async def test_with_privacy_mode_off_a_bot_hears_everything_but_other_bots(bot, sandbox, anna):
    sandbox.add("bot", {"token": SECOND_TOKEN, "username": SECOND_BOT, "reads_groups": True})
    second = bot.of(SECOND_TOKEN)
    await second.updates()

    anna.writes(TEAM, "just talking")
    await bot.result("sendMessage", chat_id=TEAM, text="a bot talks")

    assert [message["text"] for message in await news(second)] == ["just talking"]
    assert await news(bot) == []


async def test_an_administrator_hears_everything(bot, anna):
    anna.writes(TEAM, "just talking")

    assert [message["text"] for message in await news(bot)] == ["just talking"]


async def test_joining_and_leaving_are_told_to_everybody_in_a_group(bot, sandbox, anna):
    await bot.updates(allowed_updates=["message", "chat_member"])

    anna.joins(TEAM)
    anna.leaves(TEAM)
    joined, came, left, went = await news(bot)

    user = {"id": anna.id, "is_bot": False, "first_name": "Anna"}
    assert (joined["new_chat_member"], left["new_chat_member"]) == (
        {"user": user, "status": "member"},
        {"user": user, "status": "left"},
    )
    assert (came["new_chat_members"], went["left_chat_member"]) == ([user], user)
    with pytest.raises(NotPossible, match="join it first"):
        anna.writes(TEAM, "gone")
    with pytest.raises(NotPossible, match="is not in"):
        anna.leaves(TEAM)


async def test_a_channel_tells_only_administrators_of_its_members(bot, sandbox, anna):
    await bot.updates(allowed_updates=["chat_member", "channel_post", "message"])

    anna.joins(NEWS)

    assert await kinds(bot) == ["chat_member"]
    with pytest.raises(NotPossible, match="already"):
        anna.joins(NEWS)


# Channels


async def test_the_owner_posts_in_the_channels_name(bot, sandbox):
    sandbox.act("posts", {"chat": "@pressroom_example_news", "text": "News!"})

    (post,) = await news(bot)

    channel = {"id": NEWS, "title": "Example news", "username": "pressroom_example_news", "type": "channel"}
    assert await kinds(bot) == ["channel_post"]
    assert (post["sender_chat"], post["chat"], post["text"]) == (channel, channel, "News!")
    assert "from" not in post


async def test_a_bots_post_is_told_to_the_other_bots_that_listen(bot, sandbox):
    sandbox.add("bot", {"token": SECOND_TOKEN, "username": SECOND_BOT})
    second = bot.of(SECOND_TOKEN)
    await bot.result("sendMessage", chat_id=NEWS, text="nobody listens yet")
    await second.updates()

    await bot.result("sendMessage", chat_id=NEWS, text="Sale")

    assert [post["text"] for post in await news(second)] == ["Sale"]
    assert await news(bot) == []


async def test_people_do_not_write_in_channels_and_owners_do_not_post_in_groups(sandbox, anna):
    with pytest.raises(NotPossible, match="its owner posts there"):
        anna.writes(NEWS, "me too")
    with pytest.raises(NotPossible, match="people write there"):
        sandbox.act("posts", {"chat": TEAM, "text": "x"})


# What happens to bots and chats


@pytest.mark.parametrize(("chat", "told"), [(NEWS, ["my_chat_member"]), (TEAM, ["my_chat_member", "message"])])
async def test_a_bot_that_is_removed_hears_of_it_and_is_refused(bot, sandbox, chat, told):
    sandbox.act("removes_bot", {"chat": chat, "bot": BOT})

    heard = await kinds(bot)
    status, answer = await bot("sendMessage", chat_id=chat, text="x")

    kind = {NEWS: "channel", TEAM: "supergroup"}[chat]
    assert heard == told
    assert (status, answer["description"]) == (403, f"Forbidden: bot was kicked from the {kind} chat")


async def test_a_bot_that_is_added_again_may_write_again(bot, sandbox):
    sandbox.act("removes_bot", {"chat": NEWS, "bot": BOT})
    sandbox.act("adds_bot", {"chat": NEWS, "bot": BOT, "rights": {"can_edit_messages": False}})

    added = (await news(bot))[-1]

    assert added["old_chat_member"]["status"] == "kicked"
    assert added["new_chat_member"]["status"] == "administrator"
    assert added["new_chat_member"]["can_edit_messages"] is False
    assert added["new_chat_member"]["can_post_messages"] is True
    assert (await bot("sendMessage", chat_id=NEWS, text="x"))[0] == 200


async def test_an_administrator_with_fewer_rights_cannot_post(bot, sandbox):
    sandbox.act("restricts_bot", {"chat": NEWS, "bot": BOT, "rights": {"can_post_messages": False}})

    status, answer = await bot("sendMessage", chat_id=NEWS, text="x")

    assert (status, answer["description"]) == (
        400,
        "Bad Request: need administrator rights in the channel chat",
    )


async def test_a_restricted_bot_may_do_what_is_granted(bot, sandbox):
    sandbox.act("restricts_bot", {"chat": TEAM, "bot": BOT, "rights": {"can_send_photos": True}})

    (change,) = await news(bot)
    status, answer = await bot("sendMessage", chat_id=TEAM, text="x")

    assert change["new_chat_member"]["status"] == "restricted"
    assert change["new_chat_member"]["can_send_photos"] is True
    assert (status, answer["description"]) == (
        400,
        "Bad Request: not enough rights to send text messages to the chat",
    )


async def test_a_group_becomes_a_supergroup_and_tells_both_ids(bot, sandbox):
    moved = sandbox.act("migrates", {"chat": FRIENDS})["chat"]

    to, since = await news(bot)
    status, answer = await bot("sendMessage", chat_id=FRIENDS, text="x")

    assert (to["chat"]["id"], to["migrate_to_chat_id"]) == (FRIENDS, moved)
    assert (since["chat"]["id"], since["migrate_from_chat_id"], since["chat"]["type"]) == (
        moved,
        FRIENDS,
        "supergroup",
    )
    assert (status, answer["parameters"]) == (400, {"migrate_to_chat_id": moved})
    assert (await bot("sendMessage", chat_id=moved, text="x"))[0] == 200


async def test_a_new_name_is_told(bot, sandbox):
    sandbox.act("renames", {"chat": TEAM, "title": "  The   crew "})
    sandbox.act("renames", {"chat": NEWS, "title": "Old news"})

    updates = await bot.updates()

    assert updates[0]["message"]["new_chat_title"] == "The crew"
    assert updates[1]["channel_post"]["new_chat_title"] == "Old news"
    assert (await bot.result("getChat", chat_id=NEWS))["title"] == "Old news"


@pytest.mark.parametrize(
    ("chat", "refusal"),
    [
        (FRIENDS, (403, "Forbidden: the group chat was deleted")),
        (TEAM, (400, "Bad Request: chat not found")),
    ],
)
async def test_a_closed_chat_is_gone(bot, sandbox, chat, refusal):
    sandbox.act("closes", {"chat": chat})

    status, answer = await bot("sendMessage", chat_id=chat, text="x")

    assert (status, answer["description"]) == refusal
    with pytest.raises(NotPossible, match="was deleted"):
        sandbox.person("Anna").writes(chat, "x")


# Two bots and one person


async def test_a_persons_dialogs_are_told_apart_in_the_ledger(bot, sandbox, anna):
    sandbox.add("bot", {"token": SECOND_TOKEN, "username": SECOND_BOT})
    anna.starts(BOT)
    anna.starts(SECOND_BOT)
    await bot.result("sendMessage", chat_id=anna.id, text="from the first")
    await bot.of(SECOND_TOKEN).result("sendMessage", chat_id=anna.id, text="from the second")

    first, second = sandbox.resolve_chat(f"{BOT}:Anna"), sandbox.resolve_chat(f"{SECOND_BOT}:{anna.id}")

    assert (first, second) == (anna.id, anna.id + (1 << 40))
    assert sandbox.messages(first) == ["from the first"]
    assert sandbox.messages(second) == ["from the second"]


async def test_a_fault_hits_the_dialog_it_names_and_no_other(bot, sandbox, anna):
    sandbox.add("bot", {"token": SECOND_TOKEN, "username": SECOND_BOT})
    anna.starts(BOT)
    anna.starts(SECOND_BOT)
    sandbox.fail_next(name="blocked", chat=sandbox.resolve_chat(f"{SECOND_BOT}:Anna"))

    first = await bot("sendMessage", chat_id=anna.id, text="x")
    second = await bot.of(SECOND_TOKEN)("sendMessage", chat_id=anna.id, text="x")

    assert (first[0], second[0]) == (200, 403)
