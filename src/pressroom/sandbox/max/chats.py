"""Chats and their members, as bots ask for them and change them."""

import re
import unicodedata
from typing import Any

from pressroom.sandbox.core.world import World
from pressroom.sandbox.max.attachments import NO_PHOTO
from pressroom.sandbox.max.errors import Kept, Refusal, bad, named, no_chat
from pressroom.sandbox.max.messages import Messages
from pressroom.sandbox.max.model import (
    NEED_READING,
    RENAMED_PERMISSIONS,
    Bot,
    Chat,
    ChatKind,
    Media,
    Member,
    User,
    all_permissions,
    chat_of,
)
from pressroom.sandbox.max.request import CANNOT_READ, Asked, Payload, as_object, whole
from pressroom.sandbox.max.shown import chat_json, member_json, message_json, user_json
from pressroom.sandbox.max.state import State
from pressroom.sandbox.max.updates import Updates
from pressroom.sandbox.max.uploads import Uploads

ACTIONS = frozenset({"typing_on", "sending_photo", "sending_video", "sending_audio", "sending_file"})
MOST_ADMINS = 50
_CHAT_ID = re.compile(r"-?[0-9]{1,19}")
MOST_ADDED = 100


class Chats:
    def __init__(
        self, world: World, state: State, updates: Updates, uploads: Uploads, messages: Messages
    ) -> None:
        self._world, self._state, self._updates = world, state, updates
        self._uploads, self._messages = uploads, messages

    # The chat itself

    def get(self, asked: Asked) -> dict[str, Any]:
        """By id; channels also by the name in their link."""
        given = asked.path["chatId"]
        if _CHAT_ID.fullmatch(given):
            chat = self._state.chats.get(int(given))
            if chat is None or not self._concerns(chat, asked.bot):
                raise no_chat(int(given))
            return chat_json(self._state, chat, asked.bot, asked.origin)
        found = self._state.chats.get(self._state.links.get(given.removeprefix("@").casefold(), 0))
        if found is None or found.kind is not ChatKind.CHANNEL or found.closed:
            raise Refusal(404, "chat.not.found", f"Chat {given[:200]} not found")
        return chat_json(self._state, found, asked.bot, asked.origin)

    def _concerns(self, chat: Chat, bot: Bot) -> bool:
        """Whether the bot is there, or was."""
        return bot.id in chat.gone or self._state.membership(chat, bot) is not None

    def patch(self, asked: Asked) -> dict[str, Any]:
        chat = self._admin_chat(asked, "change_chat_info")
        given = asked.json()
        title, icon, pin = given.text("title", least=1, most=200), given.object("icon"), given.text("pin")
        image = self._icon(icon) if icon is not None else chat.icon
        if title is not None and not visible(title):
            raise bad("Field 'title' cannot be blank")
        if pin is not None:
            self._pin(chat, pin, asked.bot)
        chat.icon = image
        if title is not None and title != chat.title:
            self.rename(chat, title, asked.bot)
        return chat_json(self._state, chat, asked.bot, asked.origin)

    def _icon(self, given: Payload) -> Media:
        """By its token; an address is an internal error, as it was seen."""
        token, url = given.text("token"), given.text("url")
        if not token:
            raise named("internal") if url and url.strip() else bad(NO_PHOTO)
        return self._uploads.usable("image", token)

    def rename(self, chat: Chat, title: str, user: User) -> None:
        chat.title = title
        self._record(chat, user, "renames" if not user.is_bot else "PATCH /chats/{chatId}", title)
        body = {"chat_id": chat.id, "title": title, **_doer(user)}
        self._updates.tell_readers(chat, "chat_title_changed", body, but=user.id)

    def act(self, asked: Asked) -> dict[str, Any]:
        chat = self._chat(asked)
        if chat.suspended:
            raise named("blocked", user=self._state.person_of(chat).id)
        if asked.json().required_text("action") not in ACTIONS:
            raise bad(CANNOT_READ)
        return {"success": True}

    # The pinned message

    def pinned(self, asked: Asked) -> dict[str, Any]:
        chat = self._admin_chat(asked)
        message = chat.messages.get(chat.pinned or "")
        return {"message": message_json(self._state, message, asked.origin)} if message else {}

    def pin(self, asked: Asked) -> dict[str, Any]:
        chat = self._admin_chat(asked, "pin_message")
        asked.json().flag("notify", True)
        self._pin(chat, asked.json().required_text("message_id"), asked.bot)
        return {"success": True}

    def _pin(self, chat: Chat, mid: str, bot: Bot) -> None:
        if chat_of(mid) is None:
            raise bad(f"Invalid message_id: {mid[:200]}")
        message = chat.messages.get(mid)
        if message is None:
            raise Refusal(404, "not.found", f"Message {mid[:200]} not found")
        chat.pinned = mid
        self._record(chat, bot, "PUT /chats/{chatId}/pin", message.text or "", mid)

    def unpin(self, asked: Asked) -> dict[str, Any]:
        chat = self._admin_chat(asked, "pin_message")
        if chat.pinned is None:
            raise Kept("There is no pinned message")
        mid, chat.pinned = chat.pinned, None
        self._record(chat, asked.bot, "DELETE /chats/{chatId}/pin", "", mid)
        return {"success": True}

    # Members

    def me(self, asked: Asked) -> dict[str, Any]:
        return member_json(self._state, self._chat(asked).members[asked.bot.id])

    def leave(self, asked: Asked) -> dict[str, Any]:
        chat = self._chat(asked)
        if chat.kind is ChatKind.DIALOG:
            raise named("access_denied")
        self.take_out(chat, asked.bot, asked.bot, "DELETE /chats/{chatId}/members/me")
        return {"success": True}

    def members(self, asked: Asked) -> dict[str, Any]:
        chat = self._admin_chat(asked)
        wanted = [whole("user_ids", each) for each in asked.listed("user_ids")[:MOST_ADDED]]
        if wanted:
            return {"members": self._shown(chat.members[each] for each in wanted if each in chat.members)}
        count, begin = asked.between("count", 20, 1, 100), max(asked.number("marker") or 0, 0)
        everybody = list(chat.members.values())
        page: dict[str, Any] = {"members": self._shown(everybody[begin : begin + count])}
        return page if begin + count >= len(everybody) else page | {"marker": begin + count}

    def add(self, asked: Asked) -> dict[str, Any]:
        chat = self._admin_chat(asked, "add_remove_members")
        given = asked.json().items("user_ids")
        if given is None:
            raise bad("Field 'user_ids' cannot be null")
        if len(given) > MOST_ADDED:
            raise bad(f"Field 'user_ids' size ({len(given)}) must be at most {MOST_ADDED}")
        numbers = [whole("user_ids", each) for each in given]
        if all(number in chat.members for number in numbers):
            raise Kept("There is nobody to add")
        failed: list[int] = []
        for number in numbers:
            user = self._state.users.get(number)
            if user is None or number in chat.banned:
                failed.append(number)
            elif number not in chat.members:
                self.bring_in(chat, user, asked.bot, "POST /chats/{chatId}/members")
        if not failed:
            return {"success": True}
        why = {"error_code": "add.participant.not.found", "user_ids": failed}
        return {"success": False, "failed_user_ids": failed, "failed_user_details": [why]}

    def remove(self, asked: Asked) -> dict[str, Any]:
        chat = self._admin_chat(asked, "add_remove_members")
        user = self._state.users.get(whole("user_id", asked.required("user_id")))
        member = chat.members.get(user.id) if user else None
        if user is None or member is None:
            raise Kept("User is not a member of the chat")
        if member.owner:
            raise Kept("The owner of the chat cannot be removed")
        if asked.flag("block") and chat.link is not None:
            chat.banned.add(user.id)
        self.take_out(chat, user, asked.bot, "DELETE /chats/{chatId}/members")
        return {"success": True}

    def admins(self, asked: Asked) -> dict[str, Any]:
        chat = self._admin_chat(asked)
        return {"members": self._shown(member for member in chat.members.values() if member.admin)}

    def appoint(self, asked: Asked) -> dict[str, Any]:
        """What is given replaces what they had; all of it is checked first."""
        chat = self._admin_chat(asked, "add_admins")
        given = asked.json().items("admins")
        if given is None:
            raise bad("Field 'admins' cannot be null")
        appointed = [self._read_admin(chat, each) for each in given]
        numbers = {member.user for member, _, _ in appointed}
        others = [each for each in chat.members.values() if each.admin and each.user not in numbers]
        if len(others) + len(numbers) > MOST_ADMINS:
            raise bad(f"Number of administrators must be at most {MOST_ADMINS}")
        for member, permissions, alias in appointed:
            member.permissions, member.alias = permissions, alias
            name = self._state.users[member.user].name
            self._record(chat, asked.bot, "POST /chats/{chatId}/members/admins", name)
        return {"success": True}

    def _read_admin(self, chat: Chat, given: Any) -> tuple[Member, tuple[str, ...], str | None]:
        wish = as_object(given)
        member = chat.members.get(wish.integer("user_id") or 0)
        if member is None:
            raise bad("User is not a member of the chat")
        names = wish.items("permissions")
        if names is None:
            raise bad("Field 'permissions' cannot be null")
        permissions = read_permissions(chat.kind, names)
        if NEED_READING & set(permissions) and "read_all_messages" not in permissions:
            raise bad("Permission read_all_messages is required")
        if chat.kind is ChatKind.CHAT:
            permissions = tuple(dict.fromkeys((*permissions, "can_call")))
        return member, permissions, wish.text("alias")

    def dismiss(self, asked: Asked) -> dict[str, Any]:
        chat = self._admin_chat(asked, "add_admins")
        member = chat.members.get(whole("userId", asked.path["userId"]))
        if member is None or not member.admin or member.owner:
            raise Kept("User is not an administrator of the chat")
        member.permissions = member.alias = None
        name = self._state.users[member.user].name
        self._record(chat, asked.bot, "DELETE /chats/{chatId}/members/admins/{userId}", name)
        return {"success": True}

    # What people do as well

    def bring_in(self, chat: Chat, user: User, by: User, method: str) -> None:
        chat.members[user.id] = Member(user.id, self._state.now())
        chat.gone.pop(user.id, None)
        self._record(chat, by, method, user.name)
        where = {"chat_id": chat.id, "is_channel": chat.kind is ChatKind.CHANNEL}
        if isinstance(user, Bot):
            self._updates.tell(user, "bot_added", chat, {**where, **_doer(by)})
        inviter = {} if by is user else {"inviter_id": by.id}
        body = {**where, **_doer(user), **inviter}
        self._updates.tell_readers(chat, "user_added", body, but=by.id)

    def take_out(self, chat: Chat, user: User, by: User, method: str) -> None:
        where = {"chat_id": chat.id, "is_channel": chat.kind is ChatKind.CHANNEL}
        chat.members.pop(user.id, None)
        if isinstance(user, Bot):
            chat.gone[user.id] = "left" if by is user else "removed"
            if by is not user:
                self._updates.tell(user, "bot_removed", chat, {**where, **_doer(by)})
        self._record(chat, by, method, user.name)
        remover = {} if by is user else {"admin_id": by.id}
        body = {**where, **_doer(user), **remover}
        self._updates.tell_readers(chat, "user_removed", body, but=by.id)

    def _chat(self, asked: Asked) -> Chat:
        return self._state.chat_for(asked.bot, whole("chatId", asked.path["chatId"]))

    def _admin_chat(self, asked: Asked, permission: str | None = None) -> Chat:
        if self._chat(asked).kind is ChatKind.DIALOG:
            raise bad("Method is not available for dialogs")
        return self._state.admin_chat(asked.bot, whole("chatId", asked.path["chatId"]), permission)

    def _shown(self, members: Any) -> list[dict[str, Any]]:
        return [member_json(self._state, member) for member in members]

    def _record(self, chat: Chat, user: User, method: str, text: str, mid: str = "") -> None:
        actor = (user.username or user.name) if user.is_bot else user.name
        self._world.ledger.record(self._world.clock.now(), "max", actor, chat.id, method, mid, text)


def visible(title: str) -> bool:
    """Whether there is more in it than spaces and signs without width."""
    return any(not sign.isspace() and unicodedata.category(sign) != "Cf" for sign in title)


def read_permissions(kind: ChatKind, names: list[Any]) -> tuple[str, ...]:
    """Old names become new ones; what this kind of chat does not have is refused."""
    known = all_permissions(kind)
    given = [RENAMED_PERMISSIONS.get(name, name) if isinstance(name, str) else "" for name in names]
    for name in given:
        if name not in known:
            raise bad(f"Permission is not available: {name}" if name else CANNOT_READ)
    return tuple(dict.fromkeys(given))


def _doer(user: User) -> dict[str, Any]:
    """Chat events carry the user whole, and the id beside it."""
    return {"user": user_json(user), "user_id": user.id}
