"""The sandbox besides its Bot API: what happened in it, what shall go wrong, who is there, and what is saved of it."""

import re
from collections.abc import Callable, Mapping
from typing import Any

from pressroom.sandbox.core.emulator import Emulator
from pressroom.sandbox.core.ledger import Effect
from pressroom.sandbox.core.view import ActorView, ChatView, MessageView, NoSuch, NotPossible
from pressroom.sandbox.max.errors import NAMED
from pressroom.sandbox.max.model import Chat, ChatKind, NewChat
from pressroom.sandbox.max.people import People, Person, Wish
from pressroom.sandbox.max.saved import Saved, SavedFile, SavedSubscription, SavedUpdate, as_json, from_json
from pressroom.sandbox.max.state import CHANNEL_OWNER, State
from pressroom.sandbox.max.updates import Updates
from pressroom.sandbox.max.uploads import Uploads
from pressroom.sandbox.max.views import actor_view, chat_view, message_view, title

EXAMPLE_TOKEN = "sandbox-example-max-bot-of-pressroom-00000000"  # noqa: S105 - opens nothing but this sandbox
EXAMPLE_BOT = "pressroom_example_bot"
EXAMPLE_CHATS = (
    NewChat(-70000000000001, "Example news (MAX)", link="pressroom_example_news"),
    NewChat(-70000000000002, "Example deals (MAX)", link="pressroom_example_deals"),
)

_TOKEN = re.compile(r"[!-~]{1,256}")
#: Effects that made a message: when the ledger drops one, the message goes too.
_MADE = frozenset({"POST /messages", "writes", "posts"})


class MaxWorld(Emulator):
    """MAX as `view.Provider`, as people and as tests see it. The emulator puts its parts in (app.py)."""

    name = "max"
    errors: Mapping[str, Any] = NAMED

    uploads: Uploads
    _state: State
    _updates: Updates
    _people: People

    def forget(self, effect: Effect) -> None:
        """The ledger dropped it."""
        if effect.method in _MADE:
            self._state.forget(str(effect.message_id))

    # What happened

    def messages(self, chat: str | int) -> list[str]:
        """The texts that stand in one chat now, in order."""
        return [message.text or "" for message in self._chat(chat).messages.values()]

    # People

    def person(self, name: str) -> Person:
        """The person of that name, made when there is none."""
        try:
            return Person(self, self._state.person_named(name))
        except NoSuch:
            return Person(self, self._state.add_person(name))

    def has_bot(self, given: str | int) -> bool:
        try:
            self._state.bot_named(given)
        except NoSuch:
            return False
        return True

    # As the control API and the window see it

    def resolve_chat(self, given: str | int) -> int:
        return self._state.resolve(given)

    def _chat(self, given: str | int) -> Chat:
        return self._state.chats[self._state.resolve(given)]

    def find_chats(self, wanted: str = "") -> list[int]:
        wanted = wanted.casefold()
        found = [
            chat
            for chat in self._state.chats.values()
            if not wanted
            or wanted in title(self._state, chat).casefold()
            or wanted in (chat.link or "").casefold()
        ]
        return [chat.id for chat in sorted(found, key=lambda chat: chat.last_seq, reverse=True)]

    def chats(self) -> list[ChatView]:
        return [self.chat(chat) for chat in self.find_chats()]

    def chat(self, chat: int) -> ChatView:
        return chat_view(self._state, self._chat(chat))

    def messages_of(self, chat: int, *, before: int | str | None = None, limit: int = 50) -> list[MessageView]:
        found: list[MessageView] = []
        limit_mid = None if before is None else str(before)
        for message in reversed(self._chat(chat).messages.values()):
            if limit_mid is None or message.mid < limit_mid:
                found.append(message_view(self._state, message))
                if len(found) >= limit:
                    break
        return found[::-1]

    def message(self, chat: int, message_id: int | str) -> MessageView:
        found = self._chat(chat).messages.get(str(message_id))
        if found is None:
            raise NoSuch(f"there is no message {message_id!r} in this chat")
        return message_view(self._state, found)

    def bots(self) -> list[ActorView]:
        return [actor_view(bot) for bot in self._state.bots.values()]

    def people(self) -> list[ActorView]:
        users = self._state.users.values()
        return [actor_view(user) for user in users if not user.is_bot and user.id != CHANNEL_OWNER]

    def file(self, file: str) -> tuple[str, bytes]:
        found = self.uploads.content(file)
        if found is None:
            raise NoSuch("there is no such file, or its bytes are not kept any more")
        return found

    def add(self, what: str, wish: Mapping[str, Any]) -> dict[str, Any]:
        makers: dict[str, tuple[str, Callable[[Wish], Any]]] = {
            "chat": ("title kind id link username bots signed", self._add_chat),
            "bot": ("token username id", self._add_bot),
            "person": ("name id username", self._add_person),
        }
        if what not in makers:
            raise NoSuch(f"MAX has no {what}; it has {', '.join(makers)}")
        known, make = makers[what]
        return dict(make(Wish(what, wish, known)))

    def _add_chat(self, wish: Wish) -> ChatView:
        kind = wish.text("kind") or ChatKind.CHANNEL
        if kind not in (ChatKind.CHAT, ChatKind.CHANNEL):
            raise NotPossible("kind is chat or channel; a dialog begins when a person starts a bot")
        id_, link = wish.number("id"), wish.text("link") or wish.text("username")
        if id_ is not None and (id_ >= 0 or id_ < -(1 << 63) or id_ in self._state.chats):
            raise NotPossible("id of a chat is negative, and not taken")
        if link is not None and (not re.fullmatch(r"@?[a-zA-Z][\w-]*", link) or self._has_link(link)):
            raise NotPossible("link is a name of letters and digits, and not taken")
        names = wish.items("bots")
        bots = [self._state.bot_named(str(name)) for name in names]
        chat = self._state.add_chat(
            wish.title(), ChatKind(kind), as_id=id_, link=link.lstrip("@") if link else None
        )
        chat.everyones, chat.signed = "bots" not in wish, bool(wish.raw("signed"))
        for bot in bots:
            self._state.make_admin(chat, bot)
        return chat_view(self._state, chat)

    def _has_link(self, link: str) -> bool:
        return link.lstrip("@").casefold() in self._state.links

    def _add_bot(self, wish: Wish) -> ActorView:
        token, username = str(wish.name("token")), self._free_user_name(wish)
        if username is None:
            raise NotPossible("a bot needs a username")
        if not _TOKEN.fullmatch(token):
            raise NotPossible("token has 1 to 256 characters that fit into a header")
        if token in self._state.bots:
            raise NotPossible("there is a bot of that token already")
        return actor_view(self._state.add_bot(token, username, as_id=self._free(wish)))

    def _add_person(self, wish: Wish) -> ActorView:
        name = str(wish.name("name")).strip()
        if not name or len(name) > 128:
            raise NotPossible("a name has 1 to 128 characters")
        username = self._free_user_name(wish)
        return actor_view(self._state.add_person(name, as_id=self._free(wish), username=username))

    def _free_user_name(self, wish: Wish) -> str | None:
        name = wish.user_name()
        if name is not None and self._state.has_user_name(name):
            raise NotPossible(f"somebody is @{name} already")
        return name

    def _free(self, wish: Wish) -> int | None:
        """An id that neither a user has nor would make two dialogs one."""
        id_ = wish.number("id")
        if id_ is None:
            return None
        dialogs = {id_ ^ user for user in self._state.users}
        if id_ <= 0 or id_ >= 1 << 62 or id_ in self._state.users or dialogs & set(self._state.chats):
            raise NotPossible("id is a positive number, and not taken")
        return id_

    def act(self, verb: str, wish: Mapping[str, Any]) -> dict[str, Any]:
        return self._people.act(verb, wish)

    # The state file

    def state(self) -> dict[str, Any]:
        state = self._state
        boxes = [self._updates.box(bot) for bot in state.bots.values()]
        return as_json(
            Saved(
                list(state.bots.values()),
                [user for user in state.users.values() if not user.is_bot],
                list(state.chats.values()),
                [SavedFile(media, self.uploads.bytes_of(media)) for media in self.uploads.files.values()],
                [
                    SavedSubscription(
                        box.bot.id, each.url, each.time, list(each.types) if each.types else None, each.secret
                    )
                    for box in boxes
                    for each in box.subscriptions.values()
                ],
                [
                    SavedUpdate(box.bot.id, each.number, each.at, each.type, each.chat, dict(each.body))
                    for box in boxes
                    for each in box.pending.values()
                ],
            )
        )

    def restore(self, state: Mapping[str, Any]) -> None:
        """In place of what there is. Raises ValueError for what is no state of MAX."""
        saved = from_json(state)
        self._state.replace(saved.bots, saved.people, saved.chats)
        for each in saved.files:
            self.uploads.adopt(each.media, each.content)
        bots = {bot.id: bot for bot in saved.bots}
        for update in saved.updates:
            self._updates.adopt_update(
                bots[update.bot], update.number, update.at, update.type, update.chat, update.body
            )
        for one in saved.subscriptions:
            self._updates.adopt(bots[one.bot], one.url, one.time, one.types, one.secret)

    async def aclose(self) -> None:
        await self._updates.aclose()
