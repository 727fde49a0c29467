"""Telegram's markup: what a text in one of its dialects says, or the exact words in which it is refused.

`parse` reads a dialect, `detect` finds what Telegram marks by itself (links, mentions, hashtags), and `fix` does to
a message what sending does: it cleans and trims the text, repairs the entities and adds the detected ones. Text,
entities, error texts and byte offsets agree with TDLib 1.8.69, the parser behind the Bot API; tests hold them to it.
Everything here is a pure function of its arguments. The time grows with the length of the text and of the answer,
whatever the text is: nothing calls itself, and nothing is read again for each entity.
"""

from pressroom.core.markup.detect import detect
from pressroom.core.markup.fix import fix
from pressroom.core.markup.html import parse_html
from pressroom.core.markup.markdown import parse_markdown
from pressroom.core.markup.markdown_v2 import parse_markdown_v2
from pressroom.core.markup.model import Dialect, Entity, EntityType, Markup, ParseFailed

__all__ = ["LONGEST", "Dialect", "Entity", "EntityType", "Markup", "ParseFailed", "detect", "fix", "parse"]

LONGEST = 65_536  # characters that TDLib parses; the Bot API refuses more than 32,768 bytes before that

_PARSERS = {
    Dialect.HTML: parse_html,
    Dialect.MARKDOWN_V2: parse_markdown_v2,
    Dialect.MARKDOWN: parse_markdown,
}


def parse(text: str, mode: Dialect) -> Markup:
    """Raises `ParseFailed` with the Bot API's description, less its `Bad Request: `.

    Longer documents go to the parser of their dialect, which has no limit.
    """
    if len(text) > LONGEST:
        raise ParseFailed("can't parse entities: Text is too long")
    return _PARSERS[mode](text)
