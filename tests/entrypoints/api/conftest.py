"""The API on a real socket: `api` is one server for a module's tests, `serve` makes one with settings of its own."""

import asyncio
import io
import json
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

import aiohttp
import pytest
import structlog

from pressroom.core.ids import WorkspaceId
from pressroom.core.logs import configure_logs
from pressroom.db.database import Database
from pressroom.entrypoints.api.server import serve_api
from pressroom.settings import Settings
from pressroom.wiring import Product
from pressroom.workspaces.endpoints import create_endpoint
from pressroom.workspaces.model import EndpointKind, Verb
from pressroom.workspaces.sealing import Keyring
from pressroom.workspaces.tokens import create_token
from tests.conftest import add_workspace

Answer = tuple[int, Mapping[str, str], Any]
KEYRING = Keyring.parse(Keyring.generate_text())


@dataclass(frozen=True)
class Api:
    """A running API and a client of it. A call gives status, headers, and the body as JSON or text."""

    url: str
    product: Product
    http: aiohttp.ClientSession

    @property
    def port(self) -> int:
        return int(self.url.rpartition(":")[2])

    async def call(self, method: str, path: str, *, token: str | None = None, **options: Any) -> Answer:
        headers = dict(options.pop("headers", {}))
        if token is not None:
            headers["Authorization"] = f"Bearer {token}"
        async with self.http.request(
            method, self.url + path, headers=headers, allow_redirects=False, **options
        ) as answer:
            text = await answer.text()
            is_json = "json" in answer.headers.get("Content-Type", "")
            return answer.status, answer.headers, json.loads(text) if is_json and text else text

    async def raw(self, *parts: bytes, pause: float = 0, within: float = 5) -> bytes:
        """What comes back until the server closes, for bytes that no client would send."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        try:
            for part in parts:
                writer.write(part)
                await writer.drain()
                if pause:
                    await asyncio.sleep(pause)
            async with asyncio.timeout(within):
                return await reader.read()
        finally:
            writer.close()

    async def new_token(self, *workspaces: WorkspaceId, verbs: tuple[Verb, ...] = (Verb.ADMIN,)) -> str:
        """No workspace means all of them."""
        opened = list(workspaces) or "all"
        _, secret = await create_token(self.product.db, token_id=f"t-{uuid4()}", workspaces=opened, verbs=verbs)
        return secret

    async def new_door(self, workspace_id: WorkspaceId) -> str:
        """A push secret of the workspace."""
        _, secret = await create_endpoint(
            self.product.db,
            workspace_id=workspace_id,
            endpoint_id=f"e-{uuid4()}",
            kind=EndpointKind.WEBHOOK_PUSH,
        )
        return secret


Serve = Callable[..., Awaitable[Api]]
Logged = Callable[[], list[dict[str, Any]]]


@pytest.fixture(scope="session", autouse=True)
def _log_stream() -> Iterator[io.StringIO]:
    root = logging.getLogger()
    handlers, level = root.handlers, root.level
    stream = io.StringIO()
    configure_logs("debug", "json", stream)
    yield stream
    root.handlers = handlers
    root.setLevel(level)
    logging.captureWarnings(False)
    structlog.reset_defaults()


@pytest.fixture
def logged(_log_stream: io.StringIO) -> Logged:
    """What the server has logged since the test began."""
    begun = _log_stream.tell()
    return lambda: [json.loads(line) for line in _log_stream.getvalue()[begun:].splitlines()]


@pytest.fixture(scope="session")
async def session() -> AsyncIterator[aiohttp.ClientSession]:
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0, force_close=True)) as http:
        yield http


@pytest.fixture
async def serve(db: Database, session: aiohttp.ClientSession) -> AsyncIterator[Serve]:
    async with AsyncExitStack() as stack:

        async def start(**settings: Any) -> Api:
            given = {"database_url": db.dsn, "drain_seconds": 1, **settings}
            product = Product(Settings(**given), db, KEYRING, {"telegram": object()})  # type: ignore[dict-item]
            url = await stack.enter_async_context(serve_api(product, host="127.0.0.1", port=0))
            return Api(url, product, session)

        yield start


@pytest.fixture(scope="module")
async def api(db: Database, session: aiohttp.ClientSession) -> AsyncIterator[Api]:
    product = Product(Settings(database_url=db.dsn, drain_seconds=1), db, KEYRING, {"telegram": object()})  # type: ignore[dict-item]
    async with serve_api(product, host="127.0.0.1", port=0) as url:
        yield Api(url, product, session)


@pytest.fixture
async def admin(api: Api) -> str:
    """A token for everything."""
    return await api.new_token()


@pytest.fixture
async def tenant(api: Api) -> WorkspaceId:
    return await add_workspace(api.product.db)


@pytest.fixture
async def token(api: Api, tenant: WorkspaceId) -> str:
    """A token that administers the tenant and nothing else."""
    return await api.new_token(tenant)
