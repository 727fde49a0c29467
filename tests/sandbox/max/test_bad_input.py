import asyncio
import io
import json

import aiohttp
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pressroom.sandbox.max import EXAMPLE_TOKEN
from pressroom.sandbox.max.app import MaxSandbox
from pressroom.sandbox.max.multipart import Broken, read_parts

NEWS = -70000000000001
AUTH = {"Authorization": EXAMPLE_TOKEN}


@pytest.fixture
def raw(http, sandbox):
    """The status of a request made of anything, and its envelope."""

    async def raw(verb, path, headers=AUTH, **request):
        async with http.request(verb, path, headers=headers, **request) as response:
            return response.status, json.loads(await response.text())

    return raw


@pytest.mark.parametrize(
    ("headers", "path", "status", "code"),
    [
        ({}, "/me", 401, "verify.token"),
        ({"Authorization": "Bearer " + EXAMPLE_TOKEN}, "/me", 401, "verify.token"),
        (AUTH, f"/me?access_token={EXAMPLE_TOKEN}", 403, "deprecated.token"),
        (AUTH, "/me/", 404, "not.found"),
        (AUTH, "/me/../me/nothing", 404, "not.found"),
        (AUTH, "/x//me", 404, "not.found"),
        (AUTH, "/chats/%2e%2e%2fme", 404, "not.found"),
        (AUTH, "/chats/1%002", 404, "chat.not.found"),
        (AUTH, "/" + "x" * 10_000, 404, "not.found"),
        (AUTH, "/chats/99999999999999999999999", 404, "chat.not.found"),
        (AUTH, "/chats/--5", 404, "chat.not.found"),
        (AUTH, "/chats/%C2%B2", 404, "chat.not.found"),
        (AUTH, "/messages/mid.%F0%9F%91%8B", 400, "proto.payload"),
        (AUTH, "/messages?chat_id=1e3", 400, "proto.payload"),
        (AUTH, "/messages?chat_id=99999999999999999999", 400, "proto.payload"),
        (AUTH, "/videos/x", 404, "not.found"),
        (AUTH, "/messages/mid.x/comments", 404, "not.found"),
    ],
)
async def test_addresses_and_tokens_that_are_wrong(raw, headers, path, status, code):
    got, answer = await raw("GET", path, headers)

    assert (got, answer["code"]) == (status, code)


@pytest.mark.parametrize("verb", ["DELETE", "PUT", "PATCH", "OPTIONS", "TRACE"])
async def test_methods_that_are_not_allowed(raw, verb):
    status, answer = await raw(verb, "/me")

    assert (status, answer["code"]) == (405, "method.not.allowed")


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"[]",
        b"5",
        b'"text"',
        b'{"text": ' + b"[" * 100_000,
        b'{"a":' * 500 + b"1" + b"}" * 500,
        b'{"text": "\xff\xfe"}',
        '{"text": "Привет"}'.encode("cp1251"),
        '{"text": "x"}'.encode("utf-16"),
        b'{"text": "\\ud83d"}',
        b'{"\\ud83d": 1, "text": "x"}',
        b'{"text": NaN}',
        b'{"text": 5}',
        b'{"text": "x", "notify": "yes"}',
        b'{"text": "x", "attachments": {}}',
        b'{"text": "x", "attachments": [null]}',
        b'{"text": "x", "link": []}',
        b'{"text": "x", "link": {"type": "quote", "mid": "1"}}',
        b'{"text": "x", "link": {"type": "reply"}}',
        b'{"text": "x", "number": ' + b"9" * 5_000 + b"}",
    ],
)
async def test_bodies_that_are_no_message(raw, sandbox, body):
    status, answer = await raw("POST", f"/messages?chat_id={NEWS}", data=body)

    assert (status, answer["code"]) == (400, "proto.payload")
    assert sandbox.messages(NEWS) == []


async def test_a_body_that_is_too_large_is_not_read_to_its_end(raw):
    status, answer = await raw("POST", f"/messages?chat_id={NEWS}", data=io.BytesIO(b"x" * (1 << 21)))

    assert (status, answer["code"]) == (413, "proto.payload")


@pytest.mark.parametrize(
    ("type_", "body"),
    [
        ("multipart/form-data", b"x"),
        ("multipart/form-data; boundary=", b"x"),
        ("multipart/form-data; boundary=b", b""),
        ("multipart/form-data; boundary=b", b"--b\r\n"),
        ("multipart/form-data; boundary=b", b"--b--\r\n"),
        (
            "multipart/form-data; boundary=b",
            b'--b\r\nContent-Disposition: form-data; name="data"\r\n\r\nno end',
        ),
        ("multipart/form-data; boundary=b", b"--b\r\n\r\nno name\r\n--b--"),
        (
            "multipart/form-data; boundary=b",
            b'--b\r\nContent-Disposition: form-data; name="other"\r\n\r\nx\r\n--b--',
        ),
        ("multipart/form-data; boundary=\xff\xfe", b"x"),
        ("multipart/form-data; boundary=b", b"--b\r\n" * 10_000),
    ],
)
async def test_broken_multipart_is_refused_and_the_address_still_works(call, http, sandbox, type_, body):
    _, address = await call("POST", "/uploads", type="file")

    async with http.post(address["url"], data=body, headers={"Content-Type": type_}) as broken:
        assert broken.status in (400, 415)
        assert (await broken.json())["error_data"]
    form = aiohttp.FormData()
    form.add_field("data", b"x", filename="a.txt")
    async with http.post(address["url"], data=form) as whole:
        assert whole.status == 200


async def test_upload_addresses_that_are_wrong(call, http, sandbox):
    _, address = await call("POST", "/uploads", type="file")
    wrong_kind = address["url"].replace("/file/", "/image/")
    cases = [
        ("POST", "/upload/file/x"),
        ("POST", "/upload/"),
        ("POST", "/upload/file/x/y"),
        ("POST", wrong_kind),
    ]

    for verb, path in cases:
        async with http.request(verb, path, data=b"x") as response:
            assert response.status == 404
    async with http.get(address["url"]) as response:
        assert response.status == 405
    for kind in ("photo", "", "x" * 1000):
        status, _ = await call("POST", "/uploads", type=kind)
        assert status == 400


async def test_a_file_name_never_leaves_its_file(call, http, sandbox):
    _, address = await call("POST", "/uploads", type="file")
    form = aiohttp.FormData(quote_fields=False)
    form.add_field("data", b"x", filename="../../etc/пароли.txt")

    async with http.post(address["url"], data=form) as response:
        token = (await response.json())["token"]

    assert sandbox.uploads.files[token].name == "пароли.txt"


async def test_a_cut_off_request_leaves_the_server_well(call, max_stage, sandbox):
    for head in (
        b"POST /messages?chat_id=1 HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n"
        b"Authorization: " + EXAMPLE_TOKEN.encode() + b"\r\n\r\n{",
        b"\x00\xff\xfe garbage\r\n\r\n",
        b"GET /me HTTP/1.1\r\nHost: \xff\r\nAuthorization: \xff\r\n\r\n",
    ):
        _, writer = await asyncio.open_connection("127.0.0.1", max_stage.port)
        writer.write(head)
        await writer.drain()
        writer.close()
        await writer.wait_closed()

    status, _ = await call("GET", "/me")

    assert status == 200


async def test_an_address_in_answers_is_not_made_of_a_strange_host(call, http, sandbox):
    sandbox.world.any_host = True
    async with http.post(
        "/uploads?type=file", headers={**AUTH, "Host": "evil.example/?x=<script>"}
    ) as response:
        answer = await response.json()

    assert "evil" not in answer["url"]


async def test_a_page_of_another_site_is_not_answered(http, sandbox):
    for headers in {"Host": "evil.example"}, {"Origin": "https://evil.example"}:
        async with http.get("/me", headers={**AUTH, **headers}) as response:
            assert (response.status, (await response.json())["code"]) == (403, "access.denied")


PATHS = [
    "/me",
    "/me/commands",
    "/chats",
    f"/chats/{NEWS}",
    "/chats/%s",
    f"/chats/{NEWS}/actions",
    f"/chats/{NEWS}/pin",
    f"/chats/{NEWS}/members",
    f"/chats/{NEWS}/members/me",
    f"/chats/{NEWS}/members/admins",
    f"/chats/{NEWS}/members/admins/%s",
    "/subscriptions",
    "/uploads",
    f"/messages?chat_id={NEWS}",
    "/messages?user_id=201326592",
    "/messages/%s",
    "/messages/%s/comments",
    "/messages?message_id=%s",
    "/messages?message_ids=%s",
    "/videos/%s",
    "/answers?callback_id=%s",
    "/updates?timeout=0",
    "/upload/file/%s",
    "/media/%s",
    "/%s",
]
FIELDS = ["text", "attachments", "link", "format", "notify", "type", "payload", "buttons", "url", "token", "photos",
          "user_ids", "admins", "user_id", "permissions", "commands", "name", "title", "icon", "pin", "message_id",
          "action", "message", "notification", "update_types", "secret", "latitude", "mid"]  # fmt: skip
VALUES = [
    "image",
    "video",
    "inline_keyboard",
    "callback",
    "share",
    "reply",
    "forward",
    "contact",
    "location",
    "mid.x",
]
scalars = (
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20) | st.sampled_from(VALUES)
)
things = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(FIELDS), inner, max_size=5),
    max_leaves=20,
)


attachments = st.lists(
    st.fixed_dictionaries(
        {"type": st.sampled_from(["image", "video", "file", "inline_keyboard", "share", "contact", "sticker"])},
        optional={"payload": things, "latitude": scalars, "longitude": scalars},
    ),
    max_size=3,
)
buttons = st.lists(
    st.lists(
        st.fixed_dictionaries(
            {
                "type": st.sampled_from(
                    ["callback", "link", "open_app", "clipboard", "message", "request_contact"]
                )
            },
            optional=dict.fromkeys(("text", "payload", "url", "web_app", "contact_id", "intent"), scalars),
        ),
        max_size=3,
    ),
    max_size=3,
)
messages = st.fixed_dictionaries(
    {},
    optional={
        "text": st.none() | st.text(max_size=50),
        "attachments": attachments
        | buttons.map(lambda rows: [{"type": "inline_keyboard", "payload": {"buttons": rows}}]),
        "link": st.fixed_dictionaries(
            {"type": st.sampled_from(["reply", "forward"]), "mid": st.text(max_size=40)}
        ),
        "format": st.sampled_from(["html", "markdown", None]),
        "notify": scalars,
    },
)


class Wire:
    """One request to the app without a network, so that nothing mends it on its way."""

    def __init__(self, body: bytes) -> None:
        self.status, self.answer, self._body = 0, b"", [body]

    async def receive(self):
        if not self._body:
            await asyncio.Event().wait()
        return {"type": "http.request", "body": self._body.pop(), "more_body": False}

    async def send(self, message):
        self.status = message.get("status", self.status)
        self.answer += message.get("body", b"")


@settings(max_examples=400, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    verb=st.sampled_from(["GET", "POST", "PUT", "PATCH", "DELETE"]),
    path=st.sampled_from(PATHS),
    word=st.text(max_size=40) | st.text("-0123456789²", max_size=25) | st.just("201326592"),
    body=st.binary(max_size=200) | (things | messages).map(lambda thing: json.dumps(thing).encode()),
    query=st.binary(max_size=60),
)
async def test_no_garbage_makes_a_server_error(verb, path, word, body, query):
    sandbox = MaxSandbox(rate_limit=None, fetch_images=False)
    sandbox.person("Anna").starts("pressroom_example_bot")
    path, _, given_query = path.replace("%s", word).partition("?")
    scope = {
        "type": "http",
        "method": verb,
        "path": path,
        "scheme": "http",
        "query_string": given_query.encode("utf-8", "replace") + (b"&" + query if query else b""),
        "headers": [(b"authorization", EXAMPLE_TOKEN.encode()), (b"host", b"127.0.0.1")],
    }
    wire = Wire(body)

    await sandbox(scope, wire.receive, wire.send)

    planned = b'"internal.error"' in wire.answer and b"icon" in body
    assert wire.status < 500 or planned, wire.answer
    if not path.startswith("/media/") and wire.status != 200:
        assert set(json.loads(wire.answer)) in ({"code", "message"}, {"error_code", "error_data"})
    await sandbox.aclose()
    await sandbox.world.aclose()


@settings(max_examples=300, deadline=None)
@given(
    st.lists(
        st.sampled_from(
            [
                b"--b",
                b"\r\n",
                b"--",
                b"\r\n\r\n",
                b'Content-Disposition: form-data; name="data"',
                b"\x00",
                b"x",
                b";",
                b'"',
            ]
        ),
        max_size=30,
    ).map(b"".join)
)
def test_broken_multipart_is_only_ever_called_broken(body):
    try:
        parts = read_parts("multipart/form-data; boundary=b", body)
    except Broken:
        return

    assert all(isinstance(part.name, str) for part in parts)
