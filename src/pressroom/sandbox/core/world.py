"""One world for all emulators: its time, its ledger, its faults, its chance. Equal seeds make equal worlds."""

import asyncio
from collections import deque
from collections.abc import Coroutine
from random import Random
from typing import Any, NamedTuple

import aiohttp

from pressroom.sandbox.core.clock import Clock
from pressroom.sandbox.core.faults import Faults
from pressroom.sandbox.core.ledger import SIZE, Ledger
from pressroom.sandbox.core.view import Provider

CALLS_KEPT = 1_000
WEBHOOK_SECONDS = 60


class Call(NamedTuple):
    """A request to an emulator, and how it was answered: for bot authors who ask what their bot really did."""

    at: float
    provider: str
    bot: str
    method: str
    chat: int | None
    status: int  # 0 when the connection was cut
    description: str


class World:
    def __init__(
        self, *, seed: int = 0, ledger_size: int = SIZE, clock: Clock | None = None, any_host: bool = False
    ) -> None:
        """`any_host` is for a sandbox that is bound to other addresses than loopback on purpose."""
        self.seed = seed
        self.any_host = any_host
        self.example = ""  # a command that sends a first message, for the window
        self.chance = Random(seed)  # noqa: S311 - nothing secret comes from it
        self.clock = clock or Clock()
        self.ledger = Ledger(ledger_size)
        self.faults = Faults(Random(f"faults {seed}"), self.clock.now)  # noqa: S311 - as above
        self.calls: deque[Call] = deque(maxlen=CALLS_KEPT)
        self.providers: dict[str, Provider] = {}
        self._http: aiohttp.ClientSession | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def http(self) -> aiohttp.ClientSession:
        """For webhooks, and media given by their address. Certificates are not checked: they are test bots' own."""
        if self._http is None:
            self._http = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(ssl=False, limit=0),
                cookie_jar=aiohttp.DummyCookieJar(),
                timeout=aiohttp.ClientTimeout(total=WEBHOOK_SECONDS),
            )
        return self._http

    def run(self, work: Coroutine[Any, Any, None], name: str) -> asyncio.Task[None]:
        """In the background, until it ends or the world does."""
        task = asyncio.create_task(work, name=name)
        self._tasks.add(task)
        task.add_done_callback(self._ended)
        return task

    def _ended(self, task: "asyncio.Task[None]") -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            self.report(task.get_name(), error)

    def report(self, what: str, error: BaseException) -> None:
        """A mistake of the sandbox's own, in work that nobody waits for."""
        asyncio.get_running_loop().call_exception_handler(
            {"message": f"{what} of the sandbox broke", "exception": error}
        )

    async def aclose(self) -> None:
        """End what runs in the background, and close connections."""
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        if self._http is not None:
            await self._http.close()
            self._http = None
