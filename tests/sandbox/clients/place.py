"""Where a client meets an emulator: a fresh sandbox behind a real port."""

import asyncio
import struct
import zlib
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass
from typing import Any

from aiohttp import web

from pressroom.core.asgi import serving
from pressroom.sandbox.core.ledger import Effect
from pressroom.sandbox.core.world import World
from pressroom.sandbox.telegram import EXAMPLE_TOKEN, TelegramSandbox
from tests.sandbox.clients.bot_api_spec import BotApi, Watched

BOT = "pressroom_example_bot"
NEWS = -1001000000001
DEALS = -1001000000002
SECRET = "a-secret_of-42-letters"
PATIENCE = 20  # seconds, until something that has to happen is given up


@dataclass
class TelegramPlace:
    """`watched` stands before the sandbox and compares what is said with the Bot API's specification."""

    sandbox: TelegramSandbox
    url: str
    watched: Watched
    token: str = EXAMPLE_TOKEN

    async def effect(self, method: str) -> Effect:
        """The first one of that method by the bot, which may be still to come."""
        return await first_effect(self.sandbox.world, method, BOT)

    def bots_deeds(self) -> list[str]:
        """What the bot did, in order, by method."""
        return [effect.method for effect in self.sandbox.effects() if effect.actor == BOT]

    def shown(self, chat: int) -> list[dict[str, Any]]:
        return shown(self.sandbox.world, "telegram", chat)

    async def polled(self, times: int) -> None:
        """Wait for that many polls, and let the last one be long ago.

        A library makes one more when it stops, with the offset of the one before: that is held for three seconds
        if it comes within three seconds.
        """
        async with asyncio.timeout(PATIENCE):
            await self.watched.called("getUpdates", times)
        self.sandbox.world.clock.advance(4)


class Stage:
    """One server for all tests, with the sandbox of the present one behind it: to end a server takes its time."""

    app: Any = None
    url: str = ""

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http":
            await self.app(scope, receive, send)

    @asynccontextmanager
    async def plays(self, app: Any, world: World) -> AsyncIterator[str]:
        self.app = app
        try:
            yield self.url
        finally:
            await world.aclose()


@asynccontextmanager
async def stage() -> AsyncIterator[Stage]:
    one = Stage()
    async with serving(one, what="the sandbox", port=0) as port:
        one.url = f"http://127.0.0.1:{port}"
        yield one


@asynccontextmanager
async def telegram_place(stage: Stage, api: BotApi | None) -> AsyncIterator[TelegramPlace]:
    sandbox = TelegramSandbox()
    watched = Watched(sandbox, api)
    async with stage.plays(watched, sandbox.world) as url:
        yield TelegramPlace(sandbox, url, watched)


async def first_effect(world: World, method: str, actor: str) -> Effect:
    async with asyncio.timeout(PATIENCE), aclosing(world.ledger.watch(0)) as effects:
        async for effect in effects:
            if (effect.method, effect.actor) == (method, actor):
                return effect
    raise AssertionError("unreachable: the ledger is watched until the time is over")


def shown(world: World, provider: str, chat: int) -> list[dict[str, Any]]:
    """A chat as people see it, in the fields that a flow decides about; service messages left out."""
    return [_in_short(view) for view in world.providers[provider].messages_of(chat) if not view.get("service")]


def _in_short(view: Any) -> dict[str, Any]:
    short = {name: view[name] for name in ("text", "entities", "buttons") if view.get(name)}
    if view.get("media"):
        short["media"] = [each["kind"] for each in view["media"]]
    if view.get("reply_to"):
        short["reply_to"] = view["reply_to"]["id"]
    marks = {"album": "album", "forwarded_from": "forwarded", "edited_at": "edited", "pinned": "pinned"}
    return short | {mark: True for name, mark in marks.items() if view.get(name)}


@asynccontextmanager
async def listening(take: Callable[[web.Request], Awaitable[web.StreamResponse]]) -> AsyncIterator[str]:
    """A bot author's own little server; gives the address of its webhook."""
    app = web.Application()
    app.router.add_post("/webhook", take)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    try:
        yield f"http://127.0.0.1:{runner.addresses[0][1]}/webhook"
    finally:
        await runner.cleanup()


def picture(colour: int = 0x3366CC, *, width: int = 320, height: int = 200) -> bytes:
    """A PNG of one colour."""

    def chunk(kind: bytes, content: bytes) -> bytes:
        checksum = zlib.crc32(kind + content)
        return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", checksum)

    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    rows = (b"\0" + colour.to_bytes(3, "big") * width) * height
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", header)
        + chunk(b"IDAT", zlib.compress(rows))
        + chunk(b"IEND", b"")
    )


NOTES = "Заметки\n".encode() * 100
