"""`make reference`: the pages of docs/reference that follow from the code; a test holds them equal to it."""

import re
from pathlib import Path
from typing import Any

from pressroom.db.migrate import function_files
from pressroom.entrypoints.cli import COMMANDS
from pressroom.entrypoints.cli.shape import load
from pressroom.entrypoints.errors import every_problem
from pressroom.settings import PREFIX, Settings

FOLDER = Path(__file__).parent.parent / "docs" / "reference"
MADE = "Made by `make reference`; do not edit.\n"


def settings() -> str:
    lines = [
        "# Settings\n", MADE,
        ("Environment variables of a process. Every one has a default; an unknown `PRESSROOM_` variable is an error. "
        "What differs per workspace is a row of `autopost_settings`.\n"),
    ]  # fmt: skip
    for name, field in Settings.model_fields.items():
        default = "none" if field.default is None else f"`{field.default}`"
        bounds = [f"{kind} {limit}" for kind, limit in _bounds(field.metadata)]
        lines += [f"## {PREFIX}{name.upper()}\n", f"{field.description} Default: {default}{_joined(bounds)}.\n"]
    return "\n".join(lines)


def _bounds(metadata: list[Any]) -> list[tuple[str, Any]]:
    names = (("ge", "at least"), ("gt", "more than"), ("le", "at most"), ("lt", "less than"))
    return [(said, getattr(rule, name)) for rule in metadata for name, said in names if hasattr(rule, name)]


def _joined(bounds: list[str]) -> str:
    return "; " + ", ".join(bounds) if bounds else ""


def commands() -> str:
    lines = [
        "# Commands\n",
        MADE,
        "Every command has `--help` with examples; those that print have `--json`.\n",
    ]
    for name, entry in COMMANDS.items():
        command = load(name)
        lines += [f"## pressroom {name}\n", f"{entry.help}\n"]
        verbs = getattr(command, "commands", {})
        for verb, inner in verbs.items():
            lines += [f"### pressroom {name} {verb}\n", *_help(inner)]
        if not verbs:
            lines += _help(command)[1:]
    return "\n".join(lines)


def _help(command: Any) -> list[str]:
    examples = f"```\n{command.examples}\n```\n" if command.examples else ""
    return [f"{_one_line(command.help)}\n", examples]


def _one_line(text: str | None) -> str:
    return " ".join((text or "").split())


def functions() -> str:
    lines = [
        "# SQL functions\n", MADE,
        ("Schema `fn`, reloaded by every `pressroom db migrate`; it is on the database's search path, so an operator "
        "calls `select * from due_workspaces()`.\n"),
    ]  # fmt: skip
    for file in function_files():
        sql = file.read_text("utf-8")
        comment = "\n".join(
            line.removeprefix("--").strip() for line in re.findall(r"\A(?:--.*\n)+", sql)[0].splitlines()
        )
        found = re.search(r"create or replace function fn\.(\w+)(\(.*?)\nlanguage", sql, re.DOTALL)
        assert found is not None, file.name
        signature = re.sub(r"\s+", " ", found[1] + found[2]).replace("( ", "(").replace(" )", ")")
        lines += [f"## {found[1]}\n", f"{comment}\n", f"```sql\n{signature}\n```\n"]
    return "\n".join(lines)


def errors() -> str:
    lines = [
        "# Errors\n", MADE,
        "One table for every door: the HTTP status and the `type` of the problem, the exit code of the command.\n",
    ]  # fmt: skip
    for problem in every_problem():
        lines += [
            f"## {problem.slug}\n",
            (
                f"{problem.title} ({problem.title_ru}). HTTP {problem.status}, exit code {problem.exit_code}. "
                f"{_one_line(problem.meaning)}\n"
            ),
        ]
    return "\n".join(lines)


PAGES = {"settings.md": settings, "commands.md": commands, "functions.md": functions, "errors.md": errors}


def main() -> None:
    FOLDER.mkdir(exist_ok=True)
    for name, page in PAGES.items():
        (FOLDER / name).write_text(page().rstrip() + "\n", "utf-8")


if __name__ == "__main__":
    main()
