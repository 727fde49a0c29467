"""Members promoted, restricted and banned, by bots that may."""

from typing import Any, cast

from pressroom.sandbox.telegram.chats import become, tell
from pressroom.sandbox.telegram.fields import Fields, Malformed
from pressroom.sandbox.telegram.model import Chat, Member, User
from pressroom.sandbox.telegram.refusal import bad_request
from pressroom.sandbox.telegram.request import Access, Method, Request, is_member
from pressroom.sandbox.telegram.rights import ADMINISTRATOR_RIGHTS, PERMISSIONS, has_right

TITLE_LENGTH = 16
_MEDIA = ("audios", "documents", "photos", "videos", "video_notes", "voice_notes")
_NOT_ALLOWED = "Not enough rights to restrict/unrestrict chat member"
_SUPERGROUPS_ONLY = "method is available for supergroup and channel chats only"


def ban_chat_member(request: Request) -> bool:
    number = request.user_id()
    until = _until(request)
    chat = request.chat(Access.WRITE)
    if chat.person is not None:
        raise bad_request("Can't ban members in private chats")
    user = _somebody(request, number)
    if number == request.bot.id:
        raise bad_request("Can't restrict self")
    old = _restrictable(request, chat, user)
    become(request, chat, number, Member("kicked" if chat.type != "group" else "left", until=until))
    if is_member(old):
        tell(request, chat, {"left_chat_member": user.as_json()})
    else:
        request.state.record(chat, request.bot, request.method, 0, "", {"user": number})
    return True


def unban_chat_member(request: Request) -> bool:
    """Whoever is in the chat, is removed from it, unless only a ban shall be lifted."""
    number = request.user_id()
    chat = request.chat(Access.WRITE)
    if chat.type not in ("supergroup", "channel"):
        raise bad_request(_SUPERGROUPS_ONLY)
    user = _somebody(request, number)
    status = request.state.member(chat, user).status
    if status == "left" or (status != "kicked" and request.parameters.truth("only_if_banned")):
        return True
    if number == request.bot.id:
        raise bad_request("Can't unrestrict self")
    _restrictable(request, chat, user)
    become(request, chat, number, Member("left"))
    request.state.record(chat, request.bot, request.method, 0, "", {"user": number})
    return True


def restrict_chat_member(request: Request) -> bool:
    number = request.user_id()
    until = _until(request)
    rights = read_permissions(request)
    chat = request.chat(Access.WRITE)
    if chat.type != "supergroup":
        raise bad_request("method is available only for supergroups")
    user = _somebody(request, number)
    if number == request.bot.id:
        raise bad_request("Can't restrict self")
    old = _restrictable(request, chat, user)
    inside = is_member(old)
    if all(rights.values()):
        member = Member("member" if inside else "left")
    else:
        member = Member("restricted", {**rights, "is_member": inside}, until=until)
    become(request, chat, number, member)
    request.state.record(chat, request.bot, request.method, 0, "", {"user": number, "rights": rights})
    return True


def promote_chat_member(request: Request) -> bool:
    number = request.user_id()
    rights = {name: request.parameters.truth(name) for name in ADMINISTRATOR_RIGHTS}
    rights["can_manage_video_chats"] |= request.parameters.truth("can_manage_voice_chats")  # as it was called
    chat = request.chat(Access.WRITE)
    if chat.type not in ("supergroup", "channel"):
        raise bad_request(_SUPERGROUPS_ONLY)
    is_promotion = any(rights.values())
    if chat.type == "channel" and is_promotion and not request.parameters.has("can_restrict_members"):
        rights["can_restrict_members"] = True
    user = _somebody(request, number)
    old = request.state.member(chat, user)
    if old.status == "creator":
        raise bad_request("Can't remove chat owner")
    if not is_promotion and old.status != "administrator":
        return _free(request, chat, user, old)
    if number == request.bot.id and is_promotion:
        raise bad_request("Can't promote self")
    mine = request.member(chat)
    if number != request.bot.id and not has_right(chat, mine, "can_promote_members"):
        raise bad_request("Not enough rights")
    if any(
        given and not has_right(chat, mine, name) for name, given in rights.items() if name != "is_anonymous"
    ):
        raise bad_request("RIGHT_FORBIDDEN")
    if not is_member(old) and is_promotion:
        raise bad_request("USER_NOT_PARTICIPANT" if chat.type == "supergroup" else "USER_NOT_MUTUAL_CONTACT")
    rights["can_manage_chat"] = is_promotion
    become(request, chat, number, Member("administrator", rights) if is_promotion else Member())
    request.state.record(chat, request.bot, request.method, 0, "", {"user": number, "rights": rights})
    return True


def _free(request: Request, chat: Chat, user: User, old: Member) -> bool:
    """No rights for somebody who is no administrator: restrictions end, and nobody is let in."""
    if old.status == "left":
        raise bad_request("Bots can't add new chat members")
    if old.status == "member":
        return True
    if user.id == request.bot.id:
        raise bad_request("Can't unrestrict self")
    if not has_right(chat, request.member(chat), "can_restrict_members"):
        raise bad_request(_NOT_ALLOWED)
    become(request, chat, user.id, Member("member" if is_member(old) else "left"))
    request.state.record(chat, request.bot, request.method, 0, "", {"user": user.id})
    return True


def set_chat_administrator_custom_title(request: Request) -> bool:
    number = request.user_id()
    chat = request.chat(Access.WRITE)
    if chat.type not in ("group", "supergroup"):
        raise bad_request("method is available only for groups and supergroups")
    user = _somebody(request, number)
    member = request.state.member(chat, user)
    if member.status == "creator":
        raise bad_request("only the owner can edit their custom title")
    if member.status != "administrator":
        raise bad_request("user is not an administrator")
    if not has_right(chat, request.member(chat), "can_promote_members"):
        raise bad_request("not enough rights to change custom title of the user")
    title = request.parameters.text("custom_title")
    if len(title) > TITLE_LENGTH:
        raise bad_request("CUSTOM_TITLE_INVALID")
    chat.members[number] = Member(member.status, dict(member.rights), title=title or None)
    request.state.record(chat, request.bot, request.method, 0, title, {"user": number})
    return True


def set_chat_permissions(request: Request) -> bool:
    rights = read_permissions(request)
    chat = request.chat(Access.WRITE)
    if chat.person is not None:
        raise bad_request("Can't change private chat permissions")
    if chat.type == "channel":
        raise bad_request("Can't change channel chat permissions")
    if not has_right(chat, request.member(chat), "can_restrict_members"):
        raise bad_request("Not enough rights to change chat permissions")
    if rights != chat.extra.get("permissions"):
        chat.extra["permissions"] = rights
        request.state.record(chat, request.bot, request.method, 0, "", {"rights": rights})
    return True


def _until(request: Request) -> int:
    """0 for ever: also what is nearer than half a minute or farther than 366 days."""
    until = request.parameters.integer("until_date")
    ahead = until - request.state.world.clock.now()
    return until if 30 <= ahead <= 366 * 86_400 else 0


def _somebody(request: Request, number: int) -> User:
    user = request.user(number)
    if user is None:
        raise bad_request("PARTICIPANT_ID_INVALID")
    return user


def _restrictable(request: Request, chat: Chat, user: User) -> Member:
    """What he is until now."""
    old = request.state.member(chat, user)
    if old.status == "creator":
        raise bad_request("Can't remove chat owner")
    if not has_right(chat, request.member(chat), "can_restrict_members"):
        raise bad_request(_NOT_ALLOWED)
    if old.status == "administrator":
        raise bad_request("user is an administrator of the chat")
    return old


# Permissions


def read_permissions(request: Request) -> dict[str, bool]:
    """Who may send one thing may send plain texts, unless permissions are said to be independent."""
    independent = request.parameters.truth("use_independent_chat_permissions")
    if not request.parameters.has("permissions"):
        return dict.fromkeys(PERMISSIONS, False)
    given = request.json("permissions", "can't parse permissions JSON object")
    if not isinstance(given, dict):
        raise bad_request("Object expected as permissions")
    try:
        return _permissions(Fields(cast("dict[str, Any]", given)), independent=independent)
    except Malformed as error:
        raise bad_request(f"Can't parse chat permissions: {error}") from None


def _permissions(said: Fields, *, independent: bool) -> dict[str, bool]:
    rights: dict[str, Any] = {name: said.truth(name) for name in PERMISSIONS}
    media = [f"can_send_{kind}" for kind in _MEDIA]
    implied = False
    if not any(name in said for name in media):
        rights |= dict.fromkeys(media, said.truth("can_send_media_messages"))
        implied = said.truth("can_send_media_messages")
    for name, other in (
        ("can_manage_topics", "can_pin_messages"),
        ("can_edit_tag", "can_pin_messages"),
        ("can_react_to_messages", "can_send_messages"),
    ):
        if name not in said:
            rights[name] = rights[other]
    if not independent:
        if rights["can_send_other_messages"] or rights["can_add_web_page_previews"]:
            rights |= dict.fromkeys(media, True)
            implied = True
        if implied or rights["can_send_polls"]:
            rights["can_send_messages"] = True
    return rights


METHODS: dict[str, Method] = {
    "banChatMember": ban_chat_member,
    "unbanChatMember": unban_chat_member,
    "restrictChatMember": restrict_chat_member,
    "promoteChatMember": promote_chat_member,
    "setChatAdministratorCustomTitle": set_chat_administrator_custom_title,
    "setChatPermissions": set_chat_permissions,
}
