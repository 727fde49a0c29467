"""What a person does, or what happens to a chat, as the control API says it: each verb reads its wish and is done."""

import base64
import binascii
from collections.abc import Callable, Mapping
from typing import Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from pressroom.sandbox.core.view import NoSuch, NotPossible
from pressroom.sandbox.telegram.model import Bot, Chat, Media, Message, User
from pressroom.sandbox.telegram.people import Button, People
from pressroom.sandbox.telegram.state import State

W = TypeVar("W", bound="Wish")


class Wish(BaseModel):
    model_config = ConfigDict(extra="forbid")


class NewMedia(Wish):
    kind: Literal["photo", "video", "animation", "audio", "voice", "document"]
    data: str
    name: str | None = None
    type: str | None = None


class Deed(Wish):
    """A wish of one verb. Chats, people and bots by id or name."""

    person: int | str = ""
    chat: int | str = ""
    bot: int | str = ""


class Says(Deed):
    text: str = ""
    media: list[NewMedia] = Field(default_factory=list[NewMedia])
    parse_mode: str | None = None
    reply_to: int | None = None


class Presses(Deed):
    message_id: int
    data: str | None = None
    row: int | None = None
    column: int | None = None


class Starts(Deed):
    payload: str | None = None


class OnMessage(Deed):
    message_id: int
    text: str = ""


class OnBot(Deed):
    rights: dict[str, bool] | None = None


class Renames(Deed):
    title: str


class Deeds:
    def __init__(self, state: State, people: People) -> None:
        self._state, self._people = state, people
        self._verbs: Mapping[str, Callable[[Mapping[str, Any]], dict[str, Any]]] = {
            "writes": self._writes,
            "presses": self._presses,
            "starts": self._starts,
            "blocks": self._blocks,
            "unblocks": self._unblocks,
            "edits": self._edits,
            "deletes": self._deletes,
            "joins": self._joins,
            "leaves": self._leaves,
            "posts": self._posts,
            "adds_bot": self._adds_bot,
            "removes_bot": self._removes_bot,
            "restricts_bot": self._restricts_bot,
            "migrates": self._migrates,
            "renames": self._renames,
            "closes": self._closes,
        }

    def act(self, verb: str, wish: Mapping[str, Any]) -> dict[str, Any]:
        if verb not in self._verbs:
            raise NoSuch(f"nobody can do {verb!r} here; there is {', '.join(self._verbs)}")
        return self._verbs[verb](wish)

    def _writes(self, wish: Mapping[str, Any]) -> dict[str, Any]:
        deed = read(Says, wish)
        person = self._who(deed)
        where = deed.bot or deed.chat
        if not where:
            raise NotPossible("a chat or a bot is needed")
        chat = self._state.place(person, where)
        message = self._people.writes(
            person,
            chat,
            deed.text,
            parse_mode=deed.parse_mode,
            reply_to=deed.reply_to,
            media=[self._keep(one) for one in deed.media],
        )
        return _came_of(chat, message)

    def _posts(self, wish: Mapping[str, Any]) -> dict[str, Any]:
        deed = read(Says, wish)
        chat = self._where(deed)
        media = [self._keep(one) for one in deed.media]
        return _came_of(chat, self._people.posts(chat, deed.text, parse_mode=deed.parse_mode, media=media))

    def _presses(self, wish: Mapping[str, Any]) -> dict[str, Any]:
        deed = read(Presses, wish)
        person = self._who(deed)
        button: Button
        if deed.data is not None:
            button = deed.data
        elif deed.row is not None and deed.column is not None:
            button = (deed.row, deed.column)
        else:
            raise NotPossible("which button: data, or row and column, counted from 0")
        chat = self._state.place(person, deed.chat)
        query = self._people.presses(person, chat, deed.message_id, button)
        return {"chat": chat.key, "message_id": deed.message_id, "callback_id": query}

    def _starts(self, wish: Mapping[str, Any]) -> dict[str, Any]:
        deed = read(Starts, wish)
        person, bot = self._who(deed), self._bot(deed)
        message = self._people.starts(person, bot, deed.payload)
        return _came_of(self._state.dialog(bot, person), message)

    def _blocks(self, wish: Mapping[str, Any]) -> dict[str, Any]:
        deed = read(Deed, wish)
        person, bot = self._who(deed), self._bot(deed)
        self._people.blocks(person, bot)
        return {"chat": self._state.dialog(bot, person).key}

    def _unblocks(self, wish: Mapping[str, Any]) -> dict[str, Any]:
        deed = read(Deed, wish)
        person, bot = self._who(deed), self._bot(deed)
        self._people.unblocks(person, bot)
        return {"chat": self._state.dialog(bot, person).key}

    def _edits(self, wish: Mapping[str, Any]) -> dict[str, Any]:
        deed = read(OnMessage, wish)
        person = self._who(deed)
        chat = self._state.place(person, deed.chat)
        return _came_of(chat, self._people.edits(person, chat, deed.message_id, deed.text))

    def _deletes(self, wish: Mapping[str, Any]) -> dict[str, Any]:
        deed = read(OnMessage, wish)
        person = self._who(deed)
        chat = self._state.place(person, deed.chat)
        self._people.deletes(person, chat, deed.message_id)
        return {"chat": chat.key, "message_id": deed.message_id}

    def _joins(self, wish: Mapping[str, Any]) -> dict[str, Any]:
        deed = read(Deed, wish)
        chat = self._where(deed)
        return _came_of(chat, self._people.joins(self._who(deed), chat))

    def _leaves(self, wish: Mapping[str, Any]) -> dict[str, Any]:
        deed = read(Deed, wish)
        chat = self._where(deed)
        return _came_of(chat, self._people.leaves(self._who(deed), chat))

    def _adds_bot(self, wish: Mapping[str, Any]) -> dict[str, Any]:
        deed = read(OnBot, wish)
        chat = self._where(deed)
        return _came_of(chat, self._people.adds_bot(chat, self._bot(deed), deed.rights))

    def _removes_bot(self, wish: Mapping[str, Any]) -> dict[str, Any]:
        deed = read(Deed, wish)
        chat = self._where(deed)
        return _came_of(chat, self._people.removes_bot(chat, self._bot(deed)))

    def _restricts_bot(self, wish: Mapping[str, Any]) -> dict[str, Any]:
        deed = read(OnBot, wish)
        chat = self._where(deed)
        self._people.restricts_bot(chat, self._bot(deed), deed.rights or {})
        return {"chat": chat.key}

    def _migrates(self, wish: Mapping[str, Any]) -> dict[str, Any]:
        return {"chat": self._people.migrates(self._where(read(Deed, wish))).key}

    def _renames(self, wish: Mapping[str, Any]) -> dict[str, Any]:
        deed = read(Renames, wish)
        chat = self._where(deed)
        return _came_of(chat, self._people.renames(chat, deed.title))

    def _closes(self, wish: Mapping[str, Any]) -> dict[str, Any]:
        chat = self._where(read(Deed, wish))
        self._people.closes(chat)
        return {"chat": chat.key}

    def _who(self, deed: Deed) -> User:
        if not deed.person:
            raise NotPossible("a person is needed, by id or by name")
        return self._state.person_given(deed.person)

    def _bot(self, deed: Deed) -> Bot:
        if not deed.bot:
            raise NotPossible("a bot is needed, by its user name")
        return self._state.bot_named(deed.bot)

    def _where(self, deed: Deed) -> Chat:
        if not deed.chat:
            raise NotPossible("a chat is needed, by id or by @name")
        return self._state.chat_given(deed.chat)

    def _keep(self, wish: NewMedia) -> Media:
        try:
            content = base64.b64decode(wish.data, validate=True)
        except (binascii.Error, ValueError):
            raise NotPossible("the data of a medium is base64") from None
        return self._people.medium(wish.kind, content, wish.name, wish.type)


def read(kind: type[W], wish: Mapping[str, Any]) -> W:
    try:
        return kind.model_validate(dict(wish))
    except ValidationError as error:
        said = "; ".join(f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in error.errors())
        raise NotPossible(said) from None


def _came_of(chat: Chat, message: Message | None) -> dict[str, Any]:
    return {"chat": chat.key} if message is None else {"chat": chat.key, "message_id": message.id}
