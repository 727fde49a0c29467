"""What the world saw, in which order: the judge of every test of delivery.

An effect is something that a real provider would have shown to people: a message, an edit, a deletion, a pin. People's
own deeds stand in the same order. The ledger keeps the newest; what it drops, the emulators forget as well, so its
size bounds their memory.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from itertools import islice
from operator import attrgetter
from types import SimpleNamespace
from typing import Any, NamedTuple, cast

SIZE = 100_000
AT_ONCE = 1_000  # effects that a watcher looks up at a time


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
        # Numbers have no gaps, so the place of each effect is known. Dropped ones leave None until there are many.
        self._effects: list[Effect | None] = []
        self._gone = 0  # so many of them at the beginning
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
        if len(self._effects) - self._gone >= self.size:
            self._drop_the_oldest()
        self._effects.append(effect)
        if not self._news.is_set():
            self._news.set()
            self._news = asyncio.Event()
        return effect

    def _drop_the_oldest(self) -> None:
        dropped = cast("Effect", self._effects[self._gone])
        self._effects[self._gone] = None
        self._gone += 1
        if self._gone > self.size:
            del self._effects[: self._gone]
            self._gone = 0
        if (forget := self._forget.get(dropped.provider)) is not None:
            forget(dropped)

    def effects(self, after: int = 0, *, limit: int | None = None, **scope: Any) -> list[Effect]:
        """What is still held of the effects after the one numbered `after`, oldest first, at most `limit`.

        `scope` names fields and the values that they must have: `chat=7, method="sendMessage"`. What it costs is
        what lies between `after` and the last one found.
        """
        begin = max(after - self.total + len(self._effects), self._gone)
        if not scope:
            end = None if limit is None else begin + limit
            return cast("list[Effect]", self._effects[begin:end])
        read = attrgetter(*scope)
        wanted = read(SimpleNamespace(**scope))
        held = (cast("Effect", self._effects[at]) for at in range(begin, len(self._effects)))
        return list(islice((effect for effect in held if read(effect) == wanted), limit))

    def watch(self, after: int | None = None) -> AsyncIterator[Effect]:
        """Each effect from now on, or after that number, as it happens. Who falls behind the ledger misses some.

        A number from another life, that is not reached yet, means everything.
        """
        return self._watch(self.total if after is None else after if after <= self.total else 0)

    async def _watch(self, seen: int) -> AsyncIterator[Effect]:
        while True:
            page = self.effects(seen, limit=AT_ONCE)
            for effect in page:
                yield effect
                seen = effect.seq
            if not page:
                await self._news.wait()

    def state(self) -> dict[str, Any]:
        return {"total": self.total, "effects": [list(effect) for effect in self.effects()]}

    def restore(self, state: Mapping[str, Any]) -> None:
        """After the emulators were. A smaller ledger than the one that was saved keeps the newest."""
        total, effects = int(state["total"]), [Effect(*fields) for fields in state["effects"]]
        if [effect.seq for effect in effects] != list(range(total - len(effects) + 1, total + 1)):
            raise ValueError("the numbers of the effects have gaps")
        self.total = total
        for dropped in effects[: -self.size]:
            if dropped.provider in self._forget:
                self._forget[dropped.provider](dropped)
        self._effects = list[Effect | None](effects[-self.size :])
        self._gone = 0

    def clear(self) -> None:
        """Forget the effects; numbers go on, so that nobody takes a new effect for one already seen."""
        self._effects.clear()
        self._gone = 0
