"""`reply_markup` in its four forms: read as the server reads it, then looked at again for the chat it goes to.

`read_keyboard` complains about JSON; `for_chat` and `inline_only` about what such a chat cannot have, and Telegram's
own refusals (`check_inline`) come after everything else.
"""

import json
from dataclasses import dataclass, field
from typing import Any, cast

from pressroom.core.markup import Entity, EntityType, Markup, ParseFailed, fix
from pressroom.sandbox.telegram.fields import Fields, Malformed, Number, check_unicode, decode
from pressroom.sandbox.telegram.model import Chat
from pressroom.sandbox.telegram.parameters import Parameters
from pressroom.sandbox.telegram.refusal import Refusal, bad_request

IN_A_ROW, IN_ALL = 12, 300  # buttons; what is over is dropped without a word
DATA_BYTES = 64
COPIED_LENGTH = 256
URL_BYTES = 2048
INLINE_BYTES = 10_240  # measured by users; Telegram does not publish it
INLINE_BUTTONS = 100  # as well

Buttons = list[list[dict[str, Any]]]
_STYLES = ("primary", "danger", "success")
_REQUESTS = {
    "request_contact": "Phone number can be requested in private chats only",
    "request_location": "Location can be requested in private chats only",
    "request_poll": "Poll can be requested in private chats only",
    "web_app": "Web App buttons can be used in private chats only",
    "request_users": "Users can be requested in private chats only",
    "request_chat": "Chats can be requested in private chats only",
    "request_managed_bot": "Managed bots can be requested in private chats only",
}
_FOREIGN = "because users will not be able to use the button without knowing bot's username"


@dataclass(frozen=True, slots=True)
class Keyboard:
    """`kind` is the name of the field that makes it: inline_keyboard, keyboard, remove_keyboard, force_reply."""

    kind: str
    rows: Buttons = field(default_factory=Buttons)
    options: dict[str, Any] = field(default_factory=dict[str, Any])

    @property
    def is_inline(self) -> bool:
        return self.kind == "inline_keyboard"

    def as_json(self) -> dict[str, Any]:
        value = self.rows if self.kind in ("inline_keyboard", "keyboard") else True
        return {self.kind: value, **self.options}


def read_keyboard(parameters: Parameters) -> Keyboard | None:
    given = parameters.text("reply_markup")
    if not given:
        return None
    try:
        said = decode(given, any_text=True)
    except Malformed:
        raise bad_request("can't parse reply keyboard markup JSON object") from None
    try:
        return _keyboard(Fields.of(said, "Object expected as reply markup"))
    except Malformed as error:
        raise bad_request(str(error)) from None


def _keyboard(said: Fields) -> Keyboard | None:
    rows = _rows(said, "keyboard", 'Field "keyboard" must be an Array of Arrays', "keyboard", _button)
    inline = _rows(
        said,
        "inline_keyboard",
        'Field "inline_keyboard" of the InlineKeyboardMarkup must be an Array of Arrays',
        "inline keyboard",
        _inline_button,
    )
    removes = [said.truth("hide_keyboard"), said.truth("remove_keyboard")]
    selective = [said.truth("personal_keyboard"), said.truth("selective")]
    forces = [said.truth("force_reply_keyboard"), said.truth("force_reply")]
    options: dict[str, Any] = {"selective": True} if any(selective) else {}
    placeholder = said.text("input_field_placeholder")
    if rows:
        for name in ("resize_keyboard", "one_time_keyboard", "is_persistent"):
            if said.truth(name):
                options[name] = True
        return Keyboard("keyboard", rows, {**options, **_placeholder(placeholder)})
    if inline:
        return Keyboard("inline_keyboard", inline)
    if any(removes):
        return Keyboard("remove_keyboard", options=options)
    if any(forces):
        return Keyboard("force_reply", options={**options, **_placeholder(placeholder)})
    return None


def _placeholder(text: str) -> dict[str, str]:
    check_unicode(text)
    return {"input_field_placeholder": text} if text else {}


def _rows(said: Fields, name: str, otherwise: str, what: str, read: Any) -> Buttons:
    rows: Buttons = []
    for row in said.array(name) or []:
        if not isinstance(row, list):
            raise Malformed(otherwise)
        try:
            rows.append([read(one) for one in cast("list[object]", row)])
        except Malformed as error:
            raise Malformed(f"Can't parse {what} button: {error}") from None
    return rows


def _looks(said: Fields) -> dict[str, Any]:
    """Text, icon and colour, which both kinds of buttons have."""
    button: dict[str, Any] = {"text": said.required_text("text")}
    icon = said.integer("icon_custom_emoji_id", bits=64)
    style = said.text("style").lower()
    if style not in ("", "default", *_STYLES):
        raise Malformed("invalid button style specified")
    if icon:
        button["icon_custom_emoji_id"] = str(icon)
    if style in _STYLES:
        button["style"] = style
    return button


# Buttons that take the place of a person's keyboard


def _button(given: object) -> dict[str, Any]:
    if isinstance(given, str) and not isinstance(given, Number):
        return {"text": given}
    said = Fields.of(given, "KeyboardButton must be a String or an Object")
    return {**_looks(said), **_wish(said)}


def _wish(said: Fields) -> dict[str, Any]:
    phone = [said.truth("request_phone_number"), said.truth("request_contact")]
    if any(phone):
        return {"request_contact": True}
    if said.truth("request_location"):
        return {"request_location": True}
    if "request_poll" in said:
        kind = said.required_object("request_poll").text("type")
        return {"request_poll": {"type": kind} if kind in ("quiz", "regular") else {}}
    if "web_app" in said:
        return {"web_app": {"url": said.required_object("web_app").required_text("url")}}
    if "request_users" in said or "request_user" in said:
        return {"request_users": _request(said, "request_users" if "request_users" in said else "request_user")}
    for name in ("request_chat", "request_managed_bot"):
        if name in said:
            return {name: _request(said, name)}
    return {}


def _request(said: Fields, name: str) -> dict[str, Any]:
    wish = said.required_object(name)
    request: dict[str, Any] = {"request_id": wish.required_integer("request_id")}
    for flag in ("user_is_bot", "user_is_premium", "chat_is_channel", "chat_is_forum", "chat_has_username",
                 "chat_is_created", "bot_is_member", "request_name", "request_username", "request_title",
                 "request_photo"):  # fmt: skip
        if flag in wish:
            request[flag] = wish.truth(flag)
    if "max_quantity" in wish:
        request["max_quantity"] = wish.integer("max_quantity")
    return request


# Buttons under a message


def _inline_button(given: object) -> dict[str, Any]:
    said = Fields.of(given, "InlineKeyboardButton must be an Object")
    return {**_looks(said), **_deed(said)}


def _deed(said: Fields) -> dict[str, Any]:
    """What a press does: the first of these that is there."""
    for name in ("url", "callback_data"):
        if text := said.text(name):
            return {name: text}
    if "callback_game" in said:
        return {"callback_game": {}}
    if "pay" in said:
        return {"pay": True}
    if "switch_inline_query" in said:
        return {"switch_inline_query": said.required_text("switch_inline_query")}
    if "switch_inline_query_chosen_chat" in said:
        return {
            "switch_inline_query_chosen_chat": _chosen_chat(
                said.required_object("switch_inline_query_chosen_chat")
            )
        }
    if "switch_inline_query_current_chat" in said:
        return {"switch_inline_query_current_chat": said.required_text("switch_inline_query_current_chat")}
    if "login_url" in said:
        return {"login_url": _login(said.required_object("login_url"))}
    if "web_app" in said:
        return {"web_app": {"url": said.required_object("web_app").required_text("url")}}
    if "copy_text" in said:
        return {"copy_text": {"text": said.required_object("copy_text").required_text("text")}}
    raise Malformed("Text buttons are unallowed in the inline keyboard")


def _chosen_chat(said: Fields) -> dict[str, Any]:
    kinds = ("allow_user_chats", "allow_bot_chats", "allow_group_chats", "allow_channel_chats")
    return {"query": said.text("query"), **{kind: said.truth(kind) for kind in kinds}}


def _login(said: Fields) -> dict[str, Any]:
    url, name = said.required_text("url"), said.text("bot_username")
    said.truth("request_write_access")
    said.text("forward_text")
    bare = name.removeprefix("@")
    if name and not (bare.isascii() and bare.replace("_", "a").isalnum()):
        raise Malformed("LoginUrl bot username is invalid")
    return {"url": url}


# What the chat it goes to allows


def for_chat(keyboard: Keyboard | None, chat: Chat) -> Keyboard | None:
    """In a channel only buttons under a message make sense."""
    if chat.type == "channel":
        return inline_only(keyboard, chat)
    if keyboard is None:
        return None
    if keyboard.is_inline:
        return _inline(keyboard, chat)
    if keyboard.kind == "keyboard":
        rows = _kept(keyboard.rows)
        for button in (button for row in rows for button in row):
            _check_button(button, is_private=chat.person is not None)
        return Keyboard(keyboard.kind, rows, keyboard.options) if rows else None
    return keyboard


def inline_only(keyboard: Keyboard | None, chat: Chat) -> Keyboard | None:
    if keyboard is not None and not keyboard.is_inline:
        raise bad_request("Inline keyboard expected")
    return None if keyboard is None else _inline(keyboard, chat)


def _inline(keyboard: Keyboard, chat: Chat) -> Keyboard | None:
    rows = _kept(keyboard.rows)
    rows = [[_checked(button, in_channel=chat.type == "channel") for button in row] for row in rows]
    return Keyboard(keyboard.kind, rows) if rows else None


def _kept(rows: Buttons) -> Buttons:
    """Without buttons that show nothing, and without what is too much."""
    kept: Buttons = []
    left = IN_ALL
    for row in rows:
        seen = [button for button in row if button["text"] or "icon_custom_emoji_id" in button]
        seen = seen[: min(IN_A_ROW, left)]
        left -= len(seen)
        if seen:
            kept.append(seen)
    return kept


def _check_button(button: dict[str, Any], *, is_private: bool) -> None:
    _check_text(button, "Keyboard")
    for name, otherwise in _REQUESTS.items():
        if name in button and not is_private:
            raise bad_request(otherwise)
    if "web_app" in button:
        _https(button["web_app"]["url"], "Keyboard button Web App")


def _check_text(button: dict[str, Any], what: str) -> None:
    if not _is_text(button["text"]):
        raise bad_request(f"{what} button text must be encoded in UTF-8")
    if not button["text"].strip():
        raise bad_request(f"{what} button text must be non-empty")


def _checked(button: dict[str, Any], *, in_channel: bool) -> dict[str, Any]:
    """As Telegram shows it."""
    _check_text(button, "Inline keyboard")
    if "url" in button:
        return {**button, "url": _link(button["url"])}
    if "login_url" in button:
        looks = {name: value for name, value in button.items() if name != "login_url"}
        return {**looks, "url": _https(button["login_url"]["url"], "Inline keyboard button login")}
    if "web_app" in button:
        return {
            **button,
            "web_app": {"url": _https(button["web_app"]["url"], "Inline keyboard button Web App")},
        }
    for name in ("switch_inline_query", "switch_inline_query_chosen_chat", "switch_inline_query_current_chat"):
        if name in button and in_channel:
            shown = "switch_inline_query" if name.endswith("chosen_chat") else name
            raise bad_request(f"Can't use {shown} button in a channel chat, {_FOREIGN}")
    _check_words(button)
    return {**button, "callback_data": "INVALID"} if not _is_text(button.get("callback_data", "")) else button


def _check_words(button: dict[str, Any]) -> None:
    chosen: dict[str, Any] = button.get("switch_inline_query_chosen_chat", {})
    for words, what in (
        (button.get("switch_inline_query", chosen.get("query", "")), "switch inline query"),
        (button.get("switch_inline_query_current_chat", ""), "switch inline query"),
        (button.get("copy_text", {}).get("text", ""), "copied text"),
    ):
        if not _is_text(words):
            raise bad_request(f"Inline keyboard button {what} must be encoded in UTF-8")


def _is_text(given: str) -> bool:
    try:
        given.encode()
    except UnicodeEncodeError:
        return False
    return True


def _link(url: str) -> str:
    user, kept = _followed(url, "Inline keyboard button")
    return kept if user is None else f"tg://user?id={user}"


def _https(url: str, what: str) -> str:
    user, kept = _followed(url, what)
    if user is not None:
        kind = "login URL" if what.endswith("login") else "Web App URL"
        raise bad_request(f"Link to a user can't be used in {kind} buttons")
    if not kept.startswith("https://"):
        raise bad_request(f"{what} URL '{url}' is invalid: Only HTTPS links are allowed")
    return kept


def _followed(url: str, what: str) -> tuple[int | None, str]:
    """Where a link leads: to a user, or to a page in the form that Telegram keeps."""
    try:
        (link, *_) = fix(Markup("x", (Entity(EntityType.TEXT_LINK, 0, 1, url=url),))).entities
    except ParseFailed as error:
        if error.message.startswith("messageEntity"):
            raise bad_request("Inline keyboard button URL must be encoded in UTF-8") from None
        reason = error.message.rpartition("' is invalid: ")[2]
        raise bad_request(f"{what} URL '{url}' is invalid: {reason}") from None
    return link.user_id, link.url or url


# Telegram's own refusals


def check_inline(keyboard: Keyboard | None, chat: Chat) -> None:
    if keyboard is None or not keyboard.is_inline:
        return
    buttons = [button for row in keyboard.rows for button in row]
    for button in buttons:
        if (refused := _refused(button, chat)) is not None:
            raise refused
    size = len(json.dumps(keyboard.rows, ensure_ascii=False).encode(errors="surrogatepass"))
    if len(buttons) > INLINE_BUTTONS or size > INLINE_BYTES:
        raise bad_request("reply markup is too long")


def _refused(button: dict[str, Any], chat: Chat) -> Refusal | None:
    if len(button.get("callback_data", "").encode(errors="surrogatepass")) > DATA_BYTES:
        return bad_request("BUTTON_DATA_INVALID")
    if len(button.get("url", "").encode(errors="surrogatepass")) > URL_BYTES:
        return bad_request("BUTTON_URL_INVALID")
    if len(button.get("copy_text", {}).get("text", "")) > COPIED_LENGTH:
        return bad_request("BUTTON_COPY_TEXT_INVALID")
    if "web_app" in button and chat.person is None:
        return bad_request("BUTTON_TYPE_INVALID")
    return None
