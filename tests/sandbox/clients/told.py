"""The flows of clients that run as scripts: what a script is given, does with people, and has to say of it.

Scripts of all libraries speak the same words, so that one flow has one judge: here for what the library told its
user, in outcome.py for what the chats look like afterwards.
"""

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from datetime import timedelta
from pathlib import Path

import aiohttp

from tests.sandbox.clients import outcome
from tests.sandbox.clients.place import BOT, DEALS, NEWS, NOTES, SECRET, TelegramPlace, picture
from tests.sandbox.clients.script import Script

#: Starts the flow of that name; what it needs besides the place is given by keyword.
Start = Callable[..., AbstractAsyncContextManager[Script]]


async def identity(start: Start) -> None:
    async with start("identity", news=NEWS) as script:
        known = await script.says("known")

    assert known.pop("people") > 0
    assert known == {
        "me": BOT,
        "chat": [NEWS, "Example news", "channel"],
        "member": ["administrator", True],
        "commands": [["start", "Начать"]],
        "elsewhere": [],
    }


async def texts(start: Start, telegram: TelegramPlace) -> None:
    anna = telegram.sandbox.person("Anna")
    anna.starts(BOT)
    words = {"html": outcome.HTML, "markdown": outcome.MARKDOWN, "reply": outcome.REPLY}

    async with start("texts", news=NEWS, anna=anna.id, **words) as script:
        sent = await script.says("sent")

    assert (sent["buttons"], sent["reply_to"]) == (True, True)
    assert sent.get("html", outcome.HTML) == outcome.HTML
    assert sent.get("told", outcome.MARKDOWN_AS_HTML) == outcome.MARKDOWN_AS_HTML
    outcome.texts(telegram, anna.id)


async def media(start: Start, telegram: TelegramPlace, url: str, picture_file: Path, notes_file: Path) -> None:
    files = {"picture_url": url, "picture_file": str(picture_file), "notes_file": str(notes_file)}

    async with start("media", news=NEWS, blue=picture().hex(), **files) as script:
        sent = await script.says("sent")

    assert bytes.fromhex(sent.pop("downloaded")) == NOTES
    assert sent == {"size": [320, 200], "document": ["notes.txt", len(NOTES)], "same": True, "shown": True}
    outcome.media(telegram)


async def album(start: Start, telegram: TelegramPlace, url: str, picture_file: Path) -> None:
    files = {"picture_url": url, "picture_file": str(picture_file)}

    async with start("album", news=NEWS, blue=picture().hex(), **files) as script:
        albums = (await script.says("sent"))["albums"]

    assert (len(albums), len(set(albums) - {None})) == (3, 1)
    outcome.album(telegram)


async def edits(start: Start, telegram: TelegramPlace, picture_file: Path) -> None:
    async with start("edits", news=NEWS, blue=picture().hex(), picture_file=str(picture_file)) as script:
        assert await script.says("edited") == {"deleted": True, "dated": True, "other": True}

    outcome.edits(telegram)


async def moves(start: Start, telegram: TelegramPlace) -> None:
    async with start("moves", news=NEWS, deals=DEALS) as script:
        moved = await script.says("moved")

    assert moved == {"origin": "channel", "next": 1, "pinned": True, "busy": True}
    outcome.moves(telegram)


async def refusals(start: Start, telegram: TelegramPlace) -> None:
    anna = telegram.sandbox.person("Anna")
    anna.starts(BOT)
    anna.blocks(BOT)
    telegram.sandbox.fail_next(429, retry_after=timedelta(seconds=7), chat=NEWS)

    async with start("refusals", news=NEWS, anna=anna.id) as script:
        refused = await script.says("refused")

    assert refused["retry_after"] == 7
    assert refused["unchanged"].startswith("Bad Request: message is not modified")
    assert refused["nowhere"] == "Bad Request: chat not found"
    assert refused["blocked"] == "Forbidden: bot was blocked by the user"
    assert telegram.bots_deeds() == ["sendMessage"]


async def polling(start: Start, telegram: TelegramPlace) -> None:
    anna = telegram.sandbox.person("Anna")

    async with start("polling") as script:
        await script.says("listening")
        anna.starts(BOT)
        greeting = await telegram.effect("sendMessage")
        anna.presses(anna.id, greeting.message_id, "yes")
        answered = await script.says("answered")
        await telegram.polled(3)  # for the start, for the button, and for what never comes
        script.go_on()

    assert (greeting.text, answered) == ("Привет, Anna!", {"answered": True})
    outcome.talk(telegram, anna.id)


async def webhook(start: Start, telegram: TelegramPlace, *, by_answer: str = "sendMessage") -> None:
    """The answer to the webhook carries that method, so the bot never called it."""
    anna = telegram.sandbox.person("Anna")

    async with start("webhook", secret=SECRET) as script:
        url = (await script.says("listening"))["url"]
        forged = await _post_with_a_wrong_secret(url)
        anna.writes(BOT, "раз")
        answer = await telegram.effect("sendMessage")
        await telegram.effect(by_answer)
        script.go_on()
        left = await script.says("left")

    assert 400 <= forged < 500
    assert answer.text == "Вы сказали: раз"
    assert by_answer not in telegram.watched.calls
    assert left == {"url": url, "pending": 0, "error": None, "gone": ""}


class Flows:
    """The normal flows of a library whose scripts speak this language; its test module has the fixture `start`."""

    by_answer = "sendMessage"  # the method that its webhook answers with

    async def test_the_bot_learns_who_it_is_and_where(self, start: Start):
        await identity(start)

    async def test_texts_keep_their_formatting_and_buttons(self, start: Start, telegram: TelegramPlace):
        await texts(start, telegram)

    async def test_media_arrive_from_memory_from_files_and_from_the_web(
        self, start: Start, telegram: TelegramPlace, pictures: str, picture_file: Path, notes_file: Path
    ):
        await media(start, telegram, pictures, picture_file, notes_file)

    async def test_an_album_is_one_group(
        self, start: Start, telegram: TelegramPlace, pictures: str, picture_file: Path
    ):
        await album(start, telegram, pictures, picture_file)

    async def test_messages_are_edited_and_deleted(
        self, start: Start, telegram: TelegramPlace, picture_file: Path
    ):
        await edits(start, telegram, picture_file)

    async def test_posts_are_pinned_forwarded_and_copied(self, start: Start, telegram: TelegramPlace):
        await moves(start, telegram)

    async def test_refusals_come_as_their_own_exceptions(self, start: Start, telegram: TelegramPlace):
        await refusals(start, telegram)

    async def test_long_polling_brings_what_people_do(self, start: Start, telegram: TelegramPlace):
        await polling(start, telegram)

    async def test_a_webhook_is_answered_with_a_method_and_checks_the_secret(
        self, start: Start, telegram: TelegramPlace
    ):
        await webhook(start, telegram, by_answer=self.by_answer)


async def _post_with_a_wrong_secret(url: str) -> int:
    headers = {"X-Telegram-Bot-Api-Secret-Token": "guessed"}
    async with (
        aiohttp.ClientSession() as http,
        http.post(url, json={"update_id": 1}, headers=headers) as answer,
    ):
        return answer.status
