"""Files with captions: sendPhoto and its like, albums, getFile."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, cast

from pressroom.core.markup import Markup
from pressroom.sandbox.telegram.fields import Fields, Malformed, decode
from pressroom.sandbox.telegram.files import FileName, WrongFileId, read_file_id
from pressroom.sandbox.telegram.model import Media, Picture
from pressroom.sandbox.telegram.parameters import Parameters
from pressroom.sandbox.telegram.refusal import Refusal, bad_request
from pressroom.sandbox.telegram.request import Method, Request
from pressroom.sandbox.telegram.rights import check_sending
from pressroom.sandbox.telegram.sending import Content, Place, find_place, keep_to_rate, read_options, say, send
from pressroom.sandbox.telegram.shown import file_json, message_json
from pressroom.sandbox.telegram.sources import (
    Checked,
    Source,
    check_source,
    fetched,
    find_source,
    find_thumbnail,
    picture_of,
)
from pressroom.sandbox.telegram.texts import caption_as_sent, formatted, read_text

ALBUM = 10
DOWNLOAD_BYTES = 20 << 20
LONGEST_SECONDS, LONGEST_SIDE = 86_400, 10_000
VIDEO_NOTE_SIDE = 640

#: As refusals call what is missing.
_MISSING = {"video_note": "video note"}
_SPOILED = ("photo", "video", "animation")
_ABOVE = ("photo", "video", "animation")
_ALONE = ("audio", "document")  # in albums they stand only with their own kind


@dataclass(slots=True)
class Draft:
    """A file to be sent, as the method or an album's item describes it."""

    kind: str
    source: Source
    caption: Markup = field(default_factory=lambda: Markup(""))
    media: Media = field(default_factory=lambda: Media("", ""))
    thumbnails: tuple[str, ...] = ()
    cover: Source | None = None


# One file


def sender(kind: str) -> Method:
    async def send_file(request: Request) -> dict[str, Any]:
        draft = _draft(request.parameters, kind)
        options = read_options(request)
        content = await content_of(request, find_place(request, options), draft)
        place = find_place(request, options)  # much may have happened while the file was fetched
        return send(request, place, content)

    return send_file


def _draft(parameters: Parameters, kind: str) -> Draft:
    source = find_source(parameters, kind)
    if source is None:
        raise bad_request(f"There is no {_MISSING.get(kind, kind)} in the request")
    draft = Draft(kind, source)
    draft.media = Media(
        kind,
        "",
        width=parameters.integer("width" if kind != "video_note" else "length", 0, 0, LONGEST_SIDE),
        height=parameters.integer("height", 0, 0, LONGEST_SIDE),
        duration=parameters.integer("duration", 0, 0, LONGEST_SECONDS),
        performer=parameters.text("performer") or None,
        title=parameters.text("title") or None,
        start_timestamp=parameters.integer("start_timestamp", 0, 0, LONGEST_SECONDS),
        emoji=parameters.text("emoji") or None,
        spoiler=kind in _SPOILED and parameters.truth("has_spoiler"),
        caption_above=kind in _ABOVE and parameters.truth("show_caption_above_media"),
    )
    if kind == "video":
        draft.cover = find_source(parameters, "cover")
    if kind not in ("video_note", "sticker"):
        draft.caption = read_text(parameters, "caption", "caption_entities")
    return draft


async def content_of(request: Request, place: Place, draft: Draft) -> Content:
    """The file looked at, after what is said about it; refused in the real order."""
    checked = check_source(request, draft.source, draft.kind)
    if draft.kind == "video_note" and draft.media.width > VIDEO_NOTE_SIDE:
        raise bad_request("Wrong video note length")
    caption = caption_as_sent(draft.caption)
    check_sending(place.chat, place.member, checked.kind)
    media = await media_of(request, draft, checked)
    return Content(checked.kind, caption.text, caption.entities, media)


async def media_of(request: Request, draft: Draft, checked: Checked) -> Media:
    """A file that is known by its `file_id` stays what it was; how its caption is shown is said anew."""
    files = request.state.files
    said = draft.media
    thumbnail = find_thumbnail(request, *draft.thumbnails) if checked.known is None else None
    known = await fetched(request, checked)
    if checked.known is not None and (before := files.media(checked.kind, known.unique)) is not None:
        return replace(
            before,
            spoiler=said.spoiler,
            caption_above=said.caption_above,
            cover=await _cover(request, draft) or before.cover,
            start_timestamp=said.start_timestamp or before.start_timestamp,
        )
    is_picture = checked.kind in ("photo", "sticker", "animation") and known.is_image
    media = replace(
        said,
        kind=checked.kind,
        file_unique=known.unique,
        name=None if checked.kind in ("photo", "sticker", "video_note", "voice") else known.name,
        mime=known.mime,
        size=known.size,
        width=known.width if is_picture else said.width,
        height=known.height if is_picture else said.height,
        thumbnail=None if checked.kind in ("photo", "voice") else thumbnail,
        cover=await _cover(request, draft),
    )
    if media.kind == "video_note":
        media.width = media.height = media.width or 240
    files.describe(media)
    return media


async def _cover(request: Request, draft: Draft) -> Picture | None:
    if draft.cover is None:
        return None
    return picture_of(await fetched(request, check_source(request, draft.cover, "photo")))


# Albums


async def send_media_group(request: Request) -> list[dict[str, Any]]:
    options = read_options(request, with_keyboard=False)
    drafts = _album(request)
    place = find_place(request, options)
    checked = [check_source(request, draft.source, draft.kind) for draft in drafts]
    captions = [caption_as_sent(draft.caption) for draft in drafts]
    kinds = [one.kind for one in checked]
    _check_sending(place, kinds)
    _check_album(drafts, kinds)
    request.check_reachable(place.chat)
    contents = [
        Content(one.kind, caption.text, caption.entities, await _item(request, number, draft, one))
        for number, (draft, one, caption) in enumerate(zip(drafts, checked, captions, strict=True), 1)
    ]
    place = find_place(request, options)  # much may have happened while the files were fetched
    _check_sending(place, kinds)
    request.check_reachable(place.chat)
    keep_to_rate(request, place.chat, len(contents))
    album = new_album(request) if len(contents) > 1 else None
    messages = [say(request, place, content, album) for content in contents]
    return [message_json(request.state, request.bot, place.chat, message) for message in messages]


async def _item(request: Request, number: int, draft: Draft, checked: Checked) -> Media:
    try:
        return await media_of(request, draft, checked)
    except Refusal as refusal:
        raise bad_request(
            f'Failed to send message #{number} with the error message "{_said(refusal)}"'
        ) from None


def _said(refusal: Refusal) -> str:
    """As it was before it became a description."""
    said = refusal.description.removeprefix("Bad Request: ")
    return said[:1].upper() + said[1:]


def new_album(request: Request) -> str:
    return str((1 << 53) + request.state.world.chance.getrandbits(53))


def _album(request: Request) -> list[Draft]:
    given = request.required_text("media")
    try:
        items = decode(given)
    except Malformed:
        raise bad_request("can't parse media JSON object") from None
    if not isinstance(items, list):
        raise bad_request("Expected an Array of InputMedia")
    return [read_item(request.parameters, one, in_album=True) for one in cast("list[object]", items)]


def _check_sending(place: Place, kinds: Sequence[str]) -> None:
    for kind in kinds:
        check_sending(place.chat, place.member, kind)


def _check_album(drafts: Sequence[Draft], kinds: Sequence[str]) -> None:
    if len(drafts) > ALBUM:
        raise bad_request("Too many messages to send as an album")
    if not drafts:
        raise bad_request("There are no messages to send")
    if any(draft.media.caption_above != drafts[0].media.caption_above for draft in drafts):
        raise bad_request("Parameter show_caption_above_media must be the same for all messages")
    if any(kind not in ("photo", "video", "audio", "document") for kind in kinds):
        raise bad_request("Invalid message content type")
    for kind in kinds:
        if kind in _ALONE and len(set(kinds)) > 1:
            raise bad_request(f"{kind} can't be mixed with other media types")


def read_item(parameters: Parameters, given: object, *, in_album: bool) -> Draft:
    """An InputMedia: of an album, or the new one of an edited message."""
    try:
        return _input_media(parameters, Fields.of(given, "expected an Object"), in_album=in_album)
    except Malformed as error:
        raise bad_request(f"Can't parse InputMedia: {error}") from None
    except Refusal as refusal:
        if refusal.code != 400:
            raise
        raise bad_request(f"Can't parse InputMedia: {_said(refusal)}") from None


def _input_media(parameters: Parameters, said: Fields, *, in_album: bool) -> Draft:
    caption = formatted(said.text("caption"), said.text("parse_mode"), said.raw("caption_entities"))
    above, spoiler = said.truth("show_caption_above_media"), said.truth("has_spoiler")
    kind = said.required_text("type")
    source = find_source(parameters, "", said.text("media"))
    if source is None:
        raise Malformed("media not found")
    draft = Draft(kind, source, caption, thumbnails=(said.text("thumbnail") or said.text("thumb"),))
    match kind:
        case "photo":
            draft.media = Media(kind, "")
        case "video":
            draft.media = _moving(said, kind)
            draft.cover = find_source(parameters, "", said.text("cover"))
            draft.media.start_timestamp = _clamped(said, "start_timestamp", LONGEST_SECONDS)
            said.truth("supports_streaming")
        case "animation" if not in_album:
            draft.media = _moving(said, kind)
        case "animation":
            raise Malformed('type "animation" can\'t be used in sendMediaGroup')
        case "audio":
            draft.media = Media(
                kind,
                "",
                duration=_clamped(said, "duration", LONGEST_SECONDS),
                title=said.text("title") or None,
                performer=said.text("performer") or None,
            )
        case "document":
            said.truth("disable_content_type_detection")
            draft.media = Media(kind, "")
        case "live_photo":
            raise Refusal(501, "Not Implemented: the sandbox does not have live photos yet")
        case _:
            raise Malformed(f'type "{kind}" is unsupported')
    draft.media.caption_above = kind in _ABOVE and above
    draft.media.spoiler = kind in _SPOILED and spoiler
    return draft


def _moving(said: Fields, kind: str) -> Media:
    width, height = (_clamped(said, name, LONGEST_SIDE) for name in ("width", "height"))
    return Media(kind, "", width=width, height=height, duration=_clamped(said, "duration", LONGEST_SECONDS))


def _clamped(said: Fields, name: str, most: int) -> int:
    return min(max(said.integer(name), 0), most)


# Getting files back


def get_file(request: Request) -> dict[str, Any]:
    given = request.parameters.text("file_id")
    if not given:
        raise bad_request("file_id not specified")
    try:
        name = read_file_id(request.bot.id, given)
    except WrongFileId:
        raise bad_request("invalid file_id") from None
    files = request.state.files
    known = None if name is None else files.known(name.unique)
    if name is None or known is None:
        raise bad_request("wrong file_id or the file is temporarily unavailable")
    if known.size > DOWNLOAD_BYTES:
        raise bad_request("file is too big")
    path = files.link(request.bot.id, name)
    if path is None:
        raise bad_request("wrong file_id or the file is temporarily unavailable")
    return {
        **file_json(request.bot, FileName(name.kind, name.unique, name.size), known.size),
        "file_path": path,
    }


METHODS: dict[str, Method] = {
    "sendPhoto": sender("photo"),
    "sendVideo": sender("video"),
    "sendAnimation": sender("animation"),
    "sendAudio": sender("audio"),
    "sendDocument": sender("document"),
    "sendVoice": sender("voice"),
    "sendVideoNote": sender("video_note"),
    "sendSticker": sender("sticker"),
    "sendMediaGroup": send_media_group,
    "getFile": get_file,
}
