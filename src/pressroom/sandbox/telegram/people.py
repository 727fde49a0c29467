"""People act: they write, press, block, join; and what happens to chats besides bots' own deeds.

The control API's verbs and `Person` both end here. What no app would let a person do is `NotPossible`.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from pressroom.core.markup import Entity
from pressroom.sandbox.core.view import NoSuch, NotPossible
from pressroom.sandbox.telegram.callbacks import Callbacks
from pressroom.sandbox.telegram.hearing import INSIDE
from pressroom.sandbox.telegram.model import Bot, Chat, Media, Member, Message, More, User
from pressroom.sandbox.telegram.refusal import Refusal
from pressroom.sandbox.telegram.rights import ADMINISTRATOR_RIGHTS, PERMISSIONS
from pressroom.sandbox.telegram.shown import details
from pressroom.sandbox.telegram.state import State
from pressroom.sandbox.telegram.texts import CAPTION_LENGTH, TEXT_LENGTH, as_sent, formatted

PAYLOAD_LENGTH = 64
ALBUM_LENGTH = 10
OWNER = "Owner"

#: A button by what stands on it or what it sends, or by its row and column.
Button = str | tuple[int, int]


class People:
    def __init__(self, state: State, callbacks: Callbacks) -> None:
        self._state, self._callbacks = state, callbacks

    # In a dialog

    def starts(self, person: User, bot: Bot, payload: str | None = None) -> Message:
        """Presses Start, or follows a link with a payload. Who had blocked the bot lets it in again."""
        if payload is not None and not _is_payload(payload):
            raise NotPossible(f"a payload is 1 to {PAYLOAD_LENGTH} letters of A-Z, a-z, 0-9, _ and -")
        chat = self._state.dialog(bot, person)
        if chat.extra.get("blocked"):
            self.unblocks(person, bot)
        return self.writes(person, chat, f"/start {payload}" if payload else "/start")

    def blocks(self, person: User, bot: Bot) -> None:
        chat = self._state.dialog(bot, person)
        self._state.open_dialog(chat)
        if not chat.extra.get("blocked"):
            chat.extra["blocked"] = True
            self._state.record(chat, person, "blocks", 0)
            self._state.becomes(chat, bot, Member("kicked"), person)

    def unblocks(self, person: User, bot: Bot) -> None:
        chat = self._state.dialog(bot, person)
        if chat.extra.pop("blocked", False):
            self._state.record(chat, person, "unblocks", 0)
            self._state.becomes(chat, bot, Member(), person)

    # Messages

    def writes(
        self,
        person: User,
        chat: Chat,
        text: str = "",
        *,
        parse_mode: str | None = None,
        reply_to: int | None = None,
        media: Sequence[Media] = (),
    ) -> Message:
        """Several media are an album; the text is the caption of the first. Answers with the first message."""
        self._check_may_write(person, chat)
        return self._says(person, chat, "writes", text, parse_mode, reply_to, media)

    def posts(
        self, chat: Chat, text: str = "", *, parse_mode: str | None = None, media: Sequence[Media] = ()
    ) -> Message:
        """A channel's owner does, in the channel's name."""
        self._check_there(chat)
        if chat.type != "channel":
            raise NotPossible(f"{chat.title} is a {chat.type}: people write there, nobody posts")
        return self._says(None, chat, "posts", text, parse_mode, None, media)

    def _says(
        self,
        by: User | None,
        chat: Chat,
        verb: str,
        text: str,
        parse_mode: str | None,
        reply_to: int | None,
        media: Sequence[Media],
    ) -> Message:
        if reply_to is not None:
            self._message(chat, reply_to)
        if len(media) > ALBUM_LENGTH:
            raise NotPossible(f"an album has at most {ALBUM_LENGTH} parts")
        text, entities = _written(text, parse_mode, caption=bool(media))
        self._state.open_dialog(chat)
        if by is not None and chat.person is None:
            chat.members.setdefault(by.id, Member())
        album = str(int(self._state.secret("album", 15), 16)) if len(media) > 1 else None
        first: Message | None = None
        for one in media or (None,):
            plain = one is None and reply_to is None
            more = None if plain else More(media=one, album=album, reply_to=reply_to)
            effect = details(self._state, entities, more)
            message = self._state.say(chat, by, verb, text, entities, more, effect)
            first = first or message
            text, entities = "", ()
        assert first is not None
        return first

    def edits(self, person: User, chat: Chat, message_id: int, text: str) -> Message:
        self._check_may_read(person, chat)
        message = self._own(person, chat, message_id)
        has_media = message.more is not None and message.more.media is not None
        message.text, message.entities = _written(text, None, caption=has_media)
        message.more = message.more or More()
        message.more.edited_at = self._state.world.clock.now()
        effect = details(self._state, message.entities, message.more)
        self._state.record(chat, person, "edits", message.id, message.text, effect)
        kind = "edited_channel_post" if chat.type == "channel" else "edited_message"
        self._state.happened(kind, chat, message, person)
        return message

    def deletes(self, person: User, chat: Chat, message_id: int) -> None:
        """Bots are not told. In a dialog a person may delete what the bot wrote, too."""
        self._check_may_read(person, chat)
        message = self._message(chat, message_id) if chat.person else self._own(person, chat, message_id)
        del chat.messages[message.id]
        if message.id in chat.pinned:
            chat.pinned.remove(message.id)
        self._state.record(chat, person, "deletes", message.id)

    def presses(self, person: User, chat: Chat, message_id: int, button: Button) -> str:
        """The id of the callback query."""
        self._check_may_read(person, chat)
        message = self._message(chat, message_id)
        found = _button(message, button)
        if "callback_data" not in found:
            raise NotPossible(f"the button {found.get('text')!r} asks the bot nothing: it {_does(found)}")
        return self._callbacks.ask(person, chat, message, str(found["callback_data"]))

    def medium(self, kind: str, content: bytes, name: str | None = None, mime: str | None = None) -> Media:
        """Something to send with a message. Nobody looks into it further than an app would have to."""
        known = self._state.files.keep(content, name, mime)
        if kind == "photo" and not known.is_image:
            raise NotPossible("a photo is a picture: PNG, JPEG, GIF, WebP or BMP")
        width, height = (known.width, known.height) if kind in ("photo", "animation") else (0, 0)
        media = Media(
            kind,
            known.unique,
            None if kind in ("photo", "voice") else name or known.name,
            None if kind == "photo" else known.mime,
            known.size,
            width,
            height,
        )
        self._state.files.describe(media)
        return media

    def _message(self, chat: Chat, message_id: int) -> Message:
        found = chat.messages.get(message_id)
        if found is None:
            raise NoSuch(f"there is no message {message_id} in {chat.title}")
        return found

    def _own(self, person: User, chat: Chat, message_id: int) -> Message:
        message = self._message(chat, message_id)
        is_own = message.author is person or (chat.type == "channel" and message.author is None)
        if not is_own or (message.more is not None and message.more.service is not None):
            raise NotPossible(f"message {message_id} in {chat.title} is not {person.first_name}'s")
        return message

    def _check_there(self, chat: Chat) -> None:
        if chat.upgraded_to is not None:
            raise NotPossible(f"{chat.title} became the supergroup {chat.upgraded_to}")
        if chat.deleted:
            raise NotPossible(f"{chat.title} was deleted")

    def _check_may_read(self, person: User, chat: Chat) -> None:
        self._check_there(chat)
        if chat.person is not None and chat.person is not person:
            raise NotPossible(f"{person.first_name} has no part in the dialog of {chat.person.first_name}")
        if chat.person is None and self._state.member(chat, person).status == "kicked":
            raise NotPossible(f"{person.first_name} was kicked from {chat.title}")

    def _check_may_write(self, person: User, chat: Chat) -> None:
        """Into a group where he never was a person may come without a word, so that no test has to begin with it."""
        self._check_may_read(person, chat)
        if chat.extra.get("blocked"):
            raise NotPossible(f"{person.first_name} has blocked the bot; unblock it first")
        if chat.type == "channel":
            raise NotPossible(f"{chat.title} is a channel: its owner posts there, with the verb posts")
        if chat.person is None:
            member = chat.members.get(person.id, Member())
            if member.status not in INSIDE:
                raise NotPossible(f"{person.first_name} is not in {chat.title}; join it first")
            if member.status == "restricted" and not member.rights.get("can_send_messages", False):
                raise NotPossible(f"{person.first_name} may not write in {chat.title}")

    # Members

    def joins(self, person: User, chat: Chat) -> Message | None:
        """A service message tells groups; channels only tell administrators."""
        self._check_there(chat)
        old = self._state.member(chat, person)
        if chat.person is not None or old.status in INSIDE:
            raise NotPossible(f"{person.first_name} is in {chat.title} already")
        if old.status == "kicked":
            raise NotPossible(f"{person.first_name} was kicked from {chat.title}")
        self._state.becomes(chat, person, Member(), person)
        return self._tells(chat, person, "joins", "new_chat_members", [person.as_json()])

    def leaves(self, person: User, chat: Chat) -> Message | None:
        self._check_there(chat)
        if chat.person is not None or self._state.member(chat, person).status not in INSIDE:
            raise NotPossible(f"{person.first_name} is not in {chat.title}")
        self._state.becomes(chat, person, Member("left"), person)
        return self._tells(chat, person, "leaves", "left_chat_member", person.as_json())

    def adds_bot(self, chat: Chat, bot: Bot, rights: Mapping[str, bool] | None = None) -> Message | None:
        """As administrator where rights are given, and in channels always."""
        self._check_group_or_channel(chat)
        was_inside = self._state.member(chat, bot).status in INSIDE
        unknown = set(rights or {}) - set(ADMINISTRATOR_RIGHTS)
        if unknown:
            raise NotPossible(f"administrators have no right {', '.join(sorted(unknown))}")
        is_administrator = rights is not None or chat.type == "channel"
        new = Member("administrator", dict(rights or {})) if is_administrator else Member()
        owner = self.owner(chat)
        self._state.becomes(chat, bot, new, owner)
        if was_inside:
            self._state.record(chat, owner, "adds_bot", 0, details={"bot": bot.username})
            return None
        return self._tells(chat, owner, "adds_bot", "new_chat_members", [bot.as_json()])

    def removes_bot(self, chat: Chat, bot: Bot) -> Message | None:
        self._check_group_or_channel(chat)
        if self._state.member(chat, bot).status not in INSIDE:
            raise NotPossible(f"{bot.username} is not in {chat.title}")
        owner = self.owner(chat)
        self._state.becomes(chat, bot, Member("kicked"), owner)
        return self._tells(chat, owner, "removes_bot", "left_chat_member", bot.as_json())

    def restricts_bot(self, chat: Chat, bot: Bot, rights: Mapping[str, bool]) -> None:
        """An administrator of a channel keeps fewer rights; in a supergroup a bot may do only what is granted."""
        self._check_group_or_channel(chat)
        if chat.type == "group":
            raise NotPossible("a basic group restricts nobody by himself; supergroups do")
        if self._state.member(chat, bot).status not in INSIDE:
            raise NotPossible(f"{bot.username} is not in {chat.title}")
        known = ADMINISTRATOR_RIGHTS if chat.type == "channel" else PERMISSIONS
        unknown = set(rights) - set(known)
        if unknown:
            raise NotPossible(
                f"{', '.join(sorted(unknown))}: no such right in a {chat.type}; there is {', '.join(known)}"
            )
        owner = self.owner(chat)
        status = "administrator" if chat.type == "channel" else "restricted"
        self._state.becomes(chat, bot, Member(status, dict(rights)), owner)
        self._state.record(
            chat, owner, "restricts_bot", 0, details={"bot": bot.username, "rights": dict(rights)}
        )

    def owner(self, chat: Chat) -> User:
        """Whoever created the chat; one person owns all those that nobody did."""
        for number, member in chat.members.items():
            if member.status == "creator" and number in self._state.people:
                return self._state.people[number]
        named = (one for one in self._state.people.values() if one.first_name == OWNER)
        owner = next(named, None) or self._state.add_person(OWNER)
        chat.members[owner.id] = Member("creator")
        return owner

    # Chats

    def migrates(self, chat: Chat) -> Chat:
        """The supergroup that the group becomes."""
        self._check_there(chat)
        if chat.type != "group":
            raise NotPossible(f"{chat.title} is a {chat.type}, and only groups become supergroups")
        owner = self.owner(chat)
        number = self._state.free_chat_id("supergroup")
        new = Chat(number, chat.title, "supergroup", bots_are=chat.bots_are, members=dict(chat.members))
        new.extra.update({name: value for name, value in chat.extra.items() if name != "last_bot"})
        self._state.add_chat(new)
        self._tells(chat, owner, "migrates", "migrate_to_chat_id", number)
        chat.upgraded_to = number
        self._tells(new, owner, "migrates", "migrate_from_chat_id", chat.id)
        return new

    def renames(self, chat: Chat, title: str) -> Message | None:
        self._check_group_or_channel(chat)
        title = " ".join(title.split())
        if not 0 < len(title) <= 128:
            raise NotPossible("a title has 1 to 128 characters")
        chat.title = title
        owner = None if chat.type == "channel" else self.owner(chat)
        return self._state.say(chat, owner, "renames", "", more=More(service={"new_chat_title": title}))

    def closes(self, chat: Chat) -> None:
        self._check_group_or_channel(chat)
        self._state.record(chat, self.owner(chat), "closes", 0)
        chat.deleted = True

    def _check_group_or_channel(self, chat: Chat) -> None:
        self._check_there(chat)
        if chat.person is not None:
            raise NotPossible("a dialog has two members, and no rights, title or end")

    def _tells(self, chat: Chat, by: User, verb: str, field: str, value: Any) -> Message | None:
        """With a service message, which channels have not for such things."""
        if chat.type == "channel":
            self._state.record(chat, by, verb, 0)
            return None
        return self._state.say(chat, by, verb, "", more=More(service={field: value}))


class Person:
    """Somebody who uses the messenger: `anna = sandbox.person("Anna")`."""

    def __init__(self, people: People, state: State, user: User) -> None:
        self._people, self._state, self.user = people, state, user

    @property
    def id(self) -> int:
        return self.user.id

    def starts(self, bot: str, payload: str | None = None) -> Message:
        return self._people.starts(self.user, self._state.bot_named(bot), payload)

    def writes(
        self,
        to: str | int,
        text: str = "",
        *,
        parse_mode: str | None = None,
        reply_to: int | None = None,
        media: Sequence[Media] = (),
    ) -> Message:
        """`to` is a bot's user name, or a chat by id or @name."""
        chat = self._state.place(self.user, to)
        return self._people.writes(self.user, chat, text, parse_mode=parse_mode, reply_to=reply_to, media=media)

    def presses(self, where: str | int, message_id: int, button: Button) -> str:
        """`where` as in `writes`. The id of the callback query."""
        return self._people.presses(self.user, self._state.place(self.user, where), message_id, button)

    def edits(self, where: str | int, message_id: int, text: str) -> Message:
        return self._people.edits(self.user, self._state.place(self.user, where), message_id, text)

    def deletes(self, where: str | int, message_id: int) -> None:
        self._people.deletes(self.user, self._state.place(self.user, where), message_id)

    def blocks(self, bot: str) -> None:
        self._people.blocks(self.user, self._state.bot_named(bot))

    def unblocks(self, bot: str) -> None:
        self._people.unblocks(self.user, self._state.bot_named(bot))

    def joins(self, chat: str | int) -> None:
        self._people.joins(self.user, self._state.place(self.user, chat))

    def leaves(self, chat: str | int) -> None:
        self._people.leaves(self.user, self._state.place(self.user, chat))


def _is_payload(text: str) -> bool:
    return (
        0 < len(text) <= PAYLOAD_LENGTH and text.isascii() and text.replace("_", "").replace("-", "").isalnum()
    )


def _written(text: str, parse_mode: str | None, *, caption: bool) -> tuple[str, tuple[Entity, ...]]:
    try:
        markup = as_sent(
            formatted(text, parse_mode or ""),
            longest=CAPTION_LENGTH if caption else TEXT_LENGTH,
            too_long="the text is too long",
            may_be_empty=caption,
        )
    except Refusal as refusal:
        raise NotPossible(refusal.description.removeprefix("Bad Request: ")) from None
    return markup.text, markup.entities


def _button(message: Message, wanted: Button) -> dict[str, Any]:
    markup = None if message.more is None else message.more.reply_markup
    rows: list[list[dict[str, Any]]] = (markup or {}).get("inline_keyboard", [])
    if not rows:
        raise NotPossible(f"message {message.id} has no buttons")
    if isinstance(wanted, tuple):
        row, column = wanted
        if 0 <= row < len(rows) and 0 <= column < len(rows[row]):
            return rows[row][column]
        raise NoSuch(f"message {message.id} has no button in row {row}, column {column}")
    buttons = [button for row in rows for button in row]
    for name in ("callback_data", "text"):
        found = next((button for button in buttons if button.get(name) == wanted), None)
        if found is not None:
            return found
    there = ", ".join(repr(button.get("text")) for button in buttons)
    raise NoSuch(f"message {message.id} has no button {wanted!r}; there is {there}")


def _does(button: Mapping[str, Any]) -> str:
    if "url" in button:
        return f"opens {button['url']}"
    return f"is of kind {', '.join(name for name in button if name != 'text')}"
