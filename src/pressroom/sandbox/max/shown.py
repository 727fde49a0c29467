"""How the API shows users, chats and messages. What has no value is left out, as the live server leaves it out.

Files are shown at `origin`, where the asking client came to. Updates are made without one: `at_origin` puts it in
when they are handed out, as each bot has its own way here.
"""

import base64
from collections.abc import Mapping
from typing import Any

from pressroom.sandbox.max.model import (
    PERMISSIONS,
    Attachment,
    Bot,
    Chat,
    ChatKind,
    Link,
    Media,
    Member,
    Message,
    User,
)
from pressroom.sandbox.max.state import State

MEDIA = "/media/"
_OURS = frozenset({"image", "video", "audio", "file", "sticker"})  # what is fetched from this emulator


def user_json(user: User) -> dict[str, Any]:
    shown: dict[str, Any] = {
        "user_id": user.id,
        "first_name": user.first_name,
        "last_name": user.last_name,
        "username": user.username,
        "is_bot": user.is_bot,
        "last_activity_time": user.active_at,
        "name": user.name,
    }
    return _without_none(shown)


def user_with_photo(user: User) -> dict[str, Any]:
    return user_json(user) | _without_none({"description": user.description})


def bot_json(bot: Bot) -> dict[str, Any]:
    return user_with_photo(bot) | ({"commands": bot.commands} if bot.commands else {})


def member_json(state: State, member: Member) -> dict[str, Any]:
    user = state.users[member.user]
    shown: dict[str, Any] = {
        "last_access_time": user.active_at,
        "is_owner": member.owner,
        "is_admin": member.admin,
        "join_time": member.joined_at,
        "permissions": list(_permissions(member)) if member.admin else None,
        "alias": member.alias,
    }
    return user_with_photo(user) | _without_none(shown)


def _permissions(member: Member) -> tuple[str, ...]:
    """An owner has all that there are."""
    if member.permissions is not None:
        return member.permissions
    return PERMISSIONS


def chat_json(state: State, chat: Chat, bot: Bot, origin: str) -> dict[str, Any]:
    pinned = chat.messages.get(chat.pinned or "")
    dialog = chat.kind is ChatKind.DIALOG
    shown: dict[str, Any] = {
        "chat_id": chat.id,
        "type": chat.kind.value,
        "status": state.status(chat, bot),
        "title": chat.title,
        "icon": {"url": media_url(chat.icon, origin)} if chat.icon else None,
        "last_event_time": chat.last_event_at,
        "participants_count": 2 if dialog else len(chat.members),
        "owner_id": chat.owner,
        "participants": None
        if dialog
        else {str(member): state.users[member].active_at for member in list(chat.members)[:100]},
        "is_public": chat.link is not None,
        "link": f"https://max.ru/{chat.link}" if chat.link else None,
        "description": chat.description,
        "dialog_with_user": user_with_photo(state.other(chat, bot.id)) if dialog else None,
        "messages_count": None if dialog else len(chat.messages),
        "pinned_message": message_json(state, pinned, origin) if pinned else None,
    }
    return _without_none(shown)


def message_json(state: State, message: Message, origin: str = "") -> dict[str, Any]:
    chat = state.chats[message.chat]
    channel = chat.kind is ChatKind.CHANNEL
    recipient: dict[str, Any] = {"chat_id": chat.id, "chat_type": chat.kind.value}
    if chat.kind is ChatKind.DIALOG:
        recipient["user_id"] = state.other(chat, message.author).id
    shown: dict[str, Any] = {
        "recipient": recipient,
        "timestamp": message.at,
        "body": _body(message, origin),
        "sender": user_json(state.users[message.author]) if chat.shows_authors else None,
        "link": _link_json(state, message.link, origin) if message.link else None,
        "stat": {"views": message.views} if channel else None,
        "url": post_url(chat, message) if channel else None,
    }
    return _without_none(shown)


def post_url(chat: Chat, message: Message) -> str | None:
    """The post's short name in a public channel is its `seq` in base64."""
    if chat.link is None:
        return None
    short = base64.urlsafe_b64encode(message.seq.to_bytes(8, "big")).decode().rstrip("=")
    return f"https://max.ru/{chat.link}/{short}"


def _body(message: Message | Link, origin: str) -> dict[str, Any]:
    shown: dict[str, Any] = {
        "mid": message.mid,
        "seq": message.seq,
        "text": message.text,
        "attachments": [attachment_json(each, origin) for each in message.attachments] or None,
        "markup": [each.as_json() for each in message.markup] or None,
    }
    return _without_none(shown)


def _link_json(state: State, link: Link, origin: str) -> dict[str, Any]:
    shown: dict[str, Any] = {
        "type": link.type,
        "sender": user_json(state.users[link.author]) if link.signed else None,
        "chat_id": link.chat if link.type == "forward" else None,
        "message": _body(link, origin),
    }
    return _without_none(shown)


def attachment_json(attachment: Attachment, origin: str) -> dict[str, Any]:
    media = attachment.media
    if media is None:
        return _attachment_at({**attachment.fields, "type": attachment.type}, origin)
    payload: dict[str, Any] = {"token": media.token, "url": media_url(media, origin)}
    shown: dict[str, Any] = {"payload": payload, "type": attachment.type}
    if media.kind == "image":
        payload["photo_id"] = media.id
    if media.kind == "video":
        shown |= {"width": media.width, "height": media.height, "duration": media.duration}
    if media.kind == "file":
        shown |= {"filename": media.name, "size": media.size}
    return _without_none(shown)


def media_url(media: Media, origin: str) -> str:
    return f"{origin}{MEDIA}{media.token}"


def at_origin(update: Mapping[str, Any], origin: str) -> Mapping[str, Any]:
    """An update as a bot gets it that comes to us at `origin`."""
    message = update.get("message")
    if message is None:
        return update
    shown = {**message, "body": _body_at(message["body"], origin)}
    if "link" in message:
        shown["link"] = {**message["link"], "message": _body_at(message["link"]["message"], origin)}
    return {**update, "message": shown}


def _body_at(body: Mapping[str, Any], origin: str) -> Mapping[str, Any]:
    if "attachments" not in body:
        return body
    return {**body, "attachments": [_attachment_at(each, origin) for each in body["attachments"]]}


def _attachment_at(shown: dict[str, Any], origin: str) -> dict[str, Any]:
    if shown["type"] not in _OURS or not str(shown["payload"].get("url", "")).startswith(MEDIA):
        return shown
    return {**shown, "payload": {**shown["payload"], "url": f"{origin}{shown['payload']['url']}"}}


def _without_none(shown: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in shown.items() if value is not None}
