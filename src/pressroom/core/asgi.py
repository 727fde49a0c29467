"""Serving an ASGI app inside our own event loop: the API, and each emulator of the sandbox.

Uvicorn serves; we bind the port, so that a taken one is a clear error, and we keep the signals.
"""

import asyncio
import contextlib
import errno
import socket
from collections.abc import AsyncGenerator
from datetime import timedelta
from typing import Any, cast

import psutil
import uvicorn
from uvicorn.lifespan.on import LifespanOn, LifespanSendMessage
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from pressroom.core.errors import BadSetup

#: An app finds here, under `scope["extensions"]`, a function that closes the connection without an answer.
HANG_UP = "pressroom.hang_up"

BACKLOG = 2048
IDLE_SECONDS = 75  # longer than any client of ours keeps an idle connection, so that it is the one to close it
DRAIN = timedelta(seconds=10)


class Connection(HttpToolsProtocol):
    """One client's connection; a server that bounds it more closely brings its own."""

    def on_message_begin(self) -> None:
        super().on_message_begin()
        cast("dict[str, Any]", self.scope)["extensions"] = {HANG_UP: {"hang_up": self.transport.abort}}


class _Lifespan(LifespanOn):
    async def send(self, message: LifespanSendMessage) -> None:
        """A process that is told a second time to stop cancels the app as well; that needs no traceback."""
        task = asyncio.current_task()
        if message["type"] == "lifespan.shutdown.failed" and task is not None and task.cancelling():
            message = {"type": "lifespan.shutdown.failed", "message": ""}
        await super().send(message)


@contextlib.asynccontextmanager
async def serving(
    app: Any,
    *,
    what: str,
    port: int,
    host: str = "127.0.0.1",
    hint: str = "--port 0 picks a free one",
    drain: timedelta = DRAIN,
    connection: type[HttpToolsProtocol] = Connection,
) -> AsyncGenerator[int]:
    """Serve until the block ends, then let requests under way finish. Gives the real port, for `port=0` too.

    `what` names the server and `hint` says how to choose another port, both for the error of a taken one. What
    is not finished after `drain` is cancelled, and its connection cut.
    """
    listener = _listen(host, port, what=what, hint=hint)
    config = uvicorn.Config(
        app,
        http=connection,
        ws="none",
        log_config=None,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        backlog=BACKLOG,
        timeout_keep_alive=IDLE_SECONDS,
    )
    config.timeout_graceful_shutdown = drain.total_seconds()  # pyright: ignore[reportAttributeAccessIssue] - a fraction does as well
    # The steps of `uvicorn.Server.serve`, which would take over the process's signals.
    server = uvicorn.Server(config)
    config.load()
    server.lifespan = _Lifespan(config)
    try:
        await server.startup(sockets=[listener])
    except SystemExit:
        listener.close()
        raise BadSetup(f"{what} did not start; its log says why") from None
    ticking = asyncio.create_task(server.main_loop(), name=f"serve {what}")
    try:
        yield listener.getsockname()[1]
    finally:
        ticking.cancel()
        await asyncio.wait([ticking])
        await server.shutdown(sockets=[listener])
        await _cut_off(server)


async def _cut_off(server: uvicorn.Server) -> None:
    """Those that were cancelled say so to their clients; then nobody keeps the process waiting."""
    if server.server_state.tasks:
        await asyncio.wait(server.server_state.tasks, timeout=1)
    for connection in list(server.server_state.connections):
        connection.transport.abort()


def _listen(host: str, port: int, *, what: str, hint: str) -> socket.socket:
    # The protocol has to be named: asyncio switches Nagle's delay off only where it is, and else an answer, which
    # uvicorn writes in two parts, takes 40 ms.
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port))
        listener.listen(BACKLOG)
    except (OSError, OverflowError) as error:
        listener.close()
        if isinstance(error, OSError) and error.errno == errno.EADDRINUSE:
            raise BadSetup(f"{what} cannot use port {port}: {_who_has(port)}", hint=hint) from error
        raise BadSetup(f"{what} cannot listen on {host}:{port}: {error}", hint=hint) from error
    listener.setblocking(False)
    return listener


def _who_has(port: int) -> str:
    try:
        for connection in psutil.net_connections("tcp"):
            listens = (
                connection.status == psutil.CONN_LISTEN and connection.laddr and connection.laddr.port == port
            )
            if listens and connection.pid:
                return f"{psutil.Process(connection.pid).name()} (pid {connection.pid}) has it"
    except psutil.Error:  # whose it is may be none of our business
        pass
    return "another program has it"
