"""What a mistake looks like: one line, a hint, an exit code, and never a traceback."""

import json
import os
import pty
import signal
import subprocess

import pytest

from pressroom.entrypoints.cli import session
from pressroom.entrypoints.errors import INTERNAL
from tests.entrypoints.cli.conftest import PROGRAM


def one_line_and_a_hint(err: str) -> bool:
    lines = err.splitlines()
    return (
        len(lines) == 2
        and lines[0].startswith("error: ")
        and lines[1].startswith("  hint: ")
        and "Traceback" not in err
    )


@pytest.mark.parametrize(
    ("words", "code", "mentions"),
    [
        (("wrokspace", "list"), 2, "workspace"),
        (("workspace", "lits"), 2, "list"),
        (("workspace", "list", "--jsno"), 2, "--json"),
        (("workspace", "show"), 2, "WORKSPACE"),
        (("workspace", "show", "nobody"), 3, "workspace list"),
        (("workspace", "show", "00000000-0000-7000-8000-00000000ffff"), 3, "ffff"),
        (("endpoint", "list", "--workspace", "nobody"), 3, "nobody"),
        (("endpoint", "create", "two words"), 2, "endpoint_id"),
        (("endpoint", "create", "example-push"), 4, "example-push"),
        (("endpoint", "create", "x", "--kind", "fax"), 2, "webhook_push"),
        (("token", "create", "x", "--verb", "fly"), 2, "admin"),
        (("token", "revoke", "nobody"), 3, "nobody"),
        (("status", "--every", "0"), 2, "every"),
        (("workspace", "list", "--data", ""), 2, "--data"),
        (("backup", "verify", "/no/such/file"), 2, "/no/such/file"),
    ],
)
def test_a_mistake_is_one_line_with_a_hint_and_its_exit_code(cli, words, code, mentions):
    people, programs = cli(*words), cli(*words, "--json")

    problem = json.loads(programs.err)
    assert (people.code, people.out) == (code, "")
    assert (programs.code, programs.out) == (code, "")
    assert one_line_and_a_hint(people.err), people.err
    assert mentions in people.err
    assert problem["exit_code"] == code
    assert problem["type"].startswith("/api/problems/")
    assert problem["detail"] in people.err


def test_an_unknown_setting_is_named_with_the_one_that_was_meant(anywhere, monkeypatch):
    monkeypatch.setenv("PRESSROOM_API_PROT", "1")

    said = anywhere("workspace", "list")

    assert said.code == 10
    assert "PRESSROOM_API_PROT" in said.err
    assert "PRESSROOM_API_PORT" in said.err


def test_a_data_path_that_is_a_file_is_wrong_setup(anywhere, tmp_path):
    file = tmp_path / "file"
    file.touch()

    said = anywhere("workspace", "list", "--data", file)

    assert said.code == 10
    assert one_line_and_a_hint(said.err)
    assert str(file) in said.err


@pytest.mark.parametrize("verb", [("workspace", "list"), ("db", "status"), ("db", "migrate")])
def test_a_database_that_is_away_is_unavailable(anywhere, monkeypatch, verb):
    monkeypatch.setenv("PRESSROOM_DATABASE_URL", "postgresql://me:hidden-word@127.0.0.1:1/nothing")
    monkeypatch.setenv("PRESSROOM_SECRET_KEYS", anywhere("credential", "new-key").out.strip())

    said = anywhere(*verb)

    assert said.code == 9
    assert one_line_and_a_hint(said.err)
    assert "hidden-word" not in said.err


def test_a_database_that_does_not_exist_is_wrong_setup(anywhere, monkeypatch, server):
    monkeypatch.setenv("PRESSROOM_DATABASE_URL", server.replace("/postgres", "/no_such_database", 1))

    said = anywhere("db", "status")

    assert said.code == 10
    assert "no_such_database" in said.err


def test_control_characters_of_a_mistake_do_not_reach_the_terminal(cli):
    said = cli("workspace", "show", "\x1b[2Jred\nalert")

    assert "\x1b" not in said.err
    assert len(said.err.splitlines()) == 2


# -- faults of our own


@pytest.fixture
def broken(monkeypatch):
    def breaks(data):
        raise RuntimeError("prs_push_abcdefghijklmnopqrstuvwxyz went wrong")

    monkeypatch.setattr(session, "settings_of", breaks)


def test_a_fault_of_ours_is_one_line_that_says_where_the_traceback_is(anywhere, broken, tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))

    said = anywhere("workspace", "list")

    (details,) = tmp_path.glob("pressroom-fault-*")
    assert said.code == INTERNAL.exit_code
    assert one_line_and_a_hint(said.err)
    assert str(details) in said.err
    assert "Traceback" in details.read_text()
    assert "abcdefghijkl" not in said.err + details.read_text()


def test_a_fault_shows_its_traceback_to_whoever_asks(anywhere, broken):
    said = anywhere("--debug", "workspace", "list")

    assert said.code == INTERNAL.exit_code
    assert "Traceback" in said.err
    assert said.out == ""


# -- signals and pipes


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 0), (signal.SIGTERM, 0)])
def test_watching_ends_with_a_signal_and_without_noise(folder, number, code):
    watching = subprocess.Popen(
        [*PROGRAM, "status", "--watch", "--every", "0.1", "--json", "--data", str(folder)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert watching.stdout is not None
    first = json.loads(watching.stdout.readline())

    watching.send_signal(number)
    _, err = watching.communicate(timeout=20)

    assert first["workspace"]["name"] == "Example"
    assert (watching.returncode, err) == (code, "")


def test_ctrl_c_at_a_prompt_ends_quietly_with_130(folder):
    ours, theirs = pty.openpty()
    asking = subprocess.Popen(
        [*PROGRAM, "credential", "set", "x", "--data", str(folder)],
        stdin=theirs,
        stdout=subprocess.PIPE,
        stderr=theirs,
        start_new_session=True,
    )
    asked = b""
    while b"not shown" not in asked:
        asked += os.read(ours, 1000)

    asking.send_signal(signal.SIGINT)
    out, _ = asking.communicate(timeout=20)

    assert (asking.returncode, out) == (130, b"")
    assert b"Traceback" not in asked
    os.close(ours)
    os.close(theirs)


def test_a_reader_that_goes_away_is_no_error(folder):
    """`pressroom ... | true`"""
    read, write = os.pipe()
    os.close(read)
    try:
        said = subprocess.run(
            [*PROGRAM, "config", "show", "--data", str(folder)],
            stdout=write,
            stderr=subprocess.PIPE,
            text=True,
            timeout=60,
        )
    finally:
        os.close(write)

    assert said.stderr == ""
    assert said.returncode in (1, 141)
