"""The room's SQL: each function of `sql/` under its own name, and plain reads and writes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from decimal import Decimal

from pressroom.core.ids import EndpointId, WorkspaceId
from pressroom.db.database import Transaction
from pressroom.workspaces.model import (
    CredentialBinding,
    Endpoint,
    EndpointKind,
    ResolvedEndpoint,
    Sealed,
    TokenId,
    Workspace,
    WorkspaceStatus,
)

# -- tenants


@dataclass(frozen=True, slots=True)
class _WorkspaceRow:
    workspace_id: WorkspaceId
    name: str
    status: str
    created_at: datetime

    def workspace(self) -> Workspace:
        return Workspace(self.workspace_id, self.name, WorkspaceStatus(self.status), self.created_at)


async def add_workspace(tx: Transaction, workspace_id: WorkspaceId, name: str) -> bool:
    """False when there is one already."""
    added = await tx.value(
        "insert into workspaces (workspace_id, name) values ($1, $2) on conflict do nothing returning true",
        workspace_id, name,
    )  # fmt: skip
    return added is not None


async def list_workspaces(tx: Transaction, only: Sequence[WorkspaceId] | None) -> list[Workspace]:
    rows = await tx.rows(
        _WorkspaceRow,
        """select workspace_id, name, status, created_at
             from workspaces
            where $1::uuid[] is null or workspace_id = any($1)
            order by created_at, workspace_id""",
        only,
    )
    return [row.workspace() for row in rows]


async def get_workspace(tx: Transaction, workspace_id: WorkspaceId) -> Workspace | None:
    row = await tx.row(
        _WorkspaceRow,
        "select workspace_id, name, status, created_at from workspaces where workspace_id = $1",
        workspace_id,
    )
    return None if row is None else row.workspace()


async def lock_workspace(tx: Transaction, workspace_id: WorkspaceId) -> Workspace | None:
    """As much as a change locks it: what refers to the workspace may be added meanwhile."""
    row = await tx.row(
        _WorkspaceRow,
        """select workspace_id, name, status, created_at
             from workspaces
            where workspace_id = $1
              for no key update""",
        workspace_id,
    )
    return None if row is None else row.workspace()


async def change_workspace(
    tx: Transaction, workspace_id: WorkspaceId, name: str | None, status: WorkspaceStatus | None
) -> Workspace | None:
    row = await tx.row(
        _WorkspaceRow,
        """update workspaces
              set name = coalesce($2, name), status = coalesce($3, status)
            where workspace_id = $1
           returning workspace_id, name, status, created_at""",
        workspace_id, name, status,
    )  # fmt: skip
    return None if row is None else row.workspace()


# -- endpoints


@dataclass(frozen=True, slots=True)
class _EndpointRow:
    workspace_id: WorkspaceId
    endpoint_id: EndpointId
    kind: str
    enabled: bool
    ingress_rps: Decimal
    max_payload_bytes: int
    hash_drop_window_sec: int
    meta: dict[str, object]
    created_at: datetime
    updated_at: datetime

    def endpoint(self) -> Endpoint:
        return Endpoint(
            self.workspace_id,
            self.endpoint_id,
            EndpointKind(self.kind),
            self.enabled,
            self.ingress_rps,
            self.max_payload_bytes,
            self.hash_drop_window_sec,
            self.meta,
            self.created_at,
            self.updated_at,
        )


async def add_endpoint(
    tx: Transaction,
    workspace_id: WorkspaceId,
    endpoint_id: EndpointId,
    kind: EndpointKind,
    secret_hash: str,
    meta: Mapping[str, object],
    *,
    ingress_rps: Decimal | None,
    max_payload_bytes: int | None,
    hash_drop_window_sec: int | None,
) -> bool:
    """What is None takes the column's default. False when there is one already."""
    added = await tx.value(
        """insert into workspace_endpoints (
               workspace_id, endpoint_id, kind, secret_hash, meta,
               ingress_rps, max_payload_bytes, hash_drop_window_sec)
           values ($1, $2, $3, $4, $5, coalesce($6::numeric, 5), coalesce($7, 262144), coalesce($8, 10))
           on conflict (workspace_id, endpoint_id) do nothing
           returning true""",
        workspace_id, endpoint_id, kind, secret_hash, meta,
        ingress_rps, max_payload_bytes, hash_drop_window_sec,
    )  # fmt: skip
    return added is not None


async def list_endpoints(tx: Transaction, workspace_id: WorkspaceId) -> list[Endpoint]:
    rows = await tx.rows(
        _EndpointRow,
        """select workspace_id, endpoint_id, kind, enabled, ingress_rps, max_payload_bytes,
                  hash_drop_window_sec, meta, created_at, updated_at
             from workspace_endpoints
            where workspace_id = $1
            order by created_at, endpoint_id""",
        workspace_id,
    )
    return [row.endpoint() for row in rows]


async def get_endpoint(tx: Transaction, workspace_id: WorkspaceId, endpoint_id: EndpointId) -> Endpoint | None:
    row = await tx.row(
        _EndpointRow,
        """select workspace_id, endpoint_id, kind, enabled, ingress_rps, max_payload_bytes,
                  hash_drop_window_sec, meta, created_at, updated_at
             from workspace_endpoints
            where workspace_id = $1 and endpoint_id = $2""",
        workspace_id, endpoint_id,
    )  # fmt: skip
    return None if row is None else row.endpoint()


async def switch_endpoint(
    tx: Transaction, workspace_id: WorkspaceId, endpoint_id: EndpointId, *, enabled: bool
) -> Endpoint | None:
    row = await tx.row(
        _EndpointRow,
        """update workspace_endpoints
              set enabled = $3, updated_at = case when enabled = $3 then updated_at else now() end
            where workspace_id = $1 and endpoint_id = $2
           returning workspace_id, endpoint_id, kind, enabled, ingress_rps, max_payload_bytes,
                     hash_drop_window_sec, meta, created_at, updated_at""",
        workspace_id, endpoint_id, enabled,
    )  # fmt: skip
    return None if row is None else row.endpoint()


async def rotate_endpoint(
    tx: Transaction, workspace_id: WorkspaceId, endpoint_id: EndpointId, secret_hash: str
) -> EndpointId:
    return EndpointId(
        await tx.value("select fn.rotate_endpoint($1, $2, $3)", workspace_id, endpoint_id, secret_hash)
    )


async def resolve_endpoint(tx: Transaction, kind: EndpointKind, secret_hash: str) -> ResolvedEndpoint | None:
    return await tx.row(
        ResolvedEndpoint,
        "select workspace_id, endpoint_id, max_payload_bytes from fn.resolve_endpoint($1, $2)",
        kind, secret_hash,
    )  # fmt: skip


# -- tokens


@dataclass(frozen=True, slots=True)
class TokenRow:
    """A token in one of its workspaces."""

    workspace_id: WorkspaceId
    token_id: TokenId
    title: str
    verbs: list[str]
    created_at: datetime
    expires_at: datetime | None
    revoked_at: datetime | None


@dataclass(frozen=True, slots=True)
class OpenedBy:
    """What a presented token opens in one workspace."""

    workspace_id: WorkspaceId
    token_id: TokenId
    verbs: list[str]


async def create_token(
    tx: Transaction,
    workspace_ids: Sequence[WorkspaceId],
    token_id: TokenId,
    token_hash: str,
    title: str,
    verbs: Sequence[str],
    expires_in: timedelta | None,
) -> None:
    await tx.execute(
        "select fn.create_token($1, $2, $3, $4, $5, $6)",
        workspace_ids, token_id, token_hash, title, verbs, expires_in,
    )  # fmt: skip


async def list_tokens(
    tx: Transaction, only: Sequence[WorkspaceId] | None = None, token_id: TokenId | None = None
) -> list[TokenRow]:
    return await tx.rows(
        TokenRow,
        """select workspace_id, token_id, title, verbs, created_at, expires_at, revoked_at
             from api_tokens
            where ($1::uuid[] is null or workspace_id = any($1))
              and ($2::text is null or token_id = $2)
            order by created_at, token_id, workspace_id""",
        only, token_id,
    )  # fmt: skip


async def revoke_token(tx: Transaction, token_id: TokenId) -> None:
    await tx.execute(
        "update api_tokens set revoked_at = now() where token_id = $1 and revoked_at is null", token_id
    )


async def resolve_token(tx: Transaction, token_hash: str) -> list[OpenedBy]:
    return await tx.rows(OpenedBy, "select workspace_id, token_id, verbs from fn.resolve_token($1)", token_hash)


# -- credentials


@dataclass(frozen=True, slots=True)
class BoundSecret:
    """A binding and, where its secret is sealed here, the sealed text."""

    workspace_id: WorkspaceId
    auth_ref: str
    platform: str
    secret_ref: str
    rotated_at: datetime | None
    updated_at: datetime
    key_id: str | None
    nonce: bytes | None
    ciphertext: bytes | None = field(repr=False)

    def binding(self) -> CredentialBinding:
        return CredentialBinding(
            self.workspace_id, self.auth_ref, self.platform, self.secret_ref, self.rotated_at, self.updated_at
        )

    def sealed(self) -> Sealed | None:
        if self.key_id is None or self.nonce is None or self.ciphertext is None:
            return None
        return Sealed(self.key_id, self.nonce, self.ciphertext)


@dataclass(frozen=True, slots=True)
class SealedRow:
    workspace_id: WorkspaceId
    name: str
    key_id: str
    nonce: bytes
    ciphertext: bytes = field(repr=False)


async def bind_credential(
    tx: Transaction,
    workspace_id: WorkspaceId,
    auth_ref: str,
    platform: str,
    secret_ref: str,
    sealed_name: str,
    sealed: Sealed | None,
) -> None:
    await tx.execute(
        "select fn.bind_credential($1, $2, $3, $4, $5, $6, $7, $8)",
        workspace_id, auth_ref, platform, secret_ref, sealed_name,
        sealed and sealed.key_id, sealed and sealed.nonce, sealed and sealed.ciphertext,
    )  # fmt: skip


async def unbind_credential(
    tx: Transaction, workspace_id: WorkspaceId, auth_ref: str, platform: str, sealed_name: str
) -> bool:
    """Takes the sealed secret along. False when there is no such binding."""
    unbound = await tx.value(
        """delete from credential_bindings
            where workspace_id = $1 and auth_ref = $2 and platform = $3
           returning true""",
        workspace_id, auth_ref, platform,
    )  # fmt: skip
    await tx.execute(
        "delete from sealed_secrets where workspace_id = $1 and name = $2", workspace_id, sealed_name
    )
    return unbound is not None


async def list_bound_secrets(tx: Transaction, workspace_id: WorkspaceId) -> list[BoundSecret]:
    return await tx.rows(
        BoundSecret,
        """select b.workspace_id, b.auth_ref, b.platform, b.secret_ref, b.rotated_at, b.updated_at,
                  s.key_id, s.nonce, s.ciphertext
             from credential_bindings b
             left join sealed_secrets s
               on s.workspace_id = b.workspace_id and b.secret_ref = 'sealed:' || s.name
            where b.workspace_id = $1
            order by b.auth_ref, b.platform""",
        workspace_id,
    )


async def get_bound_secrets(
    tx: Transaction, workspace_id: WorkspaceId, auth_refs: Sequence[str], platforms: Sequence[str]
) -> list[BoundSecret]:
    """The bindings of the pairs that stand at the same place of both lists; a missing one is left out."""
    return await tx.rows(
        BoundSecret,
        """select b.workspace_id, b.auth_ref, b.platform, b.secret_ref, b.rotated_at, b.updated_at,
                  s.key_id, s.nonce, s.ciphertext
             from unnest($2::text[], $3::text[]) wanted (auth_ref, platform)
             join credential_bindings b
               on b.workspace_id = $1 and b.auth_ref = wanted.auth_ref and b.platform = wanted.platform
             left join sealed_secrets s
               on s.workspace_id = b.workspace_id and b.secret_ref = 'sealed:' || s.name""",
        workspace_id, auth_refs, platforms,
    )  # fmt: skip


async def lock_sealed_under_other_keys(
    tx: Transaction, key_id: str, after: tuple[WorkspaceId, str], limit: int
) -> list[SealedRow]:
    """The next ones in the order of workspace and name, locked."""
    return await tx.rows(
        SealedRow,
        """select workspace_id, name, key_id, nonce, ciphertext
             from sealed_secrets
            where key_id <> $1 and (workspace_id, name) > ($2, $3)
            order by workspace_id, name
            limit $4
              for update""",
        key_id, *after, limit,
    )  # fmt: skip


async def replace_sealed(tx: Transaction, rows: Sequence[SealedRow]) -> None:
    await tx.execute_many(
        """update sealed_secrets
              set key_id = $3, nonce = $4, ciphertext = $5, updated_at = now()
            where workspace_id = $1 and name = $2""",
        [(row.workspace_id, row.name, row.key_id, row.nonce, row.ciphertext) for row in rows],
    )


# -- idempotency


@dataclass(frozen=True, slots=True)
class Begun:
    state: str
    locked_until: datetime
    status: int | None
    headers: dict[str, str] | None
    body: bytes | None


async def begin_idempotent(
    tx: Transaction,
    workspace_id: WorkspaceId,
    key: str,
    request_hash: str,
    lock_for: timedelta,
    keep_for: timedelta,
) -> Begun:
    begun = await tx.row(
        Begun,
        "select state, locked_until, status, headers, body from fn.begin_idempotent($1, $2, $3, $4, $5)",
        workspace_id, key, request_hash, lock_for, keep_for,
    )  # fmt: skip
    assert begun is not None, "fn.begin_idempotent returns one row"
    return begun


async def finish_idempotent(
    tx: Transaction,
    workspace_id: WorkspaceId,
    key: str,
    locked_until: datetime,
    status: int,
    headers: Mapping[str, str],
    body: bytes,
) -> bool:
    return await tx.value(
        "select fn.finish_idempotent($1, $2, $3, $4, $5, $6)",
        workspace_id, key, locked_until, status, headers, body,
    )  # fmt: skip


async def forget_idempotent(
    tx: Transaction, workspace_id: WorkspaceId, key: str, locked_until: datetime
) -> bool:
    return await tx.value("select fn.forget_idempotent($1, $2, $3)", workspace_id, key, locked_until)


async def purge_idempotency_keys(tx: Transaction, limit: int) -> int:
    return await tx.value(
        """with purged as (
               delete from idempotency_keys
                where ctid = any (array(select ctid from idempotency_keys
                                         where expires_at <= now()
                                         limit $1 for update skip locked))
               returning 1)
           select count(*) from purged""",
        limit,
    )


# -- settings


@dataclass(frozen=True, slots=True)
class SettingRow:
    workspace_id: WorkspaceId
    key: str
    value: object


async def setting(tx: Transaction, workspace_id: WorkspaceId, key: str) -> object:
    return await tx.value("select fn.setting($1, $2)", workspace_id, key)


async def list_settings(tx: Transaction, workspace_id: WorkspaceId, defaults: WorkspaceId) -> list[SettingRow]:
    """The workspace's own before the defaults of the same key."""
    return await tx.rows(
        SettingRow,
        """select workspace_id, key, value
             from autopost_settings
            where workspace_id in ($1, $2)
            order by key, workspace_id desc""",
        workspace_id, defaults,
    )  # fmt: skip


async def set_setting(tx: Transaction, workspace_id: WorkspaceId, key: str, value: object) -> None:
    await tx.execute(
        """insert into autopost_settings (workspace_id, key, value) values ($1, $2, $3)
           on conflict (workspace_id, key) do update set value = excluded.value""",
        workspace_id, key, value,
    )  # fmt: skip


async def clear_setting(tx: Transaction, workspace_id: WorkspaceId, key: str) -> bool:
    """False when it was not set."""
    cleared = await tx.value(
        "delete from autopost_settings where workspace_id = $1 and key = $2 returning true", workspace_id, key
    )
    return cleared is not None
