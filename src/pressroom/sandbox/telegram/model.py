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

    @property
    def name(self) -> str:
        return f"{self.first_name} {self.last_name}" if self.last_name else self.first_name

    def as_json(self) -> dict[str, Any]:
        said: dict[str, Any] = {"id": self.id, "is_bot": self.is_bot, "first_name": self.first_name}
        for name in ("last_name", "username", "language_code"):
            value = getattr(self, name)
            if value is not None:
                said[name] = value
        return said


@dataclass(slots=True)
class About:
    """What a bot says about itself. Keys are texts, as a state file needs them."""

    commands: dict[str, list[dict[str, str]]] = field(default_factory=dict[str, list[dict[str, str]]])
    said: dict[str, str] = field(default_factory=dict[str, str])  # by what it is, and its language
    menus: dict[str, dict[str, Any]] = field(default_factory=dict[str, dict[str, Any]])  # by person; "" for all
    rights: dict[str, dict[str, bool]] = field(default_factory=dict[str, dict[str, bool]])


@dataclass(slots=True)
class Bot(User):
    token: str = field(default="", repr=False)
    about: About = field(default_factory=About, repr=False)
    reads_groups: bool = False  # all that is written there: privacy mode is off


@dataclass(slots=True)
class Member:
    """`status` in the Bot API's words; `rights` of an administrator or of a restricted one.

    A restriction or a ban lasts `until`, in Unix seconds; 0 is for ever.
    """

    status: str = "member"
    rights: dict[str, bool] = field(default_factory=dict[str, bool])
    until: int = 0
    title: str | None = None


@dataclass(slots=True)
class Chat:
    """`id` as the Bot API shows it. Bots that stand not among the members are what `bots_are` says.

    To bots a dialog has the id of its person, whichever bot it is with. `key` tells dialogs apart, in the ledger and in
    the control API: it is the id as well, but for a person's second bot and further ones.
    """

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
    key: int = 0

    def __post_init__(self) -> None:
        self.key = self.key or self.id

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
        if self.is_forum:
            said["is_forum"] = True
        said["type"] = self.type
        return said


@dataclass(slots=True)
class Picture:
    """A thumbnail or a cover; `file_unique` names its content."""

    file_unique: str
    size: int
    width: int
    height: int


@dataclass(slots=True)
class Media:
    """`kind` is the message's field: photo, video, animation, audio, voice, video_note, sticker, document.

    `file_unique` names the content: the SHA-256 of its bytes.
    """

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
    thumbnail: Picture | None = None
    cover: Picture | None = None
    start_timestamp: int = 0
    emoji: str | None = None  # of a sticker


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
    keyboard: dict[str, Any] | None = None  # what takes the place of people's keyboard, and no answer shows
    content: dict[str, Any] | None = None  # what is neither text nor file: {"dice": {...}}
    quote: dict[str, Any] | None = None
    external_reply: dict[str, Any] | None = None
    reactions: dict[str, dict[str, str]] | None = None  # of bots, by their ids


@dataclass(slots=True)
class Message:
    """`text` is the caption where there is media. `sender` is None where the chat itself speaks (a channel).

    `author` is who sent it in truth, which a channel does not show: a bot edits and is asked about what is its own.
    """

    id: int
    at: float
    sender: User | None
    text: str
    entities: tuple[Entity, ...] = ()
    more: More | None = None
    author: User | None = None
