"""Commands through the real entry: in this process with captured output, or as a process of their own."""

import json
import logging
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
import structlog

from pressroom.db import embedded
from pressroom.entrypoints.cli import main

PROGRAM = [sys.executable, "-c", "import sys; from pressroom.entrypoints.cli import main; sys.exit(main())"]


@dataclass(frozen=True, slots=True)
class Said:
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """The one document of standard output."""
        return json.loads(self.out)


Cli = Callable[..., Said]


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A data folder whose server stays up between commands, migrated and seeded."""
    data = tmp_path_factory.mktemp("cli") / "data"
    subprocess.run([*PROGRAM, "db", "url", "--data", str(data)], check=True, capture_output=True, timeout=120)
    yield data
    embedded.stop(data)


@pytest.fixture
def anywhere(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Iterator[Cli]:
    """`pressroom ...`, in the environment as it is."""
    logs, handlers = structlog.get_config(), logging.getLogger().handlers

    def call(*arguments: object, stdin: str = "") -> Said:
        monkeypatch.setattr(sys, "stdin", StringIO(stdin))
        capsys.readouterr()
        code = main([str(argument) for argument in arguments])
        captured = capsys.readouterr()
        return Said(code, captured.out, captured.err)

    yield call
    logging.getLogger().handlers = handlers
    logging.captureWarnings(False)
    structlog.configure(**logs)


@pytest.fixture
def cli(anywhere: Cli, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Cli:
    """`pressroom ...` on the folder that all these tests share."""
    monkeypatch.setenv("PRESSROOM_DATA", str(folder))
    return anywhere


@pytest.fixture
def name(request: pytest.FixtureRequest) -> str:
    """Something that no other test is called."""
    return f"t-{abs(hash(request.node.nodeid)) % 10**10}"
