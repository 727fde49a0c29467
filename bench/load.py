"""A small load generator: keep-alive connections that each have one request under way, in a process of its own.

`python -m bench.load '{"port": 1, "connections": 32, "seconds": 3, "request": "GET / HTTP/1.1\\r\\n..."}'` prints
what it measured as JSON. In the body of the request `{n}` becomes a number that never repeats.
"""

import asyncio
import json
import re
import statistics
import subprocess
import sys
import time
from dataclasses import dataclass
from itertools import count
from typing import Any, cast

LENGTH = re.compile(rb"content-length: (\d+)", re.IGNORECASE)
NUMBER = b"<<number>>"  # as long as what takes its place


@dataclass(frozen=True, slots=True)
class Load:
    """What one round measured; times in milliseconds."""

    per_second: float
    p50: float
    p99: float
    failed: int


def measure(port: int, request: str, *, connections: int = 32, seconds: float = 3) -> Load:
    """Run the generator beside the server that listens on `port`."""
    plan = {"port": port, "request": request, "connections": connections, "seconds": seconds}
    done = subprocess.run(
        [sys.executable, "-m", "bench.load", json.dumps(plan)], check=True, capture_output=True, text=True
    )
    return Load(**json.loads(done.stdout))


class Connection(asyncio.Protocol):
    def __init__(self, request: bytes, numbers: "count[int]", took: list[float]) -> None:
        self._request, self._numbers, self._took = request, numbers, took
        self._buffer = b""
        self.failed = 0
        self.lost: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        self._send()

    def _send(self) -> None:
        self._at = time.perf_counter()
        self._transport.write(self._request.replace(NUMBER, b"%010d" % next(self._numbers)))

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        head, separator, body = self._buffer.partition(b"\r\n\r\n")
        length = LENGTH.search(head)
        if not separator or length is None or len(body) < int(length[1]):
            return
        self._took.append(time.perf_counter() - self._at)
        self.failed += not head.startswith((b"HTTP/1.1 200", b"HTTP/1.1 202"))
        self._buffer = b""
        self._send()

    def connection_lost(self, error: Exception | None) -> None:
        if not self.lost.done():
            self.lost.set_result(None)

    def stop(self) -> None:
        self._transport.abort()


async def generate(port: int, request: str, connections: int, seconds: float) -> dict[str, Any]:
    took: list[float] = []
    numbers = count(time.time_ns() // 1_000_000 % 10**9)
    raw = request.encode().replace(b"{n}", NUMBER)
    loop = asyncio.get_running_loop()
    opened = [
        (await loop.create_connection(lambda: Connection(raw, numbers, took), "127.0.0.1", port))[1]
        for _ in range(connections)
    ]
    await asyncio.sleep(0.5)  # warm up
    took.clear()
    begun = time.perf_counter()
    await asyncio.sleep(seconds)
    elapsed = time.perf_counter() - begun
    done = sorted(took)
    for connection in opened:
        connection.stop()
    await asyncio.wait([connection.lost for connection in opened])
    return {
        "per_second": len(done) / elapsed,
        "p50": statistics.median(done) * 1000,
        "p99": done[int(len(done) * 0.99)] * 1000,
        "failed": sum(connection.failed for connection in opened),
    }


if __name__ == "__main__":
    plan = json.loads(sys.argv[1])
    try:
        import uvloop
    except ImportError:
        print(json.dumps(asyncio.run(generate(**plan))))
    else:
        print(json.dumps(uvloop.run(generate(**plan))))
