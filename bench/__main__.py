"""`make bench`: run every table and write docs/benchmarks.md. ARGS="--rounds 2" makes it quick."""

import argparse
import platform
from datetime import UTC, datetime
from pathlib import Path

import psutil

from bench import foundation, sandbox

PAGE = Path(__file__).parent.parent / "docs" / "benchmarks.md"


def main() -> None:
    arguments = argparse.ArgumentParser(prog="make bench", description=__doc__)
    arguments.add_argument("--rounds", type=int, default=5, help="interleaved rounds of each table")
    rounds: int = arguments.parse_args().rounds
    machine = (
        f"{psutil.cpu_count()} virtual cores, {psutil.virtual_memory().total / 2**30:.0f} GiB, "
        f"{platform.system()} {platform.machine()}, Python {platform.python_version()}, "
        "embedded PostgreSQL 18 with fsync on"
    )
    PAGE.write_text(
        f"# Benchmarks\n\nMade by `make bench` on {datetime.now(UTC):%Y-%m-%d}: {machine}. Absolute figures "
        "vary between machines and hours;\nonly what stands in one table was measured side by side.\n\n"
        f"## The API's own cost\n\n{foundation.table(rounds)}\n\n"
        f"## The sandbox\n\n{sandbox.table(rounds)}\n"
    )
    print(PAGE.read_text())


if __name__ == "__main__":
    main()
