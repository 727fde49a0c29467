"""What somebody is in a chat, as bots are told, and that it changes."""

from typing import Any

from pressroom.sandbox.telegram.model import Chat, Member, User
from pressroom.sandbox.telegram.rights import administrator_rights, permissions


def member_json(chat: Chat, user: User, member: Member) -> dict[str, Any]:
    """A ChatMember."""
    said: dict[str, Any] = {"user": user.as_json(), "status": member.status}
    match member.status:
        case "creator":
            said["is_anonymous"] = member.rights.get("is_anonymous", False)
        case "administrator":
            said |= {"can_be_edited": False, **administrator_rights(chat.type, member.rights)}
            if member.title:
                said["custom_title"] = member.title
        case "restricted":
            said |= {"until_date": member.until, **permissions(member.rights, otherwise=False)}
            said["is_member"] = member.rights.get("is_member", True)
        case "kicked":
            said["until_date"] = member.until
        case _:
            pass
    return said
