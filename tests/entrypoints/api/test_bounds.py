import asyncio
import io
import json
import re

import pytest

from pressroom.core.errors import BadSetup
from pressroom.core.ids import WorkspaceId
from pressroom.db.database import Database
from pressroom.entrypoints.api.connection import BoundedConnection
from pressroom.entrypoints.api.server import serve_api
from pressroom.settings import Settings
from pressroom.wiring import Product
from tests.entrypoints.api.conftest import KEYRING, Api, Logged, Serve

HEAD = b"POST /ingest/push HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"


def status_of(answer: bytes) -> int:
    found = re.match(rb"HTTP/1\.1 (\d{3}) ", answer)
    assert found is not None, answer
    assert b"application/problem+json" in answer
    return int(found[1])


class TestBody:
    async def test_a_declared_length_over_the_limit_is_refused_unread(self, serve: Serve):
        api = await serve(api_max_body_bytes=1024)

        answer = await api.raw(HEAD + b"Content-Length: 1000000000\r\n\r\n{")

        assert status_of(answer) == 413
        assert b"connection: close" in answer.lower()

    async def test_a_client_that_sends_it_all_first_still_reads_the_refusal(self, serve: Serve):
        api = await serve(api_max_body_bytes=1024)

        for _ in range(5):
            status, _, problem = await api.call("POST", "/ingest/push", data=io.BytesIO(b"x" * 3_000_000))
            assert (status, problem["type"]) == (413, "/api/problems/too-large")

    async def test_a_chunked_body_is_refused_where_it_passes_the_limit(self, serve: Serve):
        api = await serve(api_max_body_bytes=1024)
        chunk = b"200\r\n" + b"x" * 512 + b"\r\n"

        answer = await api.raw(HEAD + b"Transfer-Encoding: chunked\r\n\r\n", chunk, chunk, chunk, pause=0.02)

        assert status_of(answer) == 413

    async def test_one_of_just_the_limit_is_let_through(self, serve: Serve):
        api = await serve(api_max_body_bytes=1024)

        status, _, _ = await api.call("POST", "/ingest/push", data=b"x" * 1024)

        assert status == 401  # it came as far as the missing secret

    async def test_who_asks_before_sending_is_told_not_to(self, serve: Serve):
        api = await serve(api_max_body_bytes=1024)

        answer = await api.raw(HEAD + b"Content-Length: 5000\r\nExpect: 100-continue\r\n\r\n", within=0.9)

        assert status_of(answer) == 413
        assert b"100 Continue" not in answer

    async def test_a_read_may_not_carry_a_large_body_either(self, serve: Serve):
        api = await serve(api_max_body_bytes=1024)

        answer = await api.raw(b"GET /api/health HTTP/1.1\r\nHost: x\r\nContent-Length: 5000\r\n\r\n")

        assert status_of(answer) == 413


class TestTime:
    async def test_a_body_that_trickles_is_given_up(self, serve: Serve):
        api = await serve(api_request_seconds=1)

        answer = await api.raw(HEAD + b"Content-Length: 100\r\n\r\n", *[b"x"] * 7, pause=0.2)

        assert status_of(answer) == 408

    async def test_a_client_that_leaves_in_the_middle_harms_nothing(self, serve: Serve):
        api = await serve()
        _, writer = await asyncio.open_connection("127.0.0.1", api.port)
        writer.write(HEAD + b"Content-Length: 100\r\n\r\n{")
        await writer.drain()
        writer.close()

        status, _, text = await api.call("GET", "/metrics")

        assert status == 200
        assert "pressroom_http_in_flight" in text

    async def test_work_that_takes_too_long_is_503(self, serve: Serve, db: Database, tenant: WorkspaceId):
        api = await serve(api_request_seconds=1)
        token = await api.new_token(tenant)

        async with db.system() as tx:
            await tx.execute("select 1 from workspaces where workspace_id = $1 for update", tenant)
            status, headers, problem = await api.call(
                "PATCH", f"/api/v1/workspaces/{tenant}", token=token, json={"name": "x"}
            )

        assert (status, problem["type"]) == (503, "/api/problems/unavailable")
        assert int(headers["Retry-After"]) > 0
        assert (await api.call("PATCH", f"/api/v1/workspaces/{tenant}", token=token, json={"name": "x"}))[
            0
        ] == 200

    async def test_a_head_that_trickles_is_given_up(self, serve: Serve, monkeypatch: pytest.MonkeyPatch):
        monkeypatch.setattr(BoundedConnection, "head_seconds", 0.3)
        api = await serve()

        answer = await api.raw(b"GET /api/health HTTP/1.1\r\n", *[b"X-A: b\r\n"] * 4, pause=0.1)

        assert status_of(answer) == 408

    async def test_a_connection_that_asks_nothing_is_closed(
        self, serve: Serve, monkeypatch: pytest.MonkeyPatch
    ):
        monkeypatch.setattr(BoundedConnection, "head_seconds", 0.2)
        api = await serve()

        assert await api.raw() == b""

    async def test_a_long_answer_is_not_interrupted_by_the_bound_of_the_head(
        self, serve: Serve, db: Database, tenant: WorkspaceId, monkeypatch: pytest.MonkeyPatch
    ):
        monkeypatch.setattr(BoundedConnection, "head_seconds", 0.2)
        api = await serve()
        token = await api.new_token(tenant)

        async with db.system() as tx:
            await tx.execute("select 1 from workspaces where workspace_id = $1 for update", tenant)
            waiting = asyncio.create_task(
                api.call("PATCH", f"/api/v1/workspaces/{tenant}", token=token, json={"name": "x"})
            )
            await asyncio.wait([waiting], timeout=0.6)
            assert not waiting.done()

        assert (await waiting)[0] == 200


class TestHead:
    async def test_a_huge_header_is_431(self, api: Api, logged: Logged):
        answer = await api.raw(b"GET /api/health HTTP/1.1\r\nHost: x\r\nX-Big: " + b"a" * 40_000 + b"\r\n\r\n")

        assert status_of(answer) == 431
        head, _, body = answer.partition(b"\r\n\r\n")
        request_id = json.loads(body)["request_id"]
        assert f"X-Request-Id: {request_id}".encode() in head.split(b"\r\n")
        assert request_id in {line.get("request_id") for line in logged()}

    async def test_one_without_end_is_431_too(self, api: Api):
        answer = await api.raw(b"GET /api/health HTTP/1.1\r\nX-Big: ", *[b"a" * 8192] * 5, pause=0.02)

        assert status_of(answer) == 431

    async def test_many_headers_are_431(self, api: Api):
        answer = await api.raw(b"GET /api/health HTTP/1.1\r\n" + b"X-Some: header\r\n" * 5000 + b"\r\n")

        assert status_of(answer) == 431

    async def test_a_huge_path_is_431(self, api: Api):
        assert status_of(await api.raw(b"GET /" + b"a" * 40_000 + b" HTTP/1.1\r\nHost: x\r\n\r\n")) == 431

    async def test_trailers_of_a_chunked_body_are_bounded_as_well(self, api: Api):
        trailers = b"X-Trailer: header\r\n" * 5000

        answer = await api.raw(HEAD + b"Transfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n" + trailers + b"\r\n")

        assert answer == b""  # the request is with a route already: the connection is cut

    async def test_what_is_no_http_is_400(self, api: Api):
        assert status_of(await api.raw(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03")) == 400
        assert status_of(await api.raw(b"hello, is anybody there?\r\n\r\n")) == 400

    async def test_both_lengths_at_once_are_400(self, api: Api):
        answer = await api.raw(HEAD + b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n")

        assert status_of(answer) == 400

    async def test_requests_in_a_row_on_one_connection_are_all_answered(self, api: Api):
        body = b"x" * 30_000
        one = HEAD + b"Content-Length: %d\r\n\r\n" % len(body) + body
        last = b"GET /api/health HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"

        answer = await api.raw(one + one + one + last[:20], last[20:], pause=0.05)

        assert re.findall(rb"HTTP/1\.1 (\d+)", answer) == [b"401", b"401", b"401", b"200"]

    async def test_an_offer_of_another_protocol_is_not_taken_up(self, api: Api):
        offer = b"Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAoAAAAAIAAAAA\r\n"

        read = await api.raw(b"GET /api/health HTTP/1.1\r\nHost: x\r\n" + offer + b"\r\n")
        written = await api.raw(HEAD + offer + b"Content-Length: 2\r\n\r\n{}")

        assert read.startswith(b"HTTP/1.1 200 ") and b"connection: close" in read
        assert written.startswith(b"HTTP/1.1 401 ")


class TestStopping:
    async def test_what_is_under_way_is_finished_and_nothing_new_begun(
        self, api: Api, db: Database, tenant: WorkspaceId, token: str
    ):
        product = Product(Settings(drain_seconds=5), db, KEYRING, {})
        server = serve_api(product, host="127.0.0.1", port=0)
        stopping = Api(await server.__aenter__(), product, api.http)

        async with db.system() as tx:
            await tx.execute("select 1 from workspaces where workspace_id = $1 for update", tenant)
            slow = asyncio.create_task(
                stopping.call("PATCH", f"/api/v1/workspaces/{tenant}", token=token, json={"name": "x"})
            )
            await self._under_way(stopping)
            stop = asyncio.create_task(server.__aexit__(None, None, None))
            await asyncio.wait([stop], timeout=0.3)
            with pytest.raises(OSError, match=r"refused|Connect"):
                await asyncio.open_connection("127.0.0.1", stopping.port)
            assert not stop.done()

        assert (await slow)[0] == 200
        await asyncio.wait_for(stop, 2)

    async def test_what_does_not_finish_in_time_is_told_so(
        self, api: Api, db: Database, tenant: WorkspaceId, token: str
    ):
        product = Product(Settings(drain_seconds=0.3), db, KEYRING, {})
        server = serve_api(product, host="127.0.0.1", port=0)
        stopping = Api(await server.__aenter__(), product, api.http)

        async with db.system() as tx:
            await tx.execute("select 1 from workspaces where workspace_id = $1 for update", tenant)
            slow = asyncio.create_task(
                stopping.call("PATCH", f"/api/v1/workspaces/{tenant}", token=token, json={"name": "x"})
            )
            await self._under_way(stopping)
            await asyncio.wait_for(server.__aexit__(None, None, None), 3)
            status, headers, problem = await slow

        assert (status, problem["type"]) == (503, "/api/problems/unavailable")
        assert headers["Retry-After"]

    async def test_an_idle_connection_holds_nobody_up(self, api: Api, db: Database):
        product = Product(Settings(drain_seconds=30), db, KEYRING, {})
        async with serve_api(product, host="127.0.0.1", port=0) as url:
            reader, writer = await asyncio.open_connection("127.0.0.1", int(url.rpartition(":")[2]))
            begun = asyncio.get_running_loop().time()
        assert asyncio.get_running_loop().time() - begun < 2
        assert await reader.read() == b""
        writer.close()

    async def _under_way(self, api: Api) -> None:
        """Two are: the slow one, and the one that asks."""
        async with asyncio.timeout(3):
            while "pressroom_http_in_flight 2.0" not in (await api.call("GET", "/metrics"))[2]:
                pass


async def test_a_taken_port_is_named_with_what_to_do(api: Api):
    with pytest.raises(BadSetup) as refused:
        async with serve_api(api.product, host="127.0.0.1", port=api.port):
            pass

    assert str(api.port) in refused.value.message
    assert "PRESSROOM_API_PORT" in (refused.value.hint or "")


async def test_an_address_that_is_not_ours_is_a_clear_error(api: Api):
    with pytest.raises(BadSetup, match=r"192\.0\.2\.1"):
        async with serve_api(api.product, host="192.0.2.1", port=0):
            pass


async def test_text_that_no_database_can_keep_is_refused(api: Api, tenant: WorkspaceId, token: str):
    path = f"/api/v1/workspaces/{tenant}/endpoints"
    for value in (b'"a\\u0000b"', b'"\\ud800"'):
        for body in (
            b'{"endpoint_id": "x", "meta": {"a": %s}}',
            b'{"endpoint_id": "x", "title": %s}',
            b'{"endpoint_id": %s}',
        ):
            status, _, _ = await api.call(
                "POST", path, token=token, data=body % value, headers={"Content-Type": "application/json"}
            )
            assert status == 422, body

    for value in (b"1e400", b"NaN", b"-Infinity", b"7" * 250 + b"e99", b"7" * 400 + b".5", b"7" * 5000):
        status, _, problem = await api.call(
            "POST",
            path,
            token=token,
            data=b'{"endpoint_id": "x", "meta": {"a": %s}}' % value,
            headers={"Content-Type": "application/json"},
        )
        assert (status, problem["field"]) == (422, "meta.a"), value
    deep = b'{"endpoint_id": "x", "meta": {"a": %s}}' % (b"[" * 600 + b"]" * 600)
    status, _, problem = await api.call(
        "POST", path, token=token, data=deep, headers={"Content-Type": "application/json"}
    )
    assert (status, problem["field"]) == (422, "meta")

    assert (await api.call("GET", f"/api/v1/workspaces/{tenant}/deliveries?channel_id=a%00b", token=token))[
        0
    ] == 422


async def test_a_smile_in_two_escapes_is_text_like_any_other(api: Api, tenant: WorkspaceId, token: str):
    body = b'{"endpoint_id": "x", "title": "\\ud83d\\ude00 and \\\\u0000"}'

    status, _, made = await api.call(
        "POST",
        f"/api/v1/workspaces/{tenant}/endpoints",
        token=token,
        data=body,
        headers={"Content-Type": "application/json"},
    )

    assert (status, made["title"]) == (201, "\N{GRINNING FACE} and \\u0000")
