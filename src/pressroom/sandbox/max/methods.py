"""The methods of the Bot API, by verb and path. The small ones stand here, the others where their subject is."""

from typing import Any

from pressroom.sandbox.max.callbacks import Callbacks
from pressroom.sandbox.max.chats import Chats
from pressroom.sandbox.max.errors import Refusal, bad
from pressroom.sandbox.max.messages import Messages
from pressroom.sandbox.max.request import Asked, as_object
from pressroom.sandbox.max.routes import Handler
from pressroom.sandbox.max.shown import bot_json, media_url
from pressroom.sandbox.max.state import State
from pressroom.sandbox.max.updates import Updates
from pressroom.sandbox.max.uploads import Uploads

MOST_COMMANDS = 32


class Methods:
    def __init__(
        self,
        state: State,
        updates: Updates,
        uploads: Uploads,
        messages: Messages,
        chats: Chats,
        callbacks: Callbacks,
    ) -> None:
        self._state, self._updates, self._uploads = state, updates, uploads
        self._messages, self._chats, self._callbacks = messages, chats, callbacks

    def table(self) -> dict[str, Handler]:
        messages, chats = self._messages, self._chats
        comments = {
            f"{verb} /messages/{{messageId}}/comments": _comments for verb in ("GET", "POST", "PUT", "DELETE")
        }
        return {
            "GET /me": _me,
            "PATCH /me/commands": _set_commands,
            "GET /chats": _no_longer,
            "GET /chats/{chatId}": chats.get,
            "PATCH /chats/{chatId}": chats.patch,
            "POST /chats/{chatId}/actions": chats.act,
            "GET /chats/{chatId}/pin": chats.pinned,
            "PUT /chats/{chatId}/pin": chats.pin,
            "DELETE /chats/{chatId}/pin": chats.unpin,
            "GET /chats/{chatId}/members": chats.members,
            "POST /chats/{chatId}/members": chats.add,
            "DELETE /chats/{chatId}/members": chats.remove,
            "GET /chats/{chatId}/members/me": chats.me,
            "DELETE /chats/{chatId}/members/me": chats.leave,
            "GET /chats/{chatId}/members/admins": chats.admins,
            "POST /chats/{chatId}/members/admins": chats.appoint,
            "DELETE /chats/{chatId}/members/admins/{userId}": chats.dismiss,
            "GET /subscriptions": self._subscriptions,
            "POST /subscriptions": self._subscribe,
            "DELETE /subscriptions": self._unsubscribe,
            "GET /updates": self._wait,
            "POST /uploads": self._upload,
            "GET /messages": messages.several,
            "POST /messages": messages.send,
            "PUT /messages": messages.edit,
            "DELETE /messages": messages.delete,
            "GET /messages/{messageId}": messages.get,
            "GET /videos/{videoToken}": self._video,
            "POST /answers": self._callbacks.answer,
            **comments,
            "GET /messages/{messageId}/comments/{commentId}": _comments,
        }

    async def _wait(self, asked: Asked) -> dict[str, Any]:
        return await self._updates.poll(
            asked.bot,
            marker=asked.number("marker"),
            limit=asked.between("limit", 100, 1, 1000),
            seconds=asked.between("timeout", 30, 0, 90),
            types=asked.listed("types"),
            origin=asked.origin,
        )

    def _subscriptions(self, asked: Asked) -> dict[str, Any]:
        return {"subscriptions": [each.as_json() for each in self._updates.subscriptions(asked.bot)]}

    def _subscribe(self, asked: Asked) -> dict[str, Any]:
        given = asked.json()
        url = given.required_text("url")
        self._updates.subscribe(asked.bot, url, given.items("update_types"), given.text("secret"))
        return {"success": True}

    def _unsubscribe(self, asked: Asked) -> dict[str, Any]:
        self._updates.unsubscribe(asked.bot, asked.required("url"))
        return {"success": True}

    def _upload(self, asked: Asked) -> dict[str, Any]:
        ticket = self._uploads.ticket(asked.bot, asked.required("type"))
        shown = {"url": f"{asked.origin}/upload/{ticket.kind}/{ticket.key}"}
        return shown | {"token": ticket.media.token} if ticket.media else shown

    def _video(self, asked: Asked) -> dict[str, Any]:
        media = self._uploads.files.get(asked.path["videoToken"])
        if media is None or media.kind != "video" or media.ready_at is None:
            raise Refusal(404, "not.found", "Video not found")
        return {
            "token": media.token,
            "urls": {"mp4_720": media_url(media, asked.origin)},
            "width": media.width or 0,
            "height": media.height or 0,
            "duration": media.duration or 0,
        }


def _me(asked: Asked) -> dict[str, Any]:
    return bot_json(asked.bot)


def _set_commands(asked: Asked) -> dict[str, Any]:
    given = asked.json().items("commands")
    if given is None:
        raise bad("Field 'commands' cannot be null")
    if len(given) > MOST_COMMANDS:
        raise bad(f"Field 'commands' size ({len(given)}) must be at most {MOST_COMMANDS}")
    asked.bot.commands = [_command(each) for each in given]
    return {"commands": asked.bot.commands}


def _command(given: Any) -> dict[str, Any]:
    command = as_object(given)
    read = {"name": command.required_text("name", least=1, most=64)}
    description = command.text("description", least=1, most=128)
    return read if description is None else {**read, "description": description}


def _no_longer(_asked: Asked) -> dict[str, Any]:
    """Since June 2026; the answer's words are not known."""
    raise Refusal(405, "method.not.allowed", "Method GET /chats is not supported")


def _comments(_asked: Asked) -> dict[str, Any]:
    raise Refusal(404, "not.found", "Comments are temporarily unavailable")
