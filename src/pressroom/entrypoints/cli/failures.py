"""What is said when a command fails: one line, a hint, and the exit code of the one error table."""

import asyncio
import json
import os
import sys
import tempfile
import traceback
from collections.abc import Sequence
from contextlib import suppress

import typer

from pressroom.core.errors import InvalidInput, PressroomError
from pressroom.entrypoints.cli.output import end_progress
from pressroom.entrypoints.errors import EXIT_INTERRUPTED, PROBLEMS, Problem, problem_of

EXIT_BROKEN_PIPE = 141  # as a shell reports a program that SIGPIPE ended
EXIT_TERMINATED = 143


def answer(error: BaseException, arguments: Sequence[str]) -> int:
    """Tells the user on standard error; returns the exit code."""
    end_progress()
    match error:
        case KeyboardInterrupt():
            return EXIT_INTERRUPTED
        case asyncio.CancelledError():
            return EXIT_TERMINATED
        case BrokenPipeError():
            return _reader_has_gone()
        case SystemExit():
            return error.code if isinstance(error.code, int) else 1
        case typer.TyperException():
            return _tell(PROBLEMS[InvalidInput], _sentence(error.format_message()), _see_help(error), arguments)
        case typer.Abort():
            return EXIT_INTERRUPTED
        case PressroomError():
            field = error.field if isinstance(error, InvalidInput) else None
            return _tell(problem_of(error), error.message, error.hint, arguments, field=field)
        case _:
            return _tell(problem_of(error), _unexpected(error), _details(error, arguments), arguments)


def _tell(
    problem: Problem, message: str, hint: str | None, arguments: Sequence[str], *, field: str | None = None
) -> int:
    from pressroom.core.logs import redact
    from pressroom.settings import environment

    message, hint = redact(message), redact(hint) if hint else None
    if "--json" in arguments:
        body = {
            "type": problem.type,
            "title": problem.title,
            "detail": message,
            "hint": hint,
            "field": field,
            "exit_code": problem.exit_code,
        }
        _print(json.dumps({name: value for name, value in body.items() if value is not None}))
        return problem.exit_code
    colours = sys.stderr.isatty() and not environment().get("NO_COLOR")
    _print(("\x1b[1;31merror:\x1b[0m " if colours else "error: ") + _one_line(message))
    if hint:
        _print(("  \x1b[36mhint:\x1b[0m " if colours else "  hint: ") + _one_line(hint))
    return problem.exit_code


def _print(line: str) -> None:
    with suppress(OSError, ValueError):
        sys.stderr.write(
            line.encode(sys.stderr.encoding or "ascii", "replace").decode(sys.stderr.encoding or "ascii")
        )
        sys.stderr.write("\n")
        sys.stderr.flush()


def _one_line(text: str) -> str:
    """A terminal obeys control characters: what came from outside must not."""
    words = " ".join(text.split())
    return "".join(sign if sign.isprintable() else sign.encode("unicode_escape").decode() for sign in words)


def _sentence(usage: str) -> str:
    return usage[:1].lower() + usage[1:].rstrip(".")


def _see_help(error: typer.TyperException) -> str:
    context = getattr(error, "ctx", None)
    return f"see `{context.command_path if context else 'pressroom'} --help`"


def _unexpected(error: BaseException) -> str:
    return f"unexpected {type(error).__name__}: {error}"


def _details(error: BaseException, arguments: Sequence[str]) -> str:
    """Where the traceback is: here, when somebody asked for it, else in a file that only its owner reads."""
    from pressroom.core.logs import redact
    from pressroom.settings import environment

    text = redact("".join(traceback.format_exception(error)))
    if "--debug" in arguments or environment().get("PRESSROOM_LOG_LEVEL") == "debug":
        _print(text.rstrip())
        return "this is a fault in Pressroom; please report it with the lines above"
    try:
        descriptor, path = tempfile.mkstemp(prefix="pressroom-fault-", suffix=".txt")
        with open(descriptor, "w", encoding="utf-8", errors="replace") as file:
            file.write(text)
    except OSError:
        return "this is a fault in Pressroom; `pressroom --debug ...` shows where"
    return f"this is a fault in Pressroom; the details are in {path}, or repeat it with `pressroom --debug ...`"


def _reader_has_gone() -> int:
    """`pressroom ... | head`: nobody reads on, and the interpreter must not complain about it when it ends."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return EXIT_BROKEN_PIPE
