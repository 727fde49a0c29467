"""Which process is the server of a cluster, if any; and what is left of a dead one.

`postmaster.pid` alone proves nothing: it survives `kill -9` and reboots, its number may by then belong to
another process, and a dead server whose parent does not collect it (a container without an init) still answers
`kill(pid, 0)`. The server is the process of that number which is no zombie, runs under the owner of the
cluster, is called postgres and works in that folder. Start times are not compared: they are reckoned from the
wall clock, and a clock that jumps must not make us take a living server for a dead one.
"""

import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import psutil

_started_here: set[int] = set()


@dataclass(frozen=True, slots=True)
class Postmaster:
    """`port` and `socket_dir` are to be trusted once it is `ready`."""

    pid: int
    port: int
    socket_dir: Path
    state: str
    process: psutil.Process

    @property
    def ready(self) -> bool:
        return self.state == "ready"

    def alive(self) -> bool:
        return is_alive(self.process)


def living(cluster: Path) -> Postmaster | None:
    try:
        lines = (cluster / "postmaster.pid").read_text("utf-8", "surrogateescape").split("\n")
        pid = int(lines[0])
        process = psutil.Process(pid)
    except (FileNotFoundError, NotADirectoryError, ValueError, psutil.NoSuchProcess):
        return None
    if not is_alive(process) or not _works_in(process, cluster, title=f"{cluster}"):
        return None
    lines += [""] * 8  # it is written piece by piece
    port = int(lines[3]) if lines[3].isdigit() else 0
    return Postmaster(pid, port, Path(lines[4]), lines[7].strip(), process)


def leftovers(cluster: Path, unfinished: Path, cluster_name: str) -> list[psutil.Process]:
    """Processes of a server that died, or of a set-up whose caller was killed."""
    return [
        process
        for process in psutil.process_iter()
        if is_alive(process)
        and (
            _works_in(process, cluster, title=cluster_name)
            or _works_in(process, unfinished, title=f"{unfinished}")
        )
    ]


def is_alive(process: psutil.Process) -> bool:
    """Collects it first when it was our own child, so that no zombie stays with us."""
    if process.pid in _started_here and _collect(process.pid):
        return False
    try:
        return process.is_running() and process.status() not in (psutil.STATUS_ZOMBIE, psutil.STATUS_DEAD)
    except psutil.NoSuchProcess:
        return False


def remember_child(pid: int) -> None:
    _started_here.add(pid)


def _collect(pid: int) -> bool:
    try:
        ended = os.waitpid(pid, os.WNOHANG)[0] == pid
    except ChildProcessError:  # it is the child of the process that we were forked from, or was collected
        _started_here.discard(pid)
        return False
    if ended:
        _started_here.discard(pid)
    return ended


def _works_in(process: psutil.Process, cluster: Path, *, title: str) -> bool:
    """By its working folder; where the kernel hides that from us (root in Docker), by its command line."""
    try:
        if process.uids().effective != cluster.stat().st_uid or "postgres" not in process.name():
            return False
        try:
            return os.path.samefile(process.cwd(), cluster)
        except psutil.AccessDenied:
            return title in " ".join(process.cmdline())
    except (psutil.Error, OSError):
        return False


def until(seconds: float) -> Iterator[None]:
    """For loops that wait for another process: once at once, then every few milliseconds until the bound."""
    end = time.monotonic() + seconds
    while True:
        yield
        if time.monotonic() >= end:
            return
        time.sleep(0.004)
