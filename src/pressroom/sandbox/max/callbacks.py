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
        message = self._message(asked.bot, pressed)
        if wanted is not None:
            draft = read_draft(wanted)
            attached = await self._messages.attached(draft) if message is not None else None
            message = self._message(asked.bot, pressed)
            if message is None:
                raise Kept("Message not found")
            self._messages.change(message, draft, attached, asked.bot, "POST /answers")
        if notification is not None and message is not None:
            self._notify(asked, message.chat, pressed, notification)
        return {"success": True}

    def _message(self, bot: Bot, pressed: Pressed) -> Message | None:
        """The message of the button, where the bot may still change it; None when it was deleted."""
        message = self._state.message(pressed.mid)
        if message is not None and self._state.chat_for(bot, message.chat).suspended:
            raise named("blocked", user=pressed.person)
        return message

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
