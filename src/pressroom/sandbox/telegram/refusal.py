"""Answers with `ok: false`, in the words of the real server."""

from collections.abc import Mapping
from typing import Any

from pressroom.sandbox.core.faults import Fault
from pressroom.sandbox.core.wire import phrase


class Refusal(Exception):
    """`description` is whole, with its prefix."""

    def __init__(self, code: int, description: str, parameters: Mapping[str, int] | None = None) -> None:
        super().__init__(description)
        self.code, self.description, self.parameters = code, description, parameters

    def as_json(self) -> dict[str, Any]:
        answer: dict[str, Any] = {"ok": False, "error_code": self.code, "description": self.description}
        return {**answer, "parameters": dict(self.parameters)} if self.parameters else answer


def bad_request(description: str) -> Refusal:
    """`description` as TDLib says it: its first letter becomes small, unless the word is a name like `MESSAGE_ID_INVALID`."""
    second = description[1:2]
    if not (second == "_" or "A" <= second <= "Z"):
        description = description[:1].lower() + description[1:]
    return Refusal(400, f"Bad Request: {description}")


def forbidden(description: str) -> Refusal:
    return Refusal(403, f"Forbidden: {description}")


def too_many_requests(seconds: int) -> Refusal:
    return Refusal(429, f"Too Many Requests: retry after {seconds}", {"retry_after": seconds})


NOT_MODIFIED = (
    "Bad Request: message is not modified: specified new message content and reply markup are exactly the same"
    " as a current content and reply markup of the message"
)

#: Errors that a fault may name, so that nobody has to know the words by heart.
NAMED: Mapping[str, tuple[int, str]] = {
    "flood": (429, "Too Many Requests: retry after {retry_after}"),
    "unauthorized": (401, "Unauthorized"),
    "blocked": (403, "Forbidden: bot was blocked by the user"),
    "deactivated": (403, "Forbidden: user is deactivated"),
    "not_started": (403, "Forbidden: bot can't initiate conversation with a user"),
    "kicked": (403, "Forbidden: bot was kicked from the channel chat"),
    "kicked_group": (403, "Forbidden: bot was kicked from the group chat"),
    "kicked_supergroup": (403, "Forbidden: bot was kicked from the supergroup chat"),
    "not_member": (403, "Forbidden: bot is not a member of the channel chat"),
    "no_rights": (400, "Bad Request: need administrator rights in the channel chat"),
    "chat_not_found": (400, "Bad Request: chat not found"),
    "migrated": (400, "Bad Request: group chat was upgraded to a supergroup chat"),
    "too_long": (400, "Bad Request: message is too long"),
    "not_modified": (
        400,
        NOT_MODIFIED,
    ),
    "group_deleted": (403, "Forbidden: the group chat was deleted"),
    "query_too_old": (
        400,
        "Bad Request: query is too old and response timeout expired or query ID is invalid",
    ),
    "edit_not_found": (400, "Bad Request: message to edit not found"),
    "reply_not_found": (400, "Bad Request: message to be replied not found"),
    "not_found": (404, "Not Found"),
    "media_expired": (400, "Bad Request: wrong file_id or the file is temporarily unavailable"),
    "url_failed": (400, "Bad Request: failed to get HTTP URL content"),
    "conflict": (
        409,
        "Conflict: terminated by other getUpdates request; make sure that only one bot instance is running",
    ),
    "webhook_active": (
        409,
        "Conflict: can't use getUpdates method while webhook is active; use deleteWebhook to delete the webhook first",
    ),
    "too_large": (413, "Request Entity Too Large"),
    "restart": (500, "Internal Server Error: restart"),
    "bad_gateway": (502, "Bad Gateway"),
}


#: Where the ids of supergroups begin, and count down.
SUPERGROUPS = -1_000_000_000_000


def planned(fault: Fault) -> Refusal:
    """What a fault that fails answers with."""
    code, description = NAMED[fault.name] if fault.name else (fault.code or 500, "")
    code = fault.code or code
    parameters: dict[str, int] = {}
    if fault.retry_after is not None or fault.name == "flood":
        parameters["retry_after"] = int(fault.retry_after if fault.retry_after is not None else 1)
        description = (
            description.format(**parameters) or f"{phrase(code)}: retry after {parameters['retry_after']}"
        )
    if fault.name == "migrated":
        parameters["migrate_to_chat_id"] = SUPERGROUPS - abs(fault.chat or 1)
    return Refusal(code, fault.description or description or phrase(code), parameters)
