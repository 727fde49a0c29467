"""What the driver raises, in our words.

By SQLSTATE, never by driver class: asyncpg dresses states that it does not know as lost connections.
"""

from collections.abc import Generator
from contextlib import contextmanager

import asyncpg

from pressroom.core.errors import BadSetup, Conflict, InvalidInput, PressroomError, Unavailable, from_sqlstate

#: A server that is starting, stopping or full, a connection or disk that broke, out of time, a standby, a lost
#: race: waiting may help.
_AWAY = ("08", "53", "57P", "57014", "58", "25006", "40001", "40P01")
#: A URL that leads to no database, or that may not be used as it says.
_NOT_LET_IN = ("28", "3D000")
_CONSTRAINTS: dict[str, type[PressroomError]] = {
    "22000": InvalidInput,  # text that is not UTF-8, which the driver finds
    "22003": InvalidInput,  # a number out of range
    "22021": InvalidInput,  # a zero byte in a text
    "23502": InvalidInput,  # null where there must be a value
    "23503": InvalidInput,  # foreign key
    "23505": Conflict,  # unique
    "23514": InvalidInput,  # check
    "22P02": InvalidInput,  # a text that is no uuid, number or json
    "22P05": InvalidInput,  # a character that Postgres cannot store
    "55P03": Unavailable,  # lock timeout
}
#: How the driver says that a connection is gone; the internal error is its state machine, surprised by that.
BROKEN = (asyncpg.PostgresError, asyncpg.InterfaceError, asyncpg.InternalClientError, OSError, TimeoutError)


@contextmanager
def translated() -> Generator[None]:
    try:
        yield
    except asyncpg.PostgresError as error:
        raise _ours(error) from error
    except BROKEN as error:
        raise Unavailable(
            f"the database does not answer: {error or type(error).__name__}",
            hint="services try again by themselves; `pressroom doctor` says what is wrong",
        ) from error


def _ours(error: asyncpg.PostgresError) -> Exception:
    state = str(getattr(error, "sqlstate", None) or "")
    message = str(getattr(error, "message", None) or error)
    hint = getattr(error, "hint", None)
    ours = from_sqlstate(state, message, hint if isinstance(hint, str) else None)
    if ours is not None:
        return ours
    if state == "53100":
        return Unavailable("the disk of the database is full", hint="make room; what was accepted is safe")
    if state.startswith(_AWAY):
        return Unavailable(f"the database does not take this now: {message}")
    if state.startswith(_NOT_LET_IN):
        return BadSetup(f"the database does not let us in: {message}", hint="check PRESSROOM_DATABASE_URL")
    if state in _CONSTRAINTS:
        return _CONSTRAINTS[state](message)
    return error
