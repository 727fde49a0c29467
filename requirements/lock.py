"""Resolve pyproject.toml into the lock files: versions and hashes for every platform, no registry address."""

import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
PROJECT = HERE.parent / "pyproject.toml"


def resolve(name: str, *arguments: str) -> None:
    subprocess.run(
        [
            sys.executable, "-m", "uv", "pip", "compile", *arguments,
            "--universal", "--generate-hashes", "--no-emit-index-url", "--no-header", "--no-annotate",
            "--quiet", "--upgrade", "--python-version", "3.11", "--output-file", str(HERE / name),
        ],
        check=True, cwd=PROJECT.parent, stdout=subprocess.DEVNULL,
    )  # fmt: skip


if __name__ == "__main__":
    pinned = ("--constraints", str(HERE / "setup.lock"))
    resolve("setup.lock", str(PROJECT), "--group", "test")
    resolve("check.lock", "--group", "check", *pinned)
    resolve("app.lock", str(PROJECT), *pinned)
    resolve("aiogram.lock", "--group", "aiogram")
