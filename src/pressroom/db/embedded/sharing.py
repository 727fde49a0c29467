"""Who uses the server of a data folder: attach, leave, keep, stop, status.

There is no list of users that a killed process could leave wrong. Each user holds a shared lock on
`users.lock`, and the kernel drops it with the process, however that ends. Whoever leaves tries to make it
exclusive, without waiting: that succeeds for the last one only.

Why this is safe. Every change to the set of users that could start or stop a server happens with
`guard.lock` held exclusively: joining (shared lock, then start), leaving (try the exclusive lock, then stop).
Making a shared lock exclusive is not atomic, the kernel drops the one before it takes the other; but nobody can
join in between, since joining needs the guard, and when the attempt fails the lost shared lock is what leaving
wants. Without the guard only a death can happen, and it only removes users: a leaver that just missed one
leaves the server up without users, and the next `attach` adopts it and stops it when it leaves. The lock
belongs to the open file, so two attachments of one process are two users. Descriptors close on exec; a forked
child keeps a copy of one, which is why leaving unlocks and does not rely on closing. Nobody ever waits for
`users.lock`: it is exclusive only while its holder has the guard too.
"""

import os
import subprocess
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from urllib.parse import quote

from pressroom.core.errors import BadSetup
from pressroom.db.embedded import binaries, cluster, locks, postmaster, system_user
from pressroom.db.embedded.complaints import explained
from pressroom.db.embedded.place import Place
from pressroom.db.embedded.postmaster import until

GUARD_BOUND = 180.0


def _silent(_: str) -> None:
    pass


@dataclass(slots=True)
class _Use:
    """One user: a descriptor with a shared lock, or None after leaving."""

    descriptor: int | None


@dataclass(frozen=True, slots=True)
class Attachment:
    """A server in use. `started` says whether this call started it; `close` leaves it."""

    data: Path
    socket_dir: Path
    port: int
    started: bool
    _use: _Use = field(repr=False, compare=False)

    def dsn(self, database: str = "pressroom") -> str:
        """For our own processes: over the private socket, without a password."""
        return f"postgresql://pressroom@/{quote(database, safe='')}?host={quote(str(self.socket_dir))}&port={self.port}"

    def url(self, database: str = "pressroom") -> str:
        """For other programs on this machine: over TCP. It contains the password."""
        password = Place(self.data).read_password()
        return f"postgresql://pressroom:{password}@127.0.0.1:{self.port}/{quote(database, safe='')}"

    def binary(self, name: str) -> Path:
        """`psql`, `pg_dump`, `pg_restore`, `pgbench` and the other programs of the server's version."""
        return binaries.find().path(name)

    def run(
        self, name: str, *arguments: str, database: str = "pressroom", stdin: str | None = None
    ) -> "subprocess.CompletedProcess[str]":
        """Such a program against this server, as the owner role. Its exit code is for the caller to judge."""
        ours = {key: value for key, value in os.environ.items() if not key.startswith("PG")}  # house: passed on
        server = {
            "PGHOST": str(self.socket_dir),
            "PGPORT": str(self.port),
            "PGUSER": "pressroom",
            "PGDATABASE": database,
            "PGCLIENTENCODING": "UTF8",
        }
        return subprocess.run(  # noqa: S603 - the wheel's program, arguments of ours
            [self.binary(name), *arguments],
            input=stdin or "",
            capture_output=True,
            text=True,
            encoding="utf-8",
            check=False,
            env=ours | server,
        )

    def close(self) -> None:
        """The last user stops the server, unless it is kept. Closing again does nothing."""
        descriptor, self._use.descriptor = self._use.descriptor, None
        if descriptor is not None:
            _leave(Place(self.data), descriptor)

    def __enter__(self) -> "Attachment":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


@dataclass(frozen=True, slots=True)
class ServerStatus:
    """`version` and `data_size` (bytes of the whole data folder) are known once there is a cluster."""

    running: bool
    pid: int | None
    socket_dir: Path | None
    port: int | None
    version: str | None
    users: int
    kept: bool
    data_size: int


def attach(data: Path, *, say: Callable[[str], None] = _silent) -> Attachment:
    """A user more. `say` gets a sentence before whatever takes long."""
    place = Place.at(data)
    with explained(place.data):
        _make_folder(place)
        with _guard(place, say):
            users = place.open(place.users)
            try:
                locks.take_shared(users)  # at once: it is exclusive only together with the guard
                server, started = cluster.ensure_running(place, say)
            except BaseException:
                locks.release(users)
                raise
    return Attachment(place.data, server.socket_dir, server.port, started, _Use(users))


def keep_running(data: Path) -> None:
    """From now on the last user leaves the server up, until `stop`."""
    place = Place.at(data)
    with explained(place.data):
        _make_folder(place)
        with _guard(place):
            place.write(place.keep, "The last user leaves the server up, until it is told to stop.\n")


def stop(data: Path) -> bool:
    """Stops the server, whoever uses it, and forgets that it was to be kept. Whether there was one."""
    place = Place.at(data)
    with explained(place.data):
        if not place.data.is_dir():
            return False
        with _guard(place):
            place.keep.unlink(missing_ok=True)
            return cluster.stop(place)


def revive(data: Path, *, say: Callable[[str], None] = _silent) -> bool:
    """For those who use it: starts a server that died. One that was told to stop stays down."""
    place = Place.at(data)
    if not place.data.is_dir():
        raise BadSetup(f"The data folder {place.data} is gone.", hint="Stop this process and start it again.")
    with explained(place.data):
        died = postmaster.living(place.cluster) is None and (place.cluster / "postmaster.pid").exists()
    if died:
        attach(data, say=say).close()  # the caller still uses it, so it stays up
    return died


def status(data: Path) -> ServerStatus:
    """How things are, changing nothing."""
    place = Place.at(data)
    with explained(place.data):
        server = postmaster.living(place.cluster)
        return ServerStatus(
            running=server is not None,
            pid=server.pid if server else None,
            socket_dir=server.socket_dir if server else None,
            port=server.port if server else None,
            version=binaries.find().version if (place.cluster / "PG_VERSION").exists() else None,
            users=_count_users(place),
            kept=place.keep.exists(),
            data_size=_size(place.data),
        )


def _make_folder(place: Place) -> None:
    """A folder that is there keeps its owner and mode."""
    if place.data.is_dir():
        return place.check_owner()
    try:
        place.data.mkdir(0o700, parents=True)
    except FileExistsError:
        if not place.data.is_dir():
            raise
        return place.check_owner()  # another process was quicker
    if os.geteuid() == 0 and not system_user.can_give_passage():
        # Root in Docker: the server's account cannot be lifted over a closed folder, so this one, which is
        # ours, lets its group pass. Nobody else can enter or list it.
        os.chown(place.data, 0, system_user.for_new_cluster(place.data).gid)
        place.data.chmod(0o710)
    return None


@contextmanager
def _guard(place: Place, say: Callable[[str], None] = _silent) -> Generator[None]:
    """Alone among all processes while deciding to start or stop."""
    descriptor = place.open(place.guard)
    try:
        _take(descriptor, place, say)
        yield
    finally:
        locks.release(descriptor)


def _take(descriptor: int, place: Place, say: Callable[[str], None]) -> None:
    if locks.take_exclusive(descriptor):
        return
    say("Waiting for another Pressroom process that starts or stops the database ...")
    if not any(locks.take_exclusive(descriptor) for _ in until(GUARD_BOUND)):
        raise BadSetup(
            f"Another process has been starting or stopping the database in {place.data} for "
            f"{GUARD_BOUND:.0f} seconds.",
            hint=f"See who holds {place.guard}: fuser {place.guard}",
        )


def _leave(place: Place, users: int) -> None:
    try:
        with explained(place.data), _guard(place):
            if locks.take_exclusive(users) and not place.keep.exists():
                cluster.stop(place)
    finally:
        locks.release(users)


def _count_users(place: Place) -> int:
    """Linux lists its locks; elsewhere, and where that list shows other numbers, one stands for any."""
    try:
        users = os.open(place.users, os.O_RDWR | os.O_CLOEXEC)
    except FileNotFoundError:
        return 0
    try:
        found = os.fstat(users)
        key = f"{os.major(found.st_dev):02x}:{os.minor(found.st_dev):02x}:{found.st_ino}"
        try:
            lines = Path("/proc/locks").read_text("utf-8").splitlines()
        except OSError:
            lines = []
        listed = sum(key in line.split() for line in lines)
        if listed:
            return listed
        with _guard(place):
            return 0 if locks.take_exclusive(users) else 1
    finally:
        locks.release(users)


def _size(folder: Path) -> int:
    """Files come and go while a server runs."""
    total = 0
    for parent, _, names in os.walk(folder):
        for name in names:
            with suppress(OSError):
                total += os.lstat(os.path.join(parent, name)).st_blocks * 512
    return total
