"""Posts updates to one webhook: in order per source, sources side by side, each until it is taken or too old.

How long to wait before a repetition, and what a taken or failed one means, is the provider's to say.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass

import aiohttp

from pressroom.sandbox.core.faults import WEBHOOK, Fault, Kind
from pressroom.sandbox.core.wire import phrase
from pressroom.sandbox.core.world import World

ANSWER_BYTES = 1 << 20
REORDER_SECONDS = 1.0  # real ones, that a held-back update waits for another to overtake it


@dataclass(frozen=True, slots=True)
class Parcel:
    """One update. `source` (a chat, a person) keeps its order; `key` is the provider's own name for the update."""

    key: Hashable
    source: Hashable
    body: bytes
    expires_at: float  # on the sandbox's clock
    chat: int | None = None


@dataclass(frozen=True, slots=True)
class Reply:
    """What the bot answered with when it took an update. Many answer with nothing, some with a call."""

    kind: str  # MIME type, with its parameters
    body: bytes


@dataclass(frozen=True, slots=True)
class Failure:
    """Why an attempt failed. `status` is 0 when no answer came."""

    status: int
    phrase: str
    retry_after: float | None = None


class Courier:
    """`backoff` gives the seconds before a repetition, counted from 1, or None to give the update up.

    Where the bot itself says how long to wait, that holds.

    `taken` hears of each success with what was answered; `failed` of each failure, before the wait; `dropped` of
    updates that were given up, those among them over which the sandbox itself stumbled. `good` are the statuses of
    a success.
    """

    def __init__(
        self,
        world: World,
        url: str,
        *,
        provider: str,
        bot: str,
        headers: Mapping[str, str],
        parallel: int,
        seconds: float,
        backoff: Callable[[int], float | None],
        taken: Callable[[Parcel, Reply], None],
        failed: Callable[[Parcel, Failure], None],
        dropped: Callable[[Parcel], None],
        good: range = range(200, 300),
    ) -> None:
        self.url = url
        self._name = f"webhook of {bot} to {url}"
        self._world, self._provider, self._bot = world, provider, bot
        self._headers = {"Content-Type": "application/json", **headers}
        self._room = asyncio.Semaphore(parallel)
        self._seconds, self._backoff = seconds, backoff
        self._taken, self._failed, self._dropped = taken, failed, dropped
        self._good = good
        self._lines: dict[Hashable, deque[Parcel]] = {}
        self._news: dict[Hashable, asyncio.Event] = {}
        self._tasks: dict[Hashable, asyncio.Task[None]] = {}
        self._stopped = False

    def offer(self, parcel: Parcel) -> None:
        if self._stopped:
            return
        line = self._lines.setdefault(parcel.source, deque())
        line.append(parcel)
        if parcel.source in self._tasks:
            self._news[parcel.source].set()
        else:
            self._news[parcel.source] = asyncio.Event()
            self._tasks[parcel.source] = self._world.run(self._empty(parcel.source, line), self._name)

    def stop(self) -> None:
        """At once: nobody hears of what is on its way. What was not taken stays the provider's."""
        self._stopped = True
        for task in self._tasks.values():
            task.cancel()

    async def close(self) -> None:
        """Stop, and wait until connections are closed."""
        tasks = list(self._tasks.values())
        self.stop()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _empty(self, source: Hashable, line: deque[Parcel]) -> None:
        try:
            while line:
                fault = self._fault(line[0])
                if fault is not None and fault.kind is Kind.REORDER:
                    await self._let_one_overtake(source, line)
                parcel = line[0]
                try:
                    taken = await self._deliver(parcel, fault)
                    if taken and fault is not None and fault.kind is Kind.DUPLICATE:
                        await self._post(parcel, None)  # what comes of the second one is nobody's business
                except Exception as error:  # noqa: BLE001 - reported; the next of the line have their turn
                    self._world.report(self._name, error)
                    self._dropped(parcel)
                line.remove(parcel)
        finally:
            del self._tasks[source], self._lines[source], self._news[source]

    def _fault(self, parcel: Parcel) -> Fault | None:
        faults = self._world.faults
        return faults.take(self._provider, self._bot, parcel.chat, WEBHOOK) if faults else None

    async def _let_one_overtake(self, source: Hashable, line: deque[Parcel]) -> None:
        if len(line) < 2:
            self._news[source].clear()
            try:
                async with asyncio.timeout(REORDER_SECONDS):
                    await self._news[source].wait()
            except TimeoutError:
                return
        line[0], line[1] = line[1], line[0]

    async def _deliver(self, parcel: Parcel, fault: Fault | None) -> bool:
        """Whether it was taken in the end. `fault` hits the first attempt; later ones meet what else is planned."""
        attempt = 0
        while self._world.clock.now() < parcel.expires_at:
            answer = await self._post(parcel, fault)
            if isinstance(answer, Reply):
                self._taken(parcel, answer)
                return True
            self._failed(parcel, answer)
            if self._stopped:
                return False
            attempt += 1
            wait = self._backoff(attempt)
            if wait is None:
                break
            wait = answer.retry_after or wait
            if self._world.clock.now() + wait > parcel.expires_at:
                break
            await self._world.clock.sleep(wait)
            fault = self._fault(parcel)
        self._dropped(parcel)
        return False

    async def _post(self, parcel: Parcel, fault: Fault | None) -> Reply | Failure:
        async with self._room:
            if fault is not None and fault.kind is Kind.SLOW:
                await asyncio.sleep(fault.seconds)
            if fault is not None and fault.kind is Kind.FAIL:
                code = fault.code or 500
                return Failure(code, fault.description or phrase(code), fault.retry_after)
            if fault is not None and fault.kind is Kind.DROP and fault.before_effect:
                return Failure(0, "Connection reset by peer")
            try:
                async with self._world.http.post(
                    self.url,
                    data=parcel.body,
                    headers=self._headers,
                    skip_auto_headers=("User-Agent", "Accept"),  # which Telegram does not send
                    allow_redirects=False,
                    timeout=aiohttp.ClientTimeout(total=self._seconds),
                ) as response:
                    body = await _read(response.content)
            except (aiohttp.ClientError, OSError, ValueError) as error:  # ValueError: no such host can be
                return Failure(0, _reason(error))
            if fault is not None and fault.kind is Kind.DROP:  # it arrived, and the sender does not know
                return Failure(0, "Connection reset by peer")
            if response.status in self._good:
                return Reply(response.headers.get("Content-Type", ""), body)
            return Failure(response.status, response.reason or "", _retry_after(response))


async def _read(content: aiohttp.StreamReader) -> bytes:
    """All of it, or as much as anybody would look at."""
    try:
        return await content.readexactly(ANSWER_BYTES)
    except asyncio.IncompleteReadError as whole:
        return whole.partial


def _reason(error: Exception) -> str:
    if isinstance(error, TimeoutError):
        return "Read timeout expired"
    if isinstance(error, aiohttp.ClientConnectorError):
        return "Connection refused"
    return "Connection closed"


def _retry_after(response: aiohttp.ClientResponse) -> float | None:
    given = response.headers.get("Retry-After", "")
    return min(float(given), 3600.0) if given.isascii() and given.isdigit() else None
