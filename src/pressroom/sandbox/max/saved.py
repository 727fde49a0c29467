"""What a state file keeps of MAX: everything but upload addresses that were not used, and buttons not yet answered."""

from dataclasses import dataclass, field
from typing import Any

from pydantic import Base64Bytes, TypeAdapter

from pressroom.sandbox.max.model import Bot, Chat, Media, User


@dataclass(slots=True)
class SavedFile:
    media: Media
    content: Base64Bytes | None


@dataclass(slots=True)
class SavedSubscription:
    bot: int
    url: str
    time: int
    types: list[str] | None
    secret: str | None


@dataclass(slots=True)
class SavedUpdate:
    bot: int
    number: int
    at: float
    type: str
    chat: int
    body: dict[str, Any]


@dataclass(slots=True)
class Saved:
    bots: list[Bot] = field(default_factory=list[Bot])
    people: list[User] = field(default_factory=list[User])
    chats: list[Chat] = field(default_factory=list[Chat])
    files: list[SavedFile] = field(default_factory=list[SavedFile])
    subscriptions: list[SavedSubscription] = field(default_factory=list[SavedSubscription])
    updates: list[SavedUpdate] = field(default_factory=list[SavedUpdate])


_SAVED = TypeAdapter(Saved)


def as_json(saved: Saved) -> dict[str, Any]:
    return _SAVED.dump_python(saved, mode="json")


def from_json(given: Any) -> Saved:
    """Raises ValueError for what is no state of MAX."""
    return _SAVED.validate_python(given)
