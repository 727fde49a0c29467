"""The whole sandbox: three ports, one world, and a state that outlives it."""

import asyncio
import errno
import json
import os
import signal
import socket
import subprocess
import sys
import time

import aiohttp
import pytest
from structlog.testing import capture_logs

from pressroom.core.errors import BadSetup
from pressroom.sandbox.client import SandboxClient
from pressroom.sandbox.max import EXAMPLE_CHATS as MAX_CHATS
from pressroom.sandbox.max import EXAMPLE_TOKEN as MAX_TOKEN
from pressroom.sandbox.run import Options, Sandbox, run_sandbox, save
from pressroom.sandbox.telegram import EXAMPLE_TOKEN
from tests.sandbox.telegram.hearing import until

NEWS = -1001000000001
PROGRAM = [sys.executable, "-c", "import sys; from pressroom.entrypoints.cli import main; sys.exit(main())"]


def anywhere(**wish) -> Options:
    return Options(telegram_port=0, max_port=0, window_port=0, **wish)


async def telegram(sandbox: Sandbox, method: str, token: str = EXAMPLE_TOKEN, **parameters):
    async with (
        aiohttp.ClientSession() as http,
        http.post(f"{sandbox.urls['telegram']}/bot{token}/{method}", json=parameters) as response,
    ):
        return await response.json()


async def max_(sandbox: Sandbox, text: str):
    async with (
        aiohttp.ClientSession() as http,
        http.post(
            f"{sandbox.urls['max']}/messages",
            params={"chat_id": MAX_CHATS[0].id},
            json={"text": text},
            headers={"Authorization": MAX_TOKEN},
        ) as response,
    ):
        return await response.json()


async def test_both_messengers_share_one_ledger_and_one_clock():
    async with run_sandbox(anywhere(starts_at=1_700_000_000.0)) as sandbox:
        await telegram(sandbox, "sendMessage", chat_id=NEWS, text="first")
        sandbox.world.clock.advance(60)
        await max_(sandbox, "second")

        seen = [
            (effect.seq, effect.at, effect.provider, effect.text) for effect in sandbox.world.ledger.effects()
        ]

    assert len(set(sandbox.ports().values())) == 3
    assert seen == [(1, 1_700_000_000.0, "telegram", "first"), (2, 1_700_000_060.0, "max", "second")]


async def test_any_token_is_a_bot_unless_only_known_ones_are_wanted():
    async with run_sandbox(anywhere()) as sandbox:
        mine = await telegram(sandbox, "getMe", token="4242:anything")
    async with run_sandbox(anywhere(any_token=False)) as sandbox:
        refused = await telegram(sandbox, "getMe", token="4242:anything")

    assert mine["result"]["id"] == 4242
    assert refused["error_code"] == 401


async def test_chats_are_made_by_the_number():
    async with run_sandbox(anywhere(chats=40)) as sandbox:
        titles = {chat["title"] for chat in sandbox.telegram.chats()}
        assert {f"Channel {number:02}" for number in range(1, 41)} <= titles
        first = next(chat for chat in sandbox.telegram.chats() if chat["title"] == "Channel 01")

        assert (await telegram(sandbox, "sendMessage", chat_id=first["id"], text="x"))["ok"]


async def test_equal_seeds_make_equal_worlds():
    async def story() -> list[object]:
        async with run_sandbox(anywhere(seed=7, starts_at=1_700_000_000.0)) as sandbox:
            anna = sandbox.telegram.person("Anna")
            anna.starts("pressroom_example_bot")
            answers = [
                await telegram(sandbox, "sendMessage", chat_id=NEWS, text="x"),
                await telegram(sandbox, "getUpdates"),
                await max_(sandbox, "y"),
            ]
            return [*answers, [effect.as_json() for effect in sandbox.world.ledger.effects()]]

    assert await story() == await story()


async def test_a_state_file_goes_on_where_the_last_one_stopped(tmp_path):
    options = anywhere(state=tmp_path / "sandbox.json")
    async with run_sandbox(options) as sandbox:
        await telegram(sandbox, "sendMessage", chat_id=NEWS, text="<b>kept</b>", parse_mode="HTML")
        await max_(sandbox, "kept too")
        before = [effect.as_json() for effect in sandbox.world.ledger.effects()]

    async with run_sandbox(options) as sandbox:
        after = [effect.as_json() for effect in sandbox.world.ledger.effects()]
        shown = sandbox.telegram.messages_of(NEWS)
        next_one = await telegram(sandbox, "sendMessage", chat_id=NEWS, text="goes on")

    assert (tmp_path / "sandbox.json").stat().st_mode & 0o777 == 0o600
    assert (after, len(after)) == (before, 2)
    assert [(one["text"], [entity["type"] for entity in one.get("entities", ())]) for one in shown] == [
        ("kept", ["bold"])
    ]
    assert (next_one["result"]["message_id"], sandbox.world.ledger.total) == (2, 3)


WHOLE = {"version": 1, "seed": 0, "chance": [3, [0] * 625, None], "clock": {"offset": 0, "stands_at": None}}


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"\xff\xfe\x00",
        b"[" * 100_000,
        b"[]",
        b"{}",
        b'{"version": 99}',
        b'{"version": 1}',
        json.dumps({**WHOLE, "providers": []}).encode(),
        json.dumps({**WHOLE, "providers": {"telegram": {}}}).encode(),
        json.dumps({**WHOLE, "providers": {"telegram": 7}, "ledger": {}}).encode(),
        json.dumps({**WHOLE, "providers": {"max": []}, "ledger": {}}).encode(),
        json.dumps({**WHOLE, "providers": {}, "ledger": {"total": 1, "effects": [[1]]}}).encode(),
    ],
)
async def test_a_file_that_is_no_state_is_refused_and_left_alone(tmp_path, content):
    file = tmp_path / "sandbox.json"
    file.write_bytes(content)

    with pytest.raises(BadSetup, match="is not a state"):
        async with run_sandbox(anywhere(state=file)):
            pass

    assert file.read_bytes() == content


async def test_a_state_that_could_not_be_kept_is_refused_before_anything_happens(tmp_path):
    with pytest.raises(BadSetup, match="cannot be kept"):
        async with run_sandbox(anywhere(state=tmp_path / "none" / "sandbox.json")):
            pass
    with pytest.raises(BadSetup, match="cannot be read"):
        async with run_sandbox(anywhere(state=tmp_path)):
            pass


async def test_two_sandboxes_do_not_share_a_state(tmp_path):
    options = anywhere(state=tmp_path / "sandbox.json")
    async with run_sandbox(options):
        with pytest.raises(BadSetup, match="another sandbox keeps its state"):
            async with run_sandbox(options):
                pass
    async with run_sandbox(options) as again:
        assert again.goes_on


async def test_a_state_that_cannot_be_written_says_so(tmp_path):
    async with run_sandbox(anywhere()) as sandbox:
        with pytest.raises(BadSetup, match="cannot be saved"):
            save(sandbox.world, tmp_path / "none" / "sandbox.json")


def test_killed_it_leaves_the_state_of_the_last_whole_save(tmp_path):
    """SIGKILL at any moment: the file is the old one or the new one, never half of one."""
    file = tmp_path / "sandbox.json"
    whole = json.dumps({"old": True})
    script = (
        "import json, sys; from pathlib import Path; from pressroom.sandbox.core.world import World;"
        "from pressroom.sandbox.run import save; from pressroom.sandbox.telegram import TelegramSandbox\n"
        "sandbox = TelegramSandbox()\n"
        "for n in range(3000): sandbox.world.ledger.record(0.0, 'telegram', 'b', -1, 'sendMessage', n, 'x' * 300)\n"
        f"print('ready', flush=True)\nwhile True: save(sandbox.world, Path({str(file)!r}))\n"
    )
    file.write_text(whole)

    for _ in range(5):
        process = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        time.sleep(int.from_bytes(os.urandom(1)) / 2550)
        process.send_signal(signal.SIGKILL)
        process.wait()
        process.stdout.close()

        assert json.loads(file.read_text())


async def test_a_port_that_is_taken_is_an_error_that_says_what_to_do():
    async with run_sandbox(anywhere()) as sandbox:
        taken = sandbox.ports()["max"]

        with pytest.raises(BadSetup, match="the sandbox MAX cannot use port") as caught:
            async with run_sandbox(Options(telegram_port=0, max_port=taken, window_port=0)):
                pass

    assert caught.value.hint == "--port 0 picks free ones"


def test_ctrl_c_ends_it_while_clients_wait():
    process = subprocess.Popen(
        [*PROGRAM, "sandbox", "--port", "0", "--json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    urls = json.loads(process.stdout.readline())
    waiting = [
        _asks(urls["telegram"], f"/bot{EXAMPLE_TOKEN}/getUpdates?timeout=50"),
        _asks(urls["max"], "/updates?timeout=90", f"Authorization: {MAX_TOKEN}\r\n"),
        _asks(urls["window"], "/sandbox/events"),
    ]
    for url in urls["telegram"], urls["max"], urls["window"]:  # answered, so what was asked before is under way
        SandboxClient(url).clock()

    process.send_signal(signal.SIGINT)
    _, complaints = process.communicate(timeout=20)

    assert (process.returncode, complaints) == (0, "")
    for connection in waiting:
        connection.close()


def _asks(url: str, path: str, headers: str = "") -> socket.socket:
    connection = socket.create_connection(("127.0.0.1", int(url.rpartition(":")[2])))
    connection.sendall(f"GET {path} HTTP/1.1\r\nHost: localhost\r\n{headers}\r\n".encode())
    return connection


@pytest.mark.parametrize(("host", "status"), [("0.0.0.0", 200), ("127.0.0.1", 403), ("127.0.0.2", 403)])
async def test_bound_to_the_world_on_purpose_it_answers_to_any_name(host, status):
    stranger = {"Host": "sandbox.example.org"}
    async with run_sandbox(anywhere(host=host)) as sandbox, aiohttp.ClientSession(headers=stranger) as http:
        answers = []
        for name, path in (
            ("window", "/"),
            ("window", "/sandbox"),
            ("telegram", "/sandbox"),
            ("max", "/sandbox"),
            ("telegram", f"/bot{EXAMPLE_TOKEN}/getMe"),
            ("max", "/me"),
        ):
            async with http.get(sandbox.urls[name] + path, headers={"Authorization": MAX_TOKEN}) as response:
                answers.append(response.status)

    assert answers == [status] * 6


def saved_texts(file) -> list[str]:
    return [effect[7] for effect in json.loads(file.read_text())["ledger"]["effects"]]


async def until_saved(file, text: str) -> None:
    await until(lambda: file.exists() and text in saved_texts(file))


async def test_a_disk_that_fails_for_a_while_costs_nothing(tmp_path, monkeypatch):
    monkeypatch.setattr("pressroom.sandbox.run.SAVE_EVERY", 0.01)
    file = tmp_path / "sandbox.json"

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    async with run_sandbox(anywhere(state=file)) as sandbox:
        await telegram(sandbox, "sendMessage", chat_id=NEWS, text="first")
        await until_saved(file, "first")
        with capture_logs() as logs, monkeypatch.context() as patch:
            patch.setattr("pressroom.sandbox.run.replace_file", full)
            await telegram(sandbox, "sendMessage", chat_id=NEWS, text="second")
            await until(lambda: len(logs) >= 2)
            assert saved_texts(file) == ["first"]

        await until_saved(file, "second")

    assert {one["event"] for one in logs} == {"the sandbox's state was not saved; it is tried again"}


async def test_whatever_breaks_the_saving_the_last_save_is_made(tmp_path, monkeypatch):
    broken = asyncio.Event()

    def breaks(*_: object) -> bytes:
        asyncio.get_running_loop().call_soon(broken.set)
        raise KeyError("a mistake")

    monkeypatch.setattr("pressroom.sandbox.run.SAVE_EVERY", 0.01)
    file = tmp_path / "sandbox.json"

    async def run() -> None:
        async with run_sandbox(anywhere(state=file)) as sandbox:
            with monkeypatch.context() as patch:
                patch.setattr("pressroom.sandbox.run.world_state", breaks)
                await asyncio.wait_for(broken.wait(), 10)
            await telegram(sandbox, "sendMessage", chat_id=NEWS, text="kept")

    with pytest.raises(KeyError, match="a mistake"):
        await run()

    assert saved_texts(file) == ["kept"]
