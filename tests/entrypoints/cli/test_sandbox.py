"""`pressroom sandbox`: started as a process, and asked by its verbs."""

import json
import re
import signal
import subprocess
from typing import Any

import psutil
import pytest

from pressroom.sandbox.pytest_plugin import RunningSandbox
from tests.entrypoints.cli.conftest import PROGRAM, Cli

NEWS = -1001000000001


@pytest.fixture
def sandbox(pressroom_sandbox: RunningSandbox, monkeypatch: pytest.MonkeyPatch) -> RunningSandbox:
    monkeypatch.setenv("PRESSROOM_SANDBOX_WINDOW_PORT", pressroom_sandbox.window_url.rpartition(":")[2])
    return pressroom_sandbox


def posts(sandbox: RunningSandbox, *texts: str) -> None:
    for text in texts:
        sandbox.telegram.act("posts", chat=NEWS, text=text)


def test_the_verbs_show_what_happened(anywhere: Cli, sandbox: RunningSandbox):
    posts(sandbox, "first", "second")

    chats = anywhere("sandbox", "chats", "--json").json
    messages = anywhere("sandbox", "messages", "@pressroom_example_news", "--json").json
    ledger = anywhere("sandbox", "ledger", "--after", 1, "--json").json
    shown = anywhere("sandbox", "ledger", "--chat", "@pressroom_example_news")

    assert {chat["provider"] for chat in chats} == {"telegram", "max"}
    assert [message["text"] for message in messages] == ["first", "second"]
    assert [(effect["seq"], effect["text"]) for effect in ledger] == [(2, "second")]
    assert ("first" in shown.out, "second" in shown.out, shown.code) == (True, True, 0)


def test_people_act_and_are_made_when_they_are_new(anywhere: Cli, sandbox: RunningSandbox):
    anywhere("sandbox", "act", "starts", "person=Anna", "bot=pressroom_example_bot")
    done = anywhere("sandbox", "act", "writes", "person=Anna", "bot=pressroom_example_bot", "text=42", "--json")

    assert done.code == 0
    assert [person["name"] for person in sandbox.telegram.people()] == ["Anna"]
    assert sandbox.control.ledger()[-1]["text"] == "42"


def test_bots_chats_and_people_are_made_and_listed(anywhere: Cli, sandbox: RunningSandbox):
    port = sandbox.window_url.rpartition(":")[2]
    anywhere("sandbox", "add", "bot", "username=my_bot", "token=42:my-secret")
    anywhere("sandbox", "add", "person", "name=7", "--provider", "max")
    chat = anywhere("sandbox", "add", "chat", "title=Night shift", "kind=supergroup", "--json").json

    bots = anywhere("sandbox", "bots", "--provider", "telegram", "--json", "--at", port).json
    people = anywhere("sandbox", "people", "--json").json
    messages = anywhere("sandbox", "messages", chat["id"], "--json")

    assert "my_bot" in [bot["username"] for bot in bots]
    assert [(one["provider"], one["name"]) for one in people] == [("max", "7")]
    assert (messages.code, messages.json) == (0, [])


def test_a_fault_is_planned_listed_and_healed(anywhere: Cli, sandbox: RunningSandbox):
    planned = anywhere(
        "sandbox", "fault", "fail", "--code", 429, "--retry-after", 5, "--chat", "@pressroom_example_news",
        "--times", 0, "--json",
    ).json  # fmt: skip
    listed = anywhere("sandbox", "faults")
    healed = anywhere("sandbox", "heal", planned["id"], "--json").json

    assert (planned["chat"], planned["retry_after"], "times" in planned) == (NEWS, 5, False)
    assert ("429" in listed.out, "always" in listed.out) == (True, True)
    assert (healed, anywhere("sandbox", "faults", "--json").json) == ({"healed": 1}, [])


@pytest.mark.parametrize(
    ("arguments", "seconds"),
    [
        (["--advance", "90"], 90),
        (["--advance", "5m"], 300),
        (["--advance", "2h"], 7200),
        (["--advance", "-1d"], -86400),
    ],
)
def test_the_clock_is_moved(anywhere: Cli, sandbox: RunningSandbox, arguments, seconds):
    sandbox.control.clock(set=1_700_000_000, freeze=True)

    assert anywhere("sandbox", "clock", *arguments, "--json").json["now"] == 1_700_000_000 + seconds


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("clock", "--advance", "soon"), 2, "is no time"),
        (("messages", "@nobody"), 3, "nobody"),
        (("fault", "explode"), 2, "kind"),
        (("fault", "fail"), 2, "code or a name"),
        (("fault", "drop", "--name", "kicked"), 2, "name is for fail"),
        (("fault", "slow"), 2, "needs seconds"),
        (("fault", "slow", "--seconds", "1", "--since", "0001-01-01"), 2, "out of reach"),
        (("clock", "--set", "0001-01-01"), 2, "out of reach"),
        (("chats", "--at", "somewhere"), 2, "is no address"),
        (("add", "dog", "name=Rex"), 2, "cannot be made"),
        (("add", "chat", "title=x", "colour=red"), 2, "colour"),
        (("act", "flies", "person=Anna"), 3, "flies"),
        (("act", "writes", "Anna"), 2, "has no ="),
        (("heal", "99"), 3, "99"),
        (("chats", "--provider", "icq"), 3, "icq"),
        (("ledger", "--follow", "--chat", "1"), 2, "--follow shows everything"),
    ],
)
def test_mistakes_end_in_one_sentence(anywhere: Cli, sandbox: RunningSandbox, arguments, code, said):
    answer = anywhere("sandbox", *arguments)

    assert (answer.code, answer.out, said in answer.err, "Traceback" in answer.err) == (code, "", True, False)


def test_without_a_sandbox_the_verbs_say_how_to_start_one(anywhere: Cli):
    said = anywhere("sandbox", "ledger", "--at", "http://127.0.0.1:9")

    assert (said.code != 0, "pressroom sandbox" in said.err) == (True, True)


def test_started_it_says_where_it_is_and_prints_what_happens():
    process = subprocess.Popen(
        [*PROGRAM, "sandbox", "--port", "0"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    seen: list[str] = []
    while not (seen and "Ctrl-C" in seen[-1]):
        seen.append(process.stdout.readline())
        assert seen[-1], process.communicate()
    command = next(line.strip() for line in seen if "curl" in line)
    subprocess.run(command, shell=True, check=True, capture_output=True)
    arrival = process.stdout.readline()
    process.send_signal(signal.SIGTERM)
    _, complaints = process.communicate(timeout=20)

    assert re.findall(r"http://127\.0\.0\.1:\d+", "".join(seen))
    assert "sendMessage: Hello" in arrival
    assert (process.returncode, complaints) == (0, "")


def test_as_json_each_line_is_a_document():
    process = subprocess.Popen(
        [*PROGRAM, "sandbox", "--port", "0", "--json"], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    where: dict[str, Any] = json.loads(process.stdout.readline())
    subprocess.run(
        [*PROGRAM, "sandbox", "act", "posts", f"chat={NEWS}", "text=Hello", "--at", where["window"]],
        check=True, capture_output=True,
    )  # fmt: skip
    effect = json.loads(process.stdout.readline())
    process.terminate()
    process.communicate(timeout=20)

    assert {"telegram", "max", "window", "token"} <= set(where)
    assert (effect["method"], effect["text"]) == ("posts", "Hello")


def test_a_fault_hits_what_sends_unless_it_says_otherwise(anywhere: Cli, sandbox: RunningSandbox):
    sends = anywhere("sandbox", "fault", "fail", "--code", 500, "--json").json
    every = anywhere("sandbox", "fault", "drop", "--method", "*", "--json").json
    updates = anywhere("sandbox", "fault", "reorder", "--json").json

    assert (sends["method"], every["method"], updates["method"]) == ("sends", "*", "webhook")


def test_nobody_is_made_who_is_there_by_another_name(anywhere: Cli, sandbox: RunningSandbox):
    anywhere("sandbox", "add", "person", "name=Anna", "last_name=Smith", "username=anna_s")
    for name in ("Anna", "@anna_s", "Anna Smith"):
        assert anywhere("sandbox", "act", "starts", f"person={name}", "bot=pressroom_example_bot").code == 0

    assert [person["name"] for person in sandbox.telegram.people()] == ["Anna Smith"]


@pytest.mark.skipif(
    not hasattr(psutil, "RLIMIT_NOFILE"), reason="the limits of another process are told by Linux only"
)
def test_a_low_limit_of_descriptors_is_raised_as_far_as_the_system_allows():
    process = subprocess.Popen(
        ["sh", "-c", 'ulimit -S -n 128 && exec "$@"', "sh", *PROGRAM, "sandbox", "--port", "0", "--json"],
        stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stdout is not None
    process.stdout.readline()
    soft, hard = psutil.Process(process.pid).rlimit(psutil.RLIMIT_NOFILE)
    process.terminate()
    process.communicate(timeout=20)

    assert soft > 128
    assert soft == (65_536 if hard in (-1, psutil.RLIM_INFINITY) else min(hard, 65_536))
