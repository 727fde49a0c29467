"""Messages said again, removed, and pinned: forward, copy, delete, pin; and what one does without words.

Forwards and copies of several keep the albums that are among them.
"""

from collections.abc import Sequence
from copy import deepcopy
from dataclasses import replace
from itertools import pairwise
from typing import Any, cast

from pressroom.sandbox.telegram.edits import CAPTIONED, kind_of
from pressroom.sandbox.telegram.fields import Fields, Malformed
from pressroom.sandbox.telegram.keyboards import check_inline
from pressroom.sandbox.telegram.media import new_album
from pressroom.sandbox.telegram.model import Chat, Member, Message, More
from pressroom.sandbox.telegram.refusal import bad_request
from pressroom.sandbox.telegram.request import Access, Method, Request
from pressroom.sandbox.telegram.rights import can_send, check_sending, has_right, need
from pressroom.sandbox.telegram.sending import (
    Content,
    Place,
    find_place,
    keep_to_rate,
    more_of,
    origin_of,
    read_options,
)
from pressroom.sandbox.telegram.shown import details, message_json
from pressroom.sandbox.telegram.texts import caption_as_sent, read_text

OLD = 2 * 86_400  # seconds after which bots cannot delete
_ABOVE = ("photo", "video", "animation")
ACTIONS = frozenset(
    {
        "cancel", "typing", "upload_photo", "record_video", "upload_video", "record_voice", "upload_voice",
        "record_audio", "upload_audio", "upload_document", "choose_sticker", "find_location", "pick_up_location",
        "record_video_note", "upload_video_note",
    }
)  # fmt: skip


# Forwards and copies of one


def forward_message(request: Request) -> dict[str, Any]:
    source, message = _source(request, "message to forward")
    place = find_place(request, read_options(request))
    _check_forward(source, message)
    check_sending(place.chat, place.member, kind_of(message))
    request.check_reachable(place.chat)
    keep_to_rate(request, place.chat)
    sent = _repeat(request, place, source, message, as_forward=True)
    return message_json(request.state, request.bot, place.chat, sent)


def copy_message(request: Request) -> dict[str, Any]:
    parameters = request.parameters
    request.required_text("from_chat_id")
    caption = read_text(parameters, "caption", "caption_entities") if parameters.has("caption") else None
    source, message = _source(request, "message to copy")
    place = find_place(request, read_options(request))
    if kind_of(message) in ("service", "poll"):
        raise bad_request("message can't be copied")
    check_sending(place.chat, place.member, kind_of(message))
    check_inline(place.keyboard, place.chat)
    copied = message
    if caption is not None and kind_of(message) in CAPTIONED and message.more and message.more.media:
        sent = caption_as_sent(caption)
        above = message.more.media.kind in _ABOVE and parameters.truth("show_caption_above_media")
        media = replace(message.more.media, caption_above=above)
        copied = replace(
            message, text=sent.text, entities=sent.entities, more=replace(message.more, media=media)
        )
    request.check_reachable(place.chat)
    keep_to_rate(request, place.chat)
    return {"message_id": _repeat(request, place, source, copied, as_forward=False).id}


def _source(request: Request, what: str) -> tuple[Chat, Message]:
    chat = request.chat_named(request.required_text("from_chat_id"), Access.READ)
    return chat, request.message_in(chat, request.message_id(), what)


def _check_forward(source: Chat, message: Message) -> None:
    if kind_of(message) == "service":
        raise bad_request("message can't be forwarded")
    if _is_protected(source, message):
        raise bad_request("Message has protected content and can't be forwarded")


def _is_protected(source: Chat, message: Message) -> bool:
    return bool(source.extra.get("protected")) or (message.more is not None and message.more.protected)


def _repeat(
    request: Request,
    place: Place,
    source: Chat,
    message: Message,
    *,
    as_forward: bool,
    album: str | None = None,
) -> Message:
    """`message` anew, in another place: with its origin and buttons that lead somewhere, or as a message of one's own."""
    before = message.more or More()
    content = Content(
        kind_of(message),
        message.text,
        message.entities,
        before.media,
        deepcopy(before.content),
        before.link_preview,
    )
    more = more_of(replace(place, is_plain=False), content, album) or More()
    if as_forward:
        more.forward_origin = origin_of(source, message)
        more.reply_markup = _links(before.reply_markup)
    kept = None if more == More() else more
    told = {
        **(details(request.state, message.entities, kept) or {}),
        "from": {"chat": source.key, "message_id": message.id},
    }
    return request.state.say(
        place.chat, request.bot, request.method, message.text, message.entities, kept, told
    )


def _links(markup: dict[str, Any] | None) -> dict[str, Any] | None:
    """Of the buttons of a forwarded message only those stay that lead to pages; with any other, all go."""
    rows: list[list[dict[str, Any]]] = [] if markup is None else markup["inline_keyboard"]
    return markup if rows and all("url" in button for row in rows for button in row) else None


# Of several


def forward_messages(request: Request) -> list[dict[str, Any]]:
    return _repeat_all(request, as_forward=True)


def copy_messages(request: Request) -> list[dict[str, Any]]:
    return _repeat_all(request, as_forward=False)


def _repeat_all(request: Request, *, as_forward: bool) -> list[dict[str, Any]]:
    from_chat = request.required_text("from_chat_id")
    numbers = request.message_ids()
    place = find_place(request, read_options(request, with_keyboard=False))
    source = request.chat_named(from_chat, Access.READ)
    if not request.has_message_access(source):
        raise bad_request("message to forward not found")
    found = [number for number in numbers if number in source.messages]
    if not found:
        raise bad_request("There are no messages to forward")
    if any(later <= earlier for earlier, later in pairwise(found)):
        raise bad_request("Message identifiers must be in a strictly increasing order")
    if as_forward and source.extra.get("protected"):
        raise bad_request("Message has protected content and can't be forwarded")
    messages = [
        message
        for message in (source.messages[number] for number in found)
        if kind_of(message) not in ("service", *(() if as_forward else ("poll",)))
        and not (as_forward and _is_protected(source, message))
        and can_send(place.chat, place.member, kind_of(message))
    ]
    if not messages:
        raise bad_request("Messages can't be forwarded" if as_forward else "messages can't be copied")
    request.check_reachable(place.chat)
    keep_to_rate(request, place.chat, len(messages))
    albums = _albums(request, messages)
    without_captions = not as_forward and request.parameters.truth("remove_caption")
    sent: list[dict[str, Any]] = []
    for message in messages:
        one = _uncaptioned(message) if without_captions else message
        album = albums.get(message.more.album) if message.more is not None else None
        copied = _repeat(request, place, source, one, as_forward=as_forward, album=album)
        sent.append({"message_id": copied.id})
    return sent


def _albums(request: Request, messages: Sequence[Message]) -> dict[str | None, str | None]:
    """New names for albums of which at least two messages go along."""
    before = [message.more.album for message in messages if message.more is not None]
    return {
        album: new_album(request) if before.count(album) > 1 else None
        for album in dict.fromkeys(before)
        if album is not None
    }


def _uncaptioned(message: Message) -> Message:
    return replace(message, text="", entities=()) if kind_of(message) in CAPTIONED else message


# Deletions


def delete_message(request: Request) -> bool:
    if not request.parameters.text("chat_id"):
        raise bad_request("Chat identifier is not specified")
    if not request.message_id():
        raise bad_request("Message identifier is not specified")
    chat, message = request.message(Access.WRITE, "message to delete")
    _check_deletable(request, chat, message)
    _delete(request, chat, message)
    return True


def delete_messages(request: Request) -> bool:
    """What is not there is passed over; if one cannot be deleted, none is."""
    numbers = request.message_ids()
    chat = request.chat(Access.WRITE)
    if not request.has_message_access(chat):
        raise bad_request("message to delete not found")
    found = [chat.messages[number] for number in dict.fromkeys(numbers) if number in chat.messages]
    for message in found:
        _check_deletable(request, chat, message)
    for message in found:
        _delete(request, chat, message)
    return True


def _check_deletable(request: Request, chat: Chat, message: Message) -> None:
    is_old = request.state.world.clock.now() - message.at > OLD
    is_own = message.author is not None and message.author.id == request.bot.id
    member = request.member(chat)
    kind = kind_of(message)
    if chat.type in ("supergroup", "channel"):
        if is_old or not _may_delete(chat, member, kind, is_own=is_own):
            raise bad_request("Message can't be deleted")
        return
    if chat.person is not None:
        is_new_dice = kind == "dice" and request.state.world.clock.now() - message.at < OLD / 2
        allowed = not is_new_dice
    else:
        allowed = (is_own and kind != "service") or member.status in ("creator", "administrator")
    if is_old or not allowed:
        raise bad_request("Message can't be deleted for everyone")


def _may_delete(chat: Chat, member: Member, kind: str, *, is_own: bool) -> bool:
    if has_right(chat, member, "can_delete_messages"):
        return True
    if not is_own:
        return False
    if chat.type == "channel" or kind == "service":
        return has_right(chat, member, "can_post_messages")
    return True


def _delete(request: Request, chat: Chat, message: Message) -> None:
    del chat.messages[message.id]
    if message.id in chat.pinned:
        chat.pinned.remove(message.id)
    request.state.record(chat, request.bot, request.method, message.id, "")


# Pins


def pin_chat_message(request: Request) -> bool:
    request.check_business()
    chat, message = request.message(Access.WRITE, "message to pin")
    _check_pins(request, chat)
    if kind_of(message) == "service":
        raise bad_request("Service messages can't be pinned")
    if chat.pinned[-1:] == [message.id]:
        return True
    chat.pinned = [one for one in chat.pinned if one in chat.messages and one != message.id]
    chat.pinned.append(message.id)
    told = details(request.state, message.entities, message.more)
    request.state.record(chat, request.bot, request.method, message.id, message.text, told)
    if chat.person is None or not request.parameters.truth("disable_notification"):
        _tell_pinned(request, chat, message)
    return True


def _tell_pinned(request: Request, chat: Chat, message: Message) -> None:
    """The message about the pin."""
    shown = message_json(request.state, request.bot, chat, message, with_reply=False)
    more = More(service={"pinned_message": shown}, thread=message.more.thread if message.more else None)
    request.state.say(chat, request.bot, "pinned", "", (), more, {"service": {"pinned_message": message.id}})


def unpin_chat_message(request: Request) -> bool:
    request.check_business()
    if not request.message_id():
        chat = request.chat(Access.WRITE)
        if not chat.pinned:
            raise bad_request("message to unpin not found")
        number = chat.pinned[-1]
    else:
        chat, message = request.message(Access.WRITE, "message to unpin")
        number = message.id
    _check_pins(request, chat)
    if number in chat.pinned:
        chat.pinned.remove(number)
        text = chat.messages[number].text if number in chat.messages else ""
        request.state.record(chat, request.bot, request.method, number, text)
    return True


def unpin_all_chat_messages(request: Request) -> bool:
    chat = request.chat(Access.WRITE)
    _check_pins(request, chat)
    for number in reversed(chat.pinned):
        text = chat.messages[number].text if number in chat.messages else ""
        request.state.record(chat, request.bot, request.method, number, text)
    chat.pinned.clear()
    return True


def _check_pins(request: Request, chat: Chat) -> None:
    if chat.person is None:
        right = "can_edit_messages" if chat.type == "channel" else "can_pin_messages"
        need(chat, request.member(chat), right, "Not enough rights to manage pinned messages in the chat")


# Without words


def send_chat_action(request: Request) -> bool:
    if request.parameters.text("action").lower() not in ACTIONS:
        raise bad_request("wrong parameter action in request")
    request.check_business()
    request.check_reachable(request.chat(Access.WRITE))
    return True


def set_message_reaction(request: Request) -> bool:
    wanted = _reactions(request)
    chat, message = request.message(Access.READ, "message to react")
    if len(wanted) > 1:
        raise bad_request("REACTIONS_TOO_MANY")
    request.check_reachable(chat)
    more = message.more = message.more or More()
    others = {number: one for number, one in (more.reactions or {}).items() if number != str(request.bot.id)}
    more.reactions = ({**others, str(request.bot.id): wanted[0]} if wanted else others) or None
    request.state.record(chat, request.bot, request.method, message.id, message.text, {"reactions": wanted})
    return True


def _reactions(request: Request) -> list[dict[str, str]]:
    if not request.parameters.text("reaction"):
        return []
    given = request.json("reaction", "can't parse reaction types JSON object")
    if not isinstance(given, list):
        raise bad_request("Expected an Array of ReactionType")
    try:
        return [_reaction(one) for one in cast("list[object]", given)]
    except Malformed as error:
        raise bad_request(f"Can't parse ReactionType: {error}") from None


def _reaction(given: object) -> dict[str, str]:
    said = Fields.of(given, "expected an Object")
    kind = said.required_text("type")
    if kind == "emoji":
        return {"type": kind, "emoji": said.required_text("emoji")}
    if kind == "custom_emoji":
        return {"type": kind, "custom_emoji_id": str(said.required_integer("custom_emoji_id", bits=64))}
    raise Malformed("invalid reaction type specified")


METHODS: dict[str, Method] = {
    "forwardMessage": forward_message,
    "forwardMessages": forward_messages,
    "copyMessage": copy_message,
    "copyMessages": copy_messages,
    "deleteMessage": delete_message,
    "deleteMessages": delete_messages,
    "pinChatMessage": pin_chat_message,
    "unpinChatMessage": unpin_chat_message,
    "unpinAllChatMessages": unpin_all_chat_messages,
    "sendChatAction": send_chat_action,
    "setMessageReaction": set_message_reaction,
}
