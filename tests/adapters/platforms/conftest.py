from collections.abc import AsyncIterator

import aiohttp
import pytest

from pressroom.core.http import open_session
from tests.core.conftest import closed_port
from tests.sandbox.stage import telegram, telegram_stage

__all__ = ["closed_port", "telegram", "telegram_stage"]


@pytest.fixture
async def http(telegram_stage) -> AsyncIterator[aiohttp.ClientSession]:
    """The product's own client, for which telegram.sandbox is the emulator."""
    hosts = {"telegram.sandbox": ("127.0.0.1", telegram_stage.port)}
    async with open_session(hosts=hosts, user_agent="Pressroom test") as session:
        yield session
