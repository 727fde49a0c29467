"""Whether work moves: the database answers, and what is due is being sent."""

import time
from dataclasses import dataclass, field
from datetime import timedelta
from enum import StrEnum
from typing import Any

from pressroom.core.errors import PressroomError
from pressroom.db.database import Database
from pressroom.ops import store


class Health(StrEnum):
    OK = "ok"
    DEGRADED = "degraded"
    DOWN = "down"


@dataclass(frozen=True, slots=True)
class HealthReport:
    """`checks` name each part with its status and what was seen."""

    status: Health
    checks: dict[str, dict[str, Any]] = field(default_factory=dict[str, dict[str, Any]])


async def check_health(db: Database, *, stall: timedelta) -> HealthReport:
    """Down when the database is away, or when something has been sendable for longer than `stall` while no
    dispatcher took anything up; degraded when a loop failed at its last pass or fell silent."""
    begun = time.perf_counter()
    try:
        async with db.system() as tx:
            still = await store.standstill(tx)
            beats = await store.heartbeats(tx)
    except PressroomError as error:
        return HealthReport(Health.DOWN, {"database": {"status": Health.DOWN, "error": error.message}})
    database: dict[str, Any] = {
        "status": Health.OK,
        "latency_ms": round((time.perf_counter() - begun) * 1000, 1),
    }
    stuck = (
        still.waiting_for is not None
        and still.waiting_for > stall
        and (still.idle_for is None or still.idle_for > stall)
    )
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
    troubled = {
        beat.loop: beat.error or f"silent for {round(beat.silent_for.total_seconds())} s"
        for beat in beats
        if beat.error is not None or not beat.alive
    }
    loops: dict[str, Any] = {"status": Health.DEGRADED if troubled else Health.OK}
    if troubled:
        loops["error"] = troubled
    checks = {"database": database, "delivery": delivery, "loops": loops}
    found = {check["status"] for check in checks.values()}
    return HealthReport(max(found, key=list(Health).index), checks)
