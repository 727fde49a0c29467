import json
from datetime import timedelta
from typing import Any

import pytest

from pressroom.adapters.platforms.telegram import PLUG
from pressroom.core.errors import ProviderError
from pressroom.ports.platform import Button, Channel, ParseMode, Platform, PlatformContext, Receipt, SendMeta
from pressroom.sandbox.telegram import EXAMPLE_TOKEN
from tests.adapters.platforms import conformance
from tests.adapters.platforms.conformance import assert_presentable, kinds, meta
from tests.core.peer import answer, peer

NEWS = "-1001000000001"


@pytest.fixture
def platform(http, telegram) -> Platform:
    return PLUG.open(PlatformContext(http))


def channel(**changes: Any) -> Channel:
    return conformance.channel("telegram", "http://telegram.sandbox", **{"token": EXAMPLE_TOKEN, **changes})


async def refusal(
    platform: Platform, text: str = "Hello", how: SendMeta | None = None, **changes: Any
) -> ProviderError:
    with pytest.raises(ProviderError) as caught:
        await platform.send_text(channel(**changes), text, how or meta())
    assert_presentable(caught.value, EXAMPLE_TOKEN)
    return caught.value


async def sent_body(http, how: SendMeta, **settings: Any) -> dict[str, Any]:
    """What the plug writes, as the peer reads it."""
    async with peer(answer(200, '{"ok":true,"result":{"message_id":5}}')) as it:
        where = channel(settings={"base_url": it.url, **settings})
        await PLUG.open(PlatformContext(http)).send_text(where, "Hello", how)
    return json.loads(it.requests[0].partition(b"\r\n\r\n")[2])


@pytest.mark.spec("AP-324")
async def test_a_text_arrives_and_its_receipt_has_the_message_id_and_the_answer(platform, telegram):
    first = await platform.send_text(channel(), "Привет 👋", meta())
    second = await platform.send_text(channel(target_id="@pressroom_example_news"), "again", meta())

    assert telegram.messages(int(NEWS)) == ["Привет 👋", "again"]
    assert (first.provider_message_id, second.provider_message_id) == ("1", "2")
    assert isinstance(first, Receipt)
    assert first.raw["result"]["text"] == "Привет 👋"
    assert EXAMPLE_TOKEN not in repr(first)


async def test_the_least_is_written_when_nothing_is_set(http):
    assert await sent_body(http, meta()) == {"chat_id": NEWS, "text": "Hello"}


async def test_what_is_set_is_written(http):
    how = meta(parse_mode=ParseMode.HTML, disable_preview=True)

    assert await sent_body(http, how, disable_notification=True, protect_content=True, message_thread_id=3) == {
        "chat_id": NEWS,
        "text": "Hello",
        "parse_mode": "HTML",
        "link_preview_options": {"is_disabled": True},
        "disable_notification": True,
        "protect_content": True,
        "message_thread_id": 3,
    }


@pytest.mark.parametrize(
    "how", [meta(parse_mode=ParseMode.MARKDOWN), meta(buttons=((Button("a", "https://example.com"),),))]
)
async def test_what_is_not_built_is_refused_before_anything_is_sent(platform, telegram, how):
    error = await refusal(platform, how=how)

    assert (*kinds(error), error.code) == ("PERMANENT", "delivery", "not_sent", "unsupported")
    assert telegram.total == 0


async def test_media_is_refused_before_anything_is_sent(platform, telegram):
    with pytest.raises(ProviderError) as caught:
        await platform.send_media(channel(), [], "Hello", [], meta())

    assert (*kinds(caught.value), caught.value.code) == ("PERMANENT", "delivery", "not_sent", "unsupported")


async def test_a_429_counts_against_the_bot_and_says_when_to_come_back(platform, telegram):
    telegram.fail_next(429, retry_after=timedelta(seconds=7))

    error = await refusal(platform)

    assert kinds(error) == ("TRANSIENT", "platform", "refused")
    assert (error.code, error.retry_after) == ("429", timedelta(seconds=7))
    assert error.message == "Too Many Requests: retry after 7"


@pytest.mark.spec("AP-273")
@pytest.mark.parametrize("description", ["Bad Request: message is too long", "Bad Request: MESSAGE_TOO_LONG"])
async def test_a_message_that_is_too_long_is_the_deliverys_own_fault(platform, telegram, description):
    telegram.fail_next(400, description)

    assert kinds(await refusal(platform)) == ("PERMANENT", "delivery", "refused")


async def test_4097_characters_are_too_long(platform):
    error = await refusal(platform, "x" * 4097)

    assert (*kinds(error), error.message) == (
        "PERMANENT",
        "delivery",
        "refused",
        "Bad Request: message is too long",
    )


async def test_markup_that_cannot_be_parsed_is_the_deliverys_own_fault(platform, telegram):
    telegram.fail_next(
        400, "Bad Request: can't parse entities: Can't find end tag corresponding to start tag \"b\""
    )

    assert kinds(await refusal(platform)) == ("PERMANENT", "delivery", "refused")


async def test_an_unknown_token_is_the_channels_fault(platform):
    for token in ("1000000001:somebody-elses-token", "no token at all"):
        error = await refusal(platform, token=token)
        assert (*kinds(error), error.code) == ("PERMANENT", "channel", "refused", "401")


@pytest.mark.parametrize("target_id", ["-100999", "@nobody", ""])
async def test_an_unknown_chat_is_the_channels_fault(platform, target_id):
    error = await refusal(platform, target_id=target_id)

    assert (*kinds(error), error.code) == ("PERMANENT", "channel", "refused", "400")


@pytest.mark.parametrize(
    ("code", "description"),
    [
        (403, "Forbidden: bot was kicked from the channel chat"),
        (403, "Forbidden: bot is not a member of the channel chat"),
        (403, "Forbidden: bot was blocked by the user"),
        (400, "Bad Request: bot was kicked from the group chat"),
        (400, "Bad Request: need administrator rights in the channel chat"),
        (400, "Bad Request: not enough rights to send text messages to the chat"),
        (400, "Bad Request: have no write access to the chat"),
        (400, "Bad Request: message thread not found"),
        (400, "Bad Request: CHAT_WRITE_FORBIDDEN"),
        (404, "Not Found"),
    ],
)
async def test_a_chat_that_is_closed_to_the_bot_is_the_channels_fault(platform, telegram, code, description):
    telegram.fail_next(code, description)

    error = await refusal(platform)

    assert (*kinds(error), error.code, error.message) == (
        "PERMANENT",
        "channel",
        "refused",
        str(code),
        description,
    )


async def test_a_group_that_became_a_supergroup_is_the_channels_fault_and_its_new_id_is_told(http):
    moved = {
        "ok": False,
        "error_code": 400,
        "description": "Bad Request: group chat was upgraded to a supergroup chat",
        "parameters": {"migrate_to_chat_id": -1009},
    }
    async with peer(answer(400, json.dumps(moved))) as it:
        error = await refusal(PLUG.open(PlatformContext(http)), settings={"base_url": it.url})

    assert kinds(error) == ("PERMANENT", "channel", "refused")
    assert error.message == "Bad Request: group chat was upgraded to a supergroup chat; its id is now -1009"
    assert error.hint == "set the channel's target_id to -1009"


@pytest.mark.parametrize(("code", "outcome"), [(500, "unknown"), (502, "unknown"), (503, "refused")])
async def test_a_server_error_is_transient(platform, telegram, code, outcome):
    telegram.fail_next(code)

    assert kinds(await refusal(platform)) == ("TRANSIENT", "platform", outcome)


@pytest.mark.parametrize("before_effect", [True, False])
async def test_a_dropped_connection_is_unknown_whether_or_not_there_was_an_effect(
    platform, telegram, before_effect
):
    telegram.drop_next(before_effect=before_effect)

    error = await refusal(platform)

    assert (*kinds(error), error.code) == ("TRANSIENT", "platform", "unknown", "disconnected")
    assert telegram.total == (0 if before_effect else 1)


async def test_an_answer_that_comes_too_late_is_unknown(platform, telegram):
    telegram.slow_next(3600)

    error = await refusal(platform, how=meta(timeout=timedelta(milliseconds=50)))

    assert (*kinds(error), error.code) == ("TRANSIENT", "platform", "unknown", "timeout")
    assert telegram.total == 1


async def test_a_refused_connection_was_not_sent(platform, closed_port):
    error = await refusal(platform, settings={"base_url": f"http://127.0.0.1:{closed_port}"})

    assert (*kinds(error), error.code) == ("TRANSIENT", "platform", "not_sent", "connect")


@pytest.mark.parametrize(
    ("settings", "named"),
    [({"message_thread_id": "seven"}, "message_thread_id"), ({"base_url": "x"}, "base_url")],
)
async def test_wrong_settings_are_the_channels_fault_and_named(platform, settings, named):
    error = await refusal(platform, settings=settings)

    assert (*kinds(error), error.code) == ("PERMANENT", "channel", "not_sent", "bad_settings")
    assert named in error.message
