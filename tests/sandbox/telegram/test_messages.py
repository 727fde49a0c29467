import asyncio
import io
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import aclosing
from datetime import timedelta
from typing import Any

import aiohttp
import pytest

from pressroom.sandbox.telegram import EXAMPLE_TOKEN, Chat, TelegramSandbox

NEWS = -1001000000001
DEALS = -1001000000002
FORM = "application/x-www-form-urlencoded"

Call = Callable[..., Awaitable[tuple[int, dict[str, Any]]]]


@pytest.fixture
async def http(telegram_stage) -> AsyncIterator[aiohttp.ClientSession]:
    async with aiohttp.ClientSession(f"http://127.0.0.1:{telegram_stage.port}/") as session:
        yield session


@pytest.fixture
def call(http, telegram) -> Call:
    """Calls a method with JSON parameters, or with whatever the request is made of."""

    async def call(
        method: str, *, token: str = EXAMPLE_TOKEN, verb: str = "POST", raw: Any = None, **parameters: Any
    ):
        request = raw if raw is not None else {"json": parameters}
        async with http.request(verb, f"/bot{token}/{method}", **request) as response:
            assert response.content_type == "application/json"
            return response.status, await response.json()

    return call


def refused(code: int, description: str, **parameters: int) -> tuple[int, dict[str, Any]]:
    answer: dict[str, Any] = {"ok": False, "error_code": code, "description": description}
    return code, {**answer, "parameters": parameters} if parameters else answer


async def test_get_me_tells_who_the_bot_is(call):
    status, answer = await call("getMe")

    assert (status, answer["ok"]) == (200, True)
    assert answer["result"]["id"] == 1000000001
    assert answer["result"]["is_bot"] is True
    assert answer["result"]["username"] == "pressroom_example_bot"


async def test_get_chat_knows_the_examples_by_id_and_by_name(call):
    _, by_id = await call("getChat", chat_id=DEALS)
    _, by_name = await call("getchat", chat_id="@Pressroom_Example_Deals")

    assert by_id == by_name
    assert (by_id["result"]["id"], by_id["result"]["title"], by_id["result"]["type"]) == (
        DEALS,
        "Example deals",
        "channel",
    )


async def test_a_message_is_answered_shown_and_recorded(call, telegram):
    status, answer = await call("sendMessage", chat_id=NEWS, text="Привет 👋")

    chat = {"id": NEWS, "title": "Example news", "type": "channel", "username": "pressroom_example_news"}
    (effect,) = telegram.effects()
    assert (status, answer) == (
        200,
        {
            "ok": True,
            "result": {
                "message_id": 1,
                "sender_chat": chat,
                "chat": chat,
                "date": int(effect.at),
                "text": "Привет 👋",
            },
        },
    )
    assert effect[2:] == ("telegram", "pressroom_example_bot", NEWS, "sendMessage", 1, "Привет 👋", None)


async def test_each_chat_counts_its_own_messages(call, telegram):
    for chat in (NEWS, DEALS, NEWS):
        await call("sendMessage", chat_id=chat, text=f"to {chat}")

    assert [(effect.seq, effect.chat, effect.message_id) for effect in telegram.effects()] == [
        (1, NEWS, 1),
        (2, DEALS, 1),
        (3, NEWS, 2),
    ]
    assert telegram.messages(NEWS) == [f"to {NEWS}", f"to {NEWS}"]


async def test_a_group_message_comes_from_the_bot(call, telegram_stage):
    telegram_stage.app = TelegramSandbox(chats=[Chat(-42, "Friends", "group")])

    _, answer = await call("sendMessage", chat_id=-42, text="hi")

    assert answer["result"]["from"]["id"] == 1000000001
    assert answer["result"]["chat"] == {"id": -42, "title": "Friends", "type": "group"}


def multipart(**fields: str) -> aiohttp.FormData:
    form = aiohttp.FormData(default_to_multipart=True)
    for name, value in fields.items():
        form.add_field(name, value)
    form.add_field("photo", b"\x00\xff", filename="x.jpg")
    return form


@pytest.mark.parametrize(
    ("verb", "request_parts"),
    [
        ("GET", {"params": {"chat_id": str(NEWS), "text": "Привет + a&b"}}),
        ("POST", {"params": {"chat_id": str(NEWS), "text": "Привет + a&b"}}),
        ("POST", {"data": {"chat_id": str(NEWS), "text": "Привет + a&b"}}),
        ("POST", {"json": {"chat_id": NEWS, "text": "Привет + a&b"}}),
        ("POST", {"json": {"chat_id": str(NEWS), "text": "Привет + a&b"}}),
        ("POST", {"data": multipart(chat_id=str(NEWS), text="Привет + a&b")}),
        ("POST", {"params": {"chat_id": str(NEWS)}, "data": {"text": "Привет + a&b"}}),
        ("POST", {"params": {"text": "Привет + a&b"}, "json": {"chat_id": NEWS, "text": "the first counts"}}),
    ],
)
async def test_parameters_arrive_in_every_encoding(call, telegram, verb, request_parts):
    status, _ = await call("sendMessage", verb=verb, raw=request_parts)

    assert (status, telegram.messages(NEWS)) == (200, ["Привет + a&b"])


@pytest.mark.parametrize("method", ["sendmessage", "SENDMESSAGE", "SendMessage"])
async def test_method_names_have_any_case(call, method):
    assert (await call(method, chat_id=NEWS, text="hi"))[0] == 200


async def test_the_method_may_be_a_parameter(call):
    assert (await call("", raw={"params": {"method": "getMe"}}))[0] == 200


@pytest.mark.parametrize("chat_id", [f"{NEWS}", f"{NEWS}abc", f"{NEWS}.7"])
async def test_integers_are_read_leniently(call, chat_id):
    assert (await call("sendMessage", chat_id=chat_id, text="hi"))[0] == 200


@pytest.mark.parametrize(
    ("sent", "shown"),
    [
        ("  \n hello \n\n ", "hello"),
        ("a\tb\r\nc\x07d", "a b\nc d"),
        ("a\u202eb\u2028c", "abc"),
        ("\u00a0kept\u00a0", "\u00a0kept\u00a0"),
    ],
)
async def test_texts_are_cleaned_and_trimmed(call, telegram, sent, shown):
    await call("sendMessage", chat_id=NEWS, text=sent)

    assert telegram.messages(NEWS) == [shown]


@pytest.mark.parametrize("text", ["a" * 4096, "я" * 4096, "🙂" * 4096, " " + "a" * 4096 + "\n"])
async def test_4096_code_points_are_not_too_long(call, text):
    assert (await call("sendMessage", chat_id=NEWS, text=text))[0] == 200


@pytest.mark.parametrize(
    ("parameters", "code", "description"),
    [
        ({}, 400, "Bad Request: message text is empty"),
        ({"chat_id": 1}, 400, "Bad Request: message text is empty"),
        ({"text": "x" * 32769}, 400, "Bad Request: text is too long"),
        ({"text": "x", "parse_mode": "BBCode"}, 400, "Bad Request: unsupported parse_mode"),
        ({"text": "x"}, 400, "Bad Request: chat_id is empty"),
        ({"text": "x", "chat_id": 1}, 400, "Bad Request: chat not found"),
        ({"text": "x", "chat_id": "@nobody"}, 400, "Bad Request: chat not found"),
        ({"text": "x", "chat_id": "abc"}, 400, "Bad Request: chat not found"),
        ({"text": "x" * 4097, "chat_id": 1}, 400, "Bad Request: chat not found"),
        ({"text": " \n ", "chat_id": NEWS}, 400, "Bad Request: text must be non-empty"),
        ({"text": "x" * 4097, "chat_id": NEWS}, 400, "Bad Request: message is too long"),
        ({"text": "🙂" * 4097, "chat_id": NEWS}, 400, "Bad Request: message is too long"),
        ({"text": "\ud83d", "chat_id": NEWS}, 400, "Bad Request: strings must be encoded in UTF-8"),
    ],
)
async def test_checks_come_in_the_order_of_the_real_server(call, telegram, parameters, code, description):
    assert await call("sendMessage", **parameters) == refused(code, description)
    assert telegram.total == 0


@pytest.mark.parametrize("mode", ["HTML", "html", "Markdown", "MarkdownV2", "none", ""])
async def test_a_text_without_special_characters_is_the_same_in_every_mode(call, telegram, mode):
    assert (await call("sendMessage", chat_id=NEWS, text="plain, text", parse_mode=mode))[0] == 200
    assert telegram.messages(NEWS) == ["plain, text"]


@pytest.mark.parametrize(
    ("text", "mode", "shown", "entities"),
    [
        ("<b>Скидка</b> 5 &lt; 10", "HTML", "Скидка 5 < 10", [{"type": "bold", "offset": 0, "length": 6}]),
        ("_x_\\.", "markdownv2", "x.", [{"type": "italic", "offset": 0, "length": 1}]),
        (
            "*x* [y](http://z.ru)",
            "Markdown",
            "x y",
            [
                {"type": "bold", "offset": 0, "length": 1},
                {"type": "text_link", "offset": 2, "length": 1, "url": "http://z.ru/"},
            ],
        ),
        (
            "see example.com #tag",
            "",
            "see example.com #tag",
            [{"type": "url", "offset": 4, "length": 11}, {"type": "hashtag", "offset": 16, "length": 4}],
        ),
    ],
)
async def test_markup_becomes_text_and_entities(call, text, mode, shown, entities):
    _, answer = await call("sendMessage", chat_id=NEWS, text=text, parse_mode=mode)

    assert (answer["result"]["text"], answer["result"]["entities"]) == (shown, entities)


@pytest.mark.parametrize(
    ("text", "mode", "description"),
    [
        ("<b>x", "HTML", "can't parse entities: Can't find end tag corresponding to start tag \"b\""),
        (
            "a.",
            "MarkdownV2",
            "can't parse entities: Character '.' is reserved and must be escaped with the preceding '\\'",
        ),
        ("a_", "Markdown", "can't parse entities: Can't find end of the entity starting at byte offset 1"),
    ],
)
async def test_broken_markup_is_refused_in_the_real_words(call, telegram, text, mode, description):
    assert await call("sendMessage", chat_id=NEWS, text=text, parse_mode=mode) == refused(
        400, f"Bad Request: {description}"
    )
    assert telegram.total == 0


@pytest.mark.parametrize("token", ["1000000001:wrong", "42:x"])
async def test_an_unknown_token_is_unauthorized_before_the_method_is_looked_at(call, token):
    assert await call("noSuchMethod", token=token) == refused(401, "Unauthorized")


@pytest.mark.parametrize("token", ["nocolon", "0123:x", "-1:x", "1:" + "x" * 80])
async def test_a_malformed_token_is_called_so(call, token):
    assert await call("getMe", token=token) == refused(401, "Unauthorized: invalid token specified")


async def test_an_unknown_method_is_not_found(call):
    assert await call("sendTelepathy") == refused(404, "Not Found: method not found")


@pytest.mark.parametrize("path", ["/", "/x", f"/bot{EXAMPLE_TOKEN}", "/file"])
async def test_every_other_path_is_not_found_in_the_same_envelope(http, telegram, path):
    async with http.get(path) as response:
        assert (response.status, await response.json()) == refused(404, "Not Found")


async def test_parameters_over_a_megabyte_are_refused(call):
    request = {"data": io.BytesIO(b"text=" + b"x" * (1 << 20)), "headers": {"Content-Type": FORM}}

    status, answer = await call("sendMessage", raw=request)

    assert (status, answer["description"]) == (413, "Request Entity Too Large: too many parameters")


@pytest.mark.parametrize("body", [b"{", b"[1]", b"[" * 100_000, b""])
async def test_a_body_that_is_no_json_object_has_no_parameters(call, body):
    request = {"data": body, "headers": {"Content-Type": "application/json"}}

    assert await call("sendMessage", raw=request) == refused(400, "Bad Request: message text is empty")


# Faults


async def test_a_planned_429_says_when_to_come_back_in_body_and_header(http, telegram):
    telegram.fail_next(429, retry_after=timedelta(seconds=7))

    async with http.post(f"/bot{EXAMPLE_TOKEN}/sendMessage", json={"chat_id": NEWS, "text": "x"}) as response:
        answer = response.status, await response.json()

    assert answer == refused(429, "Too Many Requests: retry after 7", retry_after=7)
    assert response.headers["Retry-After"] == "7"
    assert telegram.total == 0


async def test_a_fault_hits_as_often_as_planned_and_only_where_planned(call, telegram):
    telegram.fail_next(403, "Forbidden: bot was kicked from the channel chat", chat=DEALS, times=2)

    codes = [(await call("sendMessage", chat_id=chat, text="x"))[0] for chat in (NEWS, DEALS, DEALS, DEALS)]
    me, _ = await call("getMe")

    assert (codes, me) == ([200, 403, 403, 200], 200)


@pytest.mark.parametrize(("before_effect", "effects"), [(True, 0), (False, 1)])
async def test_a_dropped_connection_leaves_no_answer_and_perhaps_an_effect(
    call, telegram, before_effect, effects
):
    telegram.drop_next(before_effect=before_effect)

    with pytest.raises(aiohttp.ServerDisconnectedError):
        await call("sendMessage", chat_id=NEWS, text="x")

    assert telegram.total == effects


@pytest.mark.parametrize(("before_effect", "effects"), [(True, 0), (False, 1)])
async def test_a_client_that_gives_up_on_a_slow_answer_may_have_had_its_effect(
    call, telegram, before_effect, effects
):
    telegram.slow_next(3600, before_effect=before_effect)

    with pytest.raises(TimeoutError):
        await call(
            "sendMessage",
            raw={"json": {"chat_id": NEWS, "text": "x"}, "timeout": aiohttp.ClientTimeout(total=0.05)},
        )

    assert telegram.total == effects


async def test_a_slow_answer_is_the_same_answer(call, telegram):
    telegram.slow_next(0)

    assert (await call("sendMessage", chat_id=NEWS, text="x"))[1]["result"]["message_id"] == 1


async def test_healing_forgets_what_was_planned(call, telegram):
    telegram.fail_next(500)
    telegram.heal()

    assert (await call("sendMessage", chat_id=NEWS, text="x"))[0] == 200


# The ledger


async def test_the_ledger_forgets_the_oldest_but_counts_all(call, telegram_stage):
    telegram_stage.app = sandbox = TelegramSandbox(ledger_size=2)

    for n in range(3):
        await call("sendMessage", chat_id=NEWS, text=f"{n}")

    assert sandbox.total == 3
    assert sandbox.messages(NEWS) == ["1", "2"]
    assert [effect.text for effect in sandbox.effects(after=2)] == ["2"]
    assert sandbox.effects(after=9) == []


async def test_a_watcher_sees_what_comes_after_it_began_once_and_in_order(call, telegram):
    await call("sendMessage", chat_id=NEWS, text="before")
    seen: list[str] = []

    async with aclosing(telegram.watch()) as watch:
        for n in range(3):
            await call("sendMessage", chat_id=NEWS, text=f"{n}")
        sending = asyncio.create_task(call("sendMessage", chat_id=NEWS, text="late"))
        async for effect in watch:
            seen.append(effect.text)
            if effect.text == "late":
                break
        await sending

    assert seen == ["0", "1", "2", "late"]


async def test_the_ledger_is_read_over_http_from_where_one_stopped(call, http):
    for n in range(3):
        await call("sendMessage", chat_id=NEWS, text=f"{n}")

    async with http.get("sandbox/ledger", params={"after": "1"}) as response:
        page = await response.json()

    assert page["total"] == 3
    assert [(effect["seq"], effect["chat"], effect["text"]) for effect in page["effects"]] == [
        (2, NEWS, "1"),
        (3, NEWS, "2"),
    ]


@pytest.mark.parametrize(
    ("fault", "status"),
    [
        ({"kind": "fail", "code": 502, "times": 2}, 502),
        ({"kind": "fail", "code": 429, "retry_after": 3}, 429),
        ({"kind": "slow", "seconds": 0.001}, 200),
    ],
)
async def test_a_fault_is_planned_over_http(call, http, fault, status):
    async with http.post("sandbox/faults", json=fault) as response:
        assert response.status == 201

    assert (await call("sendMessage", chat_id=NEWS, text="x"))[0] == status


@pytest.mark.parametrize(
    "body",
    [
        "{",
        "[]",
        "{}",
        json.dumps({"kind": "flood"}),
        json.dumps({"kind": "fail"}),
        json.dumps({"kind": "slow", "x": 1}),
    ],
)
async def test_what_is_no_fault_is_refused(http, telegram, body):
    headers = {"Content-Type": "application/json"}
    async with http.post("sandbox/faults", data=body, headers=headers) as response:
        assert response.status == 422
        assert (await response.json())["error"]

    assert not telegram.world.faults
