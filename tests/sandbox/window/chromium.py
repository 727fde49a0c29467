"""A browser for tests, driven through its DevTools protocol: nothing to install but Chromium itself."""

import asyncio
import contextlib
import json
import shutil
import tempfile
from collections.abc import AsyncIterator
from itertools import count
from typing import Any

import aiohttp

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-dev-shm-usage",
    "--disable-background-networking", "--disable-component-update", "--disable-sync", "--remote-debugging-port=0",
)  # fmt: skip
PATIENCE = 20  # seconds


def find() -> str | None:
    return next((path for name in NAMES if (path := shutil.which(name))), None)


class NavigatedError(Exception):
    """The page that should have answered is gone."""


class Page:
    """One tab. `errors` holds what its scripts threw or logged as an error."""

    def __init__(self, socket: aiohttp.ClientWebSocketResponse, session: str) -> None:
        self.errors: list[str] = []
        self._socket, self._session, self._numbers = socket, session, count(1)
        self._answers: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self._listening = asyncio.create_task(self._listen(), name="listen to Chromium")

    async def send(self, method: str, **parameters: Any) -> dict[str, Any]:
        number = next(self._numbers)
        answer = self._answers[number] = asyncio.get_running_loop().create_future()
        message = {"id": number, "method": method, "params": parameters, "sessionId": self._session}
        await self._socket.send_str(json.dumps(message))
        async with asyncio.timeout(PATIENCE):
            return await answer

    async def _listen(self) -> None:
        async for message in self._socket:
            said = json.loads(message.data)
            if said.get("method") == "Runtime.exceptionThrown":
                self.errors.append(str(said["params"]["exceptionDetails"]))
            if said.get("method") == "Log.entryAdded" and said["params"]["entry"]["level"] == "error":
                self.errors.append(said["params"]["entry"]["text"])
            if (answer := self._answers.pop(said.get("id", 0), None)) is not None and not answer.done():
                answer.set_result(said.get("result", said))

    async def run(self, script: str) -> Any:
        """The value of an expression in the page; a promise is waited for."""
        answer = await self.send("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise AssertionError(answer["exceptionDetails"]["exception"].get("description", answer))
        if "error" in answer:
            raise NavigatedError(answer["error"]["message"])
        return answer["result"].get("value")

    async def until(self, script: str) -> None:
        """Waits until the expression is true, looking at each frame that the page paints."""
        wait = f"""new Promise((done) => {{
            const end = performance.now() + {PATIENCE * 900};
            const look = () => {{
                let value = null;
                try {{ value = {script}; }} catch {{}}
                if (value || performance.now() > end) done(Boolean(value)); else setTimeout(look, 20);
            }};
            look();
        }})"""
        value = None
        async with asyncio.timeout(PATIENCE * 2):
            while value is None:
                with contextlib.suppress(NavigatedError):
                    value = await self.run(wait)
        assert value, f"never came true: {script}\n{await self.run('document.body.innerText')}\n{self.errors}"
        return value

    async def key(self, key: str, *, alt: bool = False) -> None:
        text = {"Enter": "\r"}.get(key, key if len(key) == 1 else "")
        codes = {"Enter": 13, "Escape": 27, "ArrowDown": 40, "ArrowUp": 38, "Home": 36}
        common = {"key": key, "modifiers": 1 if alt else 0, "windowsVirtualKeyCode": codes.get(key, 0)}
        await self.send("Input.dispatchKeyEvent", type="keyDown", text="" if alt else text, **common)
        await self.send("Input.dispatchKeyEvent", type="keyUp", **common)

    async def write(self, text: str) -> None:
        await self.send("Input.insertText", text=text)

    async def click(self, selector: str) -> None:
        await self.until(f"document.querySelector({json.dumps(selector)})")
        await self.run(f"document.querySelector({json.dumps(selector)}).click()")

    async def go(self, url: str) -> None:
        await self.send("Page.navigate", url=url)

    async def size(self, width: int, height: int) -> None:
        await self.send(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False
        )

    async def aclose(self) -> None:
        self._listening.cancel()
        await asyncio.wait([self._listening])


@contextlib.asynccontextmanager
async def browser(path: str, language: str = "en-GB") -> AsyncIterator[Page]:
    """A browser with a profile of its own and one empty tab."""
    with tempfile.TemporaryDirectory(prefix="pressroom-chromium-", ignore_cleanup_errors=True) as profile:
        process = await asyncio.create_subprocess_exec(
            path, *FLAGS, f"--user-data-dir={profile}", f"--lang={language}", "about:blank",
            stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.PIPE,
        )  # fmt: skip
        try:
            async with (
                aiohttp.ClientSession() as http,
                http.ws_connect(await _address(process), max_msg_size=0) as socket,
            ):
                page = await _tab(socket)
                await page.send("Emulation.setLocaleOverride", locale=language.replace("-", "_"))
                yield page
                await page.aclose()
        finally:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            await process.communicate()


async def _address(process: asyncio.subprocess.Process) -> str:
    """Chromium says it on its error stream as soon as it listens."""
    assert process.stderr is not None
    async with asyncio.timeout(PATIENCE * 3):
        async for line in process.stderr:
            if b"DevTools listening on " in line:
                return line.decode().partition("DevTools listening on ")[2].strip()
    raise AssertionError("Chromium ended before it listened")


async def _tab(socket: aiohttp.ClientWebSocketResponse) -> Page:
    async def ask(number: int, method: str, **parameters: Any) -> dict[str, Any]:
        await socket.send_str(json.dumps({"id": number, "method": method, "params": parameters}))
        while (said := await socket.receive_json(timeout=PATIENCE)).get("id") != number:
            pass
        return said["result"]

    target = await ask(-1, "Target.createTarget", url="about:blank")
    session = await ask(-2, "Target.attachToTarget", targetId=target["targetId"], flatten=True)
    page = Page(socket, session["sessionId"])
    for domain in ("Page", "Runtime", "Log"):
        await page.send(f"{domain}.enable")
    return page
