"""@maxhub/max-bot-api, the official client of MAX, in its normal flows (node/max_bot_api.mjs)."""

from datetime import timedelta
from pathlib import Path

import aiohttp
import pytest

from tests.sandbox.clients import told
from tests.sandbox.clients.max_place import MaxPlace
from tests.sandbox.clients.outcome import entity
from tests.sandbox.clients.place import NOTES, SECRET, picture
from tests.sandbox.clients.script import NODE_FOLDER, node, running

COMMAND = node(), NODE_FOLDER / "max_bot_api.mjs"
HTML = '<b>Привет</b>, <a href="https://example.com/">мир</a> &amp; все'
MARKDOWN = "**Жирно**, *косо* и `код`."
VIDEO = b"\0\0\0\x18ftypmp42\0\0\0\0mp42isom" + bytes(200_000)  # more than one piece of 64 KiB

YES = {"text": "Да", "kind": "callback", "data": "yes"}
SITE = {"text": "Сайт", "kind": "url", "data": "https://example.com/"}
NO = {"text": "Нет", "kind": "callback", "data": "no"}


@pytest.fixture
def start(max_: MaxPlace) -> told.Start:
    return lambda flow, **given: running(
        *COMMAND, flow=flow, url=max_.url, token=max_.token, news=max_.news, **given
    )


async def test_the_bot_learns_who_it_is_and_where(start: told.Start, max_: MaxPlace):
    async with start("identity") as script:
        known = await script.says("known")

    assert known == {
        "me": max_.bot,
        "bot": True,
        "chat": [max_.news, "channel", max_.title],
        "commands": [["start", "Начать"]],
        "admin": True,
        "busy": True,
    }


async def test_texts_keep_their_formatting_and_buttons(start: told.Start, max_: MaxPlace):
    anna = max_.sandbox.person("Anna")
    anna.starts(max_.bot)

    async with start("texts", anna=anna.id, html=HTML, markdown=MARKDOWN, reply="В ответ") as script:
        sent = await script.says("sent")

    assert sent == {
        "text": "Привет, мир & все",
        "read": "Привет, мир & все",
        "buttons": ["callback", "link"],
        "told": "Жирно, косо и код.",
        "dialog": "dialog",
        "reply_to": True,
        "newest_first": True,
    }
    first, reply = max_.shown(max_.news)
    assert first == {
        "text": "Привет, мир & все",
        "entities": [entity("bold", 0, 6), entity("text_link", 8, 3, url="https://example.com/")],
        "buttons": [[YES, SITE]],
    }
    assert reply["text"] == "В ответ"
    assert "reply_to" in reply


async def test_media_are_uploaded_whole_and_in_pieces_and_come_back_as_they_were(
    start: told.Start, max_: MaxPlace, pictures: str, notes_file: Path, tmp_path: Path
):
    video = tmp_path / "film.mp4"
    video.write_bytes(VIDEO)
    files = {"picture_url": pictures, "notes_file": str(notes_file), "video_file": str(video)}

    async with start("media", blue=picture().hex(), **files) as script:
        await script.says("uploaded")
        max_.sandbox.world.clock.advance(60)
        script.go_on()
        sent = await script.says("sent")

    assert bytes.fromhex(sent.pop("downloaded")) == NOTES
    assert sent == {
        "album": ["image", "image", "video"],
        "document": ["notes.txt", len(NOTES)],
        "again": "notes.txt",
    }
    assert max_.shown(max_.news) == [
        {"text": "Альбом", "media": ["photo", "photo", "video"]},
        {"text": "Заметки", "media": ["document"]},
        {"media": ["document"]},
    ]


async def test_a_file_that_is_not_processed_yet_is_sent_again_by_the_client(
    start: told.Start, max_: MaxPlace, notes_file: Path
):
    async with start("impatience", notes_file=str(notes_file)) as script:
        assert await script.says("sent") == {"document": "notes.txt"}

    answers = [call.status for call in max_.sandbox.world.calls if call.method == "POST /messages"]
    assert answers == [400, 200]


async def test_messages_are_edited_pinned_and_deleted(start: told.Start, max_: MaxPlace):
    async with start("edits") as script:
        edited = await script.says("edited")

    assert edited == {"done": [True] * 5, "pinned": True, "text": "Готово"}
    (left,) = max_.shown(max_.news)
    assert (left["text"], left["buttons"], left["edited"]) == ("Готово", [[NO]], True)


async def test_refusals_come_as_the_clients_own_error(start: told.Start, max_: MaxPlace):
    anna = max_.sandbox.person("Anna")
    anna.starts(max_.bot)
    anna.blocks(max_.bot)
    max_.sandbox.fail_next(429, retry_after=timedelta(seconds=7), chat=max_.news)

    async with start("refusals", anna=anna.id) as script:
        refused = await script.says("refused")

    assert refused == {
        "too_many": [429, "too.many.requests"],
        "too_long": [400, "proto.payload", "Field 'text' size (4001) must be at most 4000"],
        "nowhere": [404],
        "stopped": [403, "chat.denied", f"Key: error.dialog.suspended, args: [{anna.id},]."],
    }
    assert max_.shown(max_.news) == []


async def test_members_are_listed_and_chats_renamed(start: told.Start):
    async with start("members") as script:
        met = await script.says("met")

    assert met == {"admins": True, "members": True, "title": "Новое имя"}


async def test_long_polling_brings_what_people_do(start: told.Start, max_: MaxPlace):
    anna = max_.sandbox.person("Anna")

    async with start("polling") as script:
        await script.says("listening")
        anna.starts(max_.bot)
        greeting = await max_.effect("POST /messages")
        anna.presses(greeting.chat, greeting.message_id, "yes")
        answered = await script.says("answered")
        script.go_on()

    assert (greeting.text, answered) == ("Привет, Anna!", {"answered": True})
    assert [view["text"] for view in max_.shown(greeting.chat)] == ["Выбрано: yes"]


async def test_a_webhook_brings_them_too_and_checks_the_secret(start: told.Start, max_: MaxPlace):
    anna = max_.sandbox.person("Anna")

    async with start("webhook", secret=SECRET) as script:
        url = (await script.says("listening"))["url"]
        forged = await _post_with_a_wrong_secret(url)
        anna.writes(max_.bot, "раз")
        answer = await max_.effect("POST /messages")
        script.go_on()
        left = await script.says("left")

    assert (forged, answer.text) == (404, "Вы сказали: раз")
    assert left == {"subscriptions": [[url, ["message_created"]]], "gone": []}


async def _post_with_a_wrong_secret(url: str) -> int:
    headers = {"X-Max-Bot-Api-Secret": "guessed"}
    async with aiohttp.ClientSession() as http, http.post(url, json={}, headers=headers) as answer:
        return answer.status
