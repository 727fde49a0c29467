"""Our parser's answers in the form of the vectors."""

from typing import Any

from pressroom.core.markup import Dialect, Markup, ParseFailed, detect, parse
from pressroom.core.markup.form import as_json


def parsed(text: str, dialect: Dialect) -> dict[str, Any]:
    try:
        return said(parse(text, dialect))
    except ParseFailed as error:
        return refused(error)


def detected(text: str) -> list[dict[str, object]]:
    return [as_json(entity) for entity in detect(text)]


def said(markup: Markup) -> dict[str, Any]:
    return {"text": markup.text, "entities": [as_json(entity) for entity in markup.entities]}


def refused(error: ParseFailed) -> dict[str, Any]:
    return {"bot_api_description": f"Bad Request: {error.message}"}
