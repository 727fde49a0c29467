"""One server for all who use a folder, for as long as somebody does."""

import os
import signal
import time
from pathlib import Path

import psutil

from pressroom.db import embedded

from .conftest import Other, StartOther, pid_of, sql, working_in


def test_the_server_runs_from_the_first_user_to_the_last(new_data: Path, start_other: StartOther):
    first = embedded.attach(new_data)
    second = start_other(new_data)
    heard = second.hear()

    users = embedded.status(new_data).users
    first.close()
    after_the_first = embedded.status(new_data)
    second.order("close")
    after_the_last = embedded.status(new_data)

    assert (first.started, heard["started"], heard["port"]) == (True, False, first.port)
    assert users == 2
    assert (after_the_first.running, after_the_first.users) == (True, 1)
    assert (after_the_last.running, after_the_last.pid, after_the_last.users) == (False, None, 0)
    assert working_in(new_data) == []


def test_one_process_may_attach_twice_and_close_twice(data: Path):
    with embedded.attach(data) as first:
        second = embedded.attach(data)
        first.close()
        first.close()
        assert embedded.status(data).users == 1
        assert sql(second, "select 1") == "1"
        second.close()

    assert not embedded.status(data).running


def test_what_takes_long_is_said(new_data: Path):
    said: list[str] = []
    for _ in range(2):
        embedded.attach(new_data, say=said.append).close()

    assert [sentence.split(" in /")[0] for sentence in said] == [
        "Creating the database",
        "Starting the database ...",
        "Setting up the role and the database ...",
        "Starting the database ...",
    ]


def test_a_kept_server_stays_until_it_is_stopped(data: Path):
    with embedded.attach(data):
        embedded.keep_running(data)
    kept = embedded.status(data)
    with embedded.attach(data) as again:
        adopted = not again.started
    still = embedded.status(data).running
    stopped = embedded.stop(data)
    with embedded.attach(data):
        pass
    forgotten = embedded.status(data)

    assert (kept.running, kept.kept, kept.users) == (True, True, 0)
    assert (adopted, still, stopped) == (True, True, True)
    assert (forgotten.running, forgotten.kept) == (False, False)


def test_stop_does_not_ask_the_users(data: Path):
    with embedded.attach(data):
        assert embedded.stop(data)
        assert not embedded.stop(data)
        assert not embedded.status(data).running

    with embedded.attach(data) as again:
        assert sql(again, "select 1") == "1"


def test_processes_that_race_to_start_it_get_one_server(new_data: Path, start_other: StartOther):
    others = [start_other(new_data) for _ in range(4)]
    heard = [other.hear() for other in others]

    assert sorted(bool(event["started"]) for event in heard) == [False, False, False, True]
    assert len({event["pid"] for event in heard}) == 1
    assert embedded.status(new_data).users == 4

    for other in others:
        _order_without_waiting(other, "close")
    assert [other.hear()["event"] for other in others] == ["closed"] * 4
    assert not embedded.status(new_data).running


def test_leaving_while_others_come_never_stops_it_under_them(data: Path, start_other: StartOther):
    others = [start_other(data) for _ in range(3)]
    for other in others:
        assert other.hear()["event"] == "attached"

    for _ in range(10):
        for other in others:
            _order_without_waiting(other, "close")
            _order_without_waiting(other, "attach")
        with embedded.attach(data) as attachment:
            assert sql(attachment, "select 1") == "1"
        for other in others:
            assert [other.hear()["event"], other.hear()["event"]] == ["closed", "attached"]

    assert embedded.status(data).users == 3


def test_a_killed_user_leaves_no_trace_and_its_server_is_adopted(data: Path, start_other: StartOther):
    other = start_other(data)
    other.hear()
    other.kill()

    abandoned = embedded.status(data)
    with embedded.attach(data) as attachment:
        adopted = not attachment.started

    assert (abandoned.running, abandoned.users, adopted) == (True, 0, True)
    assert not embedded.status(data).running


def test_ctrl_c_reaches_the_user_but_not_the_server(data: Path, start_other: StartOther):
    other = start_other(data)
    server = psutil.Process(int(str(other.hear()["pid"])))

    os.killpg(other.process.pid, signal.SIGINT)
    other.process.wait()

    assert server.status() != psutil.STATUS_ZOMBIE
    with embedded.attach(data) as attachment:
        assert not attachment.started
        assert sql(attachment, "select 1") == "1"


def test_the_server_holds_nothing_of_ours(data: Path, start_other: StartOther):
    with embedded.attach(data):
        server = psutil.Process(pid_of(data))
        opened = {Path(file.path).name for file in server.open_files()}

        assert opened == {"postgres.log", "server.lock"}
        assert os.readlink(f"/proc/{server.pid}/fd/0") == os.devnull
        assert os.getsid(server.pid) == server.pid
        assert set(server.environ()) == {"PATH", "LC_ALL", "TZ"}


def test_sharing_a_running_server_is_quick(data: Path):
    def one() -> float:
        begin = time.perf_counter()
        embedded.attach(data).close()
        return time.perf_counter() - begin

    with embedded.attach(data):
        assert min(one() for _ in range(5)) < 0.020


def test_asking_for_the_status_changes_nothing(new_data: Path):
    assert embedded.status(new_data) == embedded.ServerStatus(
        running=False, pid=None, socket_dir=None, port=None, version=None, users=0, kept=False, data_size=0
    )
    assert not embedded.stop(new_data)
    assert not new_data.exists()

    with embedded.attach(new_data) as attachment:
        found = embedded.status(new_data)

    assert (found.socket_dir, found.port, found.kept) == (attachment.socket_dir, attachment.port, False)
    assert (found.version or "").startswith("18.")
    assert found.data_size > 20_000_000


def _order_without_waiting(other: Other, word: str) -> None:
    assert other.process.stdin is not None
    other.process.stdin.write(f"{word}\n")
    other.process.stdin.flush()
