"""Folders that leave nothing behind, and other processes that share them."""

import json
import os
import select
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, cast

import psutil
import pytest

from pressroom.db import embedded
from pressroom.db.embedded import configuration
from pressroom.db.embedded.place import Place

AS_ROOT = os.geteuid() == 0
NOBODY = 65534
SHARED_MEMORY = Path("/dev/shm")
ROOMY = SHARED_MEMORY.is_dir() and shutil.disk_usage(SHARED_MEMORY).free > 2_000_000_000
FAST = SHARED_MEMORY if ROOMY else Path("/tmp")
SCRIPT = Path(__file__).with_name("other_process.py")

needs_root = pytest.mark.skipif(not AS_ROOT, reason="only root can become another user")


def sql(attachment: embedded.Attachment, text: str) -> str:
    done = attachment.run("psql", "--no-psqlrc", "-qAt", "-v", "ON_ERROR_STOP=1", "-c", text)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def pid_of(data: Path) -> int:
    pid = embedded.status(data).pid
    assert pid is not None
    return pid


def working_in(folder: Path) -> list[psutil.Process]:
    """Living processes whose working folder lies in `folder`."""

    def works_there(process: psutil.Process) -> bool:
        try:
            return process.status() != psutil.STATUS_ZOMBIE and Path(process.cwd()).is_relative_to(folder)
        except (psutil.NoSuchProcess, psutil.AccessDenied):
            return False

    return [process for process in psutil.process_iter() if works_there(process)]


def kill(pid: int) -> None:
    """kill -9, and wait until the kernel has done it; a zombie counts as dead."""
    process = psutil.Process(pid)
    descriptor = os.pidfd_open(pid)
    try:
        process.kill()
        assert select.select([descriptor], [], [], 20)[0], f"{pid} does not die"
    finally:
        os.close(descriptor)


class Other:
    """Another process, see `other_process.py`."""

    def __init__(self, command: list[str], environment: dict[str, str] | None) -> None:
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=os.environ | (environment or {}),
            start_new_session=True,
        )
        self.said: list[str] = []

    def hear(self) -> dict[str, object]:
        """The next event that is not a sentence; empty when the process ended."""
        for line in cast("IO[str]", self.process.stdout):
            event = cast("dict[str, object]", json.loads(line))
            if event["event"] != "say":
                return event
            self.said.append(str(event["text"]))
        return {}

    def order(self, word: str) -> dict[str, object]:
        stdin = cast("IO[str]", self.process.stdin)
        stdin.write(f"{word}\n")
        stdin.flush()
        return self.hear()

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()

    def end(self) -> None:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGKILL)
        self.process.communicate()


StartOther = Callable[..., Other]


@pytest.fixture
def start_other() -> Iterator[StartOther]:
    others: list[Other] = []

    def start(
        data: Path,
        *,
        uid: int | None = None,
        die_at: str = "",
        before: tuple[str, ...] = (),
        environment: dict[str, str] | None = None,
    ) -> Other:
        arguments = [str(data), "" if uid is None else str(uid), die_at]
        others.append(Other([*before, sys.executable, str(SCRIPT), *arguments], environment))
        return others[-1]

    yield start
    for other in others:
        other.end()


@pytest.fixture
def folder() -> Iterator[Path]:
    """Closed to everybody else, as `mktemp -d` makes it; servers below it are stopped in the end."""
    with tempfile.TemporaryDirectory(prefix="pressroom-test-", dir=FAST) as made:
        yield Path(made).resolve()
        for cluster in Path(made).rglob("postgres/PG_VERSION"):
            clean_up(cluster.parent.parent)
        assert working_in(Path(made)) == []
    if AS_ROOT:
        _remove_if_empty(configuration.RUN)


def clean_up(data: Path) -> None:
    server = embedded.status(data)
    embedded.stop(data)
    place = Place.at(data)
    candidates = [configuration.RUN / place.mark, *Path("/tmp").glob(f"pressroom-*-{place.mark}")]
    for left in [*candidates, *([server.socket_dir] if server.socket_dir else [])]:
        for file in left.glob(".s.PGSQL.*"):
            file.unlink()
        _remove_if_empty(left)


def _remove_if_empty(left: Path) -> None:
    try:
        left.rmdir()
    except OSError:
        return


@pytest.fixture
def new_data(folder: Path) -> Path:
    """A data folder that is not there yet."""
    return folder / "data"


@pytest.fixture(scope="session")
def finished() -> Iterator[Path]:
    """A data folder with a stopped server; only to be copied."""
    with tempfile.TemporaryDirectory(prefix="pressroom-test-", dir=FAST) as made:
        embedded.attach(Path(made) / "data").close()
        yield Path(made) / "data"


@pytest.fixture
def data(finished: Path, new_data: Path) -> Path:
    """A data folder with a stopped server."""
    copy_tree(finished, new_data)
    return new_data


def copy_tree(source: Path, target: Path) -> None:
    subprocess.run(["cp", "-a", source, target], check=True)
