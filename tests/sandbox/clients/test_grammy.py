"""grammY in its normal flows (node/grammy.mjs)."""

import pytest

from tests.sandbox.clients import told
from tests.sandbox.clients.place import TelegramPlace
from tests.sandbox.clients.script import NODE_FOLDER, node, running

COMMAND = node(), NODE_FOLDER / "grammy.mjs"


@pytest.fixture
def start(telegram: TelegramPlace) -> told.Start:
    return lambda flow, **given: running(*COMMAND, flow=flow, url=telegram.url, token=telegram.token, **given)


class TestGrammy(told.Flows):
    """All of them."""
