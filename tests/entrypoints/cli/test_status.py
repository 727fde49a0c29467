"""`pressroom status` and `pressroom doctor` on rows that we know."""

import os
import pty
import subprocess
from datetime import timedelta

import asyncpg
import pytest

from pressroom.core.ids import WorkspaceId
from pressroom.db import embedded
from pressroom.db.database import Database
from pressroom.ops.doctor import (
    Severity,
    check_clock,
    check_endpoints,
    check_event_days,
    check_loops,
    check_work,
)
from pressroom.ops.heartbeat import beat
from pressroom.ops.recent import recent
from tests.entrypoints.cli.conftest import PROGRAM


def test_the_state_of_a_workspace_for_people_and_for_programs(cli, name):
    cli("workspace", "create", name)

    people, programs = cli("status", "-w", name), cli("status", "-w", name, "--json")

    assert (people.code, programs.code) == (0, 0)
    assert "nothing is due" in people.out
    assert programs.json["workspace"]["name"] == name
    assert programs.json["queue"] == {
        "due": 0, "waiting": 0, "sending": 0, "oldest_due_at": None, "oldest_due_seconds": None,
    }  # fmt: skip
    assert programs.json["rates"]["sent_per_minute"] == 0.0


def test_what_waits_is_counted_and_a_closed_channel_is_named(cli, folder):
    cli("push", "One post for the status")
    url = psql(
        folder, "update channels set paused_until = now() + interval '1 hour' where channel_id = 'deals'"
    )

    people, programs = cli("status"), cli("status", "--json")
    psql(folder, "update channels set paused_until = null where channel_id = 'deals'")

    assert url == 0
    assert programs.json["deliveries"]["queued"] >= 2
    assert programs.json["queue"]["due"] >= 2
    assert programs.json["queue"]["oldest_due_seconds"] >= 0
    assert [row["channel_id"] for row in programs.json["closed_channels"]] == ["deals"]
    assert "paused" in people.out


def psql(folder, sql: str) -> int:
    with embedded.attach(folder) as attachment:
        return attachment.run("psql", "-qc", sql).returncode


def test_on_a_terminal_there_are_colours_and_without_one_there_are_none(folder, monkeypatch):
    def on_terminal(**environment: str) -> str:
        ours, theirs = pty.openpty()
        with subprocess.Popen(
            [*PROGRAM, "workspace", "list", "--data", str(folder)],
            stdout=theirs, stderr=subprocess.DEVNULL, env=os.environ | {"TERM": "xterm"} | environment,
        ) as process:  # fmt: skip
            os.close(theirs)
            said = b""
            while piece := read(ours):
                said += piece
            assert process.wait(60) == 0
        os.close(ours)
        return said.decode()

    def read(descriptor: int) -> bytes:
        try:
            return os.read(descriptor, 65536)
        except OSError:  # the other side is closed
            return b""

    coloured, plain = on_terminal(), on_terminal(NO_COLOR="1")

    assert "\x1b[32mactive" in coloured
    assert "\x1b[32m" not in plain
    assert "Example" in plain


# -- what the doctor sees


def test_a_new_installation_is_well(cli, anywhere, tmp_path, monkeypatch):
    monkeypatch.delenv("PRESSROOM_DATA")
    people = anywhere("doctor", "--data", tmp_path / "new")
    programs = anywhere("doctor", "--data", tmp_path / "new", "--json")

    assert (people.code, programs.code) == (0, 0), people.out
    assert "All is well." in people.out
    assert programs.json["ok"] is True
    assert {row["severity"] for row in programs.json["findings"]} == {"ok", "note"}
    assert all(row["fix"] for row in programs.json["findings"] if row["severity"] != "ok")
    assert {row["where"] for row in programs.json["findings"]} >= {
        "settings", "plugs", "keys", "disk", "database", "migrations", "clock", "events", "work", "credentials",
    }  # fmt: skip


def test_a_database_that_is_away_is_a_finding_with_a_fix(anywhere, monkeypatch):
    monkeypatch.setenv("PRESSROOM_DATABASE_URL", "postgresql://me@127.0.0.1:1/nothing")
    monkeypatch.setenv("PRESSROOM_SECRET_KEYS", anywhere("credential", "new-key").out.strip())

    said = anywhere("doctor", "--json")

    wrong = [row for row in said.json["findings"] if row["severity"] == "error"]
    assert said.code == 1
    assert [row["where"] for row in wrong] == ["database"]
    assert wrong[0]["fix"]


def test_a_channel_without_its_credential_is_an_error(cli, folder):
    psql(folder, "update channels set auth_ref = 'missing' where channel_id = 'deals'")
    said = cli("doctor", "--json")
    psql(folder, "update channels set auth_ref = 'example' where channel_id = 'deals'")

    wrong = next(row for row in said.json["findings"] if "deals" in row["where"])
    assert said.code == 1
    assert wrong["severity"] == "error"
    assert "pressroom credential set missing" in wrong["fix"]


async def test_a_loop_that_fails_or_fell_silent_is_found(own_db: Database):
    none = await check_loops(own_db)
    await beat(own_db, loop="good", process="p", every=timedelta(seconds=5), worked=True)
    well = await check_loops(own_db)
    await beat(own_db, loop="bad", process="p", every=timedelta(seconds=5), worked=False, error="it broke")
    await beat(own_db, loop="lost", process="p", every=timedelta(seconds=5), worked=False)
    async with own_db.system() as tx:
        await tx.execute("update heartbeats set passed_at = now() - interval '1 hour' where loop = 'lost'")

    ill = await check_loops(own_db)

    assert [one.severity for one in none] == [Severity.NOTE]
    assert [one.severity for one in well] == [Severity.OK]
    assert {(one.where, one.severity) for one in ill} == {
        ("loop bad of p", Severity.ERROR),
        ("loop lost of p", Severity.WARNING),
    }


async def test_events_without_a_day_of_their_own_are_found(own_db: Database):
    well = await check_event_days(own_db)
    async with own_db.system() as tx:
        await tx.execute(
            "insert into events (workspace_id, ts, action, result) "
            "values ('00000000-0000-7000-8000-000000000009', now() + interval '100 days', 'edited', 'ok')"
        )

    ill = await check_event_days(own_db)

    assert [one.severity for one in well] == [Severity.OK]
    assert [(one.severity, "default partition" in one.what) for one in ill] == [(Severity.WARNING, True)]


async def test_days_that_run_out_are_found(own_db: Database):
    connection = await asyncpg.connect(own_db.dsn)
    for table in await connection.fetch(
        "select inhrelid::regclass::text as name from pg_inherits where inhparent = 'pressroom.events'::regclass "
        "and inhrelid <> 'pressroom.events_default'::regclass"
    ):
        await connection.execute(f"drop table {table['name']}")
    await connection.close()

    (finding,) = await check_event_days(own_db)

    assert finding.severity is Severity.ERROR
    assert "pressroom run partitions --once" in (finding.fix or "")


async def test_this_machine_and_its_database_have_one_clock(db: Database):
    assert [one.severity for one in await check_clock(db)] == [Severity.OK]


async def test_an_endpoint_that_nobody_uses_is_noted(own_db: Database):
    async with own_db.system() as tx:
        await tx.execute("insert into workspaces (workspace_id, name) values (gen_random_uuid(), 'City')")
        await tx.execute(
            "insert into workspace_endpoints (workspace_id, endpoint_id, kind, secret_hash, updated_at) "
            "select workspace_id, 'old', 'webhook_push', 'h', now() - interval '40 days' from workspaces"
        )

    (finding,) = await check_endpoints(own_db)

    assert (finding.severity, finding.where) == (Severity.NOTE, "endpoint old of City")


async def test_work_that_nobody_takes_up_is_an_error(own_db: Database):
    assert [one.severity for one in await check_work(own_db, stall=timedelta(seconds=1))] == [Severity.OK]


async def test_the_last_minutes_are_counted(db: Database, workspace: WorkspaceId):
    async with db.system() as tx:
        await tx.execute(
            "insert into channels (workspace_id, channel_id, platform, target_id, auth_ref, rate_group, error_streak) "
            "values ($1, 'a', 'telegram', '1', 'x', 'x', 3)", workspace,
        )  # fmt: skip
        await tx.execute(
            """
            insert into events (workspace_id, channel_id, action, result, ts, error)
            select $1, 'a', action, result, now() - ago::interval, error::jsonb
              from (values ('sent', 'ok', '10 s', null), ('sent', 'ok', '3 min', null), ('sent', 'ok', '1 h', null),
                           ('retry_scheduled', 'error', '1 min', '{"code": "429", "message": "slow down"}'),
                           ('dead_letter', 'error', '20 s', '{"code": "403", "message": "kicked"}'))
                   as e(action, result, ago, error)""",
            workspace,
        )

    now = await recent(db, workspace_id=workspace)

    assert (now.work.sent_last_minute, now.work.sent, now.work.retried, now.work.given_up) == (1, 2, 1, 1)
    (failing,) = now.failing
    assert (failing.channel_id, failing.error_streak, failing.failures, failing.code, failing.message) == (
        "a", 3, 2, "403", "kicked",
    )  # fmt: skip


@pytest.mark.parametrize("words", [("status", "-w", "nobody"), ("doctor", "--data", "")])
def test_both_say_what_is_wrong_with_how_they_were_called(cli, words):
    said = cli(*words)

    assert said.code in (1, 3)
