"""Forums: topics are made, renamed, closed and removed, each time with a message about it.

A topic's number is that of the message that made it. The general topic is there from the beginning, and its messages
carry no number.
"""

from typing import Any

from pressroom.sandbox.telegram.model import Chat, Member, More
from pressroom.sandbox.telegram.refusal import bad_request
from pressroom.sandbox.telegram.request import Access, Method, Request
from pressroom.sandbox.telegram.rights import has_right, may
from pressroom.sandbox.telegram.texts import clean_name

GENERAL = 1
NAME_LENGTH = 128
COLOURS = (7322096, 16766590, 13338331, 9367192, 16749490, 16478047)

Topic = dict[str, Any]  # name, icon_color, icon_custom_emoji_id?, closed?, hidden?, by


def topics_of(chat: Chat) -> dict[str, Topic]:
    """By number, as text: a state file keeps them as JSON."""
    topics: dict[str, Topic] = chat.extra.setdefault("topics", {})
    if chat.is_forum and str(GENERAL) not in topics:
        topics[str(GENERAL)] = {"name": "General", "icon_color": COLOURS[0]}
    return topics


def topic_of(chat: Chat, number: int) -> Topic | None:
    return topics_of(chat).get(str(number)) if chat.is_forum else None


def create_forum_topic(request: Request) -> dict[str, Any]:
    chat = request.chat(Access.WRITE)
    _check_forum(chat)
    if not may(chat, request.member(chat), "can_manage_topics"):
        raise bad_request("Not enough rights to create a topic")
    name = clean_name(request.parameters.text("name"), NAME_LENGTH)
    if not name:
        raise bad_request("Name must be non-empty")
    colour = request.parameters.integer("icon_color")
    if not 0 <= colour <= 0xFFFFFF:
        raise bad_request("Invalid icon color specified")
    topic: Topic = {"name": name, "icon_color": colour or COLOURS[0]}
    if emoji := request.parameters.integer("icon_custom_emoji_id"):
        topic["icon_custom_emoji_id"] = str(emoji)
    chat.last_message_id = max(
        chat.last_message_id, GENERAL
    )  # the message that made a real chat has that number
    number = chat.last_message_id + 1
    topics_of(chat)[str(number)] = {**topic, "by": request.bot.id}
    _tell(request, chat, number, {"forum_topic_created": topic})
    return {"message_thread_id": number, **topic}


def edit_forum_topic(request: Request) -> bool:
    chat = request.chat(Access.WRITE)
    _check_forum(chat)
    number, topic = _named_topic(request, chat)
    return _rename(request, chat, number, topic)


def edit_general_forum_topic(request: Request) -> bool:
    chat = request.chat(Access.WRITE)
    _check_forum(chat)
    return _rename(request, chat, GENERAL, topics_of(chat)[str(GENERAL)])


def _rename(request: Request, chat: Chat, number: int, topic: Topic) -> bool:
    _need(request, chat, topic, "Not enough rights to edit the topic")
    parameters = request.parameters
    given = parameters.text("name")
    name = clean_name(given, NAME_LENGTH)
    if given and not name:
        raise bad_request("Name must be non-empty")
    changes: dict[str, Any] = {"name": name} if name and name != topic["name"] else {}
    if parameters.has("icon_custom_emoji_id") and number != GENERAL:
        emoji = parameters.integer("icon_custom_emoji_id")
        if (str(emoji) if emoji else "") != topic.get("icon_custom_emoji_id", ""):
            changes["icon_custom_emoji_id"] = str(emoji) if emoji else ""
    if not changes:
        if given or parameters.has("icon_custom_emoji_id"):
            raise bad_request("TOPIC_NOT_MODIFIED")
        return True
    topic |= changes
    _tell(request, chat, number, {"forum_topic_edited": changes})
    return True


def close_forum_topic(request: Request) -> bool:
    return _toggle(request, "closed", on=True)


def reopen_forum_topic(request: Request) -> bool:
    return _toggle(request, "closed", on=False)


def close_general_forum_topic(request: Request) -> bool:
    return _toggle(request, "closed", on=True, general=True)


def reopen_general_forum_topic(request: Request) -> bool:
    return _toggle(request, "closed", on=False, general=True)


def hide_general_forum_topic(request: Request) -> bool:
    return _toggle(request, "hidden", on=True, general=True)


def unhide_general_forum_topic(request: Request) -> bool:
    return _toggle(request, "hidden", on=False, general=True)


_TOLD = {
    ("closed", True): "forum_topic_closed",
    ("closed", False): "forum_topic_reopened",
    ("hidden", True): "general_forum_topic_hidden",
    ("hidden", False): "general_forum_topic_unhidden",
}


def _toggle(request: Request, what: str, *, on: bool, general: bool = False) -> bool:
    chat = request.chat(Access.WRITE)
    _check_forum(chat)
    number, topic = (GENERAL, topics_of(chat)[str(GENERAL)]) if general else _named_topic(request, chat)
    _need(request, chat, topic, "Not enough rights to close or open the topic")
    if topic.get(what, False) is on:
        raise bad_request("TOPIC_NOT_MODIFIED")
    topic[what] = on
    if what == "hidden" and on:
        topic["closed"] = True  # nobody writes to what is hidden
    _tell(request, chat, number, {_TOLD[what, on]: {}})
    return True


def delete_forum_topic(request: Request) -> bool:
    chat = request.chat(Access.WRITE)
    _check_forum(chat)
    number, topic = _named_topic(request, chat)
    member = request.member(chat)
    if not has_right(chat, member, "can_delete_messages") and topic.get("by") != request.bot.id:
        raise bad_request("Not enough rights to delete the topic")
    if number == GENERAL:
        raise bad_request("TOPIC_ID_INVALID")
    del topics_of(chat)[str(number)]
    gone = [one.id for one in chat.messages.values() if one.more is not None and one.more.thread == number]
    for one in gone:
        del chat.messages[one]
    chat.pinned = [one for one in chat.pinned if one in chat.messages]
    request.state.record(chat, request.bot, request.method, number, topic["name"], {"thread": number})
    return True


def unpin_all_forum_topic_messages(request: Request) -> bool:
    chat = request.chat(Access.WRITE)
    _check_forum(chat)
    number, _ = _named_topic(request, chat)
    return _unpin(request, chat, number)


def unpin_all_general_forum_topic_messages(request: Request) -> bool:
    chat = request.chat(Access.WRITE)
    _check_forum(chat)
    return _unpin(request, chat, GENERAL)


def _unpin(request: Request, chat: Chat, number: int) -> bool:
    if not may(chat, request.member(chat), "can_pin_messages"):
        raise bad_request("Not enough rights to manage pinned messages in the chat")
    wanted = None if number == GENERAL else number
    kept = [one for one in chat.pinned if _thread(chat, one) != wanted]
    if kept != chat.pinned:
        chat.pinned = kept
        request.state.record(chat, request.bot, request.method, number, "", {"thread": number})
    return True


def _thread(chat: Chat, message_id: int) -> int | None:
    message = chat.messages.get(message_id)
    return message.more.thread if message is not None and message.more is not None else None


def _check_forum(chat: Chat) -> None:
    if not chat.is_forum:
        raise bad_request("The chat is not a forum")


def _named_topic(request: Request, chat: Chat) -> tuple[int, Topic]:
    number = request.parameters.integer("message_thread_id", least=0)
    if not number:
        raise bad_request("Invalid forum topic identifier specified")
    topic = topic_of(chat, number)
    if topic is None:
        raise bad_request("TOPIC_ID_INVALID")
    return number, topic


def _need(request: Request, chat: Chat, topic: Topic, otherwise: str) -> None:
    """An administrator's right, or to have made the topic."""
    member: Member = request.member(chat)
    if not has_right(chat, member, "can_manage_topics") and topic.get("by") != request.bot.id:
        raise bad_request(otherwise)


def _tell(request: Request, chat: Chat, number: int, service: dict[str, Any]) -> None:
    more = More(service=service, thread=None if number == GENERAL else number)
    told = {"service": service, "thread": number}
    request.state.say(chat, request.bot, request.method, "", (), more, told)


METHODS: dict[str, Method] = {
    "createForumTopic": create_forum_topic,
    "editForumTopic": edit_forum_topic,
    "closeForumTopic": close_forum_topic,
    "reopenForumTopic": reopen_forum_topic,
    "deleteForumTopic": delete_forum_topic,
    "unpinAllForumTopicMessages": unpin_all_forum_topic_messages,
    "editGeneralForumTopic": edit_general_forum_topic,
    "closeGeneralForumTopic": close_general_forum_topic,
    "reopenGeneralForumTopic": reopen_general_forum_topic,
    "hideGeneralForumTopic": hide_general_forum_topic,
    "unhideGeneralForumTopic": unhide_general_forum_topic,
    "unpinAllGeneralForumTopicMessages": unpin_all_general_forum_topic_messages,
}
