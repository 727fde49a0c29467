"""Everything that people can do where a bot sees it, once: whoever polls afterwards gets updates of every kind."""

import base64
from typing import Any

from pressroom.sandbox.telegram import TelegramSandbox
from tests.sandbox.clients.place import BOT, NEWS, NOTES, picture

#: What the bot asks for: it would not be told of members otherwise.
ALL = [
    "message",
    "edited_message",
    "channel_post",
    "edited_channel_post",
    "callback_query",
    "my_chat_member",
    "chat_member",
]

#: The kinds of the updates, each with what is said in it, in the order of the deeds.
HEARD = [
    ["message", "/start from-a-link"],
    ["message", "Жирно"],
    ["message", "В ответ"],
    ["message", "photo: Картинка"],
    ["message", "photo: Альбом"],
    ["message", "photo"],
    ["message", "document"],
    ["message", "voice"],
    ["edited_message", "Иначе"],
    ["channel_post", "Пост"],
    ["my_chat_member", "left to administrator"],
    ["message", "new_chat_members"],
    ["chat_member", "left to member"],
    ["message", "new_chat_members"],
    ["message", "Всем привет"],
    ["message", "new_chat_title"],
    ["message", "migrate_to_chat_id"],
    ["message", "migrate_from_chat_id"],
    ["my_chat_member", "administrator to kicked"],
    ["message", "left_chat_member"],
    ["my_chat_member", "member to kicked"],
    ["my_chat_member", "kicked to member"],
]


def busy_day(sandbox: TelegramSandbox) -> None:
    telegram = sandbox.world.providers["telegram"]

    def act(verb: str, **wish: Any) -> dict[str, Any]:
        return telegram.act(verb, wish)

    anna = telegram.add("person", {"name": "Anna", "username": "anna_k", "last_name": "K.", "language": "ru"})[
        "id"
    ]
    act("starts", person=anna, bot=BOT, payload="from-a-link")
    first = act("writes", person=anna, bot=BOT, text="*Жирно*", parse_mode="MarkdownV2")
    act("writes", person=anna, bot=BOT, text="В ответ", reply_to=first["message_id"])
    act("writes", person=anna, bot=BOT, text="Картинка", media=[_medium("photo", picture())])
    act("writes", person=anna, bot=BOT, text="Альбом", media=[_medium("photo", picture())] * 2)
    act("writes", person=anna, bot=BOT, media=[_medium("document", NOTES, "notes.txt")])
    act("writes", person=anna, bot=BOT, media=[_medium("voice", b"OggS" + NOTES)])
    act("edits", person=anna, chat=anna, message_id=first["message_id"], text="Иначе")

    act("posts", chat=NEWS, text="Пост")

    group = telegram.add("chat", {"title": "Друзья", "kind": "group", "bots_are": "left"})["id"]
    act("adds_bot", chat=group, bot=BOT, rights={"can_delete_messages": True})
    act("joins", person=anna, chat=group)
    act("writes", person=anna, chat=group, text="Всем привет")
    act("renames", chat=group, title="Старые друзья")
    act("migrates", chat=group)
    act("removes_bot", chat=telegram.chats()[0]["id"], bot=BOT)

    act("blocks", person=anna, bot=BOT)
    act("unblocks", person=anna, bot=BOT)


def _medium(kind: str, content: bytes, name: str | None = None) -> dict[str, Any]:
    named = {} if name is None else {"name": name}
    return {"kind": kind, "data": base64.b64encode(content).decode(), **named}
