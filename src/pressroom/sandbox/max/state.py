"""Who and what there is: bots, people, chats, and the messages in them. Everything else acts on this.

A dialog's id is the bot's id XOR the person's, as the live server has it. Ids of bots and of people come from ranges
in which no two pairs meet in one dialog.
"""

import re
from collections import OrderedDict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import count

from pressroom.sandbox.core.view import NoSuch
from pressroom.sandbox.core.world import World
from pressroom.sandbox.max.errors import Refusal, no_chat
from pressroom.sandbox.max.model import (
    LARGEST,
    Bot,
    Chat,
    ChatKind,
    Member,
    Message,
    NewChat,
    User,
    all_permissions,
    chat_of,
    mid_of,
)

_FIRST_BOT, _BOT_STEP = 16, 24  # ids of bots differ above bit 24 only
_FIRST_PERSON = 0x0C00_0000  # and those of people below it
_FIRST_CHAT = 70_000_000_000_001
CALLBACKS = 10_000
_CHAT_ID = re.compile(r"-?[0-9]{1,19}")
CHANNEL_OWNER = 1  # who posts for a channel when nobody is named


@dataclass(frozen=True, slots=True)
class Pressed:
    """A button that was pressed, until its bot answers."""

    bot: int
    person: int
    mid: str
    at: int


class State:
    def __init__(self, world: World) -> None:
        self.world = world
        self.users: dict[int, User] = {}
        self._bot_names: dict[str, Bot] = {}
        self._person_names: dict[str, User] = {}
        self._user_names: dict[str, User] = {}
        self.bots: dict[str, Bot] = {}  # by token
        self.chats: dict[int, Chat] = {}
        self.links: dict[str, int] = {}
        self.pressed: OrderedDict[str, Pressed] = OrderedDict()
        self._bot_numbers, self._person_numbers, self._chat_numbers = count(), count(), count()
        self.owner = User(CHANNEL_OWNER, "Owner", username="channel_owner")
        self._know(self.owner)

    def now(self) -> int:
        return int(self.world.clock.now() * 1000)

    # Bots and people

    def add_bot(self, token: str, username: str, *, as_id: int | None = None) -> Bot:
        id_ = self._free_id((_FIRST_BOT + number << _BOT_STEP for number in self._bot_numbers), as_id)
        bot = Bot(id_, username, None, username, token=token, active_at=self.now())
        self.bots[token] = bot
        self._know(bot)
        return bot

    def add_person(self, name: str, *, as_id: int | None = None, username: str | None = None) -> User:
        first, _, last = name.partition(" ")
        id_ = self._free_id((_FIRST_PERSON + number for number in self._person_numbers), as_id)
        person = User(id_, first, last, username, active_at=self.now())
        self._know(person)
        return person

    def _free_id(self, numbers: Iterable[int], wanted: int | None) -> int:
        if wanted is not None:
            return wanted
        return next(number for number in numbers if number not in self.users)

    def bot_named(self, given: str | int) -> Bot:
        """By id or user name."""
        bot = self._bot_names.get(_as_name(given))
        if bot is None:
            raise NoSuch(f"there is no bot {given!r}")
        return bot

    def person_named(self, given: str | int) -> User:
        """By id, full name, first name or user name; the first of that name. `@` means user names first."""
        name = _as_name(given)
        person = self._user_names.get(name) if str(given).startswith("@") else None
        if person is None or person.is_bot:
            person = self._person_names.get(name)
        if person is None:
            raise NoSuch(f"there is no person {given!r}")
        return person

    def has_user_name(self, name: str) -> bool:
        return _as_name(name) in self._user_names

    def _know(self, user: User) -> None:
        self.users[user.id] = user
        if user.username:
            self._user_names.setdefault(_as_name(user.username), user)
        if isinstance(user, Bot):
            for name in (str(user.id), user.username or user.name):
                self._bot_names.setdefault(_as_name(name), user)
        else:
            for name in (str(user.id), user.name, user.first_name, user.username or user.name):
                self._person_names.setdefault(_as_name(name), user)

    # Chats

    def add_chat(
        self,
        title: str,
        kind: ChatKind = ChatKind.CHANNEL,
        *,
        as_id: int | None = None,
        link: str | None = None,
    ) -> Chat:
        if as_id is None:
            as_id = next(-_FIRST_CHAT - n for n in self._chat_numbers if -_FIRST_CHAT - n not in self.chats)
        chat = Chat(as_id, kind, title, link, owner=CHANNEL_OWNER, last_event_at=self.now())
        chat.members[CHANNEL_OWNER] = Member(CHANNEL_OWNER, self.now(), owner=True)
        self._keep(chat)
        return chat

    def begin_with(self, chats: Iterable[NewChat]) -> None:
        for new in chats:
            chat = self.add_chat(new.title, new.kind, as_id=new.id, link=new.link)
            chat.everyones, chat.signed = new.bots is None, new.signed
            for name in new.bots or ():
                self.make_admin(chat, self.bot_named(name))

    def make_admin(self, chat: Chat, bot: Bot, permissions: tuple[str, ...] | None = None) -> Member:
        granted = all_permissions(chat.kind) if permissions is None else permissions
        member = Member(bot.id, self.now(), permissions=granted)
        chat.members[bot.id] = member
        chat.gone.pop(bot.id, None)
        return member

    def dialog(self, bot: Bot, person: User) -> Chat | None:
        return self.chats.get(bot.id ^ person.id)

    def open_dialog(self, bot: Bot, person: User) -> Chat:
        chat = self.dialog(bot, person)
        if chat is None:
            chat = Chat(bot.id ^ person.id, ChatKind.DIALOG, last_event_at=self.now())
            for user in (bot, person):
                chat.members[user.id] = Member(user.id, self.now())
            self._keep(chat)
        return chat

    def _keep(self, chat: Chat) -> None:
        self.chats[chat.id] = chat
        if chat.link:
            self.links[chat.link.casefold()] = chat.id

    def replace(self, bots: Iterable[Bot], people: Iterable[User], chats: Iterable[Chat]) -> None:
        """In place of all that there is."""
        self.bots = {bot.token: bot for bot in bots}
        for known in (self.users, self._bot_names, self._person_names, self._user_names):
            known.clear()
        for user in (*people, *self.bots.values()):
            self._know(user)
        self.owner = self.users.setdefault(CHANNEL_OWNER, self.owner)
        self.chats.clear()
        self.links.clear()
        self.pressed.clear()
        for chat in chats:
            self._keep(chat)

    def resolve(self, given: str | int) -> int:
        """A chat's id from its id, or from the name in its public link."""
        name = str(given).strip()
        if _CHAT_ID.fullmatch(name) and int(name) in self.chats:
            return int(name)
        found = self.links.get(name.removeprefix("https://max.ru/").removeprefix("@").casefold())
        if found is None:
            raise NoSuch(f"there is no chat {name[:100]!r}")
        return found

    def other(self, chat: Chat, user: int) -> User:
        """The other side of a dialog."""
        return next(self.users[member] for member in chat.members if member != user)

    def person_of(self, chat: Chat) -> User:
        return next(self.users[member] for member in chat.members if not self.users[member].is_bot)

    # What a bot has to do with a chat

    def membership(self, chat: Chat, bot: Bot) -> Member | None:
        member = chat.members.get(bot.id)
        if member is None and chat.everyones and bot.id not in chat.gone:
            return self.make_admin(chat, bot)
        return member

    def bots_in(self, chat: Chat) -> Iterator[Bot]:
        for member in list(chat.members):
            user = self.users[member]
            if isinstance(user, Bot):
                yield user
        if chat.everyones:
            for bot in list(self.bots.values()):
                if bot.id not in chat.members and bot.id not in chat.gone:
                    yield bot

    def status(self, chat: Chat, bot: Bot) -> str:
        if chat.closed:
            return "closed"
        return chat.gone.get(bot.id, "active")

    def chat_for(self, bot: Bot, chat_id: int) -> Chat:
        """A chat that this bot is in; for all others it is as if they did not exist."""
        chat = self.chats.get(chat_id)
        if chat is None or chat.closed or self.membership(chat, bot) is None:
            raise no_chat(chat_id)
        return chat

    def admin_chat(self, bot: Bot, chat_id: int, permission: str | None = None) -> Chat:
        """A group or channel where this bot is an administrator, with that right."""
        chat = self.chat_for(bot, chat_id)
        member = chat.members[bot.id]
        if not member.admin or (permission is not None and not member.may(permission)):
            raise Refusal(403, "chat.denied", "Method is available only for chat administrator")
        return chat

    # Messages

    def next_seq(self, chat: Chat) -> int:
        """Milliseconds, and below them 16 bits by chance; always above the one before."""
        seq = max(self.now() << 16 | self.world.chance.getrandbits(16), chat.last_seq + 1)
        chat.last_seq = seq & LARGEST
        return chat.last_seq

    def new_message(self, chat: Chat, author: User) -> Message:
        """Not in the chat yet: `place` puts it there."""
        seq = self.next_seq(chat)
        return Message(mid_of(chat.id, seq), seq, chat.id, self.now(), author.id)

    def place(self, message: Message) -> None:
        chat = self.chats[message.chat]
        chat.messages[message.mid] = message
        chat.written += 1
        chat.last_event_at = message.at
        self.users[message.author].active_at = message.at

    def message(self, mid: str) -> Message | None:
        chat = self.chats.get(chat_of(mid) or 0)
        return None if chat is None else chat.messages.get(mid)

    def forget(self, mid: str) -> None:
        chat = self.chats.get(chat_of(mid) or 0)
        if chat is not None and chat.messages.pop(mid, None) is not None and chat.pinned == mid:
            chat.pinned = None

    # Buttons

    def press(self, pressed: Pressed) -> str:
        letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-"
        callback_id = "".join(self.world.chance.choices(letters, k=64))
        self.pressed[callback_id] = pressed
        if len(self.pressed) > CALLBACKS:
            self.pressed.popitem(last=False)
        return callback_id


def _as_name(given: str | int) -> str:
    return str(given).removeprefix("@").casefold()
