"""Answers of writes, kept by the caller's idempotency key: the work is done once and answered always.

`begin`, do the work, then `finish` with the answer, or `forget` when it failed in a way that is no answer
(5xx). Whoever dies in between loses the key when its lock runs out. A key belongs to a workspace; put whatever
else tells callers apart (method, path, token, body) into the request's hash.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from pressroom.core.errors import Conflict, InvalidInput
from pressroom.core.ids import WorkspaceId
from pressroom.db.database import Database
from pressroom.workspaces import store
from pressroom.workspaces.tenants import acting_for

LOCK_FOR = timedelta(seconds=90)
KEEP_FOR = timedelta(hours=24)
LONGEST_KEY = 255
PURGE_LIMIT = 10_000


@dataclass(frozen=True, slots=True)
class Held:
    """The right to do the work, until `locked_until`."""

    workspace_id: WorkspaceId
    key: str
    locked_until: datetime


@dataclass(frozen=True, slots=True)
class StoredResponse:
    status: int
    headers: Mapping[str, str]
    body: bytes = field(repr=False)


async def begin(
    db: Database,
    *,
    workspace_id: WorkspaceId,
    key: str,
    request_hash: str,
    lock_for: timedelta = LOCK_FOR,
    keep_for: timedelta = KEEP_FOR,
) -> Held | StoredResponse:
    """`Held` for the one caller that is to do the work; for all later ones the answer that it stored.

    Conflict while the work is under way, InvalidInput when the key came with another request before. Work that
    belongs to no single workspace is kept under the nil workspace.
    """
    if not 0 < len(key) <= LONGEST_KEY or not key.isprintable():
        raise InvalidInput(
            f"Idempotency-Key must be 1 to {LONGEST_KEY} printable characters",
            hint="a random uuid for each new request does it",
            field="Idempotency-Key",
        )
    async with acting_for(db, workspace_id) as tx:
        begun = await store.begin_idempotent(tx, workspace_id, key, request_hash, lock_for, keep_for)
    match begun.state:
        case "new":
            return Held(workspace_id, key, begun.locked_until)
        case "in_flight":
            raise Conflict(
                "a request with this Idempotency-Key is under way", hint="ask again in a moment for its answer"
            )
        case "mismatch":
            raise InvalidInput(
                "this Idempotency-Key came with another request before",
                hint="use a new key for each new request, and repeat a request unchanged",
                field="Idempotency-Key",
            )
        case _:
            return StoredResponse(begun.status or 0, begun.headers or {}, begun.body or b"")


async def finish(db: Database, *, held: Held, response: StoredResponse) -> bool:
    """False when the holder was overtaken after its lock ran out: the answer of the other one stands."""
    async with acting_for(db, held.workspace_id) as tx:
        return await store.finish_idempotent(
            tx, held.workspace_id, held.key, held.locked_until, response.status, response.headers, response.body
        )


async def forget(db: Database, *, held: Held) -> bool:
    """The next caller does the work again. False when the holder was overtaken."""
    async with acting_for(db, held.workspace_id) as tx:
        return await store.forget_idempotent(tx, held.workspace_id, held.key, held.locked_until)


async def purge_idempotency_keys(db: Database, *, limit: int = PURGE_LIMIT) -> int:
    """Deletes what is past its time, at most `limit`; as many as that mean that more may wait."""
    async with db.system() as tx:
        return await store.purge_idempotency_keys(tx, limit)
