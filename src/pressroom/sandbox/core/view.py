"""How the control API, the window and the command line see an emulator, whatever its provider.

Everything here is JSON as the window reads it: names of fields are part of the control API. Absent fields are left
out. Texts come with entities in UTF-16 units, in Telegram's names for both providers.
"""

from collections.abc import Mapping
from typing import Any, NotRequired, Protocol, TypedDict


class ActorView(TypedDict):
    id: int
    name: str
    kind: str  # "bot", "person", "channel"
    username: NotRequired[str]


class ChatView(TypedDict):
    id: int
    kind: str  # "private", "group", "supergroup", "channel"; MAX: "dialog", "chat", "channel"
    title: str
    username: NotRequired[str]
    bots: list[ActorView]  # those in the chat, at most 20
    people: list[ActorView]  # as well
    messages: int  # how many there are now
    last: NotRequired["MessageView"]
    state: NotRequired[str]  # "blocked", "migrated", "deleted": why it is quiet


class EntityView(TypedDict):
    type: str
    offset: int
    length: int
    url: NotRequired[str]
    user_id: NotRequired[int]
    language: NotRequired[str]
    unix_time: NotRequired[int]
    date_time_format: NotRequired[str]


class MediaView(TypedDict):
    kind: str  # "photo", "video", "animation", "audio", "voice", "document", "sticker", "location", "contact"
    name: NotRequired[str]
    type: NotRequired[str]  # MIME
    size: NotRequired[int]
    width: NotRequired[int]
    height: NotRequired[int]
    duration: NotRequired[int]
    spoiler: NotRequired[bool]
    file: NotRequired[str]  # GET /sandbox/{provider}/files/{file} gives the bytes while they are kept
    title: NotRequired[str]


class ButtonView(TypedDict):
    text: str
    kind: str  # "callback", "url", "copy", "contact", "location", "app", "message", "other"
    data: NotRequired[str]  # what "presses" sends, the address it opens, or the text it copies


class MessageView(TypedDict):
    id: int | str
    at: float
    sender: ActorView
    text: str
    entities: NotRequired[list[EntityView]]
    media: NotRequired[list[MediaView]]
    buttons: NotRequired[list[list[ButtonView]]]
    album: NotRequired[str]  # messages with the same album belong together
    reply_to: NotRequired[dict[str, Any]]  # {"id", "sender", "text"}
    forwarded_from: NotRequired[str]
    edited_at: NotRequired[float]
    pinned: NotRequired[bool]
    views: NotRequired[int]
    service: NotRequired[bool]  # "Anna joined": the text is what happened
    thread: NotRequired[int]
    preview: NotRequired[dict[str, str]]  # {"url", ...}: a link preview that would be shown
    caption_above: NotRequired[bool]


class NoSuch(LookupError):
    """A chat, message, person, bot or file that is not there; the text says which."""


class NotPossible(ValueError):
    """A wish that makes no sense; the text says why and what would."""


class Provider(Protocol):
    """What an emulator offers besides its provider's own API. Raises `NoSuch` and `NotPossible`."""

    name: str  # "telegram", "max"
    errors: Mapping[str, Any]  # that a fault may name

    def resolve_chat(self, given: str | int) -> int:
        """A chat's id, from its id in any spelling or its @name."""
        ...

    def find_chats(self, wanted: str = "") -> list[int]:
        """Those with that in their title or name, in any case; those with the newest message first."""
        ...

    def chats(self) -> list[ChatView]:
        """All of them, in that order."""
        ...

    def chat(self, chat: int) -> ChatView: ...

    def messages_of(self, chat: int, *, before: int | str | None = None, limit: int = 50) -> list[MessageView]:
        """The newest ones before that message, oldest first."""
        ...

    def message(self, chat: int, message_id: int | str) -> MessageView: ...

    def bots(self) -> list[ActorView]: ...

    def people(self) -> list[ActorView]: ...

    def file(self, file: str) -> tuple[str, bytes]:
        """MIME type and content."""
        ...

    def add(self, what: str, wish: Mapping[str, Any]) -> dict[str, Any]:
        """Make a "chat", "bot" or "person"; unknown fields are `NotPossible`. Answers with its view."""
        ...

    def act(self, verb: str, wish: Mapping[str, Any]) -> dict[str, Any]:
        """A person's deed, or something that happens to a chat; `VERBS` lists both.

        Answers with what came of it: `{"chat", "message_id"}` where a message did.
        """
        ...

    def state(self) -> dict[str, Any]:
        """Everything that a state file keeps, as JSON."""
        ...

    def restore(self, state: Mapping[str, Any]) -> None: ...

    async def aclose(self) -> None: ...


#: What `act` understands, and what each wish holds. `?` marks what may be left out.
VERBS: Mapping[str, str] = {
    "writes": "person, chat or bot, text?, media?, parse_mode?, reply_to?: a message; a bot means their dialog",
    "presses": "person, chat, message_id, data or (row, column): an inline button; answers with callback_id",
    "starts": "person, bot, payload?: opens the dialog, as /start or a deep link does",
    "blocks": "person, bot: stops the bot",
    "unblocks": "person, bot",
    "edits": "person, chat, message_id, text",
    "deletes": "person, chat, message_id",
    "joins": "person, chat",
    "leaves": "person, chat",
    "posts": "chat, text?, media?, parse_mode?: the channel's owner posts",
    "adds_bot": "chat, bot, rights?: as administrator, or with fewer rights",
    "removes_bot": "chat, bot: kicked",
    "restricts_bot": "chat, bot, rights: what the bot may still do",
    "migrates": "chat: a group becomes a supergroup (Telegram)",
    "renames": "chat, title",
    "closes": "chat: deleted for everybody",
}
