"""Inputs that nobody wrote: mutated vectors, well-formed trees, trees with one thing broken, and soups of signs.

The same seed gives the same inputs. Half of them parse and half fail, and every error text of the facts comes often.
"""

import random
from collections.abc import Iterator, Sequence

from pressroom.core.markup import Dialect, Entity, EntityType
from tests.core.markup.vectors import inputs_of

WORDS = (
    "слово", "привет мир", "word", "a", "Ы", "👍", "👨‍👩‍👧", "e\u0301", "\U00010400", " ", "\n", "\r\n", "\r", "\t", "\0",
    "\v", "1", "42", "e.com", "http://e.com", "пример.рф", "tg://user?id=7", "ton:x", "#тег", "@durov", "«»", "\u2028",
    "\u00a0", "12:30", "x" * 20, "t", "T", "",
)  # fmt: skip
URLS = (
    "http://e.com", "HTTPS://E.COM/Path?q=1&r=ы#f", "e.com", "пример.рф/путь", "e.com:80", "e.com:080/x", "e.com:0",
    "e.com:99999", "e.com:", "u:p@e.com", "@e.com", "a@b@e.com", "%41.com", "%4.com", "e.com/%zz", "[::1]", "http://[::1]:8/",
    "[::1", "[1::g]", "[::ffff:1.2.3.4]/x", "[::ffff:1.2.3.04]", ".", "..", "http://", "http://.", "ftp://e.com", "://e.com",
    "tg://user?id=5", "tg:user?id=5", "TG://USER/?x&id=6&id=7#id=8", "tg://user?id=0", "tg://user?id=-5", "tg://user?id=05",
    "tg://user?id=1099511627775", "tg://user?id=1099511627776", "tg://userx?id=5", "tg://user", "tg://resolve?domain=x",
    "tg://a.b", "tg://a_b-c/d?e", "ton://e/x?y", "ton://a.b", "tonsite://a.b/?c", "tonsite:x", "tg://http://e", "tg://h:1/",
    "tg://u@h", "tg:https://e.com", "mailto:a@b.ru", "javascript:x", "/relative", "?q", "#f", "not a url", "e.com/a b\tc ",
    "e.com /x", "e,com.x", "e\u00a0.com", "e.com?x", "e.com#x", "E.Com/\n", "xn--e1afmkfd.xn--p1ai", "1.2.3.4", "a..b", "\0.x",
    "e.com/\0", "e.com\\x", "e.com|x", "http:e.com", "http:/e.com", "https://e.com:443", "e.com:443x", "e.com:-1", "e.com:+1",
)  # fmt: skip
NUMBERS = (
    "5368324170671202286", "1", "0", "-1", "05", "+5", "", "x", "9223372036854775807", "9223372036854775808",
    "-9223372036854775808", "1647531900", "2147483647", "2147483648", "4294967297", "-4294967295", "99999999999999999999999999",
    "12x", " 5", "-", "ы",
)  # fmt: skip
FORMATS = ("", "r", "R", "t", "T", "d", "D", "w", "W", "wDT", "tT", "dD", "wdt", "rr", "q", "ы", "tr", "Ww")
LANGUAGES = ("py", "python", "c++", "ы", "a\"b", "x\n", "", " ")  # fmt: skip


def inputs(dialect: Dialect, count: int, seed: int) -> Iterator[str]:
    rng = random.Random(f"{seed} {dialect}")
    known = inputs_of(dialect)
    grammar = GRAMMARS[dialect]
    for _ in range(count):
        kind = rng.random()
        if kind < grammar.whole:
            yield grammar.tree(rng)
        elif kind < 0.55:
            yield mutated(rng, rng.choice(known), grammar.signs)
        elif kind < 0.65:
            yield mutated(rng, grammar.tree(rng), grammar.signs)
        elif kind < 0.92:
            yield grammar.tree(rng) + grammar.broken(rng) + rng.choice(("", grammar.tree(rng)))
        else:
            yield "".join(rng.choice(rng.choice((grammar.signs, WORDS))) for _ in range(rng.randint(1, 14)))


def mutated(rng: random.Random, text: str, signs: Sequence[str]) -> str:
    for _ in range(rng.randint(1, 3)):
        at, to = sorted((rng.randint(0, len(text)), rng.randint(0, len(text))))
        match rng.randrange(6):
            case 0:
                text = text[:at] + rng.choice(signs) + text[at:]
            case 1:
                text = text[:at] + text[at + 1 :]
            case 2:
                text = text[:at] + rng.choice(WORDS) + text[at:]
            case 3:
                text = text[:to] + text[at:to] + text[to:]
            case 4:
                text = text[:at] + text[to:]
            case _:
                text = text[:at] + rng.choice(signs) + text[at:to] + rng.choice(signs) + text[to:]
    return text


class Html:
    whole = 0.42  # the share of trees in which nothing was broken
    signs = (
        "<", ">", "</", "/", "&", ";", "\"", "'", "=", " ", "\n", "<b>", "</b>", "<i>", "</i>", "</>", "<a>", "</a>", "<code>",
        "</code>", "<pre>", "</pre>", "&lt;", "&amp", "&#65;", "&#x41", "&#55357;", "&#0;", "&#1114111;", "&#1114110;", "<a href=",
        "<span class=\"tg-spoiler\">", "</span>", "<blockquote>", "</blockquote>", "expandable", "<code class=\"language-x\">",
        "<tg-time unix=\"5\">", "</tg-time>", "<br>", "<!--", "\0", "<B >", "</ b>", "href",
    )  # fmt: skip
    plain = (
        "b",
        "strong",
        "i",
        "em",
        "u",
        "ins",
        "s",
        "strike",
        "del",
        "tg-spoiler",
        "code",
        "pre",
        "blockquote",
        "B",
        "Code",
    )
    references = (
        "&lt;",
        "&gt",
        "&amp;",
        "&quot;",
        "&nbsp;",
        "&",
        "&#65;",
        "&#x1F600;",
        "&#x1f600",
        "&#1081;",
        "&#;",
        "&#x;",
    )

    def tree(self, rng: random.Random) -> str:
        """Closed in the right order. What is in it may still be refused."""
        parts: list[str] = []
        open_: list[str] = []
        for _ in range(rng.choice((3, 6, 10, 60))):
            kind = rng.random()
            if kind < 0.35:
                name, attributes = self.tag(rng)
                parts.append(f"<{name}{attributes}>")
                open_.append(name)
            elif kind < 0.65 and open_:
                parts.append(self.end(rng, open_.pop()))
            else:
                parts.append(rng.choice(WORDS) if rng.random() < 0.8 else rng.choice(self.references))
        return "".join(parts) + "".join(self.end(rng, name) for name in reversed(open_))

    def end(self, rng: random.Random, name: str) -> str:
        return rng.choice((f"</{name}>", f"</{name}>", f"</{name.upper()} >", "</>"))

    def tag(self, rng: random.Random) -> tuple[str, str]:
        match rng.randrange(12):
            case 0 | 1:
                return "a", self.attribute(rng, "href", rng.choice(URLS))
            case 2:
                return "a", rng.choice(("", ' href=""', " x", ' x="y" href=e.com'))
            case 3:
                return "code", self.attribute(rng, "class", "language-" + rng.choice(LANGUAGES))
            case 4:
                return "pre", rng.choice(("", ">" + "<code class=language-py></code"))
            case 5:
                return "span", self.attribute(rng, "class", "tg-spoiler")
            case 6:
                return "blockquote", rng.choice(("", " expandable", ' expandable=""', " expandable=1 x"))
            case 7:
                return "tg-emoji", self.attribute(rng, "emoji-id", rng.choice(NUMBERS[:2]))
            case 8:
                unix, shown = rng.choice(NUMBERS), rng.choice(FORMATS[:13])
                return "tg-time", self.attribute(rng, "unix", unix) + self.attribute(rng, "format", shown)
            case _:
                return rng.choice(self.plain), rng.choice(("", "", "", " ", ' x="1"', " x = '2'"))

    def attribute(self, rng: random.Random, name: str, value: str) -> str:
        quote = rng.choice('"""\'')
        value = value.replace(quote, "&quot;").replace("\0", "")
        return rng.choice((" ", "\n", "  ")) + name + rng.choice(("=", "=", " = ")) + quote + value + quote

    def broken(self, rng: random.Random) -> str:
        word = rng.choice(WORDS)
        return rng.choice(
            (
                f"<{rng.choice(('br', 'p', 'br/', 'ы', 'H1', '!--', 'tg-', 'Ыы'))}>{word}",
                f"{word} < b",
                rng.choice(("<", "<b", "<ы", f"<b x={word!r}", '<a href="', "<b\0>", "<b x='", "<b x=1")),
                rng.choice(("<a href", "<b x ", "<i y =", "<u z= ")),
                rng.choice((f"<b>{word}</b", f"<b>{word}</ b>", f"<b>{word}</b\0>", "<b></")),
                rng.choice(("</b>", f"{word}</i >", "</>")),
                rng.choice((f"<b>{word}</i>", "<b><i></b></i>", "<b></bы>", "<I></B>")),
                rng.choice((f"<b>{word}", "<i><u></u>", "<a href='e.com'>")),
                rng.choice(("<span>", '<span class="x">', '<span class="tg-x">', "<span x=1>")) + word,
                rng.choice(("<b =1>", "<a /href>", '<i "x">', "<b x/>", "<b ")),
                rng.choice(("<a href=http://e.com>", "<b x=ы>", '<a href=a"b>', "<b x=1/>")),
                f"<tg-emoji emoji-id='{rng.choice(NUMBERS[2:10])}'>x</tg-emoji>",
                rng.choice(("<tg-emoji>x</tg-emoji>", '<tg-time unix="5" format="q">x</tg-time>')),
                f"<tg-time unix='5' format='{rng.choice(FORMATS[13:])}'>x</tg-time>",
                rng.choice(("&#55357;", "&#xd800;", "&#55357;&#56832;", "&#xDFFF")),
            )
        )


class MarkdownV2:
    whole = 0.44
    signs = (
        "*", "_", "__", "~", "|", "||", "`", "```", "[", "]", "](", ")", "(", "!", "![", ">", "**>", "\n", "\n>", "\r", "\\", "\\\\",
        "\\*", "\\\n", "#", "+", "-", "=", "{", "}", ".", "](e.com)", "](tg://emoji?id=5)", "](tg://time?unix=5)", "```py\n", "||\n",
        "___", "\n\n>", "||\r\n",
    )  # fmt: skip
    pairs = ("*", "_", "__", "~", "||", "`", "```")
    reserved = "_*[]()~`>#+-=|{}.!"

    def tree(self, rng: random.Random) -> str:
        parts: list[str] = []
        open_: list[str] = []
        for _ in range(rng.choice((3, 6, 10, 60))):
            kind = rng.random()
            in_code = bool(open_) and open_[-1].startswith("`")
            if kind < 0.3 and not in_code:
                opening, closing = self.pair(rng)
                if closing not in open_:
                    parts.append(opening)
                    open_.append(closing)
            elif kind < 0.6 and open_:
                parts.append(self.close(rng, open_.pop()))
            elif kind < 0.7 and not open_:
                parts.append(self.quote(rng))
            else:
                parts.append(self.escaped(rng, rng.choice(WORDS)))
        return "".join(parts) + "".join(self.close(rng, sign) for sign in reversed(open_))

    def pair(self, rng: random.Random) -> tuple[str, str]:
        match rng.randrange(10):
            case 0 | 1:
                return "[", "](" + self.escaped_url(rng.choice(URLS)) + ")"
            case 2:
                return "[", "]"
            case 3:
                return "![", f"](tg://emoji?id={rng.choice(NUMBERS[:2])})"
            case 4:
                shown = rng.choice(FORMATS[:13])
                return "![", f"](tg://time?unix={rng.choice(NUMBERS[11:13])}&format={shown})"
            case 5:
                return "```" + rng.choice(("py\n", "py ", "\n", "\r\n", "\n\r", "ы\n", " ")), "```"
            case _:
                sign = rng.choice(self.pairs)
                return sign, sign

    def close(self, rng: random.Random, sign: str) -> str:
        return "_\r" if sign == "_" and rng.random() < 0.5 else sign

    def quote(self, rng: random.Random) -> str:
        lines = [self.escaped(rng, rng.choice(WORDS)).replace("\n", " ") for _ in range(rng.randint(1, 3))]
        opening = rng.choice(("\n>", "\n**>", "\n\r>"))
        return opening + "\n>".join(lines) + rng.choice(("\n", "||\n", "||\r\n", "\n\n", ""))

    def escaped(self, rng: random.Random, text: str) -> str:
        escaped = "".join("\\" + sign if sign in self.reserved else sign for sign in text)
        return "\\" + escaped if escaped and "a" <= escaped[0] <= "z" and rng.random() < 0.1 else escaped

    def escaped_url(self, url: str) -> str:
        return url.replace("\\", "\\\\").replace(")", "\\)")

    def broken(self, rng: random.Random) -> str:
        word = self.escaped(rng, rng.choice(WORDS))
        return rng.choice(
            (
                word + rng.choice(self.reserved),
                rng.choice(self.pairs) + word,
                rng.choice(("[", "![", "```py\n", "```", "`")) + word,
                f"\n>{rng.choice(self.pairs[:5])}{word}\n{word}",
                f"\n>{rng.choice(('[', '![', '*||', '_', '~||'))}{word}\n",
                f"\n>*{word}||\nx",
                f"*a{rng.choice(('_', '__', '~', '['))}b*",
                rng.choice((f"[{word}](e.com", f"![{word}](tg://emoji", f"[x]({word}")),
                rng.choice((f"![{word}]", f"![{word}] (tg://emoji?id=5)")),
                f"![{word}]({rng.choice((*URLS[:3], 'tg://emoji', 'tg://time?unix=0', 'tg://emojix?id=5'))})",
                f"![{word}](tg://emoji?id={rng.choice(NUMBERS[2:8])})",
                f"![{word}](tg://time?unix={rng.choice(NUMBERS)}&format={rng.choice(FORMATS[13:])})",
            )
        )


class Markdown:
    whole = 0.28
    signs = (
        "*", "_", "`", "```", "[", "]", "](", ")", "(", "\\", "\\*", "\\_", "\\`", "\\[", "\n", "\r", "```py\n", "](e.com)", "[e.com]",
        "[]", "**", "__", "](пример.рф)", "\\\\", "\0",
    )  # fmt: skip

    def tree(self, rng: random.Random) -> str:
        return "".join(self.piece(rng) for _ in range(rng.choice((1, 3, 6, 30))))

    def piece(self, rng: random.Random) -> str:
        word = rng.choice(WORDS)
        match rng.randrange(9):
            case 0:
                return f"*{word}*"
            case 1:
                return f"_{word}_"
            case 2:
                return f"`{word}`"
            case 3:
                return "```" + rng.choice(("", "py\n", "py ", "\r\n", "ы\n", "\n\n")) + word + "```"
            case 4:
                return f"[{word}]({rng.choice(URLS).replace(')', '')})"
            case 5:
                return f"[{rng.choice(URLS).replace(']', '')}]"
            case 6:
                return rng.choice(("\\_", "\\*", "\\`", "\\[", "\\", "]", "(", ")"))
            case _:
                return word

    def broken(self, rng: random.Random) -> str:
        return rng.choice(("*", "_", "`", "```", "```py\n", "[")) + rng.choice(WORDS)


GRAMMARS = {Dialect.HTML: Html(), Dialect.MARKDOWN_V2: MarkdownV2(), Dialect.MARKDOWN: Markdown()}


# -- texts in which entities are found, and entities that somebody gave

SIGNS = (
    *WORDS, *URLS, *"@#$/.:?!,;()[]{}<>\"'`-_+=~&%|\\ \n\t«»—–…№½²Ⅳ٣ஃ\u200c\u200d\u200b\u00b7\u0d82\u3000\u2013İß", "http://",
    "https://", "ftp://", "tg://", "ton://", "tonsite://", "HTTP://", "sftp://", "shttp://", "xhttp://", "mailto:", "www.", ".ru",
    ".рф", ".Com", ".com", ".COM", ".txt", ".c", ".xn--p1ai", "a@b.com", "user@", "@user", "@gif", "@abc", "#", "#tag@chan",
    "$USD", "$1INCH", "$BTC@x", "/start", "/start@bot", "/a", "4111111111111111", "4111 1111 1111 1111", "5555-5555-5555-4444",
    "2200 0000 0000 0004", "1234567890123", "127.0.0.1", "256.1.1.1", "01.2.3.4", "8080", ":80", ":65536", ":0080", "e", "ру", "я",
    "teiegram.org", "a.b.c", "..", "...", ". ", " .", "?.", "a" * 64 + ".com", "x@y.z.com", "//", "/path/", "?q=1", "#frag", "(a)",
    "Дом.Ру", "слово.Слово", "т.е.", "1.5", "http", "t.me/x",
)  # fmt: skip
DRAWN = "абвгxyz \n\r\u2028\u0333👍\U00010400\t\u200e\u200f19.@#"


def signs(count: int, seed: int) -> Iterator[str]:
    rng = random.Random(f"{seed} signs")
    for _ in range(count):
        size = rng.randint(1, rng.choice((3, 6, 12, 40)))
        pieces = (rng.choice(SIGNS) + (" " if rng.random() < 0.15 else "") for _ in range(size))
        yield "".join(pieces).replace("\0", "")


def links_over_links(rng: random.Random, count: int) -> str:
    """Opened and closed at random, with few letters between: many lie over the same ones."""
    parts: list[str] = []
    opened, often = 0, rng.choice((0.3, 0.5, 0.6))
    while count or opened:
        kind = rng.random()
        if count and kind < often:
            parts.append(
                rng.choice((f"<a href=e{count}.com>", "<blockquote>", "<blockquote expandable>", "<b>"))
            )
            count, opened = count - 1, opened + 1
        elif opened and kind < often + 0.3:
            parts.append("</>")
            opened -= 1
        elif kind > 0.9:
            parts.append("x")
    return "".join(parts)


def with_entities(rng: random.Random) -> tuple[str, list[Entity]]:
    """A text, and entities over any part of it; some begin inside a character or end behind the text."""
    text = "".join(rng.choice(DRAWN) for _ in range(rng.randint(1, rng.choice((4, 12, 30)))))
    units = len(text.encode("utf-16-le")) // 2
    entities: list[Entity] = []
    for _ in range(rng.randint(0, rng.choice((2, 4, 8, 30)))):
        offset = rng.randint(0, units - 1)
        length = rng.randint(0, units - offset) + (rng.random() < 0.01)
        entities.append(_given(rng, offset + 3 * (rng.random() < 0.01), length))
    return text, entities


def _given(rng: random.Random, offset: int, length: int) -> Entity:
    if rng.random() < 0.5:
        kind = rng.choice((EntityType.BOLD, EntityType.ITALIC, EntityType.SPOILER))
        return Entity(kind, offset, length)
    match rng.choice([*EntityType][8:]):
        case EntityType.TEXT_LINK:
            return Entity(EntityType.TEXT_LINK, offset, length, url=rng.choice(URLS))
        case EntityType.TEXT_MENTION:
            return Entity(EntityType.TEXT_MENTION, offset, length, user_id=rng.choice((1, 2)))
        case EntityType.CUSTOM_EMOJI:
            return Entity(EntityType.CUSTOM_EMOJI, offset, length, custom_emoji_id=rng.choice("12"))
        case EntityType.DATE_TIME:
            return Entity(EntityType.DATE_TIME, offset, length, unix_time=5, date_time_format="")
        case EntityType.PRE:
            return Entity(EntityType.PRE, offset, length, language=rng.choice((None, "py")))
        case kind:
            return Entity(kind, offset, length)
