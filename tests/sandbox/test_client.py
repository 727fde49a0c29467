"""The control API in Python, asked from outside of the sandbox's own thread."""

import os
import subprocess
import sys

import pytest

from pressroom.core.errors import InvalidInput, NotFound, Unavailable
from pressroom.sandbox.client import SandboxClient
from pressroom.sandbox.pytest_plugin import sandbox_in_a_thread
from pressroom.sandbox.run import Options
from tests.core.conftest import closed_port

__all__ = ["closed_port"]


@pytest.fixture(scope="module")
def sandbox():
    yield from sandbox_in_a_thread(Options(chats=1_100))


def test_a_ledger_of_many_pages_is_read_to_its_end(sandbox):
    channel = sandbox.telegram.chats("Channel 0001")[0]["id"]
    for n in range(1_050):
        sandbox.telegram.act("posts", chat=channel if n % 2 else sandbox.chat, text=f"{n}")
    asked: list[str] = []
    client = SandboxClient(sandbox.window_url)
    ask, client.ask = client.ask, lambda verb, path, body=None: (asked.append(path), ask(verb, path, body))[1]

    everything, after, here = client.ledger(), client.ledger(1_045), client.ledger(chat=channel, provider=None)

    assert [effect["seq"] for effect in everything] == list(range(1, 1_051))
    assert [effect["text"] for effect in after] == ["1045", "1046", "1047", "1048", "1049"]
    assert [effect["text"] for effect in here] == [f"{n}" for n in range(1, 1_050, 2)]
    assert len(asked) == 4  # a page that is not full is the last one


def test_more_chats_than_a_page_holds_are_all_listed(sandbox):
    titles = [chat["title"] for chat in sandbox.telegram.chats("Channel")]

    assert sorted(titles) == [f"Channel {n:04}" for n in range(1, 1_101)]


def test_what_the_sandbox_refuses_is_said_in_its_own_words(sandbox):
    with pytest.raises(NotFound, match="@nobody"):
        sandbox.telegram.messages("@nobody")
    with pytest.raises(InvalidInput, match="probability"):
        sandbox.control.plan("drop", probability=2)


def test_nobody_there_is_an_error_that_says_what_to_do(closed_port):
    with pytest.raises(Unavailable, match="no sandbox answers at") as caught:
        SandboxClient(f"http://127.0.0.1:{closed_port}").clock()

    assert caught.value.hint == "start one with: pressroom sandbox"


def test_a_proxy_of_the_environment_is_not_asked(sandbox, closed_port):
    script = f"from pressroom.sandbox.client import SandboxClient; print(SandboxClient({sandbox.window_url!r}).clock())"
    proxies = dict.fromkeys(("http_proxy", "HTTP_PROXY", "all_proxy"), f"http://127.0.0.1:{closed_port}")
    environment = {name: value for name, value in os.environ.items() if name.lower() != "no_proxy"} | proxies

    done = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True)

    assert (done.returncode, done.stderr) == (0, "")
    assert "now" in done.stdout
