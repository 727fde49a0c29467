"""Attachments of a message that is sent: what each kind needs, and which of them may stand together."""

import base64
import re
from dataclasses import replace
from typing import Any
from urllib.parse import urlsplit

import aiohttp

from pressroom.sandbox.core.world import World
from pressroom.sandbox.max.errors import bad
from pressroom.sandbox.max.keyboards import read_keyboard
from pressroom.sandbox.max.looks import is_image, look_at
from pressroom.sandbox.max.markup import Element
from pressroom.sandbox.max.model import Attachment
from pressroom.sandbox.max.request import CANNOT_READ, Payload, as_object
from pressroom.sandbox.max.shown import MEDIA, user_json
from pressroom.sandbox.max.state import State
from pressroom.sandbox.max.uploads import LIMITS, Uploads

FETCH_SECONDS = 10
MOST_PHOTOS = 100
NO_PHOTO = "No `photos`, `url` or `token` provided. Check payload."
_ALONE = frozenset({"sticker", "contact"})
_ADDRESS = re.compile(r"https?://[^\s<>\"']+[^\s<>\"'.,:;!?)\]]")


class Attachments:
    def __init__(self, world: World, state: State, uploads: Uploads, *, fetch: bool = True) -> None:
        """Without `fetch`, images given by an address are believed to be there."""
        self._world, self._state, self._uploads, self._fetch = world, state, uploads, fetch

    async def read(self, given: list[Any]) -> tuple[Attachment, ...]:
        """Everything is checked before the first image is fetched."""
        payloads = [as_object(each) for each in given]
        types = [payload.text("type") for payload in payloads]
        for type_ in types:
            if type_ not in _KINDS:
                raise bad(CANNOT_READ)
        _check_company([type_ or "" for type_ in types])
        found: list[Attachment | str] = []
        for type_, payload in zip(types, payloads, strict=True):
            found += self._read_one(type_ or "", payload)
        return tuple([await self._image_at(each) if isinstance(each, str) else each for each in found])

    def _read_one(self, type_: str, given: Payload) -> list[Attachment | str]:
        """Attachments, and addresses of images that are still to be fetched."""
        if type_ == "location":
            return [_location(given)]
        payload = given.object("payload")
        if type_ == "image":
            return self._images(payload)
        if type_ in ("video", "audio", "file"):
            token = payload.text("token") if payload else None
            if not token:
                raise bad("Missing `token` in video attachment")  # the same for all three, as was seen
            return [Attachment(type_, self._uploads.usable(type_, token))]
        if type_ == "inline_keyboard":
            return [read_keyboard(payload)]
        if type_ == "sticker":
            return [self._sticker(payload)]
        if type_ == "contact":
            return [self._contact(payload)]
        return [self.share(payload)]

    def _images(self, payload: Payload | None) -> list[Attachment | str]:
        if payload is not None:
            photos = payload.object("photos")
            if photos is not None and photos.names():
                tokens = [as_object(photos.raw(key)).required_text("token") for key in photos.names()]
                return list(map(self._photo, tokens[:MOST_PHOTOS]))
            token = payload.text("token")
            if token:
                return [self._photo(token)]
            url = payload.text("url")
            if url:
                return [url]
        raise bad(NO_PHOTO)

    def _photo(self, token: str) -> Attachment:
        return Attachment("image", self._uploads.usable("image", token))

    async def _image_at(self, url: str) -> Attachment:
        name = urlsplit(url).path.rpartition("/")[2] or "image" if _is_address(url) else ""
        if not name:
            raise bad("Failed to upload image.")
        if not self._fetch:
            return Attachment("image", self._uploads.add("image", name, "image/jpeg", b""))
        content = await self._download(url)
        if content is None or not is_image(look_at(content)):
            raise bad("Failed to upload image.")
        return Attachment("image", self._uploads.add("image", name, "", content))

    async def _download(self, url: str) -> bytes | None:
        try:
            timeout = aiohttp.ClientTimeout(total=FETCH_SECONDS)
            async with self._world.http.get(url, timeout=timeout) as response:
                if response.status != 200:
                    return None
                parts: list[bytes] = []
                size = 0
                async for part in response.content.iter_chunked(1 << 16):
                    parts.append(part)
                    size += len(part)
                    if size > LIMITS["image"]:
                        return None
                return b"".join(parts)
        except (TimeoutError, aiohttp.ClientError, OSError, ValueError):
            return None

    def _sticker(self, payload: Payload | None) -> Attachment:
        code = payload.text("code") if payload else None
        if not code:
            raise bad("Field 'code' cannot be null")
        shown = {"url": f"{MEDIA}sticker", "code": code}
        return Attachment("sticker", fields={"payload": shown, "width": 512, "height": 512}, title=code)

    def _contact(self, payload: Payload | None) -> Attachment:
        if payload is None:
            raise bad("Field 'payload' cannot be null")
        name, phone = payload.text("name"), payload.text("vcf_phone")
        shown: dict[str, Any] = {}
        card = payload.text("vcf_info")
        if card is None and phone is not None:
            card = f"BEGIN:VCARD\r\nVERSION:3.0\r\nTEL;TYPE=cell:{phone}\r\nFN:{name or ''}\r\nEND:VCARD"
        if card is not None:
            shown["vcf_info"] = card
        person = self._state.users.get(payload.integer("contact_id") or 0)
        if person is not None:
            shown["max_info"] = user_json(person)
        if not shown and name is None:
            raise bad("Field 'name' cannot be null")
        return Attachment("contact", fields={"payload": shown}, title=name or (person.name if person else ""))

    def share(self, payload: Payload | None) -> Attachment:
        url = payload.text("url", least=1) if payload else None
        token = payload.text("token") if payload else None
        if url is None and token:
            url = _address_in(token)
        if url is None:
            raise bad("No `url` or `token` provided. Check payload.")
        return _share(url)


_KINDS = frozenset(
    {"image", "video", "audio", "file", "sticker", "contact", "inline_keyboard", "location", "share"}
)


def _check_company(types: list[str]) -> None:
    if types.count("inline_keyboard") > 1:
        raise bad("Must be only one inline_keyboard attachment in message")
    others = [type_ for type_ in types if type_ != "inline_keyboard"]
    if "file" in others and len(others) > 1:
        raise bad("Must be only one file attachment in message")
    for type_ in _ALONE:
        if type_ in others and len(others) > 1:
            raise bad(f"Must be only one {type_} attachment in message")


def _location(given: Payload) -> Attachment:
    """The coordinates stand beside the type; there is no payload."""
    place = {"latitude": given.real("latitude"), "longitude": given.real("longitude")}
    return Attachment("location", fields=place, title=f"{place['latitude']}, {place['longitude']}")


def _is_address(url: str) -> bool:
    try:
        parts = urlsplit(url)
        return parts.scheme in ("http", "https") and bool(parts.hostname)
    except ValueError:
        return False


def preview_of(text: str | None, markup: tuple[Element, ...]) -> Attachment | None:
    """The preview of a text's first address. Nobody looks at the page, so it has no title or picture."""
    links = [each.url for each in markup if each.url and _is_address(each.url)]
    found = _ADDRESS.search(text or "")
    url = found[0] if found else next(iter(links), None)
    if url is None or not _is_address(url):
        return None
    return replace(_share(url), automatic=True)


def _share(url: str) -> Attachment:
    """Its token is the address, so that it can be sent again by either."""
    token = base64.urlsafe_b64encode(url.encode()).decode().rstrip("=")
    return Attachment("share", fields={"payload": {"url": url, "token": token}}, title=url)


def _address_in(token: str) -> str:
    try:
        return base64.urlsafe_b64decode(token + "=" * (-len(token) % 4)).decode()
    except ValueError:
        raise bad(f"Invalid share token provided: {token[:200]}") from None
