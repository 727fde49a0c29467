"""Texts and captions as a method gets them: read in their dialect, or with the entities that came along."""

import json
from typing import Any, cast

from pressroom.core.markup import Dialect, Entity, EntityType, Markup, ParseFailed, fix, parse
from pressroom.sandbox.telegram.parameters import Parameters
from pressroom.sandbox.telegram.refusal import bad_request

TEXT_BYTES = 1 << 15  # as received
TEXT_LENGTH = 4096  # code points, once parsed and trimmed
CAPTION_LENGTH = 1024

_TYPES = {one.value: one for one in EntityType}


def read_text(parameters: Parameters, text: str = "text", entities: str = "entities") -> Markup:
    """What was written and how it is marked, as `get_formatted_text` of the real server reads it."""
    return formatted(parameters.text(text), parameters.text("parse_mode"), parameters.text(entities))


def formatted(given: str, mode: str, entities: Any) -> Markup:
    """`entities` as JSON text, or as what was inside a larger JSON."""
    try:
        size = len(given.encode())
    except UnicodeEncodeError:
        raise bad_request("strings must be encoded in UTF-8") from None
    if size > TEXT_BYTES:
        raise bad_request("text is too long")
    if mode and mode.lower() != "none":
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


def _given_entities(given: Any) -> tuple[Entity, ...]:
    if isinstance(given, str):
        try:
            given = json.loads(given)
        except (ValueError, RecursionError):
            raise bad_request("can't parse entities JSON object") from None
    if not isinstance(given, list):
        raise bad_request("can't parse entities: expected an Array of entities")
    return tuple(_given_entity(one) for one in cast("list[object]", given))


def _given_entity(given: object) -> Entity:
    if not isinstance(given, dict):
        raise bad_request("can't parse entities: expected an Object")
    said = cast("dict[str, Any]", given)
    try:
        kind = _TYPES[str(said.get("type"))]
        user = cast("object", said.get("user"))
        return Entity(
            kind,
            int(said["offset"]),
            int(said["length"]),
            url=said.get("url") if kind is EntityType.TEXT_LINK else None,
            user_id=_user_id(user) if kind is EntityType.TEXT_MENTION else None,
            language=said.get("language") if kind is EntityType.PRE else None,
            custom_emoji_id=said.get("custom_emoji_id") if kind is EntityType.CUSTOM_EMOJI else None,
            unix_time=said.get("unix_time") if kind is EntityType.DATE_TIME else None,
            date_time_format=said.get("date_time_format") if kind is EntityType.DATE_TIME else None,
        )
    except (KeyError, ValueError, TypeError) as error:
        raise bad_request(f"can't parse entities: {error}") from None


def _user_id(user: object) -> int:
    if not isinstance(user, dict):
        raise TypeError("expected a User")
    return int(cast("dict[str, Any]", user)["id"])
