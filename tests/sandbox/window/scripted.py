"""A messenger in memory for the window's tests: what a script puts into it, and what people did to it."""

from collections.abc import Mapping
from itertools import count
from typing import Any

from pressroom.sandbox.core.view import ActorView, ChatView, MessageView, NoSuch, NotPossible
from pressroom.sandbox.core.world import World

KINDS = {"telegram": ("private", "supergroup", "channel"), "max": ("dialog", "chat", "channel")}
FIELDS = {"text", "media", "parse_mode", "reply_to"}
WISHES: dict[str, set[str]] = {
    "writes": {"person", "chat", "bot", *FIELDS},
    "posts": {"chat", *FIELDS},
    "presses": {"person", "chat", "message_id", "data", "row", "column"},
    "starts": {"person", "bot", "payload"},
    "blocks": {"person", "bot"},
    "unblocks": {"person", "bot"},
    "edits": {"person", "chat", "message_id", "text"},
    "deletes": {"person", "chat", "message_id"},
    "joins": {"person", "chat"},
    "leaves": {"person", "chat"},
    "renames": {"chat", "title"},
}


class ScriptedProvider:
    def __init__(self, world: World, name: str) -> None:
        self.name = name
        self.errors: Mapping[str, Any] = {}
        self.deeds: list[tuple[str, dict[str, Any]]] = []
        self._world = world
        self._chats: dict[int, ChatView] = {}
        self._messages: dict[int, list[MessageView]] = {}
        self._bots: dict[int, ActorView] = {}
        self._people: dict[int, ActorView] = {}
        self._files: dict[str, tuple[str, bytes]] = {}
        self._ids = count(1)
        world.providers[name] = self

    # -- the script

    def bot(self, name: str, username: str) -> ActorView:
        bot: ActorView = {"id": 7_000_000 + next(self._ids), "name": name, "kind": "bot", "username": username}
        self._bots[bot["id"]] = bot
        return bot

    def person(self, name: str) -> ActorView:
        person: ActorView = {"id": 500 + next(self._ids), "name": name, "kind": "person"}
        self._people[person["id"]] = person
        return person

    def new_chat(self, kind: str, title: str, *members: ActorView, **more: Any) -> int:
        chat = next(self._ids) + 100 if kind in ("private", "dialog") else -1_000_000_000_000 - next(self._ids)
        self._chats[chat] = {
            "id": chat,
            "kind": kind,
            "title": title,
            "bots": [each for each in members if each["kind"] == "bot"],
            "people": [each for each in members if each["kind"] == "person"],
            "messages": 0,
            **more,
        }
        self._messages[chat] = []
        return chat

    def say(
        self, chat: int, sender: ActorView, text: str, *, method: str = "sendMessage", **more: Any
    ) -> MessageView:
        number = next(self._ids)
        message: MessageView = {
            "id": number if self.name == "telegram" else f"mid.{number:016x}",
            "at": self._world.clock.now(),
            "sender": sender,
            "text": text,
            **more,
        }
        self._messages[chat].append(message)
        self._record(sender, chat, method, message)
        return message

    def edit(self, chat: int, message: MessageView, **changes: Any) -> None:
        message.update({"edited_at": self._world.clock.now(), **changes})  # type: ignore[typeddict-item]
        self._record(message["sender"], chat, "editMessageText", message)

    def delete(self, chat: int, message: MessageView) -> None:
        self._messages[chat].remove(message)
        self._record(message["sender"], chat, "deleteMessage", message)

    def answer(self, chat: int, message: MessageView, text: str) -> None:
        self._world.ledger.record(
            self._world.clock.now(), self.name, "a_bot", chat, "answerCallbackQuery", message["id"], text
        )

    def keep(self, name: str, kind: str, content: bytes) -> str:
        self._files[name] = (kind, content)
        return name

    def _record(self, sender: ActorView, chat: int, method: str, message: MessageView) -> None:
        self._world.ledger.record(
            self._world.clock.now(), self.name, sender["name"], chat, method, message["id"], message["text"]
        )

    # -- what the control API asks

    def resolve_chat(self, given: str | int) -> int:
        for chat in self._chats.values():
            if str(given) in (str(chat["id"]), "@" + chat.get("username", "")):
                return chat["id"]
        raise NoSuch(f"there is no chat {given!r}")

    def find_chats(self, wanted: str = "") -> list[int]:
        return [chat["id"] for chat in self.chats() if wanted.casefold() in chat["title"].casefold()]

    def chats(self) -> list[ChatView]:
        views = [self.chat(chat) for chat in self._chats]
        return sorted(views, key=lambda view: -(view["last"]["at"] if "last" in view else 0))

    def chat(self, chat: int) -> ChatView:
        messages = self._messages[chat]
        view: ChatView = {**self._chats[chat], "messages": len(messages)}
        if messages:
            view["last"] = messages[-1]
        return view

    def messages_of(self, chat: int, *, before: int | str | None = None, limit: int = 50) -> list[MessageView]:
        messages = self._messages[chat]
        if before is not None:
            messages = messages[: [str(each["id"]) for each in messages].index(str(before))]
        return messages[-limit:]

    def message(self, chat: int, message_id: int | str) -> MessageView:
        for message in self._messages[chat]:
            if str(message["id"]) == str(message_id):
                return message
        raise NoSuch(f"there is no message {message_id!r} in this chat")

    def bots(self) -> list[ActorView]:
        return list(self._bots.values())

    def people(self) -> list[ActorView]:
        return list(self._people.values())

    def file(self, file: str) -> tuple[str, bytes]:
        if file not in self._files:
            raise NoSuch(f"there is no file {file!r}")
        return self._files[file]

    def add(self, what: str, wish: Mapping[str, Any]) -> dict[str, Any]:
        if what != "person" or set(wish) != {"name"}:
            raise NotPossible(f"the script makes people with a name, not a {what} with {sorted(wish)}")
        return dict(self.person(wish["name"]))

    def act(self, verb: str, wish: Mapping[str, Any]) -> dict[str, Any]:
        unknown = set(wish) - WISHES[verb]
        if unknown:
            raise NotPossible(f"{verb} has no {', '.join(sorted(unknown))}")
        self.deeds.append((verb, dict(wish)))
        if verb == "presses":
            return {"callback_id": "1"}
        if verb in ("writes", "posts", "starts"):
            return self._said(verb, wish)
        if verb in ("blocks", "unblocks"):
            chat = self._dialog(wish["person"], wish["bot"])
            self._chats[chat]["state"] = "blocked" if verb == "blocks" else "active"
            self._world.ledger.record(self._world.clock.now(), self.name, "person", chat, verb, 0)
        return {}

    def _said(self, verb: str, wish: Mapping[str, Any]) -> dict[str, Any]:
        chat = wish["chat"] if "chat" in wish else self._dialog(wish["person"], wish["bot"])
        sender = self._people[wish["person"]] if "person" in wish else self._channel(chat)
        if wish.get("text") == "refuse me":
            raise NotPossible("the script refuses this text")
        more: dict[str, Any] = {}
        if wish.get("media"):
            more["media"] = [
                {"kind": each["kind"], "name": each["name"], "type": each["type"]} for each in wish["media"]
            ]
        if wish.get("reply_to"):
            original = self.message(chat, wish["reply_to"])
            more["reply_to"] = {
                "id": original["id"],
                "sender": original["sender"]["name"],
                "text": original["text"],
            }
        said = self.say(
            chat, sender, wish.get("text", "/start" if verb == "starts" else ""), method=verb, **more
        )
        return {"chat": chat, "message_id": said["id"]}

    def _channel(self, chat: int) -> ActorView:
        return {"id": chat, "name": self._chats[chat]["title"], "kind": "channel"}

    def _dialog(self, person: int, bot: int) -> int:
        for chat in self._chats.values():
            ids = {each["id"] for each in (*chat["bots"], *chat["people"])}
            if chat["kind"] == KINDS[self.name][0] and ids == {person, bot}:
                return chat["id"]
        people, bots = self._people[person], self._bots[bot]
        return self.new_chat(KINDS[self.name][0], people["name"], bots, people)

    def state(self) -> dict[str, Any]:
        return {}

    def restore(self, state: Mapping[str, Any]) -> None: ...

    async def aclose(self) -> None: ...
