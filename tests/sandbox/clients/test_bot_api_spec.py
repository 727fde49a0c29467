"""The judge is judged first: it has to find what is wrong, and nothing else."""

import json
from typing import Any

import aiohttp
import pytest

from pressroom.core.asgi import serving
from tests.sandbox.clients.bot_api_spec import BotApi, Watched, parameters_of

CHAT = {"id": -1001, "type": "channel", "title": "News"}
MESSAGE = {"message_id": 7, "date": 1_700_000_000, "chat": CHAT, "text": "hello"}
PERSON = {"id": 5, "is_bot": False, "first_name": "Anna"}


@pytest.fixture(scope="module")
def api() -> BotApi:
    return BotApi.stored()


def test_a_message_as_telegram_sends_it_conforms(api):
    assert api.complaints_of_result("sendMessage", MESSAGE) == []


@pytest.mark.parametrize(
    ("result", "complaint"),
    [
        ({k: v for k, v in MESSAGE.items() if k != "date"}, "sendMessage().date: is required and missing"),
        ({**MESSAGE, "colour": "red"}, "sendMessage().colour: is not in the specification"),
        ({**MESSAGE, "message_id": "7"}, 'sendMessage().message_id: is "7", where Integer is wanted'),
        ({**MESSAGE, "message_id": True}, "sendMessage().message_id: is true, where Integer is wanted"),
        ({**MESSAGE, "text": None}, "sendMessage().text: is null, where String is wanted"),
        ({**MESSAGE, "chat": {**CHAT, "id": None}}, "sendMessage().chat.id: is null, where Integer is wanted"),
        ({**MESSAGE, "photo": {}}, "sendMessage().photo: is {}, where Array of PhotoSize is wanted"),
        (
            {**MESSAGE, "entities": [{"type": "bold", "offset": 0}]},
            "sendMessage().entities[0].length: is required and missing",
        ),
        (True, "sendMessage(): is true, where Message is wanted"),
    ],
)
def test_what_is_wrong_with_an_answer_is_said_with_its_place(api, result, complaint):
    assert api.complaints_of_result("sendMessage", result) == [complaint]


@pytest.mark.parametrize("result", [MESSAGE, True])
def test_an_edit_answers_with_a_message_or_with_true(api, result):
    assert api.complaints_of_result("editMessageText", result) == []


def test_an_album_answers_with_a_list(api):
    assert api.complaints_of_result("sendMediaGroup", [MESSAGE, MESSAGE]) == []
    assert api.complaints_of_result("sendMediaGroup", MESSAGE) != []


def test_of_several_shapes_the_one_that_names_itself_is_compared(api):
    owner = {"status": "creator", "user": PERSON, "is_anonymous": False}

    assert api.complaints_of_result("getChatMember", owner) == []
    assert api.complaints_of_result("getChatMember", {**owner, "rank": 1}) == [
        "getChatMember().rank: is not in the specification"
    ]
    assert api.complaints_of_result("getChatMember", {"status": "king", "user": PERSON})


def test_a_message_nobody_can_read_any_more_has_no_date(api):
    gone = {"message_id": 7, "date": 0, "chat": CHAT}
    pressed = {"id": "1", "from": PERSON, "chat_instance": "1", "data": "x"}

    assert api.complaints_of("CallbackQuery", {**pressed, "message": gone}) == []
    assert api.complaints_of("CallbackQuery", {**pressed, "message": MESSAGE}) == []
    assert api.complaints_of("CallbackQuery", {**pressed, "message": {**gone, "colour": "red"}}) != []


@pytest.mark.parametrize(
    ("method", "parameters"),
    [
        ("sendMessage", {"chat_id": -1001, "text": "hello", "disable_notification": True}),
        ("SENDmessage", {"chat_id": "-1001", "text": "hello", "disable_notification": "true"}),
        ("sendMessage", {"chat_id": "@news", "text": "7", "reply_markup": '{"remove_keyboard": true}'}),
        ("sendMessage", {"chat_id": "@news", "text": "7", "entities": "[]", "method": "sendMessage"}),
        ("sendMessage", {"chat_id": 1, "text": "7", "reply_markup": {"keyboard": [["Yes", {"text": "No"}]]}}),
        ("getMe", {}),
        ("setMyCommands", {"commands": '[{"command": "go", "description": "Go"}]'}),
        ("setMyCommands", {"commands": "[]", "scope": '{"type": "chat", "chat_id": 5}'}),
    ],
)
def test_a_call_conforms_in_every_encoding(api, method, parameters):
    assert api.complaints_of_call(method, parameters) == []


@pytest.mark.parametrize(
    ("method", "parameters", "complaint"),
    [
        ("sendTelepathy", {}, "sendTelepathy: there is no such method"),
        ("sendMessage", {"text": "x"}, "sendMessage.chat_id: is required and missing"),
        (
            "sendMessage",
            {"chat_id": 1, "text": "x", "colour": "red"},
            "sendMessage.colour: there is no such parameter",
        ),
        ("getUpdates", {"timeout": "soon"}, 'getUpdates.timeout: is "soon", where Integer is wanted'),
        (
            "getUpdates",
            {"allowed_updates": "[1]"},
            "getUpdates.allowed_updates[0]: is 1, where String is wanted",
        ),
        (
            "sendMessage",
            {"chat_id": 1, "text": "x", "reply_markup": '{"inline_keyboard": [[{}]]}'},
            "sendMessage.reply_markup.inline_keyboard[0][0].text: is required and missing",
        ),
        ("sendPhoto", {"chat_id": 1}, "sendPhoto.photo: is required and missing"),
        (
            "sendPhoto",
            {"chat_id": 1, "photo": "attach://a"},
            "sendPhoto: attach://a names no part of the request",
        ),
    ],
)
def test_what_is_wrong_with_a_call_is_said_with_its_place(api, method, parameters, complaint):
    assert api.complaints_of_call(method, parameters) == [complaint]


def test_a_file_is_uploaded_under_the_parameters_name_or_any_other_that_is_referred_to(api):
    album = json.dumps([{"type": "photo", "media": "attach://a"}, {"type": "video", "media": "attach://b"}])

    assert api.complaints_of_call("sendPhoto", {"chat_id": 1}, {"photo"}) == []
    assert api.complaints_of_call("sendPhoto", {"chat_id": 1, "photo": "attach://x"}, {"x"}) == []
    assert api.complaints_of_call("sendMediaGroup", {"chat_id": 1, "media": album}, {"a", "b"}) == []
    assert api.complaints_of_call("sendPhoto", {"chat_id": 1}, {"photo", "x"}) == [
        "sendPhoto: nothing refers to the uploaded part 'x'"
    ]


def test_newer_methods_are_known_without_their_results(api):
    assert api.complaints_of_call("getMe", {}) == []
    assert api.complaints_of("Update", {"update_id": 1, "subscription": {}}) == [
        "Update.subscription.user: is required and missing",
        "Update.subscription.invoice_payload: is required and missing",
        "Update.subscription.state: is required and missing",
    ]


@pytest.mark.parametrize(
    ("envelope", "complaints"),
    [
        ({"ok": False, "error_code": 400, "description": "Bad Request: chat not found"}, []),
        (
            {"ok": False, "error_code": 429, "description": "Too Many", "parameters": {"retry_after": 7}},
            [],
        ),
        (
            {"ok": False, "error_code": 429, "description": "Too Many", "parameters": {"retry_after": "7"}},
            ['getMe().parameters.retry_after: is "7", where Integer is wanted'],
        ),
        ({"ok": False, "error_code": 400}, ["getMe().description: is required and missing"]),
    ],
)
def test_errors_have_their_own_envelope(api, envelope, complaints):
    assert api.complaints_of_error("getMe", envelope) == complaints


def request(kind: str = "", query: str = "") -> dict[str, Any]:
    return {"query_string": query.encode(), "headers": [(b"content-type", kind.encode())]}


@pytest.mark.parametrize(
    ("scope", "body"),
    [
        (request(query="chat_id=1&text=%D1%8F"), b""),
        (request("application/x-www-form-urlencoded"), "chat_id=1&text=я".encode()),
        (request("application/json", query="chat_id=1"), '{"text": "я"}'.encode()),
        (
            request('multipart/form-data; boundary="b"'),
            '--b\r\nContent-Disposition: form-data; name="chat_id"\r\n\r\n1\r\n'
            '--b\r\nContent-Disposition: form-data; name="text"\r\n\r\nя\r\n--b--\r\n'.encode(),
        ),
    ],
)
def test_parameters_are_read_from_every_encoding(scope, body):
    assert parameters_of(scope, body) == ({"chat_id": "1", "text": "я"}, set())


def test_uploaded_parts_are_told_from_parameters():
    body = (
        b'--b\r\nContent-Disposition: form-data; name="photo"; filename="a.png"\r\n\r\n\x89PNG\r\n'
        b'--b\r\nContent-Disposition: form-data; name="chat_id"\r\n\r\n1\r\n--b--\r\n'
    )

    assert parameters_of(request("multipart/form-data; boundary=b"), body) == ({"chat_id": "1"}, {"photo"})


async def careless(_scope: Any, _receive: Any, send: Any) -> None:
    """An emulator that tells nobody when a message was sent."""
    message = {name: value for name, value in MESSAGE.items() if name != "date"}
    body = json.dumps({"ok": True, "result": message}).encode()
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": body})


@pytest.mark.parametrize(
    ("known", "complaints"),
    [
        (
            None,
            ["sendMessage.colour: there is no such parameter", "sendMessage().date: is required and missing"],
        ),
        (r"\.colour: there is", ["sendMessage().date: is required and missing"]),
    ],
)
async def test_calls_and_answers_are_overheard_and_only_what_is_known_of_a_client_is_excused(
    api, known, complaints
):
    watched = Watched(careless, api)
    watched.known = known

    async with serving(watched, what="an emulator", port=0) as port, aiohttp.ClientSession() as http:
        call = {"chat_id": 1, "text": "x", "colour": "red"}
        async with http.post(f"http://127.0.0.1:{port}/bot1:x/sendMessage", json=call) as response:
            passed = json.loads(await response.read())

    assert (watched.calls, watched.complaints) == (["sendMessage"], complaints)
    assert passed["result"]["text"] == "hello"


def test_a_specification_that_is_not_stored_skips_with_a_sentence_but_fails_in_ci(tmp_path, monkeypatch):
    monkeypatch.delenv("CI", raising=False)
    assert BotApi.if_stored(tmp_path) is None
    with pytest.raises(pytest.skip.Exception, match="specification is not at hand"):
        BotApi.stored(tmp_path)

    monkeypatch.setenv("CI", "true")
    for read in (BotApi.if_stored, BotApi.stored):
        with pytest.raises(FileNotFoundError):
            read(tmp_path)
