import base64
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pressroom.sandbox.core.view import VERBS, NoSuch, NotPossible
from pressroom.sandbox.max import EXAMPLE_BOT, EXAMPLE_TOKEN, ChatKind, MaxSandbox, NewChat
from tests.sandbox.max.openapi import check, stored

NEWS = -70000000000001
CREW = -71000000000001
PNG = b"\x89PNG\r\n\x1a\n\x00\x00\x00\x0dIHDR\x00\x00\x00\x20\x00\x00\x00\x10" + b"\x00" * 16


@pytest.fixture
def sandbox(make):
    return make(chats=[NewChat(CREW, "Редакция", ChatKind.CHAT)])


@pytest.fixture
def told(call):
    async def told(*types):
        _, page = await call("GET", "/updates", timeout=0, marker=0, types=",".join(types), limit=100)
        return page["updates"]

    return told


async def test_starting_a_bot_opens_a_dialog_and_tells_the_payload(told, sandbox, anna):
    dialog = anna.starts(EXAMPLE_BOT, "ref-1")
    anna.starts(EXAMPLE_BOT, "x" * 513)

    first, second = await told("bot_started")
    assert (first["chat_id"], first["payload"], first["user"]["first_name"]) == (dialog, "ref-1", "Anna")
    assert "payload" not in second


async def test_writing_to_a_bot_starts_it_first(told, sandbox, anna):
    mid = anna.writes(EXAMPLE_BOT, "hello")

    started, written = await told()
    assert (started["update_type"], written["update_type"]) == ("bot_started", "message_created")
    assert written["message"]["body"]["mid"] == mid


async def test_stopping_and_going_on(told, sandbox, anna, dialog):
    anna.blocks(EXAMPLE_BOT)
    with pytest.raises(NotPossible, match="stopped"):
        anna.writes(EXAMPLE_BOT, "x")
    anna.unblocks(EXAMPLE_BOT)

    assert [each["update_type"] for each in await told()] == ["bot_started", "bot_stopped", "bot_started"]
    assert [effect.method for effect in sandbox.effects()] == ["starts", "blocks", "unblocks"]


async def test_deleting_the_dialog_stops_the_bot_too(told, sandbox, anna, dialog):
    sandbox.act("closes", {"chat": dialog})

    assert [each["update_type"] for each in await told()] == ["bot_started", "bot_stopped", "dialog_removed"]


async def test_a_person_edits_and_deletes_what_is_their_own(told, sandbox, anna, dialog):
    mid = anna.writes(EXAMPLE_BOT, "one")
    anna.edits(dialog, mid, "two")
    anna.deletes(dialog, mid)
    posted = sandbox.act("posts", {"chat": NEWS, "text": "x"})["message_id"]

    edited, removed = await told("message_edited", "message_removed")
    assert edited["message"]["body"]["text"] == "two"
    assert (removed["message_id"], removed["user_id"]) == (mid, anna.id)
    with pytest.raises(NotPossible, match="did not write"):
        anna.deletes(NEWS, posted)


async def test_a_group_is_joined_written_in_and_left(told, sandbox, anna):
    with pytest.raises(NotPossible, match="joining"):
        anna.writes(CREW, "x")
    anna.joins(CREW)
    anna.writes(CREW, "hello")
    anna.leaves(CREW)

    joined, written, left = await told()
    assert (joined["update_type"], joined["user_id"], joined["is_channel"]) == ("user_added", anna.id, False)
    assert written["message"]["recipient"] == {"chat_id": CREW, "chat_type": "chat"}
    assert left["update_type"] == "user_removed"


async def test_bots_are_removed_added_and_limited(call, told, sandbox):
    sandbox.act("removes_bot", {"chat": NEWS, "bot": EXAMPLE_BOT})
    gone, _ = await call("POST", "/messages", {"text": "x"}, chat_id=NEWS)
    sandbox.act("adds_bot", {"chat": NEWS, "bot": EXAMPLE_BOT, "rights": ["read_all_messages", "write"]})
    back, _ = await call("POST", "/messages", {"text": "x"}, chat_id=NEWS)
    _, me = await call("GET", f"/chats/{NEWS}/members/me")

    removed, added = await told("bot_removed", "bot_added")
    assert (gone, back) == (404, 200)
    assert (removed["update_type"], added["update_type"], added["is_channel"]) == (
        "bot_removed",
        "bot_added",
        True,
    )
    assert me["permissions"] == ["read_all_messages", "write"]


async def test_a_closed_chat_is_gone_for_bots(call, told, sandbox):
    sandbox.act("closes", {"chat": NEWS})

    status, _ = await call("POST", "/messages", {"text": "x"}, chat_id=NEWS)

    assert status == 404
    assert [each["update_type"] for each in await told()] == ["bot_removed"]
    assert sandbox.chat(NEWS)["state"] == "deleted"


@pytest.mark.parametrize(
    ("verb", "wish", "error"),
    [
        ("migrates", {"chat": NEWS}, "chats keep their id"),
        ("writes", {"person": "Anna", "chat": NEWS, "text": "x"}, "its owner posts|joining"),
        ("writes", {"person": "Anna", "bot": EXAMPLE_BOT}, "a text or media"),
        ("writes", {"person": "Anna", "bot": EXAMPLE_BOT, "text": "x", "colour": "red"}, "not colour"),
        ("writes", {"person": "Anna", "bot": EXAMPLE_BOT, "media": [{"kind": "photo", "data": "%"}]}, "base64"),
        (
            "writes",
            {"person": "Anna", "bot": EXAMPLE_BOT, "text": "x", "parse_mode": "rtf"},
            "markdown or html",
        ),
        (
            "writes",
            {"person": "Anna", "bot": EXAMPLE_BOT, "media": [{"kind": "photo", "data": "", "name": "\udc00"}]},
            "half of a surrogate pair",
        ),
        ("writes", {"text": "x"}, "needs person"),
        ("blocks", {"person": "Anna", "bot": EXAMPLE_BOT}, "has not started"),
        ("joins", {"person": "Owner", "chat": NEWS}, "already"),
        ("renames", {"chat": NEWS, "title": ""}, "needs title"),
        ("renames", {"chat": NEWS, "title": "x" * 201}, "1 to 200"),
        ("renames", {"chat": NEWS, "title": " "}, "shows something"),
        ("restricts_bot", {"chat": NEWS, "bot": EXAMPLE_BOT, "rights": "all"}, "list"),
        ("posts", {"chat": NEWS, "text": 5}, "is a text"),
    ],
)
async def test_what_makes_no_sense_is_refused_with_a_sentence(sandbox, anna, verb, wish, error):
    with pytest.raises(NotPossible, match=error):
        sandbox.act(verb, wish)


async def test_who_is_not_there_is_named(sandbox):
    with pytest.raises(NoSuch, match="no person 'Boris'"):
        sandbox.act("starts", {"person": "Boris", "bot": EXAMPLE_BOT})
    with pytest.raises(NoSuch, match="no bot"):
        sandbox.act("adds_bot", {"chat": NEWS, "bot": "nobody"})
    for nowhere in ("@nowhere", "9" * 5_000, "²", 7):
        with pytest.raises(NoSuch, match="no chat"):
            sandbox.resolve_chat(nowhere)


async def test_every_verb_is_either_done_or_refused(sandbox):
    for verb in VERBS:
        with pytest.raises((NotPossible, NoSuch)):
            sandbox.act(verb, {})


words = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8)
known = st.sampled_from(["Anna", EXAMPLE_BOT, NEWS, str(CREW), "b", "photo", "9" * 5_000, "data:,", 0, -1])
wishes = st.dictionaries(
    st.sampled_from(
        ["person", "chat", "bot", "text", "media", "parse_mode", "reply_to", "message_id", "data", "row", "column",
         "payload", "rights", "title", "name", "token", "username", "id", "link", "kind", "bots", "signed"]
    ),
    words | known | st.lists(words | st.dictionaries(st.sampled_from(["kind", "data", "name", "latitude"]), words | known)),
    max_size=5,
)  # fmt: skip


@settings(max_examples=400, deadline=None)
@given(verb=st.sampled_from([*VERBS, "chat", "bot", "person"]), wish=wishes)
async def test_no_wish_breaks_the_sandbox(verb, wish):
    sandbox = MaxSandbox(chats=[NewChat(CREW, "Редакция", ChatKind.CHAT)])
    anna = sandbox.person("Anna")
    anna.starts(EXAMPLE_BOT)
    anna.joins(CREW)

    try:
        answer = sandbox.act(verb, wish) if verb in VERBS else sandbox.add(verb, wish)
    except (NoSuch, NotPossible) as refusal:
        answer = {"error": str(refusal)}

    assert json.dumps([answer, sandbox.chats(), sandbox.state()])


# Views and control


async def test_the_window_sees_chats_messages_and_files(call, http, sandbox, anna, dialog):
    photo = {"kind": "photo", "name": "a.png", "data": base64.b64encode(PNG).decode()}
    anna.writes(EXAMPLE_BOT, "**look**", media=[photo], parse_mode="markdown")
    keyboard = {
        "type": "inline_keyboard",
        "payload": {"buttons": [[{"type": "callback", "text": "Buy", "payload": "b"}]]},
    }
    await call("POST", "/messages", {"text": "x", "attachments": [keyboard]}, chat_id=dialog)

    async with http.get("/sandbox/max/chats") as response:
        chats = (await response.json())["chats"]
    async with http.get(f"/sandbox/max/chats/{dialog}/messages") as response:
        first, second = (await response.json())["messages"]
    async with http.get(f"/sandbox/max/files/{first['media'][0]['file']}") as response:
        content = await response.read()

    assert (chats[0]["id"], chats[0]["kind"], chats[0]["messages"]) == (dialog, "dialog", 2)
    assert first["entities"] == [{"type": "bold", "offset": 0, "length": 4}]
    assert first["sender"]["name"] == "Anna"
    assert (first["media"][0]["width"], content) == (32, PNG)
    assert second["buttons"] == [[{"text": "Buy", "kind": "callback", "data": "b"}]]
    assert sandbox.messages_of(dialog, before=second["id"]) == [first]


async def test_chats_bots_and_people_are_added_over_the_control_api(call, http, sandbox):
    async def add(what, **wish):
        async with http.post(f"/sandbox/max/{what}", json=wish) as response:
            return response.status, await response.json()

    _, bot = await add("bots", token="another-token", username="another")
    _, chat = await add("chats", title="Своя", kind="chat", bots=["another"])
    _, person = await add("people", name="Пётр Иванов")
    status, _ = await call("POST", "/messages", {"text": "x"}, token="another-token", chat_id=chat["id"])
    foreign, _ = await call("POST", "/messages", {"text": "x"}, token=EXAMPLE_TOKEN, chat_id=chat["id"])
    again, refusal = await add("bots", token="another-token", username="b")
    wrong, _ = await add("chats", title="x", kind="dialog")

    assert (bot["username"], person["name"]) == ("another", "Пётр Иванов")
    assert (status, foreign) == (200, 404)
    assert (again, wrong) == (422, 422)
    assert "already" in refusal["error"]


async def test_any_plausible_token_is_a_bot_where_that_is_wanted(call, make):
    make(any_token=True)

    status, me = await call("GET", "/me", token="a-token-of-somebody-else")
    _, again = await call("GET", "/me", token="a-token-of-somebody-else")
    short, _ = await call("GET", "/me", token="short")

    assert (status, short) == (200, 401)
    assert me["user_id"] == again["user_id"]


async def test_a_state_file_brings_everything_back(call, make, sandbox, anna, dialog):
    photo = {"kind": "photo", "name": "a.png", "data": base64.b64encode(PNG).decode()}
    anna.writes(EXAMPLE_BOT, "look", media=[photo])
    await call("POST", "/messages", {"text": "**x**", "format": "markdown"}, chat_id=NEWS)
    seen = sandbox.chats()
    saved = json.loads(json.dumps(sandbox.state()))

    other = make()
    other.restore(saved)

    assert other.chats() == seen
    assert other.messages_of(dialog) == sandbox.messages_of(dialog)
    file = other.messages_of(dialog)[0]["media"][0]["file"]
    assert other.file(file) == sandbox.file(file)
    assert json.loads(json.dumps(other.state())) == saved
    with pytest.raises(ValueError, match="Saved"):
        other.restore({"chats": 5})


# Recorded payloads


def _recorded():
    payloads = stored("max_payload_fixtures.json")["payloads"]
    for name, payload in payloads.items():
        if name.startswith(("live/", "go/webhook.")):
            yield name, payload


async def test_the_repaired_document_accepts_every_recorded_update():
    for _, payload in _recorded():
        check("Update", payload, exact=False)


async def test_the_document_still_refuses_what_it_does_not_describe():
    _, update = next(_recorded())

    for wrong in (
        {**update, "timestamp": "now"},
        {**update, "update_type": "party"},
        {"update_type": "bot_added"},
    ):
        with pytest.raises(AssertionError, match="not a Update"):
            check("Update", wrong, exact=False)


async def test_our_updates_have_the_fields_of_the_recorded_ones(call, told, sandbox, anna, dialog):
    mid = anna.writes(EXAMPLE_BOT, "x")
    anna.edits(dialog, mid, "y")
    anna.deletes(dialog, mid)
    anna.joins(CREW)
    anna.leaves(CREW)
    sandbox.act("renames", {"chat": CREW, "title": "z"})
    sandbox.act("removes_bot", {"chat": CREW, "bot": EXAMPLE_BOT})
    sandbox.act("adds_bot", {"chat": CREW, "bot": EXAMPLE_BOT})
    keyboard = {
        "type": "inline_keyboard",
        "payload": {"buttons": [[{"type": "callback", "text": "a", "payload": "b"}]]},
    }
    _, sent = await call("POST", "/messages", {"text": "x", "attachments": [keyboard]}, chat_id=dialog)
    anna.presses(dialog, sent["message"]["body"]["mid"], "b")
    anna.blocks(EXAMPLE_BOT)
    sandbox.act("closes", {"chat": dialog})

    ours = {each["update_type"]: each for each in await told()}

    optional = {"inviter_id", "admin_id", "user_locale", "user_id"}
    for name, payload in _recorded():
        mine = ours.get(payload["update_type"])
        if mine is not None and name != "go/webhook.message_created.json":
            assert set(payload) - optional <= set(mine), name
    assert {"bot_added", "bot_started", "message_callback", "user_added", "dialog_removed"} <= set(ours)
    callback = next(payload for name, payload in _recorded() if name == "live/message_callback")
    assert set(ours["message_callback"]["message"]) == set(callback["message"])
    assert set(ours["message_callback"]["callback"]) == set(callback["callback"])
    assert set(ours["message_callback"]["callback"]["user"]) == set(callback["callback"]["user"])


async def test_an_edit_is_as_long_as_a_message_may_be(sandbox, anna, dialog):
    mid = anna.writes(EXAMPLE_BOT, "x")

    anna.edits(dialog, mid, "я" * 4000)
    with pytest.raises(NotPossible, match="at most 4000"):
        anna.edits(dialog, mid, "я" * 4001)

    assert sandbox.messages(dialog) == ["я" * 4000]


async def test_nothing_happens_in_a_closed_chat(sandbox, anna):
    anna.joins(CREW)
    mid = anna.writes(CREW, "x")
    sandbox.act("closes", {"chat": CREW})
    before = sandbox.effects()

    for verb, wish in (
        ("posts", {"text": "y"}),
        ("writes", {"person": "Anna", "text": "y"}),
        ("edits", {"person": "Anna", "message_id": mid, "text": "y"}),
        ("deletes", {"person": "Anna", "message_id": mid}),
        ("renames", {"title": "y"}),
        ("leaves", {"person": "Anna"}),
        ("removes_bot", {"bot": EXAMPLE_BOT}),
        ("restricts_bot", {"bot": EXAMPLE_BOT, "rights": []}),
        ("closes", {}),
    ):
        with pytest.raises(NotPossible, match="'Редакция' is closed"):
            sandbox.act(verb, {"chat": CREW, **wish})

    assert sandbox.effects() == before
    assert sandbox.messages(CREW) == ["x"]


async def test_user_names_belong_to_one_person_or_bot(sandbox, anna):
    smith = sandbox.add("person", {"name": "Boris Smith", "username": "@anna"})
    with pytest.raises(NotPossible, match="somebody is @Anna already"):
        sandbox.add("person", {"name": "Clara", "username": "Anna"})
    with pytest.raises(NotPossible, match="somebody is @anna already"):
        sandbox.add("bot", {"token": "another-token", "username": "anna"})
    with pytest.raises(NotPossible, match=f"somebody is @{EXAMPLE_BOT} already"):
        sandbox.add("person", {"name": "Clara", "username": EXAMPLE_BOT})

    by_user_name = sandbox.act("starts", {"person": "@anna", "bot": EXAMPLE_BOT})
    by_name = sandbox.act("starts", {"person": "Anna", "bot": EXAMPLE_BOT})

    assert smith["username"] == "anna"
    assert len(sandbox.people()) == 2
    assert by_user_name["chat"] ^ by_name["chat"] == smith["id"] ^ anna.id


@pytest.mark.parametrize(
    ("what", "wish", "error"),
    [
        ("person", {"name": "\ud83d"}, "half of a surrogate pair"),
        ("person", {"name": "Boris", "username": "so nice"}, "Latin letters"),
        ("person", {"name": "Boris", "username": "x" * 65}, "1 to 64"),
        ("bot", {"token": "t", "username": "бот"}, "Latin letters"),
        ("bot", {"token": "a token", "username": "b"}, "fit into a header"),
        ("bot", {"token": "t"}, "needs a username"),
        ("bot", {"token": EXAMPLE_TOKEN, "username": "b"}, "of that token already"),
        ("chat", {"title": "x" * 201}, "1 to 200"),
        ("chat", {"title": " \u200b"}, "shows something"),
        ("chat", {"title": "\udc00"}, "half of a surrogate pair"),
    ],
)
async def test_names_that_cannot_be_are_refused(sandbox, what, wish, error):
    before = sandbox.state()

    with pytest.raises(NotPossible, match=error):
        sandbox.add(what, wish)

    assert sandbox.state() == before


@pytest.mark.parametrize("latitude", [181, float("nan"), float("inf"), 10**400, True, "55"])
async def test_a_place_is_on_this_earth(sandbox, anna, latitude):
    with pytest.raises(NotPossible, match="degrees"):
        anna.writes(EXAMPLE_BOT, media=[{"kind": "location", "latitude": latitude, "longitude": 1}])
