"""Looks for what is wrong, or soon will be, and says how to mend it.

Each check gives findings: one `ok` when all is well, else one for each thing. Nothing is changed.
"""

import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from pathlib import Path

from pressroom.core.errors import PressroomError, Unavailable
from pressroom.db.database import Database
from pressroom.db.migrate import status
from pressroom.ops import store
from pressroom.ops.health import Health, check_health
from pressroom.ops.heartbeat import heartbeats
from pressroom.workspaces.credentials import list_credentials
from pressroom.workspaces.model import WorkspaceStatus
from pressroom.workspaces.sealing import Keyring
from pressroom.workspaces.tenants import list_workspaces

FEW_DAYS_AHEAD = 7
CLOCK_WARNING, CLOCK_ERROR = timedelta(seconds=1), timedelta(seconds=30)
DISK_WARNING, DISK_ERROR = 1_000_000_000, 200_000_000
UNUSED_AFTER = timedelta(days=30)
POSTS_LOOKED_AT = 10_000


class Severity(StrEnum):
    """`error` stops work, `warning` will or may, `note` is good to know."""

    OK = "ok"
    NOTE = "note"
    WARNING = "warning"
    ERROR = "error"


@dataclass(frozen=True, slots=True)
class Finding:
    """`where` is the part that was looked at, `fix` what to do about it."""

    severity: Severity
    where: str
    what: str
    fix: str | None = None


def found(severity: Severity, where: str, what: str, fix: str) -> Finding:
    return Finding(severity, where, what, fix)


def fine(where: str, what: str) -> Finding:
    return Finding(Severity.OK, where, what)


def failed(where: str, error: PressroomError) -> Finding:
    return Finding(Severity.ERROR, where, error.message, error.hint or "mend it, then ask again")


async def check_database(url: str) -> tuple[list[Finding], bool]:
    """Whether it answers, is new enough and has all migrations; and whether its rows can be looked at."""
    try:
        state = await status(url)
    except Unavailable as error:
        fix = "start it, or correct PRESSROOM_DATABASE_URL; the network or a firewall may be in between"
        return [found(Severity.ERROR, "database", error.message, fix)], False
    except PressroomError as error:
        return [failed("database", error)], False
    answers = fine("database", f"PostgreSQL {state.server_version} answers")
    if state.current:
        return [answers, fine("migrations", f"current, at {state.applied[-1]}")], True
    lacks = f"the database lacks {', '.join(state.pending)}"
    return [answers, found(Severity.ERROR, "migrations", lacks, "run `pressroom db migrate`")], False


async def examine(
    db: Database, keyring: Keyring, environment: Mapping[str, str], *, stall: timedelta
) -> list[Finding]:
    """Everything that rows can tell, of every workspace."""
    return [
        *await check_clock(db),
        *await check_event_days(db),
        *await check_work(db, stall=stall),
        *await check_loops(db),
        *await check_credentials(db, keyring, environment),
        *await check_endpoints(db),
    ]


def check_disk(folder: Path) -> list[Finding]:
    free = shutil.disk_usage(next(at for at in (folder, *folder.parents) if at.exists())).free
    said = f"{free / 1_000_000_000:.1f} GB are free for {folder}"
    if free >= DISK_WARNING:
        return [fine("disk", said)]
    severity = Severity.ERROR if free < DISK_ERROR else Severity.WARNING
    return [found(severity, "disk", said, "free some space, or move the folder to a larger disk")]


async def check_clock(db: Database) -> list[Finding]:
    """Due times are the database's; what people read is this machine's."""
    async with db.system() as tx:
        before = datetime.now(UTC)
        theirs = await store.clock(tx)
        after = datetime.now(UTC)
    away = abs(theirs - (before + (after - before) / 2))
    said = f"{away.total_seconds():.2f} s between this machine and the database"
    if away < CLOCK_WARNING:
        return [fine("clock", said)]
    severity = Severity.ERROR if away > CLOCK_ERROR else Severity.WARNING
    return [found(severity, "clock", said, "let both machines take the time from the network (NTP)")]


async def check_event_days(db: Database) -> list[Finding]:
    async with db.system() as tx:
        ahead = await store.event_days_ahead(tx)
        caught = await store.events_in_default(tx)
    findings: list[Finding] = []
    if ahead < FEW_DAYS_AHEAD:
        severity = Severity.WARNING if ahead else Severity.ERROR
        fix = "run `pressroom run partitions --once`; a running `pressroom serve dispatch` does it every hour"
        findings.append(found(severity, "events", f"the log of events has room for {ahead} days ahead", fix))
    if caught:
        fix = (
            "in `pressroom db psql`: in one transaction move the rows of events_default aside, "
            "`select fn.make_event_partitions()`, insert them into events again; then `vacuum events_default`"
        )
        what = f"{caught / 1000:.0f} kB of events lie in the default partition: their day has none of its own"
        findings.append(found(Severity.WARNING, "events", what, fix))
    return findings or [fine("events", f"the log of events has room for {ahead} days ahead")]


async def check_work(db: Database, *, stall: timedelta) -> list[Finding]:
    report = await check_health(db, stall=stall)
    delivery = report.checks.get("delivery", {})
    if delivery.get("status") == Health.DOWN:
        fix = "start `pressroom up` or `pressroom serve dispatch`; if it runs, its log says what stops it"
        waited = delivery.get("oldest_due_seconds")
        return [found(Severity.ERROR, "work", f"posts have been due for {waited} s and nobody sends them", fix)]
    return [fine("work", "nothing that is due is left lying")]


async def check_loops(db: Database) -> list[Finding]:
    beats = await heartbeats(db)
    findings: list[Finding] = []
    for beat in beats:
        where = f"loop {beat.loop} of {beat.process}"
        if not beat.alive:
            said = f"silent for {round(beat.silent_for.total_seconds())} s"
            fix = "its process died or hangs: look at it, start it again; the row goes away a day after"
            findings.append(found(Severity.WARNING, where, said, fix))
        elif beat.error is not None:
            fix = "it tries again by itself; mend what it names"
            findings.append(found(Severity.ERROR, where, f"its last pass failed: {beat.error}", fix))
    if not beats:
        fix = "start `pressroom up` or `pressroom serve dispatch` when posts are to be sent"
        return [found(Severity.NOTE, "loops", "none is running", fix)]
    return findings or [fine("loops", f"{len(beats)} running, all alive")]


async def check_credentials(db: Database, keyring: Keyring, environment: Mapping[str, str]) -> list[Finding]:
    findings: list[Finding] = []
    opened = 0
    for workspace in await list_workspaces(db):
        if workspace.status is WorkspaceStatus.DISABLED:
            continue
        for state in await list_credentials(db, keyring, environment, workspace_id=workspace.workspace_id):
            if state.problem is None:
                opened += 1
                continue
            fix = f"pressroom credential set {state.binding.auth_ref} --platform {state.binding.platform}"
            where = f"credential {state.binding.auth_ref} of {workspace.name}"
            findings.append(found(Severity.ERROR, where, state.problem, f"{fix}; or put back what is missing"))
    async with db.system() as tx:
        unbound = await store.unbound_channels(tx)
        by_key = await store.sealed_by_key(tx)
    findings += [
        found(
            Severity.ERROR,
            f"channel {channel.channel_id} of {channel.workspace}",
            f"nobody bound the credential {channel.auth_ref!r} of {channel.platform} that it asks for",
            f"pressroom credential set {channel.auth_ref} --platform {channel.platform}",
        )
        for channel in unbound
    ]
    older = sum(row.secrets for row in by_key if row.key_id != keyring.current)
    if older:
        what = f"{older} secrets are sealed under an older key"
        findings.append(found(Severity.NOTE, "keys", what, "pressroom credential reseal"))
    return findings or [fine("credentials", f"{opened} bound, all open")]


async def check_endpoints(db: Database) -> list[Finding]:
    async with db.system() as tx:
        unused = await store.unused_endpoints(tx, UNUSED_AFTER, POSTS_LOOKED_AT)
    return [
        found(
            Severity.NOTE,
            f"endpoint {endpoint.endpoint_id} of {endpoint.workspace}",
            f"its secret is older than {UNUSED_AFTER.days} days, and no recent post came with it",
            f"if nobody needs it: pressroom endpoint disable {endpoint.endpoint_id}",
        )
        for endpoint in unused
    ] or [fine("endpoints", "each one that is open is used, or new")]
