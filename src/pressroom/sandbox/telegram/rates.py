"""How fast a bot may send, about as the hosted server takes it: what it writes of that is vague, and changes.

One message a second to one chat, with short bursts; twenty a minute to one group; thirty a second over all chats.
"""

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass

from pressroom.sandbox.telegram.model import Chat

CHAT_PER_SECOND, CHAT_BURST = 1.0, 5.0
GROUP_PER_MINUTE = 20.0
BOT_PER_SECOND = 30.0
BUCKETS = 100_000  # bots and their chats; of those that have long been quiet nothing is remembered
_GROUPS = ("group", "supergroup")


@dataclass(slots=True)
class _Bucket:
    """Leaks `pace` messages a second; holds `room`."""

    pace: float
    room: float
    level: float = 0.0
    at: float = 0.0

    def wait_for(self, now: float, messages: int) -> float:
        """Seconds until there is room for one; what is more than room has been let in once before."""
        level = max(self.level - max(now - self.at, 0.0) * self.pace, 0.0)
        return max(level + min(messages, self.room) - self.room, 0.0) / self.pace

    def take(self, now: float, messages: int) -> None:
        self.level = max(self.level - max(now - self.at, 0.0) * self.pace, 0.0) + messages
        self.at = now


class Rates:
    def __init__(self, now: Callable[[], float], most: int = BUCKETS) -> None:
        self._now, self._most = now, most
        self._buckets: OrderedDict[tuple[int, int], tuple[_Bucket, ...]] = OrderedDict()

    def take(self, bot: int, chat: Chat, messages: int = 1) -> float:
        """0 when these may be sent, and are counted; else the seconds to wait, and nothing is."""
        now = self._now()
        buckets = (*self._of(bot, chat), *self._of(bot, None))
        wait = max(bucket.wait_for(now, messages) for bucket in buckets)
        if wait <= 0:
            for bucket in buckets:
                bucket.take(now, messages)
        return wait

    def _of(self, bot: int, chat: Chat | None) -> tuple[_Bucket, ...]:
        """Those of a bot in one chat, or over all."""
        key = (bot, 0 if chat is None else chat.key)
        found = self._buckets.get(key)
        if found is None:
            found = self._buckets[key] = _buckets(chat)
            if len(self._buckets) > self._most:
                self._buckets.popitem(last=False)
        self._buckets.move_to_end(key)
        return found


def _buckets(chat: Chat | None) -> tuple[_Bucket, ...]:
    if chat is None:
        return (_Bucket(BOT_PER_SECOND, BOT_PER_SECOND),)
    mine = _Bucket(CHAT_PER_SECOND, CHAT_BURST)
    return (mine, _Bucket(GROUP_PER_MINUTE / 60, GROUP_PER_MINUTE)) if chat.type in _GROUPS else (mine,)
