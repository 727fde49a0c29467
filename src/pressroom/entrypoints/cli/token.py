"""`pressroom token`: who may use the HTTP API."""

import re
from datetime import UTC, datetime, timedelta
from typing import Annotated

import typer

from pressroom.core.errors import InvalidInput
from pressroom.db.database import Database
from pressroom.entrypoints.cli.options import Data, Json
from pressroom.entrypoints.cli.output import (
    Cell,
    Facts,
    Table,
    answer,
    as_plain,
    at_minute,
    good,
    note,
    quiet,
    strong,
    warning,
)
from pressroom.entrypoints.cli.session import meant, product_of
from pressroom.entrypoints.cli.shape import Noun
from pressroom.workspaces.model import ApiToken, Verb
from pressroom.workspaces.tenants import list_workspaces
from pressroom.workspaces.tokens import create_token, list_tokens, revoke_token

app = Noun("Bearer tokens of the HTTP API: verbs on workspaces, until they expire.")

_DURATION = re.compile(r"(\d{1,6})([mhdw])")
_UNITS = {"m": timedelta(minutes=1), "h": timedelta(hours=1), "d": timedelta(days=1), "w": timedelta(weeks=1)}


@app.verb("list")
async def list_(data: Data = None, as_json: Json = False) -> None:
    """Show every token, expired and revoked ones too. Their secrets cannot be shown: only hashes are kept.

    Examples:
      pressroom token list
      pressroom token list --json
    """
    async with product_of(data) as product:
        found = await list_tokens(product.db)
        names = await _names(product.db)
    rows = [
        (t.token_id, _state(t), _verbs(t), _workspaces(t, names), at_minute(t.expires_at) or "never", t.title)
        for t in found
    ]
    columns = ("Token", "State", "Verbs", "Workspaces", "Expires", "Title")
    answer(as_json, found, Table(columns, rows, "No tokens yet: pressroom token create ID --verb read"))


@app.verb("create")
async def create(
    token: Annotated[str, typer.Argument(metavar="TOKEN", help="An id of your choice, as in ci or grafana.")],
    verbs: Annotated[list[Verb], typer.Option("--verb", help="What it may do; repeat it for more.")],
    workspaces: Annotated[
        list[str] | None,
        typer.Option(
            "--workspace",
            "-w",
            metavar="NAME",
            help="Where; repeat it for more.",
            show_default="the example workspace",
        ),
    ] = None,
    everywhere: Annotated[
        bool, typer.Option("--all-workspaces", help="In every workspace, those made later included.")
    ] = False,
    expires: Annotated[
        str | None,
        typer.Option(
            "--expires", metavar="TIME", help="For how long: 90m, 12h, 30d, 8w.", show_default="never"
        ),
    ] = None,
    title: Annotated[str, typer.Option(metavar="TEXT", help="Says who uses it.")] = "",
    data: Data = None,
    as_json: Json = False,
) -> None:
    """Make a token and print its secret, this once.

    The verb admin includes the other three.

    Examples:
      pressroom token create grafana --verb read --expires 30d
      pressroom token create ci --verb write --verb read --workspace "City news"
      pressroom token create me --verb admin --all-workspaces --json | jq -r .secret
    """
    if everywhere and workspaces:
        raise InvalidInput("--all-workspaces and --workspace exclude each other", hint="leave one of them out")
    life = None if expires is None else _duration(expires)
    async with product_of(data) as product:
        wanted = workspaces or [None]
        named = [(await meant(product.db, name)).workspace_id for name in wanted if not everywhere]
        made, secret = await create_token(
            product.db,
            token_id=token,
            workspaces="all" if everywhere else named,
            verbs=verbs,
            expires_in=life,
            title=title,
        )
        names = await _names(product.db)
    answer(
        as_json, {**as_plain(made), "secret": secret}, Facts([*_facts(made, names), ("Secret", strong(secret))])
    )
    note("The secret is shown this once and cannot be read again.")


@app.verb("revoke")
async def revoke(
    token: Annotated[str, typer.Argument(metavar="TOKEN", help="Its id.")],
    data: Data = None,
    as_json: Json = False,
) -> None:
    """Make a token worthless, at once and everywhere.

    Examples:
      pressroom token revoke ci
    """
    async with product_of(data) as product:
        revoked = await revoke_token(product.db, token_id=token)
        names = await _names(product.db)
    answer(as_json, revoked, Facts(_facts(revoked, names)))


def _duration(text: str) -> timedelta:
    found = _DURATION.fullmatch(text)
    if found is None:
        raise InvalidInput(
            f"--expires {text!r} is no time", hint="for example 90m, 12h, 30d or 8w", field="expires"
        )
    return int(found[1]) * _UNITS[found[2]]


async def _names(db: Database) -> dict[object, str]:
    return {workspace.workspace_id: workspace.name for workspace in await list_workspaces(db)}


def _facts(token: ApiToken, names: dict[object, str]) -> list[tuple[str, Cell]]:
    return [
        ("Token", token.token_id),
        ("State", _state(token)),
        ("Verbs", _verbs(token)),
        ("Workspaces", _workspaces(token, names)),
        ("Expires", at_minute(token.expires_at) or "never"),
        ("Title", token.title),
    ]


def _state(token: ApiToken) -> Cell:
    if token.revoked_at is not None:
        return quiet("revoked")
    if token.expires_at is not None and token.expires_at <= datetime.now(UTC):
        return warning("expired")
    return good("valid")


def _verbs(token: ApiToken) -> str:
    return ", ".join(verb for verb in Verb if verb in token.verbs)


def _workspaces(token: ApiToken, names: dict[object, str]) -> str:
    if token.workspaces == "all":
        return "all"
    return ", ".join(names.get(workspace_id, str(workspace_id)) for workspace_id in token.workspaces)
