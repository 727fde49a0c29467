"""What a link may lead to: a user, a custom emoji, a moment, or a page in the form that Telegram keeps.

URLs are bytes here: case, sizes and allowed characters are those of bytes, and a URL may even end inside a character.
"""

import re
import socket
from dataclasses import dataclass

from pressroom.core.markup.model import Entity, EntityType

_LARGEST_PORT = 65_535
_LARGEST_USER_ID = (1 << 40) - 1
_SCHEME_ENDS = re.compile(rb"[:/?#@\[\]]")
_HOST_ENDS = re.compile(rb"[/?#]")
_SIGNS = rb"A-Za-z0-9.\-_!$,~*'();&+=\x80-\xff"
_HOST = re.compile(rb"[%b]*+(?:%%[0-9A-Fa-f]{2}[%b]*+)*+" % (_SIGNS, _SIGNS))
_USER_INFO = re.compile(rb"[%b:]*+(?:%%[0-9A-Fa-f]{2}[%b:]*+)*+" % (_SIGNS, _SIGNS))
_IPV6_HOST = re.compile(rb"\[[0-9a-f:.]*\]")
_TG_HOST = re.compile(rb"[A-Za-z0-9\-_]*")
_TONSITE_HOST = re.compile(rb"[A-Za-z0-9\-_.]*")
_BLANK_OR_CONTROL = re.compile(rb"[\x00-\x20]")
_SPACES = b" \t\r\n\0\v"
_INTEGER = re.compile(rb"0|-?[1-9][0-9]{0,18}")
_DATE_FORMAT = re.compile(r"[rR]|[tTdDwW]*")


@dataclass(frozen=True, slots=True)
class _Url:
    scheme: bytes
    user_info: bytes
    host: bytes
    is_ipv6: bool
    port: int
    query: bytes


class WrongLink(ValueError):
    """Says why, in TDLib's words. Never leaves this package."""


def bytes_of(url: str) -> bytes:
    return url.encode("utf-8", "surrogatepass")


def text_of(url: bytes) -> str:
    """Half a character becomes a surrogate, which cannot be sent."""
    return url.decode("utf-8", "surrogateescape")


def entity_to(url: bytes, offset: int, length: int) -> Entity | None:
    """A mention for the address of a user, a link for any other that Telegram keeps, or nothing."""
    user_id = user_of(url)
    if user_id is not None:
        return Entity(EntityType.TEXT_MENTION, offset, length, user_id=user_id)
    try:
        return Entity(EntityType.TEXT_LINK, offset, length, url=text_of(kept(url)))
    except WrongLink:
        return None


def user_of(url: bytes) -> int | None:
    """The user of `tg://user?id=N`."""
    query = _tg_query(url.lower(), b"user")
    for name, value in _parameters(query):
        if name == b"id":
            user_id = integer(value, bits=64)
            return user_id if user_id is not None and is_user(user_id) else None
    return None


def is_user(user_id: int) -> bool:
    return 0 < user_id <= _LARGEST_USER_ID


def custom_emoji_of(url: bytes) -> str | None:
    """The identifier in `tg://emoji?id=N`."""
    for name, value in _parameters(_tg_query(url, b"emoji")):
        if name == b"id":
            return custom_emoji_id(value)
    return None


def custom_emoji_id(text: bytes) -> str | None:
    number = integer(text, bits=64)
    return str(number) if number else None


def date_of(url: bytes) -> tuple[int, str] | None:
    """Moment and format of `tg://time?unix=N&format=F`."""
    moment, written = None, b""
    for name, value in _parameters(_tg_query(url, b"time")):
        if name == b"unix":
            moment = integer(value, bits=32)
            if moment is None or moment <= 0:
                return None
        elif name == b"format":
            written = value
    shown = date_format(text_of(written))
    return None if moment is None or shown is None else (moment, shown)


def date_format(written: str) -> str | None:
    """In the Bot API's order, each part once; None for what is no format."""
    if _DATE_FORMAT.fullmatch(written) is None:
        return None
    if written in ("r", "R"):
        return "r"
    day = "w" if "w" in written or "W" in written else ""
    date = "d" if "d" in written else "D" if "D" in written else ""
    time = "t" if "t" in written else "T" if "T" in written else ""
    return day + date + time


def integer(text: bytes, *, bits: int) -> int | None:
    """Written as a computer writes it, without leading zeros or a plus."""
    if _INTEGER.fullmatch(text) is None:
        return None
    number = int(text)
    return number if -(1 << bits - 1) <= number < 1 << bits - 1 else None


def kept(url: bytes) -> bytes:
    """The link as Telegram keeps it. Raises `WrongLink` for what it does not make a link of."""
    scheme = next(
        (name for name in (b"tg", b"ton", b"tonsite") if url[:8].lower().startswith(name + b":")), None
    )
    if scheme is None:
        parsed = _parsed(url)
        if b"." not in parsed.host and not parsed.is_ipv6:
            raise WrongLink("Wrong HTTP URL")
        return _written(parsed)
    rest = url[len(scheme) + 1 :].removeprefix(b"//")
    parsed = _parsed(rest)
    if not _is_plain(parsed, rest):
        raise WrongLink("Wrong tg URL" if scheme == b"tg" else "Wrong ton URL")
    allowed = _TONSITE_HOST if scheme == b"tonsite" else _TG_HOST
    if allowed.fullmatch(parsed.host) is None:
        raise WrongLink("Unallowed characters in URL host")
    query = parsed.query[1:] if parsed.query.startswith(b"/?") else parsed.query
    return scheme + b"://" + parsed.host + query


def _is_plain(parsed: _Url, source: bytes) -> bool:
    """What Telegram's own schemes may have: a host and a query."""
    has_scheme = parsed.scheme == b"https" or source[:7].lower() == b"http://"
    return not (has_scheme or parsed.user_info or parsed.port or parsed.is_ipv6)


def _written(url: _Url) -> bytes:
    user_info = url.user_info + b"@" if url.user_info else b""
    port = b":%d" % url.port if url.port else b""
    return url.scheme + b"://" + user_info + url.host + port + url.query


def _parsed(url: bytes) -> _Url:
    scheme_end = _end(_SCHEME_ENDS, url)
    scheme, start = b"http", 0
    if url.startswith(b"://", scheme_end):
        scheme, start = url[:scheme_end].lower(), scheme_end + 3
        if scheme not in (b"http", b"https"):
            raise WrongLink("Unsupported URL protocol")
    host_end = _end(_HOST_ENDS, url, start)
    authority, port = _port(url[start:host_end])
    user_info, _, host = authority.rpartition(b"@")
    host = host.lower()
    is_ipv6 = host.startswith(b"[") and host.endswith(b"]")
    if is_ipv6 and not _is_ipv6(host):
        raise WrongLink("Wrong IPv6 address specified in the URL")
    if host in (b"", b"."):
        raise WrongLink("Host is invalid" if host else "URL host is empty")
    if not is_ipv6:
        _check_part(host, "host", _HOST)
        _check_part(user_info, "userinfo", _USER_INFO)
    return _Url(scheme, user_info, host, is_ipv6, port, _query(url[host_end:]))


def _check_part(part: bytes, name: str, allowed: re.Pattern[bytes]) -> None:
    end = _end_of(allowed, part)
    if end == len(part):
        return
    what = "Wrong percent-encoded symbol" if part[end] == ord("%") else "Disallowed character"
    raise WrongLink(f"{what} in URL {name}")


def _end_of(pattern: re.Pattern[bytes], text: bytes) -> int:
    found = pattern.match(text)
    assert found is not None
    return found.end()


def _end(pattern: re.Pattern[bytes], text: bytes, start: int = 0) -> int:
    found = pattern.search(text, start)
    return len(text) if found is None else found.start()


def _port(authority: bytes) -> tuple[bytes, int]:
    """The rest, and the port, which is 0 when there is none."""
    colon = max(authority.rfind(sign) for sign in (b":", b"]", b"@"))
    if colon <= 0 or authority[colon] != ord(":"):
        return authority, 0
    digits = authority[colon + 1 :]
    port = integer(digits.lstrip(b"0"), bits=32)
    if port is None or not 0 < port <= _LARGEST_PORT:
        raise WrongLink("Wrong port number specified in the URL")
    return authority[:colon], port


def _is_ipv6(host: bytes) -> bool:
    if _IPV6_HOST.fullmatch(host) is None:
        return False
    try:
        socket.inet_pton(socket.AF_INET6, host[1:-1].decode())
    except OSError:
        return False
    return True


def _query(rest: bytes) -> bytes:
    query = rest.rstrip(_SPACES)
    if not query.startswith(b"/"):
        query = b"/" + query
    return _BLANK_OR_CONTROL.sub(lambda sign: b"%%%02X" % sign[0][0], query)


def _tg_query(url: bytes, host: bytes) -> bytes | None:
    """What follows the question mark of `tg://host?`."""
    if url[:3].lower() != b"tg:":
        return None
    rest = url[3:].removeprefix(b"//")
    if rest[: len(host)].lower() != host:
        return None
    rest = rest[len(host) :].removeprefix(b"/")
    return rest[1:].partition(b"#")[0] if rest.startswith(b"?") else None


def _parameters(query: bytes | None) -> list[tuple[bytes, bytes]]:
    if query is None:
        return []
    return [(name, value) for name, _, value in (part.partition(b"=") for part in query.split(b"&"))]
