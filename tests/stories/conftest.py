"""The whole product as its users start it: a process of its own, its own data folder, free ports."""

import asyncio
import contextlib
import json
import os
import signal
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import aiohttp
import psutil
import pytest

PATIENCE = 60


@dataclass
class Up:
    """A running `pressroom up --json`."""

    process: asyncio.subprocess.Process
    where: dict[str, Any]
    http: aiohttp.ClientSession
    seen: list[dict[str, Any]] = field(default_factory=list)

    async def push(self, body: dict[str, Any], **headers: str) -> dict[str, Any]:
        headers = {"X-Pressroom-Secret": self.where["push"]["secret"]} | headers
        async with self.http.post(self.where["push"]["url"], json=body, headers=headers) as answer:
            return {"status": answer.status} | await answer.json()

    async def health(self) -> tuple[int, dict[str, Any]]:
        async with self.http.get(f"{self.where['api']}/api/health") as answer:
            return answer.status, await answer.json()

    async def arrival(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        line = await asyncio.wait_for(self.process.stdout.readline(), PATIENCE)
        return json.loads(line)["arrived"]

    async def arrivals(self, count: int) -> list[tuple[str, str]]:
        return sorted([(a["chat"], a["text"]) for a in [await self.arrival() for _ in range(count)]])

    async def stop(self, number: signal.Signals = signal.SIGINT) -> int:
        self.process.send_signal(number)
        return await asyncio.wait_for(self.process.wait(), PATIENCE)


StartUp = Callable[..., Awaitable[Up]]


@pytest.fixture
async def start_up(tmp_path: Path) -> AsyncIterator[StartUp]:
    """Starts `pressroom up` on `tmp_path/data`; whatever still runs in the end is killed."""
    started: list[asyncio.subprocess.Process] = []
    async with aiohttp.ClientSession() as http:

        async def start(*arguments: str, **environment: str) -> Up:
            process = await asyncio.create_subprocess_exec(
                sys.executable, "-m", "pressroom", "up", "--json", "--port", "0", "--data", str(tmp_path / "data"),
                *arguments, stdout=asyncio.subprocess.PIPE, env=os.environ | environment, start_new_session=True,
            )  # fmt: skip
            started.append(process)
            assert process.stdout is not None
            line = await asyncio.wait_for(process.stdout.readline(), PATIENCE)
            assert line, f"up ended with {await process.wait()} before it was ready"
            return Up(process, json.loads(line), http)

        yield start
    for process in started:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await process.wait()
    for server in servers_of(tmp_path):
        server.kill()


def servers_of(folder: Path) -> list[psutil.Process]:
    """Every process of an embedded server whose data is below the folder, the postmaster first."""
    found = []
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error):
            if process.status() != psutil.STATUS_ZOMBIE and Path(process.cwd()).is_relative_to(folder):
                found.append(process)
    return sorted((p for p in found if "postgres" in p.name()), key=lambda process: process.create_time())
