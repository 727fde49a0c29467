"""A sandbox for other projects' tests: installed with Pressroom, pytest has the fixture `pressroom_sandbox`.

    def test_my_bot(pressroom_sandbox):
        bot = telebot.TeleBot(pressroom_sandbox.token)
        telebot.apihelper.API_URL = pressroom_sandbox.telegram_url + "/bot{0}/{1}"
        bot.send_message(pressroom_sandbox.chat, "Hello")
        assert pressroom_sandbox.telegram.texts(pressroom_sandbox.chat) == ["Hello"]

It runs in a thread and a loop of its own, on free ports, so tests may block or have any event loop.
"""

import asyncio
import threading
from collections.abc import Generator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from pressroom.sandbox.client import ProviderClient
    from pressroom.sandbox.run import Options


class RunningSandbox:
    """A new sandbox: its addresses, a token and a chat to begin with, and everything that `SandboxClient` does."""

    def __init__(self, urls: dict[str, str]) -> None:
        from pressroom.sandbox.client import SandboxClient
        from pressroom.sandbox.max import EXAMPLE_CHATS as MAX_CHATS
        from pressroom.sandbox.max import EXAMPLE_TOKEN as MAX_TOKEN
        from pressroom.sandbox.telegram import EXAMPLE_CHATS, EXAMPLE_TOKEN

        self.telegram_url, self.max_url, self.window_url = urls["telegram"], urls["max"], urls["window"]
        self.token, self.chat = EXAMPLE_TOKEN, EXAMPLE_CHATS[0].id
        self.max_token, self.max_chat = MAX_TOKEN, MAX_CHATS[0].id
        self.control: SandboxClient = SandboxClient(self.window_url)
        self.telegram: ProviderClient = self.control.provider("telegram")
        self.max: ProviderClient = self.control.provider("max")


def sandbox_in_a_thread(options: "Options | None" = None) -> Generator[RunningSandbox]:
    """For fixtures of one's own: `yield from sandbox_in_a_thread(Options(strict_webhooks=True))`.

    Ports are free ones unless the options name others than the usual.
    """
    from pressroom.sandbox.run import Options, run_sandbox

    wanted, usual = options or Options(), Options()
    for name in ("telegram_port", "max_port", "window_port"):
        if getattr(wanted, name) == getattr(usual, name):
            wanted = replace(wanted, **{name: 0})
    started: list[Any] = []
    ready = threading.Event()

    async def serve() -> None:
        stop = asyncio.Event()
        async with run_sandbox(wanted) as sandbox:
            started.extend((asyncio.get_running_loop(), stop, dict(sandbox.urls)))
            ready.set()
            await stop.wait()

    def run() -> None:
        try:
            asyncio.run(serve())
        except BaseException as error:  # noqa: BLE001 - raised in the thread that waits
            failures.append(error)
        finally:
            ready.set()

    failures: list[BaseException] = []
    thread = threading.Thread(target=run, name="pressroom sandbox", daemon=True)
    thread.start()
    ready.wait()
    if failures:
        raise failures[0]
    loop, stop, urls = started
    try:
        yield RunningSandbox(urls)
    finally:
        loop.call_soon_threadsafe(stop.set)
        thread.join()
    if failures:
        raise failures[0]


@pytest.fixture
def pressroom_sandbox() -> Generator[RunningSandbox]:
    """A Telegram and a MAX of your own, new for each test."""
    yield from sandbox_in_a_thread()
