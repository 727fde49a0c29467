"""Who and what there is: bots by token, people, chats by id and by name; and what has been said."""

import hashlib
from collections.abc import Iterable, Mapping
from typing import Any

from pressroom.core.markup import Entity
from pressroom.sandbox.core.ledger import Effect
from pressroom.sandbox.core.world import World
from pressroom.sandbox.telegram.model import FIRST_PERSON, Bot, Chat, Member, Message, More, User
from pressroom.sandbox.telegram.parameters import integer

EXAMPLE_TOKEN = "1000000001:sandbox-example-bot-of-pressroom-00"  # noqa: S105 - opens nothing but this sandbox
EXAMPLE_BOT = "pressroom_example_bot"
PROVIDER = "telegram"


def example_chats() -> tuple[Chat, ...]:
    return (
        Chat(-1001000000001, "Example news", username="pressroom_example_news"),
        Chat(-1001000000002, "Example deals", username="pressroom_example_deals"),
    )


EXAMPLE_CHATS = example_chats()


class State:
    def __init__(
        self, world: World, *, bots: Mapping[str, str], chats: Iterable[Chat], any_token: bool = False
    ) -> None:
        self.world = world
        self.any_token = any_token
        self.bots: dict[str, Bot] = {}
        self.people: dict[int, User] = {}
        self.chats: dict[int, Chat] = {}  # private ones have keys of their own: `private`
        self.private: dict[tuple[int, int], Chat] = {}  # by bot and person
        self.dialogs_of: dict[int, list[Chat]] = {}  # the same, by person
        self.names: dict[str, Chat] = {}  # of chats, small letters, with @
        self.bots_by_name: dict[str, Bot] = {}
        self._next_person = FIRST_PERSON
        for token, username in bots.items():
            self.add_bot(token, username)
        for chat in chats:
            self.add_chat(chat)
        world.ledger.on_forget(PROVIDER, self._forget)

    # Who there is

    def add_bot(self, token: str, username: str, name: str | None = None) -> Bot:
        bot = Bot(int(token.partition(":")[0]), name or username, username, is_bot=True, token=token)
        self.bots[token] = bot
        self.bots_by_name[username.lower()] = bot
        return bot

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
        person = User(self._next_person, name, username, last_name=last_name, language_code=language)
        self._next_person += 1
        self.people[person.id] = person
        return person

    def private_chat(self, bot: Bot, person: User) -> Chat:
        """The dialog of a bot and a person, made when the person first turns to the bot."""
        key = (bot.id, person.id)
        if key not in self.private:
            self.private[key] = Chat(person.id, person.first_name, "private", person=person, bot_id=bot.id)
            self.dialogs_of.setdefault(person.id, []).append(self.private[key])
        return self.private[key]

    def chat_for(self, bot: Bot, given: str) -> Chat | None:
        """As a bot names it: @name, or an id; a person's id means the dialog with this bot."""
        if given[:1] == "@":
            return self.names.get(given.lower())
        number = integer(given)
        return self.private.get((bot.id, number)) if number > 0 else self.chats.get(number)

    def member(self, chat: Chat, user: User) -> Member:
        """What a user is in a chat. Bots are what the chat says bots are, unless it names them."""
        known = chat.members.get(user.id)
        if known is not None:
            return known
        return Member(chat.bots_are if user.is_bot else "left")

    # What is said

    def say(
        self,
        chat: Chat,
        sender: User,
        method: str,
        text: str,
        entities: tuple[Entity, ...] = (),
        more: More | None = None,
        details: Mapping[str, Any] | None = None,
    ) -> Message:
        """A new message, in the chat and in the ledger."""
        now = self.world.clock.now()
        chat.last_message_id += 1
        number = chat.last_message_id
        message = Message(number, now, None if chat.type == "channel" else sender, text, entities, more)
        chat.messages[number] = message
        actor = (sender.username if sender.is_bot else sender.first_name) or sender.first_name
        self.world.ledger.record(now, PROVIDER, actor, chat.id, method, number, text, details)
        return message

    def _forget(self, effect: Effect) -> None:
        """The ledger's size bounds what is remembered."""
        number = int(effect.message_id)
        if effect.chat < 0:
            self.chats[effect.chat].messages.pop(number, None)
            return
        for chat in self.dialogs_of.get(effect.chat, ()):
            message = chat.messages.get(number)
            if message is not None and message.at == effect.at:
                del chat.messages[number]

    def secret(self, kind: str, length: int = 24) -> str:
        """A name that nobody guesses twice, the same in worlds of the same seed."""
        digest = hashlib.sha256(f"{kind} {self.world.chance.getrandbits(128)}".encode()).hexdigest()
        return digest[:length]
