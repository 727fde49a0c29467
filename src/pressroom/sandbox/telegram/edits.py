"""Messages changed after they were sent: text, caption, file, buttons."""

from dataclasses import replace
from typing import Any

from pressroom.core.markup import Entity
from pressroom.sandbox.telegram.fields import Malformed, decode
from pressroom.sandbox.telegram.keyboards import Keyboard, check_inline, inline_only, read_keyboard
from pressroom.sandbox.telegram.media import Draft, media_of, read_item
from pressroom.sandbox.telegram.messages import read_link_preview
from pressroom.sandbox.telegram.model import Chat, Media, Message, More
from pressroom.sandbox.telegram.refusal import NOT_MODIFIED, Refusal, bad_request
from pressroom.sandbox.telegram.request import Access, Method, Request
from pressroom.sandbox.telegram.rights import has_right
from pressroom.sandbox.telegram.shown import details, message_json
from pressroom.sandbox.telegram.sources import check_source
from pressroom.sandbox.telegram.texts import (
    CAPTION_LENGTH,
    TEXT_LENGTH,
    as_sent,
    caption_as_sent,
    read_text,
)

CAPTIONED = ("photo", "video", "animation", "audio", "document", "voice")
REPLACED = ("text", "photo", "video", "animation", "audio", "document")
_ABOVE = ("photo", "video", "animation")
_ALONE = ("audio", "document")


def edit_message_text(request: Request) -> dict[str, Any]:
    link_preview = read_link_preview(request.parameters)
    if not request.parameters.text("text"):
        raise bad_request("message text is empty")
    written = read_text(request.parameters)
    keyboard = read_keyboard(request.parameters)
    chat, message = _to_edit(request)
    _check_editable(request, chat, message)
    if kind_of(message) != "text":
        raise bad_request("There is no text in the message to edit")
    keyboard = inline_only(keyboard, chat)
    sent = as_sent(written, longest=TEXT_LENGTH, too_long="MESSAGE_TOO_LONG")
    more = replace(message.more or More(), link_preview=link_preview)
    return _edited(request, chat, message, sent.text, sent.entities, more, keyboard)


def edit_message_caption(request: Request) -> dict[str, Any]:
    keyboard = read_keyboard(request.parameters)
    written = read_text(request.parameters, "caption", "caption_entities")
    chat, message = _to_edit(request)
    _check_editable(request, chat, message)
    more = message.more or More()
    if more.media is None or kind_of(message) not in CAPTIONED:
        raise bad_request("There is no caption in the message to edit")
    sent = as_sent(written, longest=CAPTION_LENGTH, too_long="MEDIA_CAPTION_TOO_LONG", may_be_empty=True)
    keyboard = inline_only(keyboard, chat)
    above = more.media.kind in _ABOVE and request.parameters.truth("show_caption_above_media")
    more = replace(more, media=replace(more.media, caption_above=above))
    return _edited(request, chat, message, sent.text, sent.entities, more, keyboard)


async def edit_message_media(request: Request) -> dict[str, Any]:
    keyboard = read_keyboard(request.parameters)
    draft = _new_media(request)
    chat, message = _with_media(request)
    checked = check_source(request, draft.source, draft.kind)
    sent = caption_as_sent(draft.caption)
    _check_album(message, checked.kind)
    keyboard = inline_only(keyboard, chat)
    media = await media_of(request, draft, checked)
    chat, message = _with_media(request)  # much may have happened while the file was fetched
    _check_album(message, checked.kind)
    more = replace(message.more or More(), media=media, link_preview=None)
    return _edited(request, chat, message, sent.text, sent.entities, more, keyboard)


def edit_message_reply_markup(request: Request) -> dict[str, Any]:
    """Buttons alone leave no date of an edit."""
    keyboard = read_keyboard(request.parameters)
    chat, message = _to_edit(request)
    _check_editable(request, chat, message, only_buttons=True)
    keyboard = inline_only(keyboard, chat)
    return _edited(
        request, chat, message, message.text, message.entities, message.more or More(), keyboard, dated=False
    )


# What may be edited


def _to_edit(request: Request) -> tuple[Chat, Message]:
    if request.is_inline_edit():
        raise request.refuse_inline_edit()
    request.check_business()
    return request.message(Access.EDIT, "message to edit")


def _with_media(request: Request) -> tuple[Chat, Message]:
    otherwise = "Message media can't be edited"
    chat, message = _to_edit(request)
    _check_editable(request, chat, message, otherwise)
    if kind_of(message) not in REPLACED:
        raise bad_request(otherwise)
    return chat, message


def _check_editable(
    request: Request,
    chat: Chat,
    message: Message,
    otherwise: str = "Message can't be edited",
    *,
    only_buttons: bool = False,
) -> None:
    more = message.more or More()
    is_own = message.author is not None and message.author.id == request.bot.id
    allowed = more.forward_origin is None and more.service is None and more.keyboard is None
    if chat.type == "channel":
        member = request.member(chat)
        may_post = has_right(chat, member, "can_post_messages")
        allowed = allowed and (has_right(chat, member, "can_edit_messages") or (may_post and is_own))
    else:
        allowed = allowed and is_own
    if not allowed or not (only_buttons or kind_of(message) in ("text", *CAPTIONED)):
        raise bad_request(otherwise)


def kind_of(message: Message) -> str:
    more = message.more
    if more is None:
        return "text"
    if more.service is not None:
        return "service"
    if more.content is not None:
        return next(iter(more.content))
    return "text" if more.media is None else more.media.kind


def _new_media(request: Request) -> Draft:
    given = request.required_text("media")
    try:
        said = decode(given)
    except Malformed:
        raise bad_request("can't parse input media JSON object") from None
    return read_item(request.parameters, said, in_album=False)


def _check_album(message: Message, kind: str) -> None:
    if message.more is None or message.more.album is None or kind_of(message) == kind:
        return
    if kind == "animation":
        raise bad_request("Message content type can't be used in an album")
    if kind in _ALONE or kind_of(message) in _ALONE:
        raise bad_request("Can't change media type in the album")


# The edit


def _edited(
    request: Request,
    chat: Chat,
    message: Message,
    text: str,
    entities: tuple[Entity, ...],
    more: More,
    keyboard: Keyboard | None,
    *,
    dated: bool = True,
) -> dict[str, Any]:
    check_inline(keyboard, chat)
    more = replace(more, reply_markup=None if keyboard is None else keyboard.as_json())
    if _look(message) == (text, entities, _undated(more)):
        raise Refusal(400, NOT_MODIFIED)
    request.check_reachable(chat)
    if dated:
        more.edited_at = request.state.world.clock.now()
    message.text, message.entities, message.more = text, entities, more
    state = request.state
    state.record(chat, request.bot, request.method, message.id, text, details(state, entities, more))
    state.happened(
        "edited_channel_post" if chat.type == "channel" else "edited_message", chat, message, request.bot
    )
    return message_json(state, request.bot, chat, message, with_reply=False)


def _look(message: Message) -> tuple[str, tuple[Entity, ...], More]:
    return message.text, message.entities, _undated(message.more or More())


def _undated(more: More) -> More:
    return replace(more, edited_at=None, media=_without_name(more.media))


def _without_name(media: Media | None) -> Media | None:
    """The same bytes are the same file, whatever they are called this time."""
    return None if media is None else replace(media, name=None)


METHODS: dict[str, Method] = {
    "editMessageText": edit_message_text,
    "editMessageCaption": edit_message_caption,
    "editMessageMedia": edit_message_media,
    "editMessageReplyMarkup": edit_message_reply_markup,
}
