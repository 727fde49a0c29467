import pytest

from tests.sandbox.telegram.api import FRIENDS, NEWS, SECOND_TOKEN, TEAM

START = {"command": "start", "description": "Begin"}
HELP = {"command": "help", "description": "Help"}


async def test_commands_are_kept_by_scope_and_language(api):
    private = {"type": "all_private_chats"}
    await api.result("setMyCommands", commands=[{"command": " /start ", "description": " Begin "}])
    await api.result("setMyCommands", commands=[HELP], scope=private, language_code="ru")

    assert await api.result("getMyCommands") == [START]
    assert await api.result("getMyCommands", scope={"type": "default"}) == [START]
    assert await api.result("getMyCommands", scope=private) == []
    assert await api.result("getMyCommands", scope=private, language_code="ru") == [HELP]
    assert await api.of(SECOND_TOKEN).result("getMyCommands") == []


async def test_commands_of_a_chat_are_found_by_its_name_and_id(api):
    await api.result("setMyCommands", commands=[START], scope={"type": "chat", "chat_id": TEAM})
    await api.result(
        "setMyCommands", commands=[HELP], scope={"type": "chat_member", "chat_id": str(TEAM), "user_id": 7}
    )

    assert await api.result("getMyCommands", scope={"type": "chat", "chat_id": str(TEAM)}) == [START]
    assert await api.result("getMyCommands", scope={"type": "chat_member", "chat_id": TEAM, "user_id": 7}) == [
        HELP
    ]
    await api.result("deleteMyCommands", scope={"type": "chat", "chat_id": TEAM})
    assert await api.result("getMyCommands", scope={"type": "chat", "chat_id": TEAM}) == []


@pytest.mark.parametrize(
    ("parameters", "refusal"),
    [
        ({"commands": "["}, "can't parse commands JSON object"),
        ({"commands": "{}"}, "expected an Array of BotCommand"),
        ({"commands": [7]}, "can't parse BotCommand: expected an Object"),
        ({"commands": [{"command": "x"}]}, "can't parse BotCommand: Can't find field \"description\""),
        ({"commands": [START], "scope": "["}, "can't parse BotCommandScope JSON object"),
        ({"commands": [START], "scope": "[]"}, "can't parse BotCommandScope: BotCommandScope must be an Object"),
        ({"commands": [START], "scope": {"type": "all"}}, "can't parse BotCommandScope: Unsupported type specified"),
        ({"commands": [START], "scope": {"type": "chat"}}, "can't parse BotCommandScope: Can't find field \"chat_id\""),
        ({"commands": [START], "scope": {"type": "chat", "chat_id": ""}}, "can't parse BotCommandScope: Empty chat_id specified"),
        ({"commands": [START], "scope": {"type": "chat_member", "chat_id": FRIENDS, "user_id": 0}}, "can't parse BotCommandScope: Invalid user_id specified"),
        ({"commands": [START], "scope": {"type": "chat", "chat_id": 5}}, "chat not found"),
        ({"commands": [START], "scope": {"type": "chat", "chat_id": NEWS}}, "can't change commands in channel chats"),
        ({"commands": [START], "language_code": "rus"}, "invalid language code specified"),
        ({"commands": [{"command": "/", "description": "x"}]}, "command must be non-empty"),
        ({"commands": [{"command": "x" * 33, "description": "x"}]}, "command length must not exceed 32"),
        ({"commands": [{"command": "x", "description": " "}]}, "command description must be non-empty"),
        ({"commands": [{"command": "x", "description": "x" * 257}]}, "command description length must not exceed 256"),
        ({"commands": [{"command": "Start", "description": "x"}]}, "BOT_COMMAND_INVALID"),
        ({"commands": [START] * 101}, "BOT_COMMANDS_TOO_MUCH"),
    ],
)  # fmt: skip
async def test_commands_are_refused_in_the_real_words(api, parameters, refusal):
    assert await api.refusal("setMyCommands", **parameters) == refusal


async def test_the_name_is_that_of_the_language_or_of_all(api):
    await api.result("setMyName", name="Newsroom")
    await api.result("setMyName", name="Редакция", language_code="ru")

    assert await api.result("getMyName", language_code="ru") == {"name": "Редакция"}
    assert await api.result("getMyName", language_code="de") == {"name": "Newsroom"}
    assert (await api.result("getMe"))["first_name"] == "Newsroom"


@pytest.mark.parametrize(
    ("what", "longest", "refusal"),
    [
        ("Description", 512, "BOT_DESCRIPTION_INVALID"),
        ("ShortDescription", 120, "BOT_SHORT_DESCRIPTION_INVALID"),
    ],
)
async def test_descriptions_are_kept_and_bounded(api, what, longest, refusal):
    field = "description" if what == "Description" else "short_description"

    await api.result(f"setMy{what}", **{field: "x" * longest})

    assert await api.result(f"getMy{what}") == {field: "x" * longest}
    assert await api.refusal(f"setMy{what}", **{field: "x" * (longest + 1)}) == refusal
    await api.result(f"setMy{what}")
    assert await api.result(f"getMy{what}") == {field: ""}


async def test_the_menu_button_is_for_all_or_for_one(api, anna):
    app = {"type": "web_app", "text": "Open", "web_app": {"url": "https://example.com/app"}}
    before = await api.result("getChatMenuButton"), await api.result("getChatMenuButton", chat_id=anna)
    await api.result("setChatMenuButton", menu_button=app, chat_id=anna)

    assert before == ({"type": "commands"}, {"type": "default"})
    assert await api.result("getChatMenuButton", chat_id=anna) == app
    await api.result("setChatMenuButton", chat_id=anna)
    assert await api.result("getChatMenuButton", chat_id=anna) == {"type": "default"}


@pytest.mark.parametrize(
    ("button", "refusal"),
    [
        ("{", "can't parse menu button JSON object"),
        ("[]", "can't parse menu button: MenuButton must be an Object"),
        ({"type": "x"}, "can't parse menu button: MenuButton has unsupported type"),
        ({"type": "web_app", "text": "x"}, "can't parse menu button: Can't find field \"web_app\""),
        ({"type": "web_app", "text": " ", "web_app": {"url": "x.ru"}}, "menu button text must be non-empty"),
        ({"type": "web_app", "text": "x", "web_app": {"url": "x"}}, "menu button Web App URL 'x' is invalid: Wrong HTTP URL"),
        ({"type": "web_app", "text": "x", "web_app": {"url": "x.ru"}}, "menu button Web App URL 'x.ru' is invalid: Only HTTPS links are allowed"),
    ],
)  # fmt: skip
async def test_menu_buttons_are_refused_in_the_real_words(api, button, refusal):
    assert await api.refusal("setChatMenuButton", menu_button=button) == refusal


async def test_wished_rights_are_kept_for_groups_and_channels(api):
    await api.result("setMyDefaultAdministratorRights", rights={"can_post_messages": True}, for_channels=True)

    of_channels = await api.result("getMyDefaultAdministratorRights", for_channels=True)
    of_groups = await api.result("getMyDefaultAdministratorRights")

    assert {name for name, value in of_channels.items() if value} == {"can_post_messages"}
    assert set(of_groups.values()) == {False}
    assert await api.refusal("setMyDefaultAdministratorRights", rights="[]") == (
        "can't parse ChatAdministratorRights: ChatAdministratorRights must be an Object"
    )
