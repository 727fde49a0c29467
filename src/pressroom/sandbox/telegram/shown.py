"""A message as the Bot API shows it to one bot."""

from typing import Any

from pressroom.core.markup import Entity
from pressroom.sandbox.telegram.model import Bot, Chat, Message, More
from pressroom.sandbox.telegram.state import State


def message_json(state: State, bot: Bot, chat: Chat, message: Message) -> dict[str, Any]:
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
            said["entities"] = [entity_json(state, one) for one in message.entities]
        return said
    _add_more(state, bot, chat, message, more, said)
    return said


def _add_more(state: State, bot: Bot, chat: Chat, message: Message, more: More, said: dict[str, Any]) -> None:
    if more.edited_at is not None:
        said["edit_date"] = int(more.edited_at)
    if more.thread is not None:
        said["message_thread_id"] = more.thread
        said["is_topic_message"] = True
    if more.reply_to is not None and (replied := chat.messages.get(more.reply_to)) is not None:
        said["reply_to_message"] = _without_reply(message_json(state, bot, chat, replied))
    if more.service is not None:
        said |= more.service
    elif message.text:
        said["text"] = message.text
        if message.entities:
            said["entities"] = [entity_json(state, one) for one in message.entities]
    if more.reply_markup is not None:
        said["reply_markup"] = more.reply_markup


def _without_reply(said: dict[str, Any]) -> dict[str, Any]:
    said.pop("reply_to_message", None)
    return said


def entity_json(state: State, entity: Entity) -> dict[str, Any]:
    said: dict[str, Any] = {"offset": entity.offset, "length": entity.length, "type": entity.type.value}
    for name in ("url", "language", "custom_emoji_id", "unix_time", "date_time_format"):
        value = getattr(entity, name)
        if value:
            said[name] = value
    if entity.user_id is not None:
        said["user"] = _user(state, entity.user_id)
    return said


def _user(state: State, number: int) -> dict[str, Any]:
    person = state.people.get(number) or next((bot for bot in state.bots.values() if bot.id == number), None)
    return {"id": number, "is_bot": False, "first_name": str(number)} if person is None else person.as_json()
