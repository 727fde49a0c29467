"""JSON inside parameters, read as the real server reads it: field by field, with its complaints.

A number where a text is wanted is that number as it was written, and a text of digits will do for a number.
"""

import json
import re
from typing import Any, NoReturn, Self, cast

from pressroom.sandbox.telegram.refusal import bad_request

_SHALLOW = 100  # levels, as deep as the server reads
_INTEGER = re.compile(r"0|-?[1-9]\d{0,18}", re.ASCII)


class Malformed(ValueError):
    """What is wrong with the JSON, in the server's words, as far as it says more than that it is no JSON."""


class Number(str):
    """As it was written."""

    __slots__ = ()


def decode(text: str, *, any_text: bool = False) -> Any:
    """Objects (with the first of each name), arrays, texts, `Number`, truths, None. Raises `Malformed`.

    Half characters are refused, unless the caller says that he looks at all texts himself.
    """
    try:
        value = json.loads(
            text,
            parse_int=Number,
            parse_float=Number,
            parse_constant=_no_constant,
            object_pairs_hook=lambda pairs: dict(reversed(pairs)),
        )
    except (ValueError, RecursionError):
        raise Malformed("no JSON") from None
    if _too_deep(value):
        raise Malformed("too deep")
    if not any_text and "\\ud" in text.lower():
        check_unicode(json.dumps(value, ensure_ascii=False))
    return value


def check_unicode(text: str) -> None:
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError:
            raise bad_request("strings must be encoded in UTF-8") from None


def _no_constant(name: str) -> NoReturn:
    raise ValueError(name)


def _too_deep(value: object) -> bool:
    level = [value]
    for _ in range(_SHALLOW):
        level = [
            inner
            for each in level
            if isinstance(each, dict | list)
            for inner in cast("list[object]", each if isinstance(each, list) else list(each.values()))
        ]
        if not level:
            return False
    return True


class Fields:
    """An object's fields. Raises `Malformed`."""

    def __init__(self, said: dict[str, Any]) -> None:
        self._said = said

    @classmethod
    def of(cls, value: object, otherwise: str) -> Self:
        """`otherwise` is the complaint about what is no object."""
        if not isinstance(value, dict):
            raise Malformed(otherwise)
        return cls(cast("dict[str, Any]", value))

    def __contains__(self, name: str) -> bool:
        return name in self._said

    def __len__(self) -> int:
        return len(self._said)

    def raw(self, name: str) -> Any:
        return self._said.get(name)

    def text(self, name: str, default: str = "") -> str:
        return self.required_text(name) if name in self._said else default

    def required_text(self, name: str) -> str:
        value = self._required(name)
        if not isinstance(value, str):
            raise Malformed(f'Field "{name}" must be of type String')
        return str(value)

    def truth(self, name: str) -> bool:
        value = self._said.get(name, False)
        if not isinstance(value, bool):
            raise Malformed(f'Field "{name}" must be of type Boolean')
        return value

    def integer(self, name: str, default: int = 0, *, bits: int = 32) -> int:
        return self.required_integer(name, bits=bits) if name in self._said else default

    def required_integer(self, name: str, *, bits: int = 32) -> int:
        value = self._required(name)
        if not isinstance(value, str):
            raise Malformed(f'Field "{name}" must be a Number')
        number = whole(value, bits=bits)
        if number is None:
            raise Malformed(f'Field "{name}" must be a valid Number')
        return number

    def array(self, name: str) -> list[Any] | None:
        if name not in self._said:
            return None
        value = self._said[name]
        if not isinstance(value, list):
            raise Malformed(f'Field "{name}" must be of type Array')
        return cast("list[Any]", value)

    def required_object(self, name: str) -> "Fields":
        return Fields.of(self._required(name), f'Field "{name}" must be of type Object')

    def _required(self, name: str) -> Any:
        if name not in self._said:
            raise Malformed(f'Can\'t find field "{name}"')
        return self._said[name]


def whole(text: str, *, bits: int) -> int | None:
    """A number that is written as it is printed, and fits; else None."""
    if _INTEGER.fullmatch(text) is None:
        return None
    number = int(text)
    return number if -(1 << bits - 1) <= number < 1 << bits - 1 else None
