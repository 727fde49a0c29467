"""The whole sandbox at work: a world, an emulator of each provider at a port of its own, and the window.

One port per provider, because some clients keep only scheme and host of the address they are given.
"""

import asyncio
import contextlib
import fcntl
import hashlib
import json
import os
import time
from collections.abc import AsyncGenerator, Generator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from ipaddress import ip_address
from pathlib import Path
from typing import Any

import structlog
from starlette.types import ASGIApp, Receive, Scope, Send

from pressroom.core.asgi import serving
from pressroom.core.errors import BadSetup
from pressroom.core.files import replace_file
from pressroom.core.tasks import to_the_end
from pressroom.sandbox.core.clock import Clock
from pressroom.sandbox.core.ledger import SIZE
from pressroom.sandbox.core.saved import restore_world, world_state
from pressroom.sandbox.core.view import NoSuch
from pressroom.sandbox.core.wire import hang_up
from pressroom.sandbox.core.world import World
from pressroom.sandbox.max import MaxSandbox
from pressroom.sandbox.max.app import RATE_LIMIT
from pressroom.sandbox.telegram import EXAMPLE_CHATS, EXAMPLE_TOKEN, TelegramSandbox
from pressroom.sandbox.window import window_app

log = structlog.stdlib.get_logger(__name__)

SAVE_EVERY = 5.0  # seconds, at least; longer when saving takes long


@dataclass(frozen=True, slots=True)
class Options:
    """A port of 0 is any free one. `bots` are Telegram tokens and user names, besides the example's."""

    host: str = "127.0.0.1"
    telegram_port: int = 8801
    max_port: int = 8802
    window_port: int = 8803
    seed: int = 0
    ledger_size: int = SIZE
    chats: int = 0  # channels to make, of each provider
    any_token: bool = True
    strict_webhooks: bool = False
    rate_limits: bool = False
    starts_at: float | None = None  # Unix seconds; the clock then stands still
    state: Path | None = None
    example: str = ""  # the command that the window shows to those who have nothing in it yet
    ports_hint: str = "--port 0 picks free ones"


@dataclass(frozen=True, slots=True)
class Sandbox:
    """What runs, and where. Addresses have no slash at their end."""

    world: World
    telegram: TelegramSandbox
    max: MaxSandbox
    urls: Mapping[str, str] = field(default_factory=dict[str, str])  # "telegram", "max", "window"
    goes_on: bool = False  # with what a state file held; seed, clock and chats are then its own

    def ports(self) -> dict[str, int]:
        return {name: int(url.rpartition(":")[2]) for name, url in self.urls.items()}


class Door:
    """What stands before an emulator, and cuts off at the end those who wait: long polls, open windows."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._busy: set[asyncio.Task[Any] | None] = set()
        self._closing = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return await self._app(scope, receive, send)
        task = asyncio.current_task()
        self._busy.add(task)
        try:
            await self._app(scope, receive, send)
        except asyncio.CancelledError:
            if not self._closing:
                raise
            await hang_up(scope, receive)
        finally:
            self._busy.discard(task)

    def close(self) -> None:
        self._closing = True
        for task in self._busy:
            if task is not None:
                task.cancel()


@asynccontextmanager
async def run_sandbox(options: Options) -> AsyncGenerator[Sandbox]:
    """Until the block ends. With a state file it goes on where the last one stopped."""
    clock = Clock(options.starts_at, frozen=options.starts_at is not None)
    world = World(
        seed=options.seed,
        ledger_size=options.ledger_size,
        clock=clock,
        any_host=not _is_loopback(options.host),
    )
    telegram = TelegramSandbox(
        world,
        any_token=options.any_token,
        strict_webhooks=options.strict_webhooks,
        rate_limits=options.rate_limits,
    )
    max_ = MaxSandbox(
        world,
        any_token=options.any_token,
        strict_webhooks=options.strict_webhooks,
        rate_limit=RATE_LIMIT if options.rate_limits else None,
    )
    state = contextlib.ExitStack()
    try:
        if options.state is not None:
            state.enter_context(_alone_with(options.state))
        goes_on = options.state is not None and _load(world, options.state)
        if not goes_on:
            _add_chats(world, options.chats)
        window = window_app(world)
        async with contextlib.AsyncExitStack() as doors:
            urls: dict[str, str] = {}
            if options.state is not None:  # saved once the doors are closed
                await doors.enter_async_context(_saved(world, options.state))
            for name, what, app, port in (
                ("telegram", "the sandbox Telegram", telegram, options.telegram_port),
                ("max", "the sandbox MAX", max_, options.max_port),
                ("window", "the sandbox's window", window, options.window_port),
            ):
                door = Door(app)
                real = await doors.enter_async_context(
                    serving(door, what=what, host=options.host, port=port, hint=options.ports_hint)
                )
                doors.callback(door.close)
                urls[name] = f"http://{_named(options.host)}:{real}"
            world.example = options.example or example(urls["telegram"])
            yield Sandbox(world, telegram, max_, urls, goes_on)
    finally:
        for provider in world.providers.values():
            await provider.aclose()
        await world.aclose()
        state.close()


def example(telegram: str) -> str:
    """A first message, by hand."""
    chat = EXAMPLE_CHATS[0].username
    return f"curl {telegram}/bot{EXAMPLE_TOKEN}/sendMessage -d chat_id=@{chat} -d text=Hello"


def _named(host: str) -> str:
    """The address for people on this machine."""
    if host in ("0.0.0.0", "::"):  # noqa: S104 - compared, not bound
        return "127.0.0.1"
    return f"[{host}]" if ":" in host else host


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _add_chats(world: World, number: int) -> None:
    digits = len(str(number))
    for provider in world.providers.values():
        for at in range(1, number + 1):
            provider.add("chat", {"title": f"Channel {at:0{digits}}", "kind": "channel"})


def _load(world: World, file: Path) -> bool:
    """Whether there was something to go on with."""
    try:
        content = file.read_bytes()
    except FileNotFoundError:
        return False
    except OSError as error:
        raise BadSetup(f"the sandbox's state {file} cannot be read: {error.strerror}") from error
    try:
        restore_world(world, json.loads(content))
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError, NoSuch) as error:
        raise BadSetup(
            f"{file} is not a state of this sandbox: {error!r}", hint="move it away to begin anew"
        ) from error
    return True


@asynccontextmanager
async def _saved(world: World, file: Path) -> AsyncGenerator[None]:
    """Now and then, and in the end."""
    ending = asyncio.Event()
    saving = asyncio.create_task(_keep_saving(world, file, ending), name="save the sandbox's state")
    try:
        yield
    finally:
        ending.set()
        try:
            await to_the_end(saving)
        finally:
            save(world, file)


async def _keep_saving(world: World, file: Path, ending: asyncio.Event) -> None:
    """Until the end. The file is written beside the event loop, and seldom when that takes long."""
    known, took = b"", 0.0
    while not await _set_within(ending, max(SAVE_EVERY, 50 * took)):
        began = time.monotonic()
        try:
            known = await asyncio.to_thread(_write_if_new, world_state(world), file, known)
        except BadSetup as error:
            log.warning("the sandbox's state was not saved; it is tried again", error=error.message)
        took = time.monotonic() - began


async def _set_within(event: asyncio.Event, seconds: float) -> bool:
    try:
        async with asyncio.timeout(seconds):
            return await event.wait()
    except TimeoutError:
        return False


def save(world: World, file: Path) -> None:
    """The old file stays until the new one is whole."""
    _write_if_new(world_state(world), file, b"")


def _write_if_new(state: Mapping[str, Any], file: Path, known: bytes) -> bytes:
    """What identifies the content, for the next time."""
    text = json.dumps(state, separators=(",", ":")).encode()
    digest = hashlib.sha256(text).digest()
    if digest == known:
        return known
    try:
        replace_file(file, text)
    except OSError as error:
        raise BadSetup(f"the sandbox's state cannot be saved to {file}: {error.strerror}") from error
    return digest


def _for_us_alone(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


@contextlib.contextmanager
def _alone_with(file: Path) -> Generator[None]:
    """Two sandboxes with one file would each save over what the other saw."""
    if not os.access(file.parent, os.W_OK):
        raise BadSetup(f"the sandbox's state cannot be kept in {file.parent}: no such folder, or not yours")
    with open(file.with_name(f"{file.name}.lock"), "ab", opener=_for_us_alone) as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise BadSetup(
                f"another sandbox keeps its state in {file}", hint="stop that one, or name another file"
            ) from None
        yield
