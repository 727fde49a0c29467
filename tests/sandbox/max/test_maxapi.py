"""Independent clients run their normal flow: maxapi and aiomax, each as its own examples show it."""

import asyncio
import io
import os
from datetime import timedelta

import pytest
from aiohttp import web

from pressroom.sandbox.core.world import World
from pressroom.sandbox.max import EXAMPLE_BOT, EXAMPLE_TOKEN

if not os.environ.get("CI"):  # where nothing may be missing
    pytest.importorskip("maxapi", reason="maxapi is not installed")
    pytest.importorskip("aiomax", reason="aiomax is not installed")

import aiomax
import maxapi
from maxapi.exceptions.max import InvalidToken, MaxApiError
from maxapi.types import (
    BotCommand,
    BotStarted,
    CallbackButton,
    Command,
    InputMediaBuffer,
    MessageCallback,
    MessageCreated,
)
from maxapi.utils.inline_keyboard import InlineKeyboardBuilder
from maxapi.webhook.aiohttp import AiohttpMaxWebhook

NEWS = -70000000000001
PNG = b"\x89PNG\r\n\x1a\n\x00\x00\x00\x0dIHDR\x00\x00\x00\x20\x00\x00\x00\x10\x08\x02" + b"\x00" * 64
MP4 = b"\x00\x00\x00\x18ftypmp42\x00\x00\x00\x00mp42isom" + b"\x00" * 64
SOON = timedelta(milliseconds=100)


async def until(true) -> None:
    async with asyncio.timeout(10):
        while not true():  # noqa: ASYNC110 - other people's clients give no sign
            await asyncio.sleep(0.005)


@pytest.fixture
def live(make):
    """On a clock that runs, with files that take a moment to be ready."""
    return make(world=World(), processing=dict.fromkeys(("image", "video", "audio", "file"), SOON))


@pytest.fixture
async def bot(live, url):
    bot = maxapi.Bot(
        EXAMPLE_TOKEN,
        after_input_media_delay=0.001,
        after_upload_attempts=20,
        after_upload_retry_delay=0.02,
        default_connection=maxapi.client.default.DefaultConnectionProperties(max_retries=0),
    )
    bot.set_api_url(url)
    yield bot
    await bot.close_session()


@pytest.fixture
async def polling(bot):
    """Runs a dispatcher until the test is over."""
    running = []

    def start(dispatcher):
        running.append((dispatcher, asyncio.create_task(dispatcher.start_polling(bot))))

    yield start
    for dispatcher, task in running:
        await dispatcher.stop_polling()
        await task


async def test_maxapi_sends_edits_reads_and_deletes(bot, live):
    me = await bot.get_me()
    sent = await bot.send_message(chat_id=NEWS, text="**Привет** 👋", format="markdown")
    mid = sent.message.body.mid
    await bot.edit_message(mid, text="Пока")
    read = await bot.get_message(mid)
    history = await bot.get_messages(chat_id=NEWS)
    deleted = await bot.delete_message(mid)

    assert me.username == EXAMPLE_BOT
    assert (sent.message.body.text, sent.message.body.markup[0].type) == ("Привет 👋", "strong")
    assert read.body.text == "Пока"
    assert [message.body.mid for message in history.messages] == [mid]
    assert deleted.success
    assert [effect.method for effect in live.effects()] == [
        "POST /messages",
        "PUT /messages",
        "DELETE /messages",
    ]


async def test_maxapi_uploads_waits_until_it_is_ready_and_sends_an_album(bot, live):
    image = InputMediaBuffer(PNG, filename="a.png", type="image")
    video = InputMediaBuffer(MP4, filename="b.mp4", type="video")

    sent = await bot.send_message(chat_id=NEWS, text="album", attachments=[image, image, video])
    file = await bot.send_message(
        chat_id=NEWS, attachments=[InputMediaBuffer(b"text", filename="c.txt", type="file")]
    )

    assert [str(each.type) for each in sent.message.body.attachments] == ["image", "image", "video"]
    assert file.message.body.attachments[0].filename == "c.txt"
    album, document = live.effects()
    assert [each["kind"] for each in album.details["media"]] == ["photo", "photo", "video"]
    assert document.details["media"][0]["size"] == 4
    assert any("attachment.not.ready" in call.description for call in live.world.calls)


async def test_maxapi_polls_and_answers_commands_messages_and_buttons(bot, live, polling):
    dispatcher = maxapi.Dispatcher()
    pressed = []

    @dispatcher.bot_started()
    async def started(event: BotStarted):
        await event.bot.send_message(chat_id=event.chat_id, text=f"payload {event.payload}")

    @dispatcher.message_created(Command("buy"))
    async def buy(event: MessageCreated):
        keyboard = InlineKeyboardBuilder()
        keyboard.row(CallbackButton(text="Купить", payload="buy:1"))
        await event.message.answer("Покупаем?", attachments=[keyboard.as_markup()])

    @dispatcher.message_callback()
    async def callback(event: MessageCallback):
        pressed.append(event.callback.payload)
        await event.answer(notification="Спасибо", new_text="Куплено")

    polling(dispatcher)
    anna = live.person("Анна")
    dialog = anna.starts(EXAMPLE_BOT, "from-site")
    await until(lambda: "payload from-site" in live.messages(dialog))
    anna.writes(EXAMPLE_BOT, "/buy")
    await until(lambda: "Покупаем?" in live.messages(dialog))
    anna.presses(dialog, live.messages_of(dialog)[-1]["id"], "Купить")
    await until(lambda: live.effects()[-1].text == "Спасибо")

    assert pressed == ["buy:1"]
    assert live.messages(dialog) == ["payload from-site", "/buy", "Куплено"]


@pytest.mark.filterwarnings("ignore:.*HTTPS")
async def test_maxapi_takes_webhooks_with_its_secret(bot, live):
    dispatcher = maxapi.Dispatcher()
    heard = []

    @dispatcher.message_created()
    async def created(event: MessageCreated):
        heard.append(event.message.body.text)

    runner = web.AppRunner(
        AiohttpMaxWebhook(dp=dispatcher, bot=bot, secret="s3cret-s3cret").create_app("/hook")
    )
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    address = f"http://127.0.0.1:{site._server.sockets[0].getsockname()[1]}/hook"
    try:
        await bot.subscribe_webhook(address, secret="s3cret-s3cret")
        listed = await bot.get_subscriptions()
        live.person("Анна").writes(EXAMPLE_BOT, "привет")
        await until(lambda: heard)
        await bot.unsubscribe_webhook(address)
    finally:
        await runner.cleanup()

    assert [each.url for each in listed.subscriptions] == [address]
    assert heard == ["привет"]


async def test_maxapi_knows_our_errors_by_their_type(bot, live, url):
    live.fail_next(429)
    with pytest.raises(MaxApiError) as flood:
        await bot.send_message(chat_id=NEWS, text="x")
    live.fail_next(name="blocked")
    with pytest.raises(MaxApiError) as blocked:
        await bot.send_message(chat_id=NEWS, text="x")
    wrong = maxapi.Bot("wrong")
    wrong.set_api_url(url)
    with pytest.raises(InvalidToken):
        await wrong.get_me()
    await wrong.close_session()

    assert (flood.value.code, flood.value.raw["code"]) == (429, "too.many.requests")
    assert (blocked.value.code, blocked.value.raw["code"]) == (403, "chat.denied")


@pytest.mark.filterwarnings("ignore:.*устарел")
async def test_maxapi_asks_for_chats_members_pins_and_commands(bot, live):
    live.person("Anna").joins(NEWS)
    sent = await bot.send_message(chat_id=NEWS, text="pin me")

    chat = await bot.get_chat_by_id(NEWS)
    by_link = await bot.get_chat_by_link("pressroom_example_news")
    members = await bot.get_chat_members(NEWS)
    admins = await bot.get_list_admin_chat(NEWS)
    me = await bot.get_me_from_chat(NEWS)
    await bot.pin_message(NEWS, sent.message.body.mid)
    pinned = await bot.get_pin_message(NEWS)
    await bot.send_action(chat_id=NEWS)
    commands = await bot.set_commands(BotCommand(name="start", description="Начать"))

    assert chat.title == by_link.title == "Example news (MAX)"
    assert "Anna" in [member.first_name for member in members.members]
    assert [member.user_id for member in admins.members if member.is_bot] == [me.user_id]
    assert pinned.message.body.mid == sent.message.body.mid
    assert commands.commands[0].name == "start"


# aiomax


@pytest.fixture
async def running(make, url):
    """A bot of aiomax that polls until the test is over."""
    live = make(world=World())
    bot = aiomax.Bot(EXAMPLE_TOKEN, api_url=f"{url}/")
    ready = asyncio.Event()

    @bot.on_ready()
    async def on_ready():
        ready.set()

    polling = asyncio.create_task(bot.start_polling())
    await ready.wait()
    yield bot, live
    polling.cancel()
    await asyncio.gather(polling, return_exceptions=True)


async def test_aiomax_sends_uploads_reads_and_deletes(running):
    bot, live = running

    sent = await bot.send_message("<b>Привет</b>", chat_id=NEWS, format="html")
    image = await bot.upload_image(io.BytesIO(PNG))
    file = await bot.upload_file(io.BytesIO(b"text"), "отчёт.txt")
    album = await bot.send_message("album", chat_id=NEWS, attachments=[image, image])
    document = await bot.send_message("file", chat_id=NEWS, attachments=file)
    read = await bot.get_message(sent.id)
    await bot.delete_message(sent.id)

    assert (sent.body.text, read.body.text) == ("Привет", "Привет")
    assert len(album.body.attachments) == 2
    assert document.body.attachments[0].filename == "отчёт.txt"
    assert live.messages(NEWS) == ["album", "file"]


async def test_aiomax_polls_and_answers_buttons(running):
    bot, live = running

    @bot.on_message("/buy")
    async def buy(message: aiomax.Message):
        keyboard = aiomax.buttons.KeyboardBuilder()
        keyboard.add(aiomax.buttons.CallbackButton("Купить", "buy:1"))
        await message.send("Покупаем?", keyboard=keyboard)

    @bot.on_button_callback("buy:1")
    async def pressed(callback: aiomax.Callback):
        # `callback.answer` of aiomax 2.12.5 goes to a fixed host, whatever the bot was told.
        await bot.post(
            "answers", params={"callback_id": callback.callback_id}, json={"notification": "Спасибо"}
        )

    anna = live.person("Анна")
    dialog = anna.starts(EXAMPLE_BOT)
    anna.writes(EXAMPLE_BOT, "/buy")
    await until(lambda: "Покупаем?" in live.messages(dialog))
    anna.presses(dialog, live.messages_of(dialog)[-1]["id"], "Купить")
    await until(lambda: live.effects()[-1].text == "Спасибо")

    assert live.messages(dialog) == ["/buy", "Покупаем?"]


async def test_aiomax_knows_our_errors_by_their_type(running):
    bot, live = running

    with pytest.raises(aiomax.exceptions.ChatNotFound):
        await bot.send_message("x", chat_id=5)
    live.fail_next(name="internal")
    with pytest.raises(aiomax.exceptions.InternalError):
        await bot.send_message("x", chat_id=NEWS)
