"""The fixture for other projects, and the Python client of the control API: blocking code, as strangers write it."""

import json
import subprocess
import sys
import urllib.error
import urllib.request
from datetime import timedelta
from typing import Any

import pytest

from pressroom.core.errors import BadSetup, InvalidInput, NotFound, Unavailable
from pressroom.sandbox.client import SandboxClient
from pressroom.sandbox.pytest_plugin import RunningSandbox, sandbox_in_a_thread
from pressroom.sandbox.run import Options


def bot(sandbox: RunningSandbox, method: str, **parameters: object) -> Any:
    """A bot as simple as can be."""
    request = urllib.request.Request(
        f"{sandbox.telegram_url}/bot{sandbox.token}/{method}",
        data=json.dumps(parameters).encode(),
        headers={"Content-Type": "application/json"},
    )
    try:
        with urllib.request.urlopen(request, timeout=30) as response:
            return json.load(response)["result"]
    except urllib.error.HTTPError as error:
        with error:
            return json.load(error)


def test_a_bot_sends_and_the_sandbox_says_what_arrived(pressroom_sandbox):
    bot(pressroom_sandbox, "sendMessage", chat_id=pressroom_sandbox.chat, text="Привет")

    assert pressroom_sandbox.telegram.texts(pressroom_sandbox.chat) == ["Привет"]
    assert [effect["text"] for effect in pressroom_sandbox.control.ledger()] == ["Привет"]


def test_a_person_writes_and_presses(pressroom_sandbox):
    anna = pressroom_sandbox.telegram.person("Anna")
    anna.starts("pressroom_example_bot")
    (start,) = bot(pressroom_sandbox, "getUpdates")
    chat = start["message"]["chat"]["id"]
    keyboard = {"inline_keyboard": [[{"text": "Buy", "callback_data": "buy:1"}]]}
    sent = bot(pressroom_sandbox, "sendMessage", chat_id=chat, text="Ready?", reply_markup=keyboard)

    anna.writes("Yes", bot="pressroom_example_bot")
    anna.presses(chat, sent["message_id"], "Buy")
    updates = bot(pressroom_sandbox, "getUpdates", offset=start["update_id"] + 1)

    assert updates[0]["message"]["text"] == "Yes"
    assert updates[1]["callback_query"]["data"] == "buy:1"


def test_faults_are_planned_and_healed(pressroom_sandbox):
    pressroom_sandbox.telegram.fail_next(429, retry_after=timedelta(seconds=7))
    first = bot(pressroom_sandbox, "sendMessage", chat_id=pressroom_sandbox.chat, text="x")
    pressroom_sandbox.telegram.fail_next(name="kicked", times=None)
    second = bot(pressroom_sandbox, "sendMessage", chat_id=pressroom_sandbox.chat, text="x")

    assert first["parameters"] == {"retry_after": 7}
    assert second["error_code"] == 403
    assert [fault["hits"] for fault in pressroom_sandbox.control.faults()] == [1]
    assert (pressroom_sandbox.control.heal(), pressroom_sandbox.control.faults()) == (1, [])


def test_the_clock_is_moved(pressroom_sandbox):
    before = pressroom_sandbox.control.clock()["now"]

    after = pressroom_sandbox.control.clock(advance=timedelta(hours=1), freeze=True)

    assert (after["frozen"], 3600 <= after["now"] - before < 3700) == (True, True)


def test_what_happens_is_followed(pressroom_sandbox):
    bot(pressroom_sandbox, "sendMessage", chat_id=pressroom_sandbox.chat, text="first")
    following = pressroom_sandbox.control.follow(after=0)

    first = next(following)
    bot(pressroom_sandbox, "sendMessage", chat_id=pressroom_sandbox.chat, text="second")

    assert [first["text"], next(following)["text"]] == ["first", "second"]
    following.close()


def test_mistakes_are_told_in_the_sandboxs_own_words(pressroom_sandbox):
    with pytest.raises(NotFound, match="nobody"):
        pressroom_sandbox.telegram.texts("@nobody")
    with pytest.raises(InvalidInput, match="kind: Input should be"):
        pressroom_sandbox.control.plan("explode")
    with pytest.raises(NotFound, match="flies"):
        pressroom_sandbox.telegram.act("flies")


def test_without_a_sandbox_the_error_says_how_to_start_one():
    with pytest.raises(Unavailable, match=r"no sandbox answers at http://127.0.0.1:9") as caught:
        SandboxClient("http://127.0.0.1:9/").overview()

    assert caught.value.hint == "start one with: pressroom sandbox"


def test_a_sandbox_with_options_of_ones_own():
    running = sandbox_in_a_thread(Options(chats=3, seed=5))
    sandbox = next(running)

    assert sandbox.control.overview()["seed"] == 5
    assert {"Channel 1", "Channel 2", "Channel 3"} <= {chat["title"] for chat in sandbox.telegram.chats()}

    running.close()
    with pytest.raises(Unavailable):
        sandbox.control.overview()


def test_a_sandbox_that_cannot_start_fails_the_test_that_wants_it(pressroom_sandbox):
    taken = int(pressroom_sandbox.window_url.rpartition(":")[2])

    with pytest.raises(BadSetup, match="cannot use port"):
        next(sandbox_in_a_thread(Options(telegram_port=0, max_port=0, window_port=taken)))


def test_the_fixture_is_there_for_other_projects(tmp_path):
    (tmp_path / "test_theirs.py").write_text(
        "def test_it(pressroom_sandbox):\n"
        "    pressroom_sandbox.telegram.person('Anna').starts('pressroom_example_bot')\n"
        "    assert [one['text'] for one in pressroom_sandbox.control.ledger()] == ['/start']\n"
    )

    done = subprocess.run(
        [
            sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-W", "error",
            "-o", "asyncio_default_fixture_loop_scope=function", str(tmp_path),
        ],
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip

    assert (done.returncode, "1 passed" in done.stdout) == (0, True), done.stdout + done.stderr
