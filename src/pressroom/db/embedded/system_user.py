# ruff: noqa: S603 - the programs are the wheel's and the system's, the arguments our own
"""Which account the server runs as, and how it gets to the folder.

An ordinary user runs it as themselves. PostgreSQL refuses to be root, so for root it is the owner of the
cluster; before there is one that of the data folder, or the system user `pressroom`, made when missing. Folders above the cluster keep
their owner and mode: where only root may enter them, the server is given the one capability to pass
(CAP_DAC_READ_SEARCH), and only then.
"""

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from pressroom.core.errors import BadSetup
from pressroom.db.embedded import launch
from pressroom.db.embedded.complaints import ELSEWHERE

NAME = "pressroom"
CAP_DAC_READ_SEARCH = 2


@dataclass(frozen=True, slots=True)
class Account:
    uid: int
    gid: int

    @property
    def is_us(self) -> bool:
        return self.uid == os.geteuid()

    @property
    def owner(self) -> tuple[int, int]:
        return self.uid, self.gid

    def may_enter(self, folder: Path) -> bool:
        """By owner, group and mode of it and all its parents; access lists are not looked at."""
        return all(self._passes(os.stat(each)) for each in (folder, *folder.parents))

    def _passes(self, folder: os.stat_result) -> bool:
        if folder.st_uid == self.uid:
            return bool(folder.st_mode & 0o100)
        return bool(folder.st_mode & (0o010 if folder.st_gid == self.gid else 0o001))


def for_new_cluster(data: Path) -> Account:
    """As root in somebody's folder it is their cluster, so that they can go on."""
    if os.geteuid() != 0:
        return Account(os.geteuid(), os.getegid())
    folder = data.stat()
    return Account(folder.st_uid, folder.st_gid) if folder.st_uid != 0 else _system_user()


def of_cluster(cluster: Path) -> Account:
    owner = cluster.stat()
    if os.geteuid() not in (0, owner.st_uid):
        raise BadSetup(
            f"{cluster} belongs to another user (uid {owner.st_uid}).",
            hint="Run as that user or as root, or choose another data folder with --data or PRESSROOM_DATA.",
        )
    if owner.st_uid == 0:
        raise BadSetup(
            f"{cluster} belongs to root, and PostgreSQL refuses to run as root.",
            hint=f"chown -R {NAME}: {cluster}",
        )
    return Account(owner.st_uid, owner.st_gid)


def running_as(account: Account, folders: Iterable[Path]) -> list[str]:
    """What to put before a command so that it runs as `account` and gets into `folders`."""
    if account.is_us:
        return []
    closed = [folder for folder in folders if not account.may_enter(folder)]
    if closed and not can_give_passage():
        raise BadSetup(
            f"The database server runs as uid {account.uid}, which may not enter {closed[0]}, and root "
            "lacks the capability to let it (CAP_DAC_READ_SEARCH; Docker leaves it out).",
            hint=f"Choose a data folder below one that everybody may enter, as /var/lib; or start the "
            f"container with --cap-add DAC_READ_SEARCH; or run as an ordinary user. {ELSEWHERE}",
        )
    capability = str(CAP_DAC_READ_SEARCH) if closed else "-"
    return [sys.executable, "-I", "-S", launch.__file__, str(account.uid), str(account.gid), capability]


def can_give_passage() -> bool:
    try:
        lines = Path("/proc/self/status").read_text("utf-8").splitlines()
    except OSError:
        return False
    sets = {name: value for name, _, value in (line.partition(":") for line in lines)}
    return all(int(sets.get(each, "0"), 16) >> CAP_DAC_READ_SEARCH & 1 for each in ("CapPrm", "CapBnd"))


def _system_user() -> Account:
    complaint = "there is no useradd here"
    for _ in range(20):  # another process may be making it, which locks /etc/passwd for a moment
        if account := _look_up():
            return account
        program = shutil.which("useradd", path="/usr/sbin:/sbin:/usr/bin:/bin")
        if program is None:
            break
        made = subprocess.run(
            [program, "--system", *_group(), "--no-create-home", "--home-dir", "/nonexistent",
             "--shell", "/usr/sbin/nologin", "--comment", "Pressroom database", NAME],
            stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
        )  # fmt: skip
        if made.returncode != 0:
            complaint = made.stderr.strip() or f"useradd ended with {made.returncode}"
            time.sleep(0.1)
    raise BadSetup(
        f"PostgreSQL refuses to run as root, and the system user '{NAME}' to run it as is missing and cannot "
        f"be made: {complaint}",
        hint=f"Make it (useradd --system {NAME}), or run as an ordinary user. {ELSEWHERE}",
    )


def _group() -> tuple[str, ...]:
    import grp  # missing on Windows

    try:
        grp.getgrnam(NAME)
    except KeyError:
        return ("--user-group",)
    return ("--gid", NAME)


def _look_up() -> Account | None:
    import pwd  # missing on Windows

    try:
        found = pwd.getpwnam(NAME)
    except KeyError:
        return None
    return Account(found.pw_uid, found.pw_gid)
