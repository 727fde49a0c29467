"""The HTTP client of the plugs: one session for all of them.

- A request that failed says whether it had left (`has_left`): the difference between "not sent" and "unknown".
- Nothing is sent twice behind the caller's back: aiohttp repeats only idempotent methods on a connection that
  the peer had closed, never POST; and redirects are refused, because a 307 would post again, elsewhere, with
  the credentials.
- Reserved names (`telegram.sandbox`) lead to the emulators of this process and never to DNS.
- No cookies are kept: the session serves many tenants.

User-given URLs do not belong here: nothing keeps them from private addresses.
"""

import json
import socket
from collections.abc import Mapping
from datetime import timedelta
from types import MappingProxyType, SimpleNamespace
from typing import Any

import aiohttp
from aiohttp.abc import AbstractResolver, ResolveResult
from aiohttp.resolver import ThreadedResolver
from yarl import URL

CONNECT_TIMEOUT = timedelta(seconds=5)  # per address: TCP and TLS together
TOTAL_TIMEOUT = timedelta(seconds=60)  # of calls that give none of their own
CONNECTIONS = 512
CONNECTIONS_PER_HOST = 128

SANDBOX_DOMAIN = ".sandbox"
NO_HOSTS: Mapping[str, tuple[str, int]] = MappingProxyType({})

_STAYED = "_pressroom_request_stayed"


def open_session(*, hosts: Mapping[str, tuple[str, int]] = NO_HOSTS, user_agent: str) -> aiohttp.ClientSession:
    """A session that finds each name of `hosts` at its address and port; the caller closes it.

    `hosts` is read anew for each connection, so an emulator may be added or moved while the session lives.
    """
    return aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(
            resolver=_Resolver(hosts),
            use_dns_cache=False,  # connections are kept alive, and the system resolver has a cache of its own
            limit=CONNECTIONS,
            limit_per_host=CONNECTIONS_PER_HOST,
        ),
        cookie_jar=aiohttp.DummyCookieJar(),
        headers={"User-Agent": user_agent},
        json_serialize_bytes=_to_json,
        timeout=within(TOTAL_TIMEOUT),
        trace_configs=[_departures()],
    )


def within(total: timedelta) -> aiohttp.ClientTimeout:
    """The time limit of one call, from looking up the name to the last byte of the answer."""
    return aiohttp.ClientTimeout(
        total=total.total_seconds(), sock_connect=CONNECT_TIMEOUT.total_seconds(), ceil_threshold=float("inf")
    )


def has_left(error: BaseException) -> bool:
    """Whether the failed request may have reached the peer.

    False only when not one byte was written: no address, no connection, no TLS, not a URL. A connection that
    breaks in the very moment of the first write counts as left.
    """
    if isinstance(error, (aiohttp.InvalidURL, aiohttp.NonHttpUrlClientError)):
        return False
    return not getattr(error, _STAYED, False)


class RedirectRefused(aiohttp.ClientError):
    """The peer answered with a redirect. Only the host is told: the rest of the address may hold a secret."""

    def __init__(self, status: int, host: str | None) -> None:
        super().__init__(f"answered {status}, a redirect to {host or 'an unreadable address'}")
        self.status = status


def _to_json(value: Any) -> bytes:
    # Half of a surrogate pair cannot be encoded; as a JSON escape it travels, and the platform judges it.
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "backslashreplace")


def _departures() -> aiohttp.TraceConfig:
    """Mark the errors of requests that never left.

    aiohttp tells us just before the first write. It tells only the traces, so the mark is put on the error.
    """

    async def leaving(_session: aiohttp.ClientSession, context: SimpleNamespace, _params: object) -> None:
        context.left = True

    async def failed(
        _session: aiohttp.ClientSession, context: SimpleNamespace, params: aiohttp.TraceRequestExceptionParams
    ) -> None:
        if not hasattr(context, "left"):
            setattr(params.exception, _STAYED, True)

    async def redirected(
        _session: aiohttp.ClientSession, _context: SimpleNamespace, params: aiohttp.TraceRequestRedirectParams
    ) -> None:
        try:
            host = params.url.join(URL(params.response.headers.get("Location", ""))).host
        except ValueError:
            host = None
        raise RedirectRefused(params.response.status, host)

    trace = aiohttp.TraceConfig()
    trace.on_request_headers_sent.append(leaving)
    trace.on_request_exception.append(failed)
    trace.on_request_redirect.append(redirected)
    return trace


class _Resolver(AbstractResolver):
    def __init__(self, hosts: Mapping[str, tuple[str, int]]) -> None:
        self._hosts = hosts
        self._dns = ThreadedResolver()

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        name = host.rstrip(".").lower()
        if name in self._hosts:
            address, own_port = self._hosts[name]
            kind = socket.AF_INET6 if ":" in address else socket.AF_INET
            return [
                ResolveResult(
                    hostname=host,
                    host=address,
                    port=own_port,
                    family=kind,
                    proto=0,
                    flags=socket.AI_NUMERICHOST,
                )
            ]
        if name.endswith(SANDBOX_DOMAIN):
            raise OSError(
                socket.EAI_NONAME,
                f"no emulator named {name} runs here; `pressroom up` starts them, real channels need a real base_url",
            )
        return await self._dns.resolve(host, port, family)

    async def close(self) -> None:
        await self._dns.close()
