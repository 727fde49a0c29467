"""Who the bot is, and what it may know and change of chats: getMe, getChat, members, title, description."""

from typing import Any

from pressroom.sandbox.telegram.members import member_json
from pressroom.sandbox.telegram.model import Chat, Member, More
from pressroom.sandbox.telegram.refusal import bad_request
from pressroom.sandbox.telegram.request import Access, Method, Request, is_member
from pressroom.sandbox.telegram.rights import need, permissions
from pressroom.sandbox.telegram.shown import message_json
from pressroom.sandbox.telegram.texts import clean_name

TITLE_LENGTH, DESCRIPTION_LENGTH = 128, 255
COLOURS = 7  # of names, which people and chats have by their number until they choose one
_GIFTS = ("unlimited_gifts", "limited_gifts", "unique_gifts", "premium_subscription", "gifts_from_channels")
_ABILITIES = {
    "supports_inline_queries": False,
    "supports_guest_queries": False,
    "can_connect_to_business": False,
    "has_main_web_app": False,
    "has_topics_enabled": False,
    "allows_users_to_create_topics": False,
    "can_manage_bots": False,
}


def get_me(request: Request) -> dict[str, Any]:
    reads = {"can_join_groups": True, "can_read_all_group_messages": request.bot.reads_groups}
    return {**request.bot.as_json(), **reads, **_ABILITIES}


def log_out(request: Request) -> bool:
    """The sandbox is both servers, the one that is left and the one that is moved to: nothing changes."""
    return True


# What is known


def get_chat(request: Request) -> dict[str, Any]:
    chat = request.chat()
    said: dict[str, Any] = chat.as_json()
    if chat.username is not None and chat.person is None:
        said["active_usernames"] = [chat.username]
    if chat.person is not None and chat.person.username is not None:
        said["active_usernames"] = [chat.person.username]
    if description := chat.extra.get("description"):
        said["description"] = description
    if chat.type in ("group", "supergroup"):
        said["permissions"] = permissions(chat.extra.get("permissions", {}), otherwise=True)
    said["accepted_gift_types"] = dict.fromkeys(_GIFTS, chat.person is not None)
    pinned = [chat.messages[number] for number in chat.pinned if number in chat.messages]
    if pinned:
        said["pinned_message"] = message_json(request.state, request.bot, chat, pinned[-1], with_reply=False)
    if chat.extra.get("protected"):
        said["has_protected_content"] = True
    return {**said, "max_reaction_count": 11, "accent_color_id": _bare(chat) % COLOURS}


def _bare(chat: Chat) -> int:
    number = abs(chat.id)
    return number - 10**12 if number > 10**12 else number


def get_chat_member(request: Request) -> dict[str, Any]:
    number = request.user_id()
    is_self = number == request.bot.id
    chat = request.chat(Access.READ if is_self else Access.READ_MEMBERS)
    user = request.user(number)
    if chat.person is not None and number not in (request.bot.id, chat.person.id):
        raise bad_request("Member not found")
    if chat.type == "channel" and not is_self:
        _check_members_seen(request, chat)
    if user is None:
        raise bad_request("Member not found" if chat.type == "channel" else "user not found")
    member = Member() if chat.person is not None else request.state.member(chat, user)
    return member_json(chat, user, member)


def get_user_profile_photos(request: Request) -> dict[str, Any]:
    """Nobody has any here."""
    if request.user(request.user_id()) is None:
        raise bad_request("user not found")
    return {"total_count": 0, "photos": []}


def get_chat_member_count(request: Request) -> int:
    chat = request.chat(Access.READ_MEMBERS)
    return 2 if chat.person is not None else max(len(members_of(request, chat)), 1)


def get_chat_administrators(request: Request) -> list[dict[str, Any]]:
    """The owner first; of bots only the one that asks."""
    chat = request.chat(Access.READ_MEMBERS)
    if chat.person is not None:
        raise bad_request("there are no administrators in the private chat")
    if chat.type == "channel":
        _check_members_seen(request, chat)
    found = [
        (user, member)
        for number, member in members_of(request, chat).items()
        if member.status in ("creator", "administrator")
        and (user := request.user(number)) is not None
        and (not user.is_bot or user.id == request.bot.id)
    ]
    found.sort(key=lambda each: each[1].status != "creator")
    return [member_json(chat, user, member) for user, member in found]


def members_of(request: Request, chat: Chat) -> dict[int, Member]:
    """Those who are in the chat; bots are where the chat says they are."""
    found = {number: member for number, member in chat.members.items() if is_member(member)}
    for bot in request.state.bots_by_id.values():
        if bot.id not in chat.members and is_member(member := request.state.member(chat, bot)):
            found[bot.id] = member
    return found


def _check_members_seen(request: Request, chat: Chat) -> None:
    if request.member(chat).status not in ("creator", "administrator"):
        raise bad_request("Member list is inaccessible")


# What is changed


def leave_chat(request: Request) -> bool:
    chat = request.chat()
    if chat.person is not None:
        raise bad_request("Can't leave private chats")
    if is_member(request.member(chat)):
        become(request, chat, request.bot.id, Member("left"))
        tell(request, chat, {"left_chat_member": request.bot.as_json()})
    return True


def set_chat_title(request: Request) -> bool:
    chat = request.chat(Access.WRITE)
    title = clean_name(request.parameters.text("title"), TITLE_LENGTH)
    if not title:
        raise bad_request("Title must be non-empty")
    if chat.person is not None:
        raise bad_request("Can't change private chat title")
    need(chat, request.member(chat), "can_change_info", "Not enough rights to change chat title")
    if title != chat.title:
        chat.title = title
        tell(request, chat, {"new_chat_title": title}, title, also_in_channels=True)
    return True


def set_chat_description(request: Request) -> bool:
    chat = request.chat(Access.WRITE)
    description = request.parameters.text("description").strip()[:DESCRIPTION_LENGTH]
    if chat.person is not None:
        raise bad_request("Can't change private chat description")
    need(chat, request.member(chat), "can_change_info", "Not enough rights to set chat description")
    if description == chat.extra.get("description", ""):
        raise bad_request("chat description is not modified")
    chat.extra["description"] = description
    request.state.record(chat, request.bot, request.method, 0, description)
    return True


def tell(
    request: Request, chat: Chat, service: dict[str, Any], text: str = "", *, also_in_channels: bool = False
) -> None:
    """With a service message, which channels have not for everything; in the ledger in any case."""
    if chat.type == "channel" and not also_in_channels:
        request.state.record(chat, request.bot, request.method, 0, text, {"service": service})
        return
    request.state.say(chat, request.bot, request.method, text, (), More(service=service), {"service": service})


def become(request: Request, chat: Chat, user_id: int, member: Member) -> None:
    """Somebody's place in the chat changes, and who has to is told."""
    user = request.user(user_id)
    if user is not None:
        request.state.becomes(chat, user, member, request.bot)


METHODS: dict[str, Method] = {
    "getMe": get_me,
    "logOut": log_out,
    "close": log_out,
    "getChat": get_chat,
    "getChatMember": get_chat_member,
    "getUserProfilePhotos": get_user_profile_photos,
    "getChatMemberCount": get_chat_member_count,
    "getChatAdministrators": get_chat_administrators,
    "leaveChat": leave_chat,
    "setChatTitle": set_chat_title,
    "setChatDescription": set_chat_description,
}
