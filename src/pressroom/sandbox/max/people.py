"""People: what they do in MAX, by the verbs of `core.view.VERBS`. Bots are told as the live server tells them."""

import base64
import binascii
import mimetypes
import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, cast

from pressroom.sandbox.core.view import VERBS, NoSuch, NotPossible
from pressroom.sandbox.core.world import World
from pressroom.sandbox.max.callbacks import Callbacks
from pressroom.sandbox.max.chats import Chats, read_permissions, visible
from pressroom.sandbox.max.errors import Refusal
from pressroom.sandbox.max.markup import parse
from pressroom.sandbox.max.messages import EDITABLE_MS, LONGEST_TEXT, Messages
from pressroom.sandbox.max.model import Attachment, Bot, Chat, ChatKind, Member, Message, User
from pressroom.sandbox.max.shown import user_json
from pressroom.sandbox.max.state import State
from pressroom.sandbox.max.updates import Updates
from pressroom.sandbox.max.uploads import Uploads

if TYPE_CHECKING:
    from pressroom.sandbox.max.provider import MaxWorld

LONGEST_PAYLOAD = 512
_KINDS = {
    "photo": "image",
    "video": "video",
    "animation": "video",
    "audio": "audio",
    "voice": "audio",
    "document": "file",
}
_USER_NAME = re.compile(r"@?[A-Za-z0-9_.-]{1,64}")


class Wish:
    """What somebody asks for; each name has to be one that the verb knows. Null is as if it were not there."""

    def __init__(self, verb: str, given: Mapping[str, Any], known: str) -> None:
        self._given = {name: value for name, value in given.items() if value is not None}
        self._verb = verb
        unknown = set(self._given) - set(known.split())
        if unknown:
            raise NotPossible(
                f"{verb} knows {', '.join(known.split())}, not {', '.join(sorted(map(str, unknown)))}"
            )

    def __contains__(self, name: str) -> bool:
        return name in self._given

    def name(self, name: str) -> str | int:
        """An id or a name, which has to be there."""
        value = self._given.get(name)
        if isinstance(value, bool) or not isinstance(value, str | int) or value == "":
            raise NotPossible(f"{self._verb} needs {name}")
        return value if isinstance(value, int) else _unicode(name, value)

    def title(self) -> str:
        title = str(self.name("title"))
        if len(title) > 200 or not visible(title):
            raise NotPossible("a title has 1 to 200 characters, and shows something")
        return title

    def text(self, name: str) -> str | None:
        value = self._given.get(name)
        if value is not None and not isinstance(value, str):
            raise NotPossible(f"{name} is a text")
        return value if value is None else _unicode(name, value)

    def user_name(self) -> str | None:
        name = self.text("username")
        if name is not None and not _USER_NAME.fullmatch(name):
            raise NotPossible("username has 1 to 64 Latin letters, digits and signs of _.-")
        return name if name is None else name.removeprefix("@")

    def number(self, name: str) -> int | None:
        value = self._given.get(name)
        if value is not None and (isinstance(value, bool) or not isinstance(value, int)):
            raise NotPossible(f"{name} is a number")
        return value

    def items(self, name: str) -> list[Any]:
        value = self._given.get(name, [])
        if not isinstance(value, list):
            raise NotPossible(f"{name} is a list")
        return cast("list[Any]", value)

    def raw(self, name: str) -> Any:
        return self._given.get(name)


class People:
    def __init__(
        self,
        world: World,
        state: State,
        updates: Updates,
        uploads: Uploads,
        messages: Messages,
        chats: Chats,
        callbacks: Callbacks,
    ) -> None:
        self._world, self._state, self._updates, self._uploads = world, state, updates, uploads
        self._messages, self._chats, self._callbacks = messages, chats, callbacks
        self._verbs: Mapping[str, tuple[str, Callable[[Wish], dict[str, Any]]]] = {
            "writes": ("person chat bot text media parse_mode reply_to", self._writes),
            "presses": ("person chat message_id data row column", self._presses),
            "starts": ("person bot payload", self._starts),
            "blocks": ("person bot", self._blocks),
            "unblocks": ("person bot", self._unblocks),
            "edits": ("person chat message_id text", self._edits),
            "deletes": ("person chat message_id", self._deletes),
            "joins": ("person chat", self._joins),
            "leaves": ("person chat", self._leaves),
            "posts": ("chat text media parse_mode", self._posts),
            "adds_bot": ("chat bot rights", self._adds_bot),
            "removes_bot": ("chat bot", self._removes_bot),
            "restricts_bot": ("chat bot rights", self._restricts_bot),
            "renames": ("chat title", self._renames),
            "closes": ("chat", self._closes),
        }

    def act(self, verb: str, wish: Mapping[str, Any]) -> dict[str, Any]:
        if verb not in self._verbs:
            if verb in VERBS:
                raise NotPossible(f"nobody {verb} in MAX: chats keep their id and their kind")
            raise NoSuch(f"nobody can do {verb!r} here; there is {', '.join(self._verbs)}")
        known, deed = self._verbs[verb]
        try:
            return deed(Wish(verb, wish, known))
        except Refusal as refusal:
            raise NotPossible(refusal.message) from None

    # Dialogs with bots

    def _starts(self, wish: Wish) -> dict[str, Any]:
        person, bot = self._person(wish), self._state.bot_named(wish.name("bot"))
        chat = self.start(person, bot, wish.text("payload"))
        return {"chat": chat.id}

    def start(self, person: User, bot: Bot, payload: str | None = None) -> Chat:
        """Payloads that are too long are left out, as the documents say."""
        chat = self._state.open_dialog(bot, person)
        chat.suspended = chat.closed = False
        person.active_at = self._state.now()
        kept = payload if payload is not None and len(payload) <= LONGEST_PAYLOAD else None
        self._record(chat, person, "starts", payload or "")
        self._tell_dialog(bot, chat, person, "bot_started", {"payload": kept} if kept is not None else {})
        return chat

    def _blocks(self, wish: Wish) -> dict[str, Any]:
        person, bot, chat = self._dialog(wish)
        if chat.suspended:
            raise NotPossible(f"{person.name} has stopped {bot.name} already")
        chat.suspended = True
        self._record(chat, person, "blocks")
        self._tell_dialog(bot, chat, person, "bot_stopped", {})
        return {"chat": chat.id}

    def _unblocks(self, wish: Wish) -> dict[str, Any]:
        person, bot, chat = self._dialog(wish)
        if not chat.suspended:
            raise NotPossible(f"{person.name} has not stopped {bot.name}")
        chat.suspended = False
        self._record(chat, person, "unblocks")
        self._tell_dialog(bot, chat, person, "bot_started", {})
        return {"chat": chat.id}

    def _tell_dialog(self, bot: Bot, chat: Chat, person: User, type_: str, more: Mapping[str, Any]) -> None:
        body = {
            "chat_id": chat.id,
            "user": user_json(person),
            "user_id": person.id,
            "user_locale": person.locale,
            **more,
        }
        self._updates.tell(bot, type_, chat, body)

    # Messages

    def _writes(self, wish: Wish) -> dict[str, Any]:
        person = self._person(wish)
        chat = self._where_to_write(wish, person)
        message = self._compose(wish, chat, person)
        if "reply_to" in wish:
            original = self._message(chat, wish.name("reply_to"))
            message.link = self._messages.link_to(original, "reply")
        return self._publish(message, person, "writes")

    def _where_to_write(self, wish: Wish, person: User) -> Chat:
        if "bot" in wish:
            bot = self._state.bot_named(wish.name("bot"))
            chat = self._state.dialog(bot, person) or self.start(person, bot)
        else:
            chat = self._chat(wish)
        if chat.suspended:
            raise NotPossible(f"{person.name} has stopped this bot; starting it again goes on")
        if person.id not in chat.members:
            raise NotPossible(f"{person.name} is not in {chat.title!r}; joining it comes first")
        if chat.kind is ChatKind.CHANNEL and not chat.members[person.id].may("write"):
            raise NotPossible(f"{person.name} may not write in the channel {chat.title!r}; its owner posts")
        return chat

    def _posts(self, wish: Wish) -> dict[str, Any]:
        chat = self._chat(wish)
        if chat.kind is ChatKind.DIALOG:
            raise NotPossible("a dialog has no owner; a person writes in it")
        owner = self._owner(chat)
        return self._publish(self._compose(wish, chat, owner), owner, "posts")

    def _compose(self, wish: Wish, chat: Chat, author: User) -> Message:
        style = (wish.text("parse_mode") or "").lower() or None
        if style not in (None, "markdown", "html"):
            raise NotPossible("parse_mode is markdown or html in MAX")
        marked = parse(wish.text("text") or "", style)
        attached = tuple(self._attachment(each) for each in wish.items("media"))
        if not marked.text and not attached:
            raise NotPossible("a message has a text or media")
        _check_length(marked.text)
        message = self._state.new_message(chat, author)
        message.text, message.markup, message.attachments = marked.text or None, marked.elements, attached
        return message

    def _publish(self, message: Message, author: User, verb: str) -> dict[str, Any]:
        self._messages.publish(message, author, verb)
        return {"chat": message.chat, "message_id": message.mid}

    def _attachment(self, given: Any) -> Attachment:
        """A file with its bytes in base64, a place, or a contact."""
        if not isinstance(given, dict):
            raise NotPossible("media is a list of objects")
        media = cast("dict[str, Any]", given)
        kind = media.get("kind")
        if kind == "location":
            place = {"latitude": _real(media, "latitude"), "longitude": _real(media, "longitude")}
            title = f"{place['latitude']}, {place['longitude']}"
            return Attachment("location", fields=place, title=title)
        if kind == "contact":
            return contact_of(_named(media, "name"), _named(media, "phone"), None)
        if kind not in _KINDS:
            raise NotPossible(f"media has a kind: {', '.join((*_KINDS, 'location', 'contact'))}")
        try:
            content = base64.b64decode(str(media.get("data", "")), validate=True)
        except (binascii.Error, ValueError):
            raise NotPossible("data of media is the file in base64") from None
        name = _named(media, "name") or kind
        type_ = str(media.get("type") or mimetypes.guess_type(name)[0] or "")
        return Attachment(_KINDS[kind], self._uploads.add(_KINDS[kind], name, type_, content))

    def _edits(self, wish: Wish) -> dict[str, Any]:
        person, message = self._own_message(wish)
        text = wish.text("text")
        if not text:
            raise NotPossible("edits needs a text")
        _check_length(text)
        if self._state.now() - message.at > EDITABLE_MS:
            raise NotPossible("the message is too old to be edited")
        message.text, message.markup = text, ()
        self._messages.published_again(message, person, "edits")
        return {"chat": message.chat, "message_id": message.mid}

    def _deletes(self, wish: Wish) -> dict[str, Any]:
        person, message = self._own_message(wish)
        self._messages.remove(message, person, "deletes")
        return {"chat": message.chat, "message_id": message.mid}

    def _own_message(self, wish: Wish) -> tuple[User, Message]:
        person = self._person(wish)
        message = self._message(self._chat(wish), wish.name("message_id"))
        if message.author != person.id:
            raise NotPossible(f"{person.name} did not write this message")
        return person, message

    # Buttons

    def _presses(self, wish: Wish) -> dict[str, Any]:
        person, chat = self._person(wish), self._chat(wish)
        message = self._message(chat, wish.name("message_id"))
        if chat.kind is ChatKind.DIALOG and person.id not in chat.members:
            raise NotPossible(f"{person.name} does not see this dialog")
        if chat.suspended:
            raise NotPossible(f"{person.name} has stopped this bot; starting it again goes on")
        button = _button(message, wish)
        if button["type"] == "callback":
            return {"callback_id": self._callbacks.press(person, message, button["payload"])}
        return self._answer_button(person, chat, button)

    def _answer_button(self, person: User, chat: Chat, button: Mapping[str, Any]) -> dict[str, Any]:
        """Buttons that make the person say something."""
        answer = self._state.new_message(chat, person)
        if button["type"] == "message":
            answer.text = button["text"]
        elif button["type"] == "request_contact":
            answer.attachments = (contact_of(person.name, f"7900{person.id % 10**7:07}", person),)
        elif button["type"] == "request_geo_location":
            place = {"latitude": 55.7522, "longitude": 37.6156}
            answer.attachments = (Attachment("location", fields=place, title="55.7522, 37.6156"),)
        else:
            raise NotPossible(f"the button {button['text']!r} opens or copies something; no bot hears of it")
        return self._publish(answer, person, "writes")

    # Chats

    def _joins(self, wish: Wish) -> dict[str, Any]:
        person, chat = self._person(wish), self._chat(wish)
        if chat.kind is ChatKind.DIALOG:
            raise NotPossible("nobody joins a dialog")
        if person.id in chat.members:
            raise NotPossible(f"{person.name} is in {chat.title!r} already")
        if person.id in chat.banned:
            raise NotPossible(f"{person.name} is blocked in {chat.title!r}")
        self._chats.bring_in(chat, person, person, "joins")
        return {"chat": chat.id}

    def _leaves(self, wish: Wish) -> dict[str, Any]:
        person, chat = self._person(wish), self._chat(wish)
        if chat.kind is ChatKind.DIALOG or person.id not in chat.members:
            raise NotPossible(f"{person.name} is not in {chat.title!r}")
        self._chats.take_out(chat, person, person, "leaves")
        return {"chat": chat.id}

    def _adds_bot(self, wish: Wish) -> dict[str, Any]:
        chat, bot = self._shared_chat(wish), self._state.bot_named(wish.name("bot"))
        if bot.id in chat.members:
            raise NotPossible(f"{bot.name} is in {chat.title!r} already")
        owner = self._owner(chat)
        self._chats.bring_in(chat, bot, owner, "adds_bot")
        permissions = self._rights(chat, wish) if "rights" in wish else None
        self._appoint(chat, bot, permissions, everything="rights" not in wish)
        return {"chat": chat.id}

    def _removes_bot(self, wish: Wish) -> dict[str, Any]:
        chat, bot = self._shared_chat(wish), self._state.bot_named(wish.name("bot"))
        if self._state.membership(chat, bot) is None:
            raise NotPossible(f"{bot.name} is not in {chat.title!r}")
        self._chats.take_out(chat, bot, self._owner(chat), "removes_bot")
        return {"chat": chat.id}

    def _restricts_bot(self, wish: Wish) -> dict[str, Any]:
        chat, bot = self._shared_chat(wish), self._state.bot_named(wish.name("bot"))
        if self._state.membership(chat, bot) is None:
            raise NotPossible(f"{bot.name} is not in {chat.title!r}")
        self._appoint(chat, bot, self._rights(chat, wish), everything=False)
        self._record(chat, self._owner(chat), "restricts_bot", bot.name)
        return {"chat": chat.id}

    def _appoint(self, chat: Chat, bot: Bot, permissions: tuple[str, ...] | None, *, everything: bool) -> None:
        if everything:
            self._state.make_admin(chat, bot)
        elif permissions:
            self._state.make_admin(chat, bot, permissions)
        else:
            chat.members[bot.id] = Member(bot.id, self._state.now())

    def _rights(self, chat: Chat, wish: Wish) -> tuple[str, ...]:
        """A list of permissions, or an object of them with true and false; none makes a plain member."""
        given = wish.raw("rights")
        if isinstance(given, dict):
            given = [name for name, granted in cast("dict[str, Any]", given).items() if granted]
        if not isinstance(given, list):
            raise NotPossible("rights is a list of permissions, or an object of them")
        return read_permissions(chat.kind, cast("list[Any]", given))

    def _renames(self, wish: Wish) -> dict[str, Any]:
        chat = self._shared_chat(wish)
        self._chats.rename(chat, wish.title(), self._owner(chat))
        return {"chat": chat.id}

    def _closes(self, wish: Wish) -> dict[str, Any]:
        """A dialog that its person deletes stops the bot as well."""
        chat = self._chat(wish)
        if chat.kind is ChatKind.DIALOG:
            person = self._state.person_of(chat)
            bot = next(iter(self._state.bots_in(chat)))
            chat.suspended = True
            self._record(chat, person, "closes")
            self._tell_dialog(bot, chat, person, "bot_stopped", {})
            self._tell_dialog(bot, chat, person, "dialog_removed", {})
            return {"chat": chat.id}
        owner = self._owner(chat)
        body = {"chat_id": chat.id, "is_channel": chat.kind is ChatKind.CHANNEL, "user": user_json(owner)}
        self._updates.tell_all(chat, "bot_removed", {**body, "user_id": owner.id})
        chat.closed = True
        self._record(chat, owner, "closes")
        return {"chat": chat.id}

    # Finding

    def _person(self, wish: Wish) -> User:
        return self._state.person_named(wish.name("person"))

    def _chat(self, wish: Wish) -> Chat:
        """Nothing happens any more in one that was closed."""
        chat = self._state.chats[self._state.resolve(wish.name("chat"))]
        if chat.closed:
            raise NotPossible(f"{chat.title!r} is closed")
        return chat

    def _shared_chat(self, wish: Wish) -> Chat:
        chat = self._chat(wish)
        if chat.kind is ChatKind.DIALOG:
            raise NotPossible("that is for groups and channels")
        return chat

    def _owner(self, chat: Chat) -> User:
        return self._state.users[chat.owner] if chat.owner else self._state.owner

    def _dialog(self, wish: Wish) -> tuple[User, Bot, Chat]:
        person, bot = self._person(wish), self._state.bot_named(wish.name("bot"))
        chat = self._state.dialog(bot, person)
        if chat is None:
            raise NotPossible(f"{person.name} has not started {bot.name}")
        return person, bot, chat

    def _message(self, chat: Chat, mid: str | int) -> Message:
        message = chat.messages.get(str(mid))
        if message is None:
            raise NoSuch(f"there is no message {mid!r} in this chat")
        return message

    def _record(self, chat: Chat, person: User, verb: str, text: str = "") -> None:
        self._world.ledger.record(self._world.clock.now(), "max", person.name, chat.id, verb, "", text)


def _button(message: Message, wish: Wish) -> Mapping[str, Any]:
    """By what it sends, by what stands on it, or by its place, counted from 0."""
    if "row" in wish or "column" in wish:
        row, column = wish.number("row") or 0, wish.number("column") or 0
        if 0 <= row < len(message.buttons) and 0 <= column < len(message.buttons[row]):
            return message.buttons[row][column]
        raise NoSuch(f"there is no button in row {row}, column {column}")
    data = wish.name("data")
    buttons = [button for row in message.buttons for button in row]
    for name in ("payload", "text"):
        for button in buttons:
            if button.get(name) == data:
                return button
    raise NoSuch(f"there is no button {data!r} under this message")


def _real(media: Mapping[str, Any], name: str) -> float:
    value = media.get(name)
    if isinstance(value, bool) or not isinstance(value, int | float) or not -180 <= value <= 180:
        raise NotPossible(f"{name} is a number of degrees")
    return float(value)


def _named(media: Mapping[str, Any], name: str) -> str:
    return _unicode(name, str(media.get(name) or ""))


def _check_length(text: str) -> None:
    if len(text) > LONGEST_TEXT:
        raise NotPossible(f"a message has at most {LONGEST_TEXT} characters")


def _unicode(name: str, value: str) -> str:
    try:
        value.encode()
    except UnicodeEncodeError:
        raise NotPossible(f"{name} is no text: half of a surrogate pair") from None
    return value


def contact_of(name: str, phone: str, person: User | None) -> Attachment:
    card = f"BEGIN:VCARD\r\nVERSION:3.0\r\nTEL;TYPE=cell:{phone}\r\nFN:{name}\r\nEND:VCARD"
    payload: dict[str, Any] = {"vcf_info": card}
    if person is not None:
        payload["max_info"] = user_json(person)
    return Attachment("contact", fields={"payload": payload}, title=name)


class Person:
    """Somebody who uses MAX, for tests in Python: the same deeds as over the control API."""

    def __init__(self, sandbox: "MaxWorld", user: User) -> None:
        self._sandbox = sandbox
        self.id, self.name = user.id, user.name

    def starts(self, bot: str, payload: str | None = None) -> int:
        """Opens the dialog; its chat's id."""
        return self._act("starts", bot=bot, payload=payload)["chat"]

    def writes(self, to: str | int, text: str | None = None, **more: Any) -> str:
        """To a bot, by its user name, or into a chat, by id or link; the message's id."""
        where = "bot" if self._sandbox.has_bot(to) else "chat"
        return self._act("writes", **{where: to}, text=text, **more)["message_id"]

    def presses(self, chat: str | int, message_id: str, data: str) -> str:
        """The callback's id, or that of the message which the button made."""
        pressed = self._act("presses", chat=chat, message_id=message_id, data=data)
        return pressed.get("callback_id") or pressed["message_id"]

    def edits(self, chat: str | int, message_id: str, text: str) -> None:
        self._act("edits", chat=chat, message_id=message_id, text=text)

    def deletes(self, chat: str | int, message_id: str) -> None:
        self._act("deletes", chat=chat, message_id=message_id)

    def blocks(self, bot: str) -> None:
        self._act("blocks", bot=bot)

    def unblocks(self, bot: str) -> None:
        self._act("unblocks", bot=bot)

    def joins(self, chat: str | int) -> None:
        self._act("joins", chat=chat)

    def leaves(self, chat: str | int) -> None:
        self._act("leaves", chat=chat)

    def _act(self, verb: str, **wish: Any) -> dict[str, Any]:
        return self._sandbox.act(verb, {"person": self.id, **wish})
