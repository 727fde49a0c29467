import pytest

from pressroom.sandbox.telegram import Chat
from pressroom.sandbox.telegram.rates import Rates
from tests.sandbox.telegram.api import BOT_ID, DEALS, NEWS, NOON, SECOND_TOKEN, TEAM, new_sandbox, png


@pytest.fixture
def limited(api, telegram_stage):
    telegram_stage.app = api.sandbox = new_sandbox(rate_limits=True)
    return api


async def until_refused(api, chat_id: int, most: int = 100) -> tuple[int, dict]:
    for sent in range(most):
        status, answer = await api("sendMessage", chat_id=chat_id, text="x")
        if status != 200:
            return sent, answer
    return most, {}


async def test_a_chat_takes_a_burst_and_then_one_a_second(limited):
    sent, answer = await until_refused(limited, NEWS)
    limited.clock.advance(answer["parameters"]["retry_after"])
    after, _ = await until_refused(limited, NEWS)

    assert (sent, after) == (5, 1)
    assert answer == {
        "ok": False,
        "error_code": 429,
        "description": "Too Many Requests: retry after 1",
        "parameters": {"retry_after": 1},
    }


async def test_a_group_takes_twenty_a_minute(limited):
    sent = 0
    for _ in range(60):
        sent += (await limited("sendMessage", chat_id=TEAM, text="x"))[0] == 200
        limited.clock.advance(1)

    assert 20 <= sent <= 40


async def test_all_chats_together_take_thirty_a_second(limited):
    people = [limited.sandbox.person(f"P{number}") for number in range(10)]
    for person in people:
        person.starts("pressroom_example_bot")

    codes = [
        (await limited("sendMessage", chat_id=person.id, text="x"))[0] for person in people for _ in range(4)
    ]

    assert codes == [200] * 30 + [429] * 10


async def test_bots_and_chats_do_not_slow_each_other_down(limited):
    await until_refused(limited, NEWS)

    assert (await limited("sendMessage", chat_id=DEALS, text="x"))[0] == 200
    assert (await limited.of(SECOND_TOKEN)("sendMessage", chat_id=NEWS, text="x"))[0] == 200


async def test_a_refused_message_is_not_sent_and_not_counted(limited):
    for _ in range(20):
        await limited("sendMessage", chat_id=NEWS, text="x")
    sent = limited.sandbox.total
    limited.clock.advance(1)

    assert sent == 5
    assert (await limited("sendMessage", chat_id=NEWS, text="x"))[0] == 200


async def test_without_the_option_nobody_is_slowed_down(api):
    sent, _ = await until_refused(api, NEWS)

    assert sent == 100


async def test_every_message_of_an_album_counts(limited):
    album = [{"type": "photo", "media": "attach://x"}] * 4

    first = await limited("sendMediaGroup", chat_id=NEWS, media=album, files={"x": ("x.png", png())})
    sent, _ = await until_refused(limited, NEWS)

    assert (first[0], sent) == (200, 1)


def test_who_was_quiet_the_longest_is_forgotten():
    rates = Rates(lambda: NOON, most=3)
    chats = [Chat(-1_000_000_000_001 - n, "x", "supergroup" if n % 2 else "channel") for n in range(50)]

    for chat in chats:
        rates.take(BOT_ID, chat, 5)
    again = [rates.take(BOT_ID, chats[0], 1), rates.take(BOT_ID, chats[-1], 1)]

    assert len(rates._buckets) == 3
    assert all(wait > 0 for wait in again)  # the bot itself was never quiet
