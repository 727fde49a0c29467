"""What `--help` says, and that it is quick to say it."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from pressroom.entrypoints.cli import COMMANDS, shape
from tests.entrypoints.cli.conftest import PROGRAM


def every_command() -> list[tuple[str, ...]]:
    """All verbs, as one types them."""
    found: list[tuple[str, ...]] = []
    for name in COMMANDS:
        command = shape.load(name)
        verbs = list(getattr(command, "commands", {}))
        found += [(name, verb) for verb in verbs] or [(name,)]
    return found


@pytest.mark.parametrize("words", every_command(), ids=" ".join)
def test_the_help_of_every_command_says_what_it_does_and_ends_with_an_example(anywhere, words):
    said = anywhere(*words, "--help")

    text, _, examples = said.out.partition("\nExamples:\n")
    assert (said.code, said.err) == (0, "")
    assert any(
        f"pressroom {' '.join(words)}" in line for line in examples.splitlines() if line.startswith("  ")
    )
    assert text.split("\n\n")[1].strip().endswith(".")


@pytest.mark.parametrize("words", every_command(), ids=" ".join)
def test_every_command_that_prints_can_print_json(words):
    command = shape.load(words[0])
    if len(words) > 1:
        command = command.commands[words[1]]
    options = {option for parameter in command.params for option in parameter.opts}
    if words in {("serve",), ("db", "psql")}:  # one logs, the other is psql
        return

    assert "--json" in options


def test_the_top_level_names_every_command_with_its_line(anywhere):
    said = anywhere("--help")

    shown = " ".join(said.out.split())
    assert said.code == 0
    assert all(f"{name} {entry.help}" in shown for name, entry in COMMANDS.items())


def test_a_noun_without_a_verb_shows_its_verbs_on_standard_error(anywhere):
    said = anywhere("workspace")

    assert (said.code, said.out) == (2, "")
    assert "rename" in said.err


def test_the_top_level_help_loads_nothing_that_commands_need():
    imported = subprocess.run(
        [sys.executable, "-X", "importtime", *PROGRAM[1:], "--help"], capture_output=True, text=True, check=True
    ).stderr
    loaded = {line.rpartition("|")[2].strip().partition(".")[0] for line in imported.splitlines()}

    assert loaded.isdisjoint({"pydantic", "asyncpg", "fastapi", "rich", "asyncio", "structlog", "cryptography"})


def test_the_top_level_help_takes_less_than_200_ms():
    def seconds() -> float:
        begun = time.perf_counter()
        subprocess.run([*PROGRAM, "--help"], capture_output=True, check=True)
        return time.perf_counter() - begun

    assert min(seconds() for _ in range(7)) < 0.2


def test_the_shell_completes_commands_and_verbs():
    def completed(*words: str) -> list[str]:
        environment = {
            **os.environ,
            "_PRESSROOM_COMPLETE": "complete_bash",
            "COMP_WORDS": " ".join(["pressroom", *words]),
            "COMP_CWORD": str(len(words)),
        }
        script = str(Path(sys.executable).with_name("pressroom"))
        return subprocess.run(
            [script], env=environment, capture_output=True, text=True, check=True
        ).stdout.split()

    assert completed("work") == ["workspace"]
    assert completed("workspace", "re") == ["rename", "resume"]
