"""aiomax in its normal flows, but for two that it cannot do anywhere but at MAX itself, or not at all.

Version 2.12.5 answers callbacks at an address of its own, whatever `api_url` says, and cannot read the answer to an
edit.
"""

import asyncio
import io
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path

import aiohttp
import aiomax
import pytest
from aiomax.buttons import CallbackButton, LinkButton
from aiomax.exceptions import AiomaxException, UnknownErrorException
from aiomax.types import BotStartPayload, Callback, Message

from tests.sandbox.clients.max_place import MaxPlace
from tests.sandbox.clients.outcome import entity
from tests.sandbox.clients.place import NOTES, picture

YES_NO = [[CallbackButton("Да", "yes"), LinkButton("Сайт", "https://example.com/")]]
BUTTONS = [
    [
        {"text": "Да", "kind": "callback", "data": "yes"},
        {"text": "Сайт", "kind": "url", "data": "https://example.com/"},
    ]
]


def session_at(max_: MaxPlace) -> aiohttp.ClientSession:
    return aiohttp.ClientSession(f"{max_.url}/", headers={"Authorization": max_.token})


@pytest.fixture
async def bot(max_: MaxPlace) -> AsyncIterator[aiomax.Bot]:
    bot = aiomax.Bot(max_.token, api_url=f"{max_.url}/")
    async with session_at(max_) as bot.session:
        yield bot


async def test_the_bot_learns_who_it_is_and_where(bot: aiomax.Bot, max_: MaxPlace):
    me = await bot.get_me()
    chat = await bot.get_chat(max_.news)
    await bot.post_action(max_.news, "typing_on")

    assert (me.username, me.is_bot) == (max_.bot, True)
    assert (chat.chat_id, chat.type, chat.title) == (max_.news, "channel", max_.title)


async def test_texts_keep_their_formatting_and_buttons(bot: aiomax.Bot, max_: MaxPlace):
    first = await bot.send_message("<b>Привет</b>, мир", max_.news, format="html", keyboard=YES_NO)
    reply = await bot.send_message("В ответ", max_.news, reply_to=first.id)
    read = await bot.get_message(first.id)
    await bot.pin(max_.news, first.id)
    pinned = await bot.get_pin(max_.news)
    await bot.delete_message(reply.id)

    assert (first.body.text, read.body.text, pinned) == ("Привет, мир", "Привет, мир", first)
    assert max_.shown(max_.news) == [
        {"text": "Привет, мир", "entities": [entity("bold", 0, 6)], "buttons": BUTTONS, "pinned": True}
    ]


@pytest.mark.filterwarnings("ignore:In v4, passing bytes:DeprecationWarning")  # so it gives aiohttp files
async def test_media_are_uploaded_and_come_back_as_they_were(
    bot: aiomax.Bot, max_: MaxPlace, picture_file: Path
):
    photo = await bot.upload_image(io.BytesIO(picture()))
    other = await bot.upload_image(str(picture_file))
    notes = await bot.upload_file(io.BytesIO(NOTES), "notes.txt")
    max_.sandbox.world.clock.advance(60)

    await bot.send_message("Альбом", max_.news, attachments=[photo, other])
    document = await bot.send_message("Заметки", max_.news, attachments=notes)
    async with aiohttp.ClientSession() as http, http.get(document.body.attachments[0].url) as response:
        downloaded = await response.read()

    assert downloaded == NOTES
    assert max_.shown(max_.news) == [
        {"text": "Альбом", "media": ["photo", "photo"]},
        {"text": "Заметки", "media": ["document"]},
    ]


async def test_refusals_come_as_the_clients_own_exceptions(bot: aiomax.Bot, max_: MaxPlace):
    anna = max_.sandbox.person("Anna")
    anna.starts(max_.bot)
    anna.blocks(max_.bot)
    max_.sandbox.fail_next(429, retry_after=timedelta(seconds=7), chat=max_.news)

    with pytest.raises(UnknownErrorException) as too_many:
        await bot.send_message("x", max_.news)
    with pytest.raises(AiomaxException):
        await bot.send_message("x", -1)
    with pytest.raises(UnknownErrorException) as stopped:
        await bot.send_message("x", user_id=anna.id)

    assert too_many.value.text == "too.many.requests"
    assert (stopped.value.text, stopped.value.description) == (
        "chat.denied",
        f"Key: error.dialog.suspended, args: [{anna.id},].",
    )


async def test_long_polling_brings_what_people_do(max_: MaxPlace):
    bot = aiomax.Bot(max_.token, api_url=f"{max_.url}/")
    pressed: asyncio.Queue[Callback] = asyncio.Queue()

    @bot.on_bot_start()
    async def greet(started: BotStartPayload) -> None:
        await started.send(f"Привет, {started.user.first_name}!", keyboard=YES_NO)

    @bot.on_message()
    async def echo(message: Message) -> None:
        await message.reply(f"Вы сказали: {message.body.text}")

    @bot.on_button_callback()
    async def choose(callback: Callback) -> None:
        await pressed.put(callback)

    anna = max_.sandbox.person("Anna")
    polling = asyncio.create_task(bot.start_polling(session_at(max_)))
    anna.starts(max_.bot)
    greeting = await max_.effect("POST /messages")
    anna.presses(greeting.chat, greeting.message_id, "yes")
    async with asyncio.timeout(10):
        callback = await pressed.get()
    polling.cancel()
    await polling

    assert greeting.text == "Привет, Anna!"
    assert (callback.payload, callback.user.user_id, callback.message.id) == (
        "yes",
        anna.id,
        greeting.message_id,
    )
