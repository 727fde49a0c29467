"""python-telegram-bot in its normal flows. Nothing may arrive that its models do not know (`api_kwargs`)."""

from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path
from typing import Any, TypeVar

import pytest
from aiohttp import web
from telegram import (
    Bot,
    BotCommand,
    ChatMemberUpdated,
    InlineKeyboardButton,
    InlineKeyboardMarkup,
    InputMediaPhoto,
    LinkPreviewOptions,
    MenuButtonCommands,
    MessageEntity,
    ReplyKeyboardMarkup,
    ReplyParameters,
    TelegramObject,
    Update,
)
from telegram.constants import ChatAction, ParseMode
from telegram.error import BadRequest, Forbidden, NetworkError, RetryAfter
from telegram.ext import (
    Application,
    ApplicationBuilder,
    CallbackQueryHandler,
    CommandHandler,
    ContextTypes,
    MessageHandler,
    filters,
)
from telegram.helpers import effective_message_type

from tests.sandbox.clients import outcome
from tests.sandbox.clients.busy_day import ALL, HEARD, busy_day
from tests.sandbox.clients.place import BOT, DEALS, NEWS, NOTES, SECRET, TelegramPlace, listening, picture

T = TypeVar("T")
YES_NO = InlineKeyboardMarkup(
    [
        [
            InlineKeyboardButton("Да", callback_data="yes"),
            InlineKeyboardButton("Сайт", url="https://example.com/"),
        ]
    ]
)
NO = InlineKeyboardMarkup([[InlineKeyboardButton("Нет", callback_data="no")]])

FILM = b"\0\0\0\x18ftypmp42\0\0\0\0mp42isom" + bytes(1000)
SONG = b"ID3\x04\0\0\0\0\0\0" + bytes(1000)
VOICE = b"OggS\0\x02" + bytes(1000)


#: Of Bot API 10.3; the library knows 10.0.
NEWER = {"can_send_welcome_messages"}


def strict(answer: T) -> T:
    """The same; but it may hold nothing that the library's models do not know."""
    assert unknown_in(answer).keys() <= NEWER
    return answer


def unknown_in(answer: Any) -> dict[str, Any]:
    if isinstance(answer, list | tuple):
        return {name: value for each in answer for name, value in unknown_in(each).items()}
    if not isinstance(answer, TelegramObject):
        return {}
    fields = {name for each in type(answer).__mro__ for name in getattr(each, "__slots__", ())}
    nested = [
        getattr(answer, name, None) for name in fields if not name.startswith("_") and name != "api_kwargs"
    ]
    return dict(answer.api_kwargs) | unknown_in(nested)


@pytest.fixture(autouse=True)
def durations(monkeypatch: pytest.MonkeyPatch) -> None:
    """As timedelta, which the library asks to switch on before it becomes the only way."""
    monkeypatch.setenv("PTB_TIMEDELTA", "true")


@pytest.fixture
async def bot(telegram: TelegramPlace) -> AsyncIterator[Bot]:
    bot = Bot(telegram.token, base_url=f"{telegram.url}/bot", base_file_url=f"{telegram.url}/file/bot")
    async with bot:
        yield bot


async def test_the_bot_learns_who_it_is_and_where(bot: Bot):
    commands = [BotCommand("start", "Начать"), BotCommand("help", "Помощь")]

    me = strict(await bot.get_me())
    chat = strict(await bot.get_chat(NEWS))
    member = strict(await bot.get_chat_member(NEWS, me.id))
    await bot.set_my_commands(commands, language_code="ru")
    kept = strict(await bot.get_my_commands(language_code="ru"))
    elsewhere = strict(await bot.get_my_commands())

    assert (me.username, me.is_bot) == (BOT, True)
    assert (chat.id, chat.title, chat.type) == (NEWS, "Example news", "channel")
    assert (member.status, member.user.id) == ("administrator", me.id)
    assert (kept, elsewhere) == (tuple(commands), ())
    assert await bot.get_chat_member_count(NEWS) > 0


async def test_texts_keep_their_formatting_and_buttons(bot: Bot, telegram: TelegramPlace):
    anna = telegram.sandbox.person("Anna")
    anna.starts(BOT)

    first = strict(await bot.send_message(NEWS, outcome.HTML, ParseMode.HTML, reply_markup=YES_NO))
    keyboard = ReplyKeyboardMarkup([["Да", "Нет"]], resize_keyboard=True)
    told = strict(
        await bot.send_message(anna.id, outcome.MARKDOWN, ParseMode.MARKDOWN_V2, reply_markup=keyboard)
    )
    reply = strict(
        await bot.send_message(NEWS, outcome.REPLY, reply_parameters=ReplyParameters(first.message_id))
    )

    assert first.text_html == outcome.HTML
    assert told.text_markdown_v2 == outcome.MARKDOWN
    assert first.reply_markup == YES_NO
    assert reply.reply_to_message is not None
    assert reply.reply_to_message.message_id == first.message_id
    outcome.texts(telegram, anna.id)


async def test_media_arrive_from_memory_from_files_and_from_the_web(
    bot: Bot, telegram: TelegramPlace, pictures: str, picture_file: Path
):
    photo = strict(await bot.send_photo(NEWS, picture(), caption="<i>Синее</i>", parse_mode=ParseMode.HTML))
    strict(await bot.send_photo(NEWS, picture_file, has_spoiler=True))
    strict(await bot.send_photo(NEWS, pictures, caption="По адресу"))
    notes = strict(await bot.send_document(NEWS, NOTES, filename="notes.txt", caption="Заметки"))
    assert notes.document is not None
    again = strict(await bot.send_document(NEWS, notes.document.file_id))
    downloaded = await strict(await bot.get_file(notes.document)).download_as_bytearray()
    shown = await strict(await photo.photo[-1].get_file()).download_as_bytearray()

    assert (photo.photo[-1].width, photo.photo[-1].height) == (320, 200)
    assert (notes.document.file_name, notes.document.file_size) == ("notes.txt", len(NOTES))
    assert again.document is not None
    assert again.document.file_unique_id == notes.document.file_unique_id
    assert (bytes(downloaded), len(shown) > 0) == (NOTES, True)
    outcome.media(telegram)


async def test_every_kind_of_media_is_shown_as_what_it_is(bot: Bot, telegram: TelegramPlace):
    seconds = timedelta(seconds=5)

    film = strict(
        await bot.send_video(NEWS, FILM, duration=seconds, width=640, height=360, filename="film.mp4")
    )
    song = strict(await bot.send_audio(NEWS, SONG, performer="Хор", title="Песня", filename="song.mp3"))
    voice = strict(await bot.send_voice(NEWS, VOICE, duration=seconds, filename="voice.ogg"))
    loop = strict(await bot.send_animation(NEWS, FILM, duration=seconds, filename="loop.mp4"))

    assert film.video is not None
    assert song.audio is not None
    assert voice.voice is not None
    assert loop.animation is not None
    assert (film.video.width, film.video.height, film.video.file_size) == (640, 360, len(FILM))
    assert (song.audio.performer, song.audio.title, song.audio.file_size) == ("Хор", "Песня", len(SONG))
    assert (voice.voice.duration, loop.animation.duration) == (seconds, seconds)
    assert telegram.shown(NEWS) == [{"media": [kind]} for kind in ("video", "audio", "voice", "animation")]


async def test_an_album_is_one_group(bot: Bot, telegram: TelegramPlace, pictures: str):
    sent = await bot.send_media_group(
        NEWS,
        [
            InputMediaPhoto(picture(), caption="*Альбом*", parse_mode=ParseMode.MARKDOWN_V2),
            InputMediaPhoto(picture(0x33CC33)),
            InputMediaPhoto(pictures),
        ],
    )

    assert len(strict(sent)) == 3
    assert len({message.media_group_id for message in sent} - {None}) == 1
    outcome.album(telegram)


async def test_messages_are_edited_and_deleted(bot: Bot, telegram: TelegramPlace):
    text = await bot.send_message(NEWS, "Черновик", reply_markup=YES_NO)
    strict(await text.edit_text("<b>Готово</b>", ParseMode.HTML, reply_markup=YES_NO))
    strict(await text.edit_reply_markup(NO))
    photo = await bot.send_photo(NEWS, picture(), caption="Картинка")
    strict(await photo.edit_caption("<i>Подпись</i>", parse_mode=ParseMode.HTML))
    other = InputMediaPhoto(picture(0x33CC33), caption="<b>Другая</b> картинка", parse_mode=ParseMode.HTML)
    edited = strict(await photo.edit_media(other, reply_markup=NO))
    deleted = await text.delete()

    assert deleted is True
    assert isinstance(edited, type(photo))
    assert edited.edit_date is not None
    assert edited.photo[-1].file_unique_id != photo.photo[-1].file_unique_id
    outcome.edits(telegram)


async def test_posts_are_pinned_forwarded_and_copied(bot: Bot, telegram: TelegramPlace):
    post = await bot.send_message(NEWS, "Новость")

    forwarded = strict(await post.forward(DEALS))
    copied = strict(await post.copy(DEALS))
    pinned = await post.pin(disable_notification=True)
    busy = await bot.send_chat_action(DEALS, ChatAction.TYPING)

    assert forwarded.forward_origin is not None
    assert (forwarded.forward_origin.type, copied.message_id) == ("channel", forwarded.message_id + 1)
    assert (pinned, busy) == (True, True)
    outcome.moves(telegram)


async def test_many_messages_are_copied_forwarded_and_deleted_at_once(bot: Bot, telegram: TelegramPlace):
    numbers = [(await bot.send_message(NEWS, text)).message_id for text in ("раз", "два", "три")]

    copied = strict(await bot.copy_messages(DEALS, NEWS, numbers))
    forwarded = strict(await bot.forward_messages(DEALS, NEWS, numbers))
    deleted = await bot.delete_messages(DEALS, [each.message_id for each in forwarded])

    assert (len(copied), len(forwarded), deleted) == (3, 3, True)
    assert [view["text"] for view in telegram.shown(DEALS)] == ["раз", "два", "три"]


async def test_a_forum_has_topics(bot: Bot, telegram: TelegramPlace):
    wish = {"title": "Форум", "kind": "supergroup", "is_forum": True}
    forum = telegram.sandbox.world.providers["telegram"].add("chat", wish)["id"]

    topic = strict(await bot.create_forum_topic(forum, "Новости", icon_color=7322096))
    said = strict(await bot.send_message(forum, "В теме", message_thread_id=topic.message_thread_id))
    renamed = await bot.edit_forum_topic(forum, topic.message_thread_id, name="Вести")
    closed = await bot.close_forum_topic(forum, topic.message_thread_id)
    reopened = await bot.reopen_forum_topic(forum, topic.message_thread_id)
    chat = strict(await bot.get_chat(forum))
    with pytest.raises(BadRequest, match=r"^Message thread not found$"):
        await bot.send_message(forum, "Мимо", message_thread_id=4242)

    assert (topic.name, said.is_topic_message, chat.is_forum) == ("Новости", True, True)
    assert said.message_thread_id == topic.message_thread_id
    assert (renamed, closed, reopened) == (True, True, True)


async def test_what_a_bot_says_of_itself_and_of_chats_is_kept(bot: Bot):
    me = await bot.get_me()
    await bot.set_my_description("Длинно")
    await bot.set_my_short_description("Коротко")
    await bot.set_chat_menu_button(menu_button=MenuButtonCommands())

    description = strict(await bot.get_my_description())
    short = strict(await bot.get_my_short_description())
    menu = strict(await bot.get_chat_menu_button())
    administrators = strict(await bot.get_chat_administrators(NEWS))

    assert (description.description, short.short_description) == ("Длинно", "Коротко")
    assert isinstance(menu, MenuButtonCommands)
    assert me.id in {each.user.id for each in administrators}


async def test_formatting_may_be_given_as_entities_and_links_without_a_preview(
    bot: Bot, telegram: TelegramPlace
):
    bold = MessageEntity(MessageEntity.BOLD, 0, 6)
    link = "https://example.com/"

    plain = strict(await bot.send_message(NEWS, "Жирно! #тег", entities=[bold]))
    quiet = strict(
        await bot.send_message(NEWS, link, link_preview_options=LinkPreviewOptions(is_disabled=True))
    )
    old = strict(await bot.send_message(NEWS, "*Жирно* _косо_", ParseMode.MARKDOWN))

    assert [each.type for each in plain.entities] == ["bold", "hashtag"]
    assert (quiet.link_preview_options.is_disabled, [each.type for each in quiet.entities]) == (True, ["url"])
    assert old.text_html == "<b>Жирно</b> <i>косо</i>"


async def test_refusals_come_as_their_own_exceptions(bot: Bot, telegram: TelegramPlace):
    anna = telegram.sandbox.person("Anna")
    anna.starts(BOT)
    anna.blocks(BOT)
    telegram.sandbox.fail_next(429, retry_after=timedelta(seconds=7), chat=NEWS)

    with pytest.raises(RetryAfter) as too_many:
        await bot.send_message(NEWS, "x")
    post = await bot.send_message(NEWS, "x")
    with pytest.raises(BadRequest, match=r"^Message is not modified"):
        await post.edit_text("x")
    with pytest.raises(BadRequest, match=r"^Chat not found$"):
        await bot.send_message(-1009999999999, "x")
    with pytest.raises(Forbidden, match=r"^Forbidden: bot was blocked by the user$"):
        await bot.send_message(anna.id, "x")

    assert too_many.value.retry_after == timedelta(seconds=7)
    assert telegram.bots_deeds() == ["sendMessage"]


async def test_a_connection_that_breaks_is_a_network_error_whatever_came_of_the_message(
    bot: Bot, telegram: TelegramPlace
):
    telegram.sandbox.drop_next(before_effect=True)
    telegram.sandbox.drop_next(before_effect=False)

    for text in ("lost", "arrived"):
        with pytest.raises(NetworkError):
            await bot.send_message(NEWS, text)

    assert telegram.shown(NEWS) == [{"text": "arrived"}]


async def greet(update: Update, context: ContextTypes.DEFAULT_TYPE) -> None:
    strict(update)
    assert update.effective_message is not None
    assert update.effective_user is not None
    await update.effective_message.reply_text(
        f"Привет, {update.effective_user.first_name}!", reply_markup=YES_NO
    )


async def choose(update: Update, context: ContextTypes.DEFAULT_TYPE) -> None:
    strict(update)
    assert update.callback_query is not None
    assert await update.callback_query.answer("Принято") is True
    await update.callback_query.edit_message_text(f"Выбрано: {update.callback_query.data}")


async def echo(update: Update, context: ContextTypes.DEFAULT_TYPE) -> None:
    strict(update)
    assert update.effective_message is not None
    await update.effective_message.reply_text(f"Вы сказали: {update.effective_message.text}")


@pytest.fixture
async def application(telegram: TelegramPlace) -> AsyncIterator[Application[Any, Any, Any, Any, Any, Any]]:
    """With handlers, started; what a handler raised fails the test."""
    raised: list[Exception | None] = []

    async def note(_update: object, context: ContextTypes.DEFAULT_TYPE) -> None:
        raised.append(context.error)

    application = (
        ApplicationBuilder()
        .token(telegram.token)
        .base_url(f"{telegram.url}/bot")
        .base_file_url(f"{telegram.url}/file/bot")
        .build()
    )
    application.add_handler(CommandHandler("start", greet))
    application.add_handler(CallbackQueryHandler(choose))
    application.add_handler(MessageHandler(filters.TEXT, echo))
    application.add_error_handler(note)
    async with application:
        await application.start()
        yield application
        if application.updater.running:
            await application.updater.stop()
        await application.stop()
    assert raised == []


async def test_long_polling_brings_what_people_do(application, telegram: TelegramPlace):
    anna = telegram.sandbox.person("Anna")
    await application.updater.start_polling(poll_interval=0)

    anna.starts(BOT)
    greeting = await telegram.effect("sendMessage")
    anna.presses(anna.id, greeting.message_id, "yes")
    await telegram.effect("editMessageText")
    await telegram.polled(3)  # for the start, for the button, and for what never comes
    await application.updater.stop()

    assert greeting.text == "Привет, Anna!"
    outcome.talk(telegram, anna.id)


async def test_every_update_that_people_cause_is_understood(bot: Bot, telegram: TelegramPlace):
    await bot.get_updates(allowed_updates=ALL)  # says what it wants to be told
    busy_day(telegram.sandbox)
    await telegram.polled(1)

    updates = strict(await bot.get_updates(timeout=0))

    assert [in_short(update) for update in updates] == HEARD


def in_short(update: Update) -> list[str]:
    (kind,) = update.to_dict().keys() - {"update_id"}
    happened = getattr(update, kind)
    if isinstance(happened, ChatMemberUpdated):
        return [kind, f"{happened.old_chat_member.status} to {happened.new_chat_member.status}"]
    if happened.migrate_from_chat_id:  # which has no name among the library's types
        return [kind, "migrate_from_chat_id"]
    type_ = effective_message_type(happened)
    return [
        kind,
        ": ".join(filter(None, ("" if type_ == "text" else type_, happened.text or happened.caption))),
    ]


async def test_a_webhook_brings_them_too_and_shows_the_secret(application, telegram: TelegramPlace):
    async def take(request: web.Request) -> web.Response:
        if request.headers.get("X-Telegram-Bot-Api-Secret-Token") != SECRET:
            return web.Response(status=403)
        telegram.watched.delivered(update := await request.json())
        await application.update_queue.put(Update.de_json(update, application.bot))
        return web.Response()

    anna = telegram.sandbox.person("Anna")
    async with listening(take) as url:
        await application.bot.set_webhook(url, secret_token=SECRET, allowed_updates=Update.ALL_TYPES)
        anna.writes(BOT, "раз")
        answer = await telegram.effect("sendMessage")
        info = strict(await application.bot.get_webhook_info())
        await application.bot.delete_webhook()

    assert answer.text == "Вы сказали: раз"
    assert (info.url, info.pending_update_count, info.last_error_message) == (url, 0, None)
    assert (await application.bot.get_webhook_info()).url == ""
