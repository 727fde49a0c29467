"""Files that Telegram fetches from addresses."""

from collections.abc import AsyncIterator

import pytest
from aiohttp import web

from tests.sandbox.telegram.api import NEWS, png

ADDRESS = "http://127.0.0.1:{port}"


@pytest.fixture
async def site() -> AsyncIterator[str]:
    """A web server: `/picture.png`, `/film.mp4` ..., and pages that fail in all ways."""

    async def page(request: web.Request) -> web.StreamResponse:
        pages = {
            "picture.png": (png(), "image/png"),
            "unsaid.png": (png(), "application/octet-stream"),
            "film.mp4": (b"film", "video/mp4"),
            "paper.pdf": (b"%PDF", "application/pdf"),
            "letter.docx": (b"PK", "application/msword"),
            "page.html": (b"<html>", "text/html"),
            "no.png": (b"no picture", "image/png"),
            "empty.png": (b"", "image/png"),
            "large.png": (png() + bytes(5 << 20), "image/png"),
            "large.mp4": (bytes((20 << 20) + 1), "video/mp4"),
        }
        name = request.match_info["name"]
        if name == "moved.png":
            raise web.HTTPFound("/picture.png")
        if name == "circle.png":
            raise web.HTTPFound("/circle.png")
        if name not in pages:
            raise web.HTTPNotFound
        body, kind = pages[name]
        return web.Response(body=body, content_type=kind)

    app = web.Application()
    app.router.add_get("/{name}", page)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    listener = web.TCPSite(runner, "127.0.0.1", 0)
    await listener.start()
    yield f"http://127.0.0.1:{runner.addresses[0][1]}"
    await runner.cleanup()


@pytest.mark.parametrize("name", ["picture.png", "unsaid.png", "moved.png", "picture.png?size=large#top"])
async def test_a_photo_is_fetched_from_its_address(api, site, name):
    message = await api.result("sendPhoto", chat_id=NEWS, photo=f"{site}/{name}")

    assert message["photo"][-1]["width"] == 40


async def test_films_and_papers_keep_their_names(api, site):
    film = await api.result("sendVideo", chat_id=NEWS, video=f"{site}/film.mp4")
    paper = await api.result("sendDocument", chat_id=NEWS, document=f"{site}/paper.pdf")

    assert (film["video"]["file_name"], film["video"]["mime_type"]) == ("film.mp4", "video/mp4")
    assert (paper["document"]["file_name"], paper["document"]["mime_type"]) == ("paper.pdf", "application/pdf")


@pytest.mark.parametrize(
    ("method", "name", "refusal"),
    [
        ("sendPhoto", "gone.png", "failed to get HTTP URL content"),
        ("sendPhoto", "circle.png", "failed to get HTTP URL content"),
        ("sendPhoto", "empty.png", "failed to get HTTP URL content"),
        ("sendPhoto", "large.png", "failed to get HTTP URL content"),
        ("sendVideo", "large.mp4", "failed to get HTTP URL content"),
        ("sendPhoto", "page.html", "wrong type of the web page content"),
        ("sendVideo", "picture.png", "wrong type of the web page content"),
        ("sendDocument", "letter.docx", "wrong type of the web page content"),
        ("sendPhoto", "no.png", "IMAGE_PROCESS_FAILED"),
    ],
)
async def test_what_cannot_be_fetched_is_refused_in_the_real_words(api, site, method, name, refusal):
    kind = method.removeprefix("send").lower()

    assert await api.refusal(method, chat_id=NEWS, **{kind: f"{site}/{name}"}) == refusal
    assert api.sandbox.total == 0


async def test_nobody_there_is_a_failure_like_any_other(api):
    assert await api.refusal("sendPhoto", chat_id=NEWS, photo="http://127.0.0.1:9/x.png") == (
        "failed to get HTTP URL content"
    )


async def test_albums_and_edits_fetch_as_well(api, site):
    media = [{"type": "photo", "media": f"{site}/{name}"} for name in ("picture.png", "unsaid.png")]

    messages = await api.result("sendMediaGroup", chat_id=NEWS, media=media)
    edited = await api.result(
        "editMessageMedia",
        chat_id=NEWS,
        message_id=messages[0]["message_id"],
        media={"type": "video", "media": f"{site}/film.mp4"},
    )
    refusal = await api.refusal(
        "sendMediaGroup", chat_id=NEWS, media=[*media, {"type": "photo", "media": f"{site}/gone.png"}]
    )

    assert edited["video"]["file_name"] == "film.mp4"
    assert refusal == 'failed to send message #3 with the error message "Failed to get HTTP URL content"'
