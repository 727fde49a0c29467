"""The socket of platforms: what a plug is handed, what it returns, and how it declares itself.

A plug sends once. It returns a `Receipt` or raises `ProviderError`; it does not retry, wait for its turn,
count, or touch the database.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from enum import StrEnum
from typing import Any, Protocol, runtime_checkable

import aiohttp
from pydantic import BaseModel

from pressroom.core.ids import ChannelId, TraceId, WorkspaceId


@dataclass(frozen=True, slots=True, kw_only=True)
class Channel:
    """Where to send. `settings` holds the plug's own keys and those that hold for all platforms."""

    workspace_id: WorkspaceId
    platform: str
    channel_id: ChannelId
    target_id: str
    auth_ref: str
    rate_group: str
    settings: Mapping[str, Any] = field(default_factory=dict[str, Any])
    token: str = field(default="", repr=False)

    def with_token(self, token: str) -> "Channel":
        """The same channel with its secret, as late and as briefly as possible."""
        return replace(self, token=token)


class ParseMode(StrEnum):
    """How the text is marked up, in our words; a plug maps it to its platform's."""

    HTML = "HTML"
    MARKDOWN = "Markdown"
    NONE = "None"


@dataclass(frozen=True, slots=True)
class Button:
    """A link below the post."""

    text: str
    url: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SendMeta:
    """How to send. `buttons` are rows of buttons; `attempt` counts from 1; `timeout` bounds the whole send."""

    trace_id: TraceId
    idempotency_key: str
    parse_mode: ParseMode = ParseMode.NONE
    disable_preview: bool = False
    buttons: tuple[tuple[Button, ...], ...] = ()
    attempt: int = 1
    timeout: timedelta = timedelta(seconds=60)


class MediaKind(StrEnum):
    """What it is."""

    IMAGE = "image"
    VIDEO = "video"
    AUDIO = "audio"
    FILE = "file"
    OTHER = "other"


class MediaRef(StrEnum):
    """What `Media.ref` is: a public address, or a name that the platform or our store knows."""

    URL = "url"
    FILE_ID = "file_id"
    BLOB_REF = "blob_ref"
    ATTACHMENT_TOKEN = "attachment_token"  # noqa: S105 - the name of a kind of reference


@dataclass(frozen=True, slots=True, kw_only=True)
class Media:
    """One item of a post; the order of the items is part of the post."""

    type: MediaRef
    ref: str
    kind: MediaKind
    caption: str | None = None
    meta: Mapping[str, Any] = field(default_factory=dict[str, Any])


@dataclass(frozen=True, slots=True)
class Receipt:
    """The platform has it. `raw` is its answer, without secrets, for events and support."""

    provider_message_id: str
    raw: Mapping[str, Any] = field(default_factory=dict[str, Any])


@runtime_checkable
class Platform(Protocol):
    """An opened plug; it serves every channel of its platform, many at once."""

    async def send_text(self, channel: Channel, text: str, meta: SendMeta) -> Receipt: ...

    async def send_media(
        self, channel: Channel, media: Sequence[Media], text: str | None, links: Sequence[str], meta: SendMeta
    ) -> Receipt: ...


@dataclass(frozen=True, slots=True)
class Limits:
    """What preflight refuses before anything is sent: code points of a text and of a caption, items of an album."""

    text: int
    caption: int
    album: int = 1


@dataclass(frozen=True, slots=True)
class Credential:
    """The secret that a channel of this platform needs: what it is called there, and where to get it."""

    title: str
    hint: str


@dataclass(frozen=True, slots=True)
class PlatformContext:
    """What a plug is opened with.

    `defaults` are channel settings that the owner of the installation gave for the whole platform, such as
    `base_url` of an own Bot API server. What a channel says itself wins over them.
    """

    http: aiohttp.ClientSession
    defaults: Mapping[str, Any] = field(default_factory=dict[str, Any])


@dataclass(frozen=True, slots=True, kw_only=True)
class PlatformPlug:
    """A platform's declaration, the constant `PLUG` of its module; forms, checks and pages derive from it."""

    name: str
    title: str
    limits: Limits
    settings: type[BaseModel]
    credential: Credential
    open: Callable[[PlatformContext], Platform]
