"""aiogram in its normal flows (python/aiogram_flows.py); nothing may arrive that its models do not know (`model_extra`)."""

from collections.abc import AsyncIterator

import pytest

from tests.sandbox.clients import told
from tests.sandbox.clients.busy_day import ALL, HEARD, busy_day
from tests.sandbox.clients.place import TelegramPlace
from tests.sandbox.clients.script import PYTHON_FOLDER, Workshop, python_with_aiogram

COMMAND = python_with_aiogram(), PYTHON_FOLDER / "aiogram_flows.py"


@pytest.fixture(scope="module")
async def workshop() -> AsyncIterator[Workshop]:
    workshop = Workshop(*COMMAND)
    yield workshop
    await workshop.close()


@pytest.fixture
def start(workshop: Workshop, telegram: TelegramPlace) -> told.Start:
    return lambda flow, **given: workshop.running(flow=flow, url=telegram.url, token=telegram.token, **given)


class TestAiogram(told.Flows):
    """All of them."""


async def test_every_update_that_people_cause_is_understood(start: told.Start, telegram: TelegramPlace):
    async with start("updates", wanted=ALL) as script:
        await script.says("listening")
        busy_day(telegram.sandbox)
        await telegram.polled(1)
        script.go_on()
        heard = await script.says("heard")

    assert heard["updates"] == HEARD
