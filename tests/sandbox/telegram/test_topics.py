import pytest

from tests.sandbox.telegram.api import FORUM, NEWS, TEAM, becomes


async def topic(api, name: str = "News") -> int:
    return (await api.result("createForumTopic", chat_id=FORUM, name=name))["message_thread_id"]


async def test_a_topic_is_made_told_and_written_to(api):
    made = await api.result("createForumTopic", chat_id=FORUM, name=" News ", icon_color=9367192)
    told = api.last()
    message = await api.result(
        "sendMessage", chat_id=FORUM, text="x", message_thread_id=made["message_thread_id"]
    )
    reply = await api.result("sendMessage", chat_id=FORUM, text="y", reply_to_message_id=message["message_id"])
    general = await api.result("sendMessage", chat_id=FORUM, text="z")

    assert made == {"message_thread_id": 1, "name": "News", "icon_color": 9367192} | {
        "message_thread_id": made["message_thread_id"]
    }
    assert told.details == {
        "service": {"forum_topic_created": {"name": "News", "icon_color": 9367192}},
        "thread": made["message_thread_id"],
    }
    assert (message["message_thread_id"], message["is_topic_message"]) == (made["message_thread_id"], True)
    assert reply["message_thread_id"] == made["message_thread_id"]
    assert "message_thread_id" not in general


async def test_a_topic_is_renamed(api):
    number = await topic(api)

    await api.result("editForumTopic", chat_id=FORUM, message_thread_id=number, name="Old news")

    assert api.last().details["service"] == {"forum_topic_edited": {"name": "Old news"}}
    assert await api.refusal("editForumTopic", chat_id=FORUM, message_thread_id=number, name="Old news") == (
        "TOPIC_NOT_MODIFIED"
    )


async def test_in_a_closed_topic_only_those_write_who_manage_topics(api):
    number = await topic(api)
    given = {"chat_id": FORUM, "message_thread_id": number}
    await api.result("closeForumTopic", **given)
    becomes(api, FORUM, "administrator", can_manage_topics=False)
    refused = await api.refusal("sendMessage", text="x", **given)
    becomes(api, FORUM, "administrator")
    await api.result("reopenForumTopic", **given)

    assert refused == "TOPIC_CLOSED"
    assert (await api("sendMessage", text="x", **given))[0] == 200
    assert await api.refusal("reopenForumTopic", **given) == "TOPIC_NOT_MODIFIED"


async def test_a_deleted_topic_takes_its_messages_along(api):
    number = await topic(api)
    await api.result("sendMessage", chat_id=FORUM, text="x", message_thread_id=number)
    await api.result("sendMessage", chat_id=FORUM, text="y")

    await api.result("deleteForumTopic", chat_id=FORUM, message_thread_id=number)

    assert [one.text for one in api.sandbox._state.chats[FORUM].messages.values()] == ["y"]
    assert await api.refusal("sendMessage", chat_id=FORUM, text="x", message_thread_id=number) == (
        "message thread not found"
    )


async def test_the_general_topic_is_always_there(api):
    for method in (
        "closeGeneralForumTopic",
        "reopenGeneralForumTopic",
        "hideGeneralForumTopic",
        "unhideGeneralForumTopic",
    ):
        assert await api.result(method, chat_id=FORUM) is True
    assert await api.result("editGeneralForumTopic", chat_id=FORUM, name="Everything") is True

    assert [next(iter(effect.details["service"])) for effect in api.sandbox.effects()] == [
        "forum_topic_closed",
        "forum_topic_reopened",
        "general_forum_topic_hidden",
        "general_forum_topic_unhidden",
        "forum_topic_edited",
    ]


async def test_pins_of_one_topic_are_removed(api):
    number = await topic(api)
    inside = await api.result("sendMessage", chat_id=FORUM, text="in", message_thread_id=number)
    outside = await api.result("sendMessage", chat_id=FORUM, text="out")
    for message in (outside, inside):
        await api.result("pinChatMessage", chat_id=FORUM, message_id=message["message_id"])

    await api.result("unpinAllForumTopicMessages", chat_id=FORUM, message_thread_id=number)
    left = (await api.result("getChat", chat_id=FORUM))["pinned_message"]["text"]
    await api.result("unpinAllGeneralForumTopicMessages", chat_id=FORUM)

    assert left == "out"
    assert "pinned_message" not in await api.result("getChat", chat_id=FORUM)


@pytest.mark.parametrize(
    ("method", "parameters", "refusal"),
    [
        ("createForumTopic", {"chat_id": TEAM, "name": "x"}, "the chat is not a forum"),
        ("createForumTopic", {"chat_id": NEWS, "name": "x"}, "the chat is not a forum"),
        ("createForumTopic", {"chat_id": FORUM}, "name must be non-empty"),
        ("createForumTopic", {"chat_id": FORUM, "name": "x", "icon_color": -1}, "invalid icon color specified"),
        ("editForumTopic", {"chat_id": FORUM}, "invalid forum topic identifier specified"),
        ("closeForumTopic", {"chat_id": FORUM, "message_thread_id": 99}, "TOPIC_ID_INVALID"),
        ("deleteForumTopic", {"chat_id": FORUM, "message_thread_id": 1}, "TOPIC_ID_INVALID"),
        ("closeGeneralForumTopic", {"chat_id": TEAM}, "the chat is not a forum"),
    ],
)
async def test_topics_are_refused_in_the_real_words(api, method, parameters, refusal):
    assert await api.refusal(method, **parameters) == refusal


async def test_topics_need_rights_unless_they_are_ones_own(api):
    own = await topic(api)
    becomes(api, FORUM, "administrator", can_manage_topics=False)

    assert (
        await api.refusal("createForumTopic", chat_id=FORUM, name="x") == "not enough rights to create a topic"
    )
    assert (
        await api.refusal("editGeneralForumTopic", chat_id=FORUM, name="x")
        == "not enough rights to edit the topic"
    )
    assert await api.refusal("closeGeneralForumTopic", chat_id=FORUM) == (
        "not enough rights to close or open the topic"
    )
    assert await api.result("editForumTopic", chat_id=FORUM, message_thread_id=own, name="y") is True
