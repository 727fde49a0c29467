"""API tokens: who may do what in which workspaces, until when. Only the hash of a token is kept."""

from collections.abc import Collection, Iterable, Sequence
from datetime import timedelta
from itertools import groupby
from typing import Literal

from pressroom.core.errors import InvalidInput, NotFound, Unauthorized
from pressroom.core.ids import EVERY_WORKSPACE, WorkspaceId
from pressroom.db.database import Database, Transaction
from pressroom.workspaces import store
from pressroom.workspaces.model import (
    API_PREFIX,
    LONGEST_SECRET,
    Access,
    ApiToken,
    TokenId,
    Verb,
    checked_name,
    hash_secret,
    new_secret,
    readable_id,
)

LONGEST_LIFE = timedelta(days=3650)
MOST_WORKSPACES = 1000


async def create_token(
    db: Database,
    *,
    token_id: str,
    workspaces: Sequence[WorkspaceId] | Literal["all"],
    verbs: Collection[Verb],
    expires_in: timedelta | None = None,
    title: str = "",
) -> tuple[ApiToken, str]:
    """The token and its secret, which is returned this once. Without `expires_in` it lasts until it is revoked."""
    chosen = TokenId(readable_id(token_id, "token_id"))
    opened = [EVERY_WORKSPACE] if workspaces == "all" else list(workspaces)
    _check(opened, workspaces, verbs, expires_in)
    secret = new_secret(API_PREFIX)
    async with db.system() as tx:
        await store.create_token(
            tx, opened, chosen, hash_secret(secret), checked_name(title, "title", required=False),
            sorted(set(verbs)), expires_in,
        )  # fmt: skip
        return await _required(tx, chosen), secret


async def list_tokens(db: Database, *, only: Collection[WorkspaceId] | None = None) -> list[ApiToken]:
    """The oldest first, expired and revoked ones among them.

    `only` keeps to what its workspaces may know: their rows, and of a token with more rows only those.
    """
    async with db.system() as tx:
        return _tokens(await store.list_tokens(tx, None if only is None else list(only)))


async def get_token(db: Database, *, token_id: str) -> ApiToken:
    chosen = TokenId(readable_id(token_id, "token_id"))
    async with db.system() as tx:
        return await _required(tx, chosen)


async def revoke_token(db: Database, *, token_id: str) -> ApiToken:
    """It opens nothing any more, in none of its workspaces. Revoked again, it keeps its first time."""
    chosen = TokenId(readable_id(token_id, "token_id"))
    async with db.system() as tx:
        await store.revoke_token(tx, chosen)
        return await _required(tx, chosen)


async def resolve_token(db: Database, *, secret: str) -> Access:
    """What the bearer may do; Unauthorized when the token is unknown, expired or revoked, without saying which."""
    if 0 < len(secret) <= LONGEST_SECRET:
        async with db.transaction(EVERY_WORKSPACE) as tx:  # no tenant yet: see resolve_endpoint
            rows = await store.resolve_token(tx, hash_secret(secret))
        if rows:
            return Access(rows[0].token_id, {row.workspace_id: frozenset(map(Verb, row.verbs)) for row in rows})
    raise Unauthorized(
        "this token opens nothing", hint="it may have expired or been revoked: ask for another one"
    )


def _check(
    opened: Sequence[WorkspaceId],
    workspaces: Sequence[WorkspaceId] | str,
    verbs: Collection[Verb],
    expires_in: timedelta | None,
) -> None:
    if not 0 < len(opened) <= MOST_WORKSPACES:
        raise InvalidInput(
            f"workspaces must name 1 to {MOST_WORKSPACES} of them, or be `all`",
            hint="a token without a workspace opens nothing",
            field="workspaces",
        )
    if workspaces != "all" and EVERY_WORKSPACE in opened:
        raise InvalidInput(
            "the nil uuid is no workspace", hint="write `all` to open every workspace", field="workspaces"
        )
    if not verbs:
        raise InvalidInput("verbs is empty", hint=f"name at least one of {', '.join(Verb)}", field="verbs")
    if expires_in is not None and not timedelta(0) < expires_in <= LONGEST_LIFE:
        raise InvalidInput(
            f"expires_in must be above zero and at most {LONGEST_LIFE.days} days",
            hint="leave it out for a token that lasts until it is revoked",
            field="expires_in",
        )


async def _required(tx: Transaction, token_id: TokenId) -> ApiToken:
    found = _tokens(await store.list_tokens(tx, token_id=token_id))
    if not found:
        raise NotFound(f"there is no token {token_id}", hint="see the list of tokens")
    return found[0]


def _tokens(rows: Iterable[store.TokenRow]) -> list[ApiToken]:
    """Rows of one token, which stand together, made one; they differ in nothing but the workspace."""
    tokens: list[ApiToken] = []
    for token_id, group in groupby(rows, key=lambda row: row.token_id):
        of_token = list(group)
        first = of_token[0]
        named = tuple(row.workspace_id for row in of_token)
        tokens.append(
            ApiToken(
                token_id,
                first.title,
                "all" if EVERY_WORKSPACE in named else named,
                frozenset(map(Verb, first.verbs)),
                first.created_at,
                first.expires_at,
                first.revoked_at,
            )
        )
    return tokens
