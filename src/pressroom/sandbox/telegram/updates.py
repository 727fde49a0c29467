"""What bots hear, and getUpdates: an inbox for each bot, numbered, bounded, and forgetting what is too old.

An inbox is the real server's queue (`TQueue`): updates stand in it until they are confirmed by a higher offset, or
taken by a webhook. When it is full, new updates are lost and old ones stay.
"""

import asyncio
import json
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from random import Random
from typing import Any, NamedTuple, NoReturn, cast

from starlette.types import Receive

from pressroom.sandbox.core.wire import gone_within, to_json
from pressroom.sandbox.telegram.hearing import hears, is_inside, speaks_to_itself
from pressroom.sandbox.telegram.members import member_json
from pressroom.sandbox.telegram.model import Bot, Chat, Member, Message, User
from pressroom.sandbox.telegram.refusal import Refusal
from pressroom.sandbox.telegram.request import Answer, Method, Request
from pressroom.sandbox.telegram.shown import message_json
from pressroom.sandbox.telegram.state import State

#: In the order in which the real server lists them.
KINDS = (
    "message", "edited_message", "channel_post", "edited_channel_post", "inline_query", "chosen_inline_result",
    "callback_query", "shipping_query", "pre_checkout_query", "poll", "poll_answer", "my_chat_member",
    "chat_member", "chat_join_request", "chat_boost", "removed_chat_boost", "message_reaction",
    "message_reaction_count", "business_connection", "business_message", "edited_business_message",
    "deleted_business_messages", "purchased_paid_media", "managed_bot", "guest_message",
)  # fmt: skip
BY_DEFAULT = frozenset(KINDS) - {"chat_member", "message_reaction", "message_reaction_count"}

DAY = 86_400
#: Seconds that an update is kept where it is not a day.
KEPT = {"callback_query": 150, "shipping_query": 150, "pre_checkout_query": 150, "inline_query": 30}
#: Updates of one lane and one source come to a webhook in their order. Lane 0 are messages, by chat.
LANES = {"inline_query": 1, "callback_query": 3, "my_chat_member": 5, "chat_member": 6}
LANE_BITS = 33

MANY_BOTS = 100  # that hear of everything, whether they ever ask or not
ROOM = 100_000  # updates of one bot
ROOM_BYTES = 1 << 27
LONGEST = 65_536 * 8
LAST_NUMBER = 2_000_000_000
ANSWER_BYTES = 1 << 22

LONGEST_WAIT = 50  # seconds of a long poll
CONFLICT_PAUSE = 3.0

OTHER_POLL = "Conflict: terminated by other getUpdates request; make sure that only one bot instance is running"
WEBHOOK_SET = "Conflict: terminated by setWebhook request"
WEBHOOK_ACTIVE = "Conflict: can't use getUpdates method while webhook is active; use deleteWebhook to delete the webhook first"


class Update(NamedTuple):
    number: int
    expires_at: int
    source: int
    body: bytes  # all of its JSON but the number
    chat: int | None  # where faults may look for it

    def as_json(self) -> bytes:
        return b'{"update_id":%d,\n%b}' % (self.number, self.body)


class Inbox:
    """The updates of one bot. Numbers never come twice; the first is anywhere, as it is with real bots."""

    def __init__(self, first: int, room: int) -> None:
        self._first, self._room = first, room
        self._updates: OrderedDict[int, Update] = OrderedDict()
        self._bytes = 0
        self.next_number = 0  # of the next update; 0 until there was one
        self.allowed = BY_DEFAULT
        self.asked = False  # whether the bot ever wanted updates
        self.on_news: Callable[[], None] | None = None  # of its webhook
        self.poll: asyncio.Future[str | None] | None = None
        self.last_offset = 0
        self.last_asked_at = -100.0
        self.next_conflict_at = -100.0

    def __len__(self) -> int:
        return len(self._updates)

    @property
    def head(self) -> int:
        return next(iter(self._updates), self.next_number)

    def push(self, body: bytes, expires_at: int, source: int, chat: int | None, now: int) -> None:
        if len(self._updates) >= self._room or self._bytes + len(body) > ROOM_BYTES:
            self._drop_expired(now)
            if len(self._updates) >= self._room or self._bytes + len(body) > ROOM_BYTES:
                return
        if len(body) > LONGEST:
            return
        if self.next_number + 1 >= LAST_NUMBER:
            self.clear()
            self.next_number = 0
        number = self.next_number or self._first
        self._updates[number] = Update(number, expires_at, source, body, chat)
        self._bytes += len(body)
        self.next_number = number + 1
        if self.on_news is not None:
            self.on_news()
        else:
            self.end_poll(None)

    def end_poll(self, conflict: str | None) -> None:
        """Whoever polls looks again, or hears of a conflict."""
        if self.poll is not None and not self.poll.done():
            self.poll.set_result(conflict)

    def get(self, number: int) -> Update | None:
        return self._updates.get(number)

    def forget(self, number: int) -> None:
        update = self._updates.pop(number, None)
        if update is not None:
            self._bytes -= len(update.body)

    def clear(self, keep: int = 0) -> None:
        while len(self._updates) > keep:
            self.forget(self.head)

    def start(self, offset: int) -> int:
        """The number that an offset means. Below 0 it counts from the end, and what stands before is forgotten."""
        if offset < 0:
            self.clear(-offset)
        if offset <= 0 or not self.head - ROOM <= offset <= self.next_number + 10 or offset >= LAST_NUMBER:
            return self.head
        return offset

    def read(self, offset: int, limit: int, now: int) -> list[Update]:
        """What stands there from that offset on; what stands before it was confirmed by it."""
        start = self.start(offset)
        while self._updates and self.head < start:
            self.forget(self.head)
        found: list[Update] = []
        expired: list[int] = []
        for update in self._updates.values():
            if update.expires_at < now:
                expired.append(update.number)
                continue
            if len(found) == limit:
                break
            found.append(update)
        for number in expired:
            self.forget(number)
        return found

    def waiting(self, now: int) -> int:
        self._drop_expired(now)
        return len(self._updates)

    def _drop_expired(self, now: int) -> None:
        while self._updates and next(iter(self._updates.values())).expires_at < now:
            self.forget(self.head)

    def allow(self, given: str) -> bool:
        """`allowed_updates` as a request has it; whether that changed anything."""
        wanted = _kinds(given)
        if wanted is None or wanted == self.allowed:
            return False
        self.allowed = wanted
        return True

    def state(self) -> dict[str, Any]:
        return {
            "next_number": self.next_number,
            "allowed": sorted(self.allowed),
            "asked": self.asked,
            "last": [self.last_offset, self.last_asked_at, self.next_conflict_at],
            "updates": [[*update[:3], update.body.decode(), update.chat] for update in self._updates.values()],
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        self.next_number, self.asked = int(state["next_number"]), bool(state["asked"])
        self.allowed = frozenset(state["allowed"])
        self.last_offset, self.last_asked_at, self.next_conflict_at = state["last"]
        for number, expires_at, source, body, chat in state["updates"]:
            self._updates[number] = Update(number, expires_at, source, body.encode(), chat)
            self._bytes += len(body)


def _kinds(given: str) -> frozenset[str] | None:
    """None keeps what was asked for before: nothing was given, or nothing that is a list of words."""
    if not given:
        return None
    try:
        value = json.loads(given)
    except (ValueError, RecursionError):
        return None
    if not isinstance(value, list):
        return None
    words = cast("list[object]", value)
    if not all(isinstance(word, str) for word in words):
        return None
    return frozenset(cast("str", word).lower() for word in words) & frozenset(KINDS) or BY_DEFAULT


class Updates:
    """All inboxes of one sandbox. It listens to the state, and tells each bot what that bot hears."""

    def __init__(self, state: State, room: int = ROOM) -> None:
        self._state, self._room = state, room
        self._clock = state.world.clock
        self.inboxes: dict[int, Inbox] = {}
        self._askers: dict[int, Bot] = {}
        self.methods: dict[str, Method] = {"getUpdates": self.get_updates}
        state.listen(self.hear)
        state.listen_to_members(self.hear_of_member)

    def inbox(self, bot: Bot) -> Inbox:
        known = self.inboxes.get(bot.id)
        if known is None:
            chance = Random(f"updates {self._state.world.seed} {bot.id}")  # noqa: S311 - nothing secret comes from it
            known = self.inboxes[bot.id] = Inbox(chance.randint(2_000_001, LAST_NUMBER // 2), self._room)
        return known

    def asks(self, bot: Bot) -> Inbox:
        """The inbox of a bot that wants its updates."""
        inbox = self.inbox(bot)
        if not inbox.asked:
            inbox.asked = True
        self._askers[bot.id] = bot
        return inbox

    # Hearing

    def hear(self, kind: str, chat: Chat, message: Message | None, by: User | None) -> None:
        """A message, new or edited, for everybody who hears it."""
        if message is None:
            return
        for bot in self._who_may_hear(chat, message, by):
            self.tell(bot, kind, message_json(self._state, bot, chat, message), chat.id, chat, _date(message))

    def _who_may_hear(self, chat: Chat, message: Message, by: User | None) -> Iterable[Bot]:
        """Among many bots, and of other bots' posts, only those hear that once asked for updates, or are members by name."""
        itself = [by] if isinstance(by, Bot) and speaks_to_itself(message) else []
        if chat.person is not None:
            with_bot = self._state.bots_by_id[chat.bot_id]
            return itself if by is with_bot else [with_bot]
        by_a_bot = by is not None and by.is_bot
        if not by_a_bot and len(self._state.bots_by_id) <= MANY_BOTS:
            bots: Iterable[Bot] = self._state.bots_by_id.values()
        elif self._askers or not by_a_bot:
            bots = {**self._askers, **self._members_by_name(chat)}.values()
        else:
            return itself
        return [*itself, *(bot for bot in bots if bot is not by and hears(self._state, bot, chat, message, by))]

    def _members_by_name(self, chat: Chat) -> dict[int, Bot]:
        known = self._state.bots_by_id
        return {number: known[number] for number in chat.members if number in known}

    def tell(
        self, bot: Bot, kind: str, value: Mapping[str, Any], source: int, chat: Chat | None, date: float
    ) -> None:
        """Into the inbox, if the bot wants to hear of such things. `source` is the chat or the person it comes from."""
        inbox = self.inbox(bot)
        if kind not in inbox.allowed:
            return
        body = to_json(kind) + b":" + to_json(value)
        lane = source + (LANES.get(kind, 0) << LANE_BITS)
        expires_at = int(date) + KEPT.get(kind, DAY)
        inbox.push(body, expires_at, lane, None if chat is None else chat.key, int(self._clock.now()))

    def hear_of_member(self, chat: Chat, user: User, old: Member, new: Member, by: User) -> None:
        """A bot hears of itself; administrators hear of everybody, if they asked for it."""
        now = self._clock.now()
        said = {
            "chat": chat.as_json(),
            "from": by.as_json(),
            "date": int(now),
            "old_chat_member": member_json(chat, user, old),
            "new_chat_member": member_json(chat, user, new),
        }
        if isinstance(user, Bot):
            self.tell(user, "my_chat_member", said, chat.id, chat, now)
        if chat.person is not None:
            return
        for bot in self._state.bots_by_id.values():
            if bot is not user and is_inside(self._state, bot, chat, ("creator", "administrator")):
                self.tell(bot, "chat_member", said, user.id, chat, now)

    # getUpdates

    async def get_updates(self, request: Request) -> Answer:
        inbox = self.asks(request.bot)
        if inbox.on_news is not None:
            await self._conflict(inbox, WEBHOOK_ACTIVE)
        parameters = request.parameters
        offset = parameters.integer("offset", 0, -(1 << 31), (1 << 31) - 1)
        limit = parameters.integer("limit", 100, 1, 100)
        seconds = parameters.integer("timeout", 0, 0, LONGEST_WAIT)
        inbox.allow(parameters.text("allowed_updates"))
        limit, seconds = self._slowed_down(inbox, offset, limit, seconds)
        offset = inbox.start(offset)
        found = inbox.read(offset, limit, self._now())
        if not found and seconds:
            await self._wait(inbox, seconds, request.receive)
            found = inbox.read(offset, limit, self._now())
        return Answer(_array(found))

    def _slowed_down(self, inbox: Inbox, offset: int, limit: int, seconds: int) -> tuple[int, int]:
        """Who asks for the same again at once has to wait, and gets one update."""
        now = self._clock.now()
        since = now - inbox.last_asked_at
        if offset == inbox.last_offset and since < 3:
            seconds = max(seconds, 3)
            limit = 1 if since < 0.5 else limit
        inbox.last_offset, inbox.last_asked_at = offset, now
        return limit, seconds

    async def _wait(self, inbox: Inbox, seconds: int, receive: Receive | None) -> None:
        """For news, for as long as was asked, or until the client goes."""
        inbox.end_poll(OTHER_POLL)
        poll = inbox.poll = asyncio.get_running_loop().create_future()
        ends: list[asyncio.Future[Any]] = [asyncio.ensure_future(self._clock.wait(seconds))]
        if receive is not None:
            ends.append(asyncio.ensure_future(gone_within(receive, seconds)))
        try:
            await asyncio.wait({poll, *ends}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for one in ends:
                one.cancel()
            if inbox.poll is poll:
                inbox.poll = None
        conflict = poll.result() if poll.done() else None
        if conflict is not None:
            await self._conflict(inbox, conflict)

    async def _conflict(self, inbox: Inbox, text: str) -> NoReturn:
        """The first one is told at once; others that soon follow have to wait for it."""
        now = self._clock.now()
        if now < inbox.next_conflict_at:
            await self._clock.wait(CONFLICT_PAUSE)
        else:
            inbox.next_conflict_at = now + CONFLICT_PAUSE
        raise Refusal(409, text)

    def _now(self) -> int:
        return int(self._clock.now())

    # Saved state

    def close(self) -> None:
        """Whoever polls gets what there is."""
        for inbox in self.inboxes.values():
            inbox.end_poll(None)

    def clear(self) -> None:
        self.close()
        self.inboxes.clear()
        self._askers.clear()

    def state(self) -> dict[str, Any]:
        return {str(number): inbox.state() for number, inbox in self.inboxes.items()}

    def restore(self, state: Mapping[str, Any]) -> None:
        for number, saved in state.items():
            bot = self._state.bots_by_id[int(number)]
            self.inbox(bot).restore(saved)
            if saved["asked"]:
                self._askers[bot.id] = bot


def _date(message: Message) -> float:
    edited_at = None if message.more is None else message.more.edited_at
    return message.at if edited_at is None else edited_at


def _array(updates: list[Update]) -> bytes:
    """As many as go into one answer."""
    parts: list[bytes] = []
    left = ANSWER_BYTES
    for update in updates:
        left -= 50 + len(update.body)
        if left <= 0:
            break
        parts.append(update.as_json())
    return b"[" + b",".join(parts) + b"]"
