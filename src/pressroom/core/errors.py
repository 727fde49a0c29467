"""Every error that Pressroom raises on purpose.

PressroomError
├── InvalidInput        PR422  the caller asked for something that cannot be done as asked
├── NotFound            PR404  it does not exist, or not in this workspace
├── Conflict            PR409  it exists already, changed meanwhile, or is in the wrong state
├── Unauthorized        PR401  no credential, or one that we do not know
├── Forbidden           PR403  a known credential that may not do this
├── InsufficientTokens  PR402  the balance does not cover it
├── RateLimited         PR429  too much at once; says when to come back
├── Unavailable         PR503  something we need does not answer just now; trying again may help
├── BadSetup                   the machine or the configuration is wrong; only its owner can fix it
└── ProviderError              a platform or another outside service refused, failed or did not answer

SQL raises the same classes by their SQLSTATE, see `from_sqlstate`.
"""

from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from typing import ClassVar


class PressroomError(Exception):
    """`message` says what and where, `hint` how to fix it; both are safe to show to the caller."""

    sqlstate: ClassVar[str | None] = None

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class InvalidInput(PressroomError):
    """`field` is the path of the offending value, as in `media[0].url`, where there is one."""

    sqlstate = "PR422"

    def __init__(self, message: str, *, hint: str | None = None, field: str | None = None) -> None:
        super().__init__(message, hint=hint)
        self.field = field


class NotFound(PressroomError):
    sqlstate = "PR404"


class Conflict(PressroomError):
    sqlstate = "PR409"


class Unauthorized(PressroomError):
    sqlstate = "PR401"


class Forbidden(PressroomError):
    sqlstate = "PR403"


class InsufficientTokens(PressroomError):
    sqlstate = "PR402"


class RateLimited(PressroomError):
    sqlstate = "PR429"

    def __init__(
        self, message: str, *, hint: str | None = None, retry_after: timedelta = timedelta(seconds=1)
    ) -> None:
        super().__init__(message, hint=hint)
        self.retry_after = retry_after


class Unavailable(PressroomError):
    sqlstate = "PR503"


class BadSetup(PressroomError):
    """Raised before any work starts: a data folder, a port, a setting, a server version."""


_BY_SQLSTATE: dict[str, type[PressroomError]] = {
    error.sqlstate: error
    for error in (
        InvalidInput, NotFound, Conflict, Unauthorized, Forbidden, InsufficientTokens, RateLimited, Unavailable
    )
    if error.sqlstate is not None
}  # fmt: skip


def from_sqlstate(sqlstate: str, message: str, hint: str | None) -> PressroomError | None:
    """Our error for one that our SQL raised; None for every other state."""
    error = _BY_SQLSTATE.get(sqlstate)
    return None if error is None else error(message, hint=hint)


class Category(StrEnum):
    """Whether trying the same thing again can help."""

    TRANSIENT = "TRANSIENT"
    PERMANENT = "PERMANENT"


class Scope(StrEnum):
    """Who is hurt, and so what has to pause."""

    DELIVERY = "delivery"
    CHANNEL = "channel"
    PLATFORM = "platform"


class Outcome(StrEnum):
    """What we know of the effect: only `UNKNOWN` may have happened."""

    NOT_SENT = "not_sent"
    REFUSED = "refused"
    UNKNOWN = "unknown"


@dataclass(slots=True)
class ProviderError(PressroomError):
    """What an outside service answered, in our words. `code` is its HTTP or own code as text."""

    category: Category
    scope: Scope
    code: str
    message: str
    retry_after: timedelta | None = None
    outcome: Outcome = Outcome.REFUSED
    raw: str | None = None
    hint: str | None = None

    def __post_init__(self) -> None:
        Exception.__init__(self, self.message)

    def as_json(self) -> dict[str, object]:
        """The normalised error of `last_error` and `events.error`: no payload, no token."""
        error: dict[str, object] = {
            "category": self.category,
            "scope": self.scope,
            "code": self.code,
            "message": self.message,
            "outcome": self.outcome,
        }
        if self.retry_after is not None:
            error["retry_after_ms"] = int(self.retry_after.total_seconds() * 1000)
        if self.raw is not None:
            error["raw"] = self.raw
        return error
