"""`pressroom markup parse`: anybody's text through our parser of Telegram's markup, one text or a whole corpus."""

import json
import sys
from collections.abc import Iterable
from io import TextIOWrapper
from typing import Annotated, Any, cast

import typer

from pressroom.core.errors import InvalidInput
from pressroom.core.markup import Dialect, Entity, Markup, ParseFailed, detect, parse
from pressroom.core.markup.form import as_json as entity_as_json
from pressroom.entrypoints.cli.options import Json
from pressroom.entrypoints.cli.output import Table, answer, bad
from pressroom.entrypoints.cli.shape import Noun

AUTO = "auto"
MODES = f"{', '.join(one.lower() for one in Dialect)} or {AUTO}"

app = Noun("Telegram's markup, parsed as Telegram does it: text, entities, error texts and byte offsets.")


@app.verb("parse")
def parse_text(
    mode: Annotated[
        str | None,
        typer.Option(metavar="MODE", help=f"{MODES}, in any case.", show_default="that of each line"),
    ] = None,
    jsonl: Annotated[
        bool,
        typer.Option(
            "--jsonl", help='Take {"mode", "input"} per line, answer {"text", "entities"} or {"error"}.'
        ),
    ] = False,
    as_json: Json = False,
) -> None:
    """Parse the text on standard input and print its text and entities, or the error that the Bot API answers.

    The mode auto finds what Telegram marks by itself: links, mentions, hashtags. Offsets count UTF-16 code units,
    those in errors bytes. The text is taken as it is, a line break at its end included. Exit code 1 when it is
    refused; with --jsonl always 0, once every line is answered.

    Examples:
    printf '<b>Hi</b> <i>there</i>' | pressroom markup parse --mode html
    printf '*Hi*\\.' | pressroom markup parse --mode markdownv2 --json
    echo '{"mode": "auto", "input": "@durov"}' | pressroom markup parse --jsonl
    """
    _take_standard_input_as_it_is()
    if jsonl:
        return _answer_lines(sys.stdin, mode)
    if mode is None:
        raise InvalidInput("--mode is missing", hint=f"one of {MODES}", field="mode")
    try:
        markup = _parsed(sys.stdin.read(), mode)
    except ParseFailed as error:
        answer(as_json, {"error": _description(error)}, bad(_description(error)))
        raise typer.Exit(1) from error
    return answer(as_json, _as_json(markup), _visible(markup.text), _table(markup))


def _take_standard_input_as_it_is() -> None:
    """Bytes and line breaks count: nothing is translated, and what is no UTF-8 is left for the parser to refuse."""
    stream: object = sys.stdin
    if isinstance(stream, TextIOWrapper):
        cast("TextIOWrapper[Any]", stream).reconfigure(encoding="utf-8", errors="surrogateescape", newline="\n")


def _answer_lines(lines: Iterable[str], mode: str | None) -> None:
    for line in lines:
        sys.stdout.write(json.dumps(_line_answer(line, mode)) + "\n")
        sys.stdout.flush()


def _line_answer(line: str, mode: str | None) -> dict[str, object]:
    try:
        return _as_json(_parsed(*_asked(line, mode)))
    except ParseFailed as error:
        return {"error": _description(error)}
    except InvalidInput as error:
        return {"error": error.message}


def _asked(line: str, mode: str | None) -> tuple[str, str]:
    """Text and mode of a line."""
    try:
        asked: object = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise InvalidInput(f"the line is not JSON: {error}") from error
    if not isinstance(asked, dict):
        raise InvalidInput('the line is not an object with "mode" and "input"')
    given = cast("dict[str, Any]", asked)
    text, named = given.get("input"), given.get("mode", mode)
    if not isinstance(text, str) or not isinstance(named, str):
        raise InvalidInput('"mode" and "input" must be texts')
    return text, named


def _parsed(text: str, mode: str) -> Markup:
    if mode.lower() == AUTO:
        return Markup(text, tuple(detect(text)))
    dialect = Dialect.named(mode)
    if dialect is None:
        raise InvalidInput(f"{mode[:40]!a} is no mode", hint=f"one of {MODES}", field="mode")
    return parse(text, dialect)


def _description(error: ParseFailed) -> str:
    return f"Bad Request: {error.message}"


def _as_json(markup: Markup) -> dict[str, object]:
    return {"text": markup.text, "entities": [entity_as_json(entity) for entity in markup.entities]}


def _table(markup: Markup) -> Table:
    units = markup.text.encode("utf-16-le")
    rows = [
        (
            entity.type.value,
            entity.offset,
            entity.length,
            _visible(units[2 * entity.offset : 2 * entity.end].decode("utf-16-le")).replace("\n", "\\n"),
            _argument(entity),
        )
        for entity in markup.entities
    ]
    return Table(("Entity", "Offset", "Length", "Text", "Leads to"), rows, empty="No entities.")


def _argument(entity: Entity) -> str:
    if entity.user_id is not None:
        return f"user {entity.user_id}"
    if entity.unix_time is not None:
        return f"{entity.unix_time} {entity.date_time_format}".rstrip()
    return _visible(entity.url or entity.language or entity.custom_emoji_id or "")


def _visible(text: str) -> str:
    """A terminal obeys control characters: what came from outside must not."""
    return "".join(
        sign if sign.isprintable() or sign == "\n" else sign.encode("unicode_escape").decode() for sign in text
    )
