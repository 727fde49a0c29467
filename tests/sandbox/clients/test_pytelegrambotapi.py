"""pyTelegramBotAPI in its normal flows. It is a library for threads: each flow runs in one, beside the sandbox's loop."""

import asyncio
import io
import json
from collections.abc import Awaitable, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path
from typing import Any, TypeVar

import pytest
import requests
from aiohttp import web
from telebot import TeleBot, apihelper
from telebot.apihelper import ApiTelegramException
from telebot.types import (
    BotCommand,
    CallbackQuery,
    InlineKeyboardButton,
    InlineKeyboardMarkup,
    InputFile,
    InputMediaPhoto,
    Message,
    ReplyKeyboardMarkup,
    ReplyParameters,
    Update,
)

from tests.sandbox.clients import outcome
from tests.sandbox.clients.place import BOT, DEALS, NEWS, NOTES, SECRET, TelegramPlace, listening, picture

T = TypeVar("T")
InThread = Callable[[Callable[[], T]], Awaitable[T]]

YES_NO = InlineKeyboardMarkup(
    [
        [
            InlineKeyboardButton("Да", callback_data="yes"),
            InlineKeyboardButton("Сайт", url="https://example.com/"),
        ]
    ]
)
NO = InlineKeyboardMarkup([[InlineKeyboardButton("Нет", callback_data="no")]])


@pytest.fixture
def bot(telegram: TelegramPlace, monkeypatch: pytest.MonkeyPatch) -> Iterator[TeleBot]:
    with requests.Session() as session:
        session.trust_env = False
        monkeypatch.setattr(apihelper, "session", session)
        monkeypatch.setattr(apihelper, "API_URL", f"{telegram.url}/bot{{0}}/{{1}}")
        monkeypatch.setattr(apihelper, "FILE_URL", f"{telegram.url}/file/bot{{0}}/{{1}}")
        yield TeleBot(telegram.token, threaded=False)


@pytest.fixture
def in_thread() -> Iterator[InThread[Any]]:
    """A new thread, for the library keeps a connection for each one that it has seen."""
    with ThreadPoolExecutor(1) as thread:

        async def run(flow: Callable[[], T]) -> T:
            return await asyncio.get_running_loop().run_in_executor(thread, flow)

        yield run


async def test_the_bot_learns_who_it_is_and_where(bot: TeleBot, in_thread: InThread[Any]):
    def flow() -> None:
        me = bot.get_me()
        chat = bot.get_chat(NEWS)
        member = bot.get_chat_member(NEWS, me.id)
        bot.set_my_commands([BotCommand("start", "Начать")], language_code="ru")
        kept = bot.get_my_commands(language_code="ru")
        bot.delete_my_commands(language_code="ru")
        left = bot.get_my_commands(language_code="ru")

        assert (me.username, me.is_bot) == (BOT, True)
        assert (chat.id, chat.title, chat.type) == (NEWS, "Example news", "channel")
        assert (member.status, member.user.id) == ("administrator", me.id)
        assert ([(each.command, each.description) for each in kept], left) == ([("start", "Начать")], [])

    await in_thread(flow)


async def test_texts_keep_their_formatting_and_buttons(
    bot: TeleBot, telegram: TelegramPlace, in_thread: InThread[Any]
):
    anna = telegram.sandbox.person("Anna")
    anna.starts(BOT)

    def flow() -> None:
        first = bot.send_message(NEWS, outcome.HTML, parse_mode="HTML", reply_markup=YES_NO)
        keyboard = ReplyKeyboardMarkup(resize_keyboard=True).row("Да", "Нет")
        bot.send_message(anna.id, outcome.MARKDOWN, parse_mode="MarkdownV2", reply_markup=keyboard)
        reply = bot.send_message(NEWS, outcome.REPLY, reply_parameters=ReplyParameters(first.message_id))

        assert first.html_text == outcome.HTML
        assert first.reply_markup.to_dict() == YES_NO.to_dict()
        assert reply.reply_to_message.message_id == first.message_id

    await in_thread(flow)

    outcome.texts(telegram, anna.id)


async def test_media_arrive_from_memory_from_files_and_from_the_web(
    bot: TeleBot, telegram: TelegramPlace, in_thread: InThread[Any], pictures: str, picture_file: Path
):
    def flow() -> None:
        photo = bot.send_photo(NEWS, picture(), caption="<i>Синее</i>", parse_mode="HTML")
        with picture_file.open("rb") as file:
            bot.send_photo(NEWS, file, has_spoiler=True)
        bot.send_photo(NEWS, pictures, caption="По адресу")
        notes = bot.send_document(NEWS, NOTES, visible_file_name="notes.txt", caption="Заметки")
        again = bot.send_document(NEWS, notes.document.file_id)
        downloaded = bot.download_file(bot.get_file(notes.document.file_id).file_path)
        with requests.get(bot.get_file_url(photo.photo[-1].file_id), timeout=5) as shown:
            assert (shown.status_code, len(shown.content) > 0) == (200, True)

        assert (photo.photo[-1].width, photo.photo[-1].height) == (320, 200)
        assert (notes.document.file_name, notes.document.file_size) == ("notes.txt", len(NOTES))
        assert again.document.file_unique_id == notes.document.file_unique_id
        assert downloaded == NOTES

    await in_thread(flow)

    outcome.media(telegram)


async def test_an_album_is_one_group(
    bot: TeleBot, telegram: TelegramPlace, in_thread: InThread[Any], pictures: str
):
    def flow() -> None:
        sent = bot.send_media_group(
            NEWS,
            [
                InputMediaPhoto(InputFile(io.BytesIO(picture())), caption="*Альбом*", parse_mode="MarkdownV2"),
                InputMediaPhoto(InputFile(io.BytesIO(picture(0x33CC33)))),
                InputMediaPhoto(pictures),
            ],
        )

        assert len(sent) == 3
        assert len({message.media_group_id for message in sent} - {None}) == 1

    await in_thread(flow)

    outcome.album(telegram)


async def test_messages_are_edited_and_deleted(bot: TeleBot, telegram: TelegramPlace, in_thread: InThread[Any]):
    def flow() -> None:
        text = bot.send_message(NEWS, "Черновик", reply_markup=YES_NO).message_id
        bot.edit_message_text("<b>Готово</b>", NEWS, text, parse_mode="HTML", reply_markup=YES_NO)
        bot.edit_message_reply_markup(NEWS, text, reply_markup=NO)
        photo = bot.send_photo(NEWS, picture(), caption="Картинка")
        bot.edit_message_caption("<i>Подпись</i>", NEWS, photo.message_id, parse_mode="HTML")
        other = InputMediaPhoto(
            InputFile(io.BytesIO(picture(0x33CC33))), caption="<b>Другая</b> картинка", parse_mode="HTML"
        )
        edited = bot.edit_message_media(other, NEWS, photo.message_id, reply_markup=NO)
        deleted = bot.delete_message(NEWS, text)

        assert deleted is True
        assert isinstance(edited, Message)
        assert edited.edit_date is not None
        assert edited.photo[-1].file_unique_id != photo.photo[-1].file_unique_id

    await in_thread(flow)

    outcome.edits(telegram)


async def test_posts_are_pinned_forwarded_and_copied(
    bot: TeleBot, telegram: TelegramPlace, in_thread: InThread[Any]
):
    def flow() -> None:
        post = bot.send_message(NEWS, "Новость")
        forwarded = bot.forward_message(DEALS, NEWS, post.message_id)
        copied = bot.copy_message(DEALS, NEWS, post.message_id)

        assert forwarded.forward_origin.type == "channel"
        assert copied.message_id == forwarded.message_id + 1
        assert bot.pin_chat_message(NEWS, post.message_id, disable_notification=True) is True
        assert bot.send_chat_action(DEALS, "typing") is True

    await in_thread(flow)

    outcome.moves(telegram)


async def test_refusals_come_as_exceptions_that_say_what_was_answered(
    bot: TeleBot, telegram: TelegramPlace, in_thread: InThread[Any]
):
    anna = telegram.sandbox.person("Anna")
    anna.starts(BOT)
    anna.blocks(BOT)
    telegram.sandbox.fail_next(429, retry_after=timedelta(seconds=7), chat=NEWS)

    def flow() -> None:
        with pytest.raises(ApiTelegramException) as too_many:
            bot.send_message(NEWS, "x")
        post = bot.send_message(NEWS, "x")
        with pytest.raises(ApiTelegramException) as unchanged:
            bot.edit_message_text("x", NEWS, post.message_id)
        with pytest.raises(ApiTelegramException) as nowhere:
            bot.send_message(-1009999999999, "x")
        with pytest.raises(ApiTelegramException) as blocked:
            bot.send_message(anna.id, "x")

        assert too_many.value.error_code == 429
        assert too_many.value.result_json["parameters"] == {"retry_after": 7}
        assert unchanged.value.description.startswith("Bad Request: message is not modified")
        assert nowhere.value.description == "Bad Request: chat not found"
        assert (blocked.value.error_code, blocked.value.description) == (
            403,
            "Forbidden: bot was blocked by the user",
        )

    await in_thread(flow)

    assert telegram.bots_deeds() == ["sendMessage"]


def add_handlers(bot: TeleBot) -> None:
    @bot.message_handler(commands=["start"])
    def greet(message: Message) -> None:
        bot.send_message(message.chat.id, f"Привет, {message.from_user.first_name}!", reply_markup=YES_NO)

    @bot.callback_query_handler(func=lambda call: True)
    def choose(call: CallbackQuery) -> None:
        assert bot.answer_callback_query(call.id, "Принято") is True
        bot.edit_message_text(f"Выбрано: {call.data}", call.message.chat.id, call.message.message_id)
        bot.stop_polling()

    @bot.message_handler(func=lambda message: True)
    def echo(message: Message) -> None:
        bot.reply_to(message, f"Вы сказали: {message.text}")


async def test_long_polling_brings_what_people_do(
    bot: TeleBot, telegram: TelegramPlace, in_thread: InThread[Any]
):
    anna = telegram.sandbox.person("Anna")
    add_handlers(bot)

    polling = asyncio.ensure_future(in_thread(bot.polling))
    anna.starts(BOT)
    greeting = await telegram.effect("sendMessage")
    anna.presses(anna.id, greeting.message_id, "yes")
    await polling

    assert greeting.text == "Привет, Anna!"
    outcome.talk(telegram, anna.id)


async def test_a_webhook_brings_them_too_and_shows_the_secret(
    bot: TeleBot, telegram: TelegramPlace, in_thread: InThread[Any]
):
    async def take(request: web.Request) -> web.Response:
        if request.headers.get("X-Telegram-Bot-Api-Secret-Token") != SECRET:
            return web.Response(status=403)
        telegram.watched.delivered(update := await request.json())
        await in_thread(lambda: bot.process_new_updates([Update.de_json(json.dumps(update))]))
        return web.Response()

    add_handlers(bot)
    anna = telegram.sandbox.person("Anna")
    async with listening(take) as url:
        await in_thread(lambda: bot.set_webhook(url, secret_token=SECRET))
        anna.writes(BOT, "раз")
        answer = await telegram.effect("sendMessage")
        info = await in_thread(bot.get_webhook_info)
        await in_thread(bot.delete_webhook)

    assert answer.text == "Вы сказали: раз"
    assert (info.url, info.last_error_message) == (url, None)
    assert (await in_thread(bot.get_webhook_info)).url == ""
