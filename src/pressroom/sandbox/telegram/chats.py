"""Who the bot is, and what it may know of chats: getMe, getChat."""

from typing import Any

from pressroom.sandbox.telegram.request import Method, Request

NO_GIFTS = dict.fromkeys(
    ("unlimited_gifts", "limited_gifts", "unique_gifts", "premium_subscription", "gifts_from_channels"), False
)


def get_me(request: Request) -> dict[str, Any]:
    return {
        **request.bot.as_json(),
        "can_join_groups": True,
        "can_read_all_group_messages": False,
        "supports_inline_queries": False,
    }


def get_chat(request: Request) -> dict[str, Any]:
    chat = request.chat()
    return {**chat.as_json(), "accent_color_id": 0, "max_reaction_count": 11, "accepted_gift_types": NO_GIFTS}


METHODS: dict[str, Method] = {"getMe": get_me, "getChat": get_chat}
