import pytest

from pressroom.sandbox.max import EXAMPLE_BOT

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
