"""One request to the Bot API: who asks, what for, and the parameters and JSON of it, checked as MAX words it."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, cast
from urllib.parse import parse_qsl

from pressroom.sandbox.core.wire import read_json as read_any
from pressroom.sandbox.max.errors import bad
from pressroom.sandbox.max.model import LARGEST, Bot

_NUMBER = re.compile(r"[+-]?\d{1,19}", re.ASCII)
_DEEPEST = 64  # levels of JSON; a message needs seven

CANNOT_READ = "Can't deserialize body"


@dataclass(slots=True)
class Asked:
    bot: Bot
    method: str  # "PUT /chats/{chatId}/pin"
    path: Mapping[str, str]
    query: Mapping[str, str]
    body: bytes
    origin: str  # scheme, host and port that the client came to
    _json: "Payload | None" = field(default=None, init=False)

    def json(self) -> "Payload":
        if self._json is None:
            self._json = Payload(read_json(self.body))
        return self._json

    def required(self, name: str) -> str:
        value = self.query.get(name, "")
        if not value.strip():
            raise bad(f"Missing required parameter: {name}")
        return value

    def number(self, name: str) -> int | None:
        given = self.query.get(name, "")
        return None if given in ("", "null") else number(name, given)

    def between(self, name: str, default: int, least: int, most: int) -> int:
        value = self.number(name)
        if value is None:
            return default
        if value > most:
            raise bad(f"Field '{name}' value ({value}) must be at most {most}")
        if value < least:
            raise bad(f"Field '{name}' value ({value}) must be at least {least}")
        return value

    def flag(self, name: str) -> bool:
        return self.query.get(name, "").lower() in ("true", "1")

    def listed(self, name: str) -> list[str]:
        return [part for part in self.query.get(name, "").split(",") if part]


def query_of(raw: bytes) -> dict[str, str]:
    """The first of a name counts."""
    try:
        pairs = parse_qsl(raw.decode("latin-1"), keep_blank_values=True, errors="strict", max_num_fields=1_000)
    except (UnicodeDecodeError, ValueError):
        raise bad("Query string is not valid") from None
    return dict(reversed(pairs))


def number(name: str, given: str) -> int:
    if not _NUMBER.fullmatch(given) or not -LARGEST - 1 <= int(given) <= LARGEST:
        raise bad(f"Invalid value of parameter: {name}")
    return int(given)


def read_json(body: bytes) -> dict[str, Any]:
    """An object, or none of ours: broken, too deep, other encodings and lone surrogates are refused alike."""
    try:
        value = read_any(_utf8(body))
    except ValueError:
        raise bad(CANNOT_READ) from None
    if not isinstance(value, dict):
        raise bad(CANNOT_READ)
    given = cast("dict[str, Any]", value)
    if _deeper(given, _DEEPEST):
        raise bad(CANNOT_READ)
    return given


def _utf8(body: bytes) -> bytes:
    """As it is; no other encoding is guessed."""
    body.decode()
    return body


def _deeper(value: object, levels: int) -> bool:
    if isinstance(value, dict):
        inner = list(cast("dict[str, object]", value).values())
    elif isinstance(value, list):
        inner = cast("list[object]", value)
    else:
        return False
    return levels == 0 or any(_deeper(each, levels - 1) for each in inner)


class Payload:
    """A JSON object that is asked for its fields by type; null and absent are the same."""

    def __init__(self, given: Mapping[str, Any]) -> None:
        self._given = given

    def raw(self, name: str) -> Any:
        return self._given.get(name)

    def has(self, name: str) -> bool:
        return self._given.get(name) is not None

    def text(self, name: str, *, least: int = 0, most: int | None = None) -> str | None:
        value = self._given.get(name)
        if value is None:
            return None
        if not isinstance(value, str):
            raise bad(CANNOT_READ)
        check_size(name, value, least, most)
        return value

    def required_text(self, name: str, *, least: int = 0, most: int | None = None, shown: str = "") -> str:
        value = self.text(name, least=least, most=most)
        if value is None:
            raise bad(f"Field '{shown or name}' cannot be null")
        return value

    def flag(self, name: str, default: bool) -> bool:
        value = self._given.get(name)
        if value is None:
            return default
        if not isinstance(value, bool):
            raise bad(CANNOT_READ)
        return value

    def integer(self, name: str) -> int | None:
        value = self._given.get(name)
        return None if value is None else whole(name, value)

    def real(self, name: str) -> float:
        value = self._given.get(name)
        if value is None:
            raise bad(f"{name} cannot be null")
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise bad(CANNOT_READ)
        return float(value)

    def items(self, name: str) -> list[Any] | None:
        value = self._given.get(name)
        if value is None:
            return None
        if not isinstance(value, list):
            raise bad(CANNOT_READ)
        return cast("list[Any]", value)

    def object(self, name: str) -> "Payload | None":
        value = self._given.get(name)
        return None if value is None else as_object(value)

    def names(self) -> list[str]:
        return list(self._given)


def as_object(value: Any) -> Payload:
    if not isinstance(value, dict):
        raise bad(CANNOT_READ)
    return Payload(cast("dict[str, Any]", value))


def whole(name: str, value: Any) -> int:
    """A number, or the digits of one as a string, which the documents themselves show."""
    if isinstance(value, str):
        return number(name, value)
    if isinstance(value, bool) or not isinstance(value, int) or not -LARGEST - 1 <= value <= LARGEST:
        raise bad(CANNOT_READ)
    return value


def check_size(name: str, value: str, least: int, most: int | None) -> None:
    """Counted in UTF-16 units, as a server in Java does; MAX does not say."""
    size = len(value) if value.isascii() else len(value.encode("utf-16-le")) // 2
    if most is not None and size > most:
        raise bad(f"Field '{name}' size ({size}) must be at most {most}")
    if size < least:
        raise bad(f"Field '{name}' size ({size}) must be at least {least}")
