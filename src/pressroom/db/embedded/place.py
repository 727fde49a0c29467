"""The paths below one data folder, and how our own files are written there.

guard.lock         held while somebody decides to start or stop
users.lock         held shared by every user
server.lock        held by the server's processes themselves
keep               there while the last user leaves the server up
database.password  of the role `pressroom` over TCP; written once role and database exist
postgres/          the cluster, the only thing here that belongs to the server's account
postgres.log       what the server says, about LOG_BOUND bytes; the end of what was before is postgres.log.1
"""

import hashlib
import os
import sys
from dataclasses import dataclass
from pathlib import Path

from pressroom.core.errors import BadSetup
from pressroom.core.files import replace_file

LOG_BOUND = 5_000_000


def default_data_folder() -> Path:
    if sys.platform != "win32" and os.geteuid() == 0:
        return Path("/var/lib/pressroom")
    share = os.environ.get("XDG_DATA_HOME", "")  # house: where the user lives is no setting of ours
    return (Path(share) if share.startswith("/") else Path.home() / ".local/share") / "pressroom"


@dataclass(frozen=True, slots=True)
class Place:
    data: Path

    @classmethod
    def at(cls, data: Path) -> "Place":
        """One place for one folder, whichever way its path is written."""
        if sys.platform == "win32":
            raise BadSetup(
                "The embedded database does not run on Windows.",
                hint="Set PRESSROOM_DATABASE_URL to a PostgreSQL 15 or newer, or use WSL.",
            )
        return cls(data.expanduser().resolve())

    @property
    def cluster(self) -> Path:
        return self.data / "postgres"

    @property
    def unfinished(self) -> Path:
        """Where a cluster is made before it is one."""
        return self.data / "postgres.new"

    @property
    def guard(self) -> Path:
        return self.data / "guard.lock"

    @property
    def users(self) -> Path:
        return self.data / "users.lock"

    @property
    def server(self) -> Path:
        return self.data / "server.lock"

    @property
    def keep(self) -> Path:
        return self.data / "keep"

    @property
    def password(self) -> Path:
        return self.data / "database.password"

    @property
    def log(self) -> Path:
        return self.data / "postgres.log"

    @property
    def mark(self) -> str:
        """Short, printable and the same for every process: names the socket folder and the processes."""
        return hashlib.sha256(os.fsencode(self.data)).hexdigest()[:12]

    @property
    def cluster_name(self) -> str:
        return f"pressroom-{self.mark}"

    def read_password(self) -> str:
        return self.password.read_text("utf-8").strip()

    def open(self, path: Path, flags: int = os.O_RDWR) -> int:
        """A descriptor of a file of ours, made 0600 when missing. It belongs to the owner of the folder, so
        that after root has been here the owner can go on. Links are not followed: the folder may be theirs.
        """
        descriptor = os.open(path, flags | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        self._hand_over(descriptor)
        return descriptor

    def write(self, path: Path, text: str, owner: tuple[int, int] | None = None) -> None:
        """All or nothing, also when the power fails. A link at `path` is replaced, not followed."""
        replace_file(
            path, text.encode(), drafts=self.data, prepare=lambda descriptor: self._hand_over(descriptor, owner)
        )

    def _hand_over(self, descriptor: int, owner: tuple[int, int] | None = None) -> None:
        if os.geteuid() != 0:
            return
        folder = self.data.stat()
        os.fchown(descriptor, *(owner or (folder.st_uid, folder.st_gid)))

    def check_owner(self) -> None:
        """Root may use any folder, everybody else only their own."""
        owner = self.data.stat().st_uid
        if os.geteuid() not in (0, owner):
            raise BadSetup(
                f"The data folder {self.data} belongs to another user (uid {owner}).",
                hint="Choose a folder of your own with --data or PRESSROOM_DATA, or run as its owner.",
            )

    def bound_log(self) -> None:
        """Safe beside a running server, which appends: it goes on at the beginning of the emptied file."""
        try:
            if self.log.stat().st_size <= LOG_BOUND:
                return
        except FileNotFoundError:
            return
        self.write(self.log.with_suffix(".log.1"), self.read_log(-LOG_BOUND // 5))
        log = self.open(self.log, os.O_WRONLY)
        os.ftruncate(log, 0)
        os.close(log)

    def read_log(self, begin: int) -> str:
        """From a position on, or the last so many bytes."""
        try:
            with self.log.open("rb") as log:
                log.seek(begin if begin >= 0 else max(0, self.log.stat().st_size + begin))
                return log.read().decode("utf-8", "replace")
        except FileNotFoundError:
            return ""
