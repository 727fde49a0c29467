"""How fast a bot may send, about as the hosted server takes it: what it writes of that is vague, and changes.

One message a second to one chat, with short bursts; twenty a minute to one group; thirty a second over all chats.
"""

from collections.abc import Callable
from dataclasses import dataclass

from pressroom.sandbox.telegram.model import Chat

CHAT_PER_SECOND, CHAT_BURST = 1.0, 5.0
GROUP_PER_MINUTE = 20.0
BOT_PER_SECOND = 30.0
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
    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._buckets: dict[tuple[str, int, int], _Bucket] = {}

    def take(self, bot: int, chat: Chat, messages: int = 1) -> float:
        """0 when these may be sent, and are counted; else the seconds to wait, and nothing is."""
        now = self._now()
        buckets = [
            self._bucket("chat", bot, chat.key, CHAT_PER_SECOND, CHAT_BURST),
            self._bucket("bot", bot, 0, BOT_PER_SECOND, BOT_PER_SECOND),
        ]
        if chat.type in _GROUPS:
            buckets.append(self._bucket("group", bot, chat.key, GROUP_PER_MINUTE / 60, GROUP_PER_MINUTE))
        wait = max(bucket.wait_for(now, messages) for bucket in buckets)
        if wait <= 0:
            for bucket in buckets:
                bucket.take(now, messages)
        return wait

    def _bucket(self, kind: str, bot: int, chat: int, pace: float, room: float) -> _Bucket:
        key = (kind, bot, chat)
        if key not in self._buckets:
            self._buckets[key] = _Bucket(pace, room)
        return self._buckets[key]
