"""What goes wrong, on demand: which request is hit, and what happens to it.

A fault waits until a request of its scope comes, hits as often as `times` says, and is gone. Scopes may overlap: the
oldest fault that fits is taken. Chance comes from the world's seed, so a run can be repeated.
"""

import re
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from fnmatch import translate
from itertools import count
from random import Random
from typing import Any


class Kind(StrEnum):
    FAIL = "fail"  # answer with an error, before anything happened
    DROP = "drop"  # close the connection without an answer, before or after the effect
    SLOW = "slow"  # wait before the answer; the effect comes first, or only after the wait
    DUPLICATE = "duplicate"  # post a webhook's update twice
    REORDER = "reorder"  # post a webhook's update after the next one of its source


#: The method that faults of webhooks name.
WEBHOOK = "webhook"
#: A method that stands for whatever sends a message, at any provider.
SENDS = "sends"
_SENDS_PATTERN = r"(?:send.*|POST /messages)\Z"
_OF_WEBHOOKS = {Kind.DUPLICATE, Kind.REORDER}


@dataclass(slots=True)
class Fault:
    """`provider`, `bot` (its user name), `chat`, `method` (with `*` and `?`, in any case): None fits all."""

    kind: Kind
    provider: str | None = None
    bot: str | None = None
    chat: int | None = None
    method: str | None = None
    times: int | None = 1  # None: until it is healed
    skip: int = 0  # so many fitting requests pass before
    probability: float = 1.0
    since: float | None = None  # on the sandbox's clock
    until: float | None = None
    name: str | None = None  # of an error that the provider knows: "blocked", "kicked"
    code: int | None = None
    description: str | None = None
    retry_after: float | None = None  # seconds
    seconds: float = 0.0
    before_effect: bool = True
    id: int = 0
    hits: int = 0
    _fits_method: Callable[[str], Any] | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        self.kind = Kind(self.kind)
        if self.kind in _OF_WEBHOOKS:
            self.method = WEBHOOK
        if self.method is not None:
            pattern = _SENDS_PATTERN if self.method == SENDS else translate(self.method)
            self._fits_method = re.compile(pattern, re.IGNORECASE).match
        if not 0 < self.probability <= 1:
            raise ValueError("probability is above 0 and at most 1")
        if self.times is not None and self.times < 1:
            raise ValueError("times is at least 1, or null for always")
        if self.skip < 0 or self.seconds < 0:
            raise ValueError("skip and seconds are not negative")
        if self.kind is Kind.FAIL and self.code is None and self.name is None:
            raise ValueError("a fault that fails needs a code or a name")
        if self.code is not None and not 400 <= self.code <= 599:
            raise ValueError("code is an HTTP error: 400 to 599")

    def fits(self, at: float, provider: str, bot: str, chat: int | None, method: str) -> bool:
        return (
            (self.provider is None or self.provider == provider)
            and (self.bot is None or self.bot == bot)
            and (self.chat is None or self.chat == chat)
            and (self._fits_method is None or self._fits_method(method) is not None)
            and (self.since is None or at >= self.since)
            and (self.until is None or at < self.until)
        )

    def as_json(self) -> dict[str, Any]:
        return {name: value for name, value in asdict(self).items() if value is not None and name[0] != "_"}


class Faults:
    def __init__(self, chance: Random, now: Callable[[], float]) -> None:
        self._chance, self._now = chance, now
        self._planned: list[Fault] = []
        self._numbers = count(1)

    def __bool__(self) -> bool:
        return bool(self._planned)

    def __iter__(self) -> Any:
        return iter(list(self._planned))

    def plan(self, fault: Fault) -> Fault:
        fault.id = next(self._numbers)
        self._planned.append(fault)
        return fault

    def take(self, provider: str, bot: str, chat: int | None, method: str) -> Fault | None:
        """The fault that hits this request, counted; None when it passes."""
        at = self._now()
        for fault in self._planned:
            if not fault.fits(at, provider, bot, chat, method):
                continue
            if fault.skip:
                fault.skip -= 1
                continue
            if fault.probability < 1 and self._chance.random() >= fault.probability:
                continue
            fault.hits += 1
            if fault.times is not None:
                fault.times -= 1
                if fault.times == 0:
                    self._planned.remove(fault)
            return fault
        return None

    def heal(self, number: int | None = None) -> int:
        """Forget one fault, or all; how many that were."""
        before = len(self._planned)
        self._planned = [fault for fault in self._planned if number is not None and fault.id != number]
        return before - len(self._planned)
