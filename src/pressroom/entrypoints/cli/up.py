"""`pressroom up`: everything in one process, with one calm start screen."""

import asyncio
import contextlib
import fcntl
import json
import os
import shlex
import sys
import time
from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import asynccontextmanager, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any
from uuid import UUID

import aiohttp
import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from pressroom import __version__
from pressroom.core.errors import BadSetup, Unavailable
from pressroom.core.ids import uuid_v7
from pressroom.core.logs import configure_logs
from pressroom.db.database import Database
from pressroom.delivery.model import Status
from pressroom.delivery.read import DeliveryRow, list_deliveries
from pressroom.entrypoints.cli.options import Data, Json
from pressroom.entrypoints.cli.output import Facts, answer, printable
from pressroom.entrypoints.cli.serve import Port, run_fast, running, stop_on_signal
from pressroom.example import WORKSPACE, working_push_secret
from pressroom.sandbox.core.ledger import Effect
from pressroom.sandbox.core.view import NoSuch
from pressroom.sandbox.run import Options, Sandbox, run_sandbox
from pressroom.settings import Settings, environment, load
from pressroom.wiring import Product, Say, data_folder, embedded_folder, open_product, quietly

ROLES = ("api", "dispatch")
CHECK_SECONDS = 30
SENDING = ("send", "forward", "copy", "POST /messages")
TITLES = {"telegram": "Telegram", "max": "MAX"}
ON_ITS_WAY = {Status.QUEUED, Status.CLAIMED, Status.SENDING, Status.RETRY}


def command(
    port: Port = None,
    sandbox_port: Annotated[
        int | None, typer.Option("--sandbox-port", min=0, max=65535, help="Port of the sandbox Telegram.")
    ] = None,
    max_port: Annotated[
        int | None, typer.Option("--max-port", min=0, max=65535, help="Port of the sandbox MAX.")
    ] = None,
    window_port: Annotated[
        int | None, typer.Option("--window-port", min=0, max=65535, help="Port of the sandbox's window.")
    ] = None,
    check_only: Annotated[
        bool,
        typer.Option("--check", help="Start on free ports, deliver one post, stop; fails when that fails."),
    ] = False,
    data: Data = None,
    as_json: Json = False,
) -> None:
    """Start everything in one process: database, HTTP API, workers, sandbox, an example workspace.

    Ctrl-C finishes what is under way and stops everything; started again, it goes on with the same data.
    --port 0 picks free ports for all of them.

    Examples:
    pressroom up
    pressroom up --port 0 --data /tmp/try
    pressroom up --check --json
    """
    if check_only:
        port = 0
    sandbox_port, max_port, window_port = (
        0 if port == 0 and given is None else given for given in (sandbox_port, max_port, window_port)
    )
    settings = load(
        data=data,
        api_port=port,
        sandbox_telegram_port=sandbox_port,
        sandbox_max_port=max_port,
        sandbox_window_port=window_port,
    )
    asked = "log_level" in settings.model_fields_set
    configure_logs(settings.log_level if asked else "warning", settings.log_format)
    if not check_only:
        run_fast(up(settings, as_json=as_json), settings)
        return
    report = run_fast(check(settings), settings)
    answer(as_json, report, Facts([(name.replace("_", " "), str(value)) for name, value in report.items()]))


@dataclass(frozen=True, slots=True)
class Running:
    """What is up, and where to look."""

    product: Product
    api: str
    sandbox: Sandbox
    secret: str | None
    stop: asyncio.Event

    def as_json(self) -> dict[str, Any]:
        return {
            "version": __version__,
            "api": self.api,
            "docs": f"{self.api}/api/docs",
            "sandbox": dict(self.sandbox.urls),
            "push": {"url": f"{self.api}/ingest/push", "secret": self.secret},
            "data": str(data_folder(self.product.settings)),
        }


async def up(settings: Settings, *, as_json: bool) -> None:
    """Until Ctrl-C; each post that arrives in the sandbox is shown."""
    begun = time.perf_counter()
    notes = Console(stderr=True)
    with notes.status("Starting ...") as spinner:
        async with _everything(settings, say=spinner.update, alone=True) as everything:
            spinner.stop()
            if as_json:
                print(json.dumps(everything.as_json()), flush=True)
            else:
                _welcome(Console(), everything, time.perf_counter() - begun)
            showing = asyncio.create_task(_show_arrivals(everything.sandbox, as_json=as_json))
            await everything.stop.wait()
            showing.cancel()
            _say(notes, "\nStopping: what is under way is finished first. Ctrl-C again stops at once.")
    _say(notes, "Stopped. Your data stays; `up` goes on with it.")


async def check(settings: Settings) -> dict[str, Any]:
    """Start on free ports, push a post through the front door, see it sent, stop. Raises when it is not.

    Beside a running `up` either of the two may send it, so the deliveries are the judge.
    """
    begun = time.perf_counter()
    async with _everything(settings, say=quietly, alone=False) as everything, aiohttp.ClientSession() as http:
        ready = time.perf_counter()
        async with http.get(f"{everything.api}/api/health") as answer:
            health = await answer.json()
            if answer.status != 200:
                raise Unavailable(f"health says {health}", hint="`pressroom doctor` says what is wrong")
        receipt = await _push(http, everything, f"Pressroom check {uuid_v7()}")
        try:
            deliveries = await asyncio.wait_for(_settled(everything.product.db, receipt), CHECK_SECONDS)
        except TimeoutError:
            raise Unavailable(
                f"the post was not sent within {CHECK_SECONDS} s", hint="`pressroom doctor` says what is wrong"
            ) from None
        failed = [delivery for delivery in deliveries if delivery.status != Status.SENT]
        if failed or not deliveries:
            why = "; ".join(f"{each.channel_id}: {(each.last_error or {}).get('message')}" for each in failed)
            raise Unavailable(
                f"the post was not delivered: {why or 'no channel takes it'}", hint="see `pressroom status`"
            )
        return {
            "ready_seconds": round(ready - begun, 2),
            "delivered_seconds": round(time.perf_counter() - ready, 2),
            "health": health["status"],
            "deliveries": receipt["deliveries"],
            "arrived_in": [delivery.channel_title for delivery in deliveries],
        }


async def _push(http: aiohttp.ClientSession, everything: Running, text: str) -> dict[str, Any]:
    if everything.secret is None:
        raise BadSetup(
            "the secret of the example's push door is not known here: it was rotated, or its sealing key is gone",
            hint="check on a new data folder: pressroom up --check --data DIR",
        )
    async with http.post(
        f"{everything.api}/ingest/push", json={"text": text}, headers={"X-Pressroom-Secret": everything.secret}
    ) as answer:
        receipt = await answer.json()
        if answer.status != 202:
            raise Unavailable(f"the push door answered {answer.status}: {receipt.get('detail')}")
        return receipt


async def _settled(db: Database, receipt: dict[str, Any]) -> list[DeliveryRow]:
    """The deliveries of a post, once none of them is on its way any more."""
    while True:
        page = await list_deliveries(db, workspace_id=WORKSPACE, message_id=UUID(receipt["message_id"]))
        if all(delivery.status not in ON_ITS_WAY for delivery in page.items):
            return page.items
        await asyncio.sleep(0.02)


@contextmanager
def _only_one(settings: Settings) -> Generator[Callable[[str], None]]:
    """Two on one data folder would each have a sandbox, and posts would appear in either.

    Gives a function that takes down where this one answers, for the one that comes too late.
    """
    folder = embedded_folder(settings)
    if folder is None:
        yield _nobody_asks
        return
    with open(folder / "up.lock", "a+", encoding="utf-8") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            lock.seek(0)
            raise BadSetup(
                f"Pressroom is up already on {folder}: {lock.read().strip() or 'it is just starting'}",
                hint="use that one, stop it, or choose another folder with --data",
            ) from None

        def answers_at(api: str) -> None:
            lock.truncate(0)
            lock.write(f"{api} (process {os.getpid()})")
            lock.flush()

        lock.truncate(0)
        yield answers_at
        lock.truncate(0)


def _nobody_asks(_api: str) -> None:
    """Without a data folder there is nothing to have alone."""


def _say(notes: Console, text: str) -> None:
    with contextlib.suppress(OSError):  # the terminal may be closed
        notes.print(text)


@asynccontextmanager
async def _everything(settings: Settings, *, say: Say, alone: bool) -> AsyncGenerator[Running]:
    """`alone` has the data folder for itself, and keeps what the sandbox holds in it."""
    hosts: dict[str, tuple[str, int]] = {}
    async with (
        stop_on_signal() as stop,
        open_product(settings, say=say, upgrade=True, sandbox=hosts, name="pressroom up") as product,
    ):
        with _only_one(settings) if alone else nullcontext(_nobody_asks) as answers_at:
            folder = embedded_folder(settings) if alone else None
            async with run_sandbox(_sandbox_options(settings, folder)) as sandbox:
                for name in ("telegram", "max"):
                    hosts[f"{name}.sandbox"] = ("127.0.0.1", sandbox.ports()[name])
                async with running(product, ROLES, stop=stop.set) as api:
                    assert api is not None
                    answers_at(api)
                    secret = await working_push_secret(product.db, product.keyring)
                    yield Running(product, api, sandbox, secret, stop)


def _sandbox_options(settings: Settings, folder: Path | None) -> Options:
    return Options(
        telegram_port=settings.sandbox_telegram_port,
        max_port=settings.sandbox_max_port,
        window_port=settings.sandbox_window_port,
        state=None if folder is None else folder / "sandbox.json",
        example=f'{_own_command()} push "Hello"{_with_data(settings)}',
        ports_hint="`pressroom up --port 0` picks free ports; PRESSROOM_SANDBOX_..._PORT name others",
    )


def _welcome(console: Console, everything: Running, seconds: float) -> None:
    command, data = _own_command(), _with_data(everything.product.settings)
    table = Table.grid(padding=(0, 3))
    table.add_row("  [dim]API[/dim]", everything.api, f"[dim]reference:[/dim] {everything.api}/api/docs")
    urls = everything.sandbox.urls
    table.add_row("  [dim]Window[/dim]", urls["window"], "[dim]see chats fill, write to bots[/dim]")
    table.add_row("  [dim]Telegram[/dim]", urls["telegram"], "[dim]a Bot API of your own[/dim]")
    table.add_row("  [dim]MAX[/dim]", urls["max"], "[dim]another[/dim]")
    table.add_row("  [dim]Data[/dim]", str(data_folder(everything.product.settings)), "")
    console.print(f"\n  [bold]Pressroom {__version__}[/bold] is up [dim]({seconds:.1f} s)[/dim]\n")
    console.print(table)
    console.print("\n  Send a post, from another terminal:\n")
    console.print(f'    {command} push "Hello from Pressroom"{data}', highlight=False, soft_wrap=True)
    if everything.secret is not None:
        console.print("\n  [dim]or as any program would:[/dim]\n")
        console.print(
            escape(
                f"    curl {everything.api}/ingest/push -H 'X-Pressroom-Secret: {everything.secret}'"
                """ -d '{"text": "Hello from curl"}'"""
            ),
            highlight=False,
            soft_wrap=True,
        )
    console.print(
        f"\n  It arrives here and in the window. [dim]The queue:[/dim] {command} status --watch{data} [dim]· Stop:[/dim] Ctrl-C\n"
    )


def _own_command() -> str:
    """How this command was called, as one can type it again."""
    called = Path(sys.argv[0])
    if called.is_absolute() and called.is_relative_to(Path.cwd()):
        called = called.relative_to(Path.cwd())
    return str(called)


def _with_data(settings: Settings) -> str:
    """What other commands need so that they find the same data folder."""
    if settings.data is None or "PRESSROOM_DATA" in environment():
        return ""
    return f" --data {shlex.quote(str(data_folder(settings)))}"


async def _show_arrivals(sandbox: Sandbox, *, as_json: bool) -> None:
    """What bots sent; what else happens is seen in the window."""
    console = Console()
    async for effect in sandbox.world.ledger.watch():
        if not effect.method.startswith(SENDING):
            continue
        title = _title(sandbox, effect)
        if as_json:
            arrived = {"chat": title, "text": effect.text}
            print(json.dumps({"arrived": arrived}, ensure_ascii=False), flush=True)
        else:
            console.print(_arrival(effect, title, console.width), highlight=False, no_wrap=True)


def _title(sandbox: Sandbox, effect: Effect) -> str:
    try:
        return sandbox.world.providers[effect.provider].chat(effect.chat)["title"]
    except NoSuch:
        return str(effect.chat)


def _arrival(effect: Effect, title: str, width: int) -> str:
    """One line, whatever is in the text: it comes from outside."""
    at = time.strftime("%H:%M:%S", time.localtime(effect.at))
    media = ", ".join(str(one.get("kind", "file")) for one in (effect.details or {}).get("media", ()))
    text = printable(" ".join(effect.text.split())) or f"[{media}]"
    room = max(width - len(title) - 35, 20)
    shown = text if len(text) <= room else text[: room - 1] + "…"
    where = TITLES[effect.provider]
    return f"  [dim]{at}[/dim]  [green]✓[/green] {where} · [bold]{escape(printable(title))}[/bold]   {escape(shown)}"
