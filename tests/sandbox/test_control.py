"""The control API, as scripts and tests use it: over HTTP, at an emulator's own port."""

import asyncio
import base64
import json
from collections.abc import AsyncIterator

import aiohttp
import pytest

from pressroom.sandbox.telegram import EXAMPLE_TOKEN

NEWS = -1001000000001
DEALS = -1001000000002


@pytest.fixture
async def http(telegram_stage, telegram) -> AsyncIterator[aiohttp.ClientSession]:
    async with aiohttp.ClientSession(f"http://127.0.0.1:{telegram_stage.port}/") as session:
        yield session


async def send(http: aiohttp.ClientSession, text: str, chat: int = NEWS) -> int:
    async with http.post(f"/bot{EXAMPLE_TOKEN}/sendMessage", json={"chat_id": chat, "text": text}) as response:
        return response.status


async def get(http: aiohttp.ClientSession, path: str, **parameters: str | int):
    async with http.get(f"/sandbox{path}", params=parameters) as response:
        return response.status, await response.json()


async def post(http: aiohttp.ClientSession, path: str, body: object):
    async with http.post(f"/sandbox{path}", json=body) as response:
        return response.status, await response.json()


async def test_the_overview_says_what_there_is(http):
    await send(http, "x")

    status, said = await get(http, "")

    assert (status, said["effects"], said["frozen"], said["seed"]) == (200, 1, False, 0)
    assert said["providers"]["telegram"]["chats"] >= 2
    assert [bot["username"] for bot in said["providers"]["telegram"]["bots"]] == ["pressroom_example_bot"]


async def test_chats_are_found_by_their_words_and_come_by_the_page(http):
    await send(http, "x", chat=DEALS)

    _, everything = await get(http, "/telegram/chats")
    _, found = await get(http, "/telegram/chats", q="EXAMPLE N")
    _, by_name = await get(http, "/telegram/chats", q="pressroom_example_d")
    _, second = await get(http, "/telegram/chats", offset=1, limit=1)

    assert [chat["id"] for chat in everything["chats"]] == [DEALS, NEWS]
    assert ([chat["id"] for chat in found["chats"]], found["total"]) == ([NEWS], 1)
    assert [chat["id"] for chat in by_name["chats"]] == [DEALS]
    assert ([chat["id"] for chat in second["chats"]], second["total"]) == ([NEWS], 2)


async def test_the_ledger_is_filtered_and_paged(http):
    for n in range(5):
        await send(http, f"{n}", chat=DEALS if n % 2 else NEWS)

    _, by_name = await get(http, "/ledger", provider="telegram", chat="@pressroom_example_deals")
    _, page = await get(http, "/ledger", after=1, limit=2)
    _, none = await get(http, "/ledger", method="sendPhoto")

    assert [effect["text"] for effect in by_name["effects"]] == ["1", "3"]
    assert [effect["seq"] for effect in page["effects"]] == [2, 3]
    assert (none["effects"], none["total"]) == ([], 5)


async def test_calls_tell_what_was_asked_and_refused(http):
    await send(http, "x")
    await send(http, "")

    _, said = await get(http, "/calls")

    assert [(call["method"], call["chat"], call["status"], call["description"]) for call in said["calls"]] == [
        ("sendMessage", NEWS, 200, ""),
        ("sendMessage", NEWS, 400, "Bad Request: message text is empty"),
    ]


async def test_events_stream_each_effect_and_go_on_after_the_last_one_seen(http):
    await send(http, "first")
    await send(http, "second")

    async with http.get("/sandbox/events", headers={"Last-Event-ID": "1"}) as stream:
        seen = [await _event(stream)]
        await send(http, "third")
        seen.append(await _event(stream))

    assert stream.content_type == "text/event-stream"
    assert [(one["seq"], one["text"]) for one in seen] == [(2, "second"), (3, "third")]


async def _event(stream: aiohttp.ClientResponse) -> dict:
    async with asyncio.timeout(10):
        async for line in stream.content:
            if line.startswith(b"data:") and b'"seq"' in line:
                return json.loads(line[5:])
    raise AssertionError("the stream ended")


async def test_a_fault_is_planned_listed_and_healed(http):
    status, planned = await post(
        http, "/faults", {"kind": "fail", "name": "kicked", "chat": "@pressroom_example_news", "times": 2}
    )
    first = await send(http, "x")
    elsewhere = await send(http, "x", chat=DEALS)
    _, listed = await get(http, "/faults")

    async with http.delete(f"/sandbox/faults/{planned['id']}") as response:
        healed = await response.json()
    async with http.delete(f"/sandbox/faults/{planned['id']}") as response:
        again = response.status

    assert (status, first, elsewhere) == (201, 403, 200)
    assert [(one["chat"], one["times"], one["hits"]) for one in listed["faults"]] == [(NEWS, 1, 1)]
    assert (healed, again, await send(http, "x")) == ({"healed": 1}, 404, 200)


@pytest.mark.parametrize(
    ("wish", "status", "said"),
    [
        ({"kind": "fail", "code": 500, "colour": "red"}, 422, "colour"),
        ({"kind": "fail", "code": 500, "provider": "icq"}, 404, "icq"),
        ({"kind": "fail", "code": 500, "chat": "@nobody"}, 404, "@nobody"),
        ({"kind": "fail", "name": "boredom"}, 422, "boredom"),
        ({"kind": "fail"}, 422, "code or a name"),
        ({"kind": "drop", "name": "kicked"}, 422, "name is for fail"),
        ({"kind": "duplicate", "seconds": 1}, 422, "seconds is for slow"),
        ({"kind": "slow"}, 422, "needs seconds"),
        ({"kind": "duplicate", "method": "sendMessage"}, 422, "webhook"),
        ({"kind": "fail", "name": "kicked", "method": "webhook"}, 422, "not with an error by name"),
        ({"kind": "fail", "code": 500, "since": 2, "until": 1}, 422, "until"),
        ({"kind": "slow", "seconds": "long"}, 422, "seconds"),
        ({"kind": "fail", "code": "500"}, 422, "code"),
        ({"kind": "drop", "times": True}, 422, "times"),
        ({"kind": "fail", "code": 500, "method": 7}, 422, "method"),
        ([], 422, "object"),
    ],
)
async def test_a_fault_that_cannot_be_is_refused_and_named(http, telegram, wish, status, said):
    answered, problem = await post(http, "/faults", wish)

    assert (answered, said in problem["error"], bool(telegram.world.faults)) == (status, True, False)


async def test_the_clock_is_moved_frozen_and_set(http, telegram):
    _, frozen = await post(http, "/clock", {"freeze": True, "set": 1_000_000})
    _, moved = await post(http, "/clock", {"advance": 3600})
    _, shown = await get(http, "/clock")
    _, thawed = await post(http, "/clock", {"freeze": False})

    assert frozen == {"now": 1_000_000, "frozen": True}
    assert moved == shown == {"now": 1_003_600, "frozen": True}
    assert thawed["frozen"] is False
    assert 1_003_600 <= telegram.world.clock.now() < 1_003_700


@pytest.mark.parametrize("wish", [{}, {"jump": 1}, {"advance": "1h"}, {"set": True}, {"advance": 1e300}])
async def test_a_wish_that_the_clock_does_not_understand_is_refused(http, telegram, wish):
    before = telegram.world.clock.now()

    status, said = await post(http, "/clock", wish)

    assert (status, bool(said["error"])) == (422, True)
    assert abs(telegram.world.clock.now() - before) < 60


async def test_people_write_through_the_control_api(http):
    await post(http, "/telegram/people", {"name": "Anna"})
    await post(http, "/telegram/act/starts", {"person": "Anna", "bot": "pressroom_example_bot"})
    status, done = await post(
        http, "/telegram/act/writes", {"person": "Anna", "bot": "pressroom_example_bot", "text": "How much?"}
    )

    async with http.get(f"/bot{EXAMPLE_TOKEN}/getUpdates") as response:
        updates = (await response.json())["result"]

    assert (status, "message_id" in done) == (200, True)
    assert [update["message"]["text"] for update in updates] == ["/start", "How much?"]


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/nothing"),
        ("GET", "/icq/chats"),
        ("GET", "/telegram/chats/@nobody"),
        ("GET", "/telegram/chats/@nobody/messages"),
        ("GET", "/telegram/files/none"),
        ("POST", "/telegram/act/flies"),
        ("POST", "/telegram/nothings"),
        ("PUT", "/faults"),
    ],
)
async def test_what_is_not_there_is_said_in_a_sentence(http, method, path):
    async with http.request(method, f"/sandbox{path}", json={}) as response:
        assert response.status == 404
        assert (await response.json())["error"]


@pytest.mark.parametrize("body", [b"", b"{", b"[" * 100_000, b"\xff", b"[]", b'"x"'])
async def test_bodies_that_are_no_object_are_refused(http, body):
    headers = {"Content-Type": "application/json"}
    async with http.post("/sandbox/telegram/act/writes", data=body, headers=headers) as response:
        assert response.status == 422
        assert (await response.json())["error"]


async def test_pages_of_other_sites_can_neither_read_nor_write(http, telegram):
    async with http.post(
        "/sandbox/faults", data='{"kind": "drop"}', headers={"Content-Type": "text/plain"}
    ) as simple:
        assert simple.status == 422
    for path in "/sandbox/ledger", f"/bot{EXAMPLE_TOKEN}/getMe":
        async with http.get(path, headers={"Host": "evil.example:8801"}) as rebound:
            assert rebound.status == 403
        async with http.get(path, headers={"Origin": "https://evil.example"}) as read:
            assert (read.status, "Access-Control-Allow-Origin" in read.headers) == (403, False)

    assert not telegram.world.faults


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Host": "localhost:8801"}, 200),
        ({"Host": "[::1]:8801"}, 200),
        ({"Host": "[::1]"}, 200),
        ({"Host": "LOCALHOST"}, 200),
        ({"Host": "192.168.1.7"}, 200),
        ({"Host": "telegram.sandbox"}, 200),
        ({"Host": "sandbox"}, 200),
        ({"Host": "host.docker.internal:8801"}, 200),
        ({"Origin": "http://localhost:5173"}, 200),
        ({"Origin": "null"}, 403),
        ({"Host": "localhost.evil.example"}, 403),
        ({"Host": "127.0.0.1.evil.example"}, 403),
    ],
)
async def test_names_of_this_machine_are_answered(http, headers, status):
    async with (
        http.get(f"/bot{EXAMPLE_TOKEN}/getMe", headers=headers) as bot_api,
        http.get("/sandbox/clock", headers=headers) as control,
    ):
        assert (bot_api.status, control.status) == (status, status)


async def test_on_purpose_any_name_is_answered(http, telegram):
    telegram.world.any_host = True

    async with http.get("/sandbox/clock", headers={"Host": "sandbox.example.org"}) as response:
        assert response.status == 200


SURROGATE = '{"name": "\\ud83d", "title": "\\ud83d", "text": "\\ud83d", "description": "\\ud83d", "kind": "fail", "code": 500}'


@pytest.mark.parametrize(
    "path", ["/faults", "/clock", "/telegram/chats", "/telegram/people", "/telegram/act/posts"]
)
@pytest.mark.parametrize(
    "body", [SURROGATE, '{"advance": 1' + "0" * 400 + "}", '{"advance": 1e999}', '{"until": NaN}']
)
async def test_what_cannot_be_said_again_is_not_taken_in(http, path, body):
    async with http.post(
        f"/sandbox{path}", data=body, headers={"Content-Type": "application/json"}
    ) as response:
        assert response.status == 422
    for read in "/faults", "/ledger", "/telegram/chats", "/telegram/people":
        assert (await get(http, read))[0] == 200


async def test_the_ledger_of_no_emulator_is_not_there(http):
    assert (await get(http, "/ledger", provider="zz", chat=1))[0] == 404


NUMBER = "9" * 5_000


@pytest.mark.parametrize("headers", [{}, {"Last-Event-ID": NUMBER}])
async def test_events_after_a_number_that_was_never_reached_are_all_of_them(http, headers):
    await send(http, "first")
    after = NUMBER if not headers else "0"

    async with http.get("/sandbox/events", params={"after": after}, headers=headers) as stream:
        seen = await _event(stream)

    assert (stream.status, seen["seq"], seen["text"]) == (200, 1, "first")


@pytest.mark.parametrize("after", ["2", "1000000"])
async def test_who_comes_from_another_life_is_told_everything(http, after):
    """A sandbox started anew counts from 1, and a client that reconnects knows larger numbers."""
    await send(http, "first")

    async with http.get("/sandbox/events", headers={"Last-Event-ID": after}) as stream:
        seen = [await _event(stream)]
        await send(http, "second")
        seen.append(await _event(stream))

    assert [(one["seq"], one["text"]) for one in seen] == [(1, "first"), (2, "second")]


@pytest.mark.parametrize("after", ["", "-1", "x", "1e3", "²"])
async def test_events_after_what_is_no_number_are_those_from_now_on(http, after):
    await send(http, "first")

    async with http.get("/sandbox/events", params={"after": after}) as stream:
        async for line in stream.content:
            if line.startswith(b"data:"):
                break  # greeted, so listening
        await send(http, "second")
        seen = await _event(stream)

    assert (seen["seq"], seen["text"]) == (2, "second")


@pytest.mark.parametrize(
    "path", [f"/ledger?after={NUMBER}", f"/ledger?limit={NUMBER}", f"/telegram/chats?offset={NUMBER}"]
)
async def test_a_number_that_nobody_can_count_to_is_refused(http, path):
    async with http.get(f"/sandbox{path}") as response:
        assert response.status == 422


@pytest.mark.parametrize("number", [NUMBER, "0", "none", "-1"])
async def test_only_a_fault_that_is_there_is_healed(http, telegram, number):
    await post(http, "/faults", {"kind": "drop"})

    async with http.delete(f"/sandbox/faults/{number}") as response:
        status, said = response.status, await response.json()

    assert (status, "there is no fault" in said["error"]) == (404, True)
    assert len(list(telegram.world.faults)) == 1


async def test_all_faults_are_healed_at_once(http, telegram):
    for _ in range(2):
        await post(http, "/faults", {"kind": "drop"})

    async with http.delete("/sandbox/faults") as response:
        assert await response.json() == {"healed": 2}
    assert not telegram.world.faults


async def test_a_page_of_the_ledger_has_at_most_a_thousand_effects(http, telegram):
    for n in range(1_200):
        telegram.world.ledger.record(0.0, "telegram", "bot", NEWS, "sendMessage", n, "x")

    sizes = [len((await get(http, "/ledger", limit=limit))[1]["effects"]) for limit in (-1, 0, 7, 5_000)]

    assert sizes == [1, 1, 7, 1_000]


async def test_a_body_has_a_limit(http, telegram, monkeypatch):
    monkeypatch.setattr("pressroom.sandbox.control.BODY_BYTES", 100)
    json_type = {"Content-Type": "application/json"}

    answers = []
    for size in (100, 101):
        body = b'{"advance": 60' + b" " * (size - 15) + b"}"
        async with http.post("/sandbox/clock", data=body, headers=json_type) as response:
            answers.append((response.status, (await response.json()).get("error")))

    assert answers == [(200, None), (422, "the body is larger than 100 bytes")]


@pytest.mark.parametrize(
    ("said", "type_"),
    [
        ("text/html", "text/html; charset=utf-8"),
        ("image/svg+xml", "image/svg+xml"),
        ("тип/x", "application/octet-stream"),
        ("text/html\r\nX-Evil: 1", "application/octet-stream"),
    ],
)
async def test_what_somebody_uploaded_is_never_a_page_of_this_origin(http, said, type_):
    page = b"<script>alert(1)</script>"
    medium = {"kind": "document", "name": "a.html", "type": said, "data": base64.b64encode(page).decode()}
    _, done = await post(http, "/telegram/act/posts", {"chat": NEWS, "media": [medium]})
    _, message = await get(http, f"/telegram/chats/{NEWS}/messages/{done['message_id']}")

    async with http.get(f"/sandbox/telegram/files/{message['media'][0]['file']}") as response:
        content = await response.read()

    assert (response.status, content, response.headers["Content-Type"]) == (200, page, type_)
    assert response.headers["X-Content-Type-Options"] == "nosniff"
    assert response.headers["Content-Security-Policy"] == "sandbox; default-src 'none'"
    assert "X-Evil" not in response.headers
