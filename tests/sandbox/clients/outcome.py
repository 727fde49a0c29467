"""What each flow leaves behind, whichever client ran it: the clients differ, the chats afterwards do not."""

from typing import Any

from tests.sandbox.clients.place import DEALS, NEWS, TelegramPlace

HTML = '<b>Привет</b>, <a href="https://example.com/">мир</a> &amp; все'
MARKDOWN = "*Жирно*, _косо_ и `код`\\."
MARKDOWN_AS_HTML = "<b>Жирно</b>, <i>косо</i> и <code>код</code>."
REPLY = "В ответ"

YES = {"text": "Да", "kind": "callback", "data": "yes"}
SITE = {"text": "Сайт", "kind": "url", "data": "https://example.com/"}
NO = {"text": "Нет", "kind": "callback", "data": "no"}


def entity(kind: str, offset: int, length: int, **more: Any) -> dict[str, Any]:
    return {"type": kind, "offset": offset, "length": length, **more}


def texts(telegram: TelegramPlace, anna: int) -> None:
    """A post with buttons and an answer to it in a channel; to a person, a text with a keyboard."""
    assert telegram.shown(NEWS) == [
        {
            "text": "Привет, мир & все",
            "entities": [entity("bold", 0, 6), entity("text_link", 8, 3, url="https://example.com/")],
            "buttons": [[YES, SITE]],
        },
        {"text": "В ответ", "reply_to": 1},
    ]
    (told,) = telegram.shown(anna)[-1:]
    assert told["text"] == "Жирно, косо и код."
    assert told["entities"] == [entity("bold", 0, 5), entity("italic", 7, 4), entity("code", 14, 3)]
    assert telegram.bots_deeds() == ["sendMessage"] * 3


def media(telegram: TelegramPlace) -> None:
    """A photo from memory, from a file and by its address; a document, and the same one again by its file_id."""
    assert telegram.shown(NEWS) == [
        {"text": "Синее", "entities": [entity("italic", 0, 5)], "media": ["photo"]},
        {"media": ["photo"]},
        {"text": "По адресу", "media": ["photo"]},
        {"text": "Заметки", "media": ["document"]},
        {"media": ["document"]},
    ]
    assert telegram.bots_deeds() == ["sendPhoto"] * 3 + ["sendDocument"] * 2


def album(telegram: TelegramPlace) -> None:
    """Three photos, two uploaded and one by its address, the first with a caption."""
    assert telegram.shown(NEWS) == [
        {"text": "Альбом", "entities": [entity("bold", 0, 6)], "media": ["photo"], "album": True},
        {"media": ["photo"], "album": True},
        {"media": ["photo"], "album": True},
    ]


def edits(telegram: TelegramPlace) -> None:
    """A text changed twice and deleted, a photo with its caption changed and then replaced."""
    assert telegram.shown(NEWS) == [
        {
            "text": "Другая картинка",
            "entities": [entity("bold", 0, 6)],
            "buttons": [[NO]],
            "media": ["photo"],
            "edited": True,
        }
    ]
    assert telegram.bots_deeds() == [
        "sendMessage",
        "editMessageText",
        "editMessageReplyMarkup",
        "sendPhoto",
        "editMessageCaption",
        "editMessageMedia",
        "deleteMessage",
    ]


def moves(telegram: TelegramPlace) -> None:
    """A post pinned, forwarded and copied; the copy does not say where it comes from."""
    assert telegram.shown(NEWS) == [{"text": "Новость", "pinned": True}]
    assert telegram.shown(DEALS) == [{"text": "Новость", "forwarded": True}, {"text": "Новость"}]


def talk(telegram: TelegramPlace, anna: int) -> None:
    """The person said /start, was greeted, pressed the button, and the greeting became an answer."""
    assert [view["text"] for view in telegram.shown(anna)] == ["/start", "Выбрано: yes"]
    assert telegram.bots_deeds() == ["sendMessage", "answerCallbackQuery", "editMessageText"]
