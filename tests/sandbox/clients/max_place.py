"""Where a client of MAX meets its emulator: a fresh sandbox behind a real port."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from pressroom.sandbox.core.ledger import Effect
from pressroom.sandbox.max import EXAMPLE_CHATS, EXAMPLE_TOKEN, MaxSandbox
from tests.sandbox.clients.place import BOT, Stage, first_effect, shown


@dataclass
class MaxPlace:
    sandbox: MaxSandbox
    url: str
    token: str = EXAMPLE_TOKEN
    bot: str = BOT
    news: int = EXAMPLE_CHATS[0].id
    title: str = EXAMPLE_CHATS[0].title

    async def effect(self, method: str) -> Effect:
        """The first one of that method by the bot, which may be still to come."""
        return await first_effect(self.sandbox.world, method, self.bot)

    def shown(self, chat: int) -> list[dict[str, Any]]:
        return shown(self.sandbox.world, "max", chat)


@asynccontextmanager
async def max_place(stage: Stage) -> AsyncIterator[MaxPlace]:
    sandbox = MaxSandbox()
    async with stage.plays(sandbox, sandbox.world) as url:
        yield MaxPlace(sandbox, url)
