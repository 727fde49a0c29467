import asyncio
import signal
import socket

import aiohttp
import pytest
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse
from starlette.routing import Route

from pressroom.core.asgi import HANG_UP, serving
from pressroom.core.errors import BadSetup


async def hello(_request) -> PlainTextResponse:
    return PlainTextResponse("hello")


APP = Starlette(routes=[Route("/", hello)])


async def test_port_0_finds_a_free_port_and_says_which():
    async with (
        serving(APP, what="a test", port=0) as port,
        aiohttp.ClientSession() as http,
        http.get(f"http://127.0.0.1:{port}") as response,
    ):
        assert (port > 0, await response.text()) == (True, "hello")


async def test_the_port_is_free_again_after_the_block():
    async with serving(APP, what="a test", port=0) as port:
        pass
    async with serving(APP, what="a test", port=port) as again:
        assert again == port


async def test_a_taken_port_is_named_with_its_holder_and_a_way_out():
    async with serving(APP, what="a test", port=0) as port:
        with pytest.raises(BadSetup, match=f"the API cannot use port {port}: .+ has it") as caught:
            async with serving(APP, what="the API", port=port, hint="--port chooses another"):
                pass
    assert caught.value.hint == "--port chooses another"


@pytest.mark.parametrize(("host", "port"), [("192.0.2.1", 0), ("127.0.0.1", 70_000)])
async def test_an_impossible_address_is_named(host, port):
    with pytest.raises(BadSetup, match=f"a test cannot listen on {host}:{port}"):
        async with serving(APP, what="a test", host=host, port=port):
            pass


async def test_the_signals_stay_with_the_caller():
    before = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]

    async with serving(APP, what="a test", port=0):
        during = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]

    assert during == before


async def test_a_request_under_way_is_answered_before_the_server_stops():
    arrived, go_on = asyncio.Event(), asyncio.Event()

    async def slow(_request) -> PlainTextResponse:
        arrived.set()
        await go_on.wait()
        return PlainTextResponse("done")

    async def ask(port: int) -> str:
        async with aiohttp.ClientSession() as http, http.get(f"http://127.0.0.1:{port}") as response:
            return await response.text()

    async with serving(Starlette(routes=[Route("/", slow)]), what="a test", port=0) as port:
        asking = asyncio.create_task(ask(port))
        await arrived.wait()
        asyncio.get_running_loop().call_soon(go_on.set)

    assert await asking == "done"


async def test_an_app_that_cannot_start_is_bad_setup_and_leaves_no_listener():
    async def broken(scope, receive, send) -> None:
        await receive()
        await send({"type": "lifespan.startup.failed", "message": "no database"})

    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    with pytest.raises(BadSetup, match="a test did not start"):
        async with serving(broken, what="a test", port=port):
            pass
    async with serving(APP, what="a test", port=port) as again:
        assert again == port


async def test_a_process_that_is_cancelled_as_a_whole_says_nothing_of_it(caplog: pytest.LogCaptureFixture):
    """As a second Ctrl-C does, in the midst of stopping."""
    async with serving(APP, what="a test", port=0):
        [lifespan] = [task for task in asyncio.all_tasks() if "LifespanOn.main" in repr(task)]
        lifespan.cancel()
        await asyncio.wait([lifespan])

    assert [record.message for record in caplog.records if record.levelname in ("WARNING", "ERROR")] == []


async def test_an_app_can_hang_up_and_its_answers_are_not_held_back():
    seen = []

    async def app(scope, receive, send) -> None:
        if scope["type"] != "http":
            return
        hang_up = scope["extensions"][HANG_UP]["hang_up"]
        connection = hang_up.__self__.get_extra_info("socket")
        seen.append(connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))
        hang_up()
        while (await receive())["type"] != "http.disconnect":
            pass

    async with serving(app, what="a test", port=0) as port, aiohttp.ClientSession() as http:
        with pytest.raises(aiohttp.ServerDisconnectedError):
            await http.post(f"http://127.0.0.1:{port}", data=b"x")

    assert seen
    assert all(seen)
