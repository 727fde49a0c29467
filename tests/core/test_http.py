import asyncio
import json
import socket
from collections.abc import AsyncIterator
from datetime import timedelta

import aiohttp
import pytest

from pressroom.core.http import RedirectRefused, has_left, open_session, within
from tests.core.peer import Act, answer, peer

SOON = within(timedelta(milliseconds=50))


@pytest.fixture
async def http() -> AsyncIterator[aiohttp.ClientSession]:
    async with open_session(user_agent="Pressroom test") as session:
        yield session


async def failure(request: aiohttp.client._RequestContextManager) -> BaseException:
    with pytest.raises((aiohttp.ClientError, TimeoutError)) as caught:
        async with request as response:
            await response.read()
    return caught.value


async def test_a_reserved_name_leads_to_its_address_and_port_under_its_own_name():
    async with (
        peer(answer(200)) as it,
        open_session(hosts={"telegram.sandbox": ("127.0.0.1", it.port)}, user_agent="Pressroom test") as http,
        http.get("http://Telegram.Sandbox/x") as response,
    ):
        assert response.status == 200
    assert b"Host: telegram.sandbox\r\n" in it.requests[0]
    assert b"User-Agent: Pressroom test\r\n" in it.requests[0]


async def test_a_name_that_is_reserved_later_is_found_by_the_same_session():
    hosts: dict[str, tuple[str, int]] = {}
    async with peer() as it, open_session(hosts=hosts, user_agent="Pressroom test") as http:
        await failure(http.get("http://max.sandbox"))

        hosts["max.sandbox"] = ("127.0.0.1", it.port)

        async with http.get("http://max.sandbox") as response:
            assert response.status == 200


async def test_an_emulator_that_does_not_run_is_a_clear_error_and_never_a_dns_query(http, monkeypatch):
    def no_dns(*_: object, **__: object) -> None:
        raise AssertionError("asked DNS")

    monkeypatch.setattr(socket, "getaddrinfo", no_dns)

    error = await failure(http.get("http://vk.sandbox/secret"))

    assert isinstance(error, aiohttp.ClientConnectorDNSError)
    assert "no emulator named vk.sandbox runs here; `pressroom up` starts them" in str(error)
    assert not has_left(error)


async def test_other_names_are_resolved_by_the_system(http):
    async with peer() as it, http.get(f"http://localhost:{it.port}") as response:
        assert response.status == 200


async def test_a_refused_connection_has_not_left(http, closed_port):
    error = await failure(http.post(f"http://127.0.0.1:{closed_port}", json={}))

    assert isinstance(error, aiohttp.ClientConnectorError)
    assert not has_left(error)


async def test_a_failed_tls_handshake_has_not_left(http):
    async def plain(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(1)
        writer.write(b"this is no TLS\r\n\r\n")
        writer.close()

    server = await asyncio.start_server(plain, "127.0.0.1", 0)
    async with server:
        error = await failure(http.post(f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}", json={}))

    assert isinstance(error, aiohttp.ClientConnectorSSLError)
    assert not has_left(error)


async def test_time_that_runs_out_during_the_tls_handshake_has_not_left(http):
    async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()
        writer.close()

    server = await asyncio.start_server(silent, "127.0.0.1", 0)
    async with server:
        url = f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        error = await failure(http.post(url, json={}, timeout=SOON))

    assert isinstance(error, TimeoutError)
    assert not has_left(error)


@pytest.mark.parametrize("url", ["ftp://example.com", "http://", "no address"])
async def test_what_is_not_a_url_has_not_left(http, url):
    assert not has_left(await failure(http.post(url, json={})))


async def test_a_silent_peer_may_have_it(http):
    async with peer(Act.HANG) as it:
        error = await failure(http.post(it.url, json={}, timeout=SOON))

    assert isinstance(error, TimeoutError)
    assert has_left(error)


async def test_a_peer_that_hangs_up_may_have_it_and_is_not_asked_again(http):
    async with peer(Act.HANG_UP) as it:
        error = await failure(http.post(it.url, json={}))

    assert isinstance(error, aiohttp.ServerDisconnectedError)
    assert has_left(error)
    assert len(it.requests) == 1


async def test_half_an_answer_may_be_a_whole_effect(http):
    half = answer(200, "x" * 10, Connection="close")[:-5]
    async with peer(half) as it:
        error = await failure(http.post(it.url, json={}))

    assert has_left(error)
    assert len(it.requests) == 1


async def test_a_post_on_a_connection_that_dies_while_kept_alive_is_not_repeated(http):
    async with peer(answer(200), Act.HANG_UP, answer(200)) as it:
        async with http.post(it.url, json={"n": 1}) as response:
            await response.read()

        error = await failure(http.post(it.url, json={"n": 2}))

    assert (it.connections, len(it.requests)) == (1, 2)
    assert has_left(error)


async def test_a_post_after_the_peer_has_closed_an_idle_connection_goes_out_once_on_a_new_one(http):
    async with peer(answer(200, Connection="close"), answer(200)) as it:
        for _ in range(2):
            async with http.post(it.url, json={}) as response:
                await response.read()

    assert (it.connections, len(it.requests)) == (2, 2)


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
@pytest.mark.parametrize("method", ["GET", "POST"])
async def test_a_redirect_is_refused_and_its_target_named_by_host_alone(http, method, status):
    async with peer() as target, peer(answer(status, Location=f"{target.url}/bot1:secret")) as it:
        error = await failure(http.request(method, it.url))

    assert isinstance(error, RedirectRefused)
    assert str(error) == f"answered {status}, a redirect to 127.0.0.1"
    assert (len(it.requests), len(target.requests)) == (1, 0)
    assert has_left(error)


async def test_an_unreadable_redirect_is_refused_too(http):
    async with peer(answer(302, Location="http://[")) as it:
        assert str(await failure(http.get(it.url))) == "answered 302, a redirect to an unreadable address"


async def test_no_cookie_is_kept(http):
    async with peer(answer(200, Set_Cookie="who=me")) as it:
        for _ in range(2):
            async with http.get(it.url.replace("127.0.0.1", "localhost")) as response:
                await response.read()

    assert b"cookie" not in it.requests[1].lower()


async def test_json_leaves_as_utf_8_and_half_a_surrogate_pair_as_an_escape(http):
    async with peer() as it, http.post(it.url, json={"text": "Привет \ud83d"}):
        pass

    body = it.requests[0].partition(b"\r\n\r\n")[2]
    assert body == '{"text":"Привет \\ud83d"}'.encode()
    assert json.loads(body) == {"text": "Привет \ud83d"}
