"""`pressroom db`: the way in for other programs, migrations, starting and stopping."""

import os
import subprocess
import sys
from pathlib import Path

import asyncpg
import psycopg
import pytest
import sqlalchemy

from pressroom.db import embedded
from tests.entrypoints.cli.conftest import PROGRAM


def run(*words: object, **environment: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [*PROGRAM, *map(str, words)],
        capture_output=True,
        text=True,
        timeout=120,
        env=os.environ | environment,
        stdin=subprocess.DEVNULL,
    )


@pytest.fixture(scope="module")
def own_folder(tmp_path_factory):
    """A server of its own, for what stops and starts it. Its path has a space and Cyrillic letters."""
    data = tmp_path_factory.mktemp("db") / "мои данные"
    yield data
    embedded.stop(data)


def test_the_url_is_one_line_that_every_driver_takes_and_the_server_stays_up(own_folder):
    printed = run("db", "url", "--data", own_folder)
    url = printed.stdout.strip()
    with psycopg.connect(url) as connection:
        by_psycopg = connection.execute("select current_user, current_database()").fetchone()
    engine = sqlalchemy.create_engine(url.replace("postgresql://", "postgresql+psycopg://"))
    with engine.connect() as session:
        by_sqlalchemy = session.execute(sqlalchemy.text("select count(*) from channels")).scalar()
    engine.dispose()
    # In a process of its own: asyncpg wants a loop, and this test has none.
    by_asyncpg = subprocess.run(
        [sys.executable, "-c", ASYNCPG, url], capture_output=True, text=True, check=True
    ).stdout

    assert (printed.returncode, printed.stdout, printed.stderr) == (0, url + "\n", "")
    assert url.startswith("postgresql://pressroom:")
    assert "@127.0.0.1:" in url
    assert by_psycopg == ("pressroom", "pressroom")
    assert by_sqlalchemy == 2
    assert by_asyncpg == "Example\n"
    assert (embedded.status(own_folder).running, embedded.status(own_folder).kept) == (True, True)


ASYNCPG = """
import asyncio, sys, asyncpg
async def ask():
    connection = await asyncpg.connect(sys.argv[1])
    print(await connection.fetchval("select name from workspaces"))
    await connection.close()
asyncio.run(ask())
"""


def test_the_url_is_the_same_again_and_in_json(own_folder):
    first, second = (
        run("db", "url", "--data", own_folder),
        run("db", "url", "--json", PRESSROOM_DATA=str(own_folder)),
    )

    assert second.stdout == '{"url": "' + first.stdout.strip() + '"}\n'


def test_the_status_tells_a_running_server_from_a_stopped_one_and_starts_nothing(anywhere, own_folder):
    run("db", "url", "--data", own_folder)
    running = anywhere("db", "status", "--data", own_folder, "--json").json
    stopped = anywhere("db", "stop", "--data", own_folder, "--json").json
    down = anywhere("db", "status", "--data", own_folder, "--json").json
    people = anywhere("db", "status", "--data", own_folder)

    assert (running["running"], running["kept"], running["pending"]) == (True, True, [])
    assert stopped["stopped"] is True
    assert (down["running"], down["pid"], down["pending"]) == (False, None, None)
    assert "stopped" in people.out
    assert not embedded.status(own_folder).running


def test_the_status_of_a_folder_that_is_not_there_makes_none(anywhere, tmp_path):
    said = anywhere("db", "status", "--data", tmp_path / "nothing", "--json")

    assert (said.code, said.json["running"], said.json["postgres"]) == (0, False, None)
    assert not (tmp_path / "nothing").exists()


def test_stopping_again_says_that_it_was_not_running(anywhere, own_folder):
    run("db", "stop", "--data", own_folder)

    said = anywhere("db", "stop", "--data", own_folder)

    assert (said.code, said.out) == (0, "It was not running.\n")


def test_a_server_in_use_is_stopped_only_by_force(anywhere, own_folder):
    with embedded.attach(own_folder):
        refused = anywhere("db", "stop", "--data", own_folder)
        still = embedded.status(own_folder).running
        forced = anywhere("db", "stop", "--data", own_folder, "--force")

    assert (refused.code, still) == (4, True)
    assert "--force" in refused.err
    assert (forced.code, forced.out) == (0, "Stopped.\n")


def test_the_last_command_stops_the_server_that_it_started(own_folder):
    run("db", "stop", "--data", own_folder)

    said = run("workspace", "list", "--data", own_folder)

    assert "Example" in said.stdout
    assert not embedded.status(own_folder).running


def test_migrating_again_changes_nothing(cli):
    people, programs = cli("db", "migrate"), cli("db", "migrate", "--json")

    assert "current already" in people.out
    assert (programs.json["migrated"], programs.json["pending"]) == ([], [])
    assert programs.json["functions"] > 10


def test_psql_gets_its_arguments_and_its_exit_code_comes_back(folder):
    said = run(
        "db", "psql", "--data", folder, "-At", "-c", "select name from workspaces order by created_at limit 1"
    )
    wrong = run("db", "psql", "--data", folder, "-v", "ON_ERROR_STOP=1", "-c", "select nonsense")

    assert (said.returncode, said.stdout) == (0, "Example\n")
    assert wrong.returncode == 1
    assert "nonsense" in wrong.stderr


async def test_a_server_of_ones_own_is_migrated_used_and_not_stopped(empty_database):
    url = await empty_database()
    keys = run("credential", "new-key").stdout.strip()
    own = {"PRESSROOM_DATABASE_URL": url, "PRESSROOM_SECRET_KEYS": keys}

    migrated = run("db", "migrate", "--json", **own)
    printed = run("db", "url", **own)
    status = run("db", "status", "--json", **own)
    nobody = run("endpoint", "list", **own)
    made = run("workspace", "create", "City", **own)
    listed = run("endpoint", "list", "--workspace", "City", "--json", **own)
    stopped = run("db", "stop", **own)
    connection = await asyncpg.connect(url)
    names = await connection.fetch("select name from pressroom.workspaces")
    await connection.close()

    assert migrated.returncode == 0, migrated.stderr
    assert printed.stdout == url + "\n"
    assert '"pending": []' in status.stdout
    assert (nobody.returncode, "--workspace" in nobody.stderr) == (3, True)  # nothing is seeded here
    assert (made.returncode, listed.stdout) == (0, "[]\n")
    assert stopped.returncode == 2
    assert [row["name"] for row in names] == ["City"]


def test_a_database_without_its_keys_is_wrong_setup(anywhere, monkeypatch, server):
    monkeypatch.setenv("PRESSROOM_DATABASE_URL", server)

    said = anywhere("workspace", "list")

    assert said.code == 10
    assert "PRESSROOM_SECRET_KEYS" in said.err


def test_a_path_that_cannot_be_made_is_wrong_setup(anywhere, tmp_path):
    (tmp_path / "file").touch()

    said = anywhere("db", "url", "--data", Path(tmp_path / "file" / "below"))

    assert (said.code, said.out) == (10, "")
