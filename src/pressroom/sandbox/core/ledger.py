"""What the world saw, in which order: the judge of every test of delivery.

An effect is something that a real provider would have shown to people: a message, an edit, a deletion, a pin. People's
own deeds stand in the same order. The ledger keeps the newest; what it drops, the emulators forget as well, so its
size bounds their memory.
"""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable, Mapping
from itertools import islice
from typing import Any, NamedTuple

SIZE = 100_000


class Effect(NamedTuple):
    """`seq` counts from 1 over all providers. `details` holds what a plain text has not: media, entities, buttons."""

    seq: int
    at: float
    provider: str
    actor: str  # the user name of a bot, or the name of a person
    chat: int
    method: str  # the provider's method; for people a verb: writes, presses, blocks
    message_id: int | str
    text: str
    details: Mapping[str, Any] | None = None

    def as_json(self) -> dict[str, Any]:
        said = self._asdict()
        return said | {"details": dict(self.details)} if self.details else said


class Ledger:
    def __init__(self, size: int = SIZE) -> None:
        if size < 1:
            raise ValueError("a ledger holds at least one effect")
        self.size = size
        self.total = 0  # those that were dropped since included
        self._effects: deque[Effect] = deque()
        self._news = asyncio.Event()
        self._forget: dict[str, Callable[[Effect], None]] = {}

    def on_forget(self, provider: str, forget: Callable[[Effect], None]) -> None:
        """`forget` is called with each effect of that provider which the ledger drops."""
        self._forget[provider] = forget

    def record(
        self,
        at: float,
        provider: str,
        actor: str,
        chat: int,
        method: str,
        message_id: int | str,
        text: str = "",
        details: Mapping[str, Any] | None = None,
    ) -> Effect:
        self.total += 1
        effect = Effect(self.total, at, provider, actor, chat, method, message_id, text, details)
        if len(self._effects) >= self.size:
            dropped = self._effects.popleft()
            forget = self._forget.get(dropped.provider)
            if forget is not None:
                forget(dropped)
        self._effects.append(effect)
        if not self._news.is_set():
            self._news.set()
            self._news = asyncio.Event()
        return effect

    def effects(self, after: int = 0, **scope: Any) -> list[Effect]:
        """What is still held of the effects after the one numbered `after`, oldest first.

        `scope` names fields and the values that they must have: `chat=7, method="sendMessage"`.
        """
        newest_first = islice(reversed(self._effects), max(self.total - after, 0))
        found = list(newest_first)[::-1]
        if not scope:
            return found
        return [
            effect for effect in found if all(getattr(effect, name) == value for name, value in scope.items())
        ]

    def watch(self, after: int | None = None) -> AsyncIterator[Effect]:
        """Each effect from now on, or after that number, as it happens. Who falls behind the ledger misses some.

        A number from another life, that is not reached yet, means everything.
        """
        return self._watch(self.total if after is None else after if after <= self.total else 0)

    async def _watch(self, seen: int) -> AsyncIterator[Effect]:
        while True:
            news = self._news
            for effect in self.effects(seen):
                yield effect
                seen = effect.seq
            if seen >= self.total:
                await news.wait()

    def state(self) -> dict[str, Any]:
        return {"total": self.total, "effects": [list(effect) for effect in self._effects]}

    def restore(self, state: Mapping[str, Any]) -> None:
        """After the emulators were. A smaller ledger than the one that was saved keeps the newest."""
        self.total = int(state["total"])
        effects = [Effect(*fields) for fields in state["effects"]]
        for dropped in effects[: -self.size]:
            if dropped.provider in self._forget:
                self._forget[dropped.provider](dropped)
        self._effects = deque(effects[-self.size :])

    def clear(self) -> None:
        """Forget the effects; numbers go on, so that nobody takes a new effect for one already seen."""
        self._effects.clear()
