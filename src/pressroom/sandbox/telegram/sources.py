"""Where a method gets a file from: a part of the request, an address, or a `file_id`; and fetching it.

`find_source` finds what is meant, `check_source` complains as TDLib does before anything is sent, and `fetched` as
Telegram does when it looks at the file.
"""

from dataclasses import dataclass
from pathlib import PurePosixPath

import aiohttp
from yarl import URL

from pressroom.core.markup import Entity, EntityType, Markup, ParseFailed, fix
from pressroom.sandbox.telegram.files import (
    KIND_NAMES,
    Files,
    Known,
    WrongFileId,
    mime_of,
    read_file_id,
)
from pressroom.sandbox.telegram.model import Picture
from pressroom.sandbox.telegram.parameters import Parameters, Upload
from pressroom.sandbox.telegram.refusal import bad_request
from pressroom.sandbox.telegram.request import Request

ATTACH = "attach://"
PHOTO_BYTES, THUMBNAIL_BYTES = 10 << 20, 200 * 1024 - 1
URL_PHOTO_BYTES, URL_BYTES = 5 << 20, 20 << 20
FETCH_SECONDS = 20
PHOTO_SIDES, PHOTO_RATIO = 10_000, 20
THUMBNAIL_SIDE = 320

#: What a page has to be to be sent as such: beginnings of MIME types.
_FROM_PAGES = {
    "photo": ("image/",),
    "animation": ("image/gif", "video/mp4"),
    "video": ("video/",),
    "audio": ("audio/",),
    "voice": ("audio/",),
    "document": ("image/gif", "application/pdf", "application/zip"),
    "sticker": ("image/webp", "video/webm"),
}
_UNSAID = ("", "application/octet-stream", "binary/octet-stream")


@dataclass(frozen=True, slots=True)
class Source:
    upload: Upload | None = None
    given: str = ""  # an address or a `file_id`


@dataclass(frozen=True, slots=True)
class Checked:
    """A source that TDLib would send on. `kind` is another than asked for where a document was a video all along."""

    kind: str
    upload: Upload | None = None
    url: str | None = None
    known: Known | None = None


def find_source(
    parameters: Parameters, part: str, given: str | None = None, *, only_uploads: bool = False
) -> Source | None:
    """`part` is the part's name where none is attached by name; empty when it has to be."""
    given = parameters.text(part) if given is None else given
    if given.startswith(ATTACH):
        part = given.removeprefix(ATTACH)
    elif given and not only_uploads:
        return Source(given=given)
    upload = parameters.files.get(part)
    return None if upload is None else Source(upload)


def check_source(request: Request, source: Source, kind: str) -> Checked:
    if source.upload is not None:
        _check_size(len(source.upload.content), kind)
        return Checked(kind, source.upload)
    if "." in source.given:
        return Checked(kind, url=_address(source.given))
    try:
        name = read_file_id(request.bot.id, source.given)
    except WrongFileId as error:
        raise bad_request(str(error)) from None
    known = None if name is None else request.state.files.known(name.unique)
    if name is None or known is None:
        return Checked(kind)
    if (name.kind in ("photo", "thumbnail")) != (kind == "photo") or name.kind == "thumbnail":
        raise bad_request(f"Can't use file of type {KIND_NAMES[name.kind]} as {KIND_NAMES[kind]}")
    return Checked(name.kind, known=known)


def _check_size(size: int, kind: str) -> None:
    if not size:
        raise bad_request("File must be non-empty")
    if kind == "photo" and size > PHOTO_BYTES:
        raise bad_request(
            f"File of size {size} bytes is too big for a photo; the maximum size is {PHOTO_BYTES} bytes"
        )


def _address(given: str) -> str:
    """With a scheme; refused for the reasons for which TDLib refuses links."""
    url = given if "://" in given else f"http://{given}"
    try:
        fix(Markup("x", (Entity(EntityType.TEXT_LINK, 0, 1, url=url),)))
    except ParseFailed as error:
        reason = error.message.rpartition("' is invalid: ")[2]
        if error.message.startswith("messageEntity"):
            raise bad_request("URL must be in UTF-8") from None
        if reason != "Wrong HTTP URL":  # a host without a dot, as local ones are
            raise bad_request(f"Invalid file HTTP URL specified: {reason}") from None
    return url


# Telegram looks at it


async def fetched(request: Request, checked: Checked) -> Known:
    files = request.state.files
    if checked.known is not None:
        return checked.known
    if checked.upload is not None:
        upload = checked.upload
        known = files.keep(upload.content, upload.name or None, _mime(upload.name, upload.kind))
    elif checked.url is not None:
        known = await _from_page(request, checked.url, checked.kind)
    else:
        raise bad_request("wrong file identifier/HTTP URL specified")
    if checked.kind == "photo":
        _check_photo(known)
    return known


def _check_photo(known: Known) -> None:
    if not known.is_image:
        raise bad_request("IMAGE_PROCESS_FAILED")
    long, short = max(known.width, known.height), min(known.width, known.height)
    if known.width + known.height > PHOTO_SIDES or long > short * PHOTO_RATIO:
        raise bad_request("PHOTO_INVALID_DIMENSIONS")


def _mime(name: str, said: str) -> str | None:
    """What the name says, or else the client."""
    guessed = mime_of(name)
    if guessed != "application/octet-stream":
        return guessed
    said = said.partition(";")[0].strip().lower()
    return None if said in _UNSAID or "/" not in said else said


async def _from_page(request: Request, url: str, kind: str) -> Known:
    most = URL_PHOTO_BYTES if kind == "photo" else URL_BYTES
    try:
        address = URL(url)
        if address.host is None:
            raise bad_request("wrong HTTP URL specified")
        async with request.state.world.http.get(
            address, max_redirects=5, timeout=aiohttp.ClientTimeout(total=FETCH_SECONDS)
        ) as response:
            content = await response.content.read(most + 1) if response.status == 200 else b""
            while content and len(content) <= most and (more := await response.content.read(most + 1)):
                content += more
            mime = response.content_type
    except ValueError:
        raise bad_request("wrong HTTP URL specified") from None
    except (TimeoutError, aiohttp.ClientError, OSError):
        raise bad_request("failed to get HTTP URL content") from None
    if not content or len(content) > most:
        raise bad_request("failed to get HTTP URL content")
    name = PurePosixPath(address.path).name
    if mime in _UNSAID:
        mime = mime_of(name)
    if not mime.startswith(_FROM_PAGES.get(kind, ())):
        raise bad_request("wrong type of the web page content")
    return request.state.files.keep(content, name or None, mime)


# Thumbnails and covers


def find_thumbnail(request: Request, *given: str) -> Picture | None:
    """Only uploaded ones; what is no small picture is passed over without a word, but for its size."""
    parameters = request.parameters
    for source in (
        *(find_source(parameters, "", one, only_uploads=True) for one in given if one),
        find_source(parameters, "thumbnail", only_uploads=True),
        find_source(parameters, "thumb", only_uploads=True),
    ):
        if source is not None and source.upload is not None:
            return _thumbnail(request.state.files, source.upload)
    return None


def _thumbnail(files: Files, upload: Upload) -> Picture | None:
    size = len(upload.content)
    if size > THUMBNAIL_BYTES:
        raise bad_request(
            f"File of size {size} bytes is too big for a thumbnail; the maximum size is {THUMBNAIL_BYTES} bytes"
        )
    picture = picture_of(files.keep(upload.content, upload.name or None)) if size else None
    if picture is None or max(picture.width, picture.height) > THUMBNAIL_SIDE:
        return None
    return picture


def picture_of(known: Known) -> Picture | None:
    return Picture(known.unique, known.size, known.width, known.height) if known.is_image else None
