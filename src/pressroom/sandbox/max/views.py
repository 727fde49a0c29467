"""How the window and the control API see MAX: its chats and messages in the words of `core.view`."""

from itertools import islice
from typing import Any

from pressroom.sandbox.core.view import (
    ActorView,
    ButtonView,
    ChatView,
    EntityView,
    MediaView,
    MessageView,
)
from pressroom.sandbox.max.markup import Element
from pressroom.sandbox.max.model import Attachment, Chat, ChatKind, Link, Message, User
from pressroom.sandbox.max.state import State

SHOWN = 20  # bots and people of a chat

_ENTITIES = {
    "strong": "bold",
    "emphasized": "italic",
    "strikethrough": "strikethrough",
    "underline": "underline",
    "monospaced": "code",
    "link": "text_link",
    "user_mention": "mention",
    "highlighted": "highlighted",
    "heading": "heading",
    "quote": "blockquote",
}
_MEDIA = {
    "image": "photo",
    "video": "video",
    "audio": "audio",
    "file": "document",
    "sticker": "sticker",
    "contact": "contact",
    "location": "location",
}
_BUTTONS = {
    "callback": "callback",
    "link": "url",
    "clipboard": "copy",
    "request_contact": "contact",
    "request_geo_location": "location",
    "open_app": "app",
    "message": "message",
}


def actor_view(user: User) -> ActorView:
    view: ActorView = {"id": user.id, "name": user.name, "kind": "bot" if user.is_bot else "person"}
    if user.username:
        view["username"] = user.username
    return view


def chat_view(state: State, chat: Chat) -> ChatView:
    people = [state.users[member] for member in chat.members if not state.users[member].is_bot]
    view: ChatView = {
        "id": chat.id,
        "kind": chat.kind.value,
        "title": title(state, chat),
        "bots": [actor_view(bot) for bot in islice(state.bots_in(chat), SHOWN)],
        "people": [actor_view(person) for person in people[:SHOWN]],
        "messages": len(chat.messages),
    }
    if chat.link:
        view["username"] = chat.link
    newest = chat.newest
    if newest is not None:
        view["last"] = message_view(state, newest)
    if chat.closed or chat.suspended:
        view["state"] = "deleted" if chat.closed else "blocked"
    return view


def title(state: State, chat: Chat) -> str:
    if chat.kind is not ChatKind.DIALOG:
        return chat.title or ""
    return " — ".join(user.name for user in sorted(_sides(state, chat), key=lambda user: user.is_bot))


def _sides(state: State, chat: Chat) -> list[User]:
    return [state.users[member] for member in chat.members]


def message_view(state: State, message: Message) -> MessageView:
    chat = state.chats[message.chat]
    view: MessageView = {
        "id": message.mid,
        "at": message.at / 1000,
        "sender": _sender(state, chat, message),
        "text": _shown(message).text or "",
    }
    _put_content(state, view, _shown(message))
    if message.buttons:
        view["buttons"] = [[button_view(button) for button in row] for row in message.buttons]
    if message.link is not None and message.link.type == "reply":
        view["reply_to"] = {
            "id": message.link.mid,
            "sender": state.users[message.link.author].name,
            "text": message.link.text or "",
        }
    if message.link is not None and message.link.type == "forward":
        view["forwarded_from"] = forwarded_from(state, message.link)
    if message.edited_at is not None:
        view["edited_at"] = message.edited_at / 1000
    if chat.pinned == message.mid:
        view["pinned"] = True
    if chat.kind is ChatKind.CHANNEL:
        view["views"] = message.views
    return view


def _shown(message: Message) -> Message | Link:
    """A forwarded message shows what it was made from."""
    return message.link if message.link is not None and message.link.type == "forward" else message


def _sender(state: State, chat: Chat, message: Message) -> ActorView:
    if not chat.shows_authors:
        return {"id": chat.id, "name": chat.title or "", "kind": "channel"}
    return actor_view(state.users[message.author])


def _put_content(state: State, view: MessageView, source: Message | Link) -> None:
    if source.markup:
        view["entities"] = [entity_view(each) for each in source.markup]
    media = [media_view(state, each) for each in source.attachments if each.type in _MEDIA]
    if media:
        view["media"] = media
    share = next((each for each in source.attachments if each.type == "share"), None)
    if share is not None and share.fields["payload"].get("url"):
        view["preview"] = {"url": share.fields["payload"]["url"]}


def forwarded_from(state: State, link: Link) -> str:
    if link.signed:
        return state.users[link.author].name
    chat = state.chats.get(link.chat)
    return title(state, chat) if chat else ""


def entity_view(element: Element) -> EntityView:
    view: EntityView = {
        "type": _ENTITIES[element.type],
        "offset": element.begin,
        "length": element.length,
    }
    if element.url is not None:
        view["url"] = element.url
    if element.user_id is not None:
        view["type"] = "text_mention"
        view["user_id"] = element.user_id
    return view


def media_view(state: State, attachment: Attachment) -> MediaView:
    view: MediaView = {"kind": _MEDIA[attachment.type]}
    media = attachment.media
    if media is not None:
        view["name"], view["type"] = media.name, media.type
        view["size"], view["file"] = media.size, media.token
        if media.width is not None and media.height is not None:
            view["width"], view["height"] = media.width, media.height
        if media.duration is not None:
            view["duration"] = media.duration
    elif attachment.title:
        view["title"] = attachment.title
    return view


def button_view(button: dict[str, Any]) -> ButtonView:
    view: ButtonView = {"text": button["text"], "kind": _BUTTONS.get(button["type"], "other")}
    data = button.get("payload") if button["type"] in ("callback", "clipboard") else button.get("url")
    if data is not None:
        view["data"] = data
    return view


def details(state: State, message: Message) -> dict[str, Any] | None:
    """What the ledger keeps of a message besides its text."""
    view = message_view(state, message)
    names = ("entities", "buttons", "reply_to", "forwarded_from", "preview")
    kept = {name: view.get(name) for name in names if name in view}
    media = [
        {**media_view(state, each), **({"sha256": each.media.sha256} if each.media else {})}
        for each in _shown(message).attachments
        if each.type in _MEDIA
    ]
    if media:
        kept["media"] = media
    return kept or None
