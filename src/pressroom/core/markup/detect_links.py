"""Links and e-mail addresses in plain text.

A link is looked for around each dot: a host to both sides of it, what may stand in front (a scheme, a user) and
behind (a port, a path). What looks like one is then judged: are the parts of the host real, does the scheme fit, does
the end belong to it. Each stretch of the text is looked at once.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from pressroom.core.markup.model import EntityType
from pressroom.core.markup.top_level_domains import TOP_LEVEL_DOMAINS

Span = tuple[int, int]

_NO_LINK_SIGN = r"\u0020\u00a0\u1680\u2000-\u200b\u200e\u200f\u2016-\u206f\u3000"  # spaces and punctuation
_HOST_SIGN = r".0-9A-Za-z_~\-\u00c0-\u167f\u1681-\u1fff\u200c\u200d\u2010-\u2015\u2070-\u2fff\u3001-\U0010ffff"
_SPACE = r"\u0020\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"
_HOST = re.compile(f"[{_HOST_SIGN}]*+")
_HOST_OR_AT = re.compile(f"[@{_HOST_SIGN}]*+")
_USER = re.compile(rf"""[^\n/\[\]{{}}()'`<>"@\u00ab\u00bb{_NO_LINK_SIGN}]*+""")
_PATH = re.compile(rf"""[^\n<>"\u00ab\u00bb{_NO_LINK_SIGN}]*+""")
_SCHEME = re.compile(rf"(?:[0-9A-Za-z+\-]|[^\x00-\x7f{_SPACE}])*+")
_PORT = re.compile(":0*+([1-9][0-9]{0,4})(?![0-9])")
_LARGEST_PORT = 65_535
_NOT_AT_THE_END = ".:;,('?!`"
_WORD = re.compile(r"\w")
_DOTS = re.compile(r"\.*+")

_OWN_HOST = re.compile(r"[0-9A-Za-z_\-]{0,253}+")
_LINK_SCHEME = re.compile("(?:https?|ftp|tonsite)://", re.ASCII | re.IGNORECASE)
_HOST_END = re.compile(r"[/?#]")
_BRACKET = re.compile(r"[()\[\]{}]")
_PAIRS = {")": "(", "]": "[", "}": "{"}
_OCTET = "(?:25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])"
_IPV4 = re.compile(rf"{_OCTET}(?:\.{_OCTET}){{3}}")
_EMAIL = re.compile(
    r"(?:[0-9A-Za-z_\-]{0,26}[.+]){0,10}[0-9A-Za-z_\-]{1,35}@"
    r"(?:[0-9A-Za-z](?:[0-9A-Za-z_\-]{0,28}[0-9A-Za-z])?\.){1,6}[A-Za-z]{2,8}"
)
_LOOKALIKE = b"teiegram.org"
_LONGEST_LABEL = 63  # bytes


@dataclass(frozen=True, slots=True)
class _Seen:
    """What stands around a dot. It is `bad` when something in front of it says that it is no link."""

    begin: int
    end: int
    bad: bool


def links_in(text: str) -> Iterator[tuple[EntityType, Span]]:
    for begin, end in _Candidates(text):
        if _EMAIL.fullmatch(text, begin, end):
            yield EntityType.EMAIL, (begin, end)
        elif text.startswith("mailto:", begin, end) and _EMAIL.fullmatch(text, begin + 7, end):
            yield EntityType.EMAIL, (begin + 7, end)
        else:
            size = link_size(text[begin:end])
            if size:
                yield EntityType.URL, (begin, begin + size)


def own_scheme_links_in(text: str) -> Iterator[Span]:
    """`tg://` and `ton://`. Of `tonsite://` the last three letters are seen, as in the real one."""
    at, paths = 0, _Paths(text)
    while len(text) - at > 5 or len(text[at:].encode()) > 5:
        colon = text.find("://", at)
        if colon < 0:
            return
        at = colon + 3
        before = text[max(0, colon - 7) : colon].lower()
        size = 2 if before.endswith("tg") else 3 if before.endswith("ton") or before == "tonsite" else 0
        host_end = _after(_OWN_HOST, text, at)
        if not size or host_end == at:
            at = at if size else colon + 1
            continue
        at = paths.end(host_end)
        yield colon - size, at


def link_size(link: str) -> int:
    """How much of it is a link; 0 when nothing is."""
    scheme = _LINK_SCHEME.match(link)
    begin = 0 if scheme is None else scheme.end()
    host_ends = _HOST_END.search(link, begin)
    host_end = len(link) if host_ends is None else host_ends.start()
    host = link[begin:host_end]
    if "@" in host:
        host = host.partition("@")[2]
    host = host.rpartition(":")[0] if ":" in host else host
    if not _is_host(host, has_scheme=scheme is not None):
        return 0
    return host_end + _path_size(link[host_end:])


def _is_host(host: str, *, has_scheme: bool) -> bool:
    if host.encode().lower() == _LOOKALIKE:
        return False
    labels = host.split(".")
    if len(labels) == 1 or any(
        not label or len(label.encode()) > _LONGEST_LABEL or label.endswith("-") for label in labels
    ):
        return False
    if _IPV4.fullmatch(host):
        return True
    if all(label.isascii() and label.isdigit() for label in labels):
        return False
    return "_" not in labels[-2] and _is_top_level(labels[-1], has_scheme=has_scheme)


def _is_top_level(label: str, *, has_scheme: bool) -> bool:
    if len(label) <= 1:
        return False
    if label.startswith("xn--"):
        rest = label[4:]
        return len(rest.encode()) > 1 and rest.isascii() and rest.isalnum()
    if "_" in label or "-" in label:
        return False
    return has_scheme or _is_common(label)


def _is_common(label: str) -> bool:
    """A capital at the beginning is that of a sentence whose dot lacks its space."""
    lower = "".join(sign.lower()[0] for sign in label)
    if lower != label and lower[1:] == label[1:]:
        return False
    return lower in TOP_LEVEL_DOMAINS


def _path_size(path: str) -> int:
    """Up to the bracket that closes one which stands outside."""
    depth = dict.fromkeys(_PAIRS.values(), 0)
    size = len(path)
    for bracket in _BRACKET.finditer(path):
        opening = _PAIRS.get(bracket[0])
        depth[opening or bracket[0]] += -1 if opening else 1
        if opening and depth[opening] < 0:
            size = bracket.start()
            break
    return len(path[:size].rstrip(_NOT_AT_THE_END))


# -- candidates


class _Candidates:
    """What could be a link, around each dot."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._paths = _Paths(text)

    def __iter__(self) -> Iterator[Span]:
        text, begin = self._text, 0
        while 0 <= (dot := text.find(".", begin)) < len(text) - 1:
            if text[dot + 1] == " ":
                begin = dot + 2
                continue
            seen = self._seen(begin, dot)
            end = seen.end
            if seen.bad:
                end = text.rfind(".", dot, end) + 1
            else:
                if end > dot + 1:
                    yield seen.begin, end
                end = _after(_DOTS, text, end)
            begin = max(end, dot + 1)

    def _seen(self, begin: int, dot: int) -> _Seen:
        """Nothing before `begin` is looked at: it belongs to what was seen before."""
        text = self._text
        host_begin = _back(_HOST, text, begin, dot)
        host_end = _after(_HOST_OR_AT, text, dot)
        has_at = text.rfind("@", dot, host_end) >= 0
        if has_at:
            host_begin = _back(_USER, text, begin, host_begin)
        end = self._paths.end(_port_end(text, host_end))
        end = max(dot + 1, dot + len(text[dot:end].rstrip(".")))
        link_begin, bad = host_begin, False
        if host_begin > begin and text[host_begin - 1] == "@":
            link_begin = _back(_USER, text, begin, host_begin - 1)
            bad = has_at or link_begin == host_begin - 1
        if link_begin > begin:
            scheme = _scheme_size(text, begin, link_begin)
            bad = bad or scheme is None
            link_begin -= scheme or 0
        return _Seen(link_begin, end, bad)


def _scheme_size(text: str, begin: int, end: int) -> int | None:
    """Of the scheme before a link, 0 when there is none; None when what stands there makes it no link."""
    if not text.endswith("://", begin, end) or len(text[max(begin, end - 6) : end].encode()) < 6:
        before = text[end - 1]
        return None if before in "/#@" or _WORD.match(before) else 0
    scheme = text[_back(_SCHEME, text, begin, end - 3) : end - 3].encode().lower()
    if scheme.endswith(b"http") and scheme != b"shttp":
        return len("http://")
    if scheme.endswith(b"https"):
        return len("https://")
    if scheme.endswith(b"ftp") and scheme not in (b"tftp", b"sftp"):
        return len("ftp://")
    return len("tonsite://") if scheme.endswith(b"tonsite") else None


def _port_end(text: str, at: int) -> int:
    found = _PORT.match(text, at)
    return at if found is None or int(found[1]) > _LARGEST_PORT else found.end()


class _Paths:
    """Where the path ends that begins at a sign.

    It takes all signs of a path and gives back punctuation at its end. What was given back may be asked for again,
    sign by sign: it is remembered.
    """

    def __init__(self, text: str) -> None:
        self._text = text
        self._begin = self._end = self._kept = 0

    def end(self, at: int) -> int:
        if at == len(self._text) or self._text[at] not in "/?#":
            return at
        if not self._begin <= at + 1 <= self._end:
            self._begin, self._end = at + 1, _after(_PATH, self._text, at + 1)
            self._kept = at + 1 + len(self._text[at + 1 : self._end].rstrip(_NOT_AT_THE_END))
        if self._kept > at + 1:
            return self._kept
        return at + 1 if self._text[at] == "/" else at


def _back(pattern: re.Pattern[str], text: str, begin: int, end: int) -> int:
    """Where the signs begin that reach up to the end."""
    return end - _after(pattern, text[begin:end][::-1], 0)


def _after(pattern: re.Pattern[str], text: str, start: int) -> int:
    found = pattern.match(text, start)
    assert found is not None
    return found.end()
