import json
import re
from datetime import timedelta

import pytest
from pydantic import BaseModel

from pressroom.core.errors import ProviderError
from pressroom.ports.platform import Media, MediaKind, MediaRef, PlatformContext
from tests.adapters.platforms.conformance import (
    PLUGS,
    SECRET,
    SOON,
    assert_presentable,
    channel,
    failure,
    is_platform,
    kinds,
    meta,
)
from tests.core.peer import Act, answer, peer

REFUSED = "refused"
UNKNOWN = "unknown"
NOT_SENT = "not_sent"


@pytest.fixture(params=PLUGS.values(), ids=PLUGS)
def plug(request):
    return request.param


def test_a_plug_describes_itself(plug):
    assert re.fullmatch(r"[a-z][a-z0-9_]*", plug.name)
    assert plug.title.strip()
    assert plug.limits.text > 0
    assert plug.limits.caption > 0
    assert plug.limits.album >= 1
    assert plug.credential.title.strip()
    assert plug.credential.hint.strip()


def test_a_channel_without_settings_is_complete_and_the_keys_of_all_platforms_are_welcome(plug):
    assert issubclass(plug.settings, BaseModel)
    plug.settings.model_validate({})
    plug.settings.model_validate({"parse_mode": "HTML", "disable_preview": True})


def test_the_address_of_the_platform_is_a_setting(plug):
    """So that the sandbox, a mirror or a test can take the platform's place."""
    assert plug.settings.model_fields["base_url"].default.startswith("https://")


async def test_an_opened_plug_is_a_platform(plug, http):
    assert is_platform(plug.open(PlatformContext(http)))


async def test_the_installation_says_where_the_platform_is_and_a_channel_may_differ(plug, http):
    async with peer(answer(500)) as everyones, peer(answer(500)) as own:
        platform = plug.open(PlatformContext(http, {"base_url": everyones.url}))
        for settings in ({}, {"base_url": own.url}):
            with pytest.raises(ProviderError):
                await platform.send_text(channel(plug.name, "", settings=settings), "Hello", meta())

    assert (len(everyones.requests), len(own.requests)) == (1, 1)


@pytest.mark.spec("AP-271")
@pytest.mark.parametrize(
    ("act", "outcome"),
    [
        (answer(429), REFUSED),
        (answer(429, "<html>slow down"), REFUSED),
        (answer(500), UNKNOWN),
        (answer(502, "<html>"), UNKNOWN),
        (answer(503), REFUSED),
        (answer(504, b"\xff\xfe"), UNKNOWN),
        (answer(599, "null"), UNKNOWN),
        (Act.HANG, UNKNOWN),
        (Act.HANG_UP, UNKNOWN),
        (answer(200, "{" * 50, Connection="close")[:-9], UNKNOWN),
        (b"this is no HTTP\r\n\r\nConnection: close", UNKNOWN),
    ],
)
async def test_limits_server_errors_timeouts_and_broken_connections_are_transient(plug, http, act, outcome):
    async with peer(act) as it:
        error = await failure(plug, http, it.url, timeout=SOON)

    assert kinds(error) == ("TRANSIENT", "platform", outcome)
    assert len(it.requests) == 1


@pytest.mark.spec("AP-274")
@pytest.mark.parametrize("status", [400, 405, 413, 422])
async def test_a_refused_payload_is_the_deliverys_own_and_permanent(plug, http, status):
    async with peer(answer(status)) as it:
        assert kinds(await failure(plug, http, it.url)) == ("PERMANENT", "delivery", REFUSED)


@pytest.mark.spec("AP-275", "AP-276")
@pytest.mark.parametrize("status", [401, 403, 404])
async def test_refused_access_and_a_missing_chat_are_the_channels_and_permanent(plug, http, status):
    async with peer(answer(status)) as it:
        assert kinds(await failure(plug, http, it.url)) == ("PERMANENT", "channel", REFUSED)


@pytest.mark.parametrize(
    ("header", "wait"),
    [
        ("7", timedelta(seconds=7)),
        ("Wed, 21 Oct 2015 07:28:00 GMT", timedelta(0)),
        ("9" * 30, timedelta(days=1)),
        ("soon", None),
    ],
)
async def test_a_retry_after_header_is_understood_and_bounded(plug, http, header, wait):
    async with peer(answer(429, Retry_After=header)) as it:
        assert (await failure(plug, http, it.url)).retry_after == wait


async def test_a_redirect_is_not_followed_with_the_credentials(plug, http):
    async with peer() as target, peer(answer(307, Location=f"{target.url}/{SECRET}")) as it:
        error = await failure(plug, http, it.url)

    assert kinds(error) == ("TRANSIENT", "platform", UNKNOWN)
    assert target.requests == []


@pytest.mark.parametrize(
    "body", ["<html>Please log in</html>", "", "[]", "null", '{"ok": true}', '{"x": "' + "y" * (2 << 20)]
)
async def test_a_success_that_is_not_the_platforms_may_have_been_one(plug, http, body):
    async with peer(answer(200, body)) as it:
        assert kinds(await failure(plug, http, it.url)) == ("TRANSIENT", "platform", UNKNOWN)


async def test_what_never_left_was_not_sent(plug, http, closed_port):
    for base_url in (
        f"http://127.0.0.1:{closed_port}",
        f"https://127.0.0.1:{closed_port}",
        "http://nobody.sandbox",
    ):
        assert kinds(await failure(plug, http, base_url)) == ("TRANSIENT", "platform", NOT_SENT)


@pytest.mark.parametrize("base_url", ["", "api.example.com", "ftp://example.com", "http://"])
async def test_a_wrong_base_url_is_the_channels_fault(plug, http, base_url):
    assert kinds(await failure(plug, http, base_url)) == ("PERMANENT", "channel", NOT_SENT)


async def test_an_answer_that_repeats_the_secret_does_not_spread_it(plug, http):
    for echo in (
        SECRET,
        "7654321%3Athe%2Fsecret%2Bof%25this%20channel",
        "7654321:the%2Fsecret%2Bof%25this%20channel",
    ):
        async with peer(answer(400, f'{{"description": "no {echo}"}}')) as it:
            await failure(plug, http, it.url)
        async with peer(answer(400, json.dumps({"description": [{echo: echo}]}).replace("/", "\\/"))) as it:
            await failure(plug, http, it.url)
        async with peer(answer(200, f"no {echo}")) as it:
            await failure(plug, http, it.url)


async def test_an_answer_that_postgres_could_not_store_is_made_storable(plug, http):
    body = (
        '{"description": "a\\u0000b\\ud83dc", "\\u0000": [1e999, NaN, -Infinity, 1.5], "error_code": "\\u0000"}'
    )
    async with peer(answer(400, body), answer(200, body)) as it:
        for _ in range(2):
            stored = json.dumps((await failure(plug, http, it.url)).as_json(), ensure_ascii=False)

            assert not re.search("NaN|Infinity|\\x00|\\\\u0000|[\ud800-\udfff]", stored)


async def test_a_channel_without_its_credential_sends_nothing(plug, http):
    async with peer() as it:
        with pytest.raises(ProviderError) as caught:
            await plug.open(PlatformContext(http)).send_text(
                channel(plug.name, it.url, token=""), "Hello", meta()
            )

    assert kinds(caught.value) == ("PERMANENT", "channel", NOT_SENT)
    assert it.requests == []


async def test_media_is_sent_or_refused_like_text(plug, http):
    image = Media(type=MediaRef.URL, ref="https://example.com/x.png", kind=MediaKind.IMAGE)
    async with peer(answer(403)) as it:
        with pytest.raises(ProviderError) as caught:
            await plug.open(PlatformContext(http)).send_media(
                channel(plug.name, it.url), [image], "Hello", [], meta()
            )

    assert caught.value.category == "PERMANENT"
    assert_presentable(caught.value)


async def test_a_post_is_not_repeated_on_a_connection_that_dies_while_kept_alive(plug, http):
    async with peer(answer(400), Act.HANG_UP, answer(400)) as it:
        await failure(plug, http, it.url)
        second = await failure(plug, http, it.url)

    assert (it.connections, len(it.requests), second.outcome) == (1, 2, UNKNOWN)


def test_the_secret_is_in_no_repr():
    assert SECRET not in repr(channel("x", ""))
    assert channel("x", "", token="").with_token(SECRET) == channel("x", "")
