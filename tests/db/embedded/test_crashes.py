"""Whoever dies, and whenever: what was committed is there, and the next attach starts cleanly."""

import os
import signal
import subprocess
from pathlib import Path

import psutil
import psycopg
import pytest

from pressroom.db import embedded
from pressroom.db.embedded.place import Place

from .conftest import AS_ROOT, StartOther, kill, pid_of, sql, working_in


def write_a_row(attachment: embedded.Attachment) -> None:
    sql(attachment, "create table kept (what text); insert into kept values ('committed')")


def read_it(data: Path) -> tuple[bool, str]:
    with embedded.attach(data) as attachment:
        return attachment.started, sql(attachment, "select what from kept")


def test_a_killed_server_is_started_again_with_every_committed_row(data: Path):
    with embedded.attach(data) as attachment:
        write_a_row(attachment)
        server = pid_of(data)
        kill(server)

        assert not embedded.status(data).running
        with embedded.attach(data) as again:
            assert (again.started, again.port) == (True, attachment.port)
            assert sql(attachment, "select what from kept") == "committed"

    assert not embedded.status(data).running
    assert not psutil.pid_exists(server), "our own dead child was not collected"


def test_killing_both_the_server_and_its_user_loses_nothing(data: Path, start_other: StartOther):
    other = start_other(data)
    server = int(str(other.hear()["pid"]))
    with embedded.attach(data) as attachment:
        write_a_row(attachment)
        other.kill()
        kill(server)

    assert read_it(data) == (True, "committed")


def test_a_dead_server_that_nobody_collects_is_not_taken_for_a_living_one(data: Path, start_other: StartOther):
    other = start_other(data)
    server = int(str(other.hear()["pid"]))
    with embedded.attach(data) as attachment:
        write_a_row(attachment)
    kill(server)
    assert psutil.Process(server).status() == psutil.STATUS_ZOMBIE

    assert not embedded.status(data).running
    assert read_it(data) == (True, "committed")


@pytest.mark.parametrize("ours", [False, True])
def test_a_pid_that_belongs_to_another_process_by_now_is_not_the_server(data: Path, ours: bool):
    with embedded.attach(data) as attachment:
        write_a_row(attachment)
        lines = (data / "postgres/postmaster.pid").read_text().splitlines()
        kill(pid_of(data))
    owner = (data / "postgres").stat()
    become = {"user": owner.st_uid, "group": owner.st_gid} if AS_ROOT else {}
    with subprocess.Popen(["sleep", "100"], **become) as stranger:
        pid = os.getpid() if ours else stranger.pid
        (data / "postgres/postmaster.pid").write_text("\n".join([str(pid), *lines[1:]]) + "\n")

        found = read_it(data)

        assert found == (True, "committed")
        assert stranger.poll() is None
        stranger.kill()


@pytest.mark.parametrize("text", ["", "no number\n", "99999999\n/elsewhere\n"])
def test_a_pid_file_that_says_nothing_is_replaced(data: Path, text: str):
    with embedded.attach(data) as attachment:
        write_a_row(attachment)
    (data / "postgres/postmaster.pid").write_text(text)

    assert read_it(data) == (True, "committed")


def test_a_backend_that_outlives_its_server_is_ended_before_the_next_starts(data: Path):
    said: list[str] = []
    with embedded.attach(data) as attachment:
        write_a_row(attachment)
        endless = subprocess.Popen(
            [
                attachment.binary("psql"),
                attachment.dsn(),
                "-c",
                "select count(*) from generate_series(1, 1e12)",
            ],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        while (
            sql(
                attachment,
                "select 1 from pg_stat_activity where query like '%1e12%' and pid <> pg_backend_pid()",
            )
            != "1"
        ):
            pass
        kill(pid_of(data))

        with embedded.attach(data, say=said.append) as again:
            assert sql(again, "select what from kept") == "committed"
        endless.wait()

    assert "Waiting for the rest of a server that died ..." in said


def test_killed_while_the_cluster_is_being_made(new_data: Path, start_other: StartOther):
    other = start_other(new_data)
    while not (new_data / "postgres.new/PG_VERSION").exists():
        assert other.process.poll() is None
    other.kill()
    assert not (new_data / "postgres").exists()

    with embedded.attach(new_data) as attachment:
        assert sql(attachment, "select current_user") == "pressroom"

    assert not (new_data / "postgres.new").exists()


@pytest.mark.parametrize("moment", ["Creating", "Starting", "Setting up"])
def test_killed_between_the_steps_of_the_first_setup(new_data: Path, start_other: StartOther, moment: str):
    other = start_other(new_data, die_at=moment)
    assert other.hear() == {}
    assert other.process.wait() == -signal.SIGKILL
    assert not (new_data / "database.password").exists()

    with embedded.attach(new_data) as attachment:
        assert attachment.started is (moment != "Setting up")
        assert sql(attachment, "select current_user") == "pressroom"

    assert working_in(new_data) == []


def test_killed_while_the_server_was_starting(data: Path, start_other: StartOther):
    other = start_other(data)
    while not (data / "postgres/postmaster.pid").exists():
        assert other.process.poll() is None
    other.kill()

    with embedded.attach(data) as attachment:
        assert not attachment.started
        assert sql(attachment, "select 1") == "1"


def test_a_server_that_is_just_stopping_is_waited_for(data: Path):
    """A smart shutdown, by somebody else, goes on until the last client has left."""
    with embedded.attach(data) as attachment:
        write_a_row(attachment)
        client = psycopg.connect(attachment.dsn())
        os.kill(pid_of(data), signal.SIGTERM)
        while "stopping" not in (data / "postgres/postmaster.pid").read_text():
            pass

        with embedded.attach(data, say=lambda _: client.close()) as again:
            assert (again.started, sql(again, "select what from kept")) == (True, "committed")


def test_a_forked_child_of_the_starter_sees_it_alive_and_does_not_prolong_its_life(data: Path):
    attachment = embedded.attach(data)
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        found = embedded.status(data)
        os.write(writing, f"{found.running} {found.users}".encode())
        signal.pause()
    seen = os.read(reading, 100).decode()
    attachment.close()
    after = embedded.status(data)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    os.close(reading)
    os.close(writing)

    assert seen == "True 1"
    assert (after.running, after.users) == (False, 0)


def test_a_lost_password_is_replaced_and_an_old_one_does_not_fit_a_new_cluster(data: Path):
    def password_works(attachment: embedded.Attachment) -> bool:
        return attachment.run("psql", attachment.url(), "-c", "select 1").returncode == 0

    with embedded.attach(data) as attachment:
        old = attachment.url()
        (data / "database.password").unlink()
        with embedded.attach(data) as again:
            assert again.url() != old
            assert password_works(again)
    os.rename(data / "postgres", data / "set aside")

    with embedded.attach(data) as attachment:
        assert password_works(attachment)


def test_what_a_dead_server_left_in_the_socket_folder_is_removed(data: Path):
    with embedded.attach(data) as attachment:
        write_a_row(attachment)
        kill(pid_of(data))
        (attachment.socket_dir / f".s.PGSQL.{attachment.port}.lock").write_text(f"{os.getpid()}\n")

    assert read_it(data) == (True, "committed")
    assert not attachment.socket_dir.exists()


def test_the_log_is_bounded_also_beside_a_running_server(data: Path):
    with embedded.attach(data) as attachment:
        with Place.at(data).log.open("a") as log:
            log.write("much\n" * 2_000_000 + "the end\n")
        embedded.attach(data).close()
        kill_a_backend = "select pg_terminate_backend(pg_backend_pid())"
        attachment.run("psql", "-c", kill_a_backend)

    assert (data / "postgres.log").stat().st_size < 10_000
    assert "terminating connection" in (data / "postgres.log").read_text()
    assert (data / "postgres.log.1").read_text().endswith("the end\n")
    assert (data / "postgres.log.1").stat().st_size == 1_000_000
