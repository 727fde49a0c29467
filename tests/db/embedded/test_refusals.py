"""What is wrong with the machine is said in a sentence, with what to do about it."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from pressroom.core.errors import BadSetup
from pressroom.db import embedded
from pressroom.db.embedded.place import Place

from .conftest import NOBODY, StartOther, clean_up, copy_tree, kill, needs_root, pid_of, sql, working_in


def refused(data: Path) -> str:
    with pytest.raises(BadSetup) as caught:
        embedded.attach(data)
    assert caught.value.hint
    assert embedded.status(data).users == 0
    return caught.value.message


def test_a_file_instead_of_a_folder(folder: Path):
    (folder / "file").touch()

    for data in (folder / "file", folder / "file" / "below"):
        with pytest.raises(BadSetup, match="something that is not a folder"):
            embedded.attach(data)


def test_a_folder_that_is_no_cluster(folder: Path):
    (folder / "postgres").mkdir()
    (folder / "postgres/diary.txt").touch()

    assert refused(folder) == f"{folder}/postgres is there but is no PostgreSQL cluster."
    assert [path.name for path in (folder / "postgres").iterdir()] == ["diary.txt"]


def test_a_file_instead_of_the_cluster(folder: Path):
    (folder / "postgres").touch()

    assert refused(folder) == f"{folder}/postgres is not a folder."


def test_an_empty_folder_instead_of_the_cluster_is_used(folder: Path):
    (folder / "postgres").mkdir()

    with embedded.attach(folder) as attachment:
        assert sql(attachment, "select 1") == "1"


@pytest.mark.parametrize(("version", "age"), [("17", "older"), ("19", "newer")])
def test_a_cluster_of_another_major_version(data: Path, version: str, age: str):
    (data / "postgres/PG_VERSION").write_text(f"{version}\n")

    message = refused(data)

    assert message == (f"{data}/postgres was made by PostgreSQL {version}, which is {age} than ours, 18.")


def test_a_server_that_does_not_start_tells_why(data: Path):
    with (data / "postgres/postgresql.conf").open("a") as configuration:
        configuration.write("\nwork_mem = 'a lot'\n")

    message = refused(data)

    assert message.startswith("The database server did not start: ")
    assert "FATAL" in message
    assert working_in(data) == []


def test_a_live_server_that_cannot_be_ended_from_here_is_left_alone(data: Path):
    """As when another container shares the folder: its lock is seen, its processes are not."""
    place = Place.at(data)
    script = (
        "import fcntl, sys; lock = open(sys.argv[1], 'r+'); fcntl.flock(lock, fcntl.LOCK_EX);"
        "print('locked', flush=True); sys.stdin.read()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", script, place.server], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as container:
        assert container.stdout is not None
        container.stdout.readline()

        message = refused(data)

        assert container.poll() is None
        container.communicate()
    assert message.startswith(f"Another database server still works in {data}/postgres")


@needs_root
def test_a_cluster_of_root(data: Path):
    os.chown(data / "postgres", 0, 0)

    assert refused(data) == f"{data}/postgres belongs to root, and PostgreSQL refuses to run as root."


@needs_root
def test_a_closed_folder_and_no_capability_to_pass(folder: Path, start_other: StartOther):
    heard = start_other(folder / "data", before=("setpriv", "--bounding-set=-dac_read_search")).hear()

    assert heard["event"] == "refused"
    assert f"may not enter {folder}" in str(heard["message"])
    assert "--cap-add DAC_READ_SEARCH" in str(heard["hint"])


@needs_root
def test_a_folder_of_somebody_else(folder: Path, data: Path, start_other: StartOther):
    folder.chmod(0o755)
    data.chmod(0o777)

    heard = start_other(data, uid=NOBODY).hear()

    assert heard["message"] == f"The data folder {data} belongs to another user (uid 0)."


@needs_root
def test_a_cluster_of_somebody_else_in_a_folder_of_ones_own(folder: Path, data: Path, start_other: StartOther):
    """As when root was here first."""
    folder.chmod(0o755)
    for each in (data, *data.iterdir()):
        if each.name != "postgres":
            os.chown(each, NOBODY, NOBODY)

    heard = start_other(data, uid=NOBODY).hear()

    assert heard["event"] == "refused"
    assert f"{data}/postgres" in str(heard["message"])


@needs_root
@pytest.mark.parametrize("below", [True, False])
def test_a_folder_that_cannot_be_written_to(folder: Path, start_other: StartOther, below: bool):
    folder.chmod(0o755)
    closed = folder / "closed"
    closed.mkdir()
    if not below:
        os.chown(closed, NOBODY, NOBODY)
        closed.chmod(0o500)

    heard = start_other(closed / "data" if below else closed, uid=NOBODY).hear()

    assert heard["event"] == "refused"
    assert str(heard["message"]).startswith(f"No permission for {closed}/")


@needs_root
def test_a_socket_folder_that_somebody_else_made_first(folder: Path, start_other: StartOther):
    folder.chmod(0o755)
    data = folder / "data"
    data.mkdir()
    os.chown(data, NOBODY, NOBODY)
    squatted = Path("/tmp") / f"pressroom-{NOBODY}-{Place.at(data).mark}"
    squatted.mkdir(0o777)
    try:
        heard = start_other(data, uid=NOBODY, environment={"XDG_RUNTIME_DIR": ""}).hear()
    finally:
        squatted.rmdir()

    assert heard["message"] == (
        f"{squatted}, where the database's socket goes, belongs to somebody else (uid 0)."
    )


def test_no_binaries_for_this_platform(folder: Path):
    """Run without the wheel in sight."""
    for installed in Path(psutil.__file__).parents[1].iterdir():
        if not installed.name.startswith("pixeltable"):
            (folder / installed.name).symlink_to(installed)
    source = Path(embedded.__file__).parents[3]
    script = (
        f"import sys; sys.path[:0] = [{str(source)!r}, {str(folder)!r}]\n"
        "from pathlib import Path; from pressroom.core.errors import BadSetup; from pressroom.db import embedded\n"
        "try: embedded.attach(Path(sys.argv[1]))\n"
        "except BadSetup as error: print(error.message, error.hint)"
    )
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", script, folder / "data"], capture_output=True, text=True, check=True
    )

    assert "not for musl (Alpine)" in done.stdout
    assert "PRESSROOM_DATABASE_URL" in done.stdout


@pytest.fixture
def small_disk(folder: Path) -> Iterator[Path]:
    mounted = folder / "disk"
    mounted.mkdir()
    done = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=80m", "none", mounted], capture_output=True, text=True
    )
    if done.returncode != 0:
        pytest.skip(f"mounting a small disk is not permitted here: {done.stderr.splitlines()[0]}")
    yield mounted
    for cluster in mounted.rglob("postgres/PG_VERSION"):
        clean_up(cluster.parent.parent)
    subprocess.run(["umount", mounted], check=True)


def fill(disk: Path, *, leave: int) -> None:
    free = os.statvfs(disk).f_bavail * os.statvfs(disk).f_frsize
    with (disk / "filling").open("wb") as filling:
        filling.write(bytes(free - leave))


@pytest.mark.parametrize("leave", [0, 20_000_000])
def test_a_disk_too_full_for_a_cluster(small_disk: Path, leave: int):
    fill(small_disk, leave=leave)

    with pytest.raises(BadSetup, match=r"The disk of the data folder .* is full: \d+ bytes are free"):
        embedded.attach(small_disk / "data")

    (small_disk / "filling").unlink()
    with embedded.attach(small_disk / "data") as attachment:
        assert sql(attachment, "select 1") == "1"


@pytest.mark.parametrize("leave", [0, 100_000])
def test_a_disk_too_full_to_start(small_disk: Path, finished: Path, leave: int):
    """With 100,000 bytes it is the server that cannot finish what it replays."""
    data = small_disk / "data"
    copy_tree(finished, data)
    with embedded.attach(data) as attachment:
        sql(attachment, "create table kept as select generate_series(1, 100000)")
        kill(pid_of(data))
    fill(small_disk, leave=leave)

    assert refused(data).startswith(f"The disk of the data folder {data} is full: ")
    assert working_in(data) == []

    (small_disk / "filling").unlink()
    with embedded.attach(data) as attachment:
        assert sql(attachment, "select count(*) from kept") == "100000"
