from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from aiohttp import web

from tests.sandbox.clients.bot_api_spec import BotApi
from tests.sandbox.clients.max_place import MaxPlace, max_place
from tests.sandbox.clients.place import NOTES, Stage, TelegramPlace, picture, stage, telegram_place

pytest.register_assert_rewrite("tests.sandbox.clients.outcome", "tests.sandbox.clients.told")


@pytest.fixture(scope="session")
def bot_api() -> BotApi | None:
    return BotApi.if_stored()


@pytest.fixture(scope="session")
async def clients_stage() -> AsyncIterator[Stage]:
    async with stage() as one:
        yield one


@pytest.fixture
async def telegram(clients_stage: Stage, bot_api: BotApi | None) -> AsyncIterator[TelegramPlace]:
    """A fresh emulator. Whatever is said in the test has to conform to the Bot API's specification, if it is stored."""
    async with telegram_place(clients_stage, bot_api) as place:
        yield place
    assert place.watched.complaints == []


@pytest.fixture
async def max_(clients_stage: Stage) -> AsyncIterator[MaxPlace]:
    async with max_place(clients_stage) as place:
        yield place


@pytest.fixture(scope="session")
async def pictures() -> AsyncIterator[str]:
    """An address in the web that has a picture."""

    async def show(_request: web.Request) -> web.Response:
        return web.Response(body=picture(0xCC3333), content_type="image/png")

    app = web.Application()
    app.router.add_get("/red.png", show)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    yield f"http://127.0.0.1:{runner.addresses[0][1]}/red.png"
    await runner.cleanup()


@pytest.fixture
def picture_file(tmp_path: Path) -> Path:
    file = tmp_path / "green.png"
    file.write_bytes(picture(0x33CC33))
    return file


@pytest.fixture
def notes_file(tmp_path: Path) -> Path:
    file = tmp_path / "notes.txt"
    file.write_bytes(NOTES)
    return file
