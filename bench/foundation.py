"""The API's own cost: health and a one-row write, beside a bare server of the same framework and pgbench."""

import asyncio
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from statistics import median
from typing import Any

import asyncpg

from bench.load import Load, measure
from pressroom.db import embedded
from pressroom.workspaces.sealing import Keyring

CONNECTIONS = 32
SECONDS = 3
HEALTH = "GET /api/health HTTP/1.1\r\nHost: bench\r\n\r\n"
BODY = (
    '{"text": "Benchmark post {n} of two hundred characters, which is what a short post has. '
    + "x" * 120
    + '"}'
)
WRITE = (
    "POST /ingest/push HTTP/1.1\r\nHost: bench\r\nContent-Type: application/json\r\n"
    "X-Pressroom-Secret: %s\r\nContent-Length: %d\r\n\r\n%s"
)
PGBENCH = 'insert into bench_rows (at, body) values (now(), \'{"text": "Benchmark post"}\');\n'


def table(rounds: int = 5) -> str:
    """Rounds are interleaved, so that a slow phase of the machine hurts all alike."""
    seen: dict[tuple[str, str], list[Load]] = {}
    with tempfile.TemporaryDirectory(prefix="pressroom-bench-") as folder, ExitStack() as stack:
        data = Path(folder) / "data"
        attachment = stack.enter_context(embedded.attach(data))
        asyncio.run(_database(attachment.dsn("postgres")))
        url = attachment.dsn("bench")
        servers = {name: stack.enter_context(_server(name, url)) for name in ("product", "bare")}
        script = Path(folder) / "insert.sql"
        script.write_text(PGBENCH)
        for _ in range(rounds):
            for name, server in servers.items():
                seen.setdefault(("health", name), []).append(
                    measure(server["port"], HEALTH, connections=CONNECTIONS, seconds=SECONDS)
                )
            for name, server in servers.items():
                length = len(BODY.replace("{n}", "0" * 10))
                request = WRITE % (server["secret"], length, BODY)
                seen.setdefault(("write", name), []).append(
                    measure(server["port"], request, connections=CONNECTIONS, seconds=SECONDS)
                )
            seen.setdefault(("write", "pgbench"), []).append(_pgbench(attachment, url, script))
    failed = sum(load.failed for loads in seen.values() for load in loads)
    if failed:
        raise SystemExit(f"{failed} requests failed: these figures would say nothing")
    return _rendered(seen, rounds)


async def _database(url: str) -> None:
    connection = await asyncpg.connect(url)
    await connection.execute("create database bench")
    await connection.close()


@contextmanager
def _server(name: str, url: str) -> Iterator[dict[str, Any]]:
    environment = os.environ | {"PRESSROOM_SECRET_KEYS": Keyring.generate_text()}
    process = subprocess.Popen(
        [sys.executable, "-m", "bench.servers", name, url], stdout=subprocess.PIPE, text=True, env=environment
    )
    assert process.stdout is not None
    try:
        yield json.loads(process.stdout.readline())
    finally:
        process.terminate()
        process.wait(30)


def _pgbench(attachment: embedded.Attachment, url: str, script: Path) -> Load:
    log = script.parent / "latencies"
    done = subprocess.run(
        [
            attachment.binary("pgbench"), "--no-vacuum", "--client", str(CONNECTIONS), "--jobs", "2", "--time",
            str(SECONDS), "--file", script, "--log", "--log-prefix", log, url,
        ],
        check=True, capture_output=True, text=True,
    )  # fmt: skip
    took: list[float] = []
    for file in script.parent.glob("latencies.*"):
        took += [int(line.split()[2]) / 1000 for line in file.read_text().splitlines()]
        file.unlink()
    took.sort()
    found = re.search(r"tps = ([\d.]+)", done.stdout)
    assert found is not None
    return Load(float(found[1]), median(took), took[int(len(took) * 0.99)], 0)


NAMES = {
    ("health", "product"): "`GET /api/health` of Pressroom",
    ("health", "bare"): "the same answer from a bare Starlette app",
    ("write", "product"): "`POST /ingest/push`, one row (no channels)",
    ("write", "bare"): "one insert per request in a bare Starlette app",
    ("write", "pgbench"): "the same insert from pgbench, no HTTP",
}


def _rendered(seen: dict[tuple[str, str], list[Load]], rounds: int) -> str:
    lines = [
        f"Medians of {rounds} interleaved rounds of {SECONDS} s, {CONNECTIONS} connections, one server process,",
        "server, load generator and database on the same machine. Read the ratios.",
        "",
        "| what | per second (range) | p50 ms | p99 ms | ratio to the bare app, same round |",
        "|---|---|---|---|---|",
    ]
    for (kind, name), loads in seen.items():
        rates = [load.per_second for load in loads]
        ratio = median(
            ours.per_second / theirs.per_second for ours, theirs in zip(loads, seen[kind, "bare"], strict=True)
        )
        lines.append(
            f"| {NAMES[kind, name]} | {median(rates):,.0f} ({min(rates):,.0f}–{max(rates):,.0f}) "
            f"| {median(load.p50 for load in loads):.1f} | {median(load.p99 for load in loads):.1f} | {ratio:.2f} |"
        )
    return "\n".join(lines)
