"""The sandbox's own time: the real one, moved by any amount, or standing still.

What a provider dates or remembers (dates of messages, expiry, rate limits, repeated webhooks) goes by this clock.
What a client feels on the wire (long polling, slow answers) is in real seconds, so that nobody hangs for ever on a
clock that stands still.
"""

import asyncio
import contextlib
import time
from collections.abc import Coroutine, Mapping
from typing import Any


class Clock:
    def __init__(self, start: float | None = None, *, frozen: bool = False) -> None:
        """`start` in Unix seconds; without it the clock begins with the present."""
        now = time.time()
        self._offset = 0.0 if start is None else start - now
        self._stands_at = (now if start is None else start) if frozen else None
        self._moved = asyncio.Event()

    def now(self) -> float:
        """Unix seconds."""
        return time.time() + self._offset if self._stands_at is None else self._stands_at

    @property
    def frozen(self) -> bool:
        return self._stands_at is not None

    def advance(self, seconds: float) -> None:
        """Forwards, or backwards as a clock that was set wrong is."""
        self.set(self.now() + seconds)

    def set(self, at: float) -> None:
        self._offset = at - time.time()
        if self._stands_at is not None:
            self._stands_at = at
        self._wake()

    def freeze(self) -> None:
        self._stands_at = self.now()

    def thaw(self) -> None:
        """Go on from where it stands."""
        if self._stands_at is not None:
            at, self._stands_at = self._stands_at, None
            self.set(at)

    async def sleep_until(self, at: float) -> None:
        """Until this clock shows `at`, by itself or because it was moved."""
        while (left := at - self.now()) > 0:
            moved = self._moved
            try:
                async with asyncio.timeout(None if self.frozen else left):
                    await moved.wait()
            except TimeoutError:
                continue

    async def sleep(self, seconds: float) -> None:
        await self.sleep_until(self.now() + seconds)

    def state(self) -> dict[str, float | None]:
        """How far it was moved, and where it stands still: time goes on while nobody runs the sandbox."""
        return {"offset": self._offset, "stands_at": self._stands_at}

    def restore(self, state: Mapping[str, float | None]) -> None:
        self._offset, self._stands_at = state["offset"] or 0.0, state["stands_at"]
        self._wake()

    def wait(self, seconds: float) -> Coroutine[Any, Any, None]:
        """For somebody on the wire: that many real seconds, or fewer where this clock is moved past them.

        They count from now on, whenever the waiting begins.
        """
        return self._wait_until(self.now() + seconds, seconds)

    async def _wait_until(self, at: float, seconds: float) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self.sleep_until(at)

    def _wake(self) -> None:
        self._moved.set()
        self._moved = asyncio.Event()
