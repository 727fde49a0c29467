"""Credentials: what we present to platforms, by a logical key (`auth_ref`) that outlives each secret.

A binding says where the secret is and never holds it: `sealed:<name>` in our own table, `env:<NAME>` in the
environment, `file:</path>` on the machine's disk. Errors name the reference and never the value.

`env:` and `file:` reach what belongs to the machine, not to a tenant: let only its operators bind them, and
hand in an `environment` that holds no more than tenants may name.
"""

import asyncio
import os
import stat
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from pressroom.core.errors import BadSetup, InvalidInput, NotFound, PressroomError
from pressroom.core.ids import WorkspaceId
from pressroom.db.database import Database
from pressroom.workspaces import store
from pressroom.workspaces.model import CredentialBinding, check_place, checked_secret_ref, readable_id
from pressroom.workspaces.sealing import Keyring, open_without_waiting
from pressroom.workspaces.tenants import required

LARGEST_SECRET = 65_536

Pair = tuple[str, str]  # auth_ref, platform


@dataclass(frozen=True, slots=True)
class CredentialState:
    """A binding, and why its secret cannot be had just now; `problem` is None when it can."""

    binding: CredentialBinding
    problem: str | None


async def bind_credential(
    db: Database,
    keyring: Keyring,
    *,
    workspace_id: WorkspaceId,
    auth_ref: str,
    platform: str,
    secret: str | None = None,
    secret_ref: str | None = None,
) -> CredentialBinding:
    """Exactly one of the two: a `secret` is sealed here, a `secret_ref` names where it is kept.

    Bound again, the new one takes the old one's place and `rotated_at` is set.
    """
    readable_id(auth_ref, "auth_ref")
    readable_id(platform, "platform")
    if (secret is None) == (secret_ref is None):
        raise InvalidInput(
            "give either secret or secret_ref",
            hint="a secret is sealed here; a secret_ref is env:NAME or file:/path",
            field="secret",
        )
    name = _sealed_name(auth_ref, platform)
    sealed = None if secret is None else keyring.seal(workspace_id, name, _checked(secret))
    place = f"sealed:{name}" if secret_ref is None else checked_secret_ref(secret_ref)
    if place.startswith("file:"):
        await asyncio.to_thread(_check_real_path, place.removeprefix("file:"))
    async with db.transaction(workspace_id) as tx:
        await required(tx, workspace_id)
        await store.bind_credential(tx, workspace_id, auth_ref, platform, place, name, sealed)
        return (await store.get_bound_secrets(tx, workspace_id, [auth_ref], [platform]))[0].binding()


async def unbind_credential(db: Database, *, workspace_id: WorkspaceId, auth_ref: str, platform: str) -> None:
    """The sealed secret goes with it; what a reference names stays where it is."""
    readable_id(auth_ref, "auth_ref")
    readable_id(platform, "platform")
    async with db.transaction(workspace_id) as tx:
        if not await store.unbind_credential(
            tx, workspace_id, auth_ref, platform, _sealed_name(auth_ref, platform)
        ):
            raise _unbound(auth_ref, platform)


async def list_credentials(
    db: Database, keyring: Keyring, environment: Mapping[str, str], *, workspace_id: WorkspaceId
) -> list[CredentialState]:
    """Each is tried, and the value thrown away."""
    async with db.transaction(workspace_id) as tx:
        await required(tx, workspace_id)
        bound = await store.list_bound_secrets(tx, workspace_id)
    outcomes = [await _resolve(keyring, environment, secret) for secret in bound]
    return [
        CredentialState(secret.binding(), outcome.message if isinstance(outcome, PressroomError) else None)
        for secret, outcome in zip(bound, outcomes, strict=True)
    ]


async def resolve_credential(
    db: Database,
    keyring: Keyring,
    environment: Mapping[str, str],
    *,
    workspace_id: WorkspaceId,
    auth_ref: str,
    platform: str,
) -> str:
    """NotFound when nothing is bound, BadSetup when the secret is not where the binding says."""
    pair = (auth_ref, platform)
    outcome = (await resolve_credentials(db, keyring, environment, workspace_id=workspace_id, refs=[pair]))[
        pair
    ]
    if isinstance(outcome, PressroomError):
        raise outcome
    return outcome


async def resolve_credentials(
    db: Database,
    keyring: Keyring,
    environment: Mapping[str, str],
    *,
    workspace_id: WorkspaceId,
    refs: Collection[Pair],
) -> dict[Pair, str | PressroomError]:
    """One answer for each pair of `refs`: the secret, or the error that stands in its way, not raised."""
    wanted = list(dict.fromkeys(refs))
    async with db.transaction(workspace_id) as tx:
        bound = await store.get_bound_secrets(tx, workspace_id, [a for a, _ in wanted], [p for _, p in wanted])
    answers: dict[Pair, str | PressroomError] = {pair: _unbound(*pair) for pair in wanted}
    for secret in bound:
        answers[secret.auth_ref, secret.platform] = await _resolve(keyring, environment, secret)
    return answers


async def _resolve(
    keyring: Keyring, environment: Mapping[str, str], bound: store.BoundSecret
) -> str | PressroomError:
    kind, _, place = bound.secret_ref.partition(":")
    try:
        if kind == "sealed":
            return _unsealed(keyring, bound, place)
        if checked_secret_ref(bound.secret_ref) and kind == "env":
            return _not_empty(environment.get(place, ""), f"the environment has no value for {place}")
        text = await asyncio.to_thread(_read, place)
        return _not_empty(text.removesuffix("\n").removesuffix("\r"), "the file is empty")
    except PressroomError as error:
        return BadSetup(
            f"the credential {bound.auth_ref!r} of {bound.platform} is {bound.secret_ref}: {error.message}",
            hint=error.hint or "put it there, or bind the credential again",
        )


def _unsealed(keyring: Keyring, bound: store.BoundSecret, name: str) -> str:
    sealed = bound.sealed()
    if sealed is None:
        raise NotFound("there is no sealed secret of this name")
    return keyring.unseal(bound.workspace_id, name, sealed)


def _check_real_path(path: str) -> None:
    """A link may have been put there, or changed, since the binding was made."""
    check_place(os.path.realpath(path))


def _read(path: str) -> str:
    _check_real_path(path)
    try:
        with open(path, "rb", opener=open_without_waiting) as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise BadSetup("it is no ordinary file")
            content = file.read(LARGEST_SECRET + 1)
        if len(content) > LARGEST_SECRET:
            raise BadSetup(f"the file has more than {LARGEST_SECRET} bytes")
        return content.decode()
    except OSError as error:
        raise BadSetup(error.strerror or "it cannot be read") from error
    except UnicodeDecodeError:
        raise BadSetup("the file is not UTF-8 text") from None


def _not_empty(text: str, problem: str) -> str:
    if not text:
        raise BadSetup(problem)
    return text


def _checked(secret: str) -> str:
    try:
        size = len(secret.encode())
    except UnicodeEncodeError:
        size = 0
    if not 0 < size <= LARGEST_SECRET or secret.isspace():
        raise InvalidInput(
            f"the secret must be 1 to {LARGEST_SECRET} bytes of text",
            hint="paste it as the platform shows it",
            field="secret",
        )
    return secret


def _sealed_name(auth_ref: str, platform: str) -> str:
    return f"{platform}/{auth_ref}"


def _unbound(auth_ref: str, platform: str) -> NotFound:
    return NotFound(
        f"no credential is bound to {auth_ref!r} of {platform} in this workspace",
        hint="bind one, or name another auth_ref in the channel",
    )
