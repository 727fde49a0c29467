"""A message as the Bot API shows it to one bot, and as the ledger keeps what is more than its text."""

from collections.abc import Sequence
from typing import Any

from pressroom.core.markup import Entity, EntityType
from pressroom.sandbox.telegram.files import FileName, file_id, file_unique_id
from pressroom.sandbox.telegram.model import Bot, Chat, Media, Message, More, Picture
from pressroom.sandbox.telegram.state import State

#: The longer sides of the smaller sizes of a photo, which are there when the photo is larger.
_SMALLER = {"s": 90, "m": 320, "x": 800}


def message_json(
    state: State, bot: Bot, chat: Chat, message: Message, *, with_reply: bool = True
) -> dict[str, Any]:
    """Fields in the real server's order where it is known."""
    shown = chat.as_json()
    said: dict[str, Any] = {"message_id": message.id}
    if message.sender is None:
        said["sender_chat"] = shown
    else:
        said["from"] = message.sender.as_json()
    said["chat"] = shown
    said["date"] = int(message.at)
    more = message.more
    if more is None:
        said["text"] = message.text
        if message.entities:
            said["entities"] = entities_json(state, message.entities)
        return said
    _add_circumstances(state, bot, chat, more, said, with_reply=with_reply)
    _add_content(state, bot, message, more, said)
    _add_rest(more, said)
    return said


def _add_circumstances(
    state: State, bot: Bot, chat: Chat, more: More, said: dict[str, Any], *, with_reply: bool
) -> None:
    if more.edited_at is not None:
        said["edit_date"] = int(more.edited_at)
    if more.thread is not None:
        said["message_thread_id"] = more.thread
    if more.forward_origin is not None:
        said["forward_origin"] = more.forward_origin
    if with_reply and more.reply_to is not None and (replied := chat.messages.get(more.reply_to)) is not None:
        said["reply_to_message"] = message_json(state, bot, chat, replied, with_reply=False)
    if more.external_reply is not None:
        said["external_reply"] = more.external_reply
    if more.quote is not None:
        said["quote"] = more.quote
    if more.album is not None:
        said["media_group_id"] = more.album


def _add_content(state: State, bot: Bot, message: Message, more: More, said: dict[str, Any]) -> None:
    if more.service is not None:
        said |= more.service
    elif more.content is not None:
        said |= more.content
    elif more.media is not None:
        said |= media_json(bot, more.media)
        if message.text:
            said["caption"] = message.text
        if message.entities:
            said["caption_entities"] = entities_json(state, message.entities)
        if more.media.caption_above:
            said["show_caption_above_media"] = True
        if more.media.spoiler:
            said["has_media_spoiler"] = True
    else:
        said["text"] = message.text
        if message.entities:
            said["entities"] = entities_json(state, message.entities)
        if more.link_preview is not None:
            said["link_preview_options"] = more.link_preview


def _add_rest(more: More, said: dict[str, Any]) -> None:
    if more.reply_markup is not None:
        said["reply_markup"] = more.reply_markup
    if more.protected:
        said["has_protected_content"] = True
    if more.thread is not None:
        said["is_topic_message"] = True
    if more.effect_id is not None:
        said["effect_id"] = more.effect_id


# Files


def media_json(bot: Bot, media: Media) -> dict[str, Any]:
    """The fields of a message that show it."""
    shown = _KINDS[media.kind](bot, media)
    if media.kind == "animation":
        document = {name: value for name, value in shown.items() if name not in ("duration", "width", "height")}
        return {"animation": shown, "document": document}
    return {media.kind: shown}


def file_json(bot: Bot, name: FileName, size: int) -> dict[str, Any]:
    said: dict[str, Any] = {"file_id": file_id(bot.id, name), "file_unique_id": file_unique_id(name)}
    return {**said, "file_size": size} if size else said


def photo_sizes(bot: Bot, picture: Picture | Media) -> list[dict[str, Any]]:
    """From the smallest to the whole; what the smaller ones weigh is not known."""
    longer = max(picture.width, picture.height)
    sizes = [
        {
            **file_json(bot, FileName("photo", picture.file_unique, letter), 0),
            "width": max(round(picture.width * side / longer), 1),
            "height": max(round(picture.height * side / longer), 1),
        }
        for letter, side in _SMALLER.items()
        if longer > side
    ]
    whole = file_json(bot, FileName("photo", picture.file_unique), picture.size)
    return [*sizes, {**whole, "width": picture.width, "height": picture.height}]


def _whole(bot: Bot, media: Media) -> dict[str, Any]:
    return file_json(bot, FileName(media.kind, media.file_unique), media.size)


def _named(media: Media) -> dict[str, Any]:
    given = {"file_name": media.name, "mime_type": media.mime}
    return {name: value for name, value in given.items() if value}


def _thumbnail(bot: Bot, media: Media) -> dict[str, Any]:
    picture = media.thumbnail
    if picture is None:
        return {}
    file = file_json(bot, FileName("thumbnail", picture.file_unique), picture.size)
    return {"thumbnail": {**file, "width": picture.width, "height": picture.height}}


def _photo(bot: Bot, media: Media) -> list[dict[str, Any]]:
    return photo_sizes(bot, media)


def _video(bot: Bot, media: Media) -> dict[str, Any]:
    said: dict[str, Any] = {"duration": media.duration, "width": media.width, "height": media.height}
    said |= _named(media)
    if media.cover is not None:
        said["cover"] = photo_sizes(bot, media.cover)
    if media.start_timestamp:
        said["start_timestamp"] = media.start_timestamp
    return {**said, **_thumbnail(bot, media), **_whole(bot, media)}


def _animation(bot: Bot, media: Media) -> dict[str, Any]:
    size = {"duration": media.duration, "width": media.width, "height": media.height}
    return {**_named(media), **size, **_thumbnail(bot, media), **_whole(bot, media)}


def _audio(bot: Bot, media: Media) -> dict[str, Any]:
    tags = {"title": media.title, "performer": media.performer}
    said = {"duration": media.duration, **_named(media)}
    said |= {name: value for name, value in tags.items() if value}
    return {**said, **_thumbnail(bot, media), **_whole(bot, media)}


def _voice(bot: Bot, media: Media) -> dict[str, Any]:
    mime = {"mime_type": media.mime} if media.mime else {}
    return {"duration": media.duration, **mime, **_whole(bot, media)}


def _video_note(bot: Bot, media: Media) -> dict[str, Any]:
    return {
        "duration": media.duration,
        "length": media.width,
        **_thumbnail(bot, media),
        **_whole(bot, media),
    }


def _document(bot: Bot, media: Media) -> dict[str, Any]:
    return {**_named(media), **_thumbnail(bot, media), **_whole(bot, media)}


def _sticker(bot: Bot, media: Media) -> dict[str, Any]:
    said: dict[str, Any] = {"width": media.width, "height": media.height}
    if media.emoji:
        said["emoji"] = media.emoji
    said["is_animated"] = media.mime == "application/x-tgsticker"
    said["is_video"] = media.mime == "video/webm"
    said["type"] = "regular"
    return {**said, **_thumbnail(bot, media), **_whole(bot, media)}


_KINDS: dict[str, Any] = {
    "photo": _photo,
    "video": _video,
    "animation": _animation,
    "audio": _audio,
    "voice": _voice,
    "video_note": _video_note,
    "document": _document,
    "sticker": _sticker,
}


# Entities


def entities_json(state: State, entities: Sequence[Entity]) -> list[dict[str, Any]]:
    """Numbers of bank cards are found, and not told."""
    return [entity_json(state, one) for one in entities if one.type is not EntityType.BANK_CARD_NUMBER]


def entity_json(state: State, entity: Entity) -> dict[str, Any]:
    said: dict[str, Any] = {"offset": entity.offset, "length": entity.length, "type": entity.type.value}
    for name in ("url", "language", "custom_emoji_id"):
        value = getattr(entity, name)
        if value:
            said[name] = value
    if entity.unix_time is not None:
        said["unix_time"] = entity.unix_time
        said["date_time_format"] = entity.date_time_format or ""
    if entity.user_id is not None:
        said["user"] = _user(state, entity.user_id)
    return said


def _user(state: State, number: int) -> dict[str, Any]:
    person = state.people.get(number) or state.bots_by_id.get(number)
    return {"id": number, "is_bot": False, "first_name": str(number)} if person is None else person.as_json()


# The ledger


def details(state: State, entities: Sequence[Entity], more: More | None) -> dict[str, Any] | None:
    """What an effect is besides its text; None where that is all."""
    if not entities and more is None:
        return None
    said: dict[str, Any] = {}
    if entities:
        said["entities"] = entities_json(state, entities)
    if more is None:
        return said or None
    if more.media is not None:
        said["media"] = [_media_details(more.media)]
        if more.media.caption_above:
            said["caption_above"] = True
    if more.content is not None:
        said["content"] = more.content
    if more.reply_markup is not None:
        said["buttons"] = more.reply_markup["inline_keyboard"]
    if more.keyboard is not None:
        said["keyboard"] = more.keyboard
    rest: dict[str, Any] = {
        "album": more.album,
        "reply_to": more.reply_to,
        "thread": more.thread,
        "link_preview": more.link_preview,
        "forward_origin": more.forward_origin,
        "service": more.service,
    }
    said |= {name: value for name, value in rest.items() if value is not None}
    return said or None


def _media_details(media: Media) -> dict[str, Any]:
    said: dict[str, Any] = {
        "kind": media.kind,
        "name": media.name,
        "mime": media.mime,
        "size": media.size,
        "sha256": media.file_unique,
    }
    return {name: value for name, value in said.items() if value is not None}
