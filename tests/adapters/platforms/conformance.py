"""What holds for every platform plug, whoever wrote it: how to set one up, and what each of its errors owes us.

`test_conformance.py` runs it on every plug that is discovered, those of installed distributions included.
"""

import json
import traceback
from datetime import timedelta
from typing import Any
from uuid import UUID

import aiohttp
import pytest

from pressroom.core.errors import ProviderError
from pressroom.core.ids import ChannelId, WorkspaceId, trace_id
from pressroom.core.plugins import discover
from pressroom.ports.platform import Channel, Platform, PlatformContext, PlatformPlug, SendMeta

PLUGS = discover("pressroom.adapters.platforms", PlatformPlug)

# Looks like a Telegram token, has characters that a URL escapes, and occurs nowhere else.
SECRET = "7654321:the/secret+of%this channel"


def channel(platform: str, base_url: str, **changes: Any) -> Channel:
    values: dict[str, Any] = {
        "workspace_id": WorkspaceId(UUID(int=7)),
        "platform": platform,
        "channel_id": ChannelId("news"),
        "target_id": "-1001000000001",
        "auth_ref": "main",
        "rate_group": "main",
        "settings": {"base_url": base_url},
        "token": SECRET,
    }
    return Channel(**{**values, **changes})


def meta(**changes: Any) -> SendMeta:
    return SendMeta(**{"trace_id": trace_id(), "idempotency_key": str(UUID(int=9)), **changes})


SOON = timedelta(milliseconds=50)


async def failure(plug: PlatformPlug, http: aiohttp.ClientSession, base_url: str, **how: Any) -> ProviderError:
    """The error of sending one text there, which has to be a presentable one."""
    platform = plug.open(PlatformContext(http))
    with pytest.raises(ProviderError) as caught:
        await platform.send_text(channel(plug.name, base_url), "Hello", meta(**how))
    assert_presentable(caught.value)
    return caught.value


def assert_presentable(error: ProviderError, *secrets: str) -> None:
    """It can be stored and shown: it says something, briefly, and nowhere the secret, not even in its traceback."""
    shown = [str(error), repr(error), json.dumps(error.as_json()), *traceback.format_exception(error)]
    for secret in (SECRET, "the%2Fsecret", "the/secret", *secrets):
        assert not [text for text in shown if secret in text]
    assert error.message
    assert error.code
    assert len(error.raw or "") <= 300


def kinds(error: ProviderError) -> tuple[str, str, str]:
    return error.category, error.scope, error.outcome


def is_platform(opened: object) -> bool:
    return isinstance(opened, Platform)
