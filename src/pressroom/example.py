"""The workspace that a new installation starts with, so that the first post needs no preparation.

Its channels are chats of the sandbox. The rows come from `db/seed.sql`, the two secrets are made here: the
one that opens its push door is random, and sealed so that the start screen can show it.
"""

from importlib.resources import files
from uuid import UUID

from pressroom.core.errors import BadSetup, NotFound, Unauthorized
from pressroom.core.ids import WorkspaceId
from pressroom.db.database import Database
from pressroom.sandbox.telegram import EXAMPLE_TOKEN
from pressroom.workspaces.credentials import bind_credential, resolve_credential
from pressroom.workspaces.endpoints import resolve_endpoint
from pressroom.workspaces.model import PUSH_PREFIX, EndpointKind, hash_secret, new_secret
from pressroom.workspaces.sealing import Keyring

WORKSPACE = WorkspaceId(UUID("00000000-0000-7000-8000-000000000001"))
BOT = ("example", "telegram")
PUSH_SECRET = ("example-push", "pressroom")


async def seed_example(db: Database, keyring: Keyring) -> None:
    """Once, on a new database; repeated, it makes new secrets and changes nothing else."""
    secret = new_secret(PUSH_PREFIX)
    async with db.system() as tx:
        await tx.execute("select set_config('pressroom.seed_push_secret_hash', $1, true)", hash_secret(secret))
        await tx.connection.execute(files("pressroom.db").joinpath("seed.sql").read_text("utf-8"))
    for (auth_ref, platform), value in ((BOT, EXAMPLE_TOKEN), (PUSH_SECRET, secret)):
        await bind_credential(
            db,
            keyring,
            workspace_id=WORKSPACE,
            auth_ref=auth_ref,
            platform=platform,
            secret=value,
            secret_ref=None,
        )


async def working_push_secret(db: Database, keyring: Keyring) -> str | None:
    """None when it was rotated, or does not open any more."""
    try:
        secret = await push_secret(db, keyring)
        await resolve_endpoint(db, kind=EndpointKind.WEBHOOK_PUSH, secret=secret)
    except (BadSetup, NotFound, Unauthorized):
        return None
    return secret


async def push_secret(db: Database, keyring: Keyring) -> str:
    """What opens the push door of the example workspace."""
    auth_ref, platform = PUSH_SECRET
    return await resolve_credential(
        db, keyring, {}, workspace_id=WORKSPACE, auth_ref=auth_ref, platform=platform
    )
