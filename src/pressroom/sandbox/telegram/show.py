"""What the window and the control API see of the emulator, and do in it: `core.view.Provider`.

A chat's `id` here is its key. That is the Bot API's id, but for dialogs: to bots each of a person's dialogs has that
person's id, here only the first one has. All can be named "<bot>:<person>".
"""

from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Any, Literal, cast

from pydantic import Field

from pressroom.core.markup import EntityType
from pressroom.sandbox.core.view import (
    ActorView,
    ButtonView,
    ChatView,
    EntityView,
    MediaView,
    MessageView,
    NoSuch,
    NotPossible,
)
from pressroom.sandbox.telegram.deeds import Deeds, Wish, read
from pressroom.sandbox.telegram.hearing import INSIDE
from pressroom.sandbox.telegram.model import FIRST_BOT, Chat, Media, Message, More, User
from pressroom.sandbox.telegram.state import PROVIDER, State

SHOWN_MEMBERS = 20
#: What only the Bot API's answers say, and people do not see.
_HIDDEN = frozenset({EntityType.BANK_CARD_NUMBER})
_OPENS = {
    "callback_data": "callback", "url": "url", "login_url": "url", "web_app": "app", "copy_text": "copy",
    "request_contact": "contact", "request_location": "location",
}  # fmt: skip


class NewChat(Wish):
    title: str = Field(min_length=1, max_length=128)
    kind: Literal["group", "supergroup", "channel"] = "channel"
    username: str | None = Field(None, pattern=r"^@?[A-Za-z][A-Za-z0-9_]{3,31}$")
    id: int | None = None
    bots_are: Literal["administrator", "member", "left"] = "administrator"
    is_forum: bool = False


class NewBot(Wish):
    username: str = Field(pattern=r"^@?[A-Za-z][A-Za-z0-9_]{3,31}$")
    token: str | None = Field(None, pattern=r"^[1-9][0-9]{0,15}:[A-Za-z0-9_-]+$", max_length=80)
    name: str | None = Field(None, min_length=1, max_length=64)
    reads_groups: bool = False


class NewPerson(Wish):
    name: str = Field(min_length=1, max_length=64)
    username: str | None = Field(None, pattern=r"^@?[A-Za-z][A-Za-z0-9_]{3,31}$")
    last_name: str | None = Field(None, max_length=64)
    language: str | None = Field(None, max_length=35)


class Show:
    """`self` is the emulator; everything it knows is in the state and below it."""

    name = PROVIDER

    def __init__(self, state: State, deeds: Deeds) -> None:
        self._state, self._deeds = state, deeds

    # What there is

    def resolve_chat(self, given: str | int) -> int:
        return self._state.chat_given(given).key

    def find_chats(self, wanted: str = "") -> list[int]:
        wanted = wanted.casefold()
        found = [
            chat
            for chat in (*self._state.chats.values(), *self._state.dialogs.values())
            if not wanted or wanted in _title(chat).casefold() or wanted in (chat.username or "").casefold()
        ]
        return [chat.key for chat in sorted(found, key=_newest, reverse=True)]

    def chats(self) -> list[ChatView]:
        return [self.chat(chat) for chat in self.find_chats()]

    def chat(self, chat: int) -> ChatView:
        return self._chat_view(self._chat(chat))

    def messages_of(self, chat: int, *, before: int | str | None = None, limit: int = 50) -> list[MessageView]:
        where = self._chat(chat)
        numbers = reversed(where.messages)
        if before is not None:
            end = _number(before)
            numbers = (number for number in numbers if number < end)
        newest = list(islice(numbers, limit))[::-1]
        return [self._message_view(where, where.messages[number]) for number in newest]

    def message(self, chat: int, message_id: int | str) -> MessageView:
        where = self._chat(chat)
        found = where.messages.get(_number(message_id))
        if found is None:
            raise NoSuch(f"there is no message {message_id} in {where.title}")
        return self._message_view(where, found)

    def bots(self) -> list[ActorView]:
        return [_actor(bot) for bot in self._state.bots_by_id.values()]

    def people(self) -> list[ActorView]:
        return [_actor(person) for person in self._state.people.values()]

    def file(self, file: str) -> tuple[str, bytes]:
        known, content = self._state.files.known(file), self._state.files.content(file)
        if known is None or content is None:
            raise NoSuch(f"there is no file {file!r}, or its content was dropped")
        return known.mime, content

    def _chat(self, key: int) -> Chat:
        found = self._state.chat_of_key(key)
        if found is None:
            raise NoSuch(f"there is no chat {key}")
        return found

    def _chat_view(self, chat: Chat) -> ChatView:
        view: ChatView = {
            "id": chat.key,
            "kind": chat.type,
            "title": _title(chat),
            "bots": self._bots_in(chat),
            "people": self._people_in(chat),
            "messages": len(chat.messages),
        }
        if chat.username:
            view["username"] = chat.username
        if chat.messages:
            view["last"] = self._message_view(chat, chat.messages[next(reversed(chat.messages))])
        if quiet := _quiet(chat):
            view["state"] = quiet
        return view

    def _bots_in(self, chat: Chat) -> list[ActorView]:
        if chat.person is not None:
            return [_actor(self._state.bots_by_id[chat.bot_id])]
        inside = (
            bot for bot in self._state.bots_by_id.values() if self._state.member(chat, bot).status in INSIDE
        )
        return [_actor(bot) for bot in islice(inside, SHOWN_MEMBERS)]

    def _people_in(self, chat: Chat) -> list[ActorView]:
        if chat.person is not None:
            return [_actor(chat.person)]
        inside = (
            self._state.people[number]
            for number, member in chat.members.items()
            if member.status in INSIDE and number in self._state.people
        )
        return [_actor(person) for person in islice(inside, SHOWN_MEMBERS)]

    def _message_view(self, chat: Chat, message: Message) -> MessageView:
        view: MessageView = {
            "id": message.id,
            "at": message.at,
            "sender": _sender(chat, message),
            "text": message.text,
        }
        entities = [_entity(one) for one in message.entities if one.type not in _HIDDEN]
        if entities:
            view["entities"] = entities
        if message.id in chat.pinned:
            view["pinned"] = True
        if message.more is not None:
            self._add_more(chat, message.more, view)
        if preview := _preview(message):
            view["preview"] = preview
        return view

    def _add_more(self, chat: Chat, more: More, view: MessageView) -> None:
        if more.service is not None:
            view["service"] = True
            view["text"] = _service_text(view["sender"]["name"], more.service)
        if more.content is not None:
            _add_content(more.content, view)
        if more.media is not None:
            view["media"] = [_media(more.media)]
            if more.media.caption_above:
                view["caption_above"] = True
        if buttons := _buttons(more):
            view["buttons"] = buttons
        if more.album is not None:
            view["album"] = more.album
        if more.thread is not None:
            view["thread"] = more.thread
        if more.edited_at is not None:
            view["edited_at"] = more.edited_at
        if more.forward_origin is not None:
            view["forwarded_from"] = _origin(more.forward_origin)
        if more.reply_to is not None:
            view["reply_to"] = _replied(chat, more.reply_to)

    # What somebody wants to be there

    def add(self, what: str, wish: Mapping[str, Any]) -> dict[str, Any]:
        match what:
            case "chat":
                return cast("dict[str, Any]", self._add_chat(read(NewChat, wish)))
            case "bot":
                return cast("dict[str, Any]", self._add_bot(read(NewBot, wish)))
            case "person":
                return cast("dict[str, Any]", self._add_person(read(NewPerson, wish)))
            case _:
                raise NotPossible(f"nobody can add a {what}; there is chat, bot and person")

    def _add_chat(self, wish: NewChat) -> ChatView:
        state = self._state
        number = state.free_chat_id(wish.kind) if wish.id is None else wish.id
        if number in state.chats:
            raise NotPossible(f"there is a chat {number} already")
        if number >= 0 or (number <= -1_000_000_000_000) != (wish.kind != "group"):
            raise NotPossible("groups have ids from -1, supergroups and channels from -1000000000001 downwards")
        username = self._free_name(wish.username)
        chat = Chat(number, wish.title, wish.kind, username, wish.bots_are, is_forum=wish.is_forum)
        return self._chat_view(state.add_chat(chat))

    def _add_bot(self, wish: NewBot) -> ActorView:
        state = self._state
        username = self._free_name(wish.username) or ""
        number = FIRST_BOT
        while number in state.bots_by_id:
            number += 1
        token = wish.token or f"{number}:{state.secret('token', 35)}"
        if int(token.partition(":")[0]) in state.bots_by_id:
            raise NotPossible(f"there is a bot {token.partition(':')[0]} already")
        bot = state.add_bot(token, username, wish.name)
        bot.reads_groups = wish.reads_groups
        return cast("ActorView", {**_actor(bot), "token": token})

    def _add_person(self, wish: NewPerson) -> ActorView:
        username = self._free_name(wish.username)
        return _actor(
            self._state.add_person(
                wish.name, username=username, last_name=wish.last_name, language=wish.language
            )
        )

    def _free_name(self, given: str | None) -> str | None:
        if given is None:
            return None
        name = given.removeprefix("@")
        low = name.lower()
        taken = (
            f"@{low}" in self._state.names
            or low in self._state.bots_by_name
            or any((one.username or "").lower() == low for one in self._state.people.values())
        )
        if taken:
            raise NotPossible(f"the name @{name} is taken")
        return name

    def act(self, verb: str, wish: Mapping[str, Any]) -> dict[str, Any]:
        return self._deeds.act(verb, wish)


def _title(chat: Chat) -> str:
    return chat.title if chat.person is None else chat.person.name


def _newest(chat: Chat) -> float:
    """When the newest message came that is still known; 0 where there is none."""
    return chat.messages[next(reversed(chat.messages))].at if chat.messages else 0


def _number(given: int | str) -> int:
    try:
        return int(given)
    except ValueError:
        raise NoSuch(f"there is no message {given!r}") from None


def _actor(user: User) -> ActorView:
    view: ActorView = {"id": user.id, "name": user.name, "kind": "bot" if user.is_bot else "person"}
    if user.username:
        view["username"] = user.username
    return view


def _sender(chat: Chat, message: Message) -> ActorView:
    if message.sender is not None:
        return _actor(message.sender)
    view: ActorView = {"id": chat.key, "name": chat.title, "kind": "channel"}
    if chat.username:
        view["username"] = chat.username
    return view


def _quiet(chat: Chat) -> str | None:
    if chat.upgraded_to is not None:
        return "migrated"
    if chat.deleted:
        return "deleted"
    return "blocked" if chat.extra.get("blocked") else None


def _entity(entity: Any) -> EntityView:
    view: EntityView = {"type": entity.type.value, "offset": entity.offset, "length": entity.length}
    for name in ("url", "user_id", "language", "unix_time", "date_time_format"):
        value = getattr(entity, name)
        if value is not None:
            view[name] = value
    return view


def _media(media: Media) -> MediaView:
    view: MediaView = {"kind": media.kind, "file": media.file_unique}
    given = {
        "name": media.name, "type": media.mime, "size": media.size, "width": media.width, "height": media.height,
        "duration": media.duration, "spoiler": media.spoiler, "title": media.title,
    }  # fmt: skip
    for name, value in given.items():
        if value:
            view[name] = value
    return view


def _add_content(content: Mapping[str, Any], view: MessageView) -> None:
    """What is neither text nor file, as well as a window can show it."""
    for kind, said in content.items():
        match kind:
            case "contact":
                name = " ".join(filter(None, (said.get("first_name"), said.get("last_name"))))
                view["media"] = [{"kind": "contact", "title": f"{name} {said.get('phone_number', '')}".strip()}]
            case "venue":
                view["media"] = [{"kind": "location", "title": said["title"]}]
            case "location" if "media" not in view:
                view["media"] = [{"kind": "location", "title": f"{said['latitude']}, {said['longitude']}"}]
            case "dice":
                view["text"] = f"{said['emoji']} {said['value']}"
            case "poll":
                view["text"] = "\n".join(
                    [said["question"], *(f"— {one['text']}" for one in said.get("options", ()))]
                )
            case _:
                pass


def _buttons(more: More) -> list[list[ButtonView]]:
    """Under the message; or those that take the place of the keyboard."""
    if more.reply_markup is not None:
        rows = more.reply_markup.get("inline_keyboard", [])
        return [[_inline_button(one) for one in row] for row in rows]
    rows = (more.keyboard or {}).get("keyboard", [])
    return [[_keyboard_button(one) for one in row] for row in rows]


def _inline_button(button: Mapping[str, Any]) -> ButtonView:
    for name, kind in _OPENS.items():
        if name in button:
            value = button[name]
            if isinstance(value, Mapping):
                inner = cast("Mapping[str, Any]", value)
                value = inner.get("url") or inner.get("text") or ""
            return {"text": button["text"], "kind": kind, "data": str(value)}
    return {"text": button["text"], "kind": "other"}


def _keyboard_button(button: Any) -> ButtonView:
    if not isinstance(button, Mapping):
        return {"text": str(button), "kind": "message", "data": str(button)}
    said = cast("Mapping[str, Any]", button)
    text = str(said.get("text", ""))
    for name, kind in _OPENS.items():
        if said.get(name):
            return {"text": text, "kind": kind}
    return {"text": text, "kind": "message", "data": text}


def _origin(origin: Mapping[str, Any]) -> str:
    match origin.get("type"):
        case "user":
            user = origin["sender_user"]
            return " ".join(filter(None, (user["first_name"], user.get("last_name"))))
        case "chat":
            return str(origin["sender_chat"]["title"])
        case "channel":
            return str(origin["chat"]["title"])
        case _:
            return str(origin.get("sender_user_name", ""))


def _replied(chat: Chat, number: int) -> dict[str, Any]:
    replied = chat.messages.get(number)
    if replied is None:
        return {"id": number, "sender": "", "text": ""}
    return {"id": number, "sender": _sender(chat, replied)["name"], "text": replied.text}


def _preview(message: Message) -> dict[str, str] | None:
    """The link that a messenger would show a card of."""
    more = message.more
    if more is not None and (more.media is not None or more.service is not None):
        return None
    options = (None if more is None else more.link_preview) or {}
    if options.get("is_disabled"):
        return None
    if options.get("url"):
        return {"url": str(options["url"])}
    for entity in message.entities:
        if entity.type is EntityType.TEXT_LINK and entity.url:
            return {"url": entity.url}
        if entity.type is EntityType.URL:
            units = message.text.encode("utf-16-le")
            address = units[2 * entity.offset : 2 * (entity.offset + entity.length)].decode("utf-16-le")
            return {"url": address if "://" in address else f"http://{address}"}
    return None


def _service_text(who: str, service: Mapping[str, Any]) -> str:
    """What happened, in a sentence."""
    for field, said in service.items():
        match field:
            case "new_chat_members":
                return _joined(who, said)
            case "left_chat_member":
                name = _name(said)
                return f"{name} left" if name == who else f"{who} removed {name}"
            case "new_chat_title":
                return f"The name is {said} now"
            case "new_chat_photo":
                return "There is a new picture"
            case "delete_chat_photo":
                return "The picture was removed"
            case "pinned_message":
                return f"{who} pinned a message"
            case "migrate_to_chat_id":
                return "The group became a supergroup"
            case "migrate_from_chat_id":
                return "This supergroup was a group"
            case "forum_topic_created":
                return f"{who} began the topic {said['name']}"
            case _:
                continue
    return ", ".join(name.replace("_", " ") for name in service)


def _joined(who: str, members: Sequence[Mapping[str, Any]]) -> str:
    names = [_name(one) for one in members]
    return f"{who} joined" if names == [who] else f"{who} added {', '.join(names)}"


def _name(user: Mapping[str, Any]) -> str:
    return " ".join(filter(None, (str(user["first_name"]), user.get("last_name"))))
