"""Who and what there is: bots by token, people, chats by id and by name; and what has been said."""

import hashlib
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from pressroom.core.markup import Entity
from pressroom.sandbox.core.ledger import Effect
from pressroom.sandbox.core.view import NoSuch
from pressroom.sandbox.core.world import World
from pressroom.sandbox.telegram.files import CONTENT_BYTES, Files
from pressroom.sandbox.telegram.model import FIRST_PERSON, Bot, Chat, Member, Message, More, User
from pressroom.sandbox.telegram.parameters import integer
from pressroom.sandbox.telegram.rates import Rates

EXAMPLE_TOKEN = "1000000001:sandbox-example-bot-of-pressroom-00"  # noqa: S105 - opens nothing but this sandbox
EXAMPLE_BOT = "pressroom_example_bot"
PROVIDER = "telegram"

#: Between the keys of a person's dialogs; above every person's id.
NEXT_DIALOG = 1 << 40

#: Hears what happened: an update's kind, the chat, the message if there is one, and whose deed it was.
Listener = Callable[[str, Chat, Message | None, User | None], None]

#: Hears who was what in a chat, is what now, and whose deed that was.
MemberListener = Callable[[Chat, User, Member, Member, User], None]


def example_chats() -> tuple[Chat, ...]:
    return (
        Chat(-1001000000001, "Example news", username="pressroom_example_news"),
        Chat(-1001000000002, "Example deals", username="pressroom_example_deals"),
    )


EXAMPLE_CHATS = example_chats()


class State:
    def __init__(
        self,
        world: World,
        *,
        bots: Mapping[str, str],
        chats: Iterable[Chat],
        any_token: bool = False,
        media_bytes: int = CONTENT_BYTES,
    ) -> None:
        self.world = world
        self.any_token = any_token
        self.bots: dict[str, Bot] = {}
        self.people: dict[int, User] = {}
        self.chats: dict[int, Chat] = {}  # private ones have keys of their own: `private`
        self.private: dict[tuple[int, int], Chat] = {}  # by bot and person
        self.dialogs: dict[int, Chat] = {}  # the same, by key
        self.names: dict[str, Chat] = {}  # of chats, small letters, with @
        self.bots_by_name: dict[str, Bot] = {}
        self.bots_by_id: dict[int, Bot] = {}
        self.next_person = FIRST_PERSON
        self._next_chat_ids: dict[str, int] = {}  # where the search for a free one begins
        self.files = Files(world.clock.now, media_bytes)
        self.rates: Rates | None = None  # nobody is told to slow down
        self._listeners: list[Listener] = []
        self._member_listeners: list[MemberListener] = []
        for token, username in bots.items():
            self.add_bot(token, username)
        for chat in chats:
            self.add_chat(chat)
        world.ledger.on_forget(PROVIDER, self._forget)

    # Who there is

    def add_bot(self, token: str, username: str, name: str | None = None) -> Bot:
        bot = Bot(int(token.partition(":")[0]), name or username, username, is_bot=True, token=token)
        return self.register(token, bot)

    def register(self, token: str, bot: Bot) -> Bot:
        self.bots[token] = bot
        self.bots_by_name[(bot.username or "").lower()] = bot
        self.bots_by_id[bot.id] = bot
        return bot

    def clear(self) -> None:
        """Nobody and nothing, as before the first bot."""
        for known in (
            self.bots, self.people, self.chats, self.private, self.dialogs, self.names,
            self.bots_by_name, self.bots_by_id, self._next_chat_ids,
        ):  # fmt: skip
            known.clear()

    def add_chat(self, chat: Chat) -> Chat:
        self.chats[chat.id] = chat
        if chat.username:
            self.names[f"@{chat.username}".lower()] = chat
        return chat

    def add_person(
        self,
        name: str,
        *,
        username: str | None = None,
        last_name: str | None = None,
        language: str | None = None,
    ) -> User:
        person = User(self.next_person, name, username, last_name=last_name, language_code=language)
        self.next_person += 1
        self.people[person.id] = person
        return person

    def dialog(self, bot: Bot, person: User) -> Chat:
        """Of a bot and a person; one that nobody began yet is not there for anybody until it is opened."""
        known = self.private.get((bot.id, person.id))
        if known is not None:
            return known
        key = person.id
        while key in self.dialogs:
            key += NEXT_DIALOG
        return Chat(
            person.id, person.first_name, "private", bots_are="member", person=person, bot_id=bot.id, key=key
        )

    def open_dialog(self, chat: Chat) -> None:
        """From now on the bot may write to the person."""
        if chat.person is not None:
            self.private.setdefault((chat.bot_id, chat.person.id), chat)
            self.dialogs.setdefault(chat.key, chat)

    def chat_of_key(self, key: int) -> Chat | None:
        """As the ledger and the control API name chats."""
        return self.dialogs.get(key) if key > 0 else self.chats.get(key)

    def chat_for(self, bot: Bot, given: str) -> Chat | None:
        """As a bot names it: @name, or an id; a person's id means the dialog with this bot."""
        if given[:1] == "@":
            return self.names.get(given.lower())
        number = integer(given)
        return self.private.get((bot.id, number)) if number > 0 else self.chats.get(number)

    def free_chat_id(self, kind: str) -> int:
        """Groups count down from -1, supergroups and channels from -1001000000001."""
        family = "group" if kind == "group" else "channel"
        number = self._next_chat_ids.get(family, -1 if family == "group" else -1001000000001)
        while number in self.chats:
            number -= 1
        self._next_chat_ids[family] = number
        return number

    # As people and the control API name things

    def bot_named(self, given: str | int) -> Bot:
        """By user name, with or without @, or by id."""
        text = str(given)
        bot = self.bots_by_name.get(text.removeprefix("@").lower())
        if bot is None and text.isascii() and text.isdigit():
            bot = self.bots_by_id.get(int(text))
        if bot is None:
            raise NoSuch(f"there is no bot {given!r}")
        return bot

    def place(self, person: User, given: str | int) -> Chat:
        """Where a person is: a chat by id or @name, or the dialog with a bot by the bot's name."""
        text = str(given)
        bot = self.bots_by_name.get(text.removeprefix("@").lower())
        return self.dialog(bot, person) if bot is not None else self.chat_given(given)

    def chat_given(self, given: str | int) -> Chat:
        """By its key in any spelling, by @name, or a dialog as "<bot>:<person>"."""
        text = str(given).strip()
        found = self.names.get(text.lower()) or self.names.get(f"@{text}".lower())
        bot, colon, person = text.partition(":")
        if found is None and colon and (with_bot := self.bots_by_name.get(bot.removeprefix("@").lower())):
            found = self.private.get((with_bot.id, self.person_given(person).id))
        if found is None and re.fullmatch(r"-?\d{1,18}", text, re.ASCII):
            found = self.chat_of_key(int(text))
        if found is None:
            raise NoSuch(f"there is no chat {given!r}")
        return found

    def person_given(self, given: str | int) -> User:
        """By id, @name, or first name, with the last one if there is any."""
        text = str(given).strip()
        if text.isascii() and text.isdigit() and int(text) in self.people:
            return self.people[int(text)]
        wanted = text.casefold()
        for one in self.people.values():
            names = {one.first_name, one.name, one.username or "", f"@{one.username}"}
            if wanted and wanted in {name.casefold() for name in names}:
                return one
        raise NoSuch(f"there is no person {given!r}")

    def member(self, chat: Chat, user: User) -> Member:
        """What a user is in a chat. Bots are what the chat says bots are, unless it names them."""
        known = chat.members.get(user.id)
        if known is not None:
            return known if not known.until or known.until > self.world.clock.now() else _after(known)
        return Member(chat.bots_are if user.is_bot else "left")

    # What is said

    def say(
        self,
        chat: Chat,
        sender: User | None,
        method: str,
        text: str,
        entities: tuple[Entity, ...] = (),
        more: More | None = None,
        details: Mapping[str, Any] | None = None,
    ) -> Message:
        """A new message, in the chat and in the ledger; the bots that hear it get their update from here.

        Without a sender it is the chat's owner who posts.
        """
        now = self.world.clock.now()
        chat.last_message_id += 1
        number = chat.last_message_id
        is_channel = chat.type == "channel"
        message = Message(number, now, None if is_channel else sender, text, entities, more, sender)
        chat.messages[number] = message
        if sender is not None and sender.is_bot and not is_channel:
            chat.extra["last_bot"] = sender.id
        self.world.ledger.record(now, PROVIDER, _actor(chat, sender), chat.key, method, number, text, details)
        self.happened("channel_post" if is_channel else "message", chat, message, sender)
        return message

    def record(
        self,
        chat: Chat,
        by: User | None,
        method: str,
        message_id: int,
        text: str = "",
        details: Mapping[str, Any] | None = None,
    ) -> None:
        """In the ledger, under the chat's key."""
        self.world.ledger.record(
            self.world.clock.now(), PROVIDER, _actor(chat, by), chat.key, method, message_id, text, details
        )

    def listen_to_members(self, listener: MemberListener) -> None:
        self._member_listeners.append(listener)

    def becomes(self, chat: Chat, user: User, new: Member, by: User) -> None:
        """Somebody's place in the chat changes, and who listens is told."""
        old = self.member(chat, user)
        chat.members[user.id] = new
        for listener in self._member_listeners:
            listener(chat, user, old, new, by)

    def listen(self, listener: Listener) -> None:
        self._listeners.append(listener)

    def happened(self, kind: str, chat: Chat, message: Message | None = None, by: User | None = None) -> None:
        """Tell who listens. `kind` is the Bot API's name of the update: "edited_message", "my_chat_member" ...

        New messages are told by `say`; every other deed tells it itself, once it is done.
        """
        for listener in self._listeners:
            listener(kind, chat, message, by)

    def _forget(self, effect: Effect) -> None:
        """The ledger's size bounds what is remembered."""
        chat = self.chat_of_key(effect.chat)
        if chat is not None:
            chat.messages.pop(int(effect.message_id), None)

    def secret(self, kind: str, length: int = 24) -> str:
        """A name that nobody guesses twice, the same in worlds of the same seed."""
        digest = hashlib.sha256(f"{kind} {self.world.chance.getrandbits(128)}".encode()).hexdigest()
        return digest[:length]


def _actor(chat: Chat, by: User | None) -> str:
    if by is None:
        return chat.title
    return (by.username if by.is_bot else None) or by.first_name


def _after(known: Member) -> Member:
    """What becomes of a ban or a restriction that is over."""
    if known.status == "restricted" and known.rights.get("is_member", True):
        return Member()
    return Member("left") if known.status in ("kicked", "restricted") else known
