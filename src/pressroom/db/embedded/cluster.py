# ruff: noqa: S603 - the programs are the wheel's, the arguments our own
"""The cluster of one place: create it, start and stop its server, give it its owner role.

Everything here is called with the guard held, so that no other process of ours is doing the same. That no
process of an earlier server is left is known from `server.lock`: the server and all its backends inherit its
descriptor, and the kernel frees the lock when the last of them is gone, whoever killed whom, in whichever
container.
"""

import os
import secrets
import shutil
import signal
import subprocess
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path

import psutil

from pressroom.core.errors import BadSetup
from pressroom.core.files import sync_folder
from pressroom.db.embedded import binaries, configuration, locks, postmaster, system_user
from pressroom.db.embedded.complaints import FULL, disk_full, free_bytes, last_words
from pressroom.db.embedded.place import Place
from pressroom.db.embedded.postmaster import Postmaster, until
from pressroom.db.embedded.system_user import Account

Say = Callable[[str], None]

START_BOUND = 60.0

OWNER = """\
\\set ON_ERROR_STOP on
select 'create role pressroom' where not exists (select from pg_roles where rolname = 'pressroom') \\gexec
alter role pressroom with login createrole createdb nosuperuser password :'password';
select 'create database pressroom owner pressroom'
 where not exists (select from pg_database where datname = 'pressroom') \\gexec
"""


def ensure_running(place: Place, say: Say) -> tuple[Postmaster, bool]:
    """The server, ready, with its role and database; and whether this call started it."""
    server = _settled(place, say)
    started = server is None
    if server is None:
        _check(place)
        made = _exists(place)
        account = system_user.of_cluster(place.cluster) if made else system_user.for_new_cluster(place.data)
        with _alone(place, say) as lock:
            if not made:
                say(f"Creating the database in {place.data} (once) ...")
                _create(place, account, lock)
            say("Starting the database ...")
            server = _start(place, account, lock)
    if not place.password.exists():
        say("Setting up the role and the database ...")
        try:
            _set_up_owner(place, server)
        except BaseException:
            if started:
                stop(place)
            raise
    place.bound_log()
    return server, started


def stop(place: Place) -> bool:
    """Whether there was one. Open transactions are rolled back; then ever harder, within bounds."""
    server = postmaster.living(place.cluster)
    if server is None:
        return False
    for number, bound in ((signal.SIGINT, 30), (signal.SIGQUIT, 10), (signal.SIGKILL, 5)):
        _signal(place, server.process, number)
        if any(not server.alive() for _ in until(bound)):
            break
    _leave_socket_dir(place, server.socket_dir)
    return True


def _signal(place: Place, process: psutil.Process, number: signal.Signals) -> None:
    try:
        process.send_signal(number)
    except psutil.NoSuchProcess:
        return
    except psutil.AccessDenied:
        raise BadSetup(
            f"No permission to stop process {process.pid}, a database server in {place.cluster}.",
            hint="Run as the user who started it, or as root.",
        ) from None


def _settled(place: Place, say: Say) -> Postmaster | None:
    """The server once it is ready, or None once it is gone: one that starts or stops is waited for, its
    starter may have been killed.
    """
    server = postmaster.living(place.cluster)
    if server is None or server.ready:
        return server
    say("Waiting for the database ...")
    for _ in until(START_BOUND):
        server = postmaster.living(place.cluster)
        if server is None or server.ready:
            return server
    raise _too_slow(place, place.read_log(-20_000))


def _exists(place: Place) -> bool:
    return place.cluster.is_dir() and any(place.cluster.iterdir())


def _check(place: Place) -> None:
    if not place.cluster.exists():
        return
    if not place.cluster.is_dir():
        raise BadSetup(f"{place.cluster} is not a folder.", hint="Move it away, or choose another data folder.")
    if not _exists(place):
        return
    try:
        found = (place.cluster / "PG_VERSION").read_text("utf-8", "replace").strip()
    except FileNotFoundError:
        raise BadSetup(
            f"{place.cluster} is there but is no PostgreSQL cluster.",
            hint="Move it away, or choose another data folder with --data or PRESSROOM_DATA.",
        ) from None
    if found != str(binaries.MAJOR):
        age = "older" if found.isdigit() and int(found) < binaries.MAJOR else "newer"
        raise BadSetup(
            f"{place.cluster} was made by PostgreSQL {found}, which is {age} than ours, {binaries.MAJOR}.",
            hint="Use the release of Pressroom that made it to write a dump with pg_dump, then load it into "
            "a new data folder with this one.",
        )


@contextmanager
def _alone(place: Place, say: Say) -> Generator[int]:
    """Yields the descriptor of `server.lock`, held, for the server to inherit."""
    lock = place.open(place.server)
    try:
        _outlive_leftovers(place, lock, say)
        yield lock
    finally:
        os.close(lock)  # without unlocking: the server's copy goes on holding it


def _outlive_leftovers(place: Place, lock: int, say: Say) -> None:
    """Backends end by themselves when they notice that their server died, unless they are busy."""
    if _nobody_left(place, lock):
        return
    say("Waiting for the rest of a server that died ...")
    for number in (signal.SIGTERM, signal.SIGQUIT, signal.SIGKILL):
        for _ in until(4):
            if _nobody_left(place, lock):
                return
        visible = _leftovers(place)
        if not visible:
            break
        for process in visible:
            _signal(place, process, number)
    if any(_nobody_left(place, lock) for _ in until(4 if visible else 0)):
        return
    raise BadSetup(
        f"Another database server still works in {place.cluster}, and it cannot be ended from here.",
        hint="Stop it where it runs: perhaps in another container that shares the folder.",
    )


def _nobody_left(place: Place, lock: int) -> bool:
    return locks.take_exclusive(lock) and not _leftovers(place)


def _leftovers(place: Place) -> list[psutil.Process]:
    return postmaster.leftovers(place.cluster, place.unfinished, place.cluster_name)


def _create(place: Place, account: Account, lock: int) -> None:
    """Beside its final name, so that a cluster is either complete or not there. The password of an earlier
    one goes first: its file says that role and database exist.
    """
    place.password.unlink(missing_ok=True)
    shutil.rmtree(place.unfinished, ignore_errors=True)
    place.unfinished.mkdir(0o700)
    try:
        if not account.is_us:
            os.chown(place.unfinished, *account.owner, follow_symlinks=False)
        programs = binaries.find()
        made = subprocess.run(
            [*_running_as(account, place), programs.path("initdb"), "-D", place.unfinished,
             "--username=postgres", "--auth-local=trust", "--auth-host=scram-sha-256", "--data-checksums",
             "--encoding=UTF8", "--locale-provider=builtin", "--builtin-locale=C.UTF-8",
             f"--locale={configuration.LOCALE}", "--no-instructions"],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
            errors="replace", cwd="/", env=configuration.ENVIRONMENT, start_new_session=True, pass_fds=(lock,),
        )  # fmt: skip
        if made.returncode != 0:
            raise _failure(place, "The database could not be created", made.stdout)
        configured = place.unfinished / "postgresql.conf"
        place.write(configured, configured.read_text("utf-8") + configuration.INCLUDE, account.owner)
        place.unfinished.rename(place.cluster)
        sync_folder(place.data)
    except BaseException:
        shutil.rmtree(place.unfinished, ignore_errors=True)
        raise


def _running_as(account: Account, place: Place) -> list[str]:
    programs = binaries.find()
    if not account.is_us and not os.stat(programs.path("postgres")).st_mode & 0o001:
        raise BadSetup(
            f"The programs in {programs.folder} may only be run by their owner, and PostgreSQL refuses to "
            "run as root.",
            hint=f"chmod -R a+rX {programs.folder.parent}",
        )
    return system_user.running_as(account, (place.data, programs.folder))


def _start(place: Place, account: Account, lock: int) -> Postmaster:
    (place.cluster / "postmaster.pid").unlink(missing_ok=True)  # of a dead server: we are alone
    socket_dir = configuration.make_socket_dir(place, account)
    port = configuration.choose_port(place)
    while True:
        configuration.write(place, account, port=port, socket_dir=socket_dir)
        place.bound_log()
        log = place.open(place.log, os.O_WRONLY | os.O_APPEND)
        try:
            begin = os.fstat(log).st_size
            process = subprocess.Popen(
                [*_running_as(account, place), binaries.find().path("postgres"), "-D", place.cluster],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd="/", env=configuration.ENVIRONMENT,
                start_new_session=True, pass_fds=(lock,),
            )  # fmt: skip
        finally:
            os.close(log)
        process.returncode = 0  # it outlives this object; `postmaster` collects it
        postmaster.remember_child(process.pid)
        server = _wait_until_ready(place, process.pid, begin)
        if server is not None:
            return server
        said = place.read_log(begin)
        if "Address already in use" not in said:
            _leave_socket_dir(place, socket_dir)
            raise _failure(place, "The database server did not start", said)
        port = configuration.choose_port(place, after=port)


def _wait_until_ready(place: Place, pid: int, begin: int) -> Postmaster | None:
    """None when the process ended."""
    process = psutil.Process(pid)
    for _ in until(START_BOUND):
        if not postmaster.is_alive(process):
            return None
        server = postmaster.living(place.cluster)
        if server is not None and server.pid == pid and server.ready:
            return server
    raise _too_slow(place, place.read_log(begin))


def _set_up_owner(place: Place, server: Postmaster) -> None:
    """Can be repeated. The file is written last: where it is, role and database are."""
    password = secrets.token_urlsafe(24)
    done = subprocess.run(
        [binaries.find().path("psql"), "--no-psqlrc", "--quiet", "--tuples-only"],
        input=f"\\set password '{password}'\n{OWNER}",
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
        env=configuration.ENVIRONMENT | {
            "PGHOST": str(server.socket_dir), "PGPORT": str(server.port), "PGUSER": "postgres",
            "PGDATABASE": "postgres",
        },
    )  # fmt: skip
    if done.returncode != 0:
        raise _failure(place, "The role and the database could not be set up", done.stdout)
    place.write(place.password, password + "\n")


def _failure(place: Place, what: str, output: str) -> BadSetup:
    if FULL.search(output) or free_bytes(place.data) < 1_000_000:
        return disk_full(place.data)
    return BadSetup(f"{what}: {last_words(output)}", hint=f"The server's log is {place.log}.")


def _too_slow(place: Place, output: str) -> BadSetup:
    return BadSetup(
        f"The database server is not ready after {START_BOUND:.0f} seconds. It last said: {last_words(output)}",
        hint=f"It goes on trying: after a crash it first replays what was committed. Try again later, or see "
        f"{place.log}.",
    )


def _leave_socket_dir(place: Place, folder: Path) -> None:
    configuration.forget_sockets(place, folder)
    if place.mark in folder.name:
        try:
            folder.rmdir()
        except OSError:
            return  # in use, or gone: it is private and empty, and the next start takes it again
