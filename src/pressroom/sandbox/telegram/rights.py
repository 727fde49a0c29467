"""What a member may do in a chat: the rights of administrators, the permissions of everybody else.

An administrator has each right that his `rights` do not take away; a restricted member has none but those that his
grant; other members have what the chat's permissions leave to all.
"""

from collections.abc import Mapping

from pressroom.sandbox.telegram.model import Chat, Member
from pressroom.sandbox.telegram.refusal import bad_request

#: In the order of the real server's answers, with the types of chats that know them.
_GROUPS, _CHANNELS, _ALL = ("group", "supergroup"), ("channel",), ("group", "supergroup", "channel")
ADMINISTRATOR_RIGHTS: Mapping[str, tuple[str, ...]] = {
    "can_manage_chat": _ALL,
    "can_change_info": _ALL,
    "can_post_messages": _CHANNELS,
    "can_edit_messages": _CHANNELS,
    "can_delete_messages": _ALL,
    "can_invite_users": _ALL,
    "can_restrict_members": _ALL,
    "can_pin_messages": _GROUPS,
    "can_manage_topics": ("supergroup",),
    "can_promote_members": _ALL,
    "can_manage_video_chats": _ALL,
    "can_post_stories": _ALL,
    "can_edit_stories": _ALL,
    "can_delete_stories": _ALL,
    "can_manage_direct_messages": _CHANNELS,
    "can_manage_tags": _GROUPS,
    "can_send_welcome_messages": _ALL,
    "is_anonymous": _ALL,
}
PERMISSIONS = (
    "can_send_messages",
    "can_send_audios",
    "can_send_documents",
    "can_send_photos",
    "can_send_videos",
    "can_send_video_notes",
    "can_send_voice_notes",
    "can_send_polls",
    "can_send_other_messages",
    "can_add_web_page_previews",
    "can_react_to_messages",
    "can_edit_tag",
    "can_change_info",
    "can_invite_users",
    "can_pin_messages",
    "can_manage_topics",
)
#: The permission that a kind of message needs, and how the refusal calls such messages.
_SENDING: Mapping[str, tuple[str, str]] = {
    "text": ("can_send_messages", "text messages"),
    "photo": ("can_send_photos", "photos"),
    "video": ("can_send_videos", "videos"),
    "animation": ("can_send_other_messages", "animations"),
    "audio": ("can_send_audios", "music"),
    "document": ("can_send_documents", "documents"),
    "voice": ("can_send_voice_notes", "voice notes"),
    "video_note": ("can_send_video_notes", "video notes"),
    "sticker": ("can_send_other_messages", "stickers"),
    "dice": ("can_send_other_messages", "dice"),
    "poll": ("can_send_polls", "polls"),
    "location": ("can_send_messages", "locations"),
    "venue": ("can_send_messages", "venues"),
    "contact": ("can_send_messages", "contacts"),
}


def administrator_rights(chat_type: str, rights: Mapping[str, bool]) -> dict[str, bool]:
    """Those that such a chat knows. Who hides his name was told to."""
    return {
        name: rights.get(name, name != "is_anonymous")
        for name, types in ADMINISTRATOR_RIGHTS.items()
        if chat_type in types
    }


def permissions(rights: Mapping[str, bool], *, otherwise: bool) -> dict[str, bool]:
    return {name: rights.get(name, otherwise) for name in PERMISSIONS}


def has_right(chat: Chat, member: Member, right: str) -> bool:
    """Whether he has it as administrator."""
    if member.status == "creator":
        return True
    return member.status == "administrator" and member.rights.get(right, True)


def may(chat: Chat, member: Member, permission: str) -> bool:
    """Whether he has it, as administrator or as everybody has."""
    if permission in ADMINISTRATOR_RIGHTS and has_right(chat, member, permission):
        return True
    if member.status in ("creator", "administrator"):
        return permission not in ADMINISTRATOR_RIGHTS
    if member.status == "restricted":
        return member.rights.get(permission, False)
    common: Mapping[str, bool] = chat.extra.get("permissions", {})
    return member.status == "member" and common.get(permission, True)


def check_writing(chat: Chat, member: Member) -> None:
    """Before anything is said about what shall be sent."""
    if chat.type == "channel" and not has_right(chat, member, "can_post_messages"):
        raise bad_request("need administrator rights in the channel chat")


def check_sending(chat: Chat, member: Member, kind: str) -> None:
    if chat.person is None and chat.type != "channel" and not can_send(chat, member, kind):
        raise bad_request(f"not enough rights to send {_SENDING[kind][1]} to the chat")


def can_send(chat: Chat, member: Member, kind: str) -> bool:
    return chat.person is not None or may(chat, member, _SENDING[kind][0])


def need(chat: Chat, member: Member, permission: str, otherwise: str) -> None:
    """`otherwise` is the refusal. In a basic group only an administrator among bots has any such right."""
    is_common = chat.type == "group" and member.status not in ("creator", "administrator")
    if is_common or not may(chat, member, permission):
        raise bad_request(otherwise)
