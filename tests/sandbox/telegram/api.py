"""A bot that calls methods over real HTTP, and has every answer compared with the stored specification."""

import io
import json
import struct
import zlib
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import aiohttp
import pytest

from pressroom.sandbox.core.clock import Clock
from pressroom.sandbox.core.ledger import Effect
from pressroom.sandbox.core.world import World
from pressroom.sandbox.telegram import EXAMPLE_TOKEN, Chat, TelegramSandbox
from pressroom.sandbox.telegram.model import Member
from tests.sandbox.clients.bot_api_spec import BotApi

NEWS, DEALS = -1001000000001, -1001000000002
TEAM, FORUM, FRIENDS = -1001000000077, -1001000000088, -42
BOT_ID, BOT = 1000000001, "pressroom_example_bot"
SECOND_TOKEN = "1000000002:second"
NOON = 1_800_000_000.0
DAY = 86_400.0
NEWS_JSON = {"id": NEWS, "title": "Example news", "username": "pressroom_example_news", "type": "channel"}

#: In the answers since Bot API 10.3, which is not stored.
NEWER = ("can_send_welcome_messages",)

File = tuple[str, bytes] | tuple[str, bytes, str]


@dataclass
class Api:
    http: aiohttp.ClientSession
    sandbox: TelegramSandbox
    spec: BotApi | None
    token: str = EXAMPLE_TOKEN

    async def __call__(
        self, method: str, *, files: Mapping[str, File] | None = None, **parameters: Any
    ) -> tuple[int, dict[str, Any]]:
        """`files` are parts by name: a file name, the content, and perhaps a type."""
        body = {"json": parameters} if files is None else {"data": form(parameters, files)}
        return await self.send(method, **body)

    async def send(self, method: str, *, verb: str = "POST", **request: Any) -> tuple[int, dict[str, Any]]:
        async with self.http.request(verb, f"/bot{self.token}/{method}", **request) as response:
            assert response.content_type == "application/json"
            answer = await response.json()
            assert self._complaints(method, answer) == []
            return response.status, answer

    async def result(self, method: str, **parameters: Any) -> Any:
        status, answer = await self(method, **parameters)
        assert status == 200, answer
        return answer["result"]

    async def refusal(self, method: str, **parameters: Any) -> str:
        """The description of a refusal with status 400, or with whatever it begins with."""
        status, answer = await self(method, **parameters)
        assert status == answer.get("error_code"), answer
        assert status != 400 or answer["description"].startswith("Bad Request: "), answer
        return answer["description"].removeprefix("Bad Request: ")

    def of(self, token: str) -> "Api":
        return replace(self, token=token)

    @property
    def clock(self) -> Clock:
        return self.sandbox.world.clock

    def last(self) -> Effect:
        return self.sandbox.effects()[-1]

    def _complaints(self, method: str, answer: dict[str, Any]) -> list[str]:
        if self.spec is None:
            return []
        if not answer["ok"]:
            return self.spec.complaints_of_error(method, answer)
        found = self.spec.complaints_of_result(method, answer["result"])
        return [one for one in found if not any(f".{name}:" in one for name in NEWER)]


def form(parameters: Mapping[str, Any], files: Mapping[str, File]) -> aiohttp.FormData:
    data = aiohttp.FormData(default_to_multipart=True)
    for name, value in parameters.items():
        data.add_field(name, value if isinstance(value, str) else json.dumps(value))
    for name, (file_name, content, *kind) in files.items():
        data.add_field(name, io.BytesIO(content), filename=file_name, content_type=kind[0] if kind else None)
    return data


def new_sandbox(**options: Any) -> TelegramSandbox:
    chats = [
        Chat(FRIENDS, "Friends", "group", bots_are="member"),
        Chat(TEAM, "Team", "supergroup"),
        Chat(FORUM, "Forum", "supergroup", is_forum=True),
    ]
    world = World(seed=7, clock=Clock(NOON, frozen=True), ledger_size=options.pop("ledger_size", 100_000))
    bots = {EXAMPLE_TOKEN: BOT, SECOND_TOKEN: "second_bot"}
    return TelegramSandbox(world, bots=bots, chats=chats, **options)


@pytest.fixture(scope="session")
def stored_bot_api() -> BotApi | None:
    return BotApi.if_stored()


@pytest.fixture
async def api(telegram_stage, stored_bot_api) -> AsyncIterator[Api]:
    telegram_stage.app = sandbox = new_sandbox()
    async with aiohttp.ClientSession(f"http://127.0.0.1:{telegram_stage.port}/") as http:
        yield Api(http, sandbox, stored_bot_api)
    await sandbox.aclose()
    await sandbox.world.aclose()


@pytest.fixture
def anna(api) -> int:
    """The id of somebody who has started the bot."""
    person = api.sandbox.person("Anna", username="anna")
    person.starts(BOT)
    return person.id


def becomes(api: Api, chat_id: int, status: str, **rights: bool) -> None:
    """The bot, in a chat."""
    api.sandbox._state.chats[chat_id].members[BOT_ID] = Member(status, rights)


# Pictures


def png(width: int = 40, height: int = 30, colour: bytes = b"\x20\x60\xc0") -> bytes:
    rows = b"".join(b"\0" + colour * width for _ in range(height))

    def chunk(kind: bytes, content: bytes) -> bytes:
        return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))

    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    end = chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows)) + end


def jpeg_head(width: int, height: int) -> bytes:
    """As much of a JPEG as tells its size, with a segment of another kind before that."""
    frame = struct.pack(">HBHHB", 17, 8, height, width, 3) + bytes(9)
    return b"\xff\xd8\xff\xe0\x00\x10JFIF\0" + bytes(9) + b"\xff\xff\xc2" + frame
