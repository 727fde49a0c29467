"""The servers that are measured, each in a process of its own: `python -m bench.servers NAME DATABASE_URL`.

Prints one line of JSON when it listens: its port, and what a request needs.
"""

import asyncio
import json
import signal
import sys
from typing import Any

import asyncpg
import uvloop
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from pressroom.core.asgi import serving
from pressroom.core.logs import configure_logs
from pressroom.entrypoints.api.server import serve_api
from pressroom.settings import load
from pressroom.wiring import open_product
from pressroom.workspaces.endpoints import create_endpoint
from pressroom.workspaces.model import EndpointKind
from pressroom.workspaces.tenants import create_workspace

POOL = 10


async def product(url: str, stop: asyncio.Event) -> None:
    """Pressroom's API, with a workspace that has no channels: a push there writes one row."""
    configure_logs("warning", "json")
    settings = load(database_url=url, api_port=0, database_pool_size=POOL)
    async with open_product(settings, upgrade=True) as opened:
        workspace = await create_workspace(opened.db, name="Benchmark")
        _, secret = await create_endpoint(
            opened.db, workspace_id=workspace.workspace_id, endpoint_id="bench", kind=EndpointKind.WEBHOOK_PUSH
        )
        async with serve_api(opened, host="127.0.0.1", port=0) as where:
            say(port=int(where.rpartition(":")[2]), secret=secret)
            await stop.wait()


async def bare(url: str, stop: asyncio.Event) -> None:
    """The same framework and server with nothing of ours: one route without a database, one with one insert."""
    pool: asyncpg.Pool[Any] = await asyncpg.create_pool(url, min_size=POOL, max_size=POOL)
    await pool.execute(
        "create table if not exists bench_rows (id bigserial primary key, at timestamptz, body jsonb)"
    )

    async def health(_: Request) -> JSONResponse:
        return JSONResponse({"status": "ok"})

    async def write(request: Request) -> JSONResponse:
        body = await request.body()
        json.loads(body)
        row = await pool.fetchval(
            "insert into bench_rows (at, body) values (now(), $1) returning id", body.decode()
        )
        return JSONResponse({"id": row}, 202)

    app = Starlette(routes=[Route("/api/health", health), Route("/ingest/push", write, methods=["POST"])])
    async with serving(app, what="the bare server", port=0) as port:
        say(port=port, secret="none")
        await stop.wait()


async def echo(_url: str, stop: asyncio.Event) -> None:
    """The least that an emulator could do: read the JSON and answer with a message made of it."""

    async def app(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            return
        body = b""
        more = True
        while more:
            message = await receive()
            body += message.get("body", b"")
            more = message.get("more_body", False)
        said = json.loads(body)
        chat = {"id": said["chat_id"], "title": "Example news", "type": "channel"}
        result = {"message_id": 1, "sender_chat": chat, "chat": chat, "date": 0, "text": said["text"]}
        answer = json.dumps({"ok": True, "result": result}, ensure_ascii=False).encode()
        headers = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(answer))]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": answer})

    async with serving(app, what="the bare emulator", port=0) as port:
        say(port=port)
        await stop.wait()


def say(**what: Any) -> None:
    print(json.dumps(what), flush=True)


async def main(name: str, url: str) -> None:
    stop = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    await {"product": product, "bare": bare, "echo": echo}[name](url, stop)


if __name__ == "__main__":
    uvloop.run(main(sys.argv[1], sys.argv[2]))
