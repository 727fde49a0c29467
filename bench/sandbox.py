"""What the emulators can take: messages a second on one core, and the memory of a million of them."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from statistics import median
from typing import Any

import psutil

from bench.load import Load, measure
from pressroom.sandbox.client import SandboxClient
from pressroom.sandbox.max import EXAMPLE_CHATS as MAX_CHATS
from pressroom.sandbox.max import EXAMPLE_TOKEN as MAX_TOKEN
from pressroom.sandbox.telegram import EXAMPLE_CHATS, EXAMPLE_TOKEN

CONNECTIONS = 64
SECONDS = 3
MILLION = 1_000_000
WORDS = "Сегодня в нашем магазине скидка на новые товары, приходите выбирать подарки друзьям и близким. "
TEXT = ("{n} " + WORDS * 3)[:190] + "."


def table(rounds: int = 5) -> str:
    """Rounds are interleaved, so that a slow phase of the machine hurts all alike."""
    seen: dict[str, list[Load]] = {}
    with _sandbox() as urls, _bare() as bare:
        requests = {
            "telegram": (_port(urls["telegram"]), _telegram()),
            "max": (_port(urls["max"]), _max()),
            "bare": (bare, _telegram()),
        }
        for _ in range(rounds):
            for name, (port, request) in requests.items():
                seen.setdefault(name, []).append(
                    measure(port, request, connections=CONNECTIONS, seconds=SECONDS)
                )
    failed = sum(load.failed for loads in seen.values() for load in loads)
    if failed:
        raise SystemExit(f"{failed} requests failed: these figures would say nothing")
    return f"{_rendered(seen, rounds)}\n\n{_memory()}"


def _memory() -> str:
    with _sandbox() as urls:
        process = psutil.Process(int(urls["pid"]))
        empty = process.memory_info().rss
        client = SandboxClient(urls["window"])
        while (total := client.overview()["effects"]) < MILLION:
            measure(_port(urls["telegram"]), _telegram(), connections=CONNECTIONS, seconds=5)
        full = process.memory_info().rss
    grown = (full - empty) * MILLION / total / 2**20
    return (
        f"{total:,} such messages to Telegram, ledger included: {full / 2**20:,.0f} MiB resident, "
        f"{empty / 2**20:,.0f} MiB of them before the first; {grown:,.0f} MiB a million."
    )


@contextmanager
def _sandbox() -> Iterator[dict[str, str]]:
    command = [sys.executable, "-c", "import sys; from pressroom.entrypoints.cli import main; sys.exit(main())"]
    arguments = ["sandbox", "--port", "0", "--json", "--quiet", "--ledger", str(2 * MILLION)]
    with _running([*command, *arguments]) as (process, said):
        yield {**said, "pid": str(process.pid)}


@contextmanager
def _bare() -> Iterator[int]:
    """The same server, which reads the body and answers with a message of that size."""
    with _running([sys.executable, "-m", "bench.servers", "echo", ""]) as (_, said):
        yield said["port"]


@contextmanager
def _running(command: list[str]) -> Iterator[tuple[subprocess.Popen[str], dict[str, Any]]]:
    """On the first core alone; the load has the others."""
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(process.pid, {min(os.sched_getaffinity(0))})
    assert process.stdout is not None
    try:
        yield process, json.loads(process.stdout.readline())
    finally:
        process.terminate()
        process.wait(60)


def _port(url: str) -> int:
    return int(url.rpartition(":")[2])


def _telegram() -> str:
    body = json.dumps({"chat_id": EXAMPLE_CHATS[0].id, "text": TEXT}, ensure_ascii=False)
    return _post(f"/bot{EXAMPLE_TOKEN}/sendMessage", body)


def _max() -> str:
    body = json.dumps({"text": TEXT}, ensure_ascii=False)
    return _post(f"/messages?chat_id={MAX_CHATS[0].id}", body, f"Authorization: {MAX_TOKEN}\r\n")


def _post(path: str, body: str, headers: str = "") -> str:
    length = len(body.replace("{n}", "0" * 10).encode())
    return (
        f"POST {path} HTTP/1.1\r\nHost: bench\r\nContent-Type: application/json\r\n{headers}"
        f"Content-Length: {length}\r\n\r\n{body}"
    )


NAMES = {
    "telegram": "`sendMessage`, Telegram",
    "max": "`POST /messages`, MAX",
    "bare": "a bare ASGI app that reads the JSON and answers as much",
}


def _rendered(seen: dict[str, list[Load]], rounds: int) -> str:
    lines = [
        f"Medians of {rounds} interleaved rounds of {SECONDS} s, {CONNECTIONS} keep-alive connections, Cyrillic texts of 200",
        "characters without parse mode; the server on one core, the load on another.",
        "",
        "| what | per second (range) | p50 ms | p99 ms | ratio to the bare app, same round |",
        "|---|---|---|---|---|",
    ]
    for name, loads in seen.items():
        rates = [load.per_second for load in loads]
        ratio = median(
            ours.per_second / theirs.per_second for ours, theirs in zip(loads, seen["bare"], strict=True)
        )
        lines.append(
            f"| {NAMES[name]} | {median(rates):,.0f} ({min(rates):,.0f}–{max(rates):,.0f}) "
            f"| {median(load.p50 for load in loads):.1f} | {median(load.p99 for load in loads):.1f} | {ratio:.2f} |"
        )
    return "\n".join(lines)
