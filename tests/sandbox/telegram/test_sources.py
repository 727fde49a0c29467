"""Files that Telegram fetches from addresses."""

import asyncio
from collections.abc import AsyncIterator, Awaitable
from dataclasses import dataclass, field
from typing import Any

import pytest
from aiohttp import web

from tests.sandbox.telegram.api import BOT, FRIENDS, NEWS, TEAM, png


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
        if name.startswith("hops-"):
            left = int(name.removeprefix("hops-")) - 1
            raise web.HTTPFound(f"/hops-{left}" if left else "/picture.png")
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
        ("sendPhoto", "hops-6", "failed to get HTTP URL content"),
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


async def test_a_few_moves_are_followed(api, site):
    assert (await api("sendPhoto", chat_id=NEWS, photo=f"{site}/hops-4"))[0] == 200


# What happens meanwhile


@dataclass
class SlowSite:
    """Gives its picture when it is told to."""

    url: str = ""
    asked: asyncio.Event = field(default_factory=asyncio.Event)
    go_on: asyncio.Event = field(default_factory=asyncio.Event)

    async def page(self, _: web.Request) -> web.Response:
        self.asked.set()
        await self.go_on.wait()
        return web.Response(body=png(), content_type="image/png")

    async def meanwhile(self, asking: Awaitable[Any], *deeds: Any) -> Any:
        """The answer to what asks, when all that is done while the picture is fetched."""
        task = asyncio.ensure_future(asking)
        await self.asked.wait()
        for deed in deeds:
            given = deed()
            if asyncio.iscoroutine(given):
                await given
        self.go_on.set()
        return await task


@pytest.fixture
async def slow() -> AsyncIterator[SlowSite]:
    site = SlowSite()
    app = web.Application()
    app.router.add_get("/{name}", site.page)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
    await runner.setup()
    listener = web.TCPSite(runner, "127.0.0.1", 0)
    await listener.start()
    site.url = f"http://127.0.0.1:{runner.addresses[0][1]}/slow.png"
    yield site
    site.go_on.set()
    await runner.cleanup()


def sending(api, method: str, chat: int, url: str) -> Awaitable[tuple[int, dict]]:
    if method == "sendMediaGroup":
        return api(method, chat_id=chat, media=[{"type": "photo", "media": url}] * 2)
    return api(method, chat_id=chat, photo=url)


@pytest.mark.parametrize("method", ["sendPhoto", "sendMediaGroup"])
@pytest.mark.parametrize(
    ("chat", "verb", "wish", "code", "refusal"),
    [
        (TEAM, "removes_bot", {"bot": BOT}, 403, "Forbidden: bot was kicked from the supergroup chat"),
        (TEAM, "closes", {}, 400, "Bad Request: chat not found"),
        (NEWS, "closes", {}, 400, "Bad Request: chat not found"),
        (FRIENDS, "closes", {}, 403, "Forbidden: the group chat was deleted"),
        (
            NEWS,
            "restricts_bot",
            {"bot": BOT, "rights": {"can_post_messages": False}},
            400,
            "Bad Request: need administrator rights in the channel chat",
        ),
    ],
)
async def test_who_may_not_write_any_more_when_the_file_is_there_does_not(
    api, slow, method, chat, verb, wish, code, refusal
):
    def happens() -> None:
        api.sandbox.act(verb, {"chat": chat, **wish})

    status, answer = await slow.meanwhile(sending(api, method, chat, slow.url), happens)

    assert (status, answer["description"]) == (code, refusal)
    assert not any(effect.method.startswith("send") for effect in api.sandbox.effects())


@pytest.mark.parametrize("method", ["sendPhoto", "sendMediaGroup"])
async def test_a_permission_taken_back_meanwhile_counts(api, slow, method):
    def taken_back() -> None:
        api.sandbox.act("restricts_bot", {"chat": TEAM, "bot": BOT, "rights": {"can_send_messages": True}})

    api.sandbox.act("restricts_bot", {"chat": TEAM, "bot": BOT, "rights": {"can_send_photos": True}})
    status, answer = await slow.meanwhile(sending(api, method, TEAM, slow.url), taken_back)

    assert (status, answer["description"]) == (
        400,
        "Bad Request: not enough rights to send photos to the chat",
    )


@pytest.mark.parametrize("method", ["sendPhoto", "sendMediaGroup"])
async def test_who_blocks_the_bot_meanwhile_gets_nothing(api, anna, slow, method):
    person = api.sandbox.person("Anna")

    status, answer = await slow.meanwhile(sending(api, method, anna, slow.url), lambda: person.blocks(BOT))

    assert (status, answer["description"]) == (403, "Forbidden: bot was blocked by the user")


async def test_a_message_deleted_meanwhile_is_not_edited(api, site, slow):
    sent = await api.result("sendPhoto", chat_id=NEWS, photo=f"{site}/picture.png")
    given = {"chat_id": NEWS, "message_id": sent["message_id"]}

    status, answer = await slow.meanwhile(
        api("editMessageMedia", **given, media={"type": "photo", "media": slow.url}),
        lambda: api.result("deleteMessage", **given),
    )

    assert (status, answer["description"]) == (400, "Bad Request: message to edit not found")
    assert [effect.method for effect in api.sandbox.effects()] == ["sendPhoto", "deleteMessage"]


async def test_who_is_removed_meanwhile_does_not_edit(api, site, slow):
    sent = await api.result("sendPhoto", chat_id=TEAM, photo=f"{site}/picture.png")

    status, answer = await slow.meanwhile(
        api(
            "editMessageMedia",
            chat_id=TEAM,
            message_id=sent["message_id"],
            media={"type": "photo", "media": slow.url},
        ),
        lambda: api.sandbox.act("removes_bot", {"chat": TEAM, "bot": BOT}),
    )

    assert (status, answer["description"]) == (403, "Forbidden: bot was kicked from the supergroup chat")
