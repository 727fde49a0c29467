"""A world that was saved as JSON and restored answers as the first one would have."""

import json
from typing import Any

import pytest

from pressroom.sandbox.core.saved import restore_world, world_state
from pressroom.sandbox.telegram import EXAMPLE_TOKEN
from tests.sandbox.telegram.hearing import (
    BOT,
    FRIENDS,
    NEWS,
    SECOND_BOT,
    SECOND_TOKEN,
    TEAM,
    Calls,
    new_sandbox,
    texts,
)
from tests.sandbox.telegram.test_callbacks import KEYBOARD
from tests.sandbox.telegram.test_show import PIXEL


async def eventful(bot: Calls, sandbox) -> None:
    sandbox.add("bot", {"token": SECOND_TOKEN, "username": SECOND_BOT, "reads_groups": True})
    sandbox.add("chat", {"title": "Deals", "username": "my_deals"})
    anna = sandbox.person("Anna", username="anna_k", last_name="K", language="ru")
    await bot.updates(allowed_updates=["message", "callback_query", "my_chat_member"])
    anna.starts(BOT)
    anna.starts(SECOND_BOT)
    offer = await bot.result(
        "sendMessage", chat_id=anna.id, text="<b>Sale</b>", parse_mode="HTML", reply_markup=KEYBOARD
    )
    anna.presses(BOT, offer["message_id"], "Buy")
    anna.writes(BOT, "yes", reply_to=offer["message_id"])
    media = [{"kind": "photo", "name": "p.png", "type": "image/png", "data": PIXEL}]
    sandbox.act("writes", {"person": "Anna", "chat": TEAM, "text": "look", "media": media})
    await bot.result("pinChatMessage", chat_id=anna.id, message_id=offer["message_id"])
    await bot.result("setMyCommands", commands=[{"command": "start", "description": "Начать"}])
    sandbox.act("restricts_bot", {"chat": NEWS, "bot": BOT, "rights": {"can_invite_users": False}})
    sandbox.act("migrates", {"chat": FRIENDS})
    anna.blocks(SECOND_BOT)


async def answers(bot: Calls, sandbox, query: str) -> list[Any]:
    """To many questions, of both bots; and what people see."""
    anna = sandbox.person("Anna").id
    said: list[Any] = [await bot("getUpdates"), await bot.of(SECOND_TOKEN)("getUpdates")]
    for method, wish in (
        ("getMe", {}),
        ("getChat", {"chat_id": anna}),
        ("getChat", {"chat_id": "@my_deals"}),
        ("getChatMember", {"chat_id": TEAM, "user_id": anna}),
        ("getMyCommands", {}),
        ("getWebhookInfo", {}),
        ("answerCallbackQuery", {"callback_query_id": query, "text": "Bought"}),
        ("editMessageText", {"chat_id": anna, "message_id": 2, "text": "Sold out"}),
        ("sendMessage", {"chat_id": anna, "text": "next"}),
        ("sendMessage", {"chat_id": FRIENDS, "text": "moved"}),
        ("forwardMessage", {"chat_id": NEWS, "from_chat_id": anna, "message_id": 2}),
    ):
        said.append(await bot(method, **wish))
        said.append(await bot.of(SECOND_TOKEN)(method, **wish))
    said += [sandbox.chats(), sandbox.people(), sandbox.bots()]
    said += [sandbox.messages_of(chat["id"]) for chat in sandbox.chats()]
    sandbox.act("writes", {"person": "Anna", "bot": BOT, "text": "and then"})
    said += [await bot("getUpdates", offset=-1), [one.as_json() for one in sandbox.effects()]]
    return said


async def test_a_restored_world_answers_the_same(bot, sandbox, telegram_stage):
    await eventful(bot, sandbox)
    query = str(next(iter(sandbox._callbacks._open)))
    state = json.loads(json.dumps(world_state(sandbox.world)))
    telegram_stage.app = restored = new_sandbox()
    restore_world(restored.world, state)
    again = json.loads(json.dumps(world_state(restored.world)))

    after = await answers(bot, restored, query)
    telegram_stage.app = sandbox
    before = await answers(bot, sandbox, query)

    assert again == state
    for one, other in zip(before, after, strict=True):
        assert one == other
    await restored.world.aclose()


async def test_pending_updates_and_webhooks_go_on(bot, sandbox, hook, telegram_stage):
    await bot.result("setWebhook", url="http://127.0.0.1:1/", secret_token="s", max_connections=3)
    sandbox.person("Anna").writes(BOT, "still waiting")
    state = json.loads(json.dumps(world_state(sandbox.world)).replace("http://127.0.0.1:1/", hook.url))
    telegram_stage.app = restored = new_sandbox()

    restore_world(restored.world, state)
    await hook.until(1)
    info = await bot.result("getWebhookInfo")

    assert hook.texts() == ["still waiting"]
    assert hook.headers[0]["X-Telegram-Bot-Api-Secret-Token"] == "s"
    assert (info["url"], info["max_connections"]) == (hook.url, 3)
    await restored.aclose()
    await restored.world.aclose()


async def test_what_was_there_before_is_gone(bot, sandbox, telegram_stage):
    telegram_stage.app = other = new_sandbox(bots={SECOND_TOKEN: SECOND_BOT})
    other.person("Boris").writes(SECOND_BOT, "old")
    state = world_state(sandbox.world)

    restore_world(other.world, state)

    assert other.people() == []
    assert [one["username"] for one in other.bots()] == [BOT]
    assert (await bot.of(SECOND_TOKEN)("getMe"))[0] == 401
    assert (await bot.of(EXAMPLE_TOKEN)("getMe"))[0] == 200


async def test_the_numbers_of_updates_go_on(bot, sandbox, telegram_stage):
    anna = sandbox.person("Anna")
    anna.writes(BOT, "one")
    (first,) = await bot.updates()
    telegram_stage.app = restored = new_sandbox()
    restore_world(restored.world, world_state(sandbox.world))
    restored.person("Anna").writes(BOT, "two")

    updates = await bot.updates(offset=-2)

    assert texts(updates) == ["one", "two"]
    assert updates[1]["update_id"] == first["update_id"] + 1


@pytest.mark.parametrize(
    "broken",
    [
        {},
        {"bots": "x"},
        {"bots": [{"id": "x"}], "tokens": {}, "people": [], "next_person": 1, "chats": [], "files": []},
        {"bots": [], "tokens": {"1:x": 1}, "people": [], "next_person": 1, "chats": [], "files": []},
    ],
)
async def test_what_is_no_state_is_refused(sandbox, broken):
    with pytest.raises((ValueError, KeyError, TypeError)):
        sandbox.restore(broken)
