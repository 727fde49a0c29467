import hashlib
import json

import pytest

from pressroom.sandbox.telegram import EXAMPLE_TOKEN
from tests.sandbox.telegram.api import NEWS, NEWS_JSON, NOON, SECOND_TOKEN, TEAM, becomes, new_sandbox, png

KINDS = ("photo", "video", "animation", "audio", "document", "voice", "video_note", "sticker")
PHOTO = png(400, 200)


def method_of(kind: str) -> str:
    return "send" + "".join(word.capitalize() for word in kind.split("_"))


async def test_a_photo_is_answered_shown_and_recorded(api):
    status, answer = await api(
        "sendPhoto", files={"photo": ("a.png", PHOTO)}, chat_id=NEWS, caption="<b>Кот</b>", parse_mode="HTML"
    )

    message = answer["result"]
    sizes = message.pop("photo")
    assert (status, message) == (
        200,
        {
            "message_id": 1,
            "sender_chat": NEWS_JSON,
            "chat": NEWS_JSON,
            "date": int(NOON),
            "caption": "Кот",
            "caption_entities": [{"type": "bold", "offset": 0, "length": 3}],
        },
    )
    assert [(size["width"], size["height"]) for size in sizes] == [(90, 45), (320, 160), (400, 200)]
    assert sizes[-1]["file_size"] == len(PHOTO)
    assert len({size["file_unique_id"] for size in sizes}) == len({size["file_id"] for size in sizes}) == 3
    assert api.last().text == "Кот"
    assert api.last().details == {
        "entities": [{"type": "bold", "offset": 0, "length": 3}],
        "media": [
            {
                "kind": "photo",
                "mime": "image/png",
                "size": len(PHOTO),
                "sha256": hashlib.sha256(PHOTO).hexdigest(),
            }
        ],
    }


@pytest.mark.parametrize(
    ("kind", "given", "shown"),
    [
        (
            "video",
            {"width": 640, "height": 360, "duration": 7, "start_timestamp": 2, "supports_streaming": True},
            {"width": 640, "height": 360, "duration": 7, "start_timestamp": 2, "file_name": "f.mp4", "mime_type": "video/mp4"},
        ),
        ("animation", {"duration": 3}, {"width": 0, "height": 0, "duration": 3, "file_name": "f.mp4", "mime_type": "video/mp4"}),
        (
            "audio",
            {"title": "Song", "performer": "Band", "duration": "99999999"},
            {"title": "Song", "performer": "Band", "duration": 86_400, "file_name": "f.mp3", "mime_type": "audio/mpeg"},
        ),
        ("document", {}, {"file_name": "f.pdf", "mime_type": "application/pdf"}),
        ("voice", {"duration": -5}, {"duration": 0, "mime_type": "audio/ogg"}),
        ("video_note", {"length": 240, "duration": 5}, {"length": 240, "duration": 5}),
        ("sticker", {"emoji": "🙂"}, {"width": 0, "height": 0, "emoji": "🙂", "is_animated": False, "is_video": True, "type": "regular"}),
    ],
)  # fmt: skip
async def test_each_kind_of_file_shows_what_was_said_of_it(api, kind, given, shown):
    endings = {"audio": "mp3", "document": "pdf", "voice": "ogg", "sticker": "webm"}
    name = f"f.{endings.get(kind, 'mp4')}"

    _, answer = await api(method_of(kind), files={kind: (name, b"content")}, chat_id=NEWS, caption="c", **given)

    file = answer["result"][kind]
    assert file.pop("file_size") == 7
    assert file.pop("file_id")
    assert file.pop("file_unique_id")
    assert file == shown
    assert answer["result"].get("caption") == (None if kind in ("video_note", "sticker") else "c")


async def test_an_animation_is_shown_as_document_as_well(api):
    _, answer = await api(
        "sendAnimation", files={"animation": ("f.gif", b"GIF89a\x08\0\x06\0\0\0\0")}, chat_id=NEWS
    )

    message = answer["result"]
    assert (message["animation"]["width"], message["animation"]["height"]) == (8, 6)
    assert message["document"]["file_id"] == message["animation"]["file_id"]


@pytest.mark.parametrize("kind", KINDS)
async def test_without_a_file_nothing_is_sent(api, kind):
    assert await api.refusal(method_of(kind), chat_id=NEWS) == (
        f"there is no {kind.replace('_', ' ')} in the request"
    )


@pytest.mark.parametrize(
    ("parameters", "refusal"),
    [
        ({"caption": "x", "parse_mode": "BBCode"}, "unsupported parse_mode"),
        ({"caption": "x" * 32_769}, "text is too long"),
        ({"reply_markup": "{"}, "can't parse reply keyboard markup JSON object"),
        ({}, "chat_id is empty"),
        ({"chat_id": 1, "caption": "x" * 1025}, "chat not found"),
        ({"chat_id": NEWS, "caption": "x" * 1025}, "message caption is too long"),
    ],
)
async def test_what_is_said_of_a_file_is_refused_in_the_real_order(api, parameters, refusal):
    assert await api.refusal("sendPhoto", files={"photo": ("a.png", PHOTO)}, **parameters) == refusal
    assert api.sandbox.total == 0


@pytest.mark.parametrize("text", ["я" * 1024, "🙂" * 1024])
async def test_1024_code_points_of_a_caption_are_not_too_long(api, text):
    assert (await api("sendPhoto", files={"photo": ("a.png", PHOTO)}, chat_id=NEWS, caption=text))[0] == 200


@pytest.mark.parametrize(
    ("content", "refusal"),
    [
        (b"", "file must be non-empty"),
        (b"no picture", "IMAGE_PROCESS_FAILED"),
        (PHOTO + bytes(10 << 20), f"file of size {len(PHOTO) + (10 << 20)} bytes is too big for a photo; the maximum size is 10485760 bytes"),
        (png(9999, 1), "PHOTO_INVALID_DIMENSIONS"),
        (png(5001, 5000), "PHOTO_INVALID_DIMENSIONS"),
    ],
)  # fmt: skip
async def test_what_is_no_photo_is_refused(api, content, refusal):
    assert await api.refusal("sendPhoto", files={"photo": ("a.png", content)}, chat_id=NEWS) == refusal
    assert api.sandbox.total == 0


async def test_a_part_is_attached_by_its_name(api):
    _, answer = await api("sendPhoto", files={"any": ("a.png", PHOTO)}, chat_id=NEWS, photo="attach://any")
    refusal = await api.refusal(
        "sendPhoto", files={"any": ("a.png", PHOTO)}, chat_id=NEWS, photo="attach://other"
    )

    assert answer["result"]["photo"][-1]["width"] == 400
    assert refusal == "there is no photo in the request"


async def test_thumbnails_and_covers_come_along(api):
    _, answer = await api(
        "sendVideo",
        files={"video": ("f.mp4", b"film"), "thumbnail": ("t.png", png(90, 60)), "c": ("c.png", PHOTO)},
        chat_id=NEWS,
        cover="attach://c",
    )
    too_large = await api.refusal(
        "sendVideo",
        files={"video": ("f.mp4", b"film 2"), "thumb": ("t.png", bytes(204_800))},
        chat_id=NEWS,
    )

    video = answer["result"]["video"]
    assert (video["thumbnail"]["width"], video["cover"][-1]["width"]) == (90, 400)
    assert too_large == "file of size 204800 bytes is too big for a thumbnail; the maximum size is 204799 bytes"


async def test_spoilers_and_captions_above_are_shown(api):
    _, answer = await api(
        "sendPhoto",
        files={"photo": ("a.png", PHOTO)},
        chat_id=NEWS,
        caption="x",
        has_spoiler=True,
        show_caption_above_media=True,
    )

    assert (answer["result"]["has_media_spoiler"], answer["result"]["show_caption_above_media"]) == (True, True)
    assert api.last().details["caption_above"] is True


async def test_a_file_is_sent_again_by_its_id_and_stays_what_it_was(api):
    _, first = await api(
        "sendVideo", files={"video": ("f.mp4", b"film")}, chat_id=NEWS, width=64, height=48, duration=9
    )
    video = first["result"]["video"]

    again = await api.result("sendVideo", chat_id=NEWS, video=video["file_id"], duration=1)
    as_document = await api.result("sendDocument", chat_id=NEWS, document=video["file_id"])

    assert again["video"] == video
    assert as_document["video"] == video


@pytest.mark.parametrize(
    ("given", "refusal"),
    [
        ("x", "wrong remote file identifier specified: Wrong string length"),
        ("я", "wrong remote file identifier specified: Wrong string length"),
        ("ab?d", "wrong remote file identifier specified: Wrong character in the string"),
        ("abcd===", "wrong remote file identifier specified: Wrong string padding"),
        ("ab=", "wrong remote file identifier specified: Wrong padding length"),
        ("abcd", "wrong remote file identifier specified: can't unserialize it. Wrong last symbol"),
        ("AAAE", "wrong file identifier/HTTP URL specified"),
        ("ftp://example.com/x.png", "invalid file HTTP URL specified: Unsupported URL protocol"),
        (
            "http://example.com:99999/x.png",
            "invalid file HTTP URL specified: Wrong port number specified in the URL",
        ),
    ],
)
async def test_a_wrong_file_id_is_refused_in_the_real_words(api, given, refusal):
    assert await api.refusal("sendPhoto", chat_id=NEWS, photo=given) == refusal


async def test_a_photo_is_no_document_and_no_document_a_photo(api):
    _, photo = await api("sendPhoto", files={"photo": ("a.png", PHOTO)}, chat_id=NEWS)
    _, document = await api("sendDocument", files={"document": ("a.png", PHOTO)}, chat_id=NEWS)

    assert (
        await api.refusal("sendDocument", chat_id=NEWS, document=photo["result"]["photo"][0]["file_id"])
        == "can't use file of type Photo as Document"
    )
    assert (
        await api.refusal("sendPhoto", chat_id=NEWS, photo=document["result"]["document"]["file_id"])
        == "can't use file of type Document as Photo"
    )


async def test_equal_contents_have_one_unique_id_and_a_file_id_for_each_bot(api):
    _, mine = await api("sendDocument", files={"document": ("a.txt", b"same")}, chat_id=NEWS)
    other = api.of(SECOND_TOKEN)
    _, theirs = await other("sendDocument", files={"document": ("b.txt", b"same")}, chat_id=NEWS)
    mine, theirs = mine["result"]["document"], theirs["result"]["document"]

    assert mine["file_unique_id"] == theirs["file_unique_id"]
    assert mine["file_id"] != theirs["file_id"]
    assert await other.refusal("sendDocument", chat_id=NEWS, document=mine["file_id"]) == (
        "wrong file identifier/HTTP URL specified"
    )
    assert await other.refusal("getFile", file_id=mine["file_id"]) == (
        "wrong file_id or the file is temporarily unavailable"
    )


# Getting files back


async def document(api, content: bytes, name: str = "a.txt") -> str:
    _, answer = await api("sendDocument", files={"document": (name, content)}, chat_id=NEWS)
    return answer["result"]["document"]["file_id"]


async def download(api, path: str) -> tuple[int, bytes]:
    async with api.http.get(f"/file/bot{api.token}/{path}") as response:
        return response.status, await response.read()


async def test_a_file_can_be_downloaded_for_an_hour(api):
    file_id = await document(api, b"content")

    file = await api.result("getFile", file_id=file_id)
    at_once = await download(api, file["file_path"])
    api.clock.advance(3600)
    too_late = await download(api, file["file_path"])
    await api.result("getFile", file_id=file_id)
    again = await download(api, file["file_path"])

    assert (file["file_id"], file["file_size"], file["file_path"]) == (file_id, 7, "documents/file_0.txt")
    assert (at_once, again) == ((200, b"content"), (200, b"content"))
    assert (too_late[0], json.loads(too_late[1])) == (
        404,
        {"ok": False, "error_code": 404, "description": "Not Found"},
    )


async def test_a_link_belongs_to_its_bot(api):
    file = await api.result("getFile", file_id=await document(api, b"content"))

    assert (await download(api.of(SECOND_TOKEN), file["file_path"]))[0] == 404
    assert (await download(api.of("42:x"), file["file_path"]))[0] == 401


@pytest.mark.parametrize("path", ["", "..", "documents/", "%2e%2e/etc/passwd", "\0"])
async def test_only_links_lead_anywhere(api, path):
    await api.result("getFile", file_id=await document(api, b"content"))

    assert (await download(api, path))[0] == 404


@pytest.mark.parametrize(
    ("given", "refusal"),
    [
        ({}, "file_id not specified"),
        ({"file_id": "x"}, "invalid file_id"),
        ({"file_id": "AAAE"}, "wrong file_id or the file is temporarily unavailable"),
    ],
)
async def test_get_file_refuses_what_is_no_file(api, given, refusal):
    assert await api.refusal("getFile", **given) == refusal


async def test_a_file_over_20_megabytes_cannot_be_downloaded_but_sent_again(api):
    file_id = await document(api, bytes((20 << 20) + 1))

    assert await api.refusal("getFile", file_id=file_id) == "file is too big"
    assert (await api("sendDocument", chat_id=NEWS, document=file_id))[0] == 200


async def test_the_oldest_contents_go_when_there_is_no_room(api, telegram_stage):
    telegram_stage.app = new_sandbox(media_bytes=10)
    old = await document(api, b"12345678")
    new = await document(api, b"abcdefgh")

    assert await api.refusal("getFile", file_id=old) == "wrong file_id or the file is temporarily unavailable"
    assert (await api("getFile", file_id=new))[0] == 200
    assert (await api("sendDocument", chat_id=NEWS, document=old))[0] == 200


# Albums


def album(*kinds: str, **first: object) -> list[dict[str, object]]:
    items: list[dict[str, object]] = [
        {"type": kind, "media": f"attach://{number}", "caption": f"{number}"}
        for number, kind in enumerate(kinds)
    ]
    return [{**items[0], **first}, *items[1:]] if items else []


def parts(count: int) -> dict[str, tuple[str, bytes]]:
    return {str(number): (f"{number}.png", png(10 + number, 10)) for number in range(count)}


async def test_an_album_is_several_messages_of_one_name(api):
    status, answer = await api(
        "sendMediaGroup", files=parts(3), chat_id=NEWS, media=album("photo", "video", "photo", has_spoiler=True)
    )

    messages = answer["result"]
    assert status == 200
    assert [(one["message_id"], one["caption"]) for one in messages] == [(1, "0"), (2, "1"), (3, "2")]
    assert len({one["media_group_id"] for one in messages}) == 1
    assert [("photo" in one, "has_media_spoiler" in one) for one in messages] == [
        (True, True),
        (False, False),
        (True, False),
    ]
    effects = api.sandbox.effects()
    assert [(effect.method, effect.text) for effect in effects] == [
        ("sendMediaGroup", str(n)) for n in range(3)
    ]
    assert {effect.details["album"] for effect in effects} == {messages[0]["media_group_id"]}


async def test_albums_have_different_names_and_one_item_is_none(api):
    names = []
    for _ in range(2):
        _, answer = await api("sendMediaGroup", files=parts(2), chat_id=NEWS, media=album("photo", "photo"))
        names.append(answer["result"][0]["media_group_id"])
    _, alone = await api("sendMediaGroup", files=parts(1), chat_id=NEWS, media=album("photo"))

    assert names[0] != names[1]
    assert "media_group_id" not in alone["result"][0]


@pytest.mark.parametrize(
    ("media", "refusal"),
    [
        ("", 'parameter "media" is required'),
        ("[", "can't parse media JSON object"),
        ("{}", "expected an Array of InputMedia"),
        ([7], "can't parse InputMedia: expected an Object"),
        ([{}], "can't parse InputMedia: Can't find field \"type\""),
        ([{"type": "photo"}], "can't parse InputMedia: media not found"),
        ([{"type": "photo", "media": "attach://none"}], "can't parse InputMedia: media not found"),
        ([{"type": "photo", "media": True}], 'can\'t parse InputMedia: Field "media" must be of type String'),
        (album("video", width="wide"), 'can\'t parse InputMedia: Field "width" must be a valid Number'),
        (album("photo", has_spoiler=1), 'can\'t parse InputMedia: Field "has_spoiler" must be of type Boolean'),
        (album("photo", parse_mode="x"), "can't parse InputMedia: Unsupported parse_mode"),
        (album("photo", caption="<b>", parse_mode="HTML"), "can't parse InputMedia: Can't parse entities: Can't find end tag corresponding to start tag \"b\""),
        (album("animation"), 'can\'t parse InputMedia: type "animation" can\'t be used in sendMediaGroup'),
        (album("voice"), 'can\'t parse InputMedia: type "voice" is unsupported'),
        ([], "there are no messages to send"),
        (album(*["photo"] * 11), "too many messages to send as an album"),
        (album("photo", "audio"), "audio can't be mixed with other media types"),
        (album("document", "video"), "document can't be mixed with other media types"),
        (album("photo", "photo", show_caption_above_media=True), "parameter show_caption_above_media must be the same for all messages"),
        (album("photo", caption="x" * 1025), "message caption is too long"),
    ],
)  # fmt: skip
async def test_an_album_is_refused_in_the_real_words(api, media, refusal):
    assert await api.refusal("sendMediaGroup", files=parts(11), chat_id=NEWS, media=media) == refusal
    assert api.sandbox.total == 0


async def test_of_a_failed_album_nothing_is_left(api):
    files = {**parts(2), "1": ("1.png", b"no picture")}

    assert await api.refusal("sendMediaGroup", files=files, chat_id=NEWS, media=album("photo", "photo")) == (
        'failed to send message #2 with the error message "IMAGE_PROCESS_FAILED"'
    )
    assert api.sandbox.total == 0


async def test_an_album_of_an_unknown_chat_is_refused_after_its_items_were_read(api):
    assert await api.refusal("sendMediaGroup", files=parts(1), chat_id=5, media=album("voice")) == (
        'can\'t parse InputMedia: type "voice" is unsupported'
    )
    assert (
        await api.refusal("sendMediaGroup", files=parts(1), chat_id=5, media=album("photo")) == "chat not found"
    )


@pytest.mark.parametrize(
    ("kind", "permission", "refusal"),
    [
        ("photo", "can_send_photos", "photos"),
        ("video", "can_send_videos", "videos"),
        ("animation", "can_send_other_messages", "animations"),
        ("audio", "can_send_audios", "music"),
        ("document", "can_send_documents", "documents"),
        ("voice", "can_send_voice_notes", "voice notes"),
        ("video_note", "can_send_video_notes", "video notes"),
        ("sticker", "can_send_other_messages", "stickers"),
    ],
)
async def test_who_is_restricted_sends_only_what_he_may(api, kind, permission, refusal):
    files = {kind: ("f.png", PHOTO)}
    becomes(api, TEAM, "restricted", can_send_messages=True)
    refused = await api.refusal(method_of(kind), files=files, chat_id=TEAM)
    becomes(api, TEAM, "restricted", **{permission: True})

    assert refused == f"not enough rights to send {refusal} to the chat"
    assert (await api(method_of(kind), files=files, chat_id=TEAM))[0] == 200


async def test_a_video_note_is_not_larger_than_a_screen(api):
    assert (
        await api.refusal("sendVideoNote", files={"video_note": ("f.mp4", b"film")}, chat_id=NEWS, length=641)
        == "wrong video note length"
    )


async def test_live_photos_are_honestly_missing(api):
    status, answer = await api("sendMediaGroup", files=parts(1), chat_id=NEWS, media=album("live_photo"))

    assert (status, answer["description"]) == (
        501,
        "Not Implemented: the sandbox does not have live photos yet",
    )
    assert api.token == EXAMPLE_TOKEN
