import asyncio
import base64
import json
from datetime import timedelta

import aiohttp
import pytest
from aiohttp import web

from pressroom.sandbox.max import EXAMPLE_BOT
from pressroom.sandbox.max.model import Bot
from pressroom.sandbox.max.uploads import TICKETS

NEWS = -70000000000001
PNG = b"\x89PNG\r\n\x1a\n\x00\x00\x00\x0dIHDR\x00\x00\x00\x20\x00\x00\x00\x10" + b"\x00" * 16
MP4 = b"\x00\x00\x00\x18ftypmp42" + b"\x00" * 64


def payload_error(message):
    return 400, {"code": "proto.payload", "message": message}


def button(**fields):
    return {"type": "callback", "text": "a", "payload": "b", **fields}


def keyboard(*rows):
    return {"type": "inline_keyboard", "payload": {"buttons": [list(row) for row in rows]}}


@pytest.fixture
def send(call):
    async def send(*attachments, text="text"):
        return await call("POST", "/messages", {"text": text, "attachments": list(attachments)}, chat_id=NEWS)

    return send


@pytest.fixture
def upload(call, http):
    """The three steps up to a token."""

    async def upload(kind, content, name="a.bin", *, part="data", type_=None):
        _, address = await call("POST", "/uploads", type=kind)
        form = aiohttp.FormData()
        form.add_field(part, content, filename=name, content_type=type_)
        async with http.post(address["url"], data=form) as response:
            return response.status, address, await response.text(), response.content_type

    return upload


async def token_of(upload, kind, content, name="a.bin"):
    _, address, answer, _ = await upload(kind, content, name)
    if kind in ("video", "audio"):
        return address["token"]
    given = json.loads(answer)
    return given["token"] if kind == "file" else next(iter(given["photos"].values()))["token"]


# Keyboards


async def test_a_keyboard_comes_back_as_it_was_sent_and_is_recorded(send, sandbox):
    rows = [
        [button(intent="positive"), {"type": "clipboard", "text": "code", "payload": "42"}],
        [
            {"type": "link", "text": "site", "url": "https://max.ru"},
            {"type": "request_contact", "text": "phone"},
        ],
        [{"type": "open_app", "text": "app", "web_app": "shop"}, {"type": "message", "text": "hi"}],
        [{"type": "request_geo_location", "text": "where", "quick": True}],
    ]

    status, answer = await send(keyboard(*rows))

    assert status == 200
    assert answer["message"]["body"]["attachments"] == [keyboard(*rows)]
    (effect,) = sandbox.effects()
    assert effect.details["buttons"][0][0] == {"text": "a", "kind": "callback", "data": "b"}


@pytest.mark.parametrize(
    ("attachment", "message"),
    [
        (keyboard([{"text": "a", "payload": "b"}]), "Can't deserialize body"),
        (keyboard([button(type="chat")]), "Can't deserialize body"),
        (keyboard([{"type": "callback", "text": "a"}]), "Field 'payload' cannot be null"),
        (keyboard([button(payload="x" * 1025)]), "Field 'payload' size (1025) must be at most 1024"),
        (keyboard([button(text="x" * 129)]), "Field 'text' size (129) must be at most 128"),
        (keyboard([button(text="")]), "Field 'text' size (0) must be at least 1"),
        (keyboard([{"type": "open_app", "text": "a"}]), "Field 'webApp' cannot be null"),
        (
            keyboard([{"type": "link", "text": "a", "url": "max://user/1"}]),
            "Must have only http/https links format in buttons",
        ),
        (keyboard([button()] * 8), "Number of buttons in a row (8) must be at most 7"),
        (
            keyboard([*[button()] * 3, {"type": "link", "text": "a", "url": "https://max.ru"}]),
            "Number of buttons in a row (4) must be at most 3",
        ),
        (keyboard(*[[button()]] * 31), "Field 'buttons' size (31) must be at most 30"),
        (keyboard(), "Field 'buttons' size (0) must be at least 1"),
        ({"type": "inline_keyboard", "payload": {}}, "Field 'buttons' cannot be null"),
        ({"type": "image", "payload": {}}, "No `photos`, `url` or `token` provided. Check payload."),
        ({"type": "video", "payload": {}}, "Missing `token` in video attachment"),
        ({"type": "file", "payload": {}}, "Missing `token` in video attachment"),
        ({"type": "image", "payload": {"token": "x"}}, "Invalid photo token provided: x"),
        ({"type": "location", "payload": {"latitude": 1, "longitude": 2}}, "latitude cannot be null"),
        ({"type": "poll"}, "Can't deserialize body"),
        ({"payload": {}}, "Can't deserialize body"),
        ("keyboard", "Can't deserialize body"),
    ],
)
async def test_what_is_wrong_with_an_attachment_is_said_as_max_says_it(send, sandbox, attachment, message):
    assert await send(attachment) == payload_error(message)
    assert sandbox.messages(NEWS) == []


async def test_210_buttons_are_the_most(send, sandbox):
    fits, _ = await send(keyboard(*[[button()] * 7] * 30))

    assert fits == 200


async def test_a_keyboard_alone_is_no_message(send, sandbox):
    status, _ = await send(keyboard([button()]), text=None)

    assert status == 400


async def test_two_keyboards_are_one_too_many(send, sandbox):
    status, answer = await send(keyboard([button()]), keyboard([button()]))

    assert (status, answer["code"]) == (400, "proto.payload")


# Uploads


async def test_an_image_is_uploaded_sent_and_fetched_back(send, upload, http, sandbox):
    status, address, answer, kind = await upload("image", PNG, "cat.png")
    assert (status, kind, set(address)) == (200, "application/json", {"url"})
    token = await token_of(upload, "image", PNG, "cat.png")

    _, sent = await send({"type": "image", "payload": {"token": token}})

    shown = sent["message"]["body"]["attachments"][0]["payload"]
    async with http.get(shown["url"]) as response:
        assert (await response.read(), response.content_type) == (PNG, "image/png")
        assert response.headers["X-Content-Type-Options"] == "nosniff"
    (media,) = sandbox.effects()[-1].details["media"]
    assert (media["kind"], media["name"], media["width"], media["height"]) == ("photo", "cat.png", 32, 16)
    assert media["size"] == len(PNG) and len(media["sha256"]) == 64
    assert '"photos"' in answer


async def test_the_answer_of_an_image_upload_is_a_payload_by_itself(send, upload, sandbox):
    _, _, answer, _ = await upload("image", PNG)

    status, _ = await send({"type": "image", "payload": json.loads(answer)})

    assert status == 200


async def test_video_tokens_come_with_the_address_and_the_storage_answers_in_xml(upload, sandbox):
    status, address, answer, kind = await upload("video", MP4, "a.mp4")

    assert (status, kind) == (200, "application/xml")
    assert set(address) == {"url", "token"}
    assert answer == '<?xml version="1.0" encoding="UTF-8" standalone="no"?>\n<retval>1</retval>'


@pytest.mark.parametrize(
    ("kind", "content", "seconds"), [("video", MP4, 1), ("audio", b"ID3", 1), ("file", b"x", 0.5)]
)
async def test_a_file_is_not_ready_until_it_is_processed(send, upload, sandbox, kind, content, seconds):
    token = await token_of(upload, kind, content)
    attachment = {"type": kind, "payload": {"token": token}}

    early = await send(attachment)
    sandbox.world.clock.advance(seconds)
    status, sent = await send(attachment)
    again, _ = await send(attachment)

    assert early == (
        400,
        {"code": "attachment.not.ready", "message": "Key: errors.process.attachment.file.not.processed"},
    )
    assert (status, again) == (200, 200)
    assert sent["message"]["body"]["attachments"][0]["payload"]["token"] == token
    assert len(sandbox.messages(NEWS)) == 2


async def test_a_video_that_never_came_is_not_ready(call, send, sandbox):
    _, address = await call("POST", "/uploads", type="video")
    sandbox.world.clock.advance(3600)

    status, answer = await send({"type": "video", "payload": {"token": address["token"]}})

    assert (status, answer["code"]) == (400, "attachment.not.ready")


async def test_tokens_expire_where_it_was_asked_for(make, upload, send):
    sandbox = make(token_lifetime=timedelta(hours=1))
    token = await token_of(upload, "image", PNG)
    before, _ = await send({"type": "image", "payload": {"token": token}})
    sandbox.world.clock.advance(3600)

    after = await send({"type": "image", "payload": {"token": token}})

    assert before == 200
    assert after == payload_error(f"Invalid photo token provided: {token}")


async def test_one_address_takes_one_file_also_when_two_come_at_once(call, http, sandbox):
    _, address = await call("POST", "/uploads", type="image")

    async def post():
        form = aiohttp.FormData()
        form.add_field("data", PNG, filename="a.png")
        async with http.post(address["url"], data=form) as response:
            return response.status

    statuses = await asyncio.gather(post(), post(), post())

    assert sorted(statuses) == [200, 400, 400]


async def test_a_video_comes_in_pieces_in_any_order(call, http, send, sandbox):
    _, address = await call("POST", "/uploads", type="video")
    content = MP4 + bytes(range(200))
    pieces = [(begin, content[begin : begin + 100]) for begin in range(0, len(content), 100)]

    answers = []
    for begin, piece in reversed(pieces):
        headers = {
            "Content-Range": f"bytes {begin}-{begin + len(piece) - 1}/{len(content)}",
            "Content-Disposition": 'attachment; filename="кот.mp4"',
            "Content-Type": "application/x-binary; charset=x-user-defined",
            "X-File-Name": "кот.mp4",
            "X-Uploading-Mode": "parallel",
        }
        async with http.post(address["url"], data=piece, headers=headers) as response:
            answers.append((response.status, await response.text()))
    sandbox.world.clock.advance(1)
    status, _ = await send({"type": "video", "payload": {"token": address["token"]}})

    assert [answer[0] for answer in answers] == [201, 201, 200]
    assert answers[0][1] == f"200-{len(content) - 1}/{len(content)}"
    assert status == 200
    (media,) = sandbox.effects()[-1].details["media"]
    assert (media["name"], sandbox.file(media["file"])) == ("кот.mp4", ("video/mp4", content))


async def test_a_piece_that_does_not_fit_its_range_is_refused(call, http, sandbox):
    _, address = await call("POST", "/uploads", type="video")

    for spoken in ("bytes 0-9/5", "bytes 5-2/10", "bytes 0-1/10", "0-9/10", "bytes 0-9/999999999999"):
        headers = {"Content-Range": spoken, "Content-Type": "application/x-binary"}
        async with http.post(address["url"], data=b"0123456789", headers=headers) as response:
            assert response.status in (400, 413)


@pytest.mark.parametrize(
    ("kind", "content", "name", "type_", "status", "reason"),
    [
        ("image", b"no image", "a.png", None, 200, "IMAGE_INVALID_FORMAT"),
        ("image", PNG[:16] + b"\x00\x00\x1e\x01" + PNG[20:], "a.png", None, 200, "IMAGE_INVALID_FORMAT"),
        ("video", b"GIF89a" + b"\0" * 20, "a.gif", None, 415, "UNSUPPORTED_MEDIA_TYPE"),
        ("audio", b"RIFF0000WAVE", "a.wav", "audio/wav", 415, "UNSUPPORTED_MEDIA_TYPE"),
        ("file", b"MZ", "setup.EXE", None, 400, "File extension is forbidden"),
        ("file", b"", "empty.txt", None, 400, "EMPTY_FILE"),
    ],
)
async def test_the_storage_refuses_in_its_own_words(
    upload, sandbox, kind, content, name, type_, status, reason
):
    got, _, answer, _ = await upload(kind, content, name, type_=type_)

    assert (got, json.loads(answer)["error_data"]) == (status, reason)


@pytest.mark.parametrize("part", ["data", "file", "report.txt"])
async def test_the_part_may_have_the_names_that_clients_give_it(upload, sandbox, part):
    status, _, _, _ = await upload("file", b"x", "report.txt", part=part)

    assert status == 200


async def test_a_file_stands_alone_but_for_a_keyboard(upload, send, sandbox):
    file = {"type": "file", "payload": {"token": await token_of(upload, "file", b"x", "a.txt")}}
    image = {"type": "image", "payload": {"token": await token_of(upload, "image", PNG)}}
    sandbox.world.clock.advance(1)

    with_keys, sent = await send(file, keyboard([button()]))
    album, _ = await send(image, image)

    assert (with_keys, album) == (200, 200)
    assert sent["message"]["body"]["attachments"][0]["filename"] == "a.txt"
    assert await send(file, file) == payload_error("Must be only one file attachment in message")
    assert await send(file, image) == payload_error("Must be only one file attachment in message")


async def test_a_token_serves_only_its_own_kind(upload, send, sandbox):
    token = await token_of(upload, "image", PNG)

    assert await send({"type": "video", "payload": {"token": token}}) == payload_error(
        f"Invalid video token provided: {token}"
    )


async def test_the_bytes_of_files_are_bounded_and_the_oldest_go_first(make, upload, send):
    sandbox = make(media_bytes=len(PNG) * 2)
    tokens = [await token_of(upload, "image", PNG) for _ in range(3)]

    kept = [sandbox.uploads.content(token) is not None for token in tokens]
    status, _ = await send({"type": "image", "payload": {"token": tokens[0]}})

    assert kept == [False, True, True]
    assert status == 200


async def test_an_image_by_its_address_is_fetched_and_refused_when_it_is_none(send, sandbox):
    async def page(request):
        return web.Response(body=PNG if request.path == "/cat.png" else b"<html>")

    runner = web.AppRunner(server := web.Application())
    server.router.add_get("/{name}", page)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    port = site._server.sockets[0].getsockname()[1]

    status, sent = await send({"type": "image", "payload": {"url": f"http://127.0.0.1:{port}/cat.png"}})
    refused = await send({"type": "image", "payload": {"url": f"http://127.0.0.1:{port}/page"}})
    nobody = await send({"type": "image", "payload": {"url": "http://127.0.0.1:9/cat.png"}})
    await runner.cleanup()

    assert (status, sent["message"]["body"]["attachments"][0]["type"]) == (200, "image")
    assert refused == nobody == payload_error("Failed to upload image.")


async def test_a_video_is_described_by_its_token(call, upload, sandbox):
    token = await token_of(upload, "video", MP4)

    status, video = await call("GET", f"/videos/{token}")
    unknown, _ = await call("GET", "/videos/nothing")

    assert (status, video["token"]) == (200, token)
    assert unknown == 404


async def test_contacts_stickers_and_places_are_shown(send, sandbox, anna):
    _, contact = await send(
        {"type": "contact", "payload": {"name": "Anna", "contact_id": anna.id, "vcf_phone": "+79001234567"}}
    )
    _, sticker = await send({"type": "sticker", "payload": {"code": "abc"}})
    two, _ = await send(
        {"type": "sticker", "payload": {"code": "abc"}}, {"type": "location", "latitude": 1, "longitude": 2}
    )

    card = contact["message"]["body"]["attachments"][0]["payload"]
    assert "TEL;TYPE=cell:+79001234567" in card["vcf_info"]
    assert card["max_info"]["user_id"] == anna.id
    assert sticker["message"]["body"]["attachments"][0]["payload"]["code"] == "abc"
    assert two == 400


async def test_what_a_person_sends_reaches_the_bot_with_a_token_that_it_can_use(call, send, sandbox, anna):
    photo = {"kind": "photo", "name": "a.png", "data": base64.b64encode(PNG).decode()}
    anna.writes(EXAMPLE_BOT, None, media=[photo])

    _, page = await call("GET", "/updates", timeout=0)
    token = page["updates"][0]["message"]["body"]["attachments"][0]["payload"]["token"]
    status, _ = await send({"type": "image", "payload": {"token": token}})

    assert status == 200


async def test_ten_thousand_addresses_are_open_at_once(call, http, sandbox):
    addresses = [(await call("POST", "/uploads", type="file"))[1]["url"] for _ in range(2)]
    for _ in range(TICKETS - 1):
        sandbox.uploads.ticket(Bot(7, "another"), "file")

    statuses = []
    for address in addresses:
        async with http.post(address, data=b"x") as response:
            statuses.append(response.status)

    assert statuses == [404, 200]


@pytest.fixture
def piece(http):
    """Sends bytes from `begin` to an upload address."""

    async def piece(address, begin, content, total):
        headers = {
            "Content-Range": f"bytes {begin}-{begin + len(content) - 1}/{total}",
            "Content-Type": "application/x-binary",
        }
        async with http.post(address["url"], data=content, headers=headers) as response:
            return response.status

    return piece


async def test_all_pieces_speak_of_one_size(call, piece, sandbox):
    _, address = await call("POST", "/uploads", type="video")

    statuses = [
        await piece(address, 0, b"0123456789", 20),
        await piece(address, 10, b"0123456789", 30),
        await piece(address, 10, b"0123456789", 20),
    ]

    assert statuses == [201, 400, 200]


async def test_half_finished_uploads_share_the_room_and_the_oldest_starts_again(call, piece, make):
    make(media_bytes=100)
    _, older = await call("POST", "/uploads", type="video")
    _, newer = await call("POST", "/uploads", type="video")

    begun = [await piece(older, 0, bytes(60), 100), await piece(newer, 0, bytes(60), 100)]
    rest_of_older = await piece(older, 60, bytes(40), 100)
    rest_of_newer = await piece(newer, 60, bytes(40), 100)

    assert begun == [201, 201]
    assert (rest_of_older, rest_of_newer) == (201, 200)
