"""Roles apart on a database of one's own: it may go away and come back, and stopping finishes what is under way."""

import asyncio
import contextlib
import json
import os
import signal
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import aiohttp
import pytest

from pressroom.core.asgi import serving
from pressroom.core.ids import WorkspaceId
from pressroom.db import embedded
from pressroom.db.database import Database
from pressroom.db.migrate import migrate
from pressroom.example import WORKSPACE, push_secret, seed_example
from pressroom.sandbox.telegram import TelegramSandbox
from pressroom.workspaces.sealing import Keyring
from tests.stories.conftest import PATIENCE

NEWS = -1001000000001


@pytest.fixture
async def server(tmp_path: Path) -> AsyncIterator[embedded.Attachment]:
    """Stands for a server that somebody else runs."""
    attachment = await asyncio.to_thread(embedded.attach, tmp_path / "elsewhere")
    yield attachment
    await asyncio.to_thread(embedded.stop, tmp_path / "elsewhere")
    await asyncio.to_thread(attachment.close)


@pytest.fixture
async def served(server: embedded.Attachment) -> AsyncIterator["Served"]:
    keys = Keyring.generate_text()
    keyring = Keyring.parse(keys)
    await migrate(server.dsn())
    db = await Database.open(server.dsn())
    await seed_example(db, keyring)
    secret = await push_secret(db, keyring)
    sandbox = TelegramSandbox()
    async with serving(sandbox, what="the sandbox Telegram", port=0) as port, aiohttp.ClientSession() as http:
        yield Served(server, db, keys, secret, sandbox, port, http)
    await db.close()


class Served:
    def __init__(
        self, server: embedded.Attachment, db: Database, keys: str, secret: str, sandbox: TelegramSandbox, port: int,
        http: aiohttp.ClientSession,
    ) -> None:  # fmt: skip
        self.server, self.db, self.sandbox, self.http = server, db, sandbox, http
        self._keys, self._secret, self._port = keys, secret, port
        self.api = ""

    @contextlib.asynccontextmanager
    async def role(self, *roles: str, **settings: str) -> AsyncIterator[asyncio.subprocess.Process]:
        environment = os.environ | {
            "PRESSROOM_DATABASE_URL": self.server.url(),
            "PRESSROOM_SECRET_KEYS": self._keys,
            "PRESSROOM_SANDBOX_TELEGRAM_PORT": str(self._port),
            "PRESSROOM_API_PORT": "0",
            "PRESSROOM_LOG_FORMAT": "json",
        } | settings  # fmt: skip
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "pressroom", "serve", *roles, env=environment, stderr=asyncio.subprocess.PIPE
        )
        assert process.stderr is not None
        try:
            while line := await asyncio.wait_for(process.stderr.readline(), PATIENCE):
                said = json.loads(line)
                if said["event"] == "serving":
                    self.api = said["api"] or self.api
                    break
            else:
                raise AssertionError(f"serve ended with {await process.wait()}")
            draining = asyncio.create_task(process.stderr.read())
            yield process
            if process.returncode is None:
                process.terminate()
            assert await asyncio.wait_for(process.wait(), PATIENCE) == 0
            await draining
        finally:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            await process.wait()

    async def push(self, text: str) -> int:
        async with self.http.post(
            f"{self.api}/ingest/push", json={"text": text}, headers={"X-Pressroom-Secret": self._secret}
        ) as answer:
            return answer.status

    async def health(self) -> int:
        async with self.http.get(f"{self.api}/api/health") as answer:
            return answer.status

    async def arrives(self, text: str) -> None:
        async def seen() -> None:
            if text in self.sandbox.messages(NEWS):
                return
            async for effect in self.sandbox.watch():
                if effect.chat == NEWS and effect.text == text:
                    return

        await asyncio.wait_for(seen(), PATIENCE)


async def until(condition) -> None:
    """Asks again, as the outside world does."""

    async def asking() -> None:
        while not await condition():  # noqa: ASYNC110 - what is waited for is another process
            await asyncio.sleep(0.1)

    await asyncio.wait_for(asking(), PATIENCE)


async def test_api_and_dispatcher_run_apart(served: Served):
    async with served.role("api"):
        accepted = await served.push("Waits for a dispatcher")
        async with served.role("dispatch"):
            await served.arrives("Waits for a dispatcher")

    assert accepted == 202


async def test_a_database_that_goes_away_is_said_by_health_and_survived(served: Served, tmp_path: Path):
    async with served.role("api", "dispatch"):
        assert await served.push("Before") == 202
        await served.arrives("Before")

        await asyncio.to_thread(embedded.stop, tmp_path / "elsewhere")
        await until(lambda: _is(served.health(), 503))
        while_away = await served.push("While it is away")
        back = await asyncio.to_thread(embedded.attach, tmp_path / "elsewhere")
        await until(lambda: _is(served.push("After"), 202))
        await served.arrives("After")
        await until(lambda: _is(served.health(), 200))
        await asyncio.to_thread(back.close)

    assert while_away == 503
    assert "While it is away" not in served.sandbox.messages(NEWS)


async def _is(asked, status: int) -> bool:
    return await asked == status


async def test_sigterm_finishes_the_send_that_is_under_way(served: Served):
    served.sandbox.slow_next(2, chat=NEWS)
    async with served.role("api", "dispatch") as process:
        await served.push("Slow")
        await served.arrives("Slow")  # the effect is there, the answer is not
        process.send_signal(signal.SIGTERM)

    async with served.db.system() as tx:
        statuses = await tx.values(
            "select status from deliveries where workspace_id = $1", WorkspaceId(WORKSPACE)
        )
    assert statuses == ["sent", "sent"]


async def test_several_dispatchers_send_each_post_once(served: Served):
    async with served.role("api", "dispatch"), served.role("dispatch"), served.role("dispatch"):
        for number in range(40):
            assert await served.push(f"Post {number}") == 202
        for number in range(40):
            await served.arrives(f"Post {number}")

    assert sorted(served.sandbox.messages(NEWS)) == sorted(f"Post {number}" for number in range(40))
