"""A sandbox whose clock stands still, and bots that listen at it over real HTTP."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

import aiohttp
import pytest
from aiohttp import web

from pressroom.sandbox.core.clock import Clock
from pressroom.sandbox.core.world import World
from pressroom.sandbox.telegram import EXAMPLE_TOKEN, Chat, TelegramSandbox
from tests.sandbox.clients.bot_api_spec import STORED, WITH_RESULTS, BotApi

NEWS = -1001000000001
FRIENDS = -42
TEAM = -1001000000077
BOT = "pressroom_example_bot"
SECOND_TOKEN, SECOND_BOT = "1000000002:second", "second_bot"
NOON = 1_800_000_000.0

HEARD = {"getUpdates", "setWebhook", "deleteWebhook", "getWebhookInfo", "answerCallbackQuery"}


#: What is told to bots has to conform to it, where it is at hand.
API = BotApi.stored() if (STORED / WITH_RESULTS).exists() else None


def new_sandbox(**options: Any) -> TelegramSandbox:
    world = World(seed=7, clock=Clock(NOON, frozen=True))
    chats = [Chat(FRIENDS, "Friends", "group", bots_are="member"), Chat(TEAM, "Team", "supergroup")]
    return TelegramSandbox(world, chats=chats, **options)


@dataclass
class Calls:
    """Calls methods of the sandbox that is on the stage."""

    http: aiohttp.ClientSession
    token: str = EXAMPLE_TOKEN

    async def __call__(self, method: str, **parameters: Any) -> tuple[int, dict[str, Any]]:
        async with self.http.post(f"/bot{self.token}/{method}", json=parameters) as response:
            answer = await response.json()
        if API is not None and method in HEARD and answer["ok"]:
            assert API.complaints_of_result(method, answer["result"]) == []
        return response.status, answer

    async def result(self, method: str, **parameters: Any) -> Any:
        status, answer = await self(method, **parameters)
        assert status == 200, answer
        return answer["result"]

    async def updates(self, **parameters: Any) -> list[dict[str, Any]]:
        return await self.result("getUpdates", **parameters)

    def of(self, token: str) -> "Calls":
        return Calls(self.http, token)


@pytest.fixture
async def sandbox(telegram_stage) -> AsyncIterator[TelegramSandbox]:
    telegram_stage.app = sandbox = new_sandbox()
    yield sandbox
    await sandbox.aclose()
    await sandbox.world.aclose()


@pytest.fixture
async def bot(telegram_stage, sandbox) -> AsyncIterator[Calls]:
    async with aiohttp.ClientSession(f"http://127.0.0.1:{telegram_stage.port}/") as session:
        yield Calls(session)


@dataclass
class Hook:
    """A bot's own little server: keeps what it gets, and answers as `answers` say, then with 200."""

    url: str = ""
    got: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    headers: list[Any] = field(default_factory=list[Any])
    answers: list[web.Response] = field(default_factory=list[web.Response])
    hold: asyncio.Event | None = None
    at_once: int = 0
    most_at_once: int = 0
    _news: asyncio.Event = field(default_factory=asyncio.Event)

    async def take(self, request: web.Request) -> web.Response:
        self.at_once += 1
        self.most_at_once = max(self.most_at_once, self.at_once)
        update = await request.json()
        if API is not None:
            assert API.complaints_of("Update", update) == []
        self.got.append(update)
        self.headers.append(request.headers)
        self._news.set()
        if self.hold is not None:
            await self.hold.wait()
        self.at_once -= 1
        return self.answers.pop(0) if self.answers else web.Response()

    async def until(self, number: int) -> list[dict[str, Any]]:
        """As soon as so many came."""
        async with asyncio.timeout(5):
            while len(self.got) < number:
                self._news.clear()
                await self._news.wait()
        return self.got

    def texts(self) -> list[str]:
        return [update["message"]["text"] for update in self.got]


@pytest.fixture
async def hook() -> AsyncIterator[Hook]:
    hook = Hook()
    app = web.Application()
    app.router.add_post("/{path:.*}", hook.take)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    hook.url = f"http://127.0.0.1:{runner.addresses[0][1]}/hook"
    yield hook
    if hook.hold is not None:
        hook.hold.set()
    await runner.cleanup()


async def until(condition: Callable[[], Any]) -> None:
    """Lets others work until it is so."""
    async with asyncio.timeout(5):
        while not condition():  # noqa: ASYNC110 - no event tells of it
            await asyncio.sleep(0.001)


def texts(updates: list[dict[str, Any]]) -> list[str]:
    return [update["message"]["text"] for update in updates]


async def ends(waiting: Awaitable[Any]) -> Any:
    async with asyncio.timeout(5):
        return await waiting
