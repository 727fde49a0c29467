"""telegraf in its normal flows (node/telegraf.mjs)."""

import pytest

from tests.sandbox.clients import told
from tests.sandbox.clients.place import TelegramPlace
from tests.sandbox.clients.script import NODE_FOLDER, node, running

COMMAND = node(), NODE_FOLDER / "telegraf.mjs"
#: It marks its own buttons with `hide`, and counts members by the name that the method had before Bot API 5.3.
KNOWN = r"\.hide: is not in the specification$|^getChatMembersCount: there is no such method$"


@pytest.fixture
def start(telegram: TelegramPlace) -> told.Start:
    telegram.watched.known = KNOWN
    return lambda flow, **given: running(*COMMAND, flow=flow, url=telegram.url, token=telegram.token, **given)


class TestTelegraf(told.Flows):
    by_answer = "deleteMessage"  # it answers so with five methods only
