"""Whether work moves: the database answers, and what is due is being sent."""

import time
from dataclasses import dataclass, field
from datetime import timedelta
from enum import StrEnum
from pathlib import Path
from shutil import disk_usage
from typing import Any

from pressroom.core.errors import PressroomError
from pressroom.db.database import Database
from pressroom.ops import store

LEAST_FREE = 32 * 2**20


class Health(StrEnum):
    OK = "ok"
    DEGRADED = "degraded"
    DOWN = "down"


@dataclass(frozen=True, slots=True)
class HealthReport:
    """`checks` name each part with its status and what was seen."""

    status: Health
    checks: dict[str, dict[str, Any]] = field(default_factory=dict[str, dict[str, Any]])


async def check_health(db: Database, *, stall: timedelta, folder: Path | None = None) -> HealthReport:
    """Down when the database is away, when the disk of its folder is full, or when something has been sendable
    for longer than `stall` while no dispatcher took anything up; degraded when a loop failed at its last pass, or
    fell silent and nobody else runs it. `folder` is that of the embedded database."""
    begun = time.perf_counter()
    try:
        async with db.system() as tx:
            still = await store.standstill(tx, stall)
            beats = await store.heartbeats(tx)
    except PressroomError as error:
        return HealthReport(Health.DOWN, {"database": {"status": Health.DOWN, "error": error.message}})
    database: dict[str, Any] = {
        "status": Health.OK,
        "latency_ms": round((time.perf_counter() - begun) * 1000, 1),
    }
    stuck = still.stuck_for is not None and still.stuck_for > stall
    delivery: dict[str, Any] = {
        "status": Health.DOWN if stuck else Health.OK,
        "oldest_due_seconds": None
        if still.waiting_for is None
        else round(still.waiting_for.total_seconds(), 1),
    }
    if stuck:
        delivery["error"] = (
            "posts are due and no dispatcher takes them up; is `pressroom serve dispatch` running?"
        )
    well = {beat.loop for beat in beats if beat.alive and beat.error is None}
    troubled = {
        beat.loop: beat.error or f"silent for {round(beat.silent_for.total_seconds())} s"
        for beat in beats
        if (beat.alive and beat.error is not None) or (not beat.alive and beat.loop not in well)
    }
    loops: dict[str, Any] = {"status": Health.DEGRADED if troubled else Health.OK}
    if troubled:
        loops["error"] = troubled
    checks = {"database": database, "delivery": delivery, "loops": loops}
    if folder is not None:
        checks["disk"] = _disk(folder)
    found = {check["status"] for check in checks.values()}
    return HealthReport(max(found, key=list(Health).index), checks)


def _disk(folder: Path) -> dict[str, Any]:
    free = disk_usage(folder).free
    if free < LEAST_FREE:
        return {"status": Health.DOWN, "free_bytes": free, "error": f"the disk of {folder} is full"}
    return {"status": Health.OK, "free_bytes": free}
