"""Says in plain words why a data folder, or the server in it, cannot be used: always a `BadSetup`."""

import errno
import re
import shutil
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from pressroom.core.errors import BadSetup

ELSEWHERE = "Or set PRESSROOM_DATABASE_URL to a PostgreSQL 15 or newer of your own."
FULL = re.compile("No space left on device|Disk quota exceeded")


@contextmanager
def explained(data: Path) -> Generator[None]:
    """Turns what the operating system refuses inside the block into a `BadSetup` about `data`."""
    try:
        yield
    except OSError as error:
        raise _of(error, data) from error


def _of(error: OSError, data: Path) -> BadSetup:
    where = error.filename if isinstance(error.filename, str) else str(data)
    match error.errno:
        case errno.ENOSPC | errno.EDQUOT:
            return disk_full(data)
        case errno.EROFS:
            return BadSetup(
                f"{where} is on a read-only file system, so the data folder {data} cannot be used.",
                hint="Choose a folder that can be written to, with --data or PRESSROOM_DATA.",
            )
        case errno.EACCES | errno.EPERM:
            return BadSetup(
                f"No permission for {where}, which the data folder {data} needs.",
                hint="Choose a folder of your own with --data or PRESSROOM_DATA, or run as its owner.",
            )
        case errno.ENOTDIR | errno.EEXIST:
            return BadSetup(
                f"The data folder {data} is, or lies below, something that is not a folder.",
                hint="Choose another folder with --data or PRESSROOM_DATA.",
            )
        case _:
            return BadSetup(
                f"The data folder {data} cannot be used: {error.strerror} ({where}).",
                hint="Choose another folder with --data or PRESSROOM_DATA.",
            )


def disk_full(data: Path) -> BadSetup:
    return BadSetup(
        f"The disk of the data folder {data} is full: {free_bytes(data)} bytes are free.",
        hint="The database needs about 100 MB to begin with. Free some space, or choose a folder on another "
        "disk with --data or PRESSROOM_DATA.",
    )


def free_bytes(data: Path) -> int:
    return shutil.disk_usage(next(folder for folder in (data, *data.parents) if folder.exists())).free


def last_words(output: str) -> str:
    """The line of a PostgreSQL program's output that says what went wrong."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    telling = [line for line in lines if re.search(r"\b(PANIC|FATAL|ERROR|error):|^cannot ", line)]
    return (telling or lines or ["it said nothing"])[-1]
