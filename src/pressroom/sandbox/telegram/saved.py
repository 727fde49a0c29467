"""Everything that the emulator knows, as JSON and back. People and bots are named by their ids.

Links to download files from are not kept: they are good for an hour, and getFile makes others.

What fits not into the dataclasses raises ValueError, KeyError or TypeError.
"""

import base64
from collections.abc import Mapping
from typing import Any

from pydantic import TypeAdapter

from pressroom.core.markup import Entity
from pressroom.sandbox.telegram.model import Bot, Chat, Message, More, User
from pressroom.sandbox.telegram.state import State

_BOT, _USER, _CHAT, _MORE = TypeAdapter(Bot), TypeAdapter(User), TypeAdapter(Chat), TypeAdapter(More)
_ENTITIES = TypeAdapter(tuple[Entity, ...])


def saved(state: State) -> dict[str, Any]:
    return {
        "bots": [
            _BOT.dump_python(bot, mode="json", exclude_defaults=True) for bot in state.bots_by_id.values()
        ],
        "tokens": {token: bot.id for token, bot in state.bots.items()},
        "people": [_USER.dump_python(one, mode="json", exclude_defaults=True) for one in state.people.values()],
        "next_person": state.next_person,
        "chats": [_chat(chat) for chat in (*state.chats.values(), *state.dialogs.values())],
        "files": [
            {
                "data": base64.b64encode(content).decode(),
                "name": known.name,
                "type": known.mime,
            }
            for known, content in state.files
        ],
    }


def restore(state: State, given: Mapping[str, Any]) -> None:
    """What was there before, the examples too, is gone."""
    state.clear()
    by_id = {bot.id: bot for bot in map(_BOT.validate_python, given["bots"])}
    for token, number in given["tokens"].items():
        state.register(token, by_id[number])
    for one in map(_USER.validate_python, given["people"]):
        state.people[one.id] = one
    state.next_person = int(given["next_person"])
    for one in given["files"]:
        state.files.keep(base64.b64decode(one["data"]), one["name"], one["type"])
    for one in given["chats"]:
        _restore_chat(state, one)


def _chat(chat: Chat) -> dict[str, Any]:
    said: dict[str, Any] = _CHAT.dump_python(
        chat, mode="json", exclude={"messages", "person"}, exclude_defaults=True
    )
    person = None if chat.person is None else chat.person.id
    return {"chat": said, "person": person, "messages": [_message(one) for one in chat.messages.values()]}


def _message(message: Message) -> list[Any]:
    """Most have nothing after the text."""
    said = [
        message.id,
        message.at,
        _id(message.sender),
        _id(message.author),
        message.text,
        _ENTITIES.dump_python(message.entities, mode="json", exclude_defaults=True)
        if message.entities
        else None,
        None if message.more is None else _MORE.dump_python(message.more, mode="json", exclude_defaults=True),
    ]
    while said[-1] is None:
        said.pop()
    return said


def _restore_chat(state: State, given: Mapping[str, Any]) -> None:
    chat = _CHAT.validate_python(given["chat"])
    if given["person"] is None:
        state.add_chat(chat)
    else:
        chat.person = state.people[given["person"]]
        state.private[chat.bot_id, chat.person.id] = state.dialogs[chat.key] = chat
    for fields in given["messages"]:
        whole: list[Any] = [*fields, *[None] * (7 - len(fields))]
        number, at, sender, author, text, entities, more = whole
        message = Message(
            number,
            at,
            _user(state, sender),
            text,
            _ENTITIES.validate_python(entities or ()),
            None if more is None else _MORE.validate_python(more),
            _user(state, author),
        )
        chat.messages[number] = message
        if message.more is not None and message.more.media is not None:
            state.files.describe(message.more.media)


def _id(user: User | None) -> int | None:
    return None if user is None else user.id


def _user(state: State, number: int | None) -> User | None:
    if number is None:
        return None
    return state.bots_by_id.get(number) or state.people[number]
