"""`pressroom status`: one screen that says whether work moves."""

import asyncio
import json
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Annotated

import typer

from pressroom.core.errors import InvalidInput, PressroomError
from pressroom.entrypoints.cli.options import Data, Json, OfWorkspace
from pressroom.entrypoints.cli.output import (
    Cell,
    Facts,
    Part,
    Table,
    Tone,
    Toned,
    ago,
    answer,
    as_plain,
    at_minute,
    bad,
    drawn,
    end_progress,
    good,
    lasting,
    quiet,
    screen,
    warning,
)
from pressroom.entrypoints.cli.session import meant, product_of
from pressroom.entrypoints.cli.workspace import status_cell
from pressroom.ops.recent import Recent, recent
from pressroom.ops.state import State, state
from pressroom.wiring import Product
from pressroom.workspaces.model import Workspace
from pressroom.workspaces.tenants import get_workspace

TROUBLED = {"retry": Tone.WARNING, "failed_permanent": Tone.BAD, "dead": Tone.BAD}


async def command(
    watch: Annotated[bool, typer.Option("--watch", help="Refresh in place until Ctrl-C.")] = False,
    every: Annotated[
        float, typer.Option("--every", metavar="SECONDS", help="How often --watch refreshes.")
    ] = 2.0,
    workspace: OfWorkspace = None,
    data: Data = None,
    as_json: Json = False,
) -> None:
    """Show on one screen what waits, how fast it leaves, what is paused or failing, and which loops run.

    With --watch --json there is one JSON document a line.

    Examples:
      pressroom status
      pressroom status --watch --every 5
      pressroom status --json | jq .queue.due
    """
    if not 0.1 <= every <= 3600:
        raise InvalidInput(
            "--every must be from 0.1 to 3600 seconds", hint="for example --every 5", field="every"
        )
    async with product_of(data) as product:
        of = await meant(product.db, workspace)
        if watch:
            await _watch(product, of, every, as_json)
            return
        now, recently = await _look(product, of)
    answer(as_json, _document(of, now, recently), *_parts(of, now, recently))


async def _look(product: Product, of: Workspace) -> tuple[State, Recent]:
    return (
        await state(product.db, workspace_id=of.workspace_id),
        await recent(product.db, workspace_id=of.workspace_id),
    )


async def _watch(product: Product, of: Workspace, every: float, as_json: bool) -> None:
    """Ctrl-C is its normal end. A database that is away for a while is said and waited for."""
    from rich.console import Group
    from rich.live import Live

    end_progress()
    console = screen()
    in_place = console.is_terminal and not as_json
    with Live(console=console, auto_refresh=False) if in_place else _NoScreen() as live:
        while True:
            try:
                of = await get_workspace(product.db, workspace_id=of.workspace_id)
                now, recently = await _look(product, of)
                document, parts = _document(of, now, recently), _parts(of, now, recently)
            except asyncio.CancelledError:
                return
            except PressroomError as error:
                document, parts = {"error": error.message}, [bad(error.message)]
            if as_json:
                sys.stdout.write(json.dumps(as_plain(document)) + "\n")
                sys.stdout.flush()
            elif isinstance(live, Live):
                live.update(Group(*(drawn(part) for part in _spaced(parts))), refresh=True)
            else:
                answer(False, document, *parts, "")
                sys.stdout.flush()
            try:
                await asyncio.sleep(every)
            except asyncio.CancelledError:
                return


class _NoScreen:
    """Where nothing can be refreshed in place."""

    def __enter__(self) -> None: ...

    def __exit__(self, *_: object) -> None: ...


def _spaced(parts: Sequence[Part]) -> list[Part]:
    return [shown for part in parts for shown in (part, "")]


def _document(of: Workspace, now: State, recently: Recent) -> dict[str, object]:
    queue = now.delivery.queue
    minutes = recently.window.total_seconds() / 60
    return {
        "workspace": {"workspace_id": of.workspace_id, "name": of.name, "status": of.status},
        "queue": {
            "due": queue.due,
            "waiting": queue.waiting,
            "sending": queue.sending,
            "oldest_due_at": queue.oldest_due_at,
            "oldest_due_seconds": None
            if queue.oldest_due_at is None
            else datetime.now(UTC) - queue.oldest_due_at,
        },
        "rates": {
            "sent_last_minute": recently.work.sent_last_minute,
            "sent_per_minute": round(recently.work.sent / minutes, 1),
            "window_seconds": recently.window,
            "retried": recently.work.retried,
            "given_up": recently.work.given_up,
        },
        "deliveries": now.delivery.by_status,
        "closed_channels": now.delivery.closed_channels,
        "failing_channels": recently.failing,
        "loops": [
            {
                "loop": beat.loop,
                "process": beat.process,
                "alive": beat.alive,
                "passed_at": beat.passed_at,
                "progress_at": beat.progress_at,
                "every_seconds": beat.every,
                "silent_seconds": beat.silent_for,
                "error": beat.error,
            }
            for beat in now.loops
        ],
    }


def _parts(of: Workspace, now: State, recently: Recent) -> list[Part]:
    queue, work = now.delivery.queue, recently.work
    minutes = recently.window.total_seconds() / 60
    oldest: Cell = (
        quiet("nothing is due")
        if queue.oldest_due_at is None
        else f"waits for {lasting(datetime.now(UTC) - queue.oldest_due_at)}"
    )
    facts: list[tuple[str, Cell]] = [
        ("Workspace", of.name),
        ("Status", status_cell(of.status)),
        ("Queue", f"{queue.due:,} due, {queue.waiting:,} later, {queue.sending:,} being sent"),
        ("Oldest due", oldest),
        (
            "Sent",
            f"{work.sent_last_minute:,} in the last minute, {work.sent / minutes:,.1f} a minute over {minutes:.0f}",
        ),
        ("Failed", _failures(recently)),
    ]
    parts: list[Part] = [
        Facts(facts),
        Table(
            ("Deliveries", "Count"),
            [
                (Toned(name, TROUBLED.get(name, Tone.PLAIN)), count)
                for name, count in now.delivery.by_status.items()
            ],
            "No deliveries yet.",
        ),
    ]
    troubled = _troubled_channels(now, recently)
    if troubled:
        parts.append(Table(("Channel", "State", "Why"), troubled))
    parts.append(
        Table(("Loop", "State", "Passed", "Last worked", "Process"), _loops(now), "No loop is running.")
    )
    return parts


def _failures(recently: Recent) -> Cell:
    work = recently.work
    if not (work.retried or work.given_up):
        return good(f"nothing in the last {lasting(recently.window)}")
    text = (
        f"{work.retried:,} to be tried again, {work.given_up:,} given up in the last {lasting(recently.window)}"
    )
    return bad(text) if work.given_up else warning(text)


def _troubled_channels(now: State, recently: Recent) -> list[tuple[Cell, ...]]:
    closed: list[tuple[Cell, ...]] = [
        (
            channel.title or channel.channel_id,
            quiet("disabled") if not channel.enabled else warning("paused"),
            f"until {at_minute(channel.paused_until)}" if channel.enabled else "",
        )
        for channel in now.delivery.closed_channels
    ]
    failing: list[tuple[Cell, ...]] = [
        (
            channel.title or channel.channel_id,
            bad("failing"),
            " ".join(
                filter(
                    None,
                    [
                        f"{channel.failures} lately:"
                        if channel.failures
                        else f"{channel.error_streak} in a row",
                        channel.code,
                        channel.message,
                    ],
                )
            ),
        )
        for channel in recently.failing
    ]
    return closed + failing


def _loops(now: State) -> list[tuple[Cell, ...]]:
    return [
        (
            beat.loop,
            bad(beat.error) if beat.error else good("alive") if beat.alive else bad("silent"),
            f"{lasting(beat.silent_for)} ago",
            ago(beat.progress_at),
            beat.process,
        )
        for beat in now.loops
    ]
