"""Inline keyboards: which buttons there are, how many fit, and how MAX words what does not."""

from typing import Any
from urllib.parse import urlsplit

from pressroom.sandbox.max.errors import bad
from pressroom.sandbox.max.model import Attachment
from pressroom.sandbox.max.request import CANNOT_READ, Payload, as_object

MOST_BUTTONS, MOST_ROWS, MOST_IN_ROW, MOST_WIDE_IN_ROW = 210, 30, 7, 3
WIDE = frozenset({"link", "open_app", "request_geo_location", "request_contact"})
INTENTS = frozenset({"default", "positive", "negative"})


def read_keyboard(payload: Payload | None) -> Attachment:
    rows = payload.items("buttons") if payload is not None else None
    if rows is None:
        raise bad("Field 'buttons' cannot be null")
    read = [_row(row) for row in rows]
    count = sum(map(len, read))
    if not count:
        raise bad("Field 'buttons' size (0) must be at least 1")
    if len(read) > MOST_ROWS:
        raise bad(f"Field 'buttons' size ({len(read)}) must be at most {MOST_ROWS}")
    if count > MOST_BUTTONS:
        raise bad(f"Number of buttons ({count}) must be at most {MOST_BUTTONS}")
    return Attachment("inline_keyboard", fields={"payload": {"buttons": read}})


def _row(given: Any) -> list[dict[str, Any]]:
    if not isinstance(given, list):
        raise bad(CANNOT_READ)
    row = [_button(as_object(button)) for button in given]  # pyright: ignore[reportUnknownVariableType] - JSON
    most = MOST_WIDE_IN_ROW if any(button["type"] in WIDE for button in row) else MOST_IN_ROW
    if len(row) > most:
        raise bad(f"Number of buttons in a row ({len(row)}) must be at most {most}")
    return row


def _button(given: Payload) -> dict[str, Any]:
    type_ = given.text("type")
    if type_ not in _FIELDS:
        raise bad(CANNOT_READ)
    text = given.required_text("text", least=1, most=128)
    return {**_FIELDS[type_](given), "text": text, "type": type_}


def _callback(given: Payload) -> dict[str, Any]:
    button: dict[str, Any] = {"payload": given.required_text("payload", most=1024)}
    intent = given.text("intent")
    if intent is not None:
        if intent not in INTENTS:
            raise bad(CANNOT_READ)
        button["intent"] = intent
    return button


def _link(given: Payload) -> dict[str, Any]:
    url = given.required_text("url", most=2048)
    try:
        parts = urlsplit(url)
        fits = parts.scheme in ("http", "https") and bool(parts.hostname)
    except ValueError:
        fits = False
    if not fits:
        raise bad("Must have only http/https links format in buttons")
    return {"url": url}


def _clipboard(given: Payload) -> dict[str, Any]:
    return {"payload": given.required_text("payload", most=1024)}


def _location(given: Payload) -> dict[str, Any]:
    return {"quick": given.flag("quick", False)}


def _app(given: Payload) -> dict[str, Any]:
    app, contact, payload = given.text("web_app"), given.integer("contact_id"), given.text("payload")
    if app is None and contact is None:
        raise bad("Field 'webApp' cannot be null")
    fields = {"web_app": app, "contact_id": contact, "payload": payload}
    return {name: value for name, value in fields.items() if value is not None}


def _nothing_more(_given: Payload) -> dict[str, Any]:
    return {}


_FIELDS = {
    "callback": _callback,
    "link": _link,
    "clipboard": _clipboard,
    "request_geo_location": _location,
    "request_contact": _nothing_more,
    "open_app": _app,
    "message": _nothing_more,
}
