"""Texts, and what is neither text nor file: sendMessage, sendLocation, sendVenue, sendContact, sendDice."""

from typing import Any

from pressroom.sandbox.telegram.fields import Fields, Malformed, decode
from pressroom.sandbox.telegram.parameters import Parameters
from pressroom.sandbox.telegram.refusal import bad_request
from pressroom.sandbox.telegram.request import Method, Request
from pressroom.sandbox.telegram.sending import Content, find_place, read_options, send
from pressroom.sandbox.telegram.texts import TEXT_LENGTH, as_sent, read_text

#: The highest value of each, as they fall.
DICE = {"🎲": 6, "🎯": 6, "🎳": 6, "🏀": 5, "⚽": 5, "🎰": 64}
LIVE_FOR_EVER = 0x7FFFFFFF
_LIVE_RANGES = {
    "live_period": (range(60, 86_401), "Wrong live location period specified"),
    "heading": (range(361), "Wrong live location heading specified"),
    "proximity_alert_radius": (range(100_001), "Wrong live location proximity alert radius specified"),
}


def send_message(request: Request) -> dict[str, Any]:
    parameters = request.parameters
    link_preview = read_link_preview(parameters)
    if not parameters.text("text"):
        raise bad_request("message text is empty")
    written = read_text(parameters)
    place = find_place(request, read_options(request))
    sent = as_sent(written, longest=TEXT_LENGTH, too_long="message is too long")
    return send(request, place, Content("text", sent.text, sent.entities, link_preview=link_preview))


def read_link_preview(parameters: Parameters) -> dict[str, Any] | None:
    given = parameters.text("link_preview_options")
    if not given:
        return {"is_disabled": True} if parameters.truth("disable_web_page_preview") else None
    try:
        said = decode(given)
    except Malformed:
        raise bad_request("can't parse link preview options JSON object") from None
    try:
        return _link_preview(Fields.of(said, "Object expected as link preview options")) or None
    except Malformed as error:
        raise bad_request(str(error)) from None


def _link_preview(said: Fields) -> dict[str, Any]:
    options: dict[str, Any] = {}
    if said.truth("is_disabled"):
        options["is_disabled"] = True
    if url := said.text("url"):
        options["url"] = url
    for name in ("prefer_small_media", "prefer_large_media", "show_above_text"):
        if said.truth(name):
            options[name] = True
    return options


# Neither text nor file


def send_location(request: Request) -> dict[str, Any]:
    location = _location(request.parameters)
    live = {name: request.parameters.integer(name) for name in _LIVE_RANGES}
    place = find_place(request, read_options(request))
    _check_location(location, "Invalid location specified")
    if live["live_period"]:
        for name, (allowed, otherwise) in _LIVE_RANGES.items():
            if live[name] not in allowed and not (name == "live_period" and live[name] == LIVE_FOR_EVER):
                raise bad_request(otherwise)
        location |= {name: value for name, value in live.items() if value}
    return send(request, place, Content("location", fields={"location": location}))


def send_venue(request: Request) -> dict[str, Any]:
    parameters = request.parameters
    location = _location(parameters)
    place = find_place(request, read_options(request))
    _check_location(location, "Wrong venue location specified")
    location.pop("horizontal_accuracy", None)
    venue = {"location": location, "title": parameters.text("title"), "address": parameters.text("address")}
    for names in (("foursquare_id", "foursquare_type"), ("google_place_id", "google_place_type")):
        if said := {name: value for name in names if (value := parameters.text(name))}:
            venue |= said
            break  # a venue is of one provider
    return send(request, place, Content("venue", fields={"location": location, "venue": venue}))


def _location(parameters: Parameters) -> dict[str, Any]:
    for name in ("latitude", "longitude"):
        if not parameters.text(name).strip():
            raise bad_request(f"{name} is empty")
    location: dict[str, Any] = {name: _fraction(parameters.text(name)) for name in ("latitude", "longitude")}
    if (accuracy := _fraction(parameters.text("horizontal_accuracy"))) > 0:
        location["horizontal_accuracy"] = min(accuracy, 1500.0)
    return location


def _check_location(location: dict[str, Any], otherwise: str) -> None:
    if abs(location["latitude"]) > 90 or abs(location["longitude"]) > 180:
        raise bad_request(otherwise)


def _fraction(text: str) -> float:
    """0 for what is no number, as the server reads it."""
    try:
        number = float(text)
    except ValueError:
        return 0.0
    return number if abs(number) < 1e9 else 0.0


def send_contact(request: Request) -> dict[str, Any]:
    contact = {name: request.required_text(name) for name in ("phone_number", "first_name")}
    for name in ("last_name", "vcard"):
        if value := request.parameters.text(name):
            contact[name] = value
    place = find_place(request, read_options(request))
    return send(request, place, Content("contact", fields={"contact": contact}))


def send_dice(request: Request) -> dict[str, Any]:
    emoji = request.parameters.text("emoji").removesuffix("\ufe0f") or "🎲"
    place = find_place(request, read_options(request))
    if emoji not in DICE:
        raise bad_request("EMOTICON_INVALID")
    value = request.state.world.chance.randint(1, DICE[emoji])
    return send(request, place, Content("dice", fields={"dice": {"emoji": emoji, "value": value}}))


METHODS: dict[str, Method] = {
    "sendMessage": send_message,
    "sendLocation": send_location,
    "sendVenue": send_venue,
    "sendContact": send_contact,
    "sendDice": send_dice,
}
