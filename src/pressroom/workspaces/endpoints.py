"""Endpoints: the doors of a workspace, each opened by a secret of which only the hash is kept.

A plain secret is returned once, by whoever made it, and cannot be read again. To let senders change over at
their own pace, make a second endpoint, move them, and disable the first; `rotate_endpoint` is the short way,
which shuts the old secret out at once.
"""

from collections.abc import Mapping
from decimal import Decimal, InvalidOperation

from pressroom.core.errors import Conflict, InvalidInput, NotFound, Unauthorized
from pressroom.core.ids import EVERY_WORKSPACE, EndpointId, WorkspaceId
from pressroom.db.database import Database
from pressroom.workspaces import store
from pressroom.workspaces.model import (
    LONGEST_SECRET,
    PUSH_PREFIX,
    Endpoint,
    EndpointKind,
    ResolvedEndpoint,
    checked_meta,
    checked_name,
    hash_secret,
    new_secret,
    readable_id,
)
from pressroom.workspaces.tenants import required

MOST_REQUESTS_PER_SECOND = 100_000
LARGEST_PAYLOAD = 104_857_600
LONGEST_DROP_WINDOW = 86_400


async def create_endpoint(
    db: Database,
    *,
    workspace_id: WorkspaceId,
    endpoint_id: str,
    kind: EndpointKind,
    title: str = "",
    ingress_rps: Decimal | float | None = None,
    max_payload_bytes: int | None = None,
    hash_drop_window_sec: int | None = None,
    meta: Mapping[str, object] | None = None,
) -> tuple[Endpoint, str]:
    """The endpoint and its secret. What is None takes the default of its column."""
    chosen = EndpointId(readable_id(endpoint_id, "endpoint_id"))
    described = checked_meta({**(meta or {}), **_title(title)})
    rate = _checked_rate(ingress_rps)
    _check_between(max_payload_bytes, "max_payload_bytes", 1, LARGEST_PAYLOAD)
    _check_between(hash_drop_window_sec, "hash_drop_window_sec", 0, LONGEST_DROP_WINDOW)
    secret = new_secret(PUSH_PREFIX)
    async with db.transaction(workspace_id) as tx:
        await required(tx, workspace_id)
        added = await store.add_endpoint(
            tx, workspace_id, chosen, kind, hash_secret(secret), described,
            ingress_rps=rate, max_payload_bytes=max_payload_bytes, hash_drop_window_sec=hash_drop_window_sec,
        )  # fmt: skip
        if not added:
            raise Conflict(
                f"there is an endpoint {chosen} already", hint="choose another endpoint_id, or rotate it"
            )
        return await store.get_endpoint(tx, workspace_id, chosen) or _missing(chosen), secret


async def list_endpoints(db: Database, *, workspace_id: WorkspaceId) -> list[Endpoint]:
    """The oldest first, the disabled ones among them."""
    async with db.transaction(workspace_id) as tx:
        await required(tx, workspace_id)
        return await store.list_endpoints(tx, workspace_id)


async def rotate_endpoint(db: Database, *, workspace_id: WorkspaceId, endpoint_id: str) -> tuple[Endpoint, str]:
    """The successor and its secret. The old secret is refused from here on; its row stays for audit."""
    old = EndpointId(readable_id(endpoint_id, "endpoint_id"))
    secret = new_secret(PUSH_PREFIX)
    async with db.transaction(workspace_id) as tx:
        successor = await store.rotate_endpoint(tx, workspace_id, old, hash_secret(secret))
        return await store.get_endpoint(tx, workspace_id, successor) or _missing(successor), secret


async def disable_endpoint(db: Database, *, workspace_id: WorkspaceId, endpoint_id: str) -> Endpoint:
    return await _switch(db, workspace_id, endpoint_id, enabled=False)


async def enable_endpoint(db: Database, *, workspace_id: WorkspaceId, endpoint_id: str) -> Endpoint:
    """Conflict when another enabled endpoint, of whatever workspace, has the same secret."""
    return await _switch(db, workspace_id, endpoint_id, enabled=True)


async def resolve_endpoint(db: Database, *, kind: EndpointKind, secret: str) -> ResolvedEndpoint:
    """Whose door this secret opens; the caller counts the refusals.

    It acts as the application without a tenant, which can read nothing but what the function gives: a mistake
    on the way of an unknown sender's secret then has nothing to show him.
    """
    if 0 < len(secret) <= LONGEST_SECRET:
        async with db.transaction(EVERY_WORKSPACE) as tx:
            resolved = await store.resolve_endpoint(tx, kind, hash_secret(secret))
        if resolved is not None:
            return resolved
    raise Unauthorized(
        "this secret opens no endpoint", hint="it may have been rotated: ask the workspace's owner"
    )


async def _switch(db: Database, workspace_id: WorkspaceId, endpoint_id: str, *, enabled: bool) -> Endpoint:
    chosen = EndpointId(readable_id(endpoint_id, "endpoint_id"))
    try:
        async with db.transaction(workspace_id) as tx:
            switched = await store.switch_endpoint(tx, workspace_id, chosen, enabled=enabled)
            return switched or _missing(chosen)
    except Conflict as error:
        raise Conflict(
            f"endpoint {chosen} stays disabled: another enabled endpoint has its secret",
            hint="rotate or disable the other one first",
        ) from error


def _title(title: str) -> dict[str, str]:
    checked = checked_name(title, "title", required=False)
    return {"title": checked} if checked else {}


def _checked_rate(rate: Decimal | float | None) -> Decimal | None:
    if rate is None:
        return None
    try:
        exact = Decimal(str(rate))
    except InvalidOperation:
        exact = Decimal("nan")
    if not (exact.is_finite() and 0 < exact <= MOST_REQUESTS_PER_SECOND):
        raise InvalidInput(
            f"ingress_rps must be above 0 and at most {MOST_REQUESTS_PER_SECOND}",
            hint="requests per second, for example 0.5 or 20",
            field="ingress_rps",
        )
    return exact


def _check_between(value: int | None, field: str, least: int, most: int) -> None:
    if value is not None and not least <= value <= most:
        raise InvalidInput(f"{field} must be from {least} to {most}", hint=f"it is {value}", field=field)


def _missing(endpoint_id: EndpointId) -> Endpoint:
    raise NotFound(f"there is no endpoint {endpoint_id}", hint="see the list of endpoints of this workspace")
