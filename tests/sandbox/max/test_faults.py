import asyncio
from datetime import timedelta

import aiohttp
import pytest

from pressroom.sandbox.core.clock import Clock
from pressroom.sandbox.core.world import World
from pressroom.sandbox.max import EXAMPLE_TOKEN
from pressroom.sandbox.max.app import MOST_BOTS
from pressroom.sandbox.max.errors import NAMED

NEWS = -70000000000001
DEALS = -70000000000002


@pytest.fixture
def post(call):
    async def post(text="x", chat=NEWS):
        return await call("POST", "/messages", {"text": text}, chat_id=chat)

    return post


async def test_a_429_says_how_long_to_wait_and_then_passes(http, post, sandbox):
    sandbox.fail_next(429, retry_after=timedelta(seconds=7))

    async with http.post(
        "/messages", params={"chat_id": NEWS}, json={"text": "x"}, headers={"Authorization": EXAMPLE_TOKEN}
    ) as first:
        answer = await first.json()
    second, _ = await post()

    assert (first.status, answer["code"], first.headers["Retry-After"]) == (429, "too.many.requests", "7")
    assert second == 200
    assert sandbox.messages(NEWS) == ["x"]


@pytest.mark.parametrize("name", NAMED)
async def test_every_named_error_answers_as_the_table_says(post, sandbox, name):
    sandbox.fail_next(name=name)

    status, answer = await post()

    assert (status, answer["code"]) == NAMED[name][:2]
    assert "{" not in answer["message"]
    assert sandbox.messages(NEWS) == []


async def test_a_blocked_dialog_names_its_person(call, sandbox, anna, dialog):
    sandbox.fail_next(name="blocked", chat=dialog)

    _, answer = await call("POST", "/messages", {"text": "x"}, user_id=anna.id)

    assert answer["message"] == f"Key: error.dialog.suspended, args: [{anna.id},]."


async def test_an_unknown_name_is_no_error_of_max(sandbox):
    with pytest.raises(ValueError, match="knows no error"):
        sandbox.fail_next(name="tired")


async def test_a_fault_hits_its_chat_its_method_and_its_times(call, post, sandbox):
    sandbox.fail_next(500, chat="pressroom_example_deals", times=2)
    sandbox.fail_next(503, "gone fishing", method="GET /chats/*")

    statuses = [(await post(chat=chat))[0] for chat in (NEWS, DEALS, DEALS, DEALS)]
    fishing = await call("GET", f"/chats/{NEWS}")

    assert statuses == [200, 500, 500, 200]
    assert fishing == (503, {"code": "service.unavailable", "message": "gone fishing"})


@pytest.mark.parametrize(("before", "seen"), [(True, []), (False, ["x"])])
async def test_a_cut_connection_leaves_the_outcome_unknown(post, sandbox, before, seen):
    sandbox.drop_next(before_effect=before)

    with pytest.raises(aiohttp.ClientConnectionError):
        await post()

    assert sandbox.messages(NEWS) == seen
    assert sandbox.world.calls[-1].status == 0


async def test_a_client_that_leaves_a_slow_answer_finds_the_effect_or_not(post, sandbox):
    sandbox.slow_next(30)
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(post("after"), 0.1)
    sandbox.slow_next(30, before_effect=True)
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(post("before"), 0.1)

    assert sandbox.messages(NEWS) == ["after"]
    assert sandbox.heal() == 0


async def test_uploads_fail_on_demand(call, http, sandbox):
    _, address = await call("POST", "/uploads", type="file")
    sandbox.fail_next(503, method="POST upload")

    async with http.post(address["url"], data=b"x") as first:
        failed = first.status, (await first.json())["error_code"]
    async with http.post(address["url"], data=b"x") as second:
        passed = second.status

    assert (failed, passed) == ((503, "503"), 200)


async def test_polls_fail_on_demand(call, sandbox):
    sandbox.fail_next(name="flood", method="GET /updates")

    status, _ = await call("GET", "/updates", timeout=0)

    assert status == 429


async def test_thirty_requests_a_second_are_the_most(call, make):
    sandbox = make(rate_limit=30, world=World(clock=Clock(1.0, frozen=True)))

    statuses = [(await call("GET", "/me"))[0] for _ in range(31)]
    sandbox.world.clock.advance(1)
    after, _ = await call("GET", "/me")

    assert statuses == [200] * 30 + [429]
    assert after == 200


async def test_two_polls_a_second_are_the_most(call, make):
    make(rate_limit=30, world=World(clock=Clock(1.0, frozen=True)))

    statuses = [(await call("GET", "/updates", timeout=0))[0] for _ in range(3)]

    assert statuses == [200, 200, 429]


async def test_each_request_leaves_a_call(call, post, sandbox):
    await post()
    await call("GET", f"/chats/{NEWS}/members/admins")
    await call("GET", "/me", token="wrong")

    first, second, third = sandbox.world.calls
    assert (first.method, first.chat, first.status, first.bot) == (
        "POST /messages", NEWS, 200, "pressroom_example_bot",
    )  # fmt: skip
    assert (second.method, second.chat) == ("GET /chats/{chatId}/members/admins", NEWS)
    assert (third.status, third.description) == (401, "verify.token: Invalid access_token")


async def test_the_control_api_plans_the_same_faults(http, post, sandbox):
    wish = {"kind": "fail", "provider": "max", "name": "unavailable", "chat": "@pressroom_example_news"}

    async with http.post("/sandbox/faults", json=wish) as planned:
        assert planned.status == 201
    status, _ = await post()

    assert status == 503


@pytest.mark.parametrize(
    ("status", "code"),
    [
        (400, "proto.payload"),
        (401, "verify.token"),
        (403, "access.denied"),
        (404, "not.found"),
        (405, "method.not.allowed"),
        (418, "proto.payload"),
        (429, "too.many.requests"),
        (500, "internal.error"),
        (502, "service.unavailable"),
        (503, "service.unavailable"),
    ],
)
async def test_a_planned_status_comes_with_its_code(post, sandbox, status, code):
    sandbox.fail_next(status)

    got, answer = await post()

    assert (got, answer["code"]) == (status, code)


async def test_a_clock_that_was_set_back_lets_requests_pass(call, make):
    sandbox = make(rate_limit=2, world=World(clock=Clock(100.0, frozen=True)))

    statuses = [(await call("GET", "/me"))[0] for _ in range(3)]
    sandbox.world.clock.set(50)
    back = [(await call("GET", "/me"))[0] for _ in range(3)]

    assert statuses == back == [200, 200, 429]


async def test_a_slowed_poll_ends_when_its_client_leaves(call, sandbox):
    sandbox.slow_next(0.01, method="GET /updates")
    polling = asyncio.create_task(call("GET", "/updates", timeout=30))
    async with asyncio.timeout(5):
        while sandbox.world.faults:  # noqa: ASYNC110 - nothing announces it
            await asyncio.sleep(0)

        polling.cancel()
        while not sandbox.world.calls:  # noqa: ASYNC110 - nothing announces it
            await asyncio.sleep(0)

    assert sandbox.world.calls[-1].status == 0


async def test_ten_thousand_bots_are_the_most_that_tokens_make(call, make):
    make(any_token=True, bots={f"token-{number}": f"bot_{number}" for number in range(MOST_BOTS - 1)})

    statuses = [(await call("GET", "/me", token=letter * 20))[0] for letter in "aba"]

    assert statuses == [200, 401, 200]


async def test_calls_keep_no_more_of_a_refusal_than_people_read(call, sandbox):
    image = {"type": "image", "payload": {"token": "x" * 100_000}}

    await call("POST", "/messages", {"attachments": [image]}, chat_id=NEWS)
    await call("GET", "/" + "x" * 5_000)

    refused, lost = sandbox.world.calls
    assert refused.description.startswith("proto.payload: Invalid photo token provided: xxx")
    assert max(map(len, (refused.description, lost.description, lost.method))) <= 300
