"""So many requests a second, by the sandbox's clock."""

from collections import deque
from collections.abc import Callable


class Rate:
    def __init__(self, limit: int, now: Callable[[], float]) -> None:
        self._now = now
        self._times: deque[float] = deque(maxlen=limit)

    def allows(self) -> bool:
        """Whether this request passes; those that do not pass are not counted."""
        now, times = self._now(), self._times
        if times and now < times[-1]:  # the clock was set back
            times.clear()
        if len(times) == times.maxlen and now - times[0] < 1:
            return False
        times.append(now)
        return True
