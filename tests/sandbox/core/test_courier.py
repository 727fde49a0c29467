"""Deliveries to a webhook that does as it is told, on a clock that stands still."""

import asyncio
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from typing import Any

import pytest

from pressroom.sandbox.core.clock import Clock
from pressroom.sandbox.core.courier import ANSWER_BYTES, Courier, Failure, Parcel, Reply
from pressroom.sandbox.core.faults import Fault, Kind
from pressroom.sandbox.core.world import World
from pressroom.sandbox.telegram import EXAMPLE_TOKEN, TelegramSandbox
from tests.core.peer import Act, Peer, answer, peer
from tests.sandbox.telegram.hearing import until

NOON = 1_700_000_000.0
FOR_EVER = NOON + 10**9


@dataclass
class Told:
    """What the courier said, in order, and a way to wait for it."""

    world: World
    said: list[tuple[str, Any, Any]] = field(default_factory=list)
    news: asyncio.Event = field(default_factory=asyncio.Event)

    def courier(self, url: str, **how: Any) -> Courier:
        given: dict[str, Any] = {
            "provider": "telegram",
            "bot": "news_bot",
            "headers": {},
            "parallel": 1,
            "seconds": 20.0,
            "backoff": lambda _attempt: 10.0,
            "taken": lambda parcel, reply: self.note("taken", parcel, reply),
            "failed": lambda parcel, failure: self.note("failed", parcel, failure),
            "dropped": lambda parcel: self.note("dropped", parcel, None),
        }
        return Courier(self.world, url, **{**given, **how})

    def note(self, what: str, parcel: Parcel, how: Reply | Failure | None) -> None:
        self.said.append((what, parcel.key, how))
        self.news.set()

    async def until(self, number: int) -> list[tuple[str, Any]]:
        async with asyncio.timeout(10):
            while len(self.said) < number:
                self.news.clear()
                await self.news.wait()
        return [(what, key) for what, key, _ in self.said]

    @property
    def failures(self) -> list[Failure]:
        return [how for what, _, how in self.said if what == "failed"]


@pytest.fixture
async def told() -> AsyncIterator[Told]:
    world = World(clock=Clock(NOON, frozen=True))
    yield Told(world)
    await world.aclose()


def parcel(key: int = 1, *, expires_at: float = FOR_EVER, source: str = "Anna") -> Parcel:
    return Parcel(key, source, b"{}", expires_at)


async def test_what_the_bot_says_about_waiting_holds_up_to_an_hour(told):
    async with peer(answer(503, Retry_After="999999"), answer(200)) as bot:
        told.courier(bot.url).offer(parcel())
        await told.until(1)

        told.world.clock.advance(3600)

        assert await told.until(2) == [("failed", 1), ("taken", 1)]
    assert told.failures[0].retry_after == 3600
    assert len(bot.requests) == 2


async def test_an_update_is_given_up_at_once_when_it_would_be_too_old_for_the_next_attempt(told):
    async with peer(answer(500)) as bot:
        told.courier(bot.url).offer(parcel(expires_at=NOON + 9))

        assert await told.until(2) == [("failed", 1), ("dropped", 1)]
    assert len(bot.requests) == 1


async def test_an_update_that_grew_too_old_while_it_waited_is_not_posted(told):
    async with peer(answer(500)) as bot:
        told.courier(bot.url).offer(parcel(expires_at=NOON + 50))
        await told.until(1)

        told.world.clock.advance(51)

        assert await told.until(2) == [("failed", 1), ("dropped", 1)]
    assert len(bot.requests) == 1


async def test_a_courier_that_says_it_is_enough_gives_up(told):
    async with peer(answer(500)) as bot:
        courier = told.courier(bot.url, backoff=lambda attempt: None if attempt == 2 else 0.0)
        courier.offer(parcel())

        assert await told.until(3) == [("failed", 1), ("failed", 1), ("dropped", 1)]


async def test_each_attempt_meets_what_is_planned_for_it(told):
    told.world.faults.plan(Fault(Kind.FAIL, method="webhook", code=503, times=2))
    told.world.faults.plan(Fault(Kind.DROP, method="webhook"))
    async with peer(answer(200)) as bot:
        told.courier(bot.url, backoff=lambda _attempt: 0.0).offer(parcel())

        assert [what for what, _ in await told.until(4)] == ["failed", "failed", "failed", "taken"]
    assert [failure.status for failure in told.failures] == [503, 503, 0]
    assert len(bot.requests) == 1


async def test_a_redirect_is_a_failure_and_nobody_follows_it(told):
    async with peer(answer(302, Location="/elsewhere"), answer(200)) as bot:
        told.courier(bot.url).offer(parcel())

        await told.until(1)

    assert [failure.status for failure in told.failures] == [302]
    assert len(bot.requests) == 1


async def test_of_an_endless_answer_only_the_beginning_is_read(told):
    async with peer(answer(200, b"x" * (2 * ANSWER_BYTES))) as bot:
        told.courier(bot.url).offer(parcel())

        await told.until(1)

    assert len(told.said[0][2].body) == ANSWER_BYTES


async def test_an_address_that_no_name_can_be_made_of_is_a_failure_like_others(told):
    told.courier("http://a..b/", backoff=lambda _attempt: None).offer(parcel())

    assert await told.until(2) == [("failed", 1), ("dropped", 1)]


@pytest.fixture
async def complaints() -> AsyncIterator[list[dict[str, Any]]]:
    """What the event loop is told about."""
    loop, heard = asyncio.get_running_loop(), list[dict[str, Any]]()
    before = loop.get_exception_handler()
    loop.set_exception_handler(lambda _loop, context: heard.append(context))
    yield heard
    loop.set_exception_handler(before)


def stumbles_once() -> Callable[[int], float]:
    times = iter([True])

    def backoff(_attempt: int) -> float:
        if next(times, False):
            raise KeyError("a mistake")
        return 0.0

    return backoff


async def test_a_mistake_of_the_sandbox_costs_one_update_and_is_reported(told, complaints):
    async with peer(answer(500), answer(200)) as bot:
        courier = told.courier(bot.url, backoff=stumbles_once())
        courier.offer(parcel(1))
        courier.offer(parcel(2))

        assert await told.until(3) == [("failed", 1), ("dropped", 1), ("taken", 2)]
    assert [str(one["exception"]) for one in complaints] == ["'a mistake'"]
    assert "webhook of news_bot" in complaints[0]["message"]


async def test_a_mistake_in_the_background_is_reported_by_its_name(told, complaints):
    async def stumble() -> None:
        raise KeyError("a mistake")

    await asyncio.wait([told.world.run(stumble(), "the test")])
    await asyncio.sleep(0)  # until those who wait for the task were called

    assert [(one["message"], str(one["exception"])) for one in complaints] == [
        ("the test of the sandbox broke", "'a mistake'")
    ]


async def test_once_stopped_nobody_hears_of_it_and_nothing_is_posted(told):
    async with peer(answer(500)) as bot:
        courier = told.courier(bot.url)
        courier._failed = lambda parcel, failure: (told.note("failed", parcel, failure), courier.stop())
        courier.offer(parcel(1, expires_at=NOON + 9))
        await told.until(1)

        courier.offer(parcel(2, source="Boris"))
        told.courier(bot.url).offer(parcel(3))  # another one's, posted later

        assert await told.until(2) == [("failed", 1), ("failed", 3)]
        assert len(bot.requests) == 2


async def test_a_delivery_that_is_open_is_cut_when_the_courier_stops(told):
    async with peer(Act.HANG) as bot:
        courier = told.courier(bot.url)
        courier.offer(parcel())
        await requests(bot, 1)

        await asyncio.wait_for(courier.close(), 5)

    assert told.said == []


async def test_a_webhook_set_anew_while_a_delivery_is_open_gets_the_update_again_and_in_order():
    world = World(clock=Clock(NOON, frozen=True))
    sandbox = TelegramSandbox(world)
    async with peer(Act.HANG) as old, peer(answer(200)) as new:
        await ask(sandbox, "setWebhook", url=old.url)
        sandbox.person("Anna").starts("pressroom_example_bot")
        await requests(old, 1)
        sandbox.person("Anna").writes("pressroom_example_bot", "second")

        await ask(sandbox, "deleteWebhook")
        await ask(sandbox, "setWebhook", url=new.url)
        sandbox.person("Anna").writes("pressroom_example_bot", "third")

        await requests(new, 3)
        texts = [word for one in new.requests for word in ("/start", "second", "third") if word in one.decode()]
        await sandbox.aclose()
        await world.aclose()

    assert texts == ["/start", "second", "third"]
    assert (len(old.requests), len(new.requests)) == (1, 3)


async def ask(sandbox: TelegramSandbox, method: str, **parameters: str) -> None:
    """One request to the emulator, without a server between."""
    query = "&".join(f"{name}={value}" for name, value in parameters.items()).encode()
    scope = {"type": "http", "method": "GET", "query_string": query, "headers": [], "extensions": {}}
    statuses: list[int] = []

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": b""}

    async def send(message: dict[str, Any]) -> None:
        statuses.append(message.get("status", 0))

    await sandbox({**scope, "path": f"/bot{EXAMPLE_TOKEN}/{method}"}, receive, send)
    assert statuses[0] == 200


async def requests(bot: Peer, number: int) -> None:
    await until(lambda: len(bot.requests) >= number)


async def test_a_post_carries_what_the_provider_sends_and_nothing_of_our_own(told):
    async with peer(answer(200)) as bot:
        told.courier(bot.url, headers={"X-Secret": "s"}).offer(parcel())
        await told.until(1)

    names = {
        line.partition(b":")[0].lower() for line in bot.requests[0].split(b"\r\n\r\n")[0].split(b"\r\n")[1:]
    }
    assert names <= {b"host", b"content-type", b"content-length", b"x-secret", b"accept-encoding"}
    assert {b"content-type", b"x-secret"} <= names
