"""getUpdates: what waits for a bot, which offset confirms what, and who polls when another one does."""

import asyncio
import time

import pytest

from pressroom.sandbox.telegram.updates import OTHER_POLL, WEBHOOK_ACTIVE, WEBHOOK_SET
from tests.sandbox.telegram.hearing import (
    BOT,
    FRIENDS,
    NOON,
    SECOND_BOT,
    SECOND_TOKEN,
    TEAM,
    ends,
    new_sandbox,
    texts,
    until,
)

SMALL = b'"message":{"message_id":1,"date":1,"chat":{"id":1,"type":"private"},"text":"x"}'
LATER = 10  # seconds after which the same question is a new one


def write(sandbox, *words: str) -> None:
    for word in words:
        sandbox.person("Anna").writes(BOT, word)


def polls(sandbox) -> bool:
    return any(inbox.poll is not None for inbox in sandbox._updates.inboxes.values())


async def test_a_bot_nobody_turned_to_hears_nothing(bot):
    assert await bot.updates() == []


async def test_what_a_person_writes_is_an_update(bot, sandbox):
    anna = sandbox.person("Anna", username="anna_k", language="ru")
    anna.starts(BOT)

    (update,) = await bot.updates()

    assert set(update) == {"update_id", "message"}
    assert update["message"] == {
        "message_id": 1,
        "from": {
            "id": anna.id,
            "is_bot": False,
            "first_name": "Anna",
            "username": "anna_k",
            "language_code": "ru",
        },
        "chat": {"id": anna.id, "first_name": "Anna", "username": "anna_k", "type": "private"},
        "date": int(NOON),
        "text": "/start",
        "entities": [{"offset": 0, "length": 6, "type": "bot_command"}],
    }


async def test_updates_are_numbered_one_after_the_other(bot, sandbox):
    write(sandbox, "one", "two", "three")

    updates = await bot.updates()

    numbers = [update["update_id"] for update in updates]
    assert texts(updates) == ["one", "two", "three"]
    assert numbers == list(range(numbers[0], numbers[0] + 3))
    assert numbers[0] > 2_000_000


async def test_updates_stay_until_a_higher_offset_confirms_them(bot, sandbox):
    write(sandbox, "one", "two", "three")
    first = (await bot.updates())[0]["update_id"]

    again = await bot.updates(offset=first)
    rest = await bot.updates(offset=first + 1)
    sandbox.world.clock.advance(LATER)
    confirmed = await bot.updates(offset=0)

    assert texts(again) == ["one", "two", "three"]
    assert texts(rest) == ["two", "three"]
    assert texts(confirmed) == ["two", "three"]


async def test_a_negative_offset_keeps_the_last_ones_and_forgets_the_others(bot, sandbox):
    write(sandbox, "one", "two", "three")

    last = await bot.updates(offset=-2)
    kept = await bot.updates()

    assert texts(last) == texts(kept) == ["two", "three"]


@pytest.mark.parametrize(("limit", "number"), [(2, 2), (0, 1), (-5, 1), (1000, 100), ("7abc", 7)])
async def test_the_limit_is_clamped(bot, sandbox, limit, number):
    write(sandbox, *(f"{n}" for n in range(101)))

    assert len(await bot.updates(limit=limit)) == number


@pytest.mark.parametrize("beyond", [11, 1_000_000, 2_000_000_000])
async def test_an_offset_far_in_the_future_counts_as_none(bot, sandbox, beyond):
    write(sandbox, "one")
    (update,) = await bot.updates()

    assert texts(await bot.updates(offset=min(update["update_id"] + 1 + beyond, 2_000_000_000))) == ["one"]


async def test_who_asks_the_same_again_at_once_gets_one_update(bot, sandbox):
    write(sandbox, "one", "two")

    first, again = await bot.updates(), await bot.updates()
    sandbox.world.clock.advance(0.5)
    later = await bot.updates()

    assert [texts(first), texts(again), texts(later)] == [["one", "two"], ["one"], ["one", "two"]]


async def test_who_asks_the_same_again_at_once_has_to_wait(bot, sandbox):
    await bot.updates()

    asking = asyncio.create_task(bot.updates())
    await until(lambda: polls(sandbox))
    sandbox.world.clock.advance(2.9)
    assert not asking.done()
    sandbox.world.clock.advance(0.1)

    assert await ends(asking) == []


# Long polls


async def test_a_poll_ends_as_soon_as_something_happens(bot, sandbox):
    asking = asyncio.create_task(bot.updates(timeout=50))
    await until(lambda: polls(sandbox))

    write(sandbox, "hello")

    assert texts(await ends(asking)) == ["hello"]


async def test_a_poll_ends_empty_when_its_time_is_over(bot, sandbox):
    asking = asyncio.create_task(bot.updates(timeout=1000))
    await until(lambda: polls(sandbox))

    sandbox.world.clock.advance(50)

    assert await ends(asking) == []
    assert not polls(sandbox)


async def test_an_update_that_comes_as_a_poll_times_out_is_not_lost(bot, sandbox):
    asking = asyncio.create_task(bot.updates(timeout=10))
    await until(lambda: polls(sandbox))

    sandbox.world.clock.advance(10)
    write(sandbox, "just now")

    assert texts(await ends(asking)) == ["just now"]


async def test_of_two_polls_the_first_one_hears_of_the_conflict(bot, sandbox):
    first = asyncio.create_task(bot("getUpdates", timeout=50))
    await until(lambda: polls(sandbox))
    second = asyncio.create_task(bot("getUpdates", timeout=50))

    status, answer = await ends(first)
    write(sandbox, "for the second")

    assert (status, answer) == (409, {"ok": False, "error_code": 409, "description": OTHER_POLL})
    assert texts((await ends(second))[1]["result"]) == ["for the second"]


async def test_a_poll_that_has_something_to_answer_ends_no_other(bot, sandbox):
    waiting = asyncio.create_task(bot("getUpdates", timeout=50))
    await until(lambda: polls(sandbox))

    short = await bot("getUpdates", offset=-1)
    write(sandbox, "both hear it")

    assert short == (200, {"ok": True, "result": []})
    assert texts((await ends(waiting))[1]["result"]) == ["both hear it"]


async def test_further_conflicts_within_three_seconds_are_told_late(bot, sandbox):
    first = asyncio.create_task(bot("getUpdates", timeout=50))
    await until(lambda: polls(sandbox))
    second = asyncio.create_task(bot("getUpdates", timeout=50))
    assert (await ends(first))[0] == 409
    await until(lambda: polls(sandbox))
    third = asyncio.create_task(bot("getUpdates", timeout=50))
    inbox = sandbox._updates.inbox(sandbox._state.bots_by_name[BOT])
    known = inbox.poll
    await until(lambda: inbox.poll is not known)

    assert not second.done()
    sandbox.world.clock.advance(3)

    assert (await ends(second))[0] == 409
    write(sandbox, "x")
    assert (await ends(third))[0] == 200


async def test_set_webhook_ends_a_poll_and_forbids_the_next_one(bot, sandbox, hook):
    asking = asyncio.create_task(bot("getUpdates", timeout=50))
    await until(lambda: polls(sandbox))

    await bot.result("setWebhook", url=hook.url)
    ended = await ends(asking)
    sandbox.world.clock.advance(3)
    refused = await bot("getUpdates")

    assert (ended[0], ended[1]["description"]) == (409, WEBHOOK_SET)
    assert (refused[0], refused[1]["description"]) == (409, WEBHOOK_ACTIVE)


async def test_a_poll_ends_when_the_sandbox_does(bot, sandbox):
    asking = asyncio.create_task(bot.updates(timeout=50))
    await until(lambda: polls(sandbox))

    await sandbox.aclose()

    assert await ends(asking) == []


async def test_the_client_that_gave_up_leaves_its_updates_to_the_next(bot, sandbox):
    asking = asyncio.create_task(bot.updates(timeout=50))
    await until(lambda: polls(sandbox))
    asking.cancel()
    await until(lambda: not polls(sandbox))

    write(sandbox, "still there")

    assert texts(await bot.updates()) == ["still there"]


# What a bot wants to hear


async def test_allowed_updates_are_remembered_when_they_are_left_out(bot, sandbox):
    anna = sandbox.person("Anna")
    await bot.updates(allowed_updates=["edited_message"])
    sent = anna.writes(BOT, "one")
    anna.edits(BOT, sent.id, "two")
    (first,) = await bot.updates(offset=-5)
    await bot.updates(offset=first["update_id"] + 1, allowed_updates=[])
    anna.writes(BOT, "three")

    (second,) = await bot.updates()

    assert first["edited_message"]["text"] == "two"
    assert first["edited_message"]["edit_date"] == int(NOON)
    assert second["message"]["text"] == "three"


@pytest.mark.parametrize(
    ("given", "heard"),
    [
        ('["message"]', True),
        ('["MESSAGE", "nonsense"]', True),
        ('["nonsense"]', True),  # nothing that is known: all but three
        ("[]", True),
        ('["poll"]', False),
        ("", False),  # what was asked for before
        ("no json", False),
        ('{"message": true}', False),
        ('["message", 7]', False),
        ("null", False),
    ],
)
async def test_allowed_updates_are_read_as_the_real_server_reads_them(bot, sandbox, given, heard):
    await bot.updates(allowed_updates=["poll"])
    sandbox.world.clock.advance(LATER)
    await bot.updates(offset=-1, allowed_updates=given)

    write(sandbox, "x")

    assert bool(await bot.updates(offset=-2)) is heard


async def test_three_kinds_come_only_when_they_are_asked_for(bot, sandbox):
    sandbox.person("Anna").joins(TEAM)
    by_default = [set(update) - {"update_id"} for update in await bot.updates()]
    await bot.updates(offset=-1, allowed_updates=["chat_member"])

    sandbox.person("Boris").joins(TEAM)
    updates = await bot.updates(offset=-1)

    assert by_default == [{"message"}]
    assert updates[0]["chat_member"]["new_chat_member"]["status"] == "member"
    assert updates[0]["chat_member"]["old_chat_member"]["status"] == "left"


# What is forgotten


async def test_three_seconds_later_the_same_question_is_a_new_one(bot, sandbox):
    await bot.updates()
    sandbox.world.clock.advance(3)

    async with asyncio.timeout(2):  # else it would wait for three
        assert await bot.updates() == []


async def test_an_update_has_at_most_512_kibibytes(bot, sandbox):
    inbox = sandbox._updates.inbox(sandbox._state.bots_by_name[BOT])

    inbox.push(bytes((512 << 10) + 1), int(NOON) + 86_400, 1, None, int(NOON))
    inbox.push(bytes(512 << 10), int(NOON) + 86_400, 1, None, int(NOON))

    assert [len(update.body) for update in inbox.read(0, 100, int(NOON))] == [512 << 10]


async def test_an_inbox_has_at_most_128_mebibytes(bot, sandbox):
    inbox = sandbox._updates.inbox(sandbox._state.bots_by_name[BOT])
    body = bytes(512 << 10)  # one for all of them

    for _ in range(300):
        inbox.push(body, int(NOON) + 86_400, 1, None, int(NOON))
    full = len(inbox)
    inbox.forget(inbox.head)
    inbox.push(body, int(NOON) + 86_400, 1, None, int(NOON))

    assert (full, len(inbox)) == (256, 256)


async def test_updates_are_kept_for_a_day(bot, sandbox):
    write(sandbox, "old")
    sandbox.world.clock.advance(3600)
    write(sandbox, "new")

    sandbox.world.clock.advance(86_400 - 3600)
    both = await bot.updates()
    sandbox.world.clock.advance(1)
    new = await bot.updates()

    assert [texts(both), texts(new)] == [["old", "new"], ["new"]]


async def test_a_full_inbox_loses_what_is_new(bot, telegram_stage):
    telegram_stage.app = sandbox = new_sandbox(updates_kept=2)

    write(sandbox, "one", "two", "three")
    kept = await bot.updates(offset=-10)
    await bot.updates(offset=kept[0]["update_id"] + 1)
    write(sandbox, "four")

    assert texts(kept) == ["one", "two"]
    assert texts(await bot.updates()) == ["two", "four"]


async def test_a_million_updates_take_bounded_room_and_no_time_to_forget(bot, sandbox):
    inbox = sandbox._updates.inbox(sandbox._state.bots_by_name[BOT])
    began = time.perf_counter()
    for _ in range(1_000_000):
        inbox.push(SMALL, int(NOON) + 86_400, 1, None, int(NOON))
    took = time.perf_counter() - began

    waiting = await bot.result("getWebhookInfo")
    last = await bot.updates(offset=-1)

    assert waiting["pending_update_count"] == len(inbox) + 99_999 == 100_000
    assert len(last) == 1
    assert took < 10


async def test_an_answer_has_no_more_than_four_mebibytes(bot, sandbox):
    write(sandbox, *("я" * 4000 for _ in range(100)))
    bodies = await bot.updates()
    inbox = sandbox._updates.inbox(sandbox._state.bots_by_name[BOT])
    for _ in range(100):
        inbox.push(SMALL.replace(b'"x"', b'"%b"' % (b"x" * 100_000)), int(NOON) + 86_400, 1, None, int(NOON))

    large = await bot.updates(offset=bodies[-1]["update_id"] + 1)

    assert len(bodies) == 100
    assert len(large) == (1 << 22) // (100_000 + 50 + len(SMALL) - 1)


# Whose updates they are


async def test_each_bot_has_updates_of_its_own(bot, sandbox):
    sandbox.add("bot", {"token": SECOND_TOKEN, "username": SECOND_BOT})
    anna = sandbox.person("Anna")
    anna.writes(BOT, "to the first")
    anna.writes(SECOND_BOT, "to the second")

    assert texts(await bot.updates()) == ["to the first"]
    assert texts(await bot.of(SECOND_TOKEN).updates()) == ["to the second"]


async def test_equal_worlds_give_equal_bytes(bot, telegram_stage):
    async def story() -> bytes:
        telegram_stage.app = sandbox = new_sandbox()
        anna = sandbox.person("Anna")
        anna.starts(BOT, "ref42")
        anna.writes(FRIENDS, "/help")
        anna.blocks(BOT)
        async with bot.http.get(f"/bot{bot.token}/getUpdates") as response:
            return await response.read()

    assert await story() == await story()


async def test_a_fault_hits_get_updates_as_any_other_method(bot, sandbox):
    write(sandbox, "x")
    sandbox.fail_next(502, method="getUpdates")
    sandbox.fail_next(name="conflict", method="getUpdates")

    first, second, third = [await bot("getUpdates") for _ in range(3)]

    assert (first[0], first[1]["description"]) == (502, "Bad Gateway")
    assert (second[0], second[1]["description"]) == (409, OTHER_POLL)
    assert texts(third[1]["result"]) == ["x"]


async def test_among_many_bots_only_those_hear_that_ever_asked(sandbox, bot):
    await bot.updates()
    for number in range(150):
        sandbox.add("bot", {"token": f"{7_000_000 + number}:x", "username": f"silent_{number}_bot"})

    sandbox.act("posts", {"chat": "@pressroom_example_news", "text": "News"})

    sandbox.world.clock.advance(LATER)
    assert [update["channel_post"]["text"] for update in await bot.updates()] == ["News"]
    assert sum(len(inbox) for inbox in sandbox._updates.inboxes.values()) == 1
