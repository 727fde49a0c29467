"""The real parser: TDLib in the wheel tdjson, which works without a network. It is asked, and never imitated."""

import json
import platform
import sys
from typing import Any

import pytest

from pressroom.core.markup import Dialect, Entity

if sys.platform == "darwin" and platform.machine() != "arm64":
    pytest.skip("there is no wheel of tdjson, the real parser, for this platform", allow_module_level=True)

import tdjson

Answer = dict[str, Any]

_MODES: dict[Dialect, dict[str, object]] = {
    Dialect.HTML: {"@type": "textParseModeHTML"},
    Dialect.MARKDOWN_V2: {"@type": "textParseModeMarkdown", "version": 2},
    Dialect.MARKDOWN: {"@type": "textParseModeMarkdown", "version": 1},
}
_NAMES = {
    "EmailAddress": "email",
    "BlockQuote": "blockquote",
    "ExpandableBlockQuote": "expandable_blockquote",
    "PreCode": "pre",
    "TextUrl": "text_link",
    "MentionName": "text_mention",
}


def ask(question: dict[str, object]) -> Answer:
    return json.loads(tdjson.td_execute(json.dumps(question).encode()))


ask({"@type": "setLogVerbosityLevel", "new_verbosity_level": 0})


def parsed(text: str, dialect: Dialect) -> Answer:
    """In the form of the vectors."""
    return _answer(ask({"@type": "parseTextEntities", "text": text, "parse_mode": _MODES[dialect]}))


def detected(text: str) -> list[Answer]:
    return _entities(ask({"@type": "getTextEntities", "text": text})["entities"])


def tidied(text: str, entities: list[Entity]) -> Answer:
    """Text and entities as sending repairs them, before it trims and looks for more.

    TDLib does so around its own Markdown, of which the text must have no sign.
    """
    given = {"@type": "formattedText", "text": text, "entities": [_given(one) for one in entities]}
    return _answer(ask({"@type": "parseMarkdown", "text": given}))


def described(message: str) -> str:
    """As the Bot API words an error of TDLib."""
    keeps_case = len(message) > 1 and (message[1] == "_" or "A" <= message[1] <= "Z")
    return "Bad Request: " + (message if keeps_case else message[:1].lower() + message[1:])


def _answer(said: Answer) -> Answer:
    if said["@type"] == "error":
        return {"bot_api_description": described(said["message"])}
    return {"text": said["text"], "entities": _entities(said["entities"])}


def _entities(found: list[Answer]) -> list[Answer]:
    return [_entity(one) for one in found]


def _entity(one: Answer) -> Answer:
    kind = dict(one["type"])
    name = kind.pop("@type").removeprefix("textEntityType")
    said = {"type": _NAMES.get(name, _snake(name)), "offset": one["offset"], "length": one["length"]}
    if name == "DateTime":
        return {**said, "unix_time": kind["unix_time"], "raw": kind}
    return {**said, **kind}


def _given(entity: Entity) -> Answer:
    names = {said: name for name, said in _NAMES.items() if name != "PreCode"}
    name = names.get(entity.type) or "".join(word.title() for word in entity.type.split("_"))
    kind: Answer = {"@type": f"textEntityType{'PreCode' if entity.language is not None else name}"}
    for argument in ("url", "user_id", "language", "custom_emoji_id", "unix_time"):
        if (value := getattr(entity, argument)) is not None:
            kind[argument] = value
    return {"@type": "textEntity", "offset": entity.offset, "length": entity.length, "type": kind}


def _snake(name: str) -> str:
    return "".join("_" + sign.lower() if sign.isupper() else sign for sign in name).lstrip("_")
