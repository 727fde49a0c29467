"""What commands print: tables and facts for people, one JSON document for programs.

Only answers go to standard output. On a terminal they have colours (unless NO_COLOR is set) and fit its width;
in a pipe they are plain and nothing is cut off. `progress` and `note` speak on standard error.
"""

import json
import os
import sys
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, fields, is_dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from enum import StrEnum
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.text import Text

# rich is imported inside these functions: help, completion and --json do without.

UNBOUNDED = 10_000  # columns of a pipe
LONGEST_NAME = 40  # that is never broken in a first column


class Tone(StrEnum):
    PLAIN = ""
    GOOD = "green"
    WARNING = "yellow"
    BAD = "red"
    QUIET = "dim"
    STRONG = "bold"


@dataclass(frozen=True, slots=True)
class Toned:
    text: str
    tone: Tone


Cell = str | int | float | Toned | None


@dataclass(frozen=True, slots=True)
class Table:
    """`empty` is said instead when there are no rows."""

    columns: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    empty: str = "Nothing."


@dataclass(frozen=True, slots=True)
class Facts:
    """Names and values, one pair a line."""

    pairs: Sequence[tuple[str, Cell]]


Part = Table | Facts | Toned | str


def answer(as_json: bool, document: object, *parts: Part) -> None:
    """The document for programs, or the parts for people."""
    end_progress()
    if as_json:
        print_json(document)
    else:
        print_parts(*parts)


def print_json(document: object) -> None:
    text = json.dumps(
        as_plain(document), ensure_ascii=not _speaks_unicode(), indent=2 if _on_terminal() else None
    )
    sys.stdout.write(text + "\n")


def print_parts(*parts: Part) -> None:
    """Drawn first and then written at once, so that a reader who has gone is noticed in one place."""
    on_terminal = _on_terminal()
    console = _console(width=None if on_terminal else UNBOUNDED, colours=on_terminal)
    with console.capture() as captured:
        for number, part in enumerate(parts):
            if number and not (isinstance(part, Toned | str) and isinstance(parts[number - 1], Toned | str)):
                console.print()
            console.print(drawn(part), soft_wrap=isinstance(part, Toned | str))
    lines = [line.rstrip() for line in captured.get().splitlines()]
    encoding = sys.stdout.encoding or "ascii"
    sys.stdout.write("\n".join(lines).encode(encoding, "replace").decode(encoding) + "\n")


def progress(text: str) -> None:
    """What takes a moment, on a line of its own that the next word replaces. Only a person who waits wants it."""
    if sys.stderr.isatty():
        sys.stderr.write(f"\r\x1b[K{text}")
        sys.stderr.flush()


def end_progress() -> None:
    if sys.stderr.isatty():
        sys.stderr.write("\r\x1b[K")
        sys.stderr.flush()


def note(text: str) -> None:
    """What the reader has to know besides the answer."""
    end_progress()
    sys.stderr.write(f"{text}\n")
    sys.stderr.flush()


def drawn(part: Part) -> "RenderableType":
    from rich.table import Table as RichTable

    if isinstance(part, str | Toned):
        return _text(part)
    if isinstance(part, Facts):
        grid = RichTable.grid(padding=(0, 3, 0, 0))
        grid.add_column(style=Tone.QUIET, no_wrap=True)
        grid.add_column(overflow="fold")
        for name, value in part.pairs:
            grid.add_row(_text(name), _text(value))
        return grid
    if not part.rows:
        return _text(Toned(part.empty, Tone.QUIET))
    table = RichTable(box=None, padding=(0, 3, 0, 0), header_style=Tone.QUIET, pad_edge=False)
    for at, column in enumerate(part.columns):
        cells = [row[at] for row in part.rows]
        numbers = all(isinstance(cell, int | float | None) for cell in cells)
        names = at == 0 and max(len(_text(cell)) for cell in cells) <= LONGEST_NAME
        table.add_column(column, justify="right" if numbers else "left", overflow="fold", no_wrap=names)
    for row in part.rows:
        table.add_row(*map(_text, row))
    return table


def screen() -> "Console":
    """For what is refreshed in place."""
    return _console(width=None, colours=_on_terminal())


def good(text: str) -> Toned:
    return Toned(text, Tone.GOOD)


def warning(text: str) -> Toned:
    return Toned(text, Tone.WARNING)


def bad(text: str) -> Toned:
    return Toned(text, Tone.BAD)


def quiet(text: str) -> Toned:
    return Toned(text, Tone.QUIET)


def strong(text: str) -> Toned:
    return Toned(text, Tone.STRONG)


def ago(moment: datetime | None, now: datetime | None = None) -> Cell:
    """How long ago, or in how long."""
    if moment is None:
        return quiet("never")
    away = (now or datetime.now(UTC)) - moment
    return f"{lasting(away)} ago" if away >= timedelta(0) else f"in {lasting(-away)}"


def lasting(time: timedelta) -> str:
    """The largest unit that leaves two digits: 45 s, 12 min, 7 h, 30 d."""
    seconds = max(0, round(time.total_seconds()))
    for size, unit, bound in ((1, "s", 120), (60, "min", 7200), (3600, "h", 172_800)):
        if seconds < bound:
            return f"{seconds // size} {unit}"
    return f"{seconds // 86_400} d"


def at_minute(moment: datetime | None) -> str:
    """In the reader's own time zone."""
    return "" if moment is None else moment.astimezone().strftime("%Y-%m-%d %H:%M")


def as_plain(value: object) -> Any:
    """What JSON can say: times in ISO 8601, durations in seconds, ids as text, dataclasses as objects."""
    match value:
        case None | bool() | int() | float() | str():
            return value
        case datetime() | date():
            return value.isoformat()
        case timedelta():
            return value.total_seconds()
        case Decimal():
            return int(value) if value == value.to_integral_value() else float(value)
        case Mapping():
            pairs = cast("Mapping[object, object]", value)
            return {str(name): as_plain(inner) for name, inner in pairs.items()}
        case AbstractSet():
            return sorted((as_plain(inner) for inner in cast("AbstractSet[object]", value)), key=str)
        case Sequence() if not isinstance(value, bytes | bytearray):
            return [as_plain(inner) for inner in cast("Sequence[object]", value)]
        case _ if is_dataclass(value):
            return {field.name: as_plain(getattr(value, field.name)) for field in fields(value)}
        case _:
            return str(value)


def _text(cell: Cell) -> "Text":
    from rich.text import Text

    if isinstance(cell, Toned):
        return Text(printable(cell.text), style=cell.tone)
    if cell is None:
        return Text()
    return Text(printable(cell) if isinstance(cell, str) else f"{cell:,}")


def printable(text: str) -> str:
    """A terminal obeys escape sequences: what came from outside must not move its cursor."""
    return "".join(sign if sign.isprintable() or sign == "\n" else "\N{REPLACEMENT CHARACTER}" for sign in text)


def _console(*, width: int | None, colours: bool) -> "Console":
    from rich.console import Console

    if width is None and not sys.stdout.isatty():
        width = UNBOUNDED
    return Console(
        width=width,
        force_terminal=colours,
        no_color=True if os.environ.get("NO_COLOR") or not colours else None,
        highlight=False,
        markup=False,
        emoji=False,
    )


def _on_terminal() -> bool:
    return sys.stdout.isatty()


def _speaks_unicode() -> bool:
    return (sys.stdout.encoding or "").lower().replace("-", "") == "utf8"
