import inspect
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import aiohttp
import pytest

from pressroom.core.asgi import serving
from pressroom.sandbox.core.clock import Clock
from pressroom.sandbox.core.world import World
from pressroom.sandbox.max import EXAMPLE_BOT, EXAMPLE_TOKEN, MaxSandbox, Person
from tests.sandbox.max.openapi import ANSWERS, DATA, check
from tests.sandbox.stage import Stage

Call = Callable[..., Awaitable[tuple[int, dict[str, Any]]]]

NOON = 1_795_089_600.0
PNG = b"\x89PNG\r\n\x1a\n\x00\x00\x00\x0dIHDR\x00\x00\x00\x20\x00\x00\x00\x10" + b"\x00" * 16


class Picture:
    """An image on somebody's site. `meanwhile` happens while it is fetched."""

    url = ""

    def __init__(self) -> None:
        self.meanwhile: Callable[[], Any] = lambda: None

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http":
            if inspect.isawaitable(happened := self.meanwhile()):
                await happened
            await send({"type": "http.response.start", "status": 200, "headers": []})
            await send({"type": "http.response.body", "body": PNG})

    @property
    def attachment(self) -> dict[str, Any]:
        return {"type": "image", "payload": {"url": self.url}}


@pytest.fixture(scope="session")
async def max_stage() -> AsyncIterator[Stage]:
    stage = Stage()
    async with serving(stage, what="the MAX sandbox", port=0) as stage.port:
        yield stage


@pytest.fixture
async def make(max_stage: Stage) -> AsyncIterator[Callable[..., MaxSandbox]]:
    """Puts a sandbox of one's own behind the server, at noon on a clock that stands still."""
    made: list[MaxSandbox] = []

    def make(**wish: Any) -> MaxSandbox:
        world = wish.pop("world", None) or World(clock=Clock(NOON, frozen=True))
        max_stage.app = MaxSandbox(world, **{"rate_limit": None, **wish})
        made.append(max_stage.app)
        return max_stage.app

    yield make
    for sandbox in made:
        await sandbox.aclose()
        await sandbox.world.aclose()


@pytest.fixture
def sandbox(make: Callable[..., MaxSandbox]) -> MaxSandbox:
    return make()


@pytest.fixture
def url(max_stage: Stage) -> str:
    return f"http://127.0.0.1:{max_stage.port}"


@pytest.fixture
async def http(url: str) -> AsyncIterator[aiohttp.ClientSession]:
    async with aiohttp.ClientSession(url) as session:
        yield session


@pytest.fixture
def call(http: aiohttp.ClientSession, max_stage: Stage) -> Call:
    """Calls a method; every answer is held against the stored OpenAPI where that is on this machine."""

    async def call(verb: str, path: str, body: Any = None, *, token: str = EXAMPLE_TOKEN, **query: Any):
        request: dict[str, Any] = {"headers": {"Authorization": token}, "params": query}
        if body is not None:
            request["json"] = body
        async with http.request(verb, path, **request) as response:
            answer = json.loads(await response.text())
        _check(max_stage.app, response.status, answer)
        return response.status, answer

    return call


def _check(sandbox: MaxSandbox, status: int, answer: Any) -> None:
    if not DATA.exists():
        return
    if status != 200:
        check("Error", answer)
    elif sandbox.world.calls[-1].method in ANSWERS:
        check(ANSWERS[sandbox.world.calls[-1].method], answer)


@pytest.fixture
def anna(sandbox: MaxSandbox) -> Person:
    return sandbox.person("Anna")


@pytest.fixture
def dialog(anna: Person) -> int:
    """Anna's dialog with the example bot."""
    return anna.starts(EXAMPLE_BOT)


@pytest.fixture
async def picture() -> AsyncIterator[Picture]:
    async with serving(picture := Picture(), what="a picture", port=0) as port:
        picture.url = f"http://127.0.0.1:{port}/cat.png"
        yield picture
