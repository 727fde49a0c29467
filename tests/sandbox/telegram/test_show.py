"""What the control API and the window see, and what they are told when they ask for nonsense."""

import base64
import re
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pressroom.sandbox.core.view import VERBS, NoSuch, NotPossible
from tests.sandbox.telegram.hearing import (
    BOT,
    FRIENDS,
    NEWS,
    NOON,
    SECOND_BOT,
    SECOND_TOKEN,
    TEAM,
    new_sandbox,
)

PIXEL = base64.b64encode(
    bytes.fromhex(
        "89504e470d0a1a0a0000000d4948445200000002000000010806000000f4227f8a0000000b49444154789c6360400300000d00010c0a"
        "3d5e0000000049454e44ae426082"
    )
).decode()
KEYBOARD = {
    "inline_keyboard": [
        [{"text": "Buy", "callback_data": "b"}, {"text": "Site", "url": "https://example.com/"}],
        [{"text": "Code", "copy_text": {"text": "SALE"}}],
    ]
}


def act(sandbox, verb: str, **wish: Any) -> dict[str, Any]:
    return sandbox.act(verb, wish)


@pytest.fixture
def anna(sandbox):
    return sandbox.person("Anna", username="anna_k")


async def test_every_verb_of_the_control_api_is_one_of_telegrams(sandbox):
    assert set(sandbox._deeds._verbs) == set(VERBS)


async def test_chats_come_with_the_newest_message_first(bot, sandbox, anna):
    await bot.result("sendMessage", chat_id=NEWS, text="first")
    sandbox.world.clock.advance(1)
    anna.starts(BOT)

    chats = sandbox.chats()

    assert [chat["id"] for chat in chats[:2]] == [anna.id, NEWS]
    assert chats[0] == {
        "id": anna.id,
        "kind": "private",
        "title": "Anna",
        "bots": [{"id": 1000000001, "name": BOT, "kind": "bot", "username": BOT}],
        "people": [{"id": anna.id, "name": "Anna", "kind": "person", "username": "anna_k"}],
        "messages": 1,
        "last": {
            "id": 1,
            "at": NOON + 1,
            "sender": {"id": anna.id, "name": "Anna", "kind": "person", "username": "anna_k"},
            "text": "/start",
            "entities": [{"type": "bot_command", "offset": 0, "length": 6}],
        },
    }


async def test_a_channels_message_is_said_by_the_channel_with_buttons_and_a_preview(bot, sandbox):
    await bot.result(
        "sendMessage", chat_id=NEWS, text="<b>Sale</b> example.com", parse_mode="HTML", reply_markup=KEYBOARD
    )

    (view,) = sandbox.messages_of(NEWS)

    assert view == {
        "id": 1,
        "at": NOON,
        "sender": {
            "id": NEWS,
            "name": "Example news",
            "kind": "channel",
            "username": "pressroom_example_news",
        },
        "text": "Sale example.com",
        "entities": [
            {"type": "bold", "offset": 0, "length": 4},
            {"type": "url", "offset": 5, "length": 11},
        ],
        "buttons": [
            [
                {"text": "Buy", "kind": "callback", "data": "b"},
                {"text": "Site", "kind": "url", "data": "https://example.com/"},
            ],
            [{"text": "Code", "kind": "copy", "data": "SALE"}],
        ],
        "preview": {"url": "http://example.com"},
    }


async def test_messages_are_paged_backwards(bot, sandbox):
    for n in range(5):
        await bot.result("sendMessage", chat_id=NEWS, text=f"{n}")

    newest = sandbox.messages_of(NEWS, limit=2)
    before = sandbox.messages_of(NEWS, before=newest[0]["id"], limit=2)

    assert [view["text"] for view in newest] == ["3", "4"]
    assert [view["text"] for view in before] == ["1", "2"]
    assert sandbox.message(NEWS, "3")["text"] == "2"
    with pytest.raises(NoSuch, match="no message 9 in Example news"):
        sandbox.message(NEWS, 9)


async def test_replies_edits_and_keyboards_are_shown(bot, sandbox, anna):
    anna.starts(BOT)
    keyboard = {"keyboard": [["Yes", {"text": "My number", "request_contact": True}]]}
    await bot.result("sendMessage", chat_id=anna.id, text="well?", reply_markup=keyboard)
    reply = anna.writes(BOT, "Yse", reply_to=2)
    anna.edits(BOT, reply.id, "Yes")

    _, question, answer = sandbox.messages_of(anna.id)

    assert question["buttons"] == [
        [{"text": "Yes", "kind": "message", "data": "Yes"}, {"text": "My number", "kind": "contact"}]
    ]
    assert answer["reply_to"] == {"id": 2, "sender": BOT, "text": "well?"}
    assert (answer["text"], answer["edited_at"]) == ("Yes", NOON)


async def test_service_messages_are_sentences(sandbox, anna):
    anna.joins(TEAM)
    act(sandbox, "removes_bot", chat=TEAM, bot=BOT)
    act(sandbox, "renames", chat=TEAM, title="Crew")
    anna.leaves(TEAM)

    assert [(view["text"], view["service"]) for view in sandbox.messages_of(TEAM)] == [
        ("Anna joined", True),
        (f"Owner removed {BOT}", True),
        ("The name is Crew now", True),
        ("Anna left", True),
    ]


@pytest.mark.parametrize(
    ("verb", "wish", "state"),
    [
        ("migrates", {"chat": FRIENDS}, "migrated"),
        ("closes", {"chat": TEAM}, "deleted"),
        ("blocks", {"person": "Anna", "bot": BOT}, "blocked"),
    ],
)
async def test_why_a_chat_is_quiet_is_said(sandbox, anna, verb, wish, state):
    sandbox.act(verb, wish)

    assert state in [chat.get("state") for chat in sandbox.chats()]


@pytest.mark.parametrize(
    "name",
    [
        NEWS,
        str(NEWS),
        f" {NEWS} ",
        "@pressroom_example_news",
        "pressroom_example_news",
        "@PRESSROOM_Example_News",
    ],
)
async def test_a_chat_has_many_names(sandbox, name):
    assert sandbox.resolve_chat(name) == NEWS


@pytest.mark.parametrize("name", ["", "0", "nothing", "@", f"{BOT}:Nobody", "9" * 30, "-", "1e5"])
async def test_other_names_are_no_chats(sandbox, name):
    with pytest.raises(NoSuch):
        sandbox.resolve_chat(name)


# Files


async def test_people_send_media_and_bots_get_their_files(bot, sandbox, anna):
    media = [{"kind": "photo", "name": "p.png", "type": "image/png", "data": PIXEL}]
    came_of = act(sandbox, "writes", person="Anna", bot=BOT, text="look", media=media)

    (update,) = await bot.updates()
    (view,) = sandbox.messages_of(came_of["chat"])
    mime, content = sandbox.file(view["media"][0]["file"])

    assert update["message"]["caption"] == view["text"] == "look"
    assert (update["message"]["photo"][-1]["width"], view["media"][0]["kind"]) == (2, "photo")
    assert (mime, content) == ("image/png", base64.b64decode(PIXEL))
    assert (await bot.result("getFile", file_id=update["message"]["photo"][-1]["file_id"]))["file_path"]


@pytest.mark.parametrize("kind", ["video", "audio", "voice", "animation", "document"])
async def test_each_kind_of_media_is_told(bot, sandbox, anna, kind):
    media = [{"kind": kind, "name": "a.bin", "data": base64.b64encode(b"content").decode()}]
    act(sandbox, "writes", person="Anna", bot=BOT, media=media)

    (update,) = await bot.updates()

    assert update["message"][kind]["file_size"] == 7


async def test_several_media_are_an_album(bot, sandbox, anna):
    media = [{"kind": "photo", "data": PIXEL}, {"kind": "photo", "data": PIXEL}]
    act(sandbox, "posts", chat=NEWS, text="two", media=media)

    first, second = [update["channel_post"] for update in await bot.updates()]

    assert first["media_group_id"] == second["media_group_id"]
    assert (first["caption"], "caption" in second) == ("two", False)


@pytest.mark.parametrize(
    "medium",
    [
        {"kind": "photo", "data": "not base64!"},
        {"kind": "photo", "data": base64.b64encode(b"no picture").decode()},
        {"kind": "hologram", "data": PIXEL},
        {"kind": "photo"},
        {"kind": "photo", "data": PIXEL, "size": 1},
    ],
)
async def test_other_media_are_refused(sandbox, anna, medium):
    with pytest.raises(NotPossible):
        act(sandbox, "writes", person="Anna", bot=BOT, media=[medium])

    assert sandbox.total == 0


async def test_a_file_that_is_not_there_is_said(sandbox):
    with pytest.raises(NoSuch, match="no file"):
        sandbox.file("0" * 64)


# Adding


async def test_chats_bots_and_people_are_added(bot, sandbox):
    chat = sandbox.add("chat", {"title": "Deals", "kind": "channel", "username": "@my_deals"})
    made = sandbox.add("bot", {"username": "my_bot", "name": "Mine"})
    person = sandbox.add("person", {"name": "Anna", "last_name": "K", "username": "anna_k", "language": "ru"})

    assert (chat["kind"], chat["username"], chat["messages"]) == ("channel", "my_deals", 0)
    assert (person["name"], person["username"]) == ("Anna K", "anna_k")
    me = await bot.of(made["token"]).result("getMe")
    assert (me["username"], me["first_name"]) == ("my_bot", "Mine")
    sent = await bot.of(made["token"]).result("sendMessage", chat_id="@my_deals", text="x")
    assert sent["chat"]["id"] == chat["id"]


async def test_ids_count_on(sandbox):
    kinds = ("group", "group", "supergroup", "channel")
    made = [sandbox.add("chat", {"title": "x", "kind": kind})["id"] for kind in kinds]

    assert made == [-1, -2, -1001000000003, -1001000000004]


@pytest.mark.parametrize(
    ("what", "wish", "said"),
    [
        ("chat", {}, "title: Field required"),
        ("chat", {"title": "x", "kind": "private"}, "kind"),
        ("chat", {"title": "x", "colour": "red"}, "colour: Extra inputs"),
        ("chat", {"title": "x", "username": "pressroom_example_news"}, "is taken"),
        ("chat", {"title": "x", "username": BOT.upper()}, "is taken"),
        ("chat", {"title": "x", "id": NEWS}, "already"),
        ("chat", {"title": "x", "id": -5}, "downwards"),
        ("chat", {"title": "x", "id": 7, "kind": "group"}, "downwards"),
        ("chat", {"title": 7}, "title"),
        ("bot", {"username": "x"}, "username"),
        ("bot", {"username": "new_bot", "token": "0:x"}, "token"),
        ("bot", {"username": "new_bot", "token": "1000000001:other"}, "already"),
        ("person", {"name": ""}, "name"),
        ("planet", {"name": "x"}, "nobody can add a planet"),
    ],
)
async def test_what_cannot_be_added_is_refused_with_the_reason(sandbox, what, wish, said):
    with pytest.raises(NotPossible, match=re.escape(said)):
        sandbox.add(what, wish)


# Acting


@pytest.mark.parametrize(
    ("verb", "wish", "error", "said"),
    [
        ("flies", {}, NoSuch, "nobody can do 'flies' here"),
        ("writes", {"text": "x"}, NotPossible, "a person is needed"),
        ("writes", {"person": "Anna", "text": "x"}, NotPossible, "a chat or a bot is needed"),
        ("writes", {"person": "Nobody", "bot": BOT, "text": "x"}, NoSuch, "no person 'Nobody'"),
        ("writes", {"person": "Anna", "chat": -9, "text": "x"}, NoSuch, "no chat -9"),
        ("writes", {"person": "Anna", "bot": BOT, "txet": "x"}, NotPossible, "txet"),
        ("starts", {"person": "Anna", "bot": "no_bot"}, NoSuch, "no bot 'no_bot'"),
        ("starts", {"person": "Anna"}, NotPossible, "a bot is needed"),
        ("presses", {"person": "Anna", "chat": NEWS}, NotPossible, "message_id"),
        ("presses", {"person": "Anna", "chat": NEWS, "message_id": 1}, NotPossible, "which button"),
        ("renames", {"chat": TEAM, "title": " "}, NotPossible, "1 to 128"),
        ("renames", {"chat": TEAM}, NotPossible, "title"),
        ("migrates", {"chat": TEAM}, NotPossible, "only groups"),
        ("adds_bot", {"chat": TEAM, "bot": BOT, "rights": {"can_fly": True}}, NotPossible, "can_fly"),
        ("restricts_bot", {"chat": TEAM, "bot": BOT, "rights": {"can_fly": True}}, NotPossible, "can_fly"),
        ("restricts_bot", {"chat": FRIENDS, "bot": BOT, "rights": {}}, NotPossible, "basic group"),
    ],
)
async def test_what_cannot_be_done_is_refused_with_the_reason(sandbox, anna, verb, wish, error, said):
    with pytest.raises(error, match=re.escape(said)):
        sandbox.act(verb, wish)

    assert sandbox.total == 0


WISHES = st.dictionaries(
    st.sampled_from(
        [
            "person",
            "chat",
            "bot",
            "text",
            "media",
            "parse_mode",
            "reply_to",
            "message_id",
            "data",
            "row",
            "column",
            "payload",
            "rights",
            "title",
            "x",
        ]
    ),
    st.one_of(
        st.sampled_from(["Anna", BOT, NEWS, TEAM, FRIENDS, 1, "", "@x", "1:2", "HTML", 10**30, -1, 0.5]),
        st.text(max_size=5),
        st.none(),
        st.booleans(),
        st.lists(st.dictionaries(st.text(max_size=3), st.text(max_size=3), max_size=2), max_size=2),
        st.dictionaries(st.text(max_size=3), st.booleans(), max_size=2),
    ),
    max_size=6,
)


@settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(verb=st.sampled_from(sorted(VERBS)), wish=WISHES)
async def test_no_wish_breaks_anything(verb, wish):
    sandbox = new_sandbox()
    sandbox.person("Anna")
    with suppress(NoSuch, NotPossible):
        sandbox.act(verb, wish)
    sandbox.chats()


async def test_the_second_bot_of_a_chat_is_shown_as_well(sandbox):
    sandbox.add("bot", {"token": SECOND_TOKEN, "username": SECOND_BOT})

    assert [bot["username"] for bot in sandbox.chat(NEWS)["bots"]] == [BOT, SECOND_BOT]
    assert len(sandbox.bots()) == 2
