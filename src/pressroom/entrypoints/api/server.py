"""Serving the API inside the process's own event loop, and stopping it without cutting anything off."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from datetime import timedelta

from pressroom.core.asgi import serving
from pressroom.entrypoints.api.app import create_app
from pressroom.entrypoints.api.connection import BoundedConnection
from pressroom.wiring import Product


@asynccontextmanager
async def serve_api(product: Product, *, host: str, port: int) -> AsyncGenerator[str]:
    """Gives the real URL; port 0 picks a free one.

    At the end no more requests are taken, and those under way have `drain_seconds` to finish; what is not done
    by then is answered 503 and disconnected.
    """
    async with serving(
        create_app(product),
        what="the HTTP API",
        host=host,
        port=port,
        hint="choose another with PRESSROOM_API_PORT or --port; 0 picks a free one",
        connection=BoundedConnection,
        drain=timedelta(seconds=product.settings.drain_seconds),
    ) as real_port:
        yield f"http://{_in_url(host)}:{real_port}"


def _in_url(host: str) -> str:
    """An address that can be asked: everywhere is reached as this machine."""
    reachable = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)  # noqa: S104 - compared, not bound
    return f"[{reachable}]" if ":" in reachable else reachable
