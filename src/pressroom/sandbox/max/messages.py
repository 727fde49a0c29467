"""Messages: sent, edited, deleted and read by bots. People's go the same way (people.py)."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from pressroom.sandbox.core.world import World
from pressroom.sandbox.max.attachments import Attachments, preview_of
from pressroom.sandbox.max.errors import Kept, Refusal, bad, named
from pressroom.sandbox.max.markup import parse
from pressroom.sandbox.max.model import Attachment, Bot, Chat, ChatKind, Link, Message, User, chat_of
from pressroom.sandbox.max.request import CANNOT_READ, Asked, Payload
from pressroom.sandbox.max.shown import message_json
from pressroom.sandbox.max.state import State
from pressroom.sandbox.max.updates import Updates
from pressroom.sandbox.max.views import details

LONGEST_TEXT = 4000
EDITABLE_MS = 7 * 24 * 3600 * 1000  # in dialogs, for messages without a keyboard
FORMATS = frozenset({"markdown", "html"})


@dataclass(frozen=True, slots=True)
class Draft:
    """What a request says of a message; None is what it does not say."""

    text: str | None
    attachments: list[Any] | None
    link: tuple[str, str] | None
    notify: bool
    format: str | None


def read_draft(given: Payload) -> Draft:
    format_ = given.text("format")
    if format_ is not None and format_ not in FORMATS:
        raise bad(CANNOT_READ)
    return Draft(
        given.text("text", most=LONGEST_TEXT),
        given.items("attachments"),
        _read_link(given.object("link")),
        given.flag("notify", True),
        format_,
    )


def _read_link(given: Payload | None) -> tuple[str, str] | None:
    if given is None:
        return None
    type_ = given.text("type")
    if type_ not in ("reply", "forward"):
        raise bad(CANNOT_READ)
    return type_, given.required_text("mid")


class Messages:
    def __init__(self, world: World, state: State, updates: Updates, attachments: Attachments) -> None:
        self._world, self._state = world, state
        self._updates, self._attachments = updates, attachments

    # POST /messages

    async def send(self, asked: Asked) -> dict[str, Any]:
        draft = read_draft(asked.json())
        self._destination(asked, draft)
        attached = await self._attachments.read(draft.attachments or [])
        chat, link = self._destination(asked, draft)  # much may have happened while an image was fetched
        marked = parse(draft.text or "", draft.format)
        if not asked.flag("disable_link_preview"):
            attached = _with_preview(attached, preview_of(marked.text, marked.elements))
        if not marked.text and link is None and all(each.type == "inline_keyboard" for each in attached):
            raise bad("Message must have text, media or link")
        message = self._state.new_message(chat, asked.bot)
        message.text = None if draft.text is None else marked.text
        message.markup, message.attachments, message.link = marked.elements, attached, link
        self.publish(message, asked.bot, "POST /messages")
        return {"message": message_json(self._state, message, asked.origin)}

    def _destination(self, asked: Asked, draft: Draft) -> tuple[Chat, Link | None]:
        """Where it goes and what it refers to, if the bot may write it there."""
        chat = self._target(asked)
        self._check_may_write(chat, asked.bot)
        if chat.kind is ChatKind.CHANNEL and not draft.notify:
            raise bad("errors.send-message.channel-notify")
        return chat, self._link(asked.bot, chat, draft)

    def _target(self, asked: Asked) -> Chat:
        chat_id, user_id = asked.number("chat_id"), asked.number("user_id")
        if chat_id is not None:
            return self._state.chat_for(asked.bot, chat_id)
        if user_id is None:
            raise bad("Missing required parameter: chat_id or user_id")
        chat = self._state.chats.get(asked.bot.id ^ user_id)
        if chat is None or chat.closed or user_id == asked.bot.id:
            raise named("no_dialog")
        return chat

    def _check_may_write(self, chat: Chat, bot: Bot) -> None:
        if chat.suspended:
            raise named("blocked", user=self._state.person_of(chat).id)
        if chat.kind is ChatKind.CHANNEL and not chat.members[bot.id].may("write"):
            raise named("not_admin")

    def _link(self, bot: Bot, chat: Chat, draft: Draft) -> Link | None:
        if draft.link is None:
            return None
        type_, mid = draft.link
        original = self._of_bot(bot, mid)
        if type_ == "reply" and original.chat != chat.id:
            raise bad(f"Invalid message_id: {mid}")
        if type_ == "forward" and draft.text:
            raise bad("errors.forward.text.not-empty")
        return self.link_to(original, type_)

    def link_to(self, original: Message, type_: str) -> Link:
        """What was forwarded is forwarded as it first was; keyboards do not go along."""
        if type_ == "forward" and original.link is not None and original.link.type == "forward":
            return original.link
        signed = self._state.chats[original.chat].shows_authors
        kept = original.attachments
        if type_ == "forward":
            kept = tuple(each for each in kept if each.type != "inline_keyboard")
        return Link(
            type_,
            original.chat,
            original.author,
            signed,
            original.mid,
            original.seq,
            original.text,
            original.markup,
            kept,
        )

    # PUT, DELETE and GET

    async def edit(self, asked: Asked) -> dict[str, Any]:
        self._editable(asked)
        draft = read_draft(asked.json())
        attached = await self.attached(draft)
        self.change(self._editable(asked), draft, attached, asked.bot, "PUT /messages")
        return {"success": True}

    def _editable(self, asked: Asked) -> Message:
        """The message of this bot that it may edit now."""
        message = self._of_bot(asked.bot, asked.required("message_id"))
        chat = self._state.chats[message.chat]
        self._check_may_write(chat, asked.bot)
        if message.author != asked.bot.id:
            raise Refusal(403, "access.denied", "Only messages of the bot can be edited")
        if (
            chat.kind is ChatKind.DIALOG
            and message.keyboard is None
            and self._state.now() - message.at > EDITABLE_MS
        ):
            raise Kept("Message is too old to be edited")
        return message

    async def attached(self, draft: Draft) -> tuple[Attachment, ...] | None:
        """Images are fetched meanwhile, so what was looked up before has to be looked up again."""
        return None if draft.attachments is None else await self._attachments.read(draft.attachments)

    def change(
        self,
        message: Message,
        draft: Draft,
        given: tuple[Attachment, ...] | None,
        author: Bot,
        method: str,
    ) -> None:
        """Null and absent leave things as they are; an empty list of attachments removes them."""
        chat = self._state.chats[message.chat]
        text, markup = message.text, message.markup
        if draft.text is not None:
            marked = parse(draft.text, draft.format)
            text, markup = marked.text, marked.elements
        attached = given
        if attached is None:
            attached = tuple(each for each in message.attachments if not each.automatic)
        link = message.link
        if draft.link is not None:
            link = self._link(author, chat, draft)
        if any(each.automatic for each in message.attachments) or draft.text is not None:
            attached = _with_preview(attached, preview_of(text, markup))
        if not text and link is None and all(each.type == "inline_keyboard" for each in attached):
            raise Kept("Message must have text, media or link")
        message.text, message.markup, message.attachments, message.link = text, markup, attached, link
        self.published_again(message, author, method)

    def delete(self, asked: Asked) -> dict[str, Any]:
        message = self._of_bot(asked.bot, asked.required("message_id"))
        chat = self._state.chats[message.chat]
        right = {ChatKind.CHANNEL: "delete", ChatKind.CHAT: "write", ChatKind.DIALOG: ""}[chat.kind]
        if message.author != asked.bot.id and not chat.members[asked.bot.id].may(right):
            raise Refusal(403, "access.denied", "The bot may not delete this message")
        self.remove(message, asked.bot, "DELETE /messages")
        return {"success": True}

    def get(self, asked: Asked) -> dict[str, Any]:
        return message_json(self._state, self._of_bot(asked.bot, asked.path["messageId"]), asked.origin)

    def several(self, asked: Asked) -> dict[str, Any]:
        count = asked.between("count", 50, 1, 100)
        chat_id, mids = asked.number("chat_id"), asked.listed("message_ids")
        if mids:
            found = [self._readable(asked.bot, _checked(mid)) for mid in mids[:100]]
            return {"messages": self._shown((each for each in found if each is not None), asked)}
        if chat_id is None:
            raise bad("Missing required parameter: chat_id")
        chat = self._state.chat_for(asked.bot, chat_id)
        if chat.suspended:
            raise named("blocked", user=self._state.person_of(chat).id)
        if chat.kind is not ChatKind.DIALOG:
            self._state.admin_chat(asked.bot, chat_id, "read_all_messages")
        page = self._page(chat, asked.number("from"), asked.number("to"), count)
        for message in page:
            message.views += message.author != asked.bot.id
        return {"messages": self._shown(page, asked)}

    def _shown(self, messages: Iterable[Message], asked: Asked) -> list[dict[str, Any]]:
        return [message_json(self._state, message, asked.origin) for message in messages]

    def _page(self, chat: Chat, begin: int | None, end: int | None, count: int) -> list[Message]:
        """Newest first; either end of the time may be the later one."""
        low = min(begin, end) if begin is not None and end is not None else begin or 0
        high = max(begin, end) if begin is not None and end is not None else end
        page: list[Message] = []
        for message in reversed(chat.messages.values()):
            if message.at >= low and (high is None or message.at <= high):
                page.append(message)
                if len(page) == count:
                    break
        return page

    def _readable(self, bot: Bot, mid: str) -> Message | None:
        message = self._state.message(mid)
        chat = self._state.chats[message.chat] if message else None
        if chat is None or chat.closed or self._state.membership(chat, bot) is None:
            return None
        return message

    def _of_bot(self, bot: Bot, mid: str) -> Message:
        """A message in a chat that this bot is in."""
        message = self._readable(bot, _checked(mid))
        if message is None:
            raise _no_message(mid)
        return message

    # Effects

    def publish(self, message: Message, author: User, method: str) -> None:
        self._state.place(message)
        self._record(message, author, method)
        chat = self._state.chats[message.chat]
        body = {"message": message_json(self._state, message), **self._updates.locale(chat, author)}
        self._updates.tell_readers(chat, "message_created", body, but=author.id)

    def published_again(self, message: Message, author: User, method: str) -> None:
        message.edited_at = self._state.now()
        author.active_at = message.edited_at
        self._record(message, author, method)
        chat = self._state.chats[message.chat]
        body = {"message": message_json(self._state, message)}
        self._updates.tell_readers(chat, "message_edited", body, but=author.id)

    def remove(self, message: Message, author: User, method: str) -> None:
        self._state.forget(message.mid)
        self._record(message, author, method)
        chat = self._state.chats[message.chat]
        body = {"message_id": message.mid, "chat_id": chat.id, "user_id": author.id}
        self._updates.tell_readers(chat, "message_removed", body, but=author.id)

    def _record(self, message: Message, author: User, method: str) -> None:
        self._world.ledger.record(
            self._world.clock.now(),
            "max",
            (author.username or author.name) if author.is_bot else author.name,
            message.chat,
            method,
            message.mid,
            message.text or "",
            details(self._state, message),
        )


def _with_preview(attached: tuple[Attachment, ...], preview: Attachment | None) -> tuple[Attachment, ...]:
    """A preview comes only where nothing else is shown below the text."""
    if preview is None or any(each.type != "inline_keyboard" for each in attached):
        return attached
    return (preview, *attached)


def _checked(mid: str) -> str:
    """An id that could be a message's."""
    if chat_of(mid) is None:
        raise bad(f"Invalid message_id: {mid[:200]}")
    return mid


def _no_message(mid: str) -> Refusal:
    return Refusal(404, "not.found", f"Message {mid} not found")
