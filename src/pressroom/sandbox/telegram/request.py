"""One call of a method: who calls, what he says, and the checks that many methods make alike, in their order.

Where the real server looks something up and refuses, the words and the order are its own (tdlib/telegram-bot-api,
`Client.cpp`: `check_chat`, `check_chat_access`, `check_message`). What only Telegram itself can refuse, behind that
server, is asked last: `check_reachable`.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, cast

from starlette.types import Receive

from pressroom.sandbox.telegram.fields import Malformed, check_unicode, decode, whole
from pressroom.sandbox.telegram.model import Bot, Chat, Member, Message, User
from pressroom.sandbox.telegram.parameters import Parameters, integer
from pressroom.sandbox.telegram.refusal import Refusal, bad_request, forbidden
from pressroom.sandbox.telegram.state import State


@dataclass(frozen=True, slots=True)
class Answer:
    """A result that is JSON already, with a description beside it where the real server gives one."""

    result: bytes
    description: str = ""


#: What a method answers with: the `result`, at once or later.
Method = Callable[["Request"], Any | Awaitable[Any]]

#: What the real server answers by itself; all else goes through TDLib, which takes no half characters.
_LOCAL = frozenset({"close", "logOut", "getMe", "getUpdates", "setWebhook", "deleteWebhook", "getWebhookInfo"})
_MEMBERS = ("creator", "administrator", "member")
_LARGEST_INT32 = (1 << 31) - 1


class Access(IntEnum):
    READ = 0
    READ_MEMBERS = 1
    EDIT = 2
    WRITE = 3


@dataclass(slots=True)
class Request:
    state: State
    bot: Bot
    parameters: Parameters
    method: str  # as the documentation spells it
    receive: Receive | None = None  # tells when the client goes; None where nobody waits for the answer

    def __post_init__(self) -> None:
        if self.method not in _LOCAL:
            for text in self.parameters.texts.values():
                check_unicode(text)

    # Chats

    def chat(self, access: Access = Access.READ, name: str = "chat_id") -> Chat:
        """The chat, if the bot may do that much there."""
        return self.chat_named(self.parameters.text(name), access)

    def chat_named(self, given: str, access: Access) -> Chat:
        if not given:
            raise bad_request("chat_id is empty")
        chat = self.state.chat_for(self.bot, given) or self._never_met(given)
        if chat is None:
            raise bad_request("chat not found")
        self.check_access(chat, access)
        return chat

    def _never_met(self, given: str) -> Chat | None:
        """A dialog that does not exist: Telegram knows the person or the bot, and refuses only what is sent there."""
        bot = (
            self.state.bots_by_name.get(given[1:].lower())
            if given[0] == "@"
            else self.state.bots_by_id.get(integer(given))
        )
        if bot is not None:
            return Chat(bot.id, bot.first_name, "private", person=bot, bot_id=self.bot.id)
        person = None if given[0] == "@" else self.state.people.get(integer(given))
        if person is None:
            return None
        return Chat(person.id, person.first_name, "private", person=person, extra={"never_met": True})

    def check_access(self, chat: Chat, access: Access) -> None:
        if chat.person is not None:
            if access >= Access.EDIT and chat.extra.get("deactivated"):
                raise forbidden("user is deactivated")
        elif chat.type == "group":
            self._check_group(chat, Access.WRITE if access is Access.READ_MEMBERS else access)
        else:
            self._check_supergroup(chat, access)

    def _check_group(self, chat: Chat, access: Access) -> None:
        if access is Access.WRITE and chat.upgraded_to is not None:
            raise Refusal(
                400,
                "Bad Request: group chat was upgraded to a supergroup chat",
                {"migrate_to_chat_id": chat.upgraded_to},
            )
        if chat.deleted and access is Access.WRITE:
            raise forbidden("the group chat was deleted")
        if chat.deleted or chat.upgraded_to is not None or access < Access.EDIT:
            return
        member = self.member(chat)
        if member.status == "kicked":
            raise forbidden("bot was kicked from the group chat")
        if not is_member(member):
            raise forbidden("bot is not a member of the group chat")

    def _check_supergroup(self, chat: Chat, access: Access) -> None:
        if chat.deleted:
            raise bad_request("chat not found")
        member = self.member(chat)
        if member.status == "kicked":
            raise forbidden(f"bot was kicked from the {chat.type} chat")
        if not is_member(member) and (access >= Access.EDIT or chat.username is None):
            raise forbidden(f"bot is not a member of the {chat.type} chat")

    def check_reachable(self, chat: Chat) -> None:
        """Telegram's own word on writing to a person."""
        if chat.person is None:
            return
        if chat.person.is_bot:
            raise forbidden("the bot can't send messages to the bot")
        if chat.extra.get("never_met"):
            raise forbidden("bot can't initiate conversation with a user")
        if chat.extra.get("blocked"):
            raise forbidden("bot was blocked by the user")

    def member(self, chat: Chat) -> Member:
        return self.state.member(chat, self.bot)

    def has_message_access(self, chat: Chat) -> bool:
        return chat.person is not None or chat.type == "group" or is_member(self.member(chat))

    # Messages

    def message_id(self, name: str = "message_id") -> int:
        """0 stands for none."""
        return self.parameters.integer(name, least=0, most=_LARGEST_INT32)

    def message(self, access: Access, what: str, name: str = "message_id") -> tuple[Chat, Message]:
        """`what` begins the refusal: "message to edit"."""
        chat = self.chat(access)
        return chat, self.message_in(chat, self.message_id(name), what)

    def message_in(self, chat: Chat, number: int, what: str) -> Message:
        found = chat.messages.get(number) if self.has_message_access(chat) else None
        if found is None:
            raise bad_request(f"{what} not found")
        return found

    def message_ids(self, most: int = 100, name: str = "message_ids") -> list[int]:
        given = self.parameters.text(name)
        if not given:
            raise bad_request("Message identifiers are not specified")
        found = self.json(name, f"can't parse {name} JSON object")
        if not isinstance(found, list):
            raise bad_request("Expected an Array of message identifiers")
        given_ids = cast("list[object]", found)
        if len(given_ids) > most:
            raise bad_request("Too many message identifiers specified")
        numbers = [_message_id(one) for one in given_ids]
        if not numbers:
            raise bad_request("Message identifiers are not specified")
        return numbers

    # Other values

    def json(self, name: str, otherwise: str) -> Any:
        """`otherwise` is the refusal of what is no JSON."""
        try:
            return decode(self.parameters.text(name))
        except Malformed:
            raise bad_request(otherwise) from None

    def required_text(self, name: str) -> str:
        given = self.parameters.text(name)
        if not given:
            raise bad_request(f'Parameter "{name}" is required')
        return given

    def user_id(self, name: str = "user_id") -> int:
        number = self.parameters.integer(name, least=0)
        if not number:
            raise bad_request(f"Invalid {name} specified")
        return number

    def user(self, number: int) -> User | None:
        """Anybody, bot or person."""
        return self.state.people.get(number) or self.state.bots_by_id.get(number)

    def check_business(self) -> None:
        """Nobody lends his account to a bot here, so that no identifier of a connection is right."""
        if not self.parameters.text("business_connection_id"):
            return
        given = self.parameters.text("chat_id")
        if not given:
            raise bad_request("chat identifier is empty")
        if whole(given, bits=64) is None:
            raise bad_request("chat identifier must be a valid Integer")
        raise bad_request("business connection not found")

    def is_inline_edit(self) -> bool:
        """No chat and no message are named: a message sent through inline mode is meant."""
        return not self.parameters.text("chat_id") and not self.message_id()

    def refuse_inline_edit(self) -> Refusal:
        """Inline mode is not emulated, so that no identifier is right."""
        if not self.parameters.text("inline_message_id"):
            return bad_request("Message identifier is not specified")
        return bad_request("MESSAGE_ID_INVALID")


def is_member(member: Member) -> bool:
    """Who is restricted may have left; `rights` say so."""
    return member.status in _MEMBERS or (member.status == "restricted" and member.rights.get("is_member", True))


def _message_id(given: object) -> int:
    if not isinstance(given, str):
        raise bad_request("Message identifier must be a Number")
    number = whole(given, bits=32)
    if number is None:
        raise bad_request("Can't parse message identifier as a Number")
    if number <= 0:
        raise bad_request("Invalid message identifier specified")
    return number
