"""Which passes there are, and which role of a process runs them."""

from collections.abc import Callable, Iterable
from datetime import timedelta

from pressroom.core.errors import InvalidInput
from pressroom.core.ids import EVERY_WORKSPACE, ChannelId, RunId, WorkspaceId, trace_id
from pressroom.delivery.dispatch import Answered, dispatch_due, next_due_in, settle, workspaces_with_due_work
from pressroom.delivery.partition import make_event_partitions
from pressroom.delivery.recover import release_expired_leases
from pressroom.entrypoints.worker.runtime import Loop, Passed
from pressroom.wiring import Product, revive_database
from pressroom.workspaces.idempotency import purge_idempotency_keys


class Dispatching:
    """One pass sends a batch of every workspace with due work; the next goes on behind where this one ended."""

    def __init__(self, product: Product) -> None:
        self._product = product
        self._run_id = RunId(trace_id())
        self._workspace = EVERY_WORKSPACE
        self._channels: dict[WorkspaceId, ChannelId] = {}
        self._unsettled: list[Answered] = []

    async def __call__(self) -> Passed:
        taken = 0
        settings = self._product.settings
        while self._unsettled:
            await settle(self._product.db, self._unsettled[0])
            self._unsettled.pop(0)
        for workspace_id in await workspaces_with_due_work(self._product.db, after=self._workspace):
            after = self._channels.pop(workspace_id, ChannelId(""))
            report = await dispatch_due(
                self._product.db,
                self._product.platforms,
                self._product.secrets,
                workspace_id=workspace_id,
                run_id=self._run_id,
                limit=settings.dispatch_batch,
                parallel=settings.dispatch_parallel,
                after_channel=after,
            )
            self._unsettled += report.unsettled
            taken += report.taken + len(report.unsettled)
            self._workspace = workspace_id
            if report.taken:
                self._channels[workspace_id] = report.last_channel
            elif after:
                taken += 1  # nothing behind the cursor: the next pass begins with the first channel again
        return Passed(
            worked=taken > 0, more=taken > 0, next_in=None if taken else await next_due_in(self._product.db)
        )


def _dispatch(product: Product) -> Loop:
    return Loop(
        "dispatch", Dispatching(product), timedelta(seconds=product.settings.poll_seconds), "pressroom_due"
    )


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
        return Passed(worked=await purge_idempotency_keys(product.db) > 0)

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
    return [PASSES[name](product) for name in names]


def one(product: Product, name: str) -> Loop:
    if name not in PASSES:
        raise InvalidInput(f"no pass is named {name!r}", hint="passes: " + ", ".join(PASSES))
    return PASSES[name](product)


def _role(role: str) -> tuple[str, ...]:
    if role not in ROLES:
        raise InvalidInput(f"no role is named {role!r}", hint="roles: " + ", ".join(ROLES))
    return ROLES[role]
