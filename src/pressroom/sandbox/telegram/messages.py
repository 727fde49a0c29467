"""Texts: sendMessage."""

from typing import Any

from pressroom.sandbox.telegram.refusal import bad_request
from pressroom.sandbox.telegram.request import Method, Request
from pressroom.sandbox.telegram.shown import entity_json, message_json
from pressroom.sandbox.telegram.texts import TEXT_LENGTH, as_sent, read_text


def send_message(request: Request) -> dict[str, Any]:
    parameters = request.parameters
    if not parameters.text("text"):
        raise bad_request("message text is empty")
    written = read_text(parameters)
    chat = request.chat(to_write=True)
    if parameters.integer("message_thread_id"):
        raise bad_request("message thread not found")
    content = as_sent(written, longest=TEXT_LENGTH, too_long="message is too long")
    details = None
    if content.entities:
        details = {"entities": [entity_json(request.state, one) for one in content.entities]}
    message = request.state.say(
        chat, request.bot, "sendMessage", content.text, content.entities, details=details
    )
    return message_json(request.state, request.bot, chat, message)


METHODS: dict[str, Method] = {"sendMessage": send_message}
