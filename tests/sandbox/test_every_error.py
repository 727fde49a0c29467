"""Each class of answer that delivery has to tell apart: ordered from either messenger, met on the wire and by the plug."""

import json
import urllib.error
import urllib.request
from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any

import aiohttp
import pytest

from pressroom.adapters.platforms.telegram import PLUG
from pressroom.core.errors import ProviderError
from pressroom.core.http import open_session
from pressroom.ports.platform import Platform, PlatformContext
from pressroom.sandbox.control import plan_fault
from pressroom.sandbox.pytest_plugin import RunningSandbox
from pressroom.sandbox.telegram import EXAMPLE_TOKEN
from tests.adapters.platforms.conformance import assert_presentable, channel, kinds, meta

CUT = 0
LATE = -1
SLOW, PATIENCE, LONGER = 0.3, 0.1, 0.5  # seconds: of the fault, of the client, of whoever waits past both

Answer = tuple[int, dict[str, Any], str | None]


def send(sandbox: RunningSandbox, provider: str, text: str = "x", *, patience: float = 10) -> Answer:
    """Status, answer and Retry-After; CUT when the connection ended without an answer, LATE when none came in time."""
    if provider == "telegram":
        url, headers = f"{sandbox.telegram_url}/bot{sandbox.token}/sendMessage", {}
        body: dict[str, Any] = {"chat_id": sandbox.chat, "text": text}
    else:
        url = f"{sandbox.max_url}/messages?chat_id={sandbox.max_chat}"
        body, headers = {"text": text}, {"Authorization": sandbox.max_token}
    request = urllib.request.Request(
        url, data=json.dumps(body).encode(), headers={"Content-Type": "application/json", **headers}
    )
    try:
        with urllib.request.urlopen(request, timeout=patience) as response:
            return response.status, json.load(response), None
    except urllib.error.HTTPError as error:
        with error:
            return error.code, json.load(error), error.headers.get("Retry-After")
    except TimeoutError:
        return LATE, {}, None
    except OSError:
        return CUT, {}, None


def effects(sandbox: RunningSandbox, provider: str) -> list[str]:
    return [effect["text"] for effect in sandbox.control.ledger(provider=provider)]


def telegram_says(code: int, description: str, **parameters: int) -> dict[str, Any]:
    said: dict[str, Any] = {"ok": False, "error_code": code, "description": description}
    return said | {"parameters": parameters} if parameters else said


def max_says(code: str, message: str) -> dict[str, Any]:
    return {"code": code, "message": message}


# By code

TELEGRAM_BY_CODE = {
    400: "Bad Request",
    401: "Unauthorized",
    403: "Forbidden",
    404: "Not Found",
    409: "Conflict",
    429: "Too Many Requests",
    500: "Internal Server Error",
    502: "Bad Gateway",
    503: "Service Unavailable",
    504: "Gateway Timeout",
}
MAX_BY_CODE = {
    400: ("proto.payload", "Can't deserialize body"),
    401: ("verify.token", "Invalid access_token"),
    403: ("access.denied", "Access denied"),
    404: ("not.found", "Not found"),
    405: ("method.not.allowed", "Method is not allowed"),
    413: ("proto.payload", "Bad request"),
    429: ("too.many.requests", "Too many requests"),
    500: ("internal.error", "Internal error, id: 0000000000000000"),
    502: ("service.unavailable", "Service is temporarily unavailable"),
    503: ("service.unavailable", "Service is temporarily unavailable"),
    504: ("service.unavailable", "Service is temporarily unavailable"),
}
BY_CODE = [
    *(("telegram", code, telegram_says(code, said)) for code, said in TELEGRAM_BY_CODE.items()),
    *(("max", code, max_says(*said)) for code, said in MAX_BY_CODE.items()),
]


@pytest.mark.spec("AP-018")
@pytest.mark.parametrize(("provider", "code", "body"), BY_CODE)
def test_every_status_comes_with_the_providers_own_words_and_without_an_effect(
    pressroom_sandbox, provider, code, body
):
    pressroom_sandbox.control.plan("fail", provider=provider, code=code)

    assert send(pressroom_sandbox, provider) == (code, body, None)
    assert effects(pressroom_sandbox, provider) == []


@pytest.mark.spec("AP-018")
@pytest.mark.parametrize(
    ("provider", "body"),
    [
        ("telegram", telegram_says(429, "Too Many Requests: retry after 7", retry_after=7)),
        ("max", max_says("too.many.requests", "Too many requests")),
    ],
)
def test_a_429_says_when_to_come_back(pressroom_sandbox, provider, body):
    pressroom_sandbox.control.plan("fail", provider=provider, code=429, retry_after=7)

    assert send(pressroom_sandbox, provider) == (429, body, "7")
    assert effects(pressroom_sandbox, provider) == []


@pytest.mark.spec("AP-018")
@pytest.mark.parametrize(("provider", "ok"), [("telegram", "ok"), ("max", "message")])
def test_without_a_fault_a_send_is_a_send(pressroom_sandbox, provider, ok):
    status, said, _ = send(pressroom_sandbox, provider)

    assert (status, bool(said[ok]), effects(pressroom_sandbox, provider)) == (200, True, ["x"])


# By name

TELEGRAM_BY_NAME = {
    "flood": telegram_says(429, "Too Many Requests: retry after 1", retry_after=1),
    "unauthorized": telegram_says(401, "Unauthorized"),
    "blocked": telegram_says(403, "Forbidden: bot was blocked by the user"),
    "deactivated": telegram_says(403, "Forbidden: user is deactivated"),
    "not_started": telegram_says(403, "Forbidden: bot can't initiate conversation with a user"),
    "kicked": telegram_says(403, "Forbidden: bot was kicked from the channel chat"),
    "kicked_group": telegram_says(403, "Forbidden: bot was kicked from the group chat"),
    "kicked_supergroup": telegram_says(403, "Forbidden: bot was kicked from the supergroup chat"),
    "not_member": telegram_says(403, "Forbidden: bot is not a member of the channel chat"),
    "no_rights": telegram_says(400, "Bad Request: need administrator rights in the channel chat"),
    "chat_not_found": telegram_says(400, "Bad Request: chat not found"),
    "migrated": telegram_says(
        400,
        "Bad Request: group chat was upgraded to a supergroup chat",
        migrate_to_chat_id=-1000000000001,
    ),
    "too_long": telegram_says(400, "Bad Request: message is too long"),
    "not_modified": telegram_says(
        400,
        "Bad Request: message is not modified: specified new message content and reply markup are exactly the same"
        " as a current content and reply markup of the message",
    ),
    "group_deleted": telegram_says(403, "Forbidden: the group chat was deleted"),
    "query_too_old": telegram_says(
        400, "Bad Request: query is too old and response timeout expired or query ID is invalid"
    ),
    "edit_not_found": telegram_says(400, "Bad Request: message to edit not found"),
    "reply_not_found": telegram_says(400, "Bad Request: message to be replied not found"),
    "not_found": telegram_says(404, "Not Found"),
    "media_expired": telegram_says(400, "Bad Request: wrong file_id or the file is temporarily unavailable"),
    "url_failed": telegram_says(400, "Bad Request: failed to get HTTP URL content"),
    "conflict": telegram_says(
        409,
        "Conflict: terminated by other getUpdates request; make sure that only one bot instance is running",
    ),
    "webhook_active": telegram_says(
        409,
        "Conflict: can't use getUpdates method while webhook is active; use deleteWebhook to delete the webhook"
        " first",
    ),
    "too_large": telegram_says(413, "Request Entity Too Large"),
    "restart": telegram_says(500, "Internal Server Error: restart"),
    "bad_gateway": telegram_says(502, "Bad Gateway"),
}
MAX_BY_NAME = {
    "bad_request": (400, "proto.payload", "Can't deserialize body"),
    "not_ready": (400, "attachment.not.ready", "Key: errors.process.attachment.file.not.processed"),
    "expired": (400, "proto.payload", "Invalid photo token provided: expired"),
    "upload_failed": (400, "proto.payload", "Failed to upload image."),
    "unauthorized": (401, "verify.token", "Invalid access_token"),
    "blocked": (403, "chat.denied", "Key: error.dialog.suspended, args: [0,]."),
    "not_admin": (403, "chat.denied", "chat.send.msg.no.permission.because.not.admin"),
    "admin_only": (403, "chat.denied", "Method is available only for chat administrator"),
    "kicked": (403, "chat.denied", "Bot is not a member of the chat"),
    "access_denied": (403, "access.denied", "Access denied"),
    "not_found": (404, "not.found", "Not found"),
    "chat_not_found": (404, "chat.not.found", "Chat not found"),
    "no_dialog": (404, "chat.not.found", "dialog.not.found"),
    "not_allowed": (405, "method.not.allowed", "Method is not allowed"),
    "flood": (429, "too.many.requests", "Too many requests"),
    "internal": (500, "internal.error", "Internal error, id: 0000000000000000"),
    "unavailable": (503, "service.unavailable", "Service is temporarily unavailable"),
}


@pytest.mark.spec("AP-018")
def test_every_error_of_telegram_that_has_a_name_is_said_in_its_words(pressroom_sandbox):
    names = pressroom_sandbox.control.overview()["providers"]["telegram"]["errors"]
    answers = {name: _ordered(pressroom_sandbox, "telegram", name) for name in names}

    assert answers == {name: (said["error_code"], said) for name, said in TELEGRAM_BY_NAME.items()}
    assert effects(pressroom_sandbox, "telegram") == []


@pytest.mark.spec("AP-018")
def test_every_error_of_max_that_has_a_name_is_said_in_its_words(pressroom_sandbox):
    names = pressroom_sandbox.control.overview()["providers"]["max"]["errors"]
    answers = {name: _ordered(pressroom_sandbox, "max", name) for name in names}

    assert answers == {name: (status, max_says(*said)) for name, (status, *said) in MAX_BY_NAME.items()}
    assert effects(pressroom_sandbox, "max") == []


def _ordered(sandbox: RunningSandbox, provider: str, name: str) -> tuple[int, dict[str, Any]]:
    sandbox.control.plan("fail", provider=provider, name=name)
    return send(sandbox, provider)[:2]


@pytest.mark.spec("AP-018")
def test_max_is_not_ready_with_an_attachment_as_often_as_one_likes(pressroom_sandbox):
    pressroom_sandbox.max.fail_next(name="not_ready", times=2)

    answers = [send(pressroom_sandbox, "max") for _ in range(3)]

    assert [(status, said.get("code")) for status, said, _ in answers] == [
        (400, "attachment.not.ready"),
        (400, "attachment.not.ready"),
        (200, None),
    ]


# Without an answer, or with one that does not say whether it happened

PROVIDERS = pytest.mark.parametrize("provider", ["telegram", "max"])


@pytest.mark.spec("AP-018")
@PROVIDERS
@pytest.mark.parametrize(("before_effect", "seen"), [(True, []), (False, ["x"])])
def test_a_connection_is_cut_before_or_after_the_effect(pressroom_sandbox, provider, before_effect, seen):
    pressroom_sandbox.control.plan("drop", provider=provider, before_effect=before_effect)

    assert send(pressroom_sandbox, provider)[0] == CUT
    assert effects(pressroom_sandbox, provider) == seen


@pytest.mark.spec("AP-018")
@PROVIDERS
def test_a_gateway_fails_after_the_effect(pressroom_sandbox, provider):
    pressroom_sandbox.control.plan("fail", provider=provider, code=502, before_effect=False)

    assert send(pressroom_sandbox, provider)[0] == 502
    assert effects(pressroom_sandbox, provider) == ["x"]


@pytest.mark.spec("AP-018")
@PROVIDERS
def test_who_does_not_wait_for_a_slow_answer_prevents_the_effect_for_good(pressroom_sandbox, provider):
    control = pressroom_sandbox.control
    control.plan("slow", provider=provider, seconds=SLOW, before_effect=True)
    control.plan("slow", provider=provider, seconds=LONGER, before_effect=True)

    impatient = send(pressroom_sandbox, provider, "impatient", patience=PATIENCE)
    patient = send(pressroom_sandbox, provider, "patient")  # answered when the other's time has long passed

    assert (impatient[0], patient[0]) == (LATE, 200)
    assert effects(pressroom_sandbox, provider) == ["patient"]
    assert [call["status"] for call in control.calls()] == [0, 200]


@pytest.mark.spec("AP-018")
@PROVIDERS
def test_a_slow_answer_may_come_after_the_effect_and_too_late(pressroom_sandbox, provider):
    pressroom_sandbox.control.plan("slow", provider=provider, seconds=SLOW, before_effect=False)

    impatient = send(pressroom_sandbox, provider, "impatient", patience=PATIENCE)

    assert impatient[0] == LATE
    assert next(pressroom_sandbox.control.follow(after=0))["text"] == "impatient"
    assert effects(pressroom_sandbox, provider) == ["impatient"]


# Behind the plug


@pytest.fixture
async def http(telegram_stage) -> AsyncIterator[aiohttp.ClientSession]:
    """The product's own client, for which telegram.sandbox is the emulator."""
    hosts = {"telegram.sandbox": ("127.0.0.1", telegram_stage.port)}
    async with open_session(hosts=hosts, user_agent="Pressroom test") as session:
        yield session


@pytest.fixture
def platform(http, telegram) -> Platform:
    return PLUG.open(PlatformContext(http))


OF_THE_DELIVERY = ("PERMANENT", "delivery", "refused")
OF_THE_CHANNEL = ("PERMANENT", "channel", "refused")
LATER = ("TRANSIENT", "platform", "refused")
WHO_KNOWS = ("TRANSIENT", "platform", "unknown")


@pytest.mark.spec("AP-018")
@pytest.mark.parametrize(
    ("fault", "kind", "code", "seen"),
    [
        ({"kind": "fail", "code": 400}, OF_THE_DELIVERY, "400", []),
        ({"kind": "fail", "name": "too_long"}, OF_THE_DELIVERY, "400", []),
        ({"kind": "fail", "name": "chat_not_found"}, OF_THE_CHANNEL, "400", []),
        ({"kind": "fail", "name": "no_rights"}, OF_THE_CHANNEL, "400", []),
        ({"kind": "fail", "name": "migrated"}, OF_THE_CHANNEL, "400", []),
        ({"kind": "fail", "code": 401}, OF_THE_CHANNEL, "401", []),
        ({"kind": "fail", "code": 403}, OF_THE_CHANNEL, "403", []),
        ({"kind": "fail", "name": "blocked"}, OF_THE_CHANNEL, "403", []),
        ({"kind": "fail", "name": "kicked"}, OF_THE_CHANNEL, "403", []),
        ({"kind": "fail", "code": 404}, OF_THE_CHANNEL, "404", []),
        ({"kind": "fail", "code": 429}, LATER, "429", []),
        ({"kind": "fail", "code": 429, "retry_after": 7}, LATER, "429", []),
        ({"kind": "fail", "code": 503}, LATER, "503", []),
        ({"kind": "fail", "code": 500}, WHO_KNOWS, "500", []),
        ({"kind": "fail", "code": 502}, WHO_KNOWS, "502", []),
        ({"kind": "fail", "code": 502, "before_effect": False}, WHO_KNOWS, "502", ["Hello"]),
        ({"kind": "drop", "before_effect": True}, WHO_KNOWS, "disconnected", []),
        ({"kind": "drop", "before_effect": False}, WHO_KNOWS, "disconnected", ["Hello"]),
        ({"kind": "slow", "seconds": 5, "before_effect": True}, WHO_KNOWS, "timeout", []),
        ({"kind": "slow", "seconds": 5, "before_effect": False}, WHO_KNOWS, "timeout", ["Hello"]),
    ],
)
async def test_delivery_tells_the_classes_apart(platform, telegram, fault, kind, code, seen):
    plan_fault(telegram.world, {"provider": "telegram", **fault})
    where = channel("telegram", "http://telegram.sandbox", token=EXAMPLE_TOKEN)
    patience = timedelta(seconds=0.5 if fault["kind"] == "slow" else 10)

    with pytest.raises(ProviderError) as caught:
        await platform.send_text(where, "Hello", meta(timeout=patience))

    error = caught.value
    assert (kinds(error), error.code) == (kind, code)
    assert error.retry_after == (timedelta(seconds=fault["retry_after"]) if "retry_after" in fault else None)
    assert telegram.messages(int(where.target_id)) == seen
    assert_presentable(error, EXAMPLE_TOKEN)


@pytest.mark.spec("AP-018")
async def test_delivery_succeeds_when_the_fault_has_hit(platform, telegram):
    plan_fault(telegram.world, {"kind": "fail", "code": 500})
    where = channel("telegram", "http://telegram.sandbox", token=EXAMPLE_TOKEN)

    with pytest.raises(ProviderError):
        await platform.send_text(where, "Hello", meta())
    receipt = await platform.send_text(where, "Hello", meta())

    assert (receipt.provider_message_id, telegram.messages(int(where.target_id))) == ("1", ["Hello"])
