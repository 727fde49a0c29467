"""What marked-up text is: characters, and entities that lie over them.

Offsets and lengths count UTF-16 code units, as everywhere in Telegram; names are those of the Bot API.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Self

from pressroom.core.errors import InvalidInput


class Dialect(StrEnum):
    """The Bot API's values of `parse_mode`."""

    HTML = "HTML"
    MARKDOWN_V2 = "MarkdownV2"
    MARKDOWN = "Markdown"

    @classmethod
    def named(cls, name: str) -> Self | None:
        """In any case, as the Bot API takes it."""
        return next((one for one in cls if one.lower() == name.lower()), None)


class EntityType(StrEnum):
    MENTION = "mention"
    HASHTAG = "hashtag"
    CASHTAG = "cashtag"
    BOT_COMMAND = "bot_command"
    URL = "url"
    EMAIL = "email"
    PHONE_NUMBER = "phone_number"
    BANK_CARD_NUMBER = "bank_card_number"
    BOLD = "bold"
    ITALIC = "italic"
    UNDERLINE = "underline"
    STRIKETHROUGH = "strikethrough"
    SPOILER = "spoiler"
    BLOCKQUOTE = "blockquote"
    EXPANDABLE_BLOCKQUOTE = "expandable_blockquote"
    CODE = "code"
    PRE = "pre"
    TEXT_LINK = "text_link"
    TEXT_MENTION = "text_mention"
    CUSTOM_EMOJI = "custom_emoji"
    DATE_TIME = "date_time"


@dataclass(frozen=True, slots=True)
class Entity:
    """`date_time_format` is empty where a date is shown as its text stands."""

    type: EntityType
    offset: int
    length: int
    url: str | None = None
    user_id: int | None = None
    language: str | None = None
    custom_emoji_id: str | None = None
    unix_time: int | None = None
    date_time_format: str | None = None

    @property
    def end(self) -> int:
        return self.offset + self.length


@dataclass(frozen=True, slots=True)
class Markup:
    """`entities` are sorted: by offset, the longer first, and then by type as Telegram sorts them."""

    text: str
    entities: tuple[Entity, ...] = ()


class ParseFailed(InvalidInput):
    """The text is not what its dialect allows. `message` is the Bot API's description, less `Bad Request: `."""


def refusal(reason: str) -> ParseFailed:
    """`reason` is in TDLib's words."""
    return ParseFailed(f"can't parse entities: {reason}")
