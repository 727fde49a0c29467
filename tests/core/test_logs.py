import base64
import io
import json
import logging
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pytest
import structlog
from hypothesis import given
from hypothesis import strategies as st

from pressroom.core.logs import MASK, configure_logs, is_sensitive, redact, redacted

TELEGRAM = "123456789:AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw0"
MAX = "f9LHodD0cOK84NIrQMJHPRnik8266f6x7drNxJrLZ49v5-gGwdY9o0KJHBJNNudPUO-TyPkhZ5VkAO0Z9G9S"
VK = "vk1.a.9kXyQ3rUu0dT5eZ1_pLw2mN8bVcAsDfGhJkLqWeRtYuIoP"
OURS = "prs_push_6tJxQ0V1mYb2nW8cR4kZsL7pE3uHgTfA9dXoNiBqCvM"
JWT = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U"

KEY = f"k0a1b2c3d:{base64.b64encode(bytes(range(200, 232))).decode()}"

SECRETS = {
    "telegram": (TELEGRAM, "AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw0"),
    "telegram in a URL": (f"https://api.telegram.org/bot{TELEGRAM}/sendMessage", "AAHdqTcv"),
    "telegram in a URL, escaped": (f"GET /bot{TELEGRAM.replace(':', '%3A')}/getMe", "AAHdqTcv"),
    "a short token of the sandbox": ("POST http://telegram.sandbox/bot1:abc/sendMessage", "abc"),
    "max": (f"Authorization header was {MAX}", MAX),
    "vk": (f"https://api.vk.com/method/wall.post?access_token={VK}&v=5.199", "9kXyQ3r"),
    "vk alone": (VK, "9kXyQ3r"),
    "vk, older": (f"?access_token={'ab12' * 21}f", "ab12ab12"),
    "ours": (f"no endpoint has {OURS}", "6tJxQ0V1"),
    "ours in a path": (f"POST /ingest/push/{OURS} HTTP/1.1", "6tJxQ0V1"),
    "anything in the push path": ("POST /ingest/push/hunter2?x=1", "hunter2"),
    "after a slash in the push path": ("POST /ingest/push/one/hunter2/x?y HTTP/1.1", "hunter2"),
    "after an extra slash in the push path": ("POST /ingest//push//hunter2 HTTP/1.1", "hunter2"),
    "a question mark in the push path": ("/ingest/push/one?hunter2", "hunter2"),
    "a sealing key": (f"the key is {KEY}", KEY.partition(":")[2]),
    "the second of two sealing keys": (f"PRESSROOM_SECRET_KEYS=one:{'A' * 43}=,{KEY}", KEY.partition(":")[2]),
    "a short header of MAX": ("X-Max-Bot-Api-Secret: abcde", "abcde"),
    "a short header of Telegram": ("x-telegram-bot-api-secret-token: abc", "abc"),
    "a short header of ours": ("curl -H 'X-Pressroom-Secret: abc' http://x", "abc"),
    "a short header, as the server keeps it": (repr([(b"x-max-bot-api-secret", b"abc")]), "abc"),
    "bearer": (f"Authorization: Bearer {OURS}", "6tJxQ0V1"),
    "bearer of another kind": ("sent bearer 8f3a99c1d2 to it", "8f3a99c1d2"),
    "authorization without a scheme": ("authorization: a-token-of-max", "a-token-of-max"),
    "basic": ("Authorization: Basic dXNlcjpodW50ZXIy", "dXNlcjpodW50ZXIy"),
    "header": ("X-Telegram-Bot-Api-Secret-Token: 1f3c5e7a9b", "1f3c5e7a9b"),
    "header as a dict": (repr({"X-Max-Bot-Api-Secret": "its secret, with spaces"}), "with spaces"),
    "postgres": ("postgresql://pressroom:hunter2@db:5432/pressroom", "hunter2"),
    "postgres, awkward": ("connect postgres://u:p@ss/w:rd@db/x failed", "ss/w:rd"),
    "postgres by name": ("host=db user=u password=hunter2 dbname=x", "hunter2"),
    "basic auth in a URL": ("https://user:hunter2@example.com/feed", "hunter2"),
    "jwt": (f"session {JWT} expired", "dozjgNryP4J3"),
    "aws": ("AKIAIOSFODNN7EXAMPLE", "IOSFODNN7"),
    "aws secret": ("aws_secret_access_key=wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", "wJalrXUtn"),
    "openai": ("Incorrect API key provided: sk-proj-4fT9aBcDeF0123456789xyz", "4fT9aBc"),
    "openrouter": ("sk-or-v1-0123456789abcdef0123456789abcdef", "0123456789abcdef"),
    "github": ("ghp_16C7e42F292c6912E7710c838347Ae178B4a", "16C7e42F"),
    "slack": ("xoxb-2345678901-abcdefghijkl", "2345678901"),
    "google": ("AIzaSyA1234567890abcdefghijklmnopqrstuv", "SyA1234567890"),
    "payments": ("live_aB3dE5gH7jK9mN1pQ3sT5vW7yZ9bD1fG", "aB3dE5gH7"),
    "private key": (
        "-----BEGIN RSA PRIVATE KEY-----\nMIIEow\nIBAAK\n-----END RSA PRIVATE KEY----- x",
        "MIIEow",
    ),
    "json": ('{"client_secret": "hunter2", "id": 1}', "hunter2"),
    "a value's repr": ("Channel(target_id='@news', token='hunter2')", "hunter2"),
    "query": ("GET /callback?code=1&api_key=hunter2&x=2", "hunter2"),
    "settings": ("PRESSROOM_SECRET_KEYS=k1:AAECAwQFBgcICQoLDA0ODw==", "AAECAwQ"),
}

HARMLESS = [
    "the token was revoked; token: revoked",
    "password: must be longer",
    "token_id=news-bot verbs=read,write",
    "prompt_tokens=1200 max_tokens=4000",
    "claim_token=0191f2a4-7c1e-7000-8000-1234567890ab",
    "secret_ref=env:TELEGRAM_NEWS_TOKEN",
    "bearer tokens are checked",
    "basic authentication is not offered",
    'send `Authorization: Bearer <token>`; -H "Authorization: Bearer $TOKEN"',
    "a risk-management-and-planning-sheet, task-0123456789",
    "test_a_429_is_retried_and_then_sent_to_the_channel",
    "https://example.com:8080/feed?mail=editor@example.com",
    "postgresql://localhost:5432/pressroom",
    "postgresql://pressroom@/postgres?host=/tmp/pg&port=5999",
    "https://max.ru/u/f9LHodD0cOLx5I9Piq5WiNKdBwiT4Vi7KPs14g1kcC1SpPlxP4HH0QCb03w",
    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    "0191f2a4-7c1e-7000-8000-1234567890ab",
    "4bf92f3577b34da6a3ce929d0e0e4736",
    "2026-11-18T22:20:56.123456Z 22:20:56 [::1]:8800",
    "POST /ingest/push HTTP/1.1",
    "send it as X-Pressroom-Secret, as a bearer token, or as the last part of the path",
    "curl -H 'X-Pressroom-Secret: <secret>'",
    "sealed under the key k0a1b2c3d: put it back",
    "/bots/12/rules and /bottom:line",
    "Секретный ингредиент: щепотка соли. Пароль: какой пароль?",
    "mid.ffffffffffffffff019af3",
    "AgACAgIAAxkBAAIBY2VxQ0V1mYb2nW8cR4kZsL7pE3uHgTfA9dXoNiBqCvMAAx0CAAEAAQ",
    "{'tokens': 12, 'idempotency_key': 'order-17'}",
]


@pytest.mark.parametrize("kind", SECRETS)
def test_a_secret_does_not_survive(kind: str):
    text, secret = SECRETS[kind]

    clean = redact(text)

    assert secret not in clean
    assert MASK in clean
    assert redact(clean) == clean


@pytest.mark.parametrize("text", HARMLESS)
def test_what_only_looks_similar_stays(text: str):
    assert redact(text) == text


def test_what_surrounds_a_secret_stays_readable():
    assert redact(f"POST https://api.telegram.org/bot{TELEGRAM}/sendMessage -> 401") == (
        "POST https://api.telegram.org/bot123456789:***/sendMessage -> 401"
    )
    assert redact("postgresql://pressroom:hunter2@db:5432/x?sslmode=require") == (
        "postgresql://pressroom:***@db:5432/x?sslmode=require"
    )


@given(st.text(max_size=200))
def test_redacting_twice_is_the_same_as_once(text: str):
    assert redact(redact(text)) == redact(text)


@pytest.mark.parametrize(
    "name", ["token", "bot_token", "accessToken", "X-Pressroom-Secret", "Authorization", "apiKey", "Set-Cookie"]
)
def test_a_field_named_like_a_secret_is_one(name: str):
    assert is_sensitive(name)


@pytest.mark.parametrize(
    "name", ["token_id", "tokens", "claim_token", "secret_hash", "auth_ref", "author", "key"]
)
def test_a_field_named_otherwise_is_none(name: str):
    assert not is_sensitive(name)


@dataclass
class Holder:
    token: str


def test_values_are_cleaned_at_every_depth():
    value = {
        "channel": {"auth": [{"token": "hunter2"}, ("x", TELEGRAM.encode())]},
        "password": "",
        "secret": None,
        "token": 7,
        TELEGRAM: "as a key",
        "holder": Holder("hunter2"),
        "error": ValueError(f"401 for bot{TELEGRAM}"),
    }

    clean = redacted(value)

    assert clean == {
        "channel": {"auth": [{"token": MASK}, ["x", "123456789:***"]]},
        "password": "",
        "secret": None,
        "token": 7,
        "123456789:***": "as a key",
        "holder": "Holder(token='***')",
        "error": "ValueError('401 for bot123456789:***')",
    }


Lines = Callable[[], list[dict[str, object]]]


@pytest.fixture
def restored() -> Iterator[None]:
    root = logging.getLogger()
    handlers, level = root.handlers, root.level
    yield
    root.handlers, _ = handlers, root.setLevel(level)
    for name in ("uvicorn.access", "aiohttp.access"):
        logging.getLogger(name).disabled = False
    logging.captureWarnings(False)
    structlog.reset_defaults()
    structlog.contextvars.clear_contextvars()


@pytest.fixture
def logged(restored: None) -> Lines:
    stream = io.StringIO()
    configure_logs("info", "json", stream)
    return lambda: [json.loads(line) for line in stream.getvalue().splitlines()]


def test_a_line_is_json_with_its_trace(logged: Lines):
    structlog.contextvars.bind_contextvars(trace_id="4bf92f3577b34da6a3ce929d0e0e4736")

    structlog.get_logger().info("отправлено", delivery_id="d1", token="hunter2", url=f"/bot{TELEGRAM}/x")
    structlog.get_logger().debug("not at this level")

    [line] = logged()
    assert line.pop("ts")
    assert line == {
        "event": "отправлено",
        "level": "info",
        "trace_id": "4bf92f3577b34da6a3ce929d0e0e4736",
        "delivery_id": "d1",
        "token": MASK,
        "url": "/bot123456789:***/x",
    }


def test_a_traceback_holds_no_secret_and_no_values(logged: Lines):
    password = "hunter2-local"
    try:
        raise ConnectionError(f"postgresql://u:{password}@db refused")
    except ConnectionError:
        structlog.get_logger().exception("the database went away")

    [line] = logged()
    assert "ConnectionError: postgresql://u:***@db refused" in str(line["exception"])
    assert password not in str(line)


def test_libraries_go_the_same_way(logged: Lines):
    root = logging.getLogger()
    root.handlers = [
        handler for handler in root.handlers if type(handler).__module__ == configure_logs.__module__
    ]

    logging.getLogger("asyncio").error("Task failed for %s", f"bot{TELEGRAM}", extra={"ignored": 1})
    logging.getLogger("uvicorn.access").info("GET /ingest/push/%s", OURS)
    logging.getLogger("uvicorn.error").info("Started server process")
    logging.getLogger("some.library").warning("100% wrong", "arguments")

    assert [(line["logger"], line["level"], line["event"]) for line in logged()] == [
        ("asyncio", "error", "Task failed for bot123456789:***"),
        ("some.library", "warning", "100% wrong"),
    ]


def test_a_broken_stream_stops_nobody(restored: None):
    stream = io.StringIO()
    configure_logs("info", "json", stream)
    stream.close()

    structlog.get_logger().info("said into the void")


def test_a_stream_that_knows_no_russian_gets_escapes(restored: None):
    raw = io.BytesIO()
    configure_logs("info", "json", io.TextIOWrapper(raw, encoding="ascii"))

    structlog.get_logger().info("привет")

    assert json.loads(raw.getvalue())["event"] == "привет"


def test_pretty_lines_cannot_steer_the_terminal(restored: None):
    stream = io.StringIO()
    configure_logs("info", "pretty", stream)

    structlog.get_logger().info("\x1b[2Jgone\nforged line", path="/\x1b[31m")

    assert "\x1b" not in stream.getvalue()
    assert stream.getvalue().count("\n") == 1


def test_auto_is_json_where_there_is_no_terminal(restored: None):
    stream = io.StringIO()
    configure_logs("info", "auto", stream)

    structlog.get_logger().info("x")

    assert json.loads(stream.getvalue())["event"] == "x"
