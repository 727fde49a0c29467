"""Texts and captions as a method gets them: read in their dialect, or with the entities that came along."""

from typing import Any, cast

from pressroom.core.markup import Dialect, Entity, EntityType, Markup, ParseFailed, fix, parse
from pressroom.sandbox.telegram.fields import Fields, Malformed, decode
from pressroom.sandbox.telegram.parameters import Parameters
from pressroom.sandbox.telegram.refusal import bad_request

TEXT_BYTES = 1 << 15  # as received
TEXT_LENGTH = 4096  # code points, once parsed and trimmed
CAPTION_LENGTH = 1024

_TYPES = {one.value: one for one in EntityType}
#: Entities that Telegram always finds by itself; given ones are passed over.
_FOUND = frozenset(
    {"mention", "hashtag", "cashtag", "bot_command", "url", "email", "phone_number", "bank_card_number"}
)


def read_text(parameters: Parameters, text: str = "text", entities: str = "entities") -> Markup:
    """What was written and how it is marked, as `get_formatted_text` of the real server reads it."""
    given = parameters.text(entities)
    return formatted(
        parameters.text(text), parameters.text("parse_mode"), json_or_none(given) if given else None
    )


def json_or_none(given: str) -> Any:
    """The server takes broken entities for none."""
    try:
        return decode(given, any_text=True)
    except Malformed:
        return None


def formatted(given: str, mode: str, entities: Any = None) -> Markup:
    """`entities` as `decode` gives them; what is no list counts as none."""
    try:
        size = len(given.encode())
    except UnicodeEncodeError:
        raise bad_request("strings must be encoded in UTF-8") from None
    if size > TEXT_BYTES:
        raise bad_request("text is too long")
    if given and mode and mode.lower() != "none":
        dialect = Dialect.named(mode)
        if dialect is None:
            raise bad_request("unsupported parse_mode")
        try:
            return parse(given, dialect)
        except ParseFailed as error:
            raise bad_request(error.message) from None
    return Markup(given, _given_entities(entities)) if entities else Markup(given)


def as_sent(markup: Markup, *, longest: int, too_long: str, may_be_empty: bool = False) -> Markup:
    """What sending makes of it: cleaned, trimmed, links and hashtags found; refused when nothing or too much is left."""
    if may_be_empty and not markup.text:
        return Markup("")
    try:
        sent = fix(markup)
    except ParseFailed as error:
        if may_be_empty and "must be non-empty" in error.message:
            return Markup("")
        raise bad_request(error.message) from None
    if len(sent.text) > longest:
        raise bad_request(too_long)
    return sent


def caption_as_sent(markup: Markup, *, too_long: str = "message caption is too long") -> Markup:
    return as_sent(markup, longest=CAPTION_LENGTH, too_long=too_long, may_be_empty=True)


def clean_name(text: str, longest: int) -> str:
    """A title as Telegram keeps it: blanks joined, ends trimmed, cut to a length."""
    return " ".join(text.split())[:longest].strip()


def _given_entities(given: Any) -> tuple[Entity, ...]:
    if not isinstance(given, list):
        return ()
    try:
        found = [_given_entity(one) for one in cast("list[object]", given)]
    except Malformed as error:
        raise bad_request(f"can't parse MessageEntity: {error}") from None
    return tuple(one for one in found if one is not None)


def _given_entity(given: object) -> Entity | None:
    said = Fields.of(given, "expected an Object")
    offset, length = said.required_integer("offset"), said.required_integer("length")
    name = said.required_text("type")
    if not name:
        raise Malformed("Type is not specified")
    if name in _FOUND:
        return None
    if name not in _TYPES:
        raise Malformed("Unsupported type specified")
    kind = _TYPES[name]
    match kind:
        case EntityType.PRE:
            return Entity(kind, offset, length, language=said.text("language") or None)
        case EntityType.TEXT_LINK:
            return Entity(kind, offset, length, url=said.required_text("url"))
        case EntityType.TEXT_MENTION:
            user = said.required_object("user")
            return Entity(kind, offset, length, user_id=user.required_integer("id", bits=64))
        case EntityType.CUSTOM_EMOJI:
            number = said.required_integer("custom_emoji_id", bits=64)
            return Entity(kind, offset, length, custom_emoji_id=str(number))
        case EntityType.DATE_TIME:
            at = said.required_integer("unix_time")
            shown = _date_format(said.text("date_time_format"))
            return Entity(kind, offset, length, unix_time=at, date_time_format=shown)
        case _:
            return Entity(kind, offset, length)


def _date_format(given: str) -> str:
    if given in ("r", "R"):
        return "r"
    if not set(given) <= set("tTdDwW"):
        raise Malformed("Invalid date-time format specified")
    day = "w" if set(given) & set("wW") else ""
    date = next((sign for sign in reversed(given) if sign in "dD"), "")
    time = next((sign for sign in reversed(given) if sign in "tT"), "")
    return day + date + time
