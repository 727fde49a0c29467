"""Files that are whole or not there, also when the power fails."""

import os
from collections.abc import Callable
from pathlib import Path


def replace_file(
    file: Path,
    content: bytes,
    *,
    drafts: Path | None = None,
    prepare: Callable[[int], None] | None = None,
) -> None:
    """The old content stays until the new one is on the disk. Nobody else may read it; a link is not followed.

    `drafts` is a folder on the same disk, where the file's own is not ours alone. `prepare` gets the descriptor of the
    new file before anything is written, for its owner to be set.
    """
    draft = (drafts or file.parent) / f".{file.name}.draft"
    draft.unlink(missing_ok=True)
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    with open(descriptor, "wb") as opened:
        if prepare is not None:
            prepare(descriptor)
        opened.write(content)
        opened.flush()
        os.fsync(descriptor)
    draft.replace(file)
    sync_folder(file.parent)


def sync_folder(folder: Path) -> None:
    """The names of new files in it survive a power cut too."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
