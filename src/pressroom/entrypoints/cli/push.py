"""`pressroom push TEXT`: one post from the command line, past the secret of the door."""

import json
import sys
from typing import Annotated

import typer

from pressroom.core.ids import RunId, trace_id
from pressroom.entrypoints.cli.options import Data, Json, OfWorkspace
from pressroom.entrypoints.cli.output import Toned, answer, good, note, warning
from pressroom.entrypoints.cli.session import meant, product_of, run
from pressroom.intake.push import PushBody, PushReceipt, accept, parse
from pressroom.workspaces.model import Workspace, WorkspaceStatus

ENDPOINT = "command-line"


def command(
    text: Annotated[str, typer.Argument(help="The post; - reads it from standard input.")],
    link: Annotated[list[str] | None, typer.Option("--link", help="A link to append; may be repeated.")] = None,
    tag: Annotated[list[str] | None, typer.Option("--tag", help="A tag to route by; may be repeated.")] = None,
    channel: Annotated[
        list[str] | None, typer.Option("--channel", help="Only this channel; may be repeated.")
    ] = None,
    workspace: OfWorkspace = None,
    data: Data = None,
    as_json: Json = False,
) -> None:
    """Put one post to work: it is stored, and queued for every channel that its tags reach.

    A running `pressroom up` or `pressroom serve dispatch` sends it; without one it waits.

    Examples:
    pressroom push "Hello from Pressroom"
    pressroom push "Sale!" --tag deals --link https://example.org/sale
    cat post.txt | pressroom push - --json
    """
    body = {
        "text": sys.stdin.read() if text == "-" else text,
        "links": link or [],
        "tags": tag or [],
        "channel_ids": channel or None,
    }
    of, receipt = run(_push(parse(json.dumps(body).encode()), workspace, data))
    answer(as_json, receipt.as_json(), _said(receipt))
    if of.status == WorkspaceStatus.PAUSED:
        note(f"The workspace {of.name} is paused: its posts wait until `pressroom workspace resume`.")


async def _push(pushed: PushBody, workspace: str | None, data: str | None) -> tuple[Workspace, PushReceipt]:
    async with product_of(data) as product:
        of = await meant(product.db, workspace)
        return of, await accept(
            product.db, product.platforms, workspace_id=of.workspace_id, endpoint_id=ENDPOINT, pushed=pushed,
            trace_id=trace_id(), run_id=RunId(trace_id()),
        )  # fmt: skip


def _said(receipt: PushReceipt) -> Toned:
    counts = receipt.enqueued
    parts = [
        f"{count} {what}"
        for count, what in (
            (counts.queued, "queued"),
            (counts.suppressed, "suppressed: the channel has this post already"),
            (counts.failed_permanent, "failed: see `pressroom doctor`"),
            (counts.send_mode_skipped, "skipped: the channel takes no text"),
        )
        if count
    ]
    if not parts:
        return warning("Stored, but no channel matches.")
    return (good if counts.queued else warning)("Deliveries: " + ", ".join(parts) + ".")
