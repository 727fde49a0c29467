"""What a bot is told: kept in its mailbox for long polling, or posted to the addresses that it subscribed.

Every update enters the mailbox and leaves it when it is confirmed by a marker, taken by a webhook, too old, or pushed
out by newer ones. While a subscription stands, long polling gives nothing.
"""

import asyncio
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import Any
from urllib.parse import urlsplit

from pressroom.sandbox.core.courier import Courier, Parcel
from pressroom.sandbox.core.wire import to_json
from pressroom.sandbox.core.world import World
from pressroom.sandbox.max.errors import Kept, bad
from pressroom.sandbox.max.model import Bot, Chat, ChatKind, User
from pressroom.sandbox.max.shown import at_origin
from pressroom.sandbox.max.state import State

TYPES = (
    "message_created",
    "message_callback",
    "message_edited",
    "message_removed",
    "bot_added",
    "bot_removed",
    "bot_started",
    "bot_stopped",
    "dialog_cleared",
    "dialog_removed",
    "dialog_muted",
    "dialog_unmuted",
    "user_added",
    "user_removed",
    "chat_title_changed",
    "comment_created",
    "comment_edited",
    "comment_removed",
)

MAILBOX = 10_000  # updates per bot
MANY_BOTS = 100
KEPT_SECONDS = 24 * 3600
MOST_AT_ONCE = 100
LONGEST_POLL = 30  # real seconds; the documents allow to ask for 90

GIVE_UP_SECONDS = 8 * 3600
FIRST_REPEAT, REPEAT_FACTOR, REPEATS = 60.0, 2.5, 10
WEBHOOK_SECONDS = 30
WEBHOOK_PARALLEL = 100
MOST_SUBSCRIPTIONS = 100

_SECRET = re.compile(r"[A-Za-z0-9_-]{5,256}")


@dataclass(slots=True)
class Pending:
    number: int
    at: float
    type: str
    chat: int
    body: Mapping[str, Any]


@dataclass(slots=True)
class Subscription:
    url: str
    time: int
    types: tuple[str, ...] | None
    secret: str | None
    courier: Courier
    failing_since: float | None = None
    watched: bool = False  # whether somebody counts its eight hours
    waiting: int = 0  # updates that were handed to the courier and are not settled

    def wants(self, type_: str) -> bool:
        return self.types is None or type_ in self.types

    def as_json(self) -> dict[str, Any]:
        return {"url": self.url, "time": self.time, "update_types": list(self.types or TYPES)}


@dataclass(slots=True)
class Mailbox:
    bot: Bot
    pending: dict[int, Pending] = field(default_factory=dict[int, Pending])  # by number, oldest first
    next_number: int = 1
    listens: bool = False  # whether it ever asked for updates
    news: asyncio.Event = field(default_factory=asyncio.Event)
    subscriptions: dict[str, Subscription] = field(default_factory=dict[str, Subscription])

    def wake(self) -> None:
        self.news.set()
        self.news = asyncio.Event()


class Updates:
    def __init__(
        self,
        world: World,
        state: State,
        *,
        newest_only: bool = True,
        strict_webhooks: bool = False,
        mailbox: int = MAILBOX,
    ) -> None:
        """`newest_only`: who polls without a marker gets the newest update alone, as the documents of 2026 say;
        older ones said everything that was not confirmed."""
        self._world, self._state = world, state
        self._newest_only, self._strict, self._size = newest_only, strict_webhooks, mailbox
        self._boxes: dict[int, Mailbox] = {}

    def box(self, bot: Bot) -> Mailbox:
        return self._boxes.setdefault(bot.id, Mailbox(bot))

    # Telling

    def tell(self, bot: Bot, type_: str, chat: Chat, body: Mapping[str, Any]) -> None:
        box = self.box(bot)
        now = self._world.clock.now()
        update = {**body, "timestamp": int(now * 1000), "update_type": type_}
        pending = Pending(box.next_number, now, type_, chat.id, update)
        box.next_number += 1
        box.pending[pending.number] = pending
        self._tidy(box)
        for subscription in box.subscriptions.values():
            self._offer(subscription, pending, bot.origin)
        box.wake()

    def tell_readers(self, chat: Chat, type_: str, body: Mapping[str, Any], *, but: int = 0) -> None:
        """The bots that see what happens there: a dialog's bot, and administrators who may read. Not the doer."""
        for bot in self._listening(chat):
            if bot.id != but and self._may_read(chat, bot):
                self.tell(bot, type_, chat, body)

    def _may_read(self, chat: Chat, bot: Bot) -> bool:
        member = self._state.membership(chat, bot)
        return member is not None and (chat.kind is ChatKind.DIALOG or member.may("read_all_messages"))

    def tell_all(self, chat: Chat, type_: str, body: Mapping[str, Any]) -> None:
        for bot in self._listening(chat):
            self.tell(bot, type_, chat, body)

    def _listening(self, chat: Chat) -> list[Bot]:
        """The bots of a chat. Where many share it without having been put there, those that ever asked for updates."""
        if not chat.everyones or len(self._state.bots) <= MANY_BOTS:
            return list(self._state.bots_in(chat))
        return [box.bot for box in self._boxes.values() if box.listens and box.bot.id not in chat.gone]

    def locale(self, chat: Chat, user: User) -> dict[str, str]:
        return {"user_locale": user.locale} if chat.kind is ChatKind.DIALOG else {}

    def _offer(self, subscription: Subscription, pending: Pending, origin: str) -> None:
        """A webhook that takes nothing holds no more than a mailbox; what does not fit stays there alone."""
        if subscription.wants(pending.type) and subscription.waiting < self._size:
            subscription.waiting += 1
            subscription.courier.offer(self._parcel(pending, origin))

    def _parcel(self, pending: Pending, origin: str) -> Parcel:
        body = to_json(at_origin(pending.body, origin))
        return Parcel(pending.number, pending.chat, body, pending.at + GIVE_UP_SECONDS, pending.chat)

    def _tidy(self, box: Mailbox) -> None:
        oldest = self._world.clock.now() - KEPT_SECONDS
        while box.pending:
            first = next(iter(box.pending.values()))
            if len(box.pending) <= self._size and first.at > oldest:
                return
            del box.pending[first.number]

    # Long polling

    async def poll(
        self, bot: Bot, *, marker: int | None, limit: int, seconds: int, types: list[str], origin: str
    ) -> dict[str, Any]:
        box = self.box(bot)
        box.listens = True
        if marker is not None:
            marker = min(marker, box.next_number)  # one of another life of the sandbox would wait for ever
            self._confirm(box, marker)
        try:
            async with asyncio.timeout(min(seconds, LONGEST_POLL)):
                while True:
                    news = box.news
                    found = self._found(box, marker, min(limit, MOST_AT_ONCE), types)
                    if found:
                        return self._page(found, origin)
                    await news.wait()
        except TimeoutError:
            return {"updates": [], "marker": box.next_number if marker is None else marker}

    def _confirm(self, box: Mailbox, marker: int) -> None:
        while box.pending and (first := next(iter(box.pending))) < marker:
            del box.pending[first]

    def _found(self, box: Mailbox, marker: int | None, limit: int, types: list[str]) -> list[Pending]:
        if box.subscriptions:
            return []
        self._tidy(box)
        if marker is None and self._newest_only:
            newest = (each for each in reversed(box.pending.values()) if not types or each.type in types)
            return list(islice(newest, 1))
        fitting = (
            each
            for each in box.pending.values()
            if each.number >= (marker or 0) and (not types or each.type in types)
        )
        return list(islice(fitting, limit))

    @staticmethod
    def _page(found: list[Pending], origin: str) -> dict[str, Any]:
        return {"updates": [at_origin(each.body, origin) for each in found], "marker": found[-1].number + 1}

    # Subscriptions

    def subscriptions(self, bot: Bot) -> list[Subscription]:
        return list(self.box(bot).subscriptions.values())

    def subscribe(self, bot: Bot, url: str, types: list[Any] | None, secret: str | None) -> None:
        """The same address again replaces its settings; another bot's address is taken away from it."""
        self._check(url, types, secret)
        box = self.box(bot)
        if url not in box.subscriptions and len(box.subscriptions) >= MOST_SUBSCRIPTIONS:
            raise bad(f"At most {MOST_SUBSCRIPTIONS} subscriptions are allowed")
        for other in list(self._boxes.values()):
            self._drop(other, url)
        wanted = tuple(dict.fromkeys(types)) if types else None
        courier = self._courier(box, url, secret)
        box.subscriptions[url] = Subscription(url, self._state.now(), wanted, secret, courier)
        box.listens = True

    def adopt(self, bot: Bot, url: str, time: int, types: list[str] | None, secret: str | None) -> None:
        """A subscription that a state file remembers."""
        box = self.box(bot)
        wanted = tuple(types) if types else None
        subscription = Subscription(url, time, wanted, secret, self._courier(box, url, secret))
        box.subscriptions[url] = subscription
        box.listens = True
        for pending in box.pending.values():
            self._offer(subscription, pending, bot.origin)

    def adopt_update(
        self, bot: Bot, number: int, at: float, type_: str, chat: int, body: Mapping[str, Any]
    ) -> None:
        """An update that a state file remembers; in their order."""
        box = self.box(bot)
        box.pending[number] = Pending(number, at, type_, chat, body)
        box.next_number = number + 1

    def unsubscribe(self, bot: Bot, url: str) -> None:
        if not self._drop(self.box(bot), url):
            raise Kept("Subscription not found")

    def _drop(self, box: Mailbox, url: str) -> bool:
        subscription = box.subscriptions.pop(url, None)
        if subscription is None:
            return False
        subscription.courier.stop()
        box.wake()
        return True

    def _check(self, url: str, types: list[Any] | None, secret: str | None) -> None:
        try:
            parts = urlsplit(url)
            port, host, scheme = parts.port, parts.hostname, parts.scheme
        except ValueError:
            raise bad(f"Invalid webhook url: {url[:200]}") from None
        fits = bool(host) and (scheme == "https" or (scheme == "http" and not self._strict))
        if not fits or len(url) > 2048 or (self._strict and port is not None):
            raise bad(f"Invalid webhook url: {url[:200]}")
        for type_ in types or ():
            if type_ not in TYPES:
                raise bad(f"Unknown update type: {type_}")
        if secret is not None and not _SECRET.fullmatch(secret):
            raise bad("Field 'secret' must match ^[a-zA-Z0-9_-]{5,256}$")

    def _courier(self, box: Mailbox, url: str, secret: str | None) -> Courier:
        return Courier(
            self._world,
            url,
            provider="max",
            bot=box.bot.username or "",
            headers={"X-Max-Bot-Api-Secret": secret} if secret else {},
            parallel=WEBHOOK_PARALLEL,
            seconds=WEBHOOK_SECONDS,
            backoff=backoff,
            taken=lambda parcel, _answer: self._taken(box, url, parcel),
            failed=lambda _parcel, _failure: self._failed(box, url),
            dropped=lambda _parcel: self._settled(box, url),
            good=range(200, 201),
        )

    def _taken(self, box: Mailbox, url: str, parcel: Parcel) -> None:
        box.pending.pop(_number(parcel), None)
        self._settled(box, url)
        if url in box.subscriptions:
            box.subscriptions[url].failing_since = None

    def _settled(self, box: Mailbox, url: str) -> None:
        if url in box.subscriptions:
            box.subscriptions[url].waiting -= 1

    def _failed(self, box: Mailbox, url: str) -> None:
        subscription = box.subscriptions.get(url)
        if subscription is None:
            return
        if subscription.failing_since is None:
            subscription.failing_since = self._world.clock.now()
        if not subscription.watched:
            subscription.watched = True
            self._world.run(self._give_up(box, subscription), f"patience with {url}")

    async def _give_up(self, box: Mailbox, subscription: Subscription) -> None:
        """Eight hours after the first failure without a success in between, the subscription is gone."""
        while (since := subscription.failing_since) is not None:
            await self._world.clock.sleep_until(since + GIVE_UP_SECONDS)
            if subscription.failing_since == since:
                if box.subscriptions.get(subscription.url) is subscription:
                    self._drop(box, subscription.url)
                return
        subscription.watched = False

    async def aclose(self) -> None:
        for box in self._boxes.values():
            for subscription in box.subscriptions.values():
                await subscription.courier.close()


def _number(parcel: Parcel) -> int:
    assert isinstance(parcel.key, int)
    return parcel.key


def backoff(attempt: int) -> float | None:
    """Seconds before the repetition with that number, from 1: 60, 150, 375 and so on, ten of them."""
    return FIRST_REPEAT * REPEAT_FACTOR ** (attempt - 1) if attempt <= REPEATS else None
