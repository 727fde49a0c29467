"""`pressroom serve ROLE ...`: run some roles of the product in this process, in any number of processes."""

import asyncio
import signal
import sys
from collections.abc import AsyncGenerator, Callable, Coroutine, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import timedelta
from typing import Annotated, TypeVar

import structlog
import typer

from pressroom.core.logs import configure_logs
from pressroom.core.tracing import configure_tracing, stop_tracing
from pressroom.entrypoints.api.server import serve_api
from pressroom.entrypoints.cli.options import Data
from pressroom.entrypoints.worker.passes import ROLES, loops_of
from pressroom.entrypoints.worker.runtime import run_loops
from pressroom.settings import Settings, load
from pressroom.wiring import Product, open_product

log = structlog.stdlib.get_logger(__name__)

T = TypeVar("T")
Port = Annotated[int | None, typer.Option("--port", min=0, max=65535, help="Port of the HTTP API; 0 picks.")]
DESCRIPTORS = 65_536
STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def command(
    roles: Annotated[list[str], typer.Argument(help="Any of: " + ", ".join(ROLES) + ".", metavar="ROLE...")],
    port: Port = None,
    data: Data = None,
) -> None:
    """Run some roles of the product until SIGTERM or Ctrl-C, then finish what is under way.

    Roles may run in any number of processes and on any number of machines: all state is in Postgres.

    Examples:
    pressroom serve api dispatch
    pressroom serve dispatch
    PRESSROOM_DATABASE_URL=postgresql://... pressroom serve api --port 80
    """
    settings = load(data=data, api_port=port)
    configure_logs(settings.log_level, settings.log_format)
    run_fast(serve(settings, roles), settings)


def run_fast(work: Coroutine[object, object, T], settings: Settings) -> T:
    """In the fastest event loop there is, traced when the settings say so."""
    configure_tracing(settings.tracing)
    try:
        if sys.platform == "win32":
            return asyncio.run(work)
        import uvloop

        _take_all_descriptors()

        return uvloop.run(work)
    finally:
        stop_tracing()


def _take_all_descriptors() -> None:
    """A connection is one: the usual 1,024 are too few for a server, and the system allows more to who asks."""
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = DESCRIPTORS if hard == resource.RLIM_INFINITY else min(hard, DESCRIPTORS)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


@asynccontextmanager
async def stop_on_signal() -> AsyncGenerator[asyncio.Event]:
    """A signal sets the event. A second Ctrl-C cancels what is still going on; a repeated SIGTERM does not, since
    it comes from programs that only repeat themselves. What then runs leaves the database in order."""
    loop, stop, task = asyncio.get_running_loop(), asyncio.Event(), asyncio.current_task()

    def on_signal(number: signal.Signals) -> None:
        if number == signal.SIGINT and stop.is_set() and task is not None and not task.cancelling():
            task.cancel()
        stop.set()

    for number in STOP_SIGNALS:
        loop.add_signal_handler(number, on_signal, number)
    try:
        yield stop
    finally:
        for number in STOP_SIGNALS:
            loop.remove_signal_handler(number)


@asynccontextmanager
async def running(
    product: Product, roles: Sequence[str], *, stop: Callable[[], None]
) -> AsyncGenerator[str | None]:
    """The roles at work; gives the API's URL when it is one of them. `stop` is called when a loop broke.

    Ending, the door closes first, then the loops drain.
    """
    ending = asyncio.Event()
    drain = timedelta(seconds=product.settings.drain_seconds)
    loops = asyncio.create_task(run_loops(product.db, loops_of(product, roles), stop=ending, drain=drain))
    loops.add_done_callback(lambda _: stop())
    try:
        async with AsyncExitStack() as doors:
            url = None
            if "api" in roles:
                settings = product.settings
                url = await doors.enter_async_context(
                    serve_api(product, host=settings.api_host, port=settings.api_port)
                )
            yield url
    finally:
        ending.set()
        await loops


async def serve(settings: Settings, roles: Sequence[str]) -> None:
    """Until a signal says stop."""
    async with (
        stop_on_signal() as stop,
        open_product(settings, say=log.info, name="pressroom " + " ".join(roles)) as product,
        running(product, roles, stop=stop.set) as url,
    ):
        log.info("serving", roles=list(roles), api=url)
        await stop.wait()
        log.info("stopping", drain_seconds=settings.drain_seconds)
