"""What MAX answers when it refuses: `{"code", "message"}` with an HTTP status.

Texts marked "seen" were quoted from the live server by more than one public project; "documents" stand in MAX's own
pages or clients. The others are unknown: status and code follow the documents, the words are ours.
"""

from typing import NamedTuple


class Refusal(Exception):
    """An error answer. `retry_after` in seconds becomes the header of that name."""

    def __init__(self, status: int, code: str, message: str, *, retry_after: int | None = None) -> None:
        super().__init__(message)
        self.status, self.code, self.message, self.retry_after = status, code, message, retry_after

    def as_json(self) -> dict[str, str]:
        return {"code": self.code, "message": self.message}


class Kept(Exception):
    """The other way to refuse: HTTP 200 with `success: false`, and nothing has changed."""


class Named(NamedTuple):
    status: int
    code: str
    message: str


#: Errors that a fault may ask for by name. `{user}` is the person of the dialog, 0 where there is none.
NAMED: dict[str, Named] = {
    "bad_request": Named(400, "proto.payload", "Can't deserialize body"),  # seen
    "not_ready": Named(
        400, "attachment.not.ready", "Key: errors.process.attachment.file.not.processed"
    ),  # documents
    "expired": Named(400, "proto.payload", "Invalid photo token provided: expired"),  # seen for wrong tokens
    "upload_failed": Named(400, "proto.payload", "Failed to upload image."),  # seen
    "unauthorized": Named(401, "verify.token", "Invalid access_token"),  # documents
    "blocked": Named(403, "chat.denied", "Key: error.dialog.suspended, args: [{user},]."),  # seen
    "not_admin": Named(403, "chat.denied", "chat.send.msg.no.permission.because.not.admin"),  # documents
    "admin_only": Named(403, "chat.denied", "Method is available only for chat administrator"),  # seen
    "kicked": Named(403, "chat.denied", "Bot is not a member of the chat"),
    "access_denied": Named(403, "access.denied", "Access denied"),
    "not_found": Named(404, "not.found", "Not found"),
    "chat_not_found": Named(404, "chat.not.found", "Chat not found"),  # seen, with the chat's id in it
    "no_dialog": Named(404, "chat.not.found", "dialog.not.found"),  # seen
    "not_allowed": Named(405, "method.not.allowed", "Method is not allowed"),
    "flood": Named(429, "too.many.requests", "Too many requests"),
    "internal": Named(500, "internal.error", "Internal error, id: 0000000000000000"),
    "unavailable": Named(503, "service.unavailable", "Service is temporarily unavailable"),
}

#: What a fault that gives only a status means.
BY_STATUS: dict[int, str] = {
    400: "bad_request",
    401: "unauthorized",
    403: "access_denied",
    404: "not_found",
    405: "not_allowed",
    429: "flood",
    500: "internal",
    503: "unavailable",
}


def named(name: str, *, user: int = 0) -> Refusal:
    status, code, message = NAMED[name]
    return Refusal(status, code, message.replace("{user}", str(user)))


def with_status(status: int) -> Refusal:
    """For any HTTP error, those that the documents do not list included."""
    name = BY_STATUS.get(status)
    if name is not None:
        return named(name)
    if status < 500:
        return Refusal(status, "proto.payload", "Bad request")
    return Refusal(status, "service.unavailable", "Service is temporarily unavailable")


def bad(message: str) -> Refusal:
    """Something is wrong with the request itself."""
    return Refusal(400, "proto.payload", message)


def no_chat(chat: int) -> Refusal:
    return Refusal(404, "chat.not.found", f"Chat {chat} not found")
