"""What holds for every method: tokens that are bots by themselves, and faults that meet one bot, or a download."""

import aiohttp
import pytest

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


@pytest.mark.parametrize(
    "token", ["nocolon", "0123:x", ":x", "1:" + "x" * 80, f"{1 << 54}:x", "9" * 70 + ":x", "١:x"]
)
async def test_other_tokens_are_malformed_even_then(bot, telegram_stage, token):
    telegram_stage.app = new_sandbox(any_token=True)

    assert await bot.of(token)("getMe") == (
        401,
        {"ok": False, "error_code": 401, "description": "Unauthorized: invalid token specified"},
    )


async def test_a_fault_meets_one_bot(bot, sandbox):
    sandbox.add("bot", {"token": SECOND_TOKEN, "username": SECOND_BOT})
    sandbox.fail_next(502, bot=SECOND_BOT, method="*", times=None)

    assert (await bot("getMe"))[0] == 200
    assert (await bot.of(SECOND_TOKEN)("getUpdates"))[0] == 502


@pytest.mark.parametrize(
    ("name", "code", "parameters"),
    [
        ("flood", 429, {"retry_after": 1}),
        ("migrated", 400, {"migrate_to_chat_id": -1_000_000_000_042}),
        ("blocked", 403, None),
        ("query_too_old", 400, None),
        ("webhook_active", 409, None),
        ("restart", 500, None),
    ],
)
async def test_errors_have_names(bot, sandbox, name, code, parameters):
    sandbox.fail_next(name=name, chat=FRIENDS)

    status, answer = await bot("sendMessage", chat_id=FRIENDS, text="x")

    assert (status, answer.get("parameters")) == (code, parameters)


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
