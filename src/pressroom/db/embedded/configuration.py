"""How the server is set up: its settings, who may connect, its port and its socket folder.

Written anew at each start, so that an upgrade of ours changes them. What an owner adds to `postgresql.conf`
below the include, or by ALTER SYSTEM, wins over ours.
"""

import os
import re
import socket
import stat
import sys
from pathlib import Path

from pressroom.core.errors import BadSetup
from pressroom.db.embedded.place import Place
from pressroom.db.embedded.system_user import Account

FILE = "pressroom.conf"
INCLUDE = f"\ninclude '{FILE}'  # Pressroom's settings, rewritten at each start; yours go below\n"

# PostgreSQL's own "C.UTF-8" decides how text compares and folds; the C library's locale is only asked by the
# parser of full-text search. Neither depends on LANG.
LOCALE = "en_US.UTF-8" if sys.platform == "darwin" else "C.UTF-8"

ENVIRONMENT = {"PATH": "/usr/bin:/bin:/usr/sbin:/sbin", "LC_ALL": LOCALE, "TZ": "UTC"}

SOCKET_PATH_BOUND = 103 if sys.platform == "darwin" else 107
RUN = Path("/run/pressroom")
FIRST_PORT, PORTS = 15_432, 10_000  # below the ports that systems give to outgoing connections

ACCESS = """\
# Written by Pressroom at each start. The socket lies in a folder that only the server's user may enter.
local  all  all                trust
host   all  all  127.0.0.1/32  scram-sha-256
host   all  all  ::1/128       scram-sha-256
"""

SETTINGS = """\
# Written by Pressroom at each start. Put your own settings into postgresql.conf, below the include.
cluster_name = {cluster_name}
listen_addresses = '127.0.0.1'
port = {port}
unix_socket_directories = {socket_dir}
unix_socket_permissions = 0700
max_connections = 100
password_encryption = 'scram-sha-256'

# Nothing that was acknowledged is ever lost.
fsync = on
synchronous_commit = on
full_page_writes = on

shared_buffers = '128MB'
effective_cache_size = '512MB'
work_mem = '16MB'
maintenance_work_mem = '64MB'
random_page_cost = 1.1
jit = off
# /dev/shm, which parallel queries need, has 64 MB in a container; a queue has no use for them.
max_parallel_workers_per_gather = 0
io_method = 'sync'
max_logical_replication_workers = 0

wal_compression = 'pglz'
wal_buffers = '8MB'
min_wal_size = '80MB'
max_wal_size = '1GB'
checkpoint_timeout = '10min'
checkpoint_completion_target = 0.9

# Queue tables turn over completely within seconds.
autovacuum_naptime = '10s'
autovacuum_vacuum_scale_factor = 0.05
autovacuum_vacuum_insert_scale_factor = 0.1
autovacuum_analyze_scale_factor = 0.05
autovacuum_vacuum_cost_limit = 2000

# A transaction that somebody forgot keeps dead rows in every table.
idle_in_transaction_session_timeout = '10min'
tcp_keepalives_idle = 60

timezone = 'UTC'
log_timezone = 'UTC'
datestyle = 'iso, ymd'
lc_messages = 'C'

# What happens to the server, not what clients do wrong: statements carry customers' data, and a refused
# duplicate is no news.
log_destination = 'stderr'
logging_collector = off
log_min_messages = log
log_checkpoints = off
log_line_prefix = '%m [%p] '
"""


def write(place: Place, account: Account, *, port: int, socket_dir: Path) -> None:
    quoted = '"' + str(socket_dir).replace('"', '""') + '"'  # a list of folders; each may be quoted
    settings = SETTINGS.format(
        cluster_name=_literal(place.cluster_name), port=port, socket_dir=_literal(quoted)
    )
    place.write(place.cluster / FILE, settings, account.owner)
    place.write(place.cluster / "pg_hba.conf", ACCESS, account.owner)


def _literal(value: str) -> str:
    return "'" + value.replace("\\", "\\\\").replace("'", "''") + "'"


def choose_port(place: Place, *, after: int | None = None) -> int:
    """The one of the last start when it is free; else the first free one from a number of this folder's own
    on. The server may still find it taken: then ask again for one `after` it.
    """
    own = FIRST_PORT + int(place.mark, 16) % PORTS
    if after is None:
        candidates = [_last_port(place) or own, *range(own, own + 500)]
    else:
        candidates = range(after + 1, after + 500)
    for port in candidates:
        if _is_free(port):
            return port
    raise BadSetup(
        f"No free TCP port on 127.0.0.1 between {candidates[0]} and {candidates[-1]} for the database.",
        hint="Stop what listens there.",
    )


def _last_port(place: Place) -> int | None:
    try:
        found = re.search(r"^port = (\d+)$", (place.cluster / FILE).read_text("utf-8"), re.MULTILINE)
    except FileNotFoundError:
        return None
    return int(found[1]) if found else None


def _is_free(port: int) -> bool:
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


def make_socket_dir(place: Place, account: Account) -> Path:
    """A short private folder: the path of a socket is bounded, that of the data is not."""
    for folder in _socket_dirs(place, account):
        if len(os.fsencode(folder / ".s.PGSQL.65535")) > SOCKET_PATH_BOUND:
            continue
        try:
            _make_private(folder, account)
        except PermissionError:
            continue  # a /run that is read-only for us
        forget_sockets(place, folder)
        return folder
    raise BadSetup("There is no folder for the database's socket: neither the runtime folder nor /tmp will do.")


def _socket_dirs(place: Place, account: Account) -> list[Path]:
    shared = Path("/tmp") / f"pressroom-{account.uid}-{place.mark}"  # noqa: S108 - made private, owner checked
    if os.geteuid() == 0:
        return [RUN / place.mark, shared]
    runtime = os.environ.get("XDG_RUNTIME_DIR", "")  # house: where the user lives is no setting of ours
    if runtime.startswith("/") and os.path.isdir(runtime) and os.stat(runtime).st_uid == os.geteuid():
        return [Path(runtime) / f"pressroom-{place.mark}", shared]
    return [shared]


def _make_private(folder: Path, account: Account) -> None:
    if folder.parent == RUN and not RUN.exists():
        RUN.mkdir(exist_ok=True)
        RUN.chmod(0o755)
    try:
        folder.mkdir(0o700)
    except FileExistsError:
        found = folder.lstat()
        if not stat.S_ISDIR(found.st_mode) or found.st_uid not in (account.uid, os.geteuid()):
            raise BadSetup(
                f"{folder}, where the database's socket goes, belongs to somebody else (uid {found.st_uid}).",
                hint="Remove it, or set XDG_RUNTIME_DIR to a folder of your own.",
            ) from None
    if not account.is_us:
        os.chown(folder, *account.owner, follow_symlinks=False)
    folder.chmod(0o700)


def forget_sockets(place: Place, folder: Path) -> None:
    """Removes what a dead server of this place left in a socket folder of ours."""
    if place.mark not in folder.name or not folder.is_dir():
        return
    for left in folder.glob(".s.PGSQL.*"):
        left.unlink(missing_ok=True)
