"""Texts with markup: MAX's Markdown and HTML become a plain text and elements over it.

Positions count UTF-16 code units. What is not closed stays as it was written, and unknown tags vanish; the documents
do not say what the server does with either. Whether a mentioned user exists is not asked.
"""

import re
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass, field
from html import unescape
from itertools import accumulate
from typing import Any

STRONG, EMPHASIZED, STRIKETHROUGH = "strong", "emphasized", "strikethrough"
UNDERLINE, MONOSPACED, LINK = "underline", "monospaced", "link"
MENTION, HIGHLIGHTED, HEADING, QUOTE = "user_mention", "highlighted", "heading", "quote"

LONGEST_URL = 2048


@dataclass(frozen=True, slots=True)
class Element:
    type: str
    begin: int
    length: int
    url: str | None = None
    user_id: int | None = None
    user_link: str | None = None

    def as_json(self) -> dict[str, Any]:
        element: dict[str, Any] = {"from": self.begin, "length": self.length, "type": self.type}
        for name in ("url", "user_id", "user_link"):
            value = getattr(self, name)
            if value is not None:
                element[name] = value
        return element


@dataclass(frozen=True, slots=True)
class Marked:
    text: str
    elements: tuple[Element, ...] = ()


def units(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-16-le", "surrogatepass")) // 2


def parse(text: str, style: str | None) -> Marked:
    """`style` is "markdown", "html" or None, which takes the text as it is."""
    if style is None:
        return Marked(text)
    writer = _Writer()
    if style == "html":
        _read_html(text, writer)
    else:
        _read_markdown(text, writer)
    return writer.finished()


_NAME = re.compile(r"(?<![\w@./\-])@([A-Za-z][A-Za-z0-9_\-]*)")
_USER = re.compile(r"max://user/(\d{1,19})")
_WIDE = re.compile("[\U00010000-\U0010ffff]")


@dataclass(slots=True)
class _Writer:
    """Collects the plain text, and elements in its characters."""

    pieces: list[str] = field(default_factory=list[str])
    length: int = 0
    elements: list[Element] = field(default_factory=list[Element])

    def write(self, text: str) -> None:
        self.pieces.append(text)
        self.length += len(text)

    def mark(self, type_: str, begin: int, end: int) -> None:
        if end > begin:
            self.elements.append(Element(type_, begin, end - begin))

    def link(self, url: str, begin: int, end: int) -> None:
        """A link, a mention when it leads to a user, nothing when it leads nowhere."""
        if end <= begin or not url or len(url) > LONGEST_URL:
            return
        user = _USER.fullmatch(url)
        if user:
            self.elements.append(Element(MENTION, begin, end - begin, user_id=int(user[1])))
        else:
            self.elements.append(Element(LINK, begin, end - begin, url=url))

    def finished(self) -> Marked:
        text = "".join(self.pieces)
        self._mark_names(text)
        elements = sorted(self.elements, key=lambda each: (each.begin, -each.length))
        return Marked(text, tuple(_in_units(text, elements)))

    def _mark_names(self, text: str) -> None:
        taken = [
            (each.begin, each.begin + each.length)
            for each in self.elements
            if each.type in (MONOSPACED, LINK, MENTION)
        ]
        for found in _NAME.finditer(text):
            if not any(begin <= found.start() < end for begin, end in taken):
                self.elements.append(
                    Element(MENTION, found.start(), found.end() - found.start(), user_link=found[0])
                )


def _in_units(text: str, elements: list[Element]) -> Iterator[Element]:
    wide = [found.start() for found in _WIDE.finditer(text)]
    for each in elements:
        begin = each.begin + bisect_left(wide, each.begin)
        end = each.begin + each.length
        yield Element(
            each.type,
            begin,
            end + bisect_left(wide, end) - begin,
            url=each.url,
            user_id=each.user_id,
            user_link=each.user_link,
        )


# HTML

_TAG = re.compile(r"""<(/?)([A-Za-z][A-Za-z0-9]*)((?:[^<>"']|"[^"]*"|'[^']*')*+)>|<!--.*?-->""", re.DOTALL)
_HREF = re.compile(r"""(?:^|\s)href\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'>]+))""", re.IGNORECASE)
_HTML = {
    "i": EMPHASIZED,
    "em": EMPHASIZED,
    "b": STRONG,
    "strong": STRONG,
    "s": STRIKETHROUGH,
    "del": STRIKETHROUGH,
    "u": UNDERLINE,
    "ins": UNDERLINE,
    "code": MONOSPACED,
    "pre": MONOSPACED,
    "a": LINK,
    "mark": HIGHLIGHTED,
    "h1": HEADING,
    "blockquote": QUOTE,
}


def _read_html(source: str, writer: _Writer) -> None:
    open_tags: list[tuple[str, int, str]] = []
    position = 0
    for tag in _TAG.finditer(source):
        _write_plain(source[position : tag.start()], writer, open_tags, closes=_closes_code(tag))
        position = tag.end()
        name = (tag[2] or "").lower()
        if name not in _HTML:
            continue
        if tag[1]:
            _close(name, open_tags, writer)
        elif not tag[3].endswith("/"):
            href = _HREF.search(tag[3])
            address = next((part for part in href.groups() if part is not None), "") if href else ""
            open_tags.append((name, writer.length, unescape(address)))
    _write_plain(source[position:], writer, open_tags, closes=False)
    while open_tags:
        _close(open_tags[-1][0], open_tags, writer)


def _closes_code(tag: "re.Match[str]") -> bool:
    return bool(tag[1]) and (tag[2] or "").lower() in ("code", "pre")


def _write_plain(text: str, writer: _Writer, open_tags: list[tuple[str, int, str]], *, closes: bool) -> None:
    """Inside code, the line break after its tag and the one before its end are not part of it."""
    text = unescape(text)
    if open_tags and open_tags[-1][0] in ("code", "pre"):
        if open_tags[-1][1] == writer.length:
            text = text.removeprefix("\n")
        if closes:
            text = text.removesuffix("\n")
    writer.write(text)


def _close(name: str, open_tags: list[tuple[str, int, str]], writer: _Writer) -> None:
    """The nearest open tag of that name; those inside it stay open, as crossing tags do in browsers."""
    for index in range(len(open_tags) - 1, -1, -1):
        tag, begin, address = open_tags[index]
        if tag == name:
            del open_tags[index]
            if name == "a":
                writer.link(address, begin, writer.length)
            else:
                writer.mark(_HTML[name], begin, writer.length)
            return


# Markdown

_FENCE = re.compile(r"(`{3,})[^`]*")
_HEADING_LINE = re.compile(r"# +(.*)")
_QUOTE_LINE = re.compile(r"> ?(.*)")
_TICKS = re.compile(r"`+")
_RUN = re.compile(r"\*+|_+|~+|\++|\^+")
_PUNCTUATION = frozenset("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~")
_PLAIN = re.compile(r"[^\\`\[\]*_~+^]+")
_TITLE = re.compile(r"""\s+(?:"[^"]*"|'[^']*'|\([^()]*\))\s*\)|\s*\)""")
_DOUBLE = {"~": STRIKETHROUGH, "+": UNDERLINE, "^": HIGHLIGHTED}


def _read_markdown(source: str, writer: _Writer) -> None:
    """Line by line: fences, headings and quotes are whole lines, the rest is read together until an empty line."""
    lines = source.split("\n")
    index = 0
    while index < len(lines):
        if index:
            writer.write("\n")
        index = _read_block(lines, index, writer)


def _read_block(lines: list[str], index: int, writer: _Writer) -> int:
    """Writes the block that begins at this line; where the next one begins."""
    begin = writer.length
    line = lines[index]
    fence = _FENCE.fullmatch(line)
    if fence:
        end = _end_of_fence(lines, index, len(fence[1]))
        if end:
            writer.write("\n".join(lines[index + 1 : end]))
            writer.mark(MONOSPACED, begin, writer.length)
            return end + 1
    heading = _HEADING_LINE.fullmatch(line)
    if heading:
        _Inline(heading[1], writer).read()
        writer.mark(HEADING, begin, writer.length)
        return index + 1
    if _QUOTE_LINE.fullmatch(line):
        return _read_quote(lines, index, writer)
    end = index + 1
    while line and end < len(lines) and lines[end] and not _opens_block(lines[end]):
        end += 1
    _Inline("\n".join(lines[index:end]), writer).read()
    return end


def _opens_block(line: str) -> bool:
    return bool(_HEADING_LINE.fullmatch(line) or _QUOTE_LINE.fullmatch(line) or _FENCE.fullmatch(line))


def _end_of_fence(lines: list[str], index: int, ticks: int) -> int:
    """The closing line; 0 when there is none."""
    for number in range(index + 1, len(lines)):
        closing = lines[number].rstrip()
        if len(closing) >= ticks and not closing.strip("`"):
            return number
    return 0


def _read_quote(lines: list[str], index: int, writer: _Writer) -> int:
    begin, said = writer.length, list[str]()
    while index < len(lines) and (quoted := _QUOTE_LINE.fullmatch(lines[index])):
        said.append(quoted[1])
        index += 1
    _Inline("\n".join(said), writer).read()
    writer.mark(QUOTE, begin, writer.length)
    return index


@dataclass(slots=True)
class _Run:
    """Delimiters of one kind that stand together; `count` are those that are not used up."""

    node: int
    sign: str
    count: int
    opens: bool
    closes: bool
    length: int


class _Inline:
    """CommonMark's way: a list of nodes, runs of delimiters matched from the inside, brackets matched to links."""

    def __init__(self, text: str, writer: _Writer) -> None:
        self.text, self.writer = text, writer
        self.nodes: list[str] = []
        self.runs: list[_Run] = []
        self.brackets: list[tuple[int, int]] = []  # the node of "[", and how many runs were before it
        self.spans: list[tuple[str, int, int]] = []  # a type, after which node it begins, before which it ends
        self.links: list[tuple[str, int, int]] = []
        self.no_ticks: set[int] = set()  # lengths of runs of ticks that nothing closes any more

    def read(self) -> None:
        position = 0
        while position < len(self.text):
            position = self._step(position)
        self._match_runs(0)
        self._write()

    def _step(self, position: int) -> int:
        sign = self.text[position]
        plain = _PLAIN.match(self.text, position)
        if plain:
            self.nodes.append(plain[0])
            return plain.end()
        if sign == "\\":
            return self._escape(position)
        if sign == "`":
            return self._code(position)
        if sign == "[":
            self.brackets.append((len(self.nodes), len(self.runs)))
            self.nodes.append("[")
            return position + 1
        if sign == "]":
            return self._bracket(position)
        return self._run(position)

    def _escape(self, position: int) -> int:
        following = self.text[position + 1 : position + 2]
        if following and following in _PUNCTUATION:
            self.nodes.append(following)
            return position + 2
        self.nodes.append("\\")
        return position + 1

    def _code(self, position: int) -> int:
        ticks = _TICKS.match(self.text, position)
        assert ticks
        length = len(ticks[0])
        closing = None if length in self.no_ticks else self._closing_ticks(ticks.end(), length)
        if closing is None:
            self.no_ticks.add(length)
            self.nodes.append(ticks[0])
            return ticks.end()
        code = self.text[ticks.end() : closing].replace("\n", " ")
        if code.strip() and code[0] == code[-1] == " ":
            code = code[1:-1]
        begin = len(self.nodes)
        self.nodes += ["", code, ""]
        self.spans.append((MONOSPACED, begin, begin + 2))
        return closing + length

    def _closing_ticks(self, position: int, length: int) -> int | None:
        for found in _TICKS.finditer(self.text, position):
            if len(found[0]) == length:
                return found.start()
        return None

    def _bracket(self, position: int) -> int:
        if not self.brackets:
            self.nodes.append("]")
            return position + 1
        node, runs = self.brackets.pop()
        target = _target(self.text, position + 1)
        if target is None:
            self.nodes.append("]")
            return position + 1
        url, end = target
        self._match_runs(runs)
        self.nodes[node] = ""
        self.links.append((url, node, len(self.nodes)))
        self.nodes.append("")
        self.brackets.clear()  # no link inside a link
        return end

    def _run(self, position: int) -> int:
        found = _RUN.match(self.text, position)
        assert found
        sign, length = found[0][0], len(found[0])
        if sign not in _DOUBLE or length >= 2:
            opens, closes = _flanks(self.text, found.start(), found.end())
            self.runs.append(_Run(len(self.nodes), sign, length, opens, closes, length))
        self.nodes.append(found[0])
        return found.end()

    def _match_runs(self, bottom: int) -> None:
        """Each closing run finds the nearest opening one of its kind; what stood between them is literal."""
        runs = self.runs[bottom:]
        del self.runs[bottom:]
        open_runs: list[_Run] = []
        nothing_below: dict[tuple[str, bool, int], int] = {}
        for run in runs:
            while run.closes and run.count and open_runs:
                kind = (run.sign, run.opens, run.length % 3)
                index = _opener(open_runs, run, nothing_below.get(kind, 0))
                if index is None:
                    nothing_below[kind] = len(open_runs)
                    break
                del open_runs[index + 1 :]
                nothing_below = {key: min(at, index + 1) for key, at in nothing_below.items()}
                self._use(open_runs[index], run)
                if not _usable(open_runs[index]):
                    open_runs.pop()
            if run.opens and _usable(run):
                open_runs.append(run)

    def _use(self, opening: _Run, closing: _Run) -> None:
        if opening.sign in _DOUBLE:
            used, type_ = 2, _DOUBLE[opening.sign]
        elif opening.count >= 2 and closing.count >= 2:
            used, type_ = 2, STRONG
        else:
            used, type_ = 1, EMPHASIZED
        self.spans.append((type_, opening.node, closing.node))
        for run in (opening, closing):
            run.count -= used
            self.nodes[run.node] = run.sign * run.count

    def _write(self) -> None:
        ends = [self.writer.length + end for end in accumulate(map(len, self.nodes))]
        self.writer.write("".join(self.nodes))
        for type_, after, before in self.spans:
            self.writer.mark(type_, ends[after], ends[before - 1])
        for url, after, before in self.links:
            self.writer.link(url, ends[after], ends[before - 1])


def _usable(run: _Run) -> bool:
    return run.count >= 2 if run.sign in _DOUBLE else run.count >= 1


def _opener(open_runs: list[_Run], closing: _Run, bottom: int) -> int | None:
    if not _usable(closing):
        return None
    for index in range(len(open_runs) - 1, bottom - 1, -1):
        opening = open_runs[index]
        if opening.sign != closing.sign:
            continue
        both_ways = closing.opens or opening.closes
        if both_ways and (opening.length + closing.length) % 3 == 0 and closing.length % 3:
            continue  # CommonMark's rule of three
        return index
    return None


def _flanks(text: str, begin: int, end: int) -> tuple[bool, bool]:
    """Whether a run may open, and whether it may close, by what stands at its sides."""
    before = text[begin - 1] if begin else " "
    after = text[end] if end < len(text) else " "
    left = not after.isspace() and (after not in _PUNCTUATION or before.isspace() or before in _PUNCTUATION)
    right = not before.isspace() and (before not in _PUNCTUATION or after.isspace() or after in _PUNCTUATION)
    if text[begin] != "_":
        return left, right
    return left and (not right or before in _PUNCTUATION), right and (not left or after in _PUNCTUATION)


def _target(text: str, position: int) -> tuple[str, int] | None:
    """`(address "title")` after a bracket: the address, and where it ends."""
    if text[position : position + 1] != "(":
        return None
    begin = end = position + 1
    depth = 0
    while end < len(text) and not text[end].isspace():
        if text[end] == "\\" and text[end + 1 : end + 2] in _PUNCTUATION:
            end += 1
        elif text[end] == "(":
            depth += 1
        elif text[end] == ")":
            if not depth:
                break
            depth -= 1
        end += 1
    rest = _TITLE.match(text, end)
    if depth or rest is None:
        return None
    return re.sub(r"\\([!-/:-@\[-`{-~])", r"\1", text[begin:end]), rest.end()
