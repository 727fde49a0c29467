"""Requests as tdnet's HttpReader takes and refuses them."""

import gzip
import io
import json
import tracemalloc
import zlib

import pytest

from pressroom.sandbox.core.wire import TooLarge
from pressroom.sandbox.telegram.parameters import _decompressed
from tests.sandbox.telegram.api import NEWS, form, png

FORM = "multipart/form-data; boundary=b"
MISSING = "message text is empty"
JSON = "application/json"


def part(content: bytes, disposition: str = 'form-data; name="text"', *more: str) -> bytes:
    lines = "\r\n".join((f"Content-Disposition: {disposition}", *more))
    return b"--b\r\n" + lines.encode() + b"\r\n\r\n" + content + b"\r\n"


CHAT = part(str(NEWS).encode(), 'form-data; name="chat_id"')


async def sent(api, body: bytes, content_type: str = FORM, **headers: str) -> tuple[int, str]:
    """The text that was sent, or the refusal."""
    headers = {"Content-Type": content_type, **headers}
    status, answer = await api.send("sendMessage", data=io.BytesIO(body), headers=headers)
    return status, answer["result"]["text"] if answer["ok"] else answer["description"]


@pytest.mark.parametrize(
    ("content_type", "body"),
    [
        (FORM, CHAT + part("Привет\r\n--c".encode()) + b"--b--"),
        (FORM, b"what stands before\r\n" + CHAT + part("Привет\r\n--c".encode()) + b"--b--\r\nand after"),
        ('multipart/form-data; boundary="b"', CHAT + part("Привет\r\n--c".encode()) + b"--b--"),
        ("Multipart/Form-Data; BOUNDARY=b; charset=x", CHAT + part("Привет\r\n--c".encode()) + b"--b--"),
        (FORM, CHAT + part("Привет\r\n--c".encode(), "form-data; name=text") + b"--b--"),
        (FORM, CHAT + part("Привет\r\n--c".encode(), "form-data; name=te%78t ; x=y") + b"--b--"),
        (FORM, CHAT + part("Привет\r\n--c".encode(), r'form-data; name="te\xt"') + b"--b--"),
        (FORM, CHAT + part("Привет\r\n--c".encode(), 'form-data;\r\n name="text"') + b"--b--"),
        (FORM, CHAT + part("Привет\r\n--c".encode(), 'form-data; name="text"', "X-Y: z") + b"--b--"),
    ],
)
async def test_a_form_is_read_as_leniently_as_by_the_real_server(api, content_type, body):
    assert await sent(api, body, content_type) == (200, "Привет\n--c")


async def test_a_part_may_hold_a_whole_query(api):
    body = part(
        f"chat_id={NEWS}&text=a+b".encode(),
        'form-data; name="x"',
        "Content-Type: application/x-www-form-urlencoded",
    )

    assert await sent(api, body + b"--b--") == (200, "a b")


@pytest.mark.parametrize(
    ("content_type", "body", "refusal"),
    [
        ("multipart/form-data", b"x", "boundary not found"),
        ("multipart/form-data; boundary", b"x", "boundary value not found"),
        ("multipart/form-data; boundary=", b"x", "boundary too big or empty"),
        ("multipart/form-data; boundary=" + "b" * 71, b"x", "boundary too big or empty"),
        (FORM, b"no boundary in here", "unexpected end of request content"),
        (FORM, CHAT, "unexpected end of request content"),
        (FORM, CHAT + b"--b", "unexpected end of request content"),
        (FORM, CHAT + b"--b\r\nContent-Disposition: form-data; name=x", "unexpected end of request content"),
        (FORM, b"--b\r\n\r\nx\r\n--b--", "headers in multipart/form-data are empty"),
        (FORM, b"--b\r\nno header\r\n\r\nx\r\n--b--", "can't parse form data headers"),
        (FORM, b"--b\r\nX: y\r\n\r\nx\r\n--b--", "field name in multipart/form-data not found"),
        (FORM, part(b"", "attachment; name=x"), "expected form-data content disposition"),
        (FORM, part(b"", 'form-data; name="x'), "unclosed quoted string in Content-Disposition header"),
        (FORM, part(b"", 'form-data; name="x\\'), "wrong escape sequence in Content-Disposition header"),
        (FORM, part(b"", 'form-data; name="x" y'), "expected ';' in Content-Disposition header"),
    ],
)
async def test_a_broken_form_is_refused_in_the_real_words(api, content_type, body, refusal):
    assert await sent(api, body, content_type) == (400, f"Bad Request: {refusal}")


async def test_headers_of_parts_have_a_limit_together(api):
    body = b"".join(part(b"x", "form-data; name=x", "X: " + "y" * 100_000) for _ in range(3)) + b"--b--"

    assert await sent(api, body) == (431, "Request Header Fields Too Large: total headers size exceeded")


async def test_a_field_has_a_limit_and_files_have_none_of_it(api):
    large = b"x" * (1 << 20)
    as_file = part(large, 'form-data; name="x"; filename="x"')

    assert await sent(api, part(large + b"x") + b"--b--") == (
        413,
        "Request Entity Too Large: too many parameters in form data",
    )
    assert await sent(api, as_file + CHAT + part(b"hi") + b"--b--") == (200, "hi")


async def test_a_request_has_at_most_fifty_files(api):
    files = [part(b"x", f'form-data; name="{n}"; filename=""') for n in range(51)]

    assert await sent(api, b"".join(files[:50]) + CHAT + part(b"hi") + b"--b--") == (200, "hi")
    assert await sent(api, b"".join(files) + b"--b--") == (
        413,
        "Request Entity Too Large: too many files attached",
    )


async def test_more_than_the_hosted_server_takes_is_too_large(api):
    body = part(b"x" * (52 << 20), 'form-data; name="document"; filename="x"') + b"--b--"

    assert await sent(api, body) == (413, "Request Entity Too Large")


async def test_contents_of_files_arrive_byte_by_byte(api):
    content = bytes(range(256)) * 3 + b"\r\n--b\r\r\n--a\r\n"
    status, answer = await api("sendDocument", files={"document": ("x.bin", content)}, chat_id=NEWS)
    path = (await api.result("getFile", file_id=answer["result"]["document"]["file_id"]))["file_path"]

    async with api.http.get(f"/file/bot{api.token}/{path}") as response:
        assert (status, await response.read()) == (200, content)


async def test_a_body_of_another_type_is_one_file(api):
    status, answer = await api.send(
        "sendDocument",
        params={"chat_id": str(NEWS), "document": "attach://file"},
        data=b"%PDF-1.4",
        headers={"Content-Type": "application/pdf"},
    )

    assert (status, answer["result"]["document"]["mime_type"]) == (200, "application/pdf")


@pytest.mark.parametrize("encoding", ["gzip", "deflate"])
async def test_bodies_may_be_compressed(api, encoding):
    body = json.dumps({"chat_id": NEWS, "text": "hi"}).encode()
    packed = gzip.compress(body) if encoding == "gzip" else zlib.compress(body)

    assert await sent(api, packed, JSON, **{"Content-Encoding": encoding}) == (200, "hi")


@pytest.mark.parametrize(
    ("body", "encoding", "status", "refusal"),
    [
        (b"{}", "br", 415, "Unsupported Media Type: unsupported content-encoding"),
        (b"no gzip", "gzip", 400, "Bad Request: failed to decode the request content"),
        (gzip.compress(b"{}")[:-9], "gzip", 400, "Bad Request: unexpected end of request content"),
        (gzip.compress(b" " * (2 << 20)), "gzip", 413, "Request Entity Too Large: too many parameters"),
    ],
)
async def test_a_compressed_body_is_refused_when_it_is_none_or_too_much(api, body, encoding, status, refusal):
    assert await sent(api, body, JSON, **{"Content-Encoding": encoding}) == (status, refusal)


@pytest.mark.parametrize(
    ("body", "text"),
    [
        (f'{{"chat_id":{NEWS},"text":"hi",', "hi"),
        (f' {{ "chat_id" : {NEWS} , "text" : "hi" , "x" : nonsense}}', "hi"),
        (f'{{"chat_id":{NEWS},"text":"hi"}} and more', "hi"),
        (f'{{"chat_id":{NEWS},"text":12.50}}', "12.5"),
        (f'{{"chat_id":{NEWS},"text":"hi","reply_markup":{{"inline_keyboard":[]}}}}', "hi"),
    ],
)
async def test_parameters_before_a_break_in_the_json_count(api, body, text):
    assert await sent(api, body.encode(), JSON) == (200, text)


@pytest.mark.parametrize("body", ['"text"', "null", "x{", '{"chat_id" 7', "[" * 1000, '{"a":' * 2000])
async def test_json_that_is_no_object_has_no_parameters(api, body):
    assert await sent(api, body.encode(), JSON) == (400, f"Bad Request: {MISSING}")


async def test_null_is_a_word_like_any_other(api):
    assert await api.refusal("sendMessage", chat_id=NEWS, text="x", parse_mode=None) == "unsupported parse_mode"


async def test_other_verbs_are_not_implemented(api):
    status, answer = await api.send("getMe", verb="PUT")

    assert (status, answer["description"]) == (501, "Not Implemented")


async def test_a_query_over_a_megabyte_with_its_body_is_too_much(api):
    query = {"text": "x" * 20_000}

    status, answer = await api.send(
        "sendMessage",
        params=query,
        data=io.BytesIO(b"y" * ((1 << 20) - 19_000)),
        headers={"Content-Type": "application/x-www-form-urlencoded"},
    )

    assert (status, answer["description"]) == (413, "Request Entity Too Large: too many parameters")


async def test_the_first_of_a_name_counts_for_files_too(api):
    data = form({"chat_id": NEWS}, {"photo": ("a.png", png(10, 20))})
    data.add_field("photo", png(30, 40), filename="b.png")

    status, answer = await api.send("sendPhoto", data=data)

    assert (status, answer["result"]["photo"][-1]["width"]) == (200, 10)


async def test_a_field_may_fill_the_room(api):
    exactly = b"x" * (1 << 20)

    assert await sent(api, CHAT + part(exactly) + b"--b--") == (400, "Bad Request: text is too long")


def test_a_bomb_is_not_blown_up_before_it_is_refused():
    bomb = gzip.compress(bytes(64 << 20), compresslevel=1)

    tracemalloc.start()
    with pytest.raises(TooLarge):
        _decompressed(bomb, "gzip", 1 << 20)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert most < 8 << 20
