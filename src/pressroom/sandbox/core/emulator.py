"""What every emulator offers to tests in its own process: what happened in it, and what shall go wrong."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from pressroom.sandbox.core.faults import SENDS, Fault, Kind
from pressroom.sandbox.core.ledger import Effect
from pressroom.sandbox.core.world import World


class Emulator(ABC):
    """Faults hit what sends, unless `method` says otherwise; `chat` may be given as the control API takes it."""

    name: str
    errors: Mapping[str, Any]
    world: World

    @abstractmethod
    def resolve_chat(self, given: str | int) -> int:
        """A chat's id, from its id in any spelling or its @name."""

    def effects(self, after: int = 0) -> list[Effect]:
        """What the ledger still holds of this provider's effects after the one numbered `after`, oldest first."""
        return self.world.ledger.effects(after, provider=self.name)

    def fail_next(
        self,
        code: int | None = None,
        description: str | None = None,
        *,
        name: str | None = None,
        retry_after: timedelta | None = None,
        bot: str | None = None,
        chat: str | int | None = None,
        times: int | None = 1,
        method: str = SENDS,
    ) -> Fault:
        """Refuse the next requests, before they have any effect: with a code, or with one of `errors` by its name."""
        if name is not None and name not in self.errors:
            raise ValueError(f"{self.name} knows no error {name!r}; it knows {', '.join(self.errors)}")
        wait = None if retry_after is None else retry_after.total_seconds()
        return self._plan(
            Kind.FAIL, bot, chat, times, method, code=code, description=description, name=name, retry_after=wait
        )

    def drop_next(
        self,
        *,
        before_effect: bool,
        bot: str | None = None,
        chat: str | int | None = None,
        times: int | None = 1,
        method: str = SENDS,
    ) -> Fault:
        """Close the connection of the next requests without an answer, before or after they had their effect."""
        return self._plan(Kind.DROP, bot, chat, times, method, before_effect=before_effect)

    def slow_next(
        self,
        seconds: float,
        *,
        before_effect: bool = False,
        bot: str | None = None,
        chat: str | int | None = None,
        times: int | None = 1,
        method: str = SENDS,
    ) -> Fault:
        """Wait before the answer of the next requests; the effect comes first, or only after the wait.

        A client that hangs up before the effect prevents it.
        """
        return self._plan(Kind.SLOW, bot, chat, times, method, seconds=seconds, before_effect=before_effect)

    def _plan(
        self, kind: Kind, bot: str | None, chat: str | int | None, times: int | None, method: str, **how: Any
    ) -> Fault:
        where = None if chat is None else self.resolve_chat(chat)
        return self.world.faults.plan(Fault(kind, self.name, bot, where, method, times, **how))

    def heal(self) -> int:
        """Forget the faults of this provider that have not happened yet; how many those were."""
        faults = self.world.faults
        return sum(faults.heal(fault.id) for fault in faults if fault.provider == self.name)
