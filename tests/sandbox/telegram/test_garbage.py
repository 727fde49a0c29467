"""Whatever is thrown at it, the emulator answers as the real server would: in its envelope, and never with a 500."""

import asyncio
import contextlib
import json
from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pressroom.sandbox.telegram import EXAMPLE_TOKEN, TelegramSandbox
from pressroom.sandbox.telegram.multipart import read_multipart
from pressroom.sandbox.telegram.refusal import Refusal
from tests.sandbox.telegram.api import FORUM, FRIENDS, NEWS, TEAM, new_sandbox, png

#: Long polling waits, and webhooks would go out.
NOT_THROWN_AT = {"getUpdates", "setWebhook"}
METHODS = sorted({name for name, _ in TelegramSandbox()._methods.values()} - NOT_THROWN_AT)
QUIET = settings(
    max_examples=300,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)

NAMES = (
    "chat_id", "from_chat_id", "message_id", "message_ids", "text", "caption", "parse_mode", "entities",
    "caption_entities", "reply_markup", "reply_parameters", "reply_to_message_id", "message_thread_id", "media",
    "photo", "document", "video", "animation", "audio", "voice", "sticker", "video_note", "file_id", "user_id",
    "link_preview_options", "commands", "scope", "language_code", "name", "title", "description", "permissions",
    "rights", "menu_button", "reaction", "action", "latitude", "longitude", "emoji", "until_date", "thumbnail",
    "inline_message_id", "business_connection_id", "icon_color", "callback_query_id", "offset", "limit",
)  # fmt: skip
WORDS = (
    "", "0", "-1", "1", "true", "yes", "HTML", "MarkdownV2", "typing", "null", "{}", "[]", "[1,2]", '{"type":"chat"}',
    "@pressroom_example_news", "@anna", "attach://x", "attach://", "http://127.0.0.1:1/x.png", "AAAE", "9" * 400,
    "<b>x", "*x", '{"inline_keyboard":[[{"text":"x","callback_data":"y"}]]}', '{"message_id":1}',
    '[{"type":"photo","media":"attach://x"}]', "[" * 5000, "\x00", "\ud83d", "🙂" * 3000, "x" * 40_000,
    *(str(chat) for chat in (NEWS, TEAM, FORUM, FRIENDS)),
)  # fmt: skip
JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.sampled_from(WORDS) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from((*NAMES, "type", "text", "media", "inline_keyboard", "keyboard", "url", "callback_data", "offset", "length", "chat_id")), inner, max_size=4),
    max_leaves=8,
)  # fmt: skip
CHATS = st.sampled_from((NEWS, TEAM, FORUM, FRIENDS))
PARAMETERS = st.dictionaries(st.sampled_from(NAMES), JSON_VALUES, max_size=6) | st.builds(
    lambda right, wrong: {**right, **wrong},
    st.fixed_dictionaries(
        {"chat_id": CHATS, "from_chat_id": CHATS, "message_id": st.just(1), "text": st.just("x")},
        optional={
            "photo": st.just("attach://x"),
            "document": st.just("attach://x"),
            "message_ids": st.just("[1]"),
            "media": st.just('[{"type":"photo","media":"attach://x"}]'),
            "action": st.just("typing"),
        },
    ),
    st.dictionaries(st.sampled_from(NAMES), JSON_VALUES, max_size=3),
)


async def asked(app: Any, path: str, body: bytes = b"", content_type: str = "", query: str = "", verb: str = "POST") -> tuple[int, bytes]:  # fmt: skip
    """The app itself, with what no client would send."""
    given = [{"type": "http.request", "body": body, "more_body": False}]
    answer: list[Any] = []

    async def receive() -> Any:
        return given.pop() if given else await asyncio.Future[Any]()

    async def send(message: Any) -> None:
        answer.append(message)

    scope = {
        "type": "http",
        "method": verb,
        "path": path,
        "query_string": query.encode("utf-8", "surrogatepass"),
        "headers": [(b"content-type", content_type.encode("latin-1", "replace"))],
        "extensions": {},
    }
    await app(scope, receive, send)
    return answer[0]["status"], b"".join(message.get("body", b"") for message in answer)


def check(status: int, body: bytes) -> None:
    answer = json.loads(body)
    assert status in (200, 400, 401, 403, 404, 409, 413, 421, 429, 431, 501), answer
    assert answer["ok"] is (status == 200)
    assert status == 200 or answer["error_code"] == status
    if status == 501:
        assert answer["description"].startswith("Not Implemented")


@pytest.fixture
def app() -> TelegramSandbox:
    sandbox = new_sandbox()
    anna = sandbox.person("Anna", username="anna")
    anna.starts("pressroom_example_bot")
    for chat_id in (TEAM, FORUM, FRIENDS):
        anna.joins(chat_id)
        anna.writes(chat_id, "hello")
    return sandbox


def text_of(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


@QUIET
@given(method=st.sampled_from(METHODS), parameters=PARAMETERS)
async def test_any_json_is_answered(app, method, parameters):
    body = json.dumps(parameters).encode()

    check(*await asked(app, f"/bot{EXAMPLE_TOKEN}/{method}", body, "application/json"))


@QUIET
@given(method=st.sampled_from(METHODS), parameters=PARAMETERS, cut=st.integers(0, 400))
async def test_any_form_is_answered_whole_or_cut(app, method, parameters, cut):
    fields = [(name, text_of(value).encode("utf-8", "surrogatepass")) for name, value in parameters.items()]
    body = b"".join(
        b'--b\r\nContent-Disposition: form-data; name="%b"\r\n\r\n%b\r\n' % (name.encode(), value)
        for name, value in fields
    )
    body += b'--b\r\nContent-Disposition: form-data; name="x"; filename="x.png"\r\n\r\n' + png() + b"\r\n--b--"

    check(
        *await asked(
            app, f"/bot{EXAMPLE_TOKEN}/{method}", body[: len(body) - cut], "multipart/form-data; boundary=b"
        )
    )


@QUIET
@given(method=st.sampled_from(METHODS), parameters=PARAMETERS)
async def test_any_query_is_answered(app, method, parameters):
    query = "&".join(
        f"{name}={quote(text_of(value).encode('utf-8', 'surrogatepass'))}" for name, value in parameters.items()
    )

    check(*await asked(app, f"/bot{EXAMPLE_TOKEN}/{method}", query=query, verb="GET"))


@QUIET
@given(
    body=st.binary(max_size=300),
    content_type=st.sampled_from(
        ("application/json", "application/x-www-form-urlencoded", "multipart/form-data; boundary=b", "multipart/form-data", "text/plain", "")
    )
    | st.text(max_size=40),
    method=st.sampled_from(METHODS),
)  # fmt: skip
async def test_any_bytes_are_answered(app, body, content_type, method):
    check(*await asked(app, f"/bot{EXAMPLE_TOKEN}/{method}", body, content_type))


@QUIET
@given(path=st.text(st.sampled_from("/.%\\:?#bot0123456789\0é\udcff~"), max_size=30))
async def test_any_path_is_answered(app, path):
    for start in ("/", "/bot", f"/bot{EXAMPLE_TOKEN}/", f"/file/bot{EXAMPLE_TOKEN}/", "/file/bot"):
        if not (start + path).startswith("/sandbox"):
            check(*await asked(app, start + path))


@QUIET
@given(pieces=st.lists(st.sampled_from((b"--b", b"\r\n", b"\r\n\r\n", b"--", b"Content-Disposition: form-data; ", b'name="a"', b"; filename=", b"x", b"\0", b"\\", b'"', b":", b";", b"=", b" ")), max_size=25))  # fmt: skip
def test_a_form_is_parsed_or_refused(pieces):
    with contextlib.suppress(Refusal):
        for part in read_multipart("multipart/form-data; boundary=b", b"".join(pieces)):
            assert part.name


@pytest.mark.parametrize("name", ["text", "reply_markup", "entities", "media", "commands", "reply_parameters"])
@pytest.mark.parametrize("content", ["x", "[", '{"a":', "[[],", "🙂", "\\u0000"])
async def test_a_megabyte_of_anything_is_answered(app, name, content):
    value = (content * (1 << 20))[: (1 << 20) - 200].encode()[: (1 << 20) - 200].decode(errors="ignore")
    body = f"chat_id={NEWS}&{name}={value}".encode()

    for method in ("sendMessage", "sendMediaGroup", "setMyCommands"):
        check(*await asked(app, f"/bot{EXAMPLE_TOKEN}/{method}", body, "application/x-www-form-urlencoded"))


HALF = "\ud83d"
HALVES = [
    ("sendMessage", {"text": HALF}),
    ("sendMessage", {"text": "x", "link_preview_options": {"url": HALF}}),
    ("sendMessage", {"text": "x", "reply_markup": {"keyboard": [[HALF]]}}),
    ("sendMessage", {"text": "x", "reply_markup": {"force_reply": True, "input_field_placeholder": HALF}}),
    ("sendMessage", {"text": "x", "reply_markup": {"inline_keyboard": [[{"text": "x", "switch_inline_query": HALF}]]}}),
    ("sendMessage", {"text": "x", "reply_markup": {"inline_keyboard": [[{"text": "x", "copy_text": {"text": HALF}}]]}}),
    ("sendMessage", {"text": "x", "reply_markup": {"inline_keyboard": [[{"text": "x", "callback_data": HALF}]]}}),
    ("sendContact", {"phone_number": HALF, "first_name": HALF}),
    ("sendMediaGroup", {"media": [{"type": "audio", "media": "AAAE", "title": HALF}]}),
    ("setChatTitle", {"title": HALF}),
    ("setChatDescription", {"description": HALF}),
    ("createForumTopic", {"name": HALF}),
    ("setMessageReaction", {"message_id": 1, "reaction": [{"type": "emoji", "emoji": HALF}]}),
    ("setMyName", {"name": HALF}),
]  # fmt: skip


@pytest.mark.parametrize(("method", "parameters"), HALVES)
async def test_half_characters_get_nowhere(api, method, parameters):
    status, answer = await api(method, chat_id=TEAM, **parameters)
    async with api.http.get("sandbox/ledger") as response:
        shown = response.status, await response.text()

    assert shown[0] == 200
    assert status == 400 or "INVALID" in json.dumps(answer)
    assert status == 200 or answer["description"].endswith("must be encoded in UTF-8")
