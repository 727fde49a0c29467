"""Webhooks, delivered to a real little server: what is set, repeated, given up and answered."""

import asyncio
import io
import json
from base64 import b64encode
from typing import Any

import aiohttp
import pytest
from aiohttp import web

from pressroom.sandbox.core.faults import Fault, Kind
from tests.sandbox.telegram.hearing import BOT, NOON, TEAM, Hook, new_sandbox, texts, until

DESCRIPTION = "description"


def write(sandbox, *words: str, name: str = "Anna") -> None:
    for word in words:
        sandbox.person(name).writes(BOT, word)


def error(status: int, **headers: str) -> web.Response:
    return web.Response(status=status, headers=headers)


async def settled(sandbox) -> None:
    """Until whoever was woken has had his turn, and no delivery is under way."""
    for _ in range(20):
        await asyncio.sleep(0)
    webhooks = sandbox._webhooks._webhooks.values()
    await until(lambda: all(one.courier._room._value == one.settings.max_connections for one in webhooks))


async def failed(sandbox, hook: Hook, times: int) -> None:
    """Until the hook was tried so often, and the last failure was noted."""
    await hook.until(times)
    await settled(sandbox)


# Setting and deleting


async def test_a_webhook_is_set_described_and_deleted(bot, hook):
    was_set = await bot("setWebhook", url=hook.url)
    again = await bot("setWebhook", url=hook.url)
    info = await bot.result("getWebhookInfo")
    deleted = await bot("deleteWebhook")
    gone = await bot("deleteWebhook")

    assert was_set == (200, {"ok": True, "result": True, "description": "Webhook was set"})
    assert again[1][DESCRIPTION] == "Webhook is already set"
    assert info == {
        "url": hook.url,
        "has_custom_certificate": False,
        "pending_update_count": 0,
        "max_connections": 40,
        "ip_address": "127.0.0.1",
    }
    assert deleted[1][DESCRIPTION] == "Webhook was deleted"
    assert gone[1][DESCRIPTION] == "Webhook is already deleted"


async def test_without_a_webhook_the_info_has_three_fields(bot):
    assert await bot.result("getWebhookInfo") == {
        "url": "",
        "has_custom_certificate": False,
        "pending_update_count": 0,
    }


async def test_an_empty_url_deletes(bot, hook):
    await bot.result("setWebhook", url=hook.url)

    assert (await bot("setWebhook"))[1][DESCRIPTION] == "Webhook was deleted"


async def test_answers_keep_the_order_of_the_real_server(bot):
    async with bot.http.get(f"/bot{bot.token}/deleteWebhook") as response:
        assert await response.read() == (
            b'{"ok":true,"result":true,"description":"Webhook is already deleted"}'
        )


@pytest.mark.parametrize(
    ("given", "shown"),
    [({"max_connections": 0}, 1), ({"max_connections": 7}, 7), ({"max_connections": 1000}, 100)],
)
async def test_connections_are_clamped(bot, hook, given, shown):
    await bot.result("setWebhook", url=hook.url, **given)

    assert (await bot.result("getWebhookInfo"))["max_connections"] == shown


@pytest.mark.parametrize(
    ("parameters", "description"),
    [
        ({"url": "ftp://example.com"}, "invalid webhook URL specified"),
        ({"url": "http://"}, "invalid webhook URL specified"),
        ({"url": "https://."}, "invalid webhook URL specified"),
        ({"url": "https://exa mple.com/"}, "invalid webhook URL specified"),
        ({"url": "https://example.com:0/"}, "invalid webhook URL specified"),
        ({"url": "https://example.com:99999/"}, "invalid webhook URL specified"),
        ({"url": "https://[::zz]/"}, "invalid webhook URL specified"),
        ({"url": "https://a.b/%zz", "secret_token": "x" * 257}, "secret token is too long"),
        ({"url": "https://a.b", "secret_token": "no spaces"}, "secret token contains unallowed characters"),
        ({"url": "https://a.b", "secret_token": "\ud83d"}, "secret token contains unallowed characters"),
        ({"url": "https://a.b", "secret_token": "я" * 129}, "secret token is too long"),
        ({"url": "https://a.b", "ip_address": "somewhere"}, "bad webhook: Invalid IP address specified"),
    ],
)
async def test_a_bad_webhook_is_refused_and_the_old_one_is_gone(bot, hook, parameters, description):
    await bot.result("setWebhook", url=hook.url)

    status, answer = await bot("setWebhook", **parameters)

    assert (status, answer[DESCRIPTION]) == (400, f"Bad Request: {description}")
    assert (await bot.result("getWebhookInfo"))["url"] == ""


@pytest.mark.parametrize(
    "url",
    [
        "example.com/hook",
        "HTTPS://пример.рф:8443/x y",
        "http://[::1]:9/?a=b",
        "https://u:p@host.test",
        "http://127.1",
    ],
)
async def test_many_addresses_are_addresses(bot, url):
    assert (await bot("setWebhook", url=url))[0] == 200
    assert (await bot.result("getWebhookInfo"))["url"] == url


@pytest.mark.parametrize(
    ("parameters", "description"),
    [
        ({"url": "http://example.com"}, "An HTTPS URL must be provided for webhook"),
        ({"url": "https://example.com:81"}, "Webhook can be set up only on ports 80, 88, 443 or 8443"),
        ({"url": "https://example.com", "ip_address": "::1"}, "IPv6-only addresses are not allowed"),
        ({"url": "https://example.com", "ip_address": "10.0.0.1"}, "IP address 10.0.0.1 is reserved"),
    ],
)
async def test_a_strict_sandbox_wants_what_telegram_wants(bot, telegram_stage, parameters, description):
    telegram_stage.app = new_sandbox(strict_webhooks=True)

    status, answer = await bot("setWebhook", **parameters)

    assert (status, answer[DESCRIPTION]) == (400, f"Bad Request: bad webhook: {description}")


async def test_a_strict_sandbox_wants_a_second_between_two_of_them(bot, telegram_stage):
    telegram_stage.app = sandbox = new_sandbox(strict_webhooks=True)
    first = await bot("setWebhook", url="https://example.com:88")

    second = await bot("setWebhook", url="https://example.com:443")
    sandbox.world.clock.advance(1)
    third = await bot("setWebhook", url="https://example.com:443")

    assert (first[0], third[0]) == (200, 200)
    assert second == (
        429,
        {
            "ok": False,
            "error_code": 429,
            "description": "Too Many Requests: retry after 1",
            "parameters": {"retry_after": 1},
        },
    )


async def test_a_certificate_is_accepted_and_shown(bot, hook):
    form = aiohttp.FormData({"url": hook.url})
    form.add_field("certificate", b"-----BEGIN", filename="cert.pem")
    async with bot.http.post(f"/bot{bot.token}/setWebhook", data=form) as response:
        assert (await response.json())[DESCRIPTION] == "Webhook was set"
    again = await bot("setWebhook", url=hook.url)

    assert again[1][DESCRIPTION] == "Webhook was set"
    assert (await bot.result("getWebhookInfo"))["has_custom_certificate"] is False


async def test_a_certificate_has_at_most_three_mebibytes(bot, hook):
    form = aiohttp.FormData({"url": hook.url, "certificate": "attach://mine"})
    form.add_field("mine", io.BytesIO(b"x" * ((3 << 20) + 1)), filename="cert.pem")

    async with bot.http.post(f"/bot{bot.token}/setWebhook", data=form) as response:
        answer = await response.json()

    assert answer[DESCRIPTION] == "Bad Request: certificate size is too big (3145729 bytes)"


async def test_pending_updates_are_dropped_on_demand(bot, sandbox, hook):
    write(sandbox, "old")
    await bot.result("setWebhook", url=hook.url, drop_pending_updates=True)
    write(sandbox, "new")

    await hook.until(1)

    assert hook.texts() == ["new"]


async def test_delete_webhook_keeps_what_waits_unless_it_is_told_otherwise(bot, sandbox, hook):
    hook.answers = [error(500)] * 10
    await bot.result("setWebhook", url=hook.url)
    write(sandbox, "kept")
    await hook.until(1)

    await bot.result("deleteWebhook")
    kept = await bot.updates()
    await bot.result("deleteWebhook", drop_pending_updates="true")
    sandbox.world.clock.advance(10)

    assert texts(kept) == ["kept"]
    assert await bot.updates() == []


async def test_allowed_updates_are_set_with_the_webhook_and_shown(bot, sandbox, hook):
    await bot.result("setWebhook", url=hook.url, allowed_updates=["callback_query", "message"])
    shown = (await bot.result("getWebhookInfo"))["allowed_updates"]
    await bot.result("setWebhook", url=hook.url, allowed_updates=["poll"])
    write(sandbox, "x")

    assert shown == ["message", "callback_query"]
    assert (await bot.result("getWebhookInfo"))["pending_update_count"] == 0


# Delivery


async def test_updates_are_posted_with_the_secret(bot, sandbox, hook):
    await bot.result("setWebhook", url=hook.url, secret_token="my-Secret_1")
    write(sandbox, "Привет 👋")

    (update,) = await hook.until(1)

    assert update["message"]["text"] == "Привет 👋"
    assert hook.headers[0]["X-Telegram-Bot-Api-Secret-Token"] == "my-Secret_1"
    assert hook.headers[0]["Content-Type"] == "application/json"


async def test_without_a_secret_there_is_no_such_header(bot, sandbox, hook):
    await bot.result("setWebhook", url=hook.url)
    write(sandbox, "x")
    await hook.until(1)

    assert "X-Telegram-Bot-Api-Secret-Token" not in hook.headers[0]


async def test_a_name_in_the_url_logs_in(bot, sandbox, hook):
    await bot.result("setWebhook", url=hook.url.replace("://", "://bot:word@"))
    write(sandbox, "x")
    await hook.until(1)

    assert hook.headers[0]["Authorization"] == "Basic " + b64encode(b"bot:word").decode()


async def test_what_waited_before_the_webhook_is_delivered_first(bot, sandbox, hook):
    write(sandbox, "one", "two")
    await bot.result("setWebhook", url=hook.url)
    write(sandbox, "three")

    await hook.until(3)

    assert hook.texts() == ["one", "two", "three"]


async def test_what_was_taken_waits_no_longer(bot, sandbox, hook):
    await bot.result("setWebhook", url=hook.url)
    write(sandbox, "x")
    await hook.until(1)

    inbox = sandbox._updates.inbox(sandbox._state.bots_by_name[BOT])
    await until(lambda: len(inbox) == 0)
    await bot.result("deleteWebhook")

    assert await bot.updates() == []


async def test_each_source_keeps_its_order_and_others_go_on_meanwhile(bot, sandbox, hook):
    hook.hold = asyncio.Event()
    await bot.result("setWebhook", url=hook.url)
    write(sandbox, "Anna 1", "Anna 2")
    write(sandbox, "Boris 1", "Boris 2", name="Boris")

    await hook.until(2)
    first = hook.texts()
    hook.hold.set()
    hook.hold = None
    await hook.until(4)

    assert sorted(first) == ["Anna 1", "Boris 1"]
    assert [text for text in hook.texts() if "Anna" in text] == ["Anna 1", "Anna 2"]
    assert [text for text in hook.texts() if "Boris" in text] == ["Boris 1", "Boris 2"]


async def test_there_are_no_more_connections_than_allowed(bot, sandbox, hook):
    hook.hold = asyncio.Event()
    await bot.result("setWebhook", url=hook.url, max_connections=3)
    for n in range(10):
        write(sandbox, "x", name=f"Person {n}")

    await hook.until(3)
    room = sandbox._webhooks._webhooks[1000000001].courier._room
    await until(lambda: room._value == 0)
    held = len(hook.got)
    hook.hold.set()
    hook.hold = None
    await hook.until(10)

    assert (held, hook.most_at_once) == (3, 3)


async def test_what_fails_is_repeated_at_once_and_then_after_2_4_8_seconds(bot, sandbox, hook):
    hook.answers = [error(500) for _ in range(5)]
    await bot.result("setWebhook", url=hook.url)
    write(sandbox, "again and again")
    clock, waits = sandbox.world.clock, []

    await failed(sandbox, hook, 2)
    for number, wait in ((3, 2), (4, 4), (5, 8), (6, 16)):
        clock.advance(wait - 0.5)
        await settled(sandbox)
        assert len(hook.got) == number - 1
        clock.advance(0.5)
        await failed(sandbox, hook, number)
        waits.append(wait)
    info = await bot.result("getWebhookInfo")

    assert len({update["update_id"] for update in hook.got}) == 1
    assert info["pending_update_count"] == 0
    assert info["last_error_message"] == "Wrong response from the webhook: 500 Internal Server Error"
    assert info["last_error_date"] == int(NOON + 2 + 4 + 8)


async def test_pauses_grow_to_one_or_two_minutes(sandbox):
    pauses = [sandbox._webhooks._pause(attempt) for attempt in range(1, 40)]

    assert pauses[:6] == [0, 2, 4, 8, 16, 32]
    assert all(60 <= pause <= 120 for pause in pauses[6:])
    assert len(set(pauses[7:])) > 1


async def test_retry_after_is_honoured_and_the_pauses_go_on_after_it(bot, sandbox, hook):
    hook.answers = [error(503, **{"Retry-After": "100"}), error(500, **{"Retry-After": "0"})]
    await bot.result("setWebhook", url=hook.url)
    write(sandbox, "x")
    await failed(sandbox, hook, 1)

    sandbox.world.clock.advance(99)
    await settled(sandbox)
    early = len(hook.got)
    sandbox.world.clock.advance(1)
    await failed(sandbox, hook, 2)
    sandbox.world.clock.advance(1.9)
    await settled(sandbox)
    still_early = len(hook.got)
    sandbox.world.clock.advance(0.1)
    await hook.until(3)

    assert (early, still_early) == (1, 2)


async def test_a_clock_that_jumps_past_the_day_gives_the_update_up(bot, sandbox, hook):
    hook.answers = [error(500) for _ in range(50)]
    await bot.result("setWebhook", url=hook.url)
    write(sandbox, "too old")
    await failed(sandbox, hook, 2)

    sandbox.world.clock.advance(86_401)
    inbox = sandbox._updates.inbox(sandbox._state.bots_by_name[BOT])
    await until(lambda: len(inbox) == 0)
    hook.answers.clear()
    write(sandbox, "fresh")
    await until(lambda: "fresh" in hook.texts())

    assert (await bot.result("getWebhookInfo"))["pending_update_count"] == 0


async def test_a_refused_connection_is_told(bot, sandbox, hook):
    await bot.result("setWebhook", url="http://127.0.0.1:1/")
    write(sandbox, "x")
    webhook = sandbox._webhooks._webhooks[1000000001]
    await until(lambda: webhook.last_error)

    info = await bot.result("getWebhookInfo")

    assert (info["last_error_message"], info["pending_update_count"]) == ("Connection refused", 1)


async def test_410_for_23_hours_removes_the_webhook(bot, sandbox, hook):
    hook.answers = [error(410) for _ in range(4)]
    await bot.result("setWebhook", url=hook.url)
    write(sandbox, "x")
    await failed(sandbox, hook, 2)
    sandbox.world.clock.advance(23 * 3600)
    await failed(sandbox, hook, 3)
    still = (await bot.result("getWebhookInfo"))["url"]

    sandbox.world.clock.advance(130)
    await until(lambda: not sandbox._webhooks._webhooks)

    assert still == hook.url
    assert (await bot.result("getWebhookInfo"))["url"] == ""
    assert texts(await bot.updates()) == ["x"]


async def test_a_broken_connection_does_not_end_the_row_of_410s(bot, sandbox, hook):
    hook.answers = [error(410), error(410)]
    sandbox.world.faults.plan(Fault(Kind.DROP, method="webhook", skip=1))
    await bot.result("setWebhook", url=hook.url)
    write(sandbox, "x")
    await failed(sandbox, hook, 1)
    broken = (await bot.result("getWebhookInfo"))["last_error_message"]

    sandbox.world.clock.advance(23 * 3600 + 1)
    await until(lambda: not sandbox._webhooks._webhooks)

    assert (broken, len(hook.got)) == ("Connection reset by peer", 2)
    assert (await bot.result("getWebhookInfo"))["url"] == ""


async def test_what_is_too_old_never_comes_near_a_webhook(bot, sandbox, hook):
    write(sandbox, "too old")
    sandbox.world.clock.advance(86_401)
    sandbox.world.faults.plan(Fault(Kind.DUPLICATE))
    await bot.result("setWebhook", url=hook.url)

    write(sandbox, "fresh")
    await hook.until(2)

    assert hook.texts() == ["fresh", "fresh"]


async def test_another_error_or_a_success_begins_the_23_hours_anew(bot, sandbox, hook):
    hook.answers = [error(410), error(500), error(410)]
    await bot.result("setWebhook", url=hook.url)
    write(sandbox, "x")
    await failed(sandbox, hook, 2)
    sandbox.world.clock.advance(80_000)
    await failed(sandbox, hook, 3)

    sandbox.world.clock.advance(5)
    await hook.until(4)

    assert (await bot.result("getWebhookInfo"))["url"] == hook.url


async def test_a_stuck_source_lets_others_through_up_to_twice_the_connections(bot, sandbox, hook):
    hook.hold = asyncio.Event()
    await bot.result("setWebhook", url=hook.url, max_connections=2)
    write(sandbox, "Anna 1", "Anna 2", "Anna 3")
    write(sandbox, "Boris 1", "Boris 2", name="Boris")
    await hook.until(2)
    given = set(sandbox._webhooks._webhooks[1000000001].given)
    hook.hold.set()
    hook.hold = None
    await hook.until(5)

    assert len(given) == 4
    assert sorted(hook.texts()) == ["Anna 1", "Anna 2", "Anna 3", "Boris 1", "Boris 2"]


async def test_setting_another_webhook_takes_what_waits_along(bot, sandbox, hook):
    await bot.result("setWebhook", url="http://127.0.0.1:1/")
    write(sandbox, "one", "two")

    await bot.result("setWebhook", url=hook.url)
    await hook.until(2)

    assert hook.texts() == ["one", "two"]


# Faults


@pytest.mark.parametrize(
    ("kind", "wish", "arrive"),
    [
        (Kind.DUPLICATE, {}, ["one", "one", "two"]),
        (Kind.REORDER, {}, ["two", "one"]),
        (Kind.SLOW, {"method": "webhook", "seconds": 0.0}, ["one", "two"]),
        (Kind.DROP, {"method": "webhook", "before_effect": True}, ["one", "two"]),
        (Kind.DROP, {"method": "webhook", "before_effect": False}, ["one", "one", "two"]),
        (Kind.FAIL, {"method": "webhook", "code": 500}, ["one", "two"]),
    ],
)
async def test_faults_meet_deliveries(bot, sandbox, hook, kind, wish, arrive):
    sandbox.world.faults.plan(Fault(kind, bot=BOT, **wish))
    await bot.result("setWebhook", url=hook.url)
    write(sandbox, "one", "two")

    await hook.until(len(arrive))
    await settled(sandbox)

    assert hook.texts() == arrive


# Answers that carry a call


def asks(**call: Any) -> web.Response:
    return web.json_response(call)


def working(sandbox) -> bool:
    """Whether anything goes on in the background."""
    return any(not task.done() for task in sandbox.world._tasks)


async def test_an_answer_may_carry_a_call(bot, sandbox, hook):
    hook.answers = [asks(method="answerCallbackQuery", callback_query_id="1")]
    await bot.result("setWebhook", url=hook.url)
    write(sandbox, "x")

    await until(lambda: any(call.method == "answerCallbackQuery" for call in sandbox.world.calls))

    (call,) = [call for call in sandbox.world.calls if call.method == "answerCallbackQuery"]
    assert (call.bot, call.status) == (BOT, 400)
    assert call.description.startswith("Bad Request: query is too old")


@pytest.mark.parametrize("form", ["json", "urlencoded", "multipart"])
async def test_a_call_comes_in_any_encoding(bot, sandbox, hook, form):
    anna = sandbox.person("Anna")
    call = {"method": "SendMessage", "chat_id": str(anna.id), "text": "Вы сказали: x"}
    if form == "json":
        answer = web.Response(body=json.dumps(call).encode(), content_type="application/json")
    else:
        data = aiohttp.FormData(call, default_to_multipart=form == "multipart")()
        answer = web.Response(body=data, headers={"Content-Type": data.headers["Content-Type"]})
    hook.answers = [answer]
    await bot.result("setWebhook", url=hook.url)
    anna.writes(BOT, "x")

    await until(lambda: sandbox.messages(anna.id))

    assert sandbox.messages(anna.id) == ["Вы сказали: x"]


@pytest.mark.parametrize("method", ["getMe", "setWebhook", "deleteWebhook", "close", "logOut", "", "GETCHAT"])
async def test_some_calls_are_not_answered(bot, sandbox, hook, method):
    hook.answers = [asks(method=method, url="http://127.0.0.1:1/")]
    await bot.result("setWebhook", url=hook.url)
    before = len(sandbox.world.calls)
    write(sandbox, "x")
    inbox = sandbox._updates.inbox(sandbox._state.bots_by_name[BOT])
    await until(lambda: len(inbox) == 0 and not working(sandbox))

    assert len(sandbox.world.calls) == before


@pytest.mark.parametrize("before_effect", [True, False])
async def test_a_slow_fault_delays_what_an_answer_asks_for(bot, sandbox, hook, before_effect):
    anna = sandbox.person("Anna")
    hook.answers = [asks(method="sendMessage", chat_id=anna.id, text="late")]
    sandbox.slow_next(1000, before_effect=before_effect)
    await bot.result("setWebhook", url=hook.url)
    anna.writes(BOT, "x")
    calls = sandbox.world.calls
    await until(lambda: not sandbox.world.faults)
    await settled(sandbox)
    early = sandbox.messages(anna.id), [call for call in calls if call.method == "sendMessage"]

    sandbox.world.clock.advance(1000)
    await until(lambda: any(call.method == "sendMessage" for call in calls))

    assert early == ([] if before_effect else ["late"], [])
    assert sandbox.messages(anna.id) == ["late"]


@pytest.mark.parametrize("before_effect", [True, False])
async def test_a_cut_connection_is_noted_of_what_an_answer_asks_for(bot, sandbox, hook, before_effect):
    anna = sandbox.person("Anna")
    hook.answers = [asks(method="sendMessage", chat_id=anna.id, text="x")]
    sandbox.drop_next(before_effect=before_effect)
    await bot.result("setWebhook", url=hook.url)
    anna.writes(BOT, "x")
    await until(lambda: any(call.method == "sendMessage" for call in sandbox.world.calls))

    assert (sandbox.world.calls[-1].status, sandbox.messages(anna.id)) == (0, [] if before_effect else ["x"])


@pytest.mark.parametrize("body", [b"ok", b"{", b"\xff" * 100, b"[]"])
async def test_an_answer_that_is_no_call_is_none(bot, sandbox, hook, body):
    hook.answers = [web.Response(body=body, content_type="application/json")]
    await bot.result("setWebhook", url=hook.url)
    write(sandbox, "one", "two")

    await hook.until(2)

    assert hook.texts() == ["one", "two"]


async def test_member_updates_of_a_supergroup_come_too(bot, sandbox, hook):
    await bot.result("setWebhook", url=hook.url)
    sandbox.act("removes_bot", {"chat": TEAM, "bot": BOT})

    updates = await hook.until(2)

    assert {kind for update in updates for kind in update} == {"update_id", "my_chat_member", "message"}


# Races


async def test_a_webhook_that_is_deleted_under_way_gives_its_update_back(bot, sandbox, hook):
    hook.hold = asyncio.Event()
    await bot.result("setWebhook", url=hook.url)
    write(sandbox, "under way")
    await hook.until(1)

    await bot.result("deleteWebhook")
    hook.hold.set()
    await until(lambda: not working(sandbox))

    assert texts(await bot.updates()) == ["under way"]


async def test_changing_the_webhook_all_the_time_loses_nothing(bot, sandbox, hook):
    numbers = set()
    for n in range(30):
        write(sandbox, f"{n}", name=f"Person {n % 5}")
        await bot.result("setWebhook", url=f"{hook.url}/{n}")
    inbox = sandbox._updates.inbox(sandbox._state.bots_by_name[BOT])
    await until(lambda: len(inbox) == 0)

    numbers = {update["update_id"] for update in hook.got}
    assert len(numbers) == 30
    assert set(hook.texts()) == {f"{n}" for n in range(30)}


async def test_the_clock_may_jump_while_deliveries_are_repeated(bot, sandbox, hook):
    hook.answers = [error(500) for _ in range(40)]
    await bot.result("setWebhook", url=hook.url)
    for n in range(8):
        write(sandbox, f"{n}", name=f"Person {n}")

    for seconds in (1, 3600, -7200, 30, 0, 20_000, 5):
        sandbox.world.clock.advance(seconds)
        await settled(sandbox)
    hook.answers.clear()
    inbox = sandbox._updates.inbox(sandbox._state.bots_by_name[BOT])
    for _ in range(10):
        sandbox.world.clock.advance(3000)
        await settled(sandbox)

    assert len(inbox) == 0
    assert set(hook.texts()) == {f"{n}" for n in range(8)}


async def test_polling_begins_where_the_webhook_ended(bot, sandbox, hook):
    await bot.result("setWebhook", url=hook.url)
    write(sandbox, "one")
    await hook.until(1)
    inbox = sandbox._updates.inbox(sandbox._state.bots_by_name[BOT])
    await until(lambda: len(inbox) == 0)
    await bot.result("deleteWebhook")

    write(sandbox, "two")
    (update,) = await bot.updates()

    assert update["update_id"] == hook.got[0]["update_id"] + 1
