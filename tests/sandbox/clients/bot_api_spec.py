"""The Bot API as its specification says it: what a client may send, and what a server may answer.

Read from two stored specifications: 10.1, which says what methods return, and 10.2, which has newer methods and
fields; what is named here of 10.3 comes on top. A field that only one of them has is allowed; it is required where
both require it. Complaints are sentences,
each with the place it is about: `sendMessage.text` in a call, `sendMessage().text` in its result. No complaint means
that everything conforms.
"""

import asyncio
import json
import os
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from email.parser import BytesParser
from email.policy import HTTP
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

import pytest

STORED = Path(__file__).resolve().parents[4] / "shared" / "facts" / "data"
WITH_RESULTS = "telegram_bot_api_10.1.json"
NEWER = "telegram_bot_api_10.2_aiogram_schema_trimmed.json"

#: Fields of 10.3 that its newest client, aiogram 3.31, does not do without.
OF_10_3 = {
    "ChatMemberAdministrator": {"can_send_welcome_messages": "Boolean"},
    "ChatAdministratorRights": {"can_send_welcome_messages": "Boolean"},
}

#: Parameters of the transport, which every method has.
OF_THE_TRANSPORT = frozenset({"method"})

#: One of these names, or lists of something: `("Integer", "String")`, `(ListOf(("PhotoSize",)),)`.
Types = tuple["str | ListOf", ...]


@dataclass(frozen=True, slots=True)
class ListOf:
    types: Types

    def __str__(self) -> str:
        return f"Array of {_said(self.types)}"


@dataclass(frozen=True, slots=True)
class Field:
    types: Types
    required: bool
    always: str | None = None  # the only value it may have


@dataclass(slots=True)
class Shape:
    """A type, or the parameters of a method."""

    fields: dict[str, Field] = field(default_factory=dict[str, Field])
    one_of: Types = ()
    returns: Types = ()  # empty where it is not known
    or_text: bool = False  # a text stands for it: the one on a keyboard's button


class BotApi:
    def __init__(self, types: Mapping[str, Shape], methods: Mapping[str, Shape]) -> None:
        self._types = types
        self._methods = {name.lower(): (name, method) for name, method in methods.items()}

    @classmethod
    def if_stored(cls, folder: Path = STORED) -> "BotApi | None":
        """None where nobody has stored the specifications; in CI they have to be there."""
        is_there = (folder / WITH_RESULTS).exists() or os.environ.get("CI")
        return cls.stored(folder) if is_there else None

    @classmethod
    def stored(cls, folder: Path = STORED) -> "BotApi":
        """Skips the test where nobody has stored the specifications, but not in CI."""
        if not (folder / WITH_RESULTS).exists() and not os.environ.get("CI"):
            pytest.skip(f"the Bot API's specification is not at hand: there is no {WITH_RESULTS} in {folder}")
        older, newer = (
            json.loads((folder / name).read_text(encoding="utf-8")) for name in (WITH_RESULTS, NEWER)
        )
        return cls.of(older, newer)

    @classmethod
    def of(cls, older: Mapping[str, Any], newer: Mapping[str, Any]) -> "BotApi":
        types = _merged(older["types"], newer["types"])
        for name, fields in OF_10_3.items():
            types[name].fields |= {label: Field((type_,), required=False) for label, type_ in fields.items()}
        return cls(types, _merged(older["methods"], newer["methods"]))

    def complaints_of_call(
        self, method: str, parameters: Mapping[str, Any], files: Collection[str] = ()
    ) -> list[str]:
        """`parameters` as they came: texts, or JSON values. `files` are the names of the uploaded parts."""
        if method.lower() not in self._methods:
            return [f"{method}: there is no such method"]
        name, shape = self._methods[method.lower()]
        found: list[str] = []
        for given, value in parameters.items():
            if given in shape.fields:
                found += self._parameter(value, shape.fields[given].types, f"{name}.{given}")
            elif given not in OF_THE_TRANSPORT:
                found.append(f"{name}.{given}: there is no such parameter")
        found += [
            f"{name}.{wanted}: is required and missing"
            for wanted, each in shape.fields.items()
            if each.required and wanted not in parameters and wanted not in files
        ]
        attached = {part for value in parameters.values() for part in _attached(value)}
        found += [f"{name}: attach://{part} names no part of the request" for part in attached - set(files)]
        found += [
            f"{name}: nothing refers to the uploaded part {part!r}"
            for part in set(files) - attached
            if part not in shape.fields or "InputFile" not in shape.fields[part].types
        ]
        return found

    def complaints_of_result(self, method: str, result: Any) -> list[str]:
        """Of a method that is not known there are none: the call has its complaint already."""
        name, shape = self._methods.get(method.lower(), (method, Shape()))
        return self._value(result, shape.returns, f"{name}()") if shape.returns else []

    def complaints_of_error(self, method: str, envelope: Mapping[str, Any]) -> list[str]:
        """An answer with `ok: false`; what an envelope may hold stands in the pages' text, not in the tables."""
        fields = {
            "ok": Field(("Boolean",), required=True, always="False"),
            "error_code": Field(("Integer",), required=True),
            "description": Field(("String",), required=True),
            "parameters": Field(("ResponseParameters",), required=False),
        }
        return self._object(envelope, Shape(fields), f"{method}()")

    def complaints_of(self, type_name: str, value: Any) -> list[str]:
        return self._value(value, (type_name,), type_name)

    # Values of answers, and of JSON inside parameters

    def _value(self, value: Any, types: Types, where: str) -> list[str]:
        """The complaints of the alternative that fits best."""
        attempts = [self._alternative(value, each, where) for each in types]
        return min(attempts, key=_weight)

    def _alternative(self, value: Any, alternative: "str | ListOf", where: str) -> list[str]:
        if isinstance(alternative, ListOf):
            if not isinstance(value, list):
                return [_instead(where, value, str(alternative))]
            return [
                complaint
                for index, item in enumerate(value)
                for complaint in self._value(item, alternative.types, f"{where}[{index}]")
            ]
        if alternative in PLAIN:
            return [] if PLAIN[alternative](value) else [_instead(where, value, alternative)]
        shape = self._types[alternative]
        if shape.one_of:
            return self._value(value, shape.one_of, where)
        if isinstance(value, dict):
            return self._object(value, shape, where)
        return [] if shape.or_text and isinstance(value, str) else [_instead(where, value, alternative)]

    def _object(self, value: Mapping[str, Any], shape: Shape, where: str) -> list[str]:
        found: list[str] = []
        for name, given in value.items():
            known = shape.fields.get(name)
            if known is None:
                found.append(f"{where}.{name}: is not in the specification")
            elif known.always is not None and str(given) != known.always:
                found.append(f"{where}.{name}: {MUST_BE} {known.always!r}, not {given!r}")
            else:
                found += self._value(given, known.types, f"{where}.{name}")
        missing = [name for name, each in shape.fields.items() if each.required and name not in value]
        return found + [f"{where}.{name}: is required and missing" for name in missing]

    # Values of parameters

    def _parameter(self, value: Any, types: Types, where: str) -> list[str]:
        if not isinstance(value, str):
            return self._value(value, types, where)
        if any(isinstance(each, str) and each in AS_TEXT and AS_TEXT[each](value) for each in types):
            return []
        nested: Types = tuple(each for each in types if each not in AS_TEXT)
        if not nested:
            return [_instead(where, value, _said(types))]
        try:
            return self._value(json.loads(value), nested, where)
        except ValueError:
            return [_instead(where, value, _said(types))]


def _attached(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield from re.findall(r"attach://([\w.-]+)", value)
    elif isinstance(value, dict | list):
        for each in value.values() if isinstance(value, dict) else value:
            yield from _attached(each)


def _is_integer(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


PLAIN = {
    "Integer": _is_integer,
    "Float": lambda value: _is_integer(value) or isinstance(value, float),
    "String": lambda value: isinstance(value, str),
    "Boolean": lambda value: isinstance(value, bool),
    "True": lambda value: value is True,
}
#: What a text has to look like that stands for a plain value.
AS_TEXT = {
    "Integer": lambda text: re.fullmatch(r"-?\d+", text) is not None,
    "Float": lambda text: re.fullmatch(r"-?\d+(\.\d+)?", text) is not None,
    "String": lambda text: True,
    "Boolean": lambda text: text.lower() in {"true", "false", "1", "0", "yes", "no"},
    "True": lambda text: text.lower() in {"true", "1", "yes"},
    "InputFile": lambda text: text.startswith("attach://"),
}
MUST_BE = "is always"


def _weight(complaints: list[str]) -> tuple[int, int]:
    """Little where a value is nearly the type: above all, where its `type` or `status` says that it is."""
    return sum(MUST_BE in each for each in complaints), len(complaints)


def _instead(where: str, value: Any, wanted: str) -> str:
    shown = json.dumps(value, ensure_ascii=False)
    return f"{where}: is {shown if len(shown) <= 60 else shown[:57] + '...'}, where {wanted} is wanted"


def _said(types: Types) -> str:
    return " or ".join(map(str, types))


# Reading the specifications


def _merged(older: Mapping[str, Any], newer: Mapping[str, Any]) -> dict[str, Shape]:
    shapes = {name: _shape(said) for name, said in newer.items()}
    for name, said in older.items():
        shape = _shape(said)
        if name not in shapes:
            shapes[name] = shape
            continue
        known = shapes[name]
        known.returns = shape.returns
        known.one_of = tuple(dict.fromkeys((*known.one_of, *shape.one_of)))
        for label in {*known.fields, *shape.fields}:
            both = known.fields.get(label), shape.fields.get(label)
            types = [each for one in both if one for each in one.types]
            required = all(one is not None and one.required for one in both)
            always = next((one.always for one in both if one and one.always), None)
            known.fields[label] = Field(_types(types), required, always)
    return shapes


def _shape(said: Mapping[str, Any]) -> Shape:
    fields = {
        each["name"]: Field(_types(_written(each)), each["required"], _only_value(each["description"]))
        for each in said.get("fields") or []
    }
    description = said["description"]
    lines = description if isinstance(description, list) else description.split("\n")
    listed = [found[1] for line in lines if (found := re.fullmatch(r"\s*- ([A-Z]\w+)", line))]
    one_of = said.get("subtypes") or ([] if fields else listed)
    or_text = any("String can be used instead of this object" in line for line in lines)
    return Shape(fields, _types(one_of), _types(said.get("returns", [])), or_text)


def _written(said: Mapping[str, Any]) -> list[str]:
    """`"Array of A, B and C"` and `"A or B"` of the newer one, `["A", "B"]` of the older."""
    if "types" in said:
        return said["types"]
    many, rest = "", str(said["type"])
    while rest.startswith("Array of "):
        many, rest = f"{many}Array of ", rest.removeprefix("Array of ")
    return [many + name for name in re.split(r", | and | or ", rest)]


def _types(written: Iterable[Any]) -> Types:
    """Lists of different things are one list of any of them: an album mixes photos and videos."""
    plain: list[Any] = []
    listed: list[Any] = []
    for each in written:
        if isinstance(each, ListOf):
            listed += each.types
        elif each.startswith("Array of "):
            listed.append(each.removeprefix("Array of "))
        else:
            plain.append(each)
    lists = [ListOf(_types(listed))] if listed else []
    return tuple(dict.fromkeys([*plain, *lists]))


def _only_value(description: str) -> str | None:
    found = re.search(r'[Aa]lways ["“]([^"”]+)["”]|^Always (0)\.|must be ["“]?([a-z_]+)["”]?$', description)
    return next(filter(None, found.groups())) if found else None


# Watching an emulator


class Watched:
    """An emulator with the specification looking over its shoulder; an ASGI app.

    Each call is compared before it is passed on, each answer before it goes out; what does not conform stands in
    `complaints`, in that order. `known` is what a client is known to do against the specification: a regular
    expression of complaints about calls. Answers are never excused. Without a specification it only counts calls.
    """

    def __init__(self, app: Any, api: BotApi | None) -> None:
        self._app, self._api = app, api
        self.known: str | None = None
        self.calls: list[str] = []
        self._news = asyncio.Event()
        self.complaints: list[str] = []

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        path: str = scope.get("path", "")
        if scope["type"] != "http" or not path.startswith("/bot"):
            await self._app(scope, receive, send)
            return
        body = await _whole(receive)
        parameters, files = parameters_of(scope, body)
        method = path.rpartition("/")[2] or str(parameters.get("method", ""))
        self.calls.append(method)
        self._news.set()
        complaints = self._api.complaints_of_call(method, parameters, files) if self._api else []
        self.complaints += [each for each in complaints if not self.known or not re.search(self.known, each)]

        given = [{"type": "http.request", "body": body, "more_body": False}]
        answered = bytearray()

        async def once_more() -> Any:
            return given.pop() if given else await receive()

        async def overheard(message: Any) -> None:
            answered.extend(message.get("body", b""))
            if message["type"] == "http.response.body" and not message.get("more_body"):
                self._judge(method, bytes(answered))
            await send(message)

        await self._app(scope, once_more, overheard)

    async def called(self, method: str, times: int) -> None:
        """Wait until that method was called so often."""
        while self.calls.count(method) < times:
            self._news.clear()
            await self._news.wait()

    def delivered(self, update: Any) -> None:
        """To a webhook, which is no answer that passes here."""
        self.complaints += self._api.complaints_of("Update", update) if self._api else []

    def _judge(self, method: str, answered: bytes) -> None:
        if self._api is None:
            return
        answer = json.loads(answered)
        if answer.get("ok") is not True:
            self.complaints += self._api.complaints_of_error(method, answer)
            return
        self.complaints += [
            f"{method}() ok.{name}: is not in the specification"
            for name in answer.keys() - {"ok", "result", "description"}
        ]
        self.complaints += self._api.complaints_of_result(method, answer.get("result"))


async def _whole(receive: Any) -> bytes:
    body, more = bytearray(), True
    while more:
        message = await receive()
        body += message.get("body", b"")
        more = message.get("more_body", False)
    return bytes(body)


def parameters_of(scope: Mapping[str, Any], body: bytes) -> tuple[dict[str, Any], set[str]]:
    """Parameters in all four encodings, and the names of the uploaded parts."""
    parameters: dict[str, Any] = dict(parse_qsl(scope["query_string"].decode(), keep_blank_values=True))
    kind = next((value.decode("latin-1") for name, value in scope["headers"] if name == b"content-type"), "")
    if kind.startswith("application/json"):
        return {**parameters, **json.loads(body or b"{}")}, set()
    if kind.startswith("application/x-www-form-urlencoded"):
        return {**parameters, **dict(parse_qsl(body.decode(), keep_blank_values=True))}, set()
    files: set[str] = set()
    if kind.startswith("multipart/form-data"):
        message = BytesParser(policy=HTTP).parsebytes(
            b"Content-Type: " + kind.encode("latin-1") + b"\r\n\r\n" + body
        )
        for part in message.iter_parts():
            name = part.get_param("name", header="content-disposition")
            if part.get_filename() is not None:
                files.add(str(name))
            else:
                parameters[str(name)] = (part.get_payload(decode=True) or b"").decode()
    return parameters, files
