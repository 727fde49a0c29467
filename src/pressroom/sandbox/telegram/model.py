"""What Telegram knows: users, chats, members, messages. Values that say themselves in the Bot API's JSON."""

from dataclasses import dataclass, field
from typing import Any

from pressroom.core.markup import Entity

#: In what order chats and people are numbered that nobody numbered himself.
FIRST_PERSON = 5_000_000_001
FIRST_BOT = 1_000_000_001


@dataclass(slots=True)
class User:
    id: int
    first_name: str
    username: str | None = None
    is_bot: bool = False
    last_name: str | None = None
    language_code: str | None = None

    def as_json(self) -> dict[str, Any]:
        said: dict[str, Any] = {"id": self.id, "is_bot": self.is_bot, "first_name": self.first_name}
        for name in ("last_name", "username", "language_code"):
            value = getattr(self, name)
            if value is not None:
                said[name] = value
        return said


@dataclass(slots=True)
class Bot(User):
    token: str = field(default="", repr=False)


@dataclass(slots=True)
class Member:
    """`status` in the Bot API's words; `rights` of an administrator or of a restricted one."""

    status: str = "member"
    rights: dict[str, bool] = field(default_factory=dict[str, bool])


@dataclass(slots=True)
class Chat:
    """`id` as the Bot API shows it. Bots that stand not among the members are what `bots_are` says."""

    id: int
    title: str
    type: str = "channel"
    username: str | None = None
    bots_are: str = "administrator"
    is_forum: bool = False
    members: dict[int, Member] = field(default_factory=dict[int, Member])
    messages: "dict[int, Message]" = field(default_factory=dict[int, "Message"], repr=False)
    last_message_id: int = 0
    pinned: list[int] = field(default_factory=list[int])  # the newest last
    upgraded_to: int | None = None
    deleted: bool = False
    person: User | None = None  # of a private chat: who talks with the bot `bot_id`
    bot_id: int = 0
    extra: dict[str, Any] = field(default_factory=dict[str, Any])  # description, topics, menu

    def as_json(self) -> dict[str, Any]:
        if self.person is not None:
            said = {"id": self.id, "first_name": self.person.first_name}
            if self.person.last_name is not None:
                said["last_name"] = self.person.last_name
            if self.person.username is not None:
                said["username"] = self.person.username
            return {**said, "type": "private"}
        said = {"id": self.id, "title": self.title}
        if self.username is not None:
            said["username"] = self.username
        said["type"] = self.type
        return {**said, "is_forum": True} if self.is_forum else said


@dataclass(slots=True)
class Media:
    """`kind` is the message's field: photo, video, animation, audio, voice, document. `file_unique` names the content."""

    kind: str
    file_unique: str
    name: str | None = None
    mime: str | None = None
    size: int = 0
    width: int = 0
    height: int = 0
    duration: int = 0
    performer: str | None = None
    title: str | None = None
    spoiler: bool = False
    caption_above: bool = False


@dataclass(slots=True)
class More:
    """What most messages have not."""

    media: Media | None = None
    album: str | None = None
    reply_to: int | None = None
    reply_markup: dict[str, Any] | None = None
    thread: int | None = None
    forward_origin: dict[str, Any] | None = None
    edited_at: float | None = None
    link_preview: dict[str, Any] | None = None
    protected: bool = False
    service: dict[str, Any] | None = None  # the field of a service message: {"new_chat_members": [...]}
    via_bot: int | None = None
    effect_id: str | None = None


@dataclass(slots=True)
class Message:
    """`text` is the caption where there is media. `sender` is None where the chat itself speaks (a channel)."""

    id: int
    at: float
    sender: User | None
    text: str
    entities: tuple[Entity, ...] = ()
    more: More | None = None
