"""Buttons that were pressed, and what bots answer: a notification, a changed message, or both."""

from typing import Any

from pressroom.sandbox.core.world import World
from pressroom.sandbox.max.errors import Kept, bad, named
from pressroom.sandbox.max.messages import Messages, read_draft
from pressroom.sandbox.max.model import Bot, Message, User
from pressroom.sandbox.max.request import Asked
from pressroom.sandbox.max.shown import message_json, user_json
from pressroom.sandbox.max.state import Pressed, State
from pressroom.sandbox.max.updates import Updates


class Callbacks:
    def __init__(self, world: World, state: State, updates: Updates, messages: Messages) -> None:
        self._world, self._state, self._updates, self._messages = world, state, updates, messages

    def press(self, person: User, message: Message, payload: str) -> str:
        """The bot that wrote the message hears of it."""
        chat = self._state.chats[message.chat]
        now = self._state.now()
        callback_id = self._state.press(Pressed(message.author, person.id, message.mid, now))
        person.active_at = now
        callback = {
            "timestamp": now,
            "callback_id": callback_id,
            "user": user_json(person),
            "payload": payload,
        }
        body = {
            "callback": callback,
            "message": message_json(self._state, message),
            **self._updates.locale(chat, person),
        }
        author = self._state.users[message.author]
        if isinstance(author, Bot) and self._state.membership(chat, author) is not None:
            self._updates.tell(author, "message_callback", chat, body)
        return callback_id

    async def answer(self, asked: Asked) -> dict[str, Any]:
        pressed = self._state.pressed.get(asked.required("callback_id"))
        if pressed is None or pressed.bot != asked.bot.id:
            raise bad("callback_id: Callback identifier is invalid")
        given = asked.json()
        notification, wanted = given.text("notification"), given.object("message")
        if notification is None and wanted is None:
            raise bad("Invalid request. `message` or `notification` required")
        message = self._state.message(pressed.mid)
        chat = self._state.chat_for(asked.bot, message.chat) if message else None
        if chat is not None and chat.suspended:
            raise named("blocked", user=pressed.person)
        if wanted is not None:
            if message is None:
                raise Kept("Message not found")
            await self._messages.change(message, read_draft(wanted), asked.bot, "POST /answers")
        if notification is not None and chat is not None:
            self._notify(asked, chat.id, pressed, notification)
        return {"success": True}

    def _notify(self, asked: Asked, chat: int, pressed: Pressed, notification: str) -> None:
        person = self._state.users[pressed.person]
        self._world.ledger.record(
            self._world.clock.now(),
            "max",
            asked.bot.username or "",
            chat,
            "POST /answers",
            pressed.mid,
            notification,
            {"notification": notification, "to": person.name},
        )
