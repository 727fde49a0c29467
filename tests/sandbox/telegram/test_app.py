"""What holds for every method: tokens that are bots by themselves, and faults that meet one bot, or a download."""

import aiohttp
import pytest

from pressroom.sandbox.telegram import app
from tests.sandbox.telegram.hearing import BOT, FRIENDS, NEWS, SECOND_BOT, SECOND_TOKEN, new_sandbox


async def test_any_well_formed_token_is_a_bot(bot, telegram_stage):
    telegram_stage.app = sandbox = new_sandbox(any_token=True)
    mine, other_secret = bot.of("4242:mine"), bot.of("4242:renewed")

    me = await mine.result("getMe")
    await mine.result("sendMessage", chat_id=NEWS, text="x")

    assert (me["id"], me["username"]) == (4242, "bot_4242_bot")
    assert await other_secret.result("getMe") == me
    assert [one.actor for one in sandbox.effects()] == ["bot_4242_bot"]
    assert len(sandbox.bots()) == 2


@pytest.mark.parametrize("token", ["nocolon", "0123:x", "-1:x", "1:" + "x" * 80, f"{1 << 54}:x"])
async def test_other_tokens_are_malformed_even_then(bot, telegram_stage, token):
    telegram_stage.app = new_sandbox(any_token=True)

    assert await bot.of(token)("getMe") == (
        401,
        {"ok": False, "error_code": 401, "description": "Unauthorized: invalid token specified"},
    )


@pytest.mark.parametrize("token", [":x", "word:x", "+1:x", "-0:x", "9" * 70 + ":x", f"{1 << 63}:x", "١:x"])
async def test_before_the_colon_there_is_a_number(bot, telegram_stage, token):
    telegram_stage.app = new_sandbox(any_token=True)

    assert await bot.of(token)("getMe") == (
        421,
        {"ok": False, "error_code": 421, "description": "Misdirected Request: unallowed token specified"},
    )


async def test_new_secrets_of_a_known_bot_are_not_collected(bot, telegram_stage):
    telegram_stage.app = sandbox = new_sandbox(any_token=True)

    names = {(await bot.of(f"4242:{number}").result("getMe"))["username"] for number in range(20)}

    assert names == {"bot_4242_bot"}
    assert len(sandbox._state.bots) == 2


async def test_no_more_than_so_many_bots_make_themselves(bot, telegram_stage, monkeypatch):
    monkeypatch.setattr(app, "MOST_BOTS", 2)
    telegram_stage.app = sandbox = new_sandbox(any_token=True)
    await bot.of("4242:x").result("getMe")

    refused = await bot.of("4243:x")("getMe")

    assert refused == (401, {"ok": False, "error_code": 401, "description": "Unauthorized"})
    assert (await bot.of("4242:y")("getMe"))[0] == 200
    assert len(sandbox.bots()) == 2


async def test_of_a_request_only_so_much_is_noted(bot, sandbox):
    await bot("x" * 5_000)
    await bot("sendMediaGroup", chat_id=NEWS, media=[{"type": "y" * 5_000, "media": "http://a.b/c"}])

    unknown, refused = sandbox.world.calls

    assert unknown.method == "x" * 100
    assert refused.description.startswith("Bad Request: can't parse InputMedia: type \"yyy")
    assert len(refused.description) == 1_000


async def test_the_test_environment_is_the_same_world(bot, sandbox):
    sandbox.person("Anna")
    sandbox.act("writes", {"person": "Anna", "bot": BOT, "media": [{"kind": "document", "data": "eHl6"}]})
    (update,) = await bot.result("test/getUpdates")
    path = (await bot.result("test/getFile", file_id=update["message"]["document"]["file_id"]))["file_path"]

    async with bot.http.get(f"/file/bot{bot.token}/test/{path}") as response:
        assert await response.read() == b"xyz"


@pytest.mark.parametrize("path", ["test", "testing", "test.getMe"])
async def test_what_only_begins_like_the_test_environment_is_nowhere(bot, path):
    assert await bot(path) == (404, {"ok": False, "error_code": 404, "description": "Not Found"})


async def test_a_fault_meets_one_bot(bot, sandbox):
    sandbox.add("bot", {"token": SECOND_TOKEN, "username": SECOND_BOT})
    sandbox.fail_next(502, bot=SECOND_BOT, method="*", times=None)

    assert (await bot("getMe"))[0] == 200
    assert (await bot.of(SECOND_TOKEN)("getUpdates"))[0] == 502


@pytest.mark.parametrize(
    ("name", "code", "description", "parameters"),
    [
        ("flood", 429, "Too Many Requests: retry after 1", {"retry_after": 1}),
        (
            "migrated",
            400,
            "Bad Request: group chat was upgraded to a supergroup chat",
            {"migrate_to_chat_id": -1_000_000_000_042},
        ),
        ("blocked", 403, "Forbidden: bot was blocked by the user", None),
        ("deactivated", 403, "Forbidden: user is deactivated", None),
        ("group_deleted", 403, "Forbidden: the group chat was deleted", None),
        ("restart", 500, "Internal Server Error: restart", None),
        ("bad_gateway", 502, "Bad Gateway", None),
    ],
)
async def test_errors_have_names(bot, sandbox, name, code, description, parameters):
    sandbox.fail_next(name=name, chat=FRIENDS)

    answer = await bot("sendMessage", chat_id=FRIENDS, text="x")

    said = {"ok": False, "error_code": code, "description": description}
    assert answer == (code, {**said, "parameters": parameters} if parameters else said)


async def test_a_download_meets_faults_of_its_own(bot, sandbox):
    sandbox.person("Anna")
    sandbox.act("writes", {"person": "Anna", "bot": BOT, "media": [{"kind": "document", "data": "eHl6"}]})
    file_id = (await bot.updates())[0]["message"]["document"]["file_id"]
    path = (await bot.result("getFile", file_id=file_id))["file_path"]
    sandbox.fail_next(name="not_found", method="download")
    sandbox.drop_next(before_effect=True, method="download", times=2)  # the client repeats a GET by itself
    sandbox.slow_next(0, method="download")

    async def download() -> tuple[int, bytes]:
        async with bot.http.get(f"/file/bot{bot.token}/{path}") as response:
            return response.status, await response.read()

    assert (await download())[0] == 404
    with pytest.raises(aiohttp.ServerDisconnectedError):
        await download()
    assert await download() == (200, b"xyz")
    assert await download() == (200, b"xyz")


async def test_methods_are_still_called_by_their_former_names(bot):
    assert await bot("getChatMembersCount", chat_id=NEWS) == await bot("getChatMemberCount", chat_id=NEWS)
