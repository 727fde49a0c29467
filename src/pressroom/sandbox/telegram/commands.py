"""What a bot says about itself: commands by scope and language, name, descriptions, menu button, wished rights."""

from collections.abc import Mapping
from typing import Any, cast

from pressroom.core.markup import Entity, EntityType, Markup, ParseFailed, fix
from pressroom.sandbox.telegram.fields import Fields, Malformed
from pressroom.sandbox.telegram.refusal import bad_request
from pressroom.sandbox.telegram.request import Access, Method, Request
from pressroom.sandbox.telegram.rights import ADMINISTRATOR_RIGHTS

COMMANDS = 100
COMMAND_LENGTH, COMMAND_DESCRIPTION_LENGTH = 32, 256
_COMMAND_SIGNS = frozenset("abcdefghijklmnopqrstuvwxyz0123456789_")
_WIDE_SCOPES = ("default", "all_private_chats", "all_group_chats", "all_chat_administrators")
_CHAT_SCOPES = ("chat", "chat_administrators", "chat_member")

#: What may be said in each language, how long it may be, and how Telegram refuses what is longer.
_SAYINGS = {
    "name": (64, "BOT_TITLE_INVALID"),
    "description": (512, "BOT_DESCRIPTION_INVALID"),
    "short_description": (120, "BOT_SHORT_DESCRIPTION_INVALID"),
}


# Commands


def get_my_commands(request: Request) -> list[dict[str, str]]:
    return request.bot.about.commands.get(f"{_scope(request)} {_language(request)}", [])


def set_my_commands(request: Request) -> bool:
    commands = _commands(request)
    key = f"{_scope(request)} {_language(request)}"
    checked = [_checked(one) for one in commands]
    if len(checked) > COMMANDS:
        raise bad_request("BOT_COMMANDS_TOO_MUCH")
    if any(not set(one["command"]) <= _COMMAND_SIGNS for one in checked):
        raise bad_request("BOT_COMMAND_INVALID")
    if checked:
        request.bot.about.commands[key] = checked
    else:
        request.bot.about.commands.pop(key, None)
    return True


def delete_my_commands(request: Request) -> bool:
    request.bot.about.commands.pop(f"{_scope(request)} {_language(request)}", None)
    return True


def _commands(request: Request) -> list[dict[str, str]]:
    if not request.parameters.text("commands"):
        return []
    given = request.json("commands", "can't parse commands JSON object")
    if not isinstance(given, list):
        raise bad_request("Expected an Array of BotCommand")
    try:
        return [_command(one) for one in cast("list[object]", given)]
    except Malformed as error:
        raise bad_request(f"Can't parse BotCommand: {error}") from None


def _command(given: object) -> dict[str, str]:
    said = Fields.of(given, "expected an Object")
    return {name: said.required_text(name) for name in ("command", "description")}


def _checked(given: Mapping[str, str]) -> dict[str, str]:
    for name, called in (("command", "Command"), ("description", "Command description")):
        try:
            given[name].encode()
        except UnicodeEncodeError:
            raise bad_request(f"{called} must be encoded in UTF-8") from None
    command, description = given["command"].strip().removeprefix("/"), given["description"].strip()
    if not command:
        raise bad_request("Command must be non-empty")
    if len(command) > COMMAND_LENGTH:
        raise bad_request(f"Command length must not exceed {COMMAND_LENGTH}")
    if not description:
        raise bad_request("Command description must be non-empty")
    if len(description) > COMMAND_DESCRIPTION_LENGTH:
        raise bad_request(f"Command description length must not exceed {COMMAND_DESCRIPTION_LENGTH}")
    return {"command": command, "description": description}


def _scope(request: Request) -> str:
    if not request.parameters.text("scope"):
        return "default"
    given = request.json("scope", "can't parse BotCommandScope JSON object")
    try:
        kind, chat_id, user_id = _read_scope(Fields.of(given, "BotCommandScope must be an Object"))
    except Malformed as error:
        raise bad_request(f"Can't parse BotCommandScope: {error}") from None
    if not chat_id:
        return kind
    chat = request.chat_named(chat_id, Access.READ_MEMBERS)
    if chat.type == "channel":
        raise bad_request("can't change commands in channel chats")
    return f"{kind} {chat.id} {user_id}" if user_id else f"{kind} {chat.id}"


def _read_scope(said: Fields) -> tuple[str, str, int]:
    kind = said.required_text("type")
    if kind in _WIDE_SCOPES:
        return kind, "", 0
    if kind not in _CHAT_SCOPES:
        raise Malformed("Unsupported type specified")
    chat_id = said.required_text("chat_id")
    if not chat_id:
        raise Malformed("Empty chat_id specified")
    if kind != "chat_member":
        return kind, chat_id, 0
    user_id = said.required_integer("user_id", bits=64)
    if user_id <= 0:
        raise Malformed("Invalid user_id specified")
    return kind, chat_id, user_id


def _language(request: Request) -> str:
    code = request.parameters.text("language_code")
    if code and not (len(code) == 2 and code.isascii() and code.isalpha() and code.islower()):
        raise bad_request("Invalid language code specified")
    return code


# Name and descriptions


def _getter(what: str) -> Method:
    def get(request: Request) -> dict[str, str]:
        said, language = request.bot.about.said, _language(request)
        nothing = request.bot.first_name if what == "name" else ""
        return {what: said.get(f"{what} {language}") or said.get(f"{what} ") or nothing}

    return get


def _setter(what: str) -> Method:
    def say(request: Request) -> bool:
        language, text = _language(request), request.parameters.text(what).strip()
        longest, otherwise = _SAYINGS[what]
        if len(text) > longest:
            raise bad_request(otherwise)
        if what == "name" and not text and not language:
            raise bad_request("BOT_TITLE_INVALID")
        said = request.bot.about.said
        if text:
            said[f"{what} {language}"] = text
        else:
            said.pop(f"{what} {language}", None)
        if what == "name" and not language:
            request.bot.first_name = text
        return True

    return say


# The menu button


def get_chat_menu_button(request: Request) -> dict[str, Any]:
    menus = request.bot.about.menus
    person = _menu_owner(request)
    if not person:
        return menus.get("", {"type": "commands"})
    return menus.get(person, {"type": "default"})


def set_chat_menu_button(request: Request) -> bool:
    button = _menu_button(request)
    person = _menu_owner(request)
    menus = request.bot.about.menus
    if "web_app" in button:
        button["web_app"] = {"url": _web_app(button)}
    if button == {"type": "default"}:
        menus.pop(person, None)
    else:
        menus[person] = button
    return True


def _menu_owner(request: Request) -> str:
    if not request.parameters.has("chat_id"):
        return ""
    number = request.user_id("chat_id")
    if request.state.private.get((request.bot.id, number)) is None:
        raise bad_request("user not found")
    return str(number)


def _menu_button(request: Request) -> dict[str, Any]:
    if not request.parameters.text("menu_button"):
        return {"type": "default"}
    given = request.json("menu_button", "can't parse menu button JSON object")
    try:
        said = Fields.of(given, "MenuButton must be an Object")
        kind = said.required_text("type")
        if kind in ("default", "commands"):
            return {"type": kind}
        if kind != "web_app":
            raise Malformed("MenuButton has unsupported type")
        text, app = said.required_text("text"), said.required_object("web_app")
        return {"type": kind, "text": text, "web_app": {"url": app.required_text("url")}}
    except Malformed as error:
        raise bad_request(f"Can't parse menu button: {error}") from None


def _web_app(button: dict[str, Any]) -> str:
    if not button["text"].strip():
        raise bad_request("Menu button text must be non-empty")
    url = button["web_app"]["url"]
    try:
        (link, *_) = fix(Markup("x", (Entity(EntityType.TEXT_LINK, 0, 1, url=url),))).entities
    except ParseFailed as error:
        reason = error.message.rpartition("' is invalid: ")[2]
        raise bad_request(f"Menu button Web App URL '{url}' is invalid: {reason}") from None
    if link.url is None or not link.url.startswith("https://"):
        raise bad_request(f"Menu button Web App URL '{url}' is invalid: Only HTTPS links are allowed")
    return link.url


# Rights that the bot asks for when it is made an administrator


def get_my_default_administrator_rights(request: Request) -> dict[str, bool]:
    kind = _for(request)
    rights = request.bot.about.rights.get(kind, {})
    return {name: rights.get(name, False) for name, types in ADMINISTRATOR_RIGHTS.items() if kind in types}


def set_my_default_administrator_rights(request: Request) -> bool:
    rights: dict[str, bool] = {}
    if request.parameters.text("rights"):
        given = request.json("rights", "can't parse ChatAdministratorRights JSON object")
        try:
            said = Fields.of(given, "ChatAdministratorRights must be an Object")
            rights = {name: said.truth(name) for name in ADMINISTRATOR_RIGHTS}
        except Malformed as error:
            raise bad_request(f"Can't parse ChatAdministratorRights: {error}") from None
    request.bot.about.rights[_for(request)] = rights
    return True


def _for(request: Request) -> str:
    return "channel" if request.parameters.truth("for_channels") else "supergroup"


METHODS: dict[str, Method] = {
    "getMyCommands": get_my_commands,
    "setMyCommands": set_my_commands,
    "deleteMyCommands": delete_my_commands,
    "getMyName": _getter("name"),
    "setMyName": _setter("name"),
    "getMyDescription": _getter("description"),
    "setMyDescription": _setter("description"),
    "getMyShortDescription": _getter("short_description"),
    "setMyShortDescription": _setter("short_description"),
    "getChatMenuButton": get_chat_menu_button,
    "setChatMenuButton": set_chat_menu_button,
    "getMyDefaultAdministratorRights": get_my_default_administrator_rights,
    "setMyDefaultAdministratorRights": set_my_default_administrator_rights,
}
