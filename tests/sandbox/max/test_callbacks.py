import pytest

from pressroom.sandbox.max import EXAMPLE_BOT
from pressroom.sandbox.max.state import CALLBACKS

NEWS = -70000000000001

BUY = {
    "type": "inline_keyboard",
    "payload": {
        "buttons": [
            [{"type": "callback", "text": "Buy", "payload": "buy:1"}],
            [{"type": "message", "text": "Hello"}, {"type": "request_contact", "text": "My phone"}],
            [{"type": "link", "text": "Site", "url": "https://max.ru"}],
        ]
    },
}


@pytest.fixture
async def offer(call, dialog):
    _, sent = await call("POST", "/messages", {"text": "Buy?", "attachments": [BUY]}, chat_id=dialog)
    return sent["message"]["body"]["mid"]


async def test_a_pressed_button_reaches_the_bot_with_its_message(call, sandbox, anna, dialog, offer):
    by_data = anna.presses(dialog, offer, "buy:1")
    by_text = anna.presses(dialog, offer, "Buy")

    _, page = await call("GET", "/updates", timeout=0, marker=0, types="message_callback")
    first, second = page["updates"]
    assert (first["callback"]["callback_id"], second["callback"]["callback_id"]) == (by_data, by_text)
    assert first["callback"]["payload"] == "buy:1"
    assert first["callback"]["user"]["user_id"] == anna.id
    assert first["message"]["body"]["mid"] == offer
    assert first["user_locale"] == "ru"


async def test_an_answer_notifies_and_changes_the_message(call, sandbox, anna, dialog, offer):
    callback = anna.presses(dialog, offer, "Buy")

    answer = await call(
        "POST", "/answers", {"notification": "Thanks", "message": {"text": "Bought", "attachments": []}},
        callback_id=callback,
    )  # fmt: skip

    _, message = await call("GET", f"/messages/{offer}")
    assert answer == (200, {"success": True})
    assert (message["body"]["text"], message["body"].get("attachments")) == ("Bought", None)
    changed, notified = sandbox.effects()[-2:]
    assert (changed.method, changed.text) == ("POST /answers", "Bought")
    assert notified.details == {"notification": "Thanks", "to": "Anna"}


async def test_an_answer_needs_a_known_callback_and_something_to_say(call, sandbox, anna, dialog, offer):
    callback = anna.presses(dialog, offer, "Buy")

    empty = await call("POST", "/answers", {}, callback_id=callback)
    unknown = await call("POST", "/answers", {"notification": "x"}, callback_id="nothing")
    missing = await call("POST", "/answers", {"notification": "x"})

    assert empty[1]["message"] == "Invalid request. `message` or `notification` required"
    assert unknown[1]["message"] == "callback_id: Callback identifier is invalid"
    assert missing[1]["message"] == "Missing required parameter: callback_id"


async def test_other_buttons_make_the_person_say_something(call, sandbox, anna, dialog, offer):
    anna.presses(dialog, offer, "Hello")
    sandbox.act("presses", {"person": "Anna", "chat": dialog, "message_id": offer, "row": 1, "column": 1})

    _, history = await call("GET", "/messages", chat_id=dialog)
    contact, hello, _ = history["messages"]
    assert hello["body"]["text"] == "Hello"
    assert contact["body"]["attachments"][0]["payload"]["max_info"]["user_id"] == anna.id
    with pytest.raises(ValueError, match="opens or copies"):
        anna.presses(dialog, offer, "Site")
    with pytest.raises(LookupError, match="no button"):
        anna.presses(dialog, offer, "Sell")


async def test_who_stopped_the_bot_presses_nothing(sandbox, anna, dialog, offer):
    anna.blocks(EXAMPLE_BOT)

    with pytest.raises(ValueError, match="stopped"):
        anna.presses(dialog, offer, "Buy")


async def test_only_the_bot_of_the_message_answers(call, make):
    sandbox = make(bots={"first-token": "first", "second-token": "second"})
    anna = sandbox.person("Anna")
    anna.joins(NEWS)
    body = {"text": "Buy?", "attachments": [BUY]}
    _, sent = await call("POST", "/messages", body, token="first-token", chat_id=NEWS)
    callback = anna.presses(NEWS, sent["message"]["body"]["mid"], "Buy")

    async def answer(token):
        wish = {"notification": "Thanks", "message": {"text": f"by {token}"}}
        return await call("POST", "/answers", wish, token=token, callback_id=callback)

    refusal = {"code": "proto.payload", "message": "callback_id: Callback identifier is invalid"}
    assert await answer("second-token") == (400, refusal)
    assert sandbox.messages(NEWS) == ["Buy?"]
    assert await answer("first-token") == (200, {"success": True})
    assert sandbox.messages(NEWS) == ["by first-token"]


async def test_ten_thousand_callbacks_are_remembered(call, sandbox, anna, dialog, offer):
    oldest, second = anna.presses(dialog, offer, "Buy"), anna.presses(dialog, offer, "Buy")
    for _ in range(CALLBACKS - 1):
        anna.presses(dialog, offer, "Buy")

    forgotten = await call("POST", "/answers", {"notification": "x"}, callback_id=oldest)
    kept, _ = await call("POST", "/answers", {"notification": "x"}, callback_id=second)

    assert forgotten[1]["message"] == "callback_id: Callback identifier is invalid"
    assert kept == 200


async def test_an_answer_looks_again_once_its_image_is_there(call, sandbox, anna, dialog, offer, picture):
    callback = anna.presses(dialog, offer, "Buy")
    picture.meanwhile = lambda: anna.blocks(EXAMPLE_BOT)

    status, refusal = await call(
        "POST", "/answers", {"message": {"attachments": [picture.attachment]}}, callback_id=callback
    )

    assert (status, refusal["code"]) == (403, "chat.denied")
    assert sandbox.effects()[-1].method == "blocks"
