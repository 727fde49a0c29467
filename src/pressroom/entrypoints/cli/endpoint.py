"""`pressroom endpoint`: the doors of a workspace."""

from typing import Annotated

import typer

from pressroom.entrypoints.cli.options import Data, Json, OfWorkspace
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
)
from pressroom.entrypoints.cli.session import meant, product_of
from pressroom.entrypoints.cli.shape import Noun
from pressroom.workspaces.endpoints import (
    create_endpoint,
    disable_endpoint,
    enable_endpoint,
    list_endpoints,
    rotate_endpoint,
)
from pressroom.workspaces.model import Endpoint, EndpointKind

app = Noun("The doors of a workspace. Whoever has the secret of one may push content into that workspace.")

Which = Annotated[str, typer.Argument(metavar="ENDPOINT", help="Its id.")]


@app.verb("list")
async def list_(workspace: OfWorkspace = None, data: Data = None, as_json: Json = False) -> None:
    """Show the endpoints of a workspace. Secrets cannot be shown: only their hashes are kept.

    Examples:
      pressroom endpoint list
      pressroom endpoint list --workspace "City news" --json
    """
    async with product_of(data) as product:
        found = await list_endpoints(product.db, workspace_id=(await meant(product.db, workspace)).workspace_id)
    rows = [
        (e.endpoint_id, e.kind, _state(e), as_plain(e.ingress_rps), e.title, at_minute(e.created_at))
        for e in found
    ]
    columns = ("Endpoint", "Kind", "State", "Per second", "Title", "Created")
    answer(as_json, found, Table(columns, rows, "No endpoints yet: pressroom endpoint create ID"))


@app.verb("create")
async def create(
    endpoint: Annotated[str, typer.Argument(metavar="ENDPOINT", help="An id of your choice, as in my-site.")],
    kind: Annotated[EndpointKind, typer.Option(help="What comes in through it.")] = EndpointKind.WEBHOOK_PUSH,
    title: Annotated[str, typer.Option(metavar="TEXT", help="Says who sends through it.")] = "",
    rate: Annotated[
        float | None,
        typer.Option(
            metavar="NUMBER", help="Most requests per second; kept, not enforced yet.", show_default="5"
        ),
    ] = None,
    max_bytes: Annotated[
        int | None,
        typer.Option(metavar="BYTES", help="Largest body; kept, not enforced yet.", show_default="262144"),
    ] = None,
    workspace: OfWorkspace = None,
    data: Data = None,
    as_json: Json = False,
) -> None:
    """Make an endpoint and print its secret, this once.

    Examples:
      pressroom endpoint create my-site --title "The shop's web site"
      pressroom endpoint create my-site --json | jq -r .secret
    """
    async with product_of(data) as product:
        made, secret = await create_endpoint(
            product.db,
            workspace_id=(await meant(product.db, workspace)).workspace_id,
            endpoint_id=endpoint,
            kind=kind,
            title=title,
            ingress_rps=rate,
            max_payload_bytes=max_bytes,
        )
    _show_secret(made, secret, as_json)


@app.verb("rotate")
async def rotate(
    endpoint: Which, workspace: OfWorkspace = None, data: Data = None, as_json: Json = False
) -> None:
    """Replace an endpoint by a successor with a new secret. The old secret is refused at once.

    Examples:
      pressroom endpoint rotate my-site
    """
    async with product_of(data) as product:
        workspace_id = (await meant(product.db, workspace)).workspace_id
        made, secret = await rotate_endpoint(product.db, workspace_id=workspace_id, endpoint_id=endpoint)
    _show_secret(made, secret, as_json)


@app.verb("enable")
async def enable(
    endpoint: Which, workspace: OfWorkspace = None, data: Data = None, as_json: Json = False
) -> None:
    """Let the secret of an endpoint open it again.

    Examples:
      pressroom endpoint enable my-site
    """
    async with product_of(data) as product:
        workspace_id = (await meant(product.db, workspace)).workspace_id
        _show(await enable_endpoint(product.db, workspace_id=workspace_id, endpoint_id=endpoint), as_json)


@app.verb("disable")
async def disable(
    endpoint: Which, workspace: OfWorkspace = None, data: Data = None, as_json: Json = False
) -> None:
    """Refuse everything that comes with the secret of an endpoint.

    Examples:
      pressroom endpoint disable my-site
    """
    async with product_of(data) as product:
        workspace_id = (await meant(product.db, workspace)).workspace_id
        _show(await disable_endpoint(product.db, workspace_id=workspace_id, endpoint_id=endpoint), as_json)


def _show(endpoint: Endpoint, as_json: bool) -> None:
    answer(as_json, endpoint, Facts(_facts(endpoint)))


def _show_secret(endpoint: Endpoint, secret: str, as_json: bool) -> None:
    answer(
        as_json,
        {**as_plain(endpoint), "secret": secret},
        Facts([*_facts(endpoint), ("Secret", strong(secret))]),
    )
    note("The secret is shown this once and cannot be read again.")


def _facts(endpoint: Endpoint) -> list[tuple[str, Cell]]:
    return [
        ("Endpoint", endpoint.endpoint_id),
        ("Kind", endpoint.kind),
        ("State", _state(endpoint)),
        ("Title", endpoint.title),
    ]


def _state(endpoint: Endpoint) -> Cell:
    return good("enabled") if endpoint.enabled else quiet("disabled")
