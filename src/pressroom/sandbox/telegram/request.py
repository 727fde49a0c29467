"""One call of a method: who calls, what he says, and the checks that many methods make alike, in their order.

Where the real server looks something up and refuses, the words and the order are its own (tdlib/telegram-bot-api,
`Client.cpp`: `check_chat`, `check_chat_access`, `check_message`).
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from pressroom.sandbox.telegram.model import Bot, Chat, Message
from pressroom.sandbox.telegram.parameters import Parameters
from pressroom.sandbox.telegram.refusal import Refusal, bad_request, forbidden
from pressroom.sandbox.telegram.state import State

#: What a method answers with: the `result`, at once or later.
Method = Callable[["Request"], Any | Awaitable[Any]]

KIND = {"group": "group", "supergroup": "supergroup", "channel": "channel"}


@dataclass(slots=True)
class Request:
    state: State
    bot: Bot
    parameters: Parameters
    method: str  # as the documentation spells it

    def known_chat(self, name: str = "chat_id") -> Chat:
        """The chat that exists, whatever the bot may do there."""
        given = self.parameters.text(name)
        if not given:
            raise bad_request(f"{name} is empty")
        chat = self.state.chat_for(self.bot, given)
        if chat is None:
            raise self._unknown(given)
        return chat

    def _unknown(self, given: str) -> Refusal:
        """A person who never turned to this bot is known to Telegram, and yet cannot be written to."""
        if given.isascii() and given.isdigit() and int(given) in self.state.people:
            return forbidden("bot can't initiate conversation with a user")
        return bad_request("chat not found")

    def chat(self, name: str = "chat_id", *, to_write: bool = False) -> Chat:
        """The chat, if the bot may read it, or write to it."""
        chat = self.known_chat(name)
        self.check_access(chat, to_write=to_write)
        return chat

    def check_access(self, chat: Chat, *, to_write: bool) -> None:
        if chat.upgraded_to is not None:
            raise Refusal(
                400,
                "Bad Request: group chat was upgraded to a supergroup chat",
                {"migrate_to_chat_id": chat.upgraded_to},
            )
        if chat.person is not None:
            if to_write and chat.extra.get("blocked"):
                raise forbidden("bot was blocked by the user")
            if chat.extra.get("deactivated"):
                raise forbidden("user is deactivated")
            return
        if chat.deleted:
            raise (
                forbidden("the group chat was deleted")
                if chat.type == "group"
                else bad_request("chat not found")
            )
        status = self.state.member(chat, self.bot).status
        if status == "kicked":
            raise forbidden(f"bot was kicked from the {chat.type} chat")
        if status == "left" and (to_write or chat.username is None):
            raise forbidden(f"bot is not a member of the {chat.type} chat")

    def message(self, chat: Chat, name: str, purpose: str) -> Message:
        """`purpose` ends the refusal: "message to edit not found"."""
        number = self.parameters.integer(name)
        if number <= 0:
            raise bad_request("message identifier is not specified")
        found = chat.messages.get(number)
        if found is None or (found.more is not None and found.more.service is not None and purpose == "copy"):
            raise bad_request(f"message to {purpose} not found")
        return found
