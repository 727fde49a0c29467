"""How the API shows users, chats and messages. What has no value is left out, as the live server leaves it out."""

import base64
from collections.abc import Mapping
from typing import Any

from pressroom.sandbox.max.model import Attachment, Bot, Chat, ChatKind, Link, Media, Member, Message, User
from pressroom.sandbox.max.state import State


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
    return (
        "read_all_messages",
        "add_remove_members",
        "add_admins",
        "change_chat_info",
        "pin_message",
        "write",
        "can_call",
        "edit_link",
        "edit",
        "delete",
    )


def chat_json(state: State, chat: Chat, bot: Bot) -> dict[str, Any]:
    pinned = chat.messages.get(chat.pinned or "")
    dialog = chat.kind is ChatKind.DIALOG
    shown: dict[str, Any] = {
        "chat_id": chat.id,
        "type": chat.kind.value,
        "status": state.status(chat, bot),
        "title": chat.title,
        "icon": {"url": media_url(state, chat.icon)} if chat.icon else None,
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
        "pinned_message": message_json(state, pinned) if pinned else None,
    }
    return _without_none(shown)


def message_json(state: State, message: Message) -> dict[str, Any]:
    chat = state.chats[message.chat]
    channel = chat.kind is ChatKind.CHANNEL
    recipient: dict[str, Any] = {"chat_id": chat.id, "chat_type": chat.kind.value}
    if chat.kind is ChatKind.DIALOG:
        recipient["user_id"] = state.other(chat, message.author).id
    shown: dict[str, Any] = {
        "recipient": recipient,
        "timestamp": message.at,
        "body": _body(state, message),
        "sender": user_json(state.users[message.author]) if chat.shows_authors else None,
        "link": _link_json(state, message.link) if message.link else None,
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


def _body(state: State, message: Message | Link) -> dict[str, Any]:
    shown: dict[str, Any] = {
        "mid": message.mid,
        "seq": message.seq,
        "text": message.text,
        "attachments": [attachment_json(state, each) for each in message.attachments] or None,
        "markup": [each.as_json() for each in message.markup] or None,
    }
    return _without_none(shown)


def _link_json(state: State, link: Link) -> dict[str, Any]:
    shown: dict[str, Any] = {
        "type": link.type,
        "sender": user_json(state.users[link.author]) if link.signed else None,
        "chat_id": link.chat if link.type == "forward" else None,
        "message": _body(state, link),
    }
    return _without_none(shown)


def attachment_json(state: State, attachment: Attachment) -> dict[str, Any]:
    media = attachment.media
    if media is None:
        return {**attachment.fields, "type": attachment.type}
    payload: dict[str, Any] = {"token": media.token, "url": media_url(state, media)}
    shown: dict[str, Any] = {"payload": payload, "type": attachment.type}
    if media.kind == "image":
        payload["photo_id"] = media.id
    if media.kind == "video":
        shown |= {"width": media.width, "height": media.height, "duration": media.duration}
    if media.kind == "file":
        shown |= {"filename": media.name, "size": media.size}
    return _without_none(shown)


def media_url(state: State, media: Media) -> str:
    return f"{state.origin}/media/{media.token}"


def _without_none(shown: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in shown.items() if value is not None}
