"""`pressroom credential`: what we present to platforms, and the keys that seal it."""

import sys
from getpass import getpass
from typing import Annotated

import typer

from pressroom.core.errors import InvalidInput
from pressroom.entrypoints.cli.options import Data, Json, OfWorkspace
from pressroom.entrypoints.cli.output import (
    Facts,
    Table,
    Toned,
    answer,
    as_plain,
    at_minute,
    bad,
    good,
    note,
    strong,
)
from pressroom.entrypoints.cli.session import meant, product_of, run
from pressroom.entrypoints.cli.shape import Noun
from pressroom.settings import environment
from pressroom.workspaces.credentials import (
    CredentialState,
    bind_credential,
    list_credentials,
    unbind_credential,
)
from pressroom.workspaces.model import CredentialBinding
from pressroom.workspaces.sealing import Keyring, reseal_all

app = Noun("What we present to platforms, such as bot tokens. No command ever prints one.")

AuthRef = Annotated[str, typer.Argument(metavar="AUTH_REF", help="The name by which channels ask for it.")]
Platform = Annotated[str, typer.Option(metavar="NAME", help="The platform it is for.")]

LONGEST_SECRET = 100_000


@app.verb("list")
async def list_(workspace: OfWorkspace = None, data: Data = None, as_json: Json = False) -> None:
    """Show which credentials are bound and where each secret is kept, not the secret.

    Examples:
      pressroom credential list
      pressroom credential list --workspace "City news" --json
    """
    found = await _states(workspace, data)
    rows = [
        (
            s.binding.auth_ref,
            s.binding.platform,
            s.binding.secret_ref,
            _state(s),
            at_minute(s.binding.updated_at),
        )
        for s in found
    ]
    columns = ("Auth ref", "Platform", "Where", "State", "Changed")
    answer(
        as_json, _document(found), Table(columns, rows, "No credentials yet: pressroom credential set AUTH_REF")
    )


@app.verb("check")
async def check(workspace: OfWorkspace = None, data: Data = None, as_json: Json = False) -> None:
    """Try to open each credential; say what stands in the way. Exit code 1 when one does not open.

    Examples:
      pressroom credential check
      pressroom credential check --workspace "City news" && echo all there
    """
    found = await _states(workspace, data)
    rows = [(s.binding.auth_ref, s.binding.platform, _state(s), s.problem or "") for s in found]
    answer(
        as_json, _document(found), Table(("Auth ref", "Platform", "State", "Why"), rows, "No credentials yet.")
    )
    if any(state.problem for state in found):
        raise typer.Exit(1)


@app.verb("set")
def set_(
    auth_ref: AuthRef,
    platform: Platform = "telegram",
    at: Annotated[
        str | None,
        typer.Option(
            "--at", metavar="REF", help="Where it is kept already: env:NAME or file:/path. Nothing is read."
        ),
    ] = None,
    workspace: OfWorkspace = None,
    data: Data = None,
    as_json: Json = False,
) -> None:
    """Seal a secret under a name, in place of the one before.

    The secret is asked for without showing it, or read from standard input. It is never an argument: other users
    of the machine can read those.

    Examples:
      pressroom credential set news-bot --platform telegram
      pressroom credential set news-bot < token.txt
      pressroom credential set news-bot --at env:NEWS_BOT_TOKEN
    """
    secret = (
        None if at is not None else _read_secret(auth_ref)
    )  # outside any loop: Ctrl-C ends the prompt at once
    bound = run(_bind(auth_ref, platform, secret, at, workspace, data))
    facts = [("Auth ref", bound.auth_ref), ("Platform", bound.platform), ("Where", bound.secret_ref)]
    answer(as_json, bound, Facts(facts))


async def _bind(
    auth_ref: str, platform: str, secret: str | None, at: str | None, workspace: str | None, data: str | None
) -> CredentialBinding:
    async with product_of(data) as product:
        return await bind_credential(
            product.db,
            product.keyring,
            workspace_id=(await meant(product.db, workspace)).workspace_id,
            auth_ref=auth_ref,
            platform=platform,
            secret=secret,
            secret_ref=at,
        )


@app.verb("unset")
async def unset(
    auth_ref: AuthRef,
    platform: Platform = "telegram",
    workspace: OfWorkspace = None,
    data: Data = None,
    as_json: Json = False,
) -> None:
    """Remove a credential. A sealed secret is deleted; what lies in a variable or a file stays there.

    Examples:
      pressroom credential unset news-bot --platform telegram
    """
    async with product_of(data) as product:
        workspace_id = (await meant(product.db, workspace)).workspace_id
        await unbind_credential(product.db, workspace_id=workspace_id, auth_ref=auth_ref, platform=platform)
    answer(
        as_json,
        {"auth_ref": auth_ref, "platform": platform, "removed": True},
        f"Removed {auth_ref} of {platform}.",
    )


@app.verb("new-key")
def new_key(as_json: Json = False) -> None:
    """Print a new key that seals secrets. It needs no database and keeps nothing.

    Put it first in PRESSROOM_SECRET_KEYS, or as the first line of secret.keys in the data folder, before the keys
    that are there; then run `pressroom credential reseal`.

    Examples:
      pressroom credential new-key
      export PRESSROOM_SECRET_KEYS=$(pressroom credential new-key)
    """
    key = Keyring.generate_text()
    answer(as_json, {"key": key}, strong(key))


@app.verb("reseal")
async def reseal(data: Data = None, as_json: Json = False) -> None:
    """Put every sealed secret of every workspace under the current key. Afterwards the older keys may go.

    Exit code 1 when some do not open; they stay as they are.

    Examples:
      pressroom credential reseal
    """
    async with product_of(data) as product:
        report = await reseal_all(product.db, product.keyring)
        current, others = product.keyring.current, product.keyring.key_ids[1:]
    rows = [(str(one.workspace_id), one.name, one.problem) for one in report.unopened]
    said = f"{report.resealed} resealed under the key {current}."
    document = {"key": current, "resealed": report.resealed, "unopened": report.unopened}
    if rows:
        answer(as_json, document, said, Table(("Workspace", "Name", "Why it stays"), rows))
        raise typer.Exit(1)
    answer(as_json, document, said)
    if others:
        note(f"Nothing needs these keys any more: {', '.join(others)}. Backups from before today still do.")


async def _states(workspace: str | None, data: str | None) -> list[CredentialState]:
    async with product_of(data) as product:
        workspace_id = (await meant(product.db, workspace)).workspace_id
        return await list_credentials(product.db, product.keyring, environment(), workspace_id=workspace_id)


def _document(states: list[CredentialState]) -> list[dict[str, object]]:
    return [{**as_plain(state.binding), "problem": state.problem} for state in states]


def _state(state: CredentialState) -> Toned:
    return bad("does not open") if state.problem else good("opens")


def _read_secret(auth_ref: str) -> str:
    """From a person without an echo, or one text from a pipe without its line end."""
    if sys.stdin.isatty():
        return getpass(f"Secret of {auth_ref} (not shown): ", stream=sys.stderr)
    text = sys.stdin.read(LONGEST_SECRET).removesuffix("\n").removesuffix("\r")
    if not text:
        raise InvalidInput(
            "no secret came on standard input",
            hint=f"pressroom credential set {auth_ref} < file, or run it in a terminal",
        )
    return text
