"""aiogram's normal flows, run by test_aiogram.py, one after the other: importing aiogram takes longer than a flow.

A line `{"flow": ..., "url": ..., "token": ...}` starts one, which says what it found in JSON lines and may wait for
lines; in the end it is "done". This file may import nothing of the project, which is not installed here.
"""

import asyncio
import json
import sys
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from aiogram import Bot, Dispatcher
from aiogram.client.default import DefaultBotProperties
from aiogram.client.session.aiohttp import AiohttpSession
from aiogram.client.telegram import TelegramAPIServer
from aiogram.enums import ChatAction, ParseMode
from aiogram.exceptions import TelegramBadRequest, TelegramForbiddenError, TelegramRetryAfter
from aiogram.filters import CommandStart
from aiogram.methods import SendMessage
from aiogram.types import (
    BotCommand,
    BufferedInputFile,
    CallbackQuery,
    ChatMemberUpdated,
    FSInputFile,
    InlineKeyboardButton,
    InlineKeyboardMarkup,
    InputMediaPhoto,
    KeyboardButton,
    Message,
    ReplyKeyboardMarkup,
    ReplyParameters,
    Update,
)
from aiogram.webhook.aiohttp_server import SimpleRequestHandler
from aiohttp import web
from pydantic import BaseModel

T = TypeVar("T")

given: dict[str, Any] = {}
NEWS, DEALS = -1001000000001, -1001000000002

YES_NO = InlineKeyboardMarkup(
    inline_keyboard=[
        [
            InlineKeyboardButton(text="Да", callback_data="yes"),
            InlineKeyboardButton(text="Сайт", url="https://example.com/"),
        ]
    ]
)
NO = InlineKeyboardMarkup(inline_keyboard=[[InlineKeyboardButton(text="Нет", callback_data="no")]])


def say(said: str, **more: Any) -> None:
    print(json.dumps({"said": said, **more}), flush=True)


async def next_line() -> str:
    return await asyncio.to_thread(sys.stdin.readline)


def strict(answer: T) -> T:
    """The same; but it may hold nothing that the library's models do not know."""
    if unknown := unknown_in(answer):
        raise AssertionError(f"{type(answer).__name__} has what aiogram does not know: {unknown}")
    return answer


def unknown_in(answer: Any) -> dict[str, Any]:
    if isinstance(answer, list):
        return {name: value for each in answer for name, value in unknown_in(each).items()}
    if not isinstance(answer, BaseModel):
        return {}
    return dict(answer.model_extra or {}) | unknown_in([value for _, value in answer])


def blue() -> BufferedInputFile:
    return BufferedInputFile(bytes.fromhex(given["blue"]), "blue.png")


async def identity(bot: Bot) -> None:
    me = strict(await bot.get_me())
    chat = strict(await bot.get_chat(NEWS))
    member = strict(await bot.get_chat_member(NEWS, me.id))
    people = await bot.get_chat_member_count(NEWS)
    await bot.set_my_commands([BotCommand(command="start", description="Начать")], language_code="ru")
    kept = strict(await bot.get_my_commands(language_code="ru"))
    elsewhere = await bot.get_my_commands()
    say(
        "known",
        me=me.username,
        chat=[chat.id, chat.title, chat.type],
        member=[member.status, member.user.id == me.id],
        people=people,
        commands=[[each.command, each.description] for each in kept],
        elsewhere=elsewhere,
    )


async def texts(bot: Bot) -> None:
    first = strict(await bot.send_message(NEWS, given["html"], parse_mode=ParseMode.HTML, reply_markup=YES_NO))
    keyboard = ReplyKeyboardMarkup(
        keyboard=[[KeyboardButton(text="Да"), KeyboardButton(text="Нет")]], resize_keyboard=True
    )
    told = strict(
        await bot.send_message(
            given["anna"], given["markdown"], parse_mode=ParseMode.MARKDOWN_V2, reply_markup=keyboard
        )
    )
    reply = strict(
        await bot.send_message(
            NEWS, given["reply"], reply_parameters=ReplyParameters(message_id=first.message_id)
        )
    )
    assert reply.reply_to_message is not None
    say(
        "sent",
        html=first.html_text,
        told=told.html_text,
        buttons=first.reply_markup is not None and first.reply_markup.model_dump() == YES_NO.model_dump(),
        reply_to=reply.reply_to_message.message_id == first.message_id,
    )


async def media(bot: Bot) -> None:
    photo = strict(await bot.send_photo(NEWS, blue(), caption="<i>Синее</i>", parse_mode=ParseMode.HTML))
    strict(await bot.send_photo(NEWS, FSInputFile(given["picture_file"]), has_spoiler=True))
    strict(await bot.send_photo(NEWS, given["picture_url"], caption="По адресу"))
    notes = strict(await bot.send_document(NEWS, FSInputFile(given["notes_file"]), caption="Заметки"))
    assert notes.document is not None
    again = strict(await bot.send_document(NEWS, notes.document.file_id))
    file = strict(await bot.get_file(notes.document.file_id))
    downloaded = await bot.download_file(str(file.file_path))
    assert photo.photo is not None
    shown = await bot.download(photo.photo[-1])
    assert downloaded is not None
    assert shown is not None
    assert again.document is not None
    say(
        "sent",
        size=[photo.photo[-1].width, photo.photo[-1].height],
        document=[notes.document.file_name, notes.document.file_size],
        same=again.document.file_unique_id == notes.document.file_unique_id,
        downloaded=downloaded.read().hex(),
        shown=len(shown.read()) > 0,
    )


async def album(bot: Bot) -> None:
    sent = strict(
        await bot.send_media_group(
            NEWS,
            [
                InputMediaPhoto(media=blue(), caption="*Альбом*", parse_mode=ParseMode.MARKDOWN_V2),
                InputMediaPhoto(media=FSInputFile(given["picture_file"])),
                InputMediaPhoto(media=given["picture_url"]),
            ],
        )
    )
    say("sent", albums=[message.media_group_id for message in sent])


async def edits(bot: Bot) -> None:
    text = await bot.send_message(NEWS, "Черновик", reply_markup=YES_NO)
    strict(await text.edit_text("<b>Готово</b>", parse_mode=ParseMode.HTML, reply_markup=YES_NO))
    strict(await text.edit_reply_markup(reply_markup=NO))
    photo = await bot.send_photo(NEWS, blue(), caption="Картинка")
    strict(await photo.edit_caption(caption="<i>Подпись</i>", parse_mode=ParseMode.HTML))
    other = InputMediaPhoto(
        media=FSInputFile(given["picture_file"]),
        caption="<b>Другая</b> картинка",
        parse_mode=ParseMode.HTML,
    )
    edited = strict(await photo.edit_media(other, reply_markup=NO))
    deleted = await text.delete()
    assert isinstance(edited, Message)
    assert edited.photo is not None
    assert photo.photo is not None
    say(
        "edited",
        deleted=deleted,
        dated=edited.edit_date is not None,
        other=edited.photo[-1].file_unique_id != photo.photo[-1].file_unique_id,
    )


async def moves(bot: Bot) -> None:
    post = await bot.send_message(NEWS, "Новость")
    forwarded = strict(await post.forward(DEALS))
    copied = strict(await bot.copy_message(DEALS, NEWS, post.message_id))
    pinned = await post.pin(disable_notification=True)
    busy = await bot.send_chat_action(DEALS, ChatAction.TYPING)
    assert forwarded.forward_origin is not None
    say(
        "moved",
        origin=forwarded.forward_origin.type,
        next=copied.message_id - forwarded.message_id,
        pinned=pinned,
        busy=busy,
    )


async def refusals(bot: Bot) -> None:
    too_many = await refused(TelegramRetryAfter, bot.send_message(NEWS, "x"))
    post = await bot.send_message(NEWS, "x")
    unchanged = await refused(TelegramBadRequest, post.edit_text("x"))
    nowhere = await refused(TelegramBadRequest, bot.send_message(-1009999999999, "x"))
    blocked = await refused(TelegramForbiddenError, bot.send_message(given["anna"], "x"))
    say(
        "refused",
        retry_after=too_many.retry_after,
        unchanged=unchanged.message,
        nowhere=nowhere.message,
        blocked=blocked.message,
    )


E_ = TypeVar("E_", bound=Exception)


async def refused(kind: type[E_], call: Awaitable[Any]) -> E_:
    try:
        await call
    except kind as error:
        return error
    raise AssertionError(f"nothing was refused, where {kind.__name__} was expected")


def dispatcher() -> Dispatcher:
    """With the handlers of a small bot. It notes what a handler raised, and leaves signals alone."""
    dispatcher = Dispatcher()

    @dispatcher.update.outer_middleware()
    async def look(
        handler: Callable[[Update, dict[str, Any]], Awaitable[Any]], update: Update, data: dict[str, Any]
    ) -> Any:
        return await handler(strict(update), data)

    @dispatcher.message(CommandStart())
    async def greet(message: Message) -> None:
        assert message.from_user is not None
        await message.answer(f"Привет, {message.from_user.first_name}!", reply_markup=YES_NO)

    @dispatcher.callback_query()
    async def choose(query: CallbackQuery) -> None:
        answered = await query.answer("Принято")
        assert isinstance(query.message, Message)
        await query.message.edit_text(f"Выбрано: {query.data}")
        say("answered", answered=answered)

    @dispatcher.message()
    async def echo(message: Message) -> SendMessage:
        return message.answer(f"Вы сказали: {message.text}")

    return dispatcher


async def polling(bot: Bot) -> None:
    listening = dispatcher()
    task = asyncio.create_task(listening.start_polling(bot, handle_signals=False, close_bot_session=False))
    say("listening")
    await next_line()
    await listening.stop_polling()
    await task


async def webhook(bot: Bot) -> None:
    app = web.Application()
    secret = given["secret"]
    SimpleRequestHandler(dispatcher(), bot, handle_in_background=False, secret_token=secret).register(
        app, "/webhook"
    )
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    url = f"http://127.0.0.1:{runner.addresses[0][1]}/webhook"
    await bot.set_webhook(url, secret_token=secret)
    say("listening", url=url)
    await next_line()
    info = strict(await bot.get_webhook_info())
    await bot.delete_webhook()
    gone = await bot.get_webhook_info()
    say("left", url=info.url, pending=info.pending_update_count, error=info.last_error_message, gone=gone.url)
    await runner.cleanup()


async def updates(bot: Bot) -> None:
    await bot.get_updates(allowed_updates=given["wanted"])
    say("listening")
    await next_line()
    heard = strict(await bot.get_updates(timeout=0))
    say("heard", updates=[in_short(update) for update in heard])


def in_short(update: Update) -> list[str]:
    if isinstance(update.event, ChatMemberUpdated):
        member = update.event
        return [update.event_type, f"{member.old_chat_member.status} to {member.new_chat_member.status}"]
    assert isinstance(update.event, Message)
    kind = update.event.content_type
    said = update.event.text or update.event.caption
    return [update.event_type, ": ".join(filter(None, ("" if kind == "text" else kind, said)))]


FLOWS = (identity, texts, media, album, edits, moves, refusals, polling, updates, webhook)


async def main() -> None:
    flows = {flow.__name__: flow for flow in FLOWS}
    while line := await next_line():
        given.clear()
        given.update(json.loads(line))
        session = AiohttpSession(api=TelegramAPIServer.from_base(given["url"]))
        async with Bot(given["token"], session=session, default=DefaultBotProperties()) as bot:
            await flows[given["flow"]](bot)
        say("done")


asyncio.run(main())
