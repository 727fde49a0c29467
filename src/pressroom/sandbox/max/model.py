"""The things of MAX: users, chats, messages and what hangs on them. Times are Unix milliseconds, as in the API."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from pressroom.sandbox.max.markup import Element

LARGEST = (1 << 63) - 1
_MID = re.compile(r"mid\.[0-9a-f]{32}")


class ChatKind(StrEnum):
    DIALOG = "dialog"
    CHAT = "chat"
    CHANNEL = "channel"


#: Older names that still come in requests.
RENAMED_PERMISSIONS = {
    "post_edit_delete_message": "write",
    "edit_message": "edit",
    "delete_message": "delete",
}
PERMISSIONS = (
    "read_all_messages",
    "add_remove_members",
    "add_admins",
    "change_chat_info",
    "pin_message",
    "write",
    "can_call",
    "edit_link",
    "edit",
    "delete",
)
_NOT_IN = {ChatKind.CHANNEL: {"can_call", "edit_link"}, ChatKind.CHAT: {"edit", "delete"}}
#: These go only together with the right to read.
NEED_READING = frozenset({"edit", "delete", "write", "pin_message"})


def all_permissions(kind: ChatKind) -> tuple[str, ...]:
    without: set[str] = _NOT_IN.get(kind, set())
    return tuple(name for name in PERMISSIONS if name not in without)


@dataclass(slots=True)
class User:
    """A person. The live server sends persons' empty last names and leaves out those of bots."""

    id: int
    first_name: str
    last_name: str | None = ""
    username: str | None = None
    active_at: int = 0
    description: str | None = None
    locale: str = "ru"

    is_bot = False

    @property
    def name(self) -> str:
        return f"{self.first_name} {self.last_name or ''}".strip()


@dataclass(slots=True)
class Bot(User):
    token: str = field(default="", repr=False)
    commands: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    origin: str = "http://127.0.0.1"  # where its last request came to; files in its updates are to be had there

    is_bot = True


@dataclass(slots=True)
class Member:
    user: int
    joined_at: int
    owner: bool = False
    permissions: tuple[str, ...] | None = None  # None: no administrator
    alias: str | None = None

    @property
    def admin(self) -> bool:
        return self.owner or self.permissions is not None

    def may(self, permission: str) -> bool:
        return self.owner or (self.permissions is not None and permission in self.permissions)


@dataclass(slots=True)
class Media:
    """An uploaded file, or an image taken from an address. Bytes are kept elsewhere, as long as there is room."""

    id: int
    kind: str  # "image", "video", "audio", "file"
    token: str
    name: str = ""
    type: str = "application/octet-stream"
    size: int = 0
    sha256: str = ""
    width: int | None = None
    height: int | None = None
    duration: int | None = None
    ready_at: float | None = None  # seconds on the sandbox's clock; None before the bytes came
    expires_at: float | None = None


@dataclass(frozen=True, slots=True)
class Attachment:
    """`media` is what was uploaded; everything else is in `fields`, as the API shows it. `title` is for people."""

    type: str
    media: Media | None = None
    fields: Mapping[str, Any] = field(default_factory=dict[str, Any])
    title: str = ""
    automatic: bool = False  # a preview that nobody asked for


@dataclass(frozen=True, slots=True)
class Link:
    """A copy of the message that is answered or forwarded: it stays when the other one is deleted."""

    type: str  # "reply", "forward"
    chat: int
    author: int
    signed: bool
    mid: str
    seq: int
    text: str | None
    markup: tuple[Element, ...]
    attachments: tuple[Attachment, ...]


@dataclass(slots=True)
class Message:
    mid: str
    seq: int
    chat: int
    at: int
    author: int
    text: str | None = None
    markup: tuple[Element, ...] = ()
    attachments: tuple[Attachment, ...] = ()
    link: Link | None = None
    edited_at: int | None = None
    views: int = 0

    @property
    def keyboard(self) -> Attachment | None:
        return next((each for each in self.attachments if each.type == "inline_keyboard"), None)

    @property
    def buttons(self) -> list[list[dict[str, Any]]]:
        keyboard = self.keyboard
        return keyboard.fields["payload"]["buttons"] if keyboard else []


@dataclass(slots=True)
class Chat:
    """`everyones`: made without naming bots, so that each bot is an administrator until it is said otherwise."""

    id: int
    kind: ChatKind
    title: str | None = None
    link: str | None = None
    description: str | None = None
    icon: Media | None = None
    signed: bool = False  # a channel that shows who wrote a post
    owner: int | None = None
    members: dict[int, Member] = field(default_factory=dict[int, Member])
    messages: dict[str, Message] = field(default_factory=dict[str, Message])
    written: int = 0
    last_seq: int = 0
    last_event_at: int = 0
    pinned: str | None = None
    everyones: bool = False
    gone: dict[int, str] = field(default_factory=dict[int, str])  # bots that were "removed" or have "left"
    banned: set[int] = field(default_factory=set[int])
    closed: bool = False
    suspended: bool = False  # a dialog whose person stopped the bot

    @property
    def shows_authors(self) -> bool:
        return self.kind is not ChatKind.CHANNEL or self.signed

    @property
    def newest(self) -> Message | None:
        return next(reversed(self.messages.values()), None)


@dataclass(frozen=True, slots=True)
class NewChat:
    """A chat to begin with. `link` is its public name, without `@`."""

    id: int
    title: str
    kind: ChatKind = ChatKind.CHANNEL
    link: str | None = None
    bots: Iterable[str] | None = None  # user names; None makes it everyone's
    signed: bool = False


def mid_of(chat: int, seq: int) -> str:
    return f"mid.{chat & 0xFFFF_FFFF_FFFF_FFFF:016x}{seq:016x}"


def chat_of(mid: str) -> int | None:
    """The chat that a message's id names; None when it is no message's id."""
    if not _MID.fullmatch(mid):
        return None
    chat = int(mid[4:20], 16)
    return chat - (1 << 64) if chat > LARGEST else chat
