import json

import pytest

from pressroom.sandbox.telegram import TelegramSandbox
from pressroom.sandbox.telegram.absent import NAMES
from tests.sandbox.clients.bot_api_spec import NEWER, STORED, WITH_RESULTS
from tests.sandbox.telegram.api import TEAM


@pytest.mark.parametrize("method", ["sendPoll", "sendInvoice", "GETSTICKERSET"])
async def test_what_is_not_emulated_says_so(api, method):
    status, answer = await api(method)

    name = next(name for name in NAMES if name.lower() == method.lower())
    assert (status, answer["description"]) == (501, f"Not Implemented: the sandbox does not have {name} yet")


def test_every_method_of_telegram_is_there_or_said_to_be_missing(stored_bot_api):
    if stored_bot_api is None:
        pytest.skip("the Bot API's specification is not at hand")
    stored = {
        name for file in (WITH_RESULTS, NEWER) for name in json.loads((STORED / file).read_text())["methods"]
    }
    known = {name for name, _ in TelegramSandbox()._methods.values()}

    assert known == stored
    assert len(NAMES) == len(set(NAMES))


@pytest.mark.parametrize(
    ("former", "parameters", "code"),
    [
        ("getChatMembersCount", {"chat_id": TEAM}, 200),
        ("kickChatMember", {"chat_id": TEAM}, 400),
        ("setStickerSetThumb", {}, 501),
    ],
)
async def test_former_names_still_work(api, former, parameters, code):
    async with api.http.post(f"/bot{api.token}/{former}", json=parameters) as response:
        assert response.status == code
