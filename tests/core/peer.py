"""The other end of a loopback connection, which does as it is told: answer, stay silent, hang up."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from enum import Enum, auto


class Act(Enum):
    HANG = auto()  # read the request and never answer
    HANG_UP = auto()  # read the request and close the connection


@dataclass
class Peer:
    """`acts` are used up in order, the last one for ever: bytes are sent as they are."""

    acts: list[bytes | Act]
    requests: list[bytes] = field(default_factory=list)
    connections: int = 0
    port: int = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
            while True:
                self.requests.append(await _read_request(reader))
                act = self.acts.pop(0) if len(self.acts) > 1 else self.acts[0]
                if act is Act.HANG:
                    await reader.read()  # until the client has gone
                if not isinstance(act, bytes):
                    break
                writer.write(act)
                await writer.drain()
                if b"connection: close" in act.lower():
                    break
        writer.close()


@contextlib.asynccontextmanager
async def peer(*acts: bytes | Act) -> AsyncIterator[Peer]:
    it = Peer(list(acts) or [answer(200)])
    server = await asyncio.start_server(it.serve, "127.0.0.1", 0)
    it.port = server.sockets[0].getsockname()[1]
    async with server:
        yield it
        server.close()


def answer(status: int, body: str | bytes = b"{}", **headers: str) -> bytes:
    content = body.encode() if isinstance(body, str) else body
    lines = [f"HTTP/1.1 {status} Any Reason", f"Content-Length: {len(content)}"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + content


async def _read_request(reader: asyncio.StreamReader) -> bytes:
    head = await reader.readuntil(b"\r\n\r\n")
    length = 0
    for line in head.lower().split(b"\r\n"):
        if line.startswith(b"content-length:"):
            length = int(line.partition(b":")[2])
    return head + await reader.readexactly(length)
