"""What all methods that send have in common: where to, in answer to what, with which buttons, and the sending itself.

A method reads its content first; then `read_options`, `find_place`, the content as it fits the place, and `send`: the
order in which the real server complains.
"""

import math
from dataclasses import dataclass, field
from typing import Any

from pressroom.core.markup import Entity, Markup
from pressroom.sandbox.telegram.fields import Fields, Malformed, decode
from pressroom.sandbox.telegram.keyboards import Keyboard, check_inline, for_chat, read_keyboard
from pressroom.sandbox.telegram.model import Bot, Chat, Media, Member, Message, More
from pressroom.sandbox.telegram.parameters import Parameters
from pressroom.sandbox.telegram.refusal import bad_request, too_many_requests
from pressroom.sandbox.telegram.request import Access, Request
from pressroom.sandbox.telegram.rights import check_sending, check_writing, has_right
from pressroom.sandbox.telegram.shown import details, entities_json, media_json, message_json
from pressroom.sandbox.telegram.state import State
from pressroom.sandbox.telegram.texts import formatted
from pressroom.sandbox.telegram.topics import GENERAL, topic_of

#: Parameters that change nothing of how a message is sent.
_PLAIN = frozenset(
    {"chat_id", "text", "parse_mode", "entities", "disable_notification", "allow_paid_broadcast", "method"}
)


@dataclass(frozen=True, slots=True)
class Reply:
    message_id: int = 0
    chat_id: str = ""
    may_be_missing: bool = False
    quote: Markup = field(default_factory=lambda: Markup(""))
    position: int = 0


@dataclass(frozen=True, slots=True)
class Options:
    reply: Reply = field(default_factory=Reply)
    keyboard: Keyboard | None = None
    thread: int = 0
    protected: bool = False
    effect: int = 0


_NONE = Options()


@dataclass(slots=True)
class Place:
    """Where a message goes. What it answers is in the same chat, or told in full (`external`)."""

    chat: Chat
    member: Member
    keyboard: Keyboard | None = None
    thread: int | None = None
    reply_to: int | None = None
    external: dict[str, Any] | None = None
    quote: dict[str, Any] | None = None
    protected: bool = False
    effect: int = 0
    is_plain: bool = False  # nothing was said but where to


@dataclass(slots=True)
class Content:
    """`kind` is the name of the message's field, or "text"; `fields` are what is neither text nor file."""

    kind: str
    text: str = ""
    entities: tuple[Entity, ...] = ()
    media: Media | None = None
    fields: dict[str, Any] | None = None
    link_preview: dict[str, Any] | None = None


# Options


def read_options(request: Request, *, with_keyboard: bool = True) -> Options:
    parameters = request.parameters
    if parameters.texts.keys() <= _PLAIN:
        return _NONE
    reply = read_reply(parameters)
    keyboard = read_keyboard(parameters) if with_keyboard else None
    request.check_business()
    return Options(
        reply,
        keyboard,
        read_thread(parameters),
        parameters.truth("protect_content"),
        parameters.integer("message_effect_id"),
    )


def read_thread(parameters: Parameters) -> int:
    return parameters.integer("message_thread_id", least=0)


def read_reply(parameters: Parameters) -> Reply:
    if not parameters.has("reply_parameters"):
        number = parameters.integer("reply_to_message_id", least=0)
        return Reply(number, may_be_missing=parameters.truth("allow_sending_without_reply"))
    given = parameters.text("reply_parameters")
    if not given:
        return Reply()
    try:
        said = decode(given)
    except Malformed:
        raise bad_request("can't parse reply parameters JSON object") from None
    try:
        return _reply(Fields.of(said, "Object expected as reply parameters"))
    except Malformed as error:
        raise bad_request(str(error)) from None


def _reply(said: Fields) -> Reply:
    if not len(said):
        return Reply()
    chat_id, number = said.text("chat_id"), said.required_integer("message_id")
    may_be_missing = said.truth("allow_sending_without_reply")
    quote = formatted(said.text("quote"), said.text("quote_parse_mode"), said.raw("quote_entities"))
    return Reply(max(number, 0), chat_id, may_be_missing, quote, said.integer("quote_position"))


# The place


def find_place(request: Request, options: Options) -> Place:
    chat = request.chat(Access.WRITE)
    member = request.member(chat)
    if options is _NONE:
        check_writing(chat, member)
        _check_topic(chat, member, None)
        return Place(chat, member, is_plain=True)
    thread = find_thread(chat, options.thread)
    place = Place(chat, member, thread=thread, protected=options.protected, effect=options.effect)
    if options.reply.message_id:
        _find_replied(request, place, options.reply)
    check_writing(chat, member)
    if options.effect and chat.person is None:
        raise bad_request("Can't use message effects in the chat")
    _check_topic(chat, member, thread)
    place.keyboard = for_chat(options.keyboard, chat)
    return place


def find_thread(chat: Chat, thread: int) -> int | None:
    """Where there are no topics, their numbers say nothing."""
    if not thread or not (chat.is_forum or chat.person is not None):
        return None
    if thread == GENERAL or topic_of(chat, thread) is None:
        raise bad_request("message thread not found")
    return thread


def _check_topic(chat: Chat, member: Member, thread: int | None) -> None:
    if chat.is_forum and not has_right(chat, member, "can_manage_topics"):
        topic = topic_of(chat, thread or GENERAL)
        if topic is not None and topic.get("closed"):
            raise bad_request("TOPIC_CLOSED")


def _find_replied(request: Request, place: Place, reply: Reply) -> None:
    same = not reply.chat_id or reply.chat_id == request.parameters.text("chat_id")
    chat = place.chat if same else request.chat_named(reply.chat_id, Access.READ)
    replied = chat.messages.get(reply.message_id)
    if not request.has_message_access(chat) or (replied is None and not reply.may_be_missing):
        raise bad_request("message to be replied not found")
    if replied is None:
        return
    if reply.quote.text:
        place.quote = _quote(request.state, reply, replied)
    thread = replied.more.thread if replied.more is not None else None
    if chat is place.chat and (place.thread is None or thread == place.thread):
        place.reply_to, place.thread = replied.id, thread if chat.is_forum else place.thread
    else:
        place.external = _external(request.state, request.bot, chat, replied)


def _quote(state: State, reply: Reply, replied: Message) -> dict[str, Any]:
    position = replied.text.find(reply.quote.text)
    if position < 0:
        raise bad_request("QUOTE_TEXT_INVALID")
    said: dict[str, Any] = {"text": reply.quote.text}
    if reply.quote.entities:
        said["entities"] = entities_json(state, reply.quote.entities)
    units = len(replied.text[:position].encode("utf-16-le", "surrogatepass")) // 2
    return {**said, "position": units, "is_manual": True}


def _external(state: State, bot: Bot, chat: Chat, replied: Message) -> dict[str, Any]:
    said: dict[str, Any] = {
        "origin": origin_of(chat, replied),
        "chat": chat.as_json(),
        "message_id": replied.id,
    }
    if chat.person is not None:
        del said["chat"], said["message_id"]
    more = replied.more
    if more is not None and more.media is not None:
        shown = media_json(bot, more.media)
        shown.pop("document" if more.media.kind == "animation" else "", None)
        return {**said, **shown, **({"has_media_spoiler": True} if more.media.spoiler else {})}
    return said


def origin_of(chat: Chat, message: Message) -> dict[str, Any]:
    """Whose words these are: what a forward tells."""
    if message.more is not None and message.more.forward_origin is not None:
        return message.more.forward_origin
    at = int(message.at)
    if chat.type == "channel":
        return {"type": "channel", "chat": chat.as_json(), "message_id": message.id, "date": at}
    if message.sender is None:
        return {"type": "chat", "sender_chat": chat.as_json(), "date": at}
    return {"type": "user", "sender_user": message.sender.as_json(), "date": at}


# Sending


def send(request: Request, place: Place, content: Content) -> dict[str, Any]:
    """What the chat does not allow, what Telegram does not; then it is sent."""
    check_sending(place.chat, place.member, content.kind)
    check_inline(place.keyboard, place.chat)
    request.check_reachable(place.chat)
    keep_to_rate(request, place.chat)
    message = say(request, place, content)
    return message_json(request.state, request.bot, place.chat, message)


def keep_to_rate(request: Request, chat: Chat, messages: int = 1) -> None:
    rates = request.state.rates
    if rates is not None and (wait := rates.take(request.bot.id, chat, messages)) > 0:
        raise too_many_requests(math.ceil(wait))


def say(request: Request, place: Place, content: Content, album: str | None = None) -> Message:
    """Into the chat, with nothing left to check."""
    more = more_of(place, content, album)
    return request.state.say(
        place.chat,
        request.bot,
        request.method,
        content.text,
        content.entities,
        more,
        details(request.state, content.entities, more),
    )


def more_of(place: Place, content: Content, album: str | None = None) -> More | None:
    if place.is_plain and content.kind == "text" and content.link_preview is None:
        return None
    more = More(
        media=content.media,
        album=album,
        reply_to=place.reply_to,
        thread=place.thread,
        link_preview=content.link_preview,
        protected=place.protected,
        effect_id=str(place.effect) if place.effect else None,
        content=content.fields,
        quote=place.quote,
        external_reply=place.external,
    )
    if place.keyboard is not None and place.keyboard.is_inline:
        more.reply_markup = place.keyboard.as_json()
    elif place.keyboard is not None:
        more.keyboard = place.keyboard.as_json()
    return None if more == More() else more
