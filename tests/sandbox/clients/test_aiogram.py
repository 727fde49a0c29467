"""aiogram in its normal flows (python/aiogram_flows.py); nothing may arrive that its models do not know (`model_extra`)."""

from collections.abc import AsyncIterator
from pathlib import Path

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


async def test_the_bot_learns_who_it_is_and_where(start: told.Start):
    await told.identity(start)


async def test_texts_keep_their_formatting_and_buttons(start: told.Start, telegram: TelegramPlace):
    await told.texts(start, telegram)


async def test_media_arrive_from_memory_from_files_and_from_the_web(
    start: told.Start, telegram: TelegramPlace, pictures: str, picture_file: Path, notes_file: Path
):
    await told.media(start, telegram, pictures, picture_file, notes_file)


async def test_an_album_is_one_group(
    start: told.Start, telegram: TelegramPlace, pictures: str, picture_file: Path
):
    await told.album(start, telegram, pictures, picture_file)


async def test_messages_are_edited_and_deleted(start: told.Start, telegram: TelegramPlace, picture_file: Path):
    await told.edits(start, telegram, picture_file)


async def test_posts_are_pinned_forwarded_and_copied(start: told.Start, telegram: TelegramPlace):
    await told.moves(start, telegram)


async def test_refusals_come_as_their_own_exceptions(start: told.Start, telegram: TelegramPlace):
    await told.refusals(start, telegram)


async def test_long_polling_brings_what_people_do(start: told.Start, telegram: TelegramPlace):
    await told.polling(start, telegram)


async def test_every_update_that_people_cause_is_understood(start: told.Start, telegram: TelegramPlace):
    async with start("updates", wanted=ALL) as script:
        await script.says("listening")
        busy_day(telegram.sandbox)
        await telegram.polled(1)
        script.go_on()
        heard = await script.says("heard")

    assert heard["updates"] == HEARD


async def test_a_webhook_is_answered_with_a_method_and_checks_the_secret(
    start: told.Start, telegram: TelegramPlace
):
    await told.webhook(start, telegram)
