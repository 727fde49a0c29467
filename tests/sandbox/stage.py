"""One server for all tests of an emulator: each test puts a fresh one behind it."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from pressroom.core.asgi import serving
from pressroom.sandbox.telegram import TelegramSandbox


class Stage:
    app: Any = None
    port: int = 0

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http":
            await self.app(scope, receive, send)


@pytest.fixture(scope="session")
async def telegram_stage() -> AsyncIterator[Stage]:
    stage = Stage()
    async with serving(stage, what="the Telegram sandbox", port=0) as stage.port:
        yield stage


@pytest.fixture
def telegram(telegram_stage: Stage) -> TelegramSandbox:
    telegram_stage.app = TelegramSandbox()
    return telegram_stage.app
