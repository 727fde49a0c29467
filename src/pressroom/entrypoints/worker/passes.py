"""Which passes there are, and which role of a process runs them."""

import asyncio
from collections import deque
from collections.abc import Callable, Iterable
from datetime import timedelta

from pressroom.core.errors import InvalidInput
from pressroom.core.ids import EVERY_WORKSPACE, ChannelId, RunId, WorkspaceId, trace_id
from pressroom.delivery.dispatch import Sends, dispatch_due, next_due_in, workspaces_with_due_work
from pressroom.delivery.partition import make_event_partitions
from pressroom.delivery.recover import release_expired_leases
from pressroom.entrypoints.worker.runtime import Loop, Passed
from pressroom.ops.heartbeat import forget_silent_loops
from pressroom.wiring import Product, revive_database
from pressroom.workspaces.idempotency import purge_idempotency_keys


class Dispatching:
    """Each pass takes a batch of the next workspace with due work, so that stopping never waits for a round."""

    def __init__(self, product: Product) -> None:
        settings = product.settings
        self._product = product
        self._run_id = RunId(trace_id())
        self._last = EVERY_WORKSPACE
        self._round: deque[WorkspaceId] = deque()
        self._round_took = False
        self._channels: dict[WorkspaceId, ChannelId] = {}
        self.bell = asyncio.Event()
        self._sends = Sends(
            product.db, product.platforms, parallel=settings.dispatch_parallel, ended=self.bell.set
        )

    async def one_pass(self) -> Passed:
        await self._sends.settle_what_waits()
        if not self._round:
            self._round.extend(await workspaces_with_due_work(self._product.db, after=self._last))
            self._round_took = False
        if not self._round:
            return Passed(next_in=await next_due_in(self._product.db))
        self._last = self._round.popleft()
        taken = await self._dispatch(self._last)
        self._round_took |= taken
        # A round that took nothing waits: for room, which the end of a send makes, or for the next time.
        return Passed(worked=taken, more=bool(self._round) or self._round_took)

    async def _dispatch(self, workspace_id: WorkspaceId) -> bool:
        """Whether there was anything, or may be from the first channel on."""
        after = self._channels.pop(workspace_id, ChannelId(""))
        report = await dispatch_due(
            self._product.db, self._sends, self._product.secrets, workspace_id=workspace_id, run_id=self._run_id,
            limit=self._product.settings.dispatch_batch, after_channel=after,
        )  # fmt: skip
        if report.taken:
            self._channels[workspace_id] = report.last_channel
        return report.taken > 0 or (after != "" and self._sends.room_for(workspace_id) > 0)

    async def finish(self) -> None:
        await self._sends.finish()


def _dispatch(product: Product) -> Loop:
    dispatching = Dispatching(product)
    return Loop(
        "dispatch", dispatching.one_pass, timedelta(seconds=product.settings.poll_seconds), "pressroom_due",
        bell=dispatching.bell, finish=dispatching.finish,
    )  # fmt: skip


def _leases(product: Product) -> Loop:
    async def one_pass() -> Passed:
        return Passed(worked=await release_expired_leases(product.db) > 0)

    return Loop("leases", one_pass, timedelta(seconds=10))


def _partitions(product: Product) -> Loop:
    async def one_pass() -> Passed:
        return Passed(worked=await make_event_partitions(product.db) > 0)

    return Loop("partitions", one_pass, timedelta(hours=1))


def _purge(product: Product) -> Loop:
    async def one_pass() -> Passed:
        purged = await purge_idempotency_keys(product.db)
        await forget_silent_loops(product.db)
        return Passed(worked=purged > 0, more=purged > 0)

    return Loop("purge", one_pass, timedelta(hours=1))


def _database(product: Product) -> Loop:
    async def one_pass() -> Passed:
        return Passed(worked=await revive_database(product.settings))

    return Loop("database", one_pass, timedelta(seconds=1))


PASSES: dict[str, Callable[[Product], Loop]] = {
    "dispatch": _dispatch,
    "leases": _leases,
    "partitions": _partitions,
    "purge": _purge,
    "database": _database,
}

#: What `pressroom serve <role>` runs, beside the HTTP API itself.
ROLES: dict[str, tuple[str, ...]] = {
    "api": ("database",),
    "dispatch": ("database", "dispatch", "leases", "partitions", "purge"),
}


def loops_of(product: Product, roles: Iterable[str]) -> list[Loop]:
    """The loops of these roles, each once."""
    names = dict.fromkeys(name for role in roles for name in _role(role))
    if product.settings.database_url is not None:
        names.pop("database", None)  # somebody else looks after that server
    return [PASSES[name](product) for name in names]


def one(product: Product, name: str) -> Loop:
    if name not in PASSES:
        raise InvalidInput(f"no pass is named {name!r}", hint="passes: " + ", ".join(PASSES))
    return PASSES[name](product)


def _role(role: str) -> tuple[str, ...]:
    if role not in ROLES:
        raise InvalidInput(f"no role is named {role!r}", hint="roles: " + ", ".join(ROLES))
    return ROLES[role]
