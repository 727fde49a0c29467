import asyncio
import base64
import json

import pytest
from aiohttp import web

from pressroom.sandbox.core.clock import Clock
from pressroom.sandbox.core.faults import Fault, Kind
from pressroom.sandbox.core.world import World
from pressroom.sandbox.max import EXAMPLE_BOT
from pressroom.sandbox.max.updates import backoff
from tests.sandbox.max.conftest import PNG

NEWS = -70000000000001
HOUR = 3600


@pytest.fixture
def poll(call):
    async def poll(**query):
        status, answer = await call("GET", "/updates", timeout=query.pop("timeout", 0), **query)
        assert status == 200
        return answer

    return poll


def texts(page):
    return [each["message"]["body"]["text"] for each in page["updates"]]


async def test_without_a_marker_only_the_newest_update_comes(poll, sandbox, anna, dialog):
    for text in "abc":
        anna.writes(EXAMPLE_BOT, text)

    page = await poll()

    assert texts(page) == ["c"]
    assert (await poll(marker=page["marker"]))["updates"] == []


async def test_an_older_server_gives_everything_that_is_not_confirmed(make, poll):
    anna = make(newest_only=False).person("Anna")
    anna.starts(EXAMPLE_BOT)
    for text in "abc":
        anna.writes(EXAMPLE_BOT, text)

    page = await poll(types="message_created")

    assert texts(page) == ["a", "b", "c"]


async def test_a_marker_confirms_what_lies_before_it(poll, sandbox, anna, dialog):
    for text in "abc":
        anna.writes(EXAMPLE_BOT, text)

    first = await poll(marker=2, limit=2)
    again = await poll(marker=2, limit=2)
    second = await poll(marker=first["marker"])
    gone = await poll(marker=1)

    assert texts(first) == texts(again) == ["a", "b"]
    assert texts(second) == texts(gone) == ["c"]


async def test_types_choose_among_updates(poll, sandbox, anna, dialog):
    anna.writes(EXAMPLE_BOT, "a")

    page = await poll(marker=0, types="bot_started,message_removed")

    assert [each["update_type"] for each in page["updates"]] == ["bot_started"]


async def test_a_poll_waits_for_the_next_update(poll, sandbox, anna, dialog):
    marker = (await poll())["marker"]

    polling = asyncio.create_task(poll(marker=marker, timeout=30))
    await settled()
    anna.writes(EXAMPLE_BOT, "at last")
    page = await polling

    assert texts(page) == ["at last"]


async def test_two_pollers_with_one_marker_see_the_same(poll, sandbox, anna, dialog):
    marker = (await poll())["marker"]

    polls = [asyncio.create_task(poll(marker=marker, timeout=30)) for _ in range(2)]
    await settled()
    anna.writes(EXAMPLE_BOT, "both")
    pages = await asyncio.gather(*polls)

    assert [texts(page) for page in pages] == [["both"], ["both"]]


async def test_updates_are_kept_for_a_day_and_only_so_many(make, poll):
    sandbox = make(mailbox=3)
    anna = sandbox.person("Anna")
    for text in "abcd":
        anna.writes(EXAMPLE_BOT, text)

    kept = await poll(marker=0)
    sandbox.world.clock.advance(24 * HOUR)
    later = await poll(marker=0)

    assert texts(kept) == ["b", "c", "d"]
    assert later["updates"] == []


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ({"timeout": 1500}, "Field 'timeout' value (1500) must be at most 90"),
        ({"limit": 0}, "Field 'limit' value (0) must be at least 1"),
        ({"limit": 1001}, "Field 'limit' value (1001) must be at most 1000"),
        ({"marker": "x"}, "Invalid value of parameter: marker"),
    ],
)
async def test_parameters_out_of_bounds_are_refused(call, sandbox, query, message):
    assert await call("GET", "/updates", **query) == (400, {"code": "proto.payload", "message": message})


async def test_a_bot_hears_of_others_but_not_of_itself(call, poll, make):
    sandbox = make(bots={"first-token": "first", "second-token": "second"})
    _, sent = await call("POST", "/messages", {"text": "x"}, token="first-token", chat_id=NEWS)
    sandbox.act("posts", {"chat": NEWS, "text": "from the owner"})

    _, first = await call("GET", "/updates", token="first-token", timeout=0, marker=0)
    _, second = await call("GET", "/updates", token="second-token", timeout=0, marker=0)

    assert texts(first) == ["from the owner"]
    assert texts(second) == ["x", "from the owner"]
    assert "sender" not in sent["message"]


async def test_who_may_not_read_hears_nothing_of_a_channel(poll, sandbox):
    sandbox.act("restricts_bot", {"chat": NEWS, "bot": EXAMPLE_BOT, "rights": []})
    sandbox.act("posts", {"chat": NEWS, "text": "x"})

    assert (await poll(marker=0))["updates"] == []


async def test_where_many_bots_share_a_channel_only_those_that_listen_are_told(call, make):
    sandbox = make(bots={f"token-{number}": f"bot_{number}" for number in range(102)})
    await call("GET", "/updates", token="token-1", timeout=0)
    await call("POST", "/messages", {"text": "x"}, token="token-0", chat_id=NEWS)

    _, listening = await call("GET", "/updates", token="token-1", timeout=0)
    _, late = await call("GET", "/updates", token="token-2", timeout=0)

    assert (texts(listening), texts(late)) == (["x"], [])
    assert len(sandbox.chat(NEWS)["bots"]) == 20


# Webhooks


class Hook:
    """A bot's web server: keeps what came, and answers as it is told."""

    def __init__(self) -> None:
        self.came: list[dict] = []
        self.headers: list[dict] = []
        self.status = 200
        self.news = asyncio.Event()

    async def take(self, request: web.Request) -> web.Response:
        self.came.append(json.loads(await request.text()))
        self.headers.append(dict(request.headers))
        self.news.set()
        return web.Response(status=self.status)

    async def has(self, count: int) -> list[dict]:
        async with asyncio.timeout(5):
            while len(self.came) < count:
                self.news.clear()
                await self.news.wait()
        return self.came


@pytest.fixture
async def hook():
    hook = Hook()
    app = web.Application()
    app.router.add_post("/{name}", hook.take)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    hook.url = f"http://127.0.0.1:{site._server.sockets[0].getsockname()[1]}"
    yield hook
    await runner.cleanup()


async def settled():
    """Lets background tasks come to rest on a clock that stands still."""
    for _ in range(50):
        await asyncio.sleep(0.001)


async def test_a_webhook_gets_one_update_at_a_time_with_the_secret(call, poll, hook, sandbox, anna, dialog):
    status, answer = await call("POST", "/subscriptions", {"url": f"{hook.url}/a", "secret": "s3cr-et_1"})
    anna.writes(EXAMPLE_BOT, "one")
    anna.writes(EXAMPLE_BOT, "two")

    came = await hook.has(2)

    assert (status, answer) == (200, {"success": True})
    assert [each["message"]["body"]["text"] for each in came] == ["one", "two"]
    assert {headers["X-Max-Bot-Api-Secret"] for headers in hook.headers} == {"s3cr-et_1"}
    assert (await poll(marker=0))["updates"] == []
    _, listed = await call("GET", "/subscriptions")
    assert [each["url"] for each in listed["subscriptions"]] == [f"{hook.url}/a"]


async def test_several_addresses_each_get_what_they_want(call, hook, sandbox, anna, dialog):
    await call("POST", "/subscriptions", {"url": f"{hook.url}/a", "update_types": ["bot_stopped"]})
    await call("POST", "/subscriptions", {"url": f"{hook.url}/b"})
    anna.writes(EXAMPLE_BOT, "one")
    anna.blocks(EXAMPLE_BOT)

    came = await hook.has(3)

    assert sorted(each["update_type"] for each in came) == ["bot_stopped", "bot_stopped", "message_created"]
    assert "X-Max-Bot-Api-Secret" not in hook.headers[0]


async def test_the_same_address_again_replaces_its_settings(call, hook, sandbox):
    await call("POST", "/subscriptions", {"url": f"{hook.url}/a", "update_types": ["bot_stopped"]})
    await call("POST", "/subscriptions", {"url": f"{hook.url}/a", "update_types": ["bot_added"]})

    _, listed = await call("GET", "/subscriptions")

    assert [each["update_types"] for each in listed["subscriptions"]] == [["bot_added"]]


async def test_an_address_belongs_to_the_bot_that_took_it_last(call, hook, make):
    make(bots={"first-token": "first", "second-token": "second"})
    await call("POST", "/subscriptions", {"url": f"{hook.url}/a"}, token="first-token")
    await call("POST", "/subscriptions", {"url": f"{hook.url}/a"}, token="second-token")

    _, first = await call("GET", "/subscriptions", token="first-token")
    _, second = await call("GET", "/subscriptions", token="second-token")

    assert (len(first["subscriptions"]), len(second["subscriptions"])) == (0, 1)


async def test_a_failed_delivery_is_repeated_after_60_and_150_seconds(call, hook, sandbox, anna, dialog):
    await call("POST", "/subscriptions", {"url": f"{hook.url}/a"})
    hook.status = 503
    anna.writes(EXAMPLE_BOT, "one")
    await hook.has(1)

    counts = []
    for seconds in (59, 1, 149, 1):
        await settled()
        sandbox.world.clock.advance(seconds)
        await settled()
        counts.append(len(hook.came))

    assert counts == [1, 2, 2, 3]


async def test_only_200_is_a_success(call, hook, sandbox, anna, dialog):
    await call("POST", "/subscriptions", {"url": f"{hook.url}/a"})
    hook.status = 204
    anna.writes(EXAMPLE_BOT, "one")
    await hook.has(1)
    await settled()
    sandbox.world.clock.advance(60)

    assert len(await hook.has(2)) == 2


async def test_an_answer_in_time_ends_the_repetitions(call, hook, sandbox, anna, dialog):
    await call("POST", "/subscriptions", {"url": f"{hook.url}/a"})
    hook.status = 500
    anna.writes(EXAMPLE_BOT, "one")
    await hook.has(1)
    hook.status = 200
    await settled()
    sandbox.world.clock.advance(60)
    await hook.has(2)
    await settled()

    sandbox.world.clock.advance(9 * HOUR)
    await settled()

    _, listed = await call("GET", "/subscriptions")
    assert (len(hook.came), len(listed["subscriptions"])) == (2, 1)


async def test_after_eight_hours_without_success_the_subscription_is_gone_and_polling_gives_the_rest(
    call, poll, hook, sandbox, anna, dialog
):
    await poll(marker=2)
    await call("POST", "/subscriptions", {"url": f"{hook.url}/a"})
    hook.status = 500
    anna.writes(EXAMPLE_BOT, "one")
    await hook.has(1)
    await settled()

    sandbox.world.clock.advance(8 * HOUR)
    await settled()

    _, listed = await call("GET", "/subscriptions")
    assert listed["subscriptions"] == []
    assert texts(await poll(marker=2)) == ["one"]


async def test_unsubscribing_says_whether_there_was_something(call, hook, sandbox):
    await call("POST", "/subscriptions", {"url": f"{hook.url}/a"})

    first = await call("DELETE", "/subscriptions", url=f"{hook.url}/a")
    second = await call("DELETE", "/subscriptions", url=f"{hook.url}/a")
    third = await call("DELETE", "/subscriptions")

    assert first == (200, {"success": True})
    assert (second[0], second[1]["success"]) == (200, False)
    assert third == (400, {"code": "proto.payload", "message": "Missing required parameter: url"})


@pytest.mark.parametrize(
    "wish",
    [
        {"url": "ftp://a.example/hook"},
        {"url": "https:///hook"},
        {"url": "https://a.example:99999/hook"},
        {"url": "https://a.example/hook", "update_types": ["message_chat_created"]},
        {"url": "https://a.example/hook", "secret": "four"},
        {"url": "https://a.example/hook", "secret": "with space"},
        {},
    ],
)
async def test_a_subscription_that_cannot_be_is_refused(call, sandbox, wish):
    status, answer = await call("POST", "/subscriptions", wish)

    assert (status, answer["code"]) == (400, "proto.payload")


async def test_strict_webhooks_are_https_without_a_port(call, make):
    make(strict_webhooks=True)

    statuses = [
        (await call("POST", "/subscriptions", {"url": url}))[0]
        for url in ("http://a.example/x", "https://a.example:8443/x", "https://a.example/x")
    ]

    assert statuses == [400, 400, 200]


async def test_a_webhook_is_duplicated_on_demand(call, hook, sandbox, anna, dialog):
    await call("POST", "/subscriptions", {"url": f"{hook.url}/a"})
    sandbox.world.faults.plan(Fault(Kind.DUPLICATE, provider="max"))
    anna.writes(EXAMPLE_BOT, "one")

    came = await hook.has(2)

    assert came[0] == came[1]


async def test_a_restored_sandbox_goes_on_delivering(call, hook, make):
    before = make()
    before.person("Anna").starts(EXAMPLE_BOT)
    await call("POST", "/subscriptions", {"url": f"{hook.url}/a"})
    hook.status = 500
    before.person("Anna").writes(EXAMPLE_BOT, "one")
    await hook.has(1)
    saved = json.loads(json.dumps(before.state()))
    hook.status = 200

    after = make(world=World(clock=Clock(1_795_089_600.0, frozen=True)))
    after.restore(saved)
    came = await hook.has(3)

    assert [each["update_type"] for each in came[1:]] == ["bot_started", "message_created"]
    assert after.state()["chats"] == saved["chats"]


async def test_a_webhook_that_takes_nothing_is_owed_no_more_than_a_mailbox_holds(call, hook, make):
    sandbox = make(mailbox=3)
    anna = sandbox.person("Anna")
    anna.starts(EXAMPLE_BOT)
    await call("POST", "/subscriptions", {"url": f"{hook.url}/a"})
    hook.status = 500
    for number in range(10):
        anna.writes(EXAMPLE_BOT, str(number))
    await hook.has(1)
    await settled()

    hook.status = 200
    sandbox.world.clock.advance(60)
    await hook.has(4)
    anna.writes(EXAMPLE_BOT, "new")

    came = await hook.has(5)
    assert [each["message"]["body"]["text"] for each in came] == ["0", "0", "1", "2", "new"]


def test_ten_repetitions_are_the_most():
    assert [backoff(1), backoff(2), backoff(3), backoff(11)] == [60, 150, 375, None]
    assert backoff(10) == pytest.approx(60 * 2.5**9)


async def test_a_marker_of_another_life_means_from_now_on(poll, sandbox, anna, dialog):
    marker = (await poll(marker=10**12))["marker"]
    anna.writes(EXAMPLE_BOT, "one")

    assert texts(await poll(marker=marker)) == ["one"]
    assert (await poll(marker=10**12))["updates"] == []


async def test_files_in_updates_are_where_the_bot_came_to_and_nobody_else(http, hook, make):
    sandbox = make(bots={"first-token": "first", "second-token": "second"})
    photo = {"kind": "photo", "data": base64.b64encode(PNG).decode()}

    async def at(host, token, verb, path, **request):
        async with http.request(
            verb, path, headers={"Host": host, "Authorization": token}, **request
        ) as response:
            return await response.json()

    await at("two.test:2", "second-token", "POST", "/subscriptions", json={"url": f"{hook.url}/a"})
    await at("other.test:3", "no-token", "GET", "/me")
    async with http.get("/media/nothing", headers={"Host": "other.test:4", "Authorization": "second-token"}):
        pass
    posted = sandbox.act("posts", {"chat": NEWS, "text": "look", "media": [photo]})
    sandbox.act("writes", {"person": sandbox.person("Anna").id, "bot": "first", "text": "plain"})
    page = await at("one.test:1", "first-token", "GET", "/updates?timeout=0&marker=0")
    (came,) = await hook.has(1)

    def url(update):
        assert update["message"]["body"]["mid"] == posted["message_id"]
        return update["message"]["body"]["attachments"][0]["payload"]["url"]

    token = sandbox.message(NEWS, posted["message_id"])["media"][0]["file"]
    assert url(came) == f"http://two.test:2/media/{token}"
    assert url(page["updates"][0]) == f"http://one.test:1/media/{token}"
    assert texts({"updates": page["updates"][2:]}) == ["plain"]


async def test_files_of_an_answered_message_are_where_the_bot_came_to(http, url, poll, sandbox, anna, dialog):
    photo = {"kind": "photo", "data": base64.b64encode(PNG).decode()}
    mid = anna.writes(EXAMPLE_BOT, media=[photo])
    anna.writes(EXAMPLE_BOT, "and this?", reply_to=mid)

    (update,) = (await poll())["updates"]

    (shown,) = update["message"]["link"]["message"]["attachments"]
    assert shown["payload"]["url"].startswith(f"{url}/media/")
    async with http.get(shown["payload"]["url"]) as response:
        assert await response.read() == PNG
