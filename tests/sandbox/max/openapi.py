"""MAX's stored OpenAPI, strict: each answer has exactly the fields that it describes, of the types that it says.

The document has faults that its own recorded payloads break. They are repaired here: chats are of three types, what
may be null may be missing (the live server leaves nulls out), `link` is no field of a body, the discriminators name
schemas without saying where, and `required` or `maxItems` of the wrong type say nothing. On top of it, chat events
carry a `user_id` that it does not know, and `Intent` is described without a button that has it.
"""

import json
import os
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

DATA = Path(__file__).parents[4] / "shared/facts/data"
USER_EVENTS = {
    "bot_added",
    "bot_removed",
    "bot_started",
    "bot_stopped",
    "user_added",
    "user_removed",
    "chat_title_changed",
    "dialog_removed",
}


@cache
def stored(name: str) -> Any:
    """A file of the stored reference data; who has none runs without the tests that need it, but never in CI."""
    path = DATA / name
    if not path.exists():
        sentence = f"the stored reference data is not on this machine: {path}"
        if os.environ.get("CI"):
            pytest.fail(sentence)
        pytest.skip(sentence)
    return json.loads(path.read_text())


@cache
def _components() -> dict[str, Any]:
    schemas = json.loads(json.dumps(stored("max_openapi_2026_07_01.json")["components"]["schemas"]))
    schemas["ChatType"]["enum"] = ["dialog", "chat", "channel"]
    schemas["MessageBody"]["required"] = ["mid", "seq"]
    schemas["CallbackButton"]["allOf"][1]["properties"]["intent"] = {"$ref": "#/components/schemas/Intent"}
    return schemas


def _resolve(schema: dict[str, Any]) -> dict[str, Any]:
    """One flat schema of what `$ref` and `allOf` put together."""
    if "$ref" in schema:
        return _resolve(_components()[schema["$ref"].rpartition("/")[2]])
    flat: dict[str, Any] = {"properties": {}, "required": []}
    for part in schema.get("allOf", ()):
        inner = _resolve(part)
        flat["properties"] |= inner.get("properties", {})
        flat["required"] += inner.get("required", [])
        flat |= {name: value for name, value in inner.items() if name not in ("properties", "required")}
    flat["properties"] |= schema.get("properties", {})
    required = schema.get("required")
    flat["required"] += required if isinstance(required, list) else []
    own = {name: value for name, value in schema.items() if name not in ("properties", "required", "allOf")}
    return flat | own


class _Translation:
    """Into JSON Schema. Recursive schemas are named once; `exact` makes unknown fields wrong."""

    def __init__(self, *, exact: bool) -> None:
        self.exact = exact
        self.named: dict[str, Any] = {}

    def of(self, schema: dict[str, Any]) -> dict[str, Any]:
        if "$ref" in schema:
            return self._reference(schema)
        if len(schema.get("allOf", ())) == 1 and not schema.get("properties"):
            return self.of(schema["allOf"][0])
        flat = _resolve(schema)
        others = flat.get("additionalProperties")
        if isinstance(others, dict):
            return {"type": "object", "additionalProperties": self.of(others)}
        if flat["properties"]:
            return self._object(flat)
        if "items" in flat:
            return {"type": "array", "items": self.of(flat["items"])}
        return {
            name: flat[name] for name in ("type", "enum", "pattern", "maxLength", "minLength") if name in flat
        }

    def _reference(self, schema: dict[str, Any]) -> dict[str, Any]:
        name = schema["$ref"].rpartition("/")[2]
        if name not in self.named:
            self.named[name] = {}
            flat = _resolve(schema)
            self.named[name] = self._choice(flat) or self.of(flat)
        return {"$ref": f"#/$defs/{name}"}

    def _object(self, flat: dict[str, Any]) -> dict[str, Any]:
        properties = flat["properties"]
        required = [
            name for name in flat["required"] if name in properties and not properties[name].get("nullable")
        ]
        translated = {name: self.of(each) for name, each in properties.items()}
        closed = {"additionalProperties": False} if self.exact else {}
        return {"type": "object", "properties": translated, "required": required, **closed}

    def _choice(self, flat: dict[str, Any]) -> dict[str, Any] | None:
        """The schemas that a discriminator chooses among, by the name in the field that it names."""
        discriminator = flat.get("discriminator")
        if not discriminator:
            return None
        field = discriminator["propertyName"]
        branches: list[dict[str, Any]] = []
        for value, target in discriminator["mapping"].items():
            name = (target["$ref"] if isinstance(target, dict) else target).rpartition("/")[2]
            inner = _resolve(_components()[name])
            inner["properties"] = inner["properties"] | {field: {"type": "string", "enum": [value]}}
            if field == "update_type" and value in USER_EVENTS:
                inner["properties"]["user_id"] = {"type": "integer"}
            branches.append(self._object(inner))
        return {"oneOf": branches}


@cache
def _validator(name: str, exact: bool) -> Draft202012Validator:
    translation = _Translation(exact=exact)
    reference = translation.of({"$ref": f"#/components/schemas/{name}"})
    return Draft202012Validator({**reference, "$defs": translation.named})


def check(name: str, value: Any, *, exact: bool = True) -> None:
    """Raises where the value is not what the schema of that name describes."""
    problems = [
        f"{'.'.join(map(str, error.absolute_path))}: {error.message[:300]}"
        for error in _validator(name, exact).iter_errors(value)
    ]
    assert not problems, f"not a {name}: {problems}"


#: What each method answers with, where the document says.
ANSWERS = {
    "GET /me": "BotInfo",
    "GET /chats/{chatId}": "Chat",
    "PATCH /chats/{chatId}": "Chat",
    "POST /chats/{chatId}/actions": "SimpleQueryResult",
    "GET /chats/{chatId}/pin": "GetPinnedMessageResult",
    "PUT /chats/{chatId}/pin": "SimpleQueryResult",
    "DELETE /chats/{chatId}/pin": "SimpleQueryResult",
    "GET /chats/{chatId}/members": "ChatMembersList",
    "POST /chats/{chatId}/members": "ModifyMembersResult",
    "DELETE /chats/{chatId}/members": "SimpleQueryResult",
    "GET /chats/{chatId}/members/me": "ChatMember",
    "DELETE /chats/{chatId}/members/me": "SimpleQueryResult",
    "GET /chats/{chatId}/members/admins": "ChatMembersList",
    "POST /chats/{chatId}/members/admins": "SimpleQueryResult",
    "DELETE /chats/{chatId}/members/admins/{userId}": "SimpleQueryResult",
    "GET /subscriptions": "GetSubscriptionsResult",
    "POST /subscriptions": "SimpleQueryResult",
    "DELETE /subscriptions": "SimpleQueryResult",
    "GET /updates": "UpdateList",
    "POST /uploads": "UploadEndpoint",
    "GET /messages": "MessageList",
    "POST /messages": "SendMessageResult",
    "PUT /messages": "SimpleQueryResult",
    "DELETE /messages": "SimpleQueryResult",
    "GET /messages/{messageId}": "Message",
    "GET /videos/{videoToken}": "VideoAttachmentDetails",
    "POST /answers": "SimpleQueryResult",
}
