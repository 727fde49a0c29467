"""Locks of the kernel (flock) on descriptors: they end with their holder, however it ends.

Never held by waiting: who cannot have one now asks again, so that a bound can be kept.
"""

import os


def take_exclusive(descriptor: int) -> bool:
    """Whether it is ours now. A shared one of the same descriptor is given up either way."""
    import fcntl  # missing on Windows

    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def take_shared(descriptor: int) -> bool:
    import fcntl  # missing on Windows

    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def release(descriptor: int) -> None:
    """Unlocks before it closes: a forked child may keep a copy of the descriptor."""
    import fcntl  # missing on Windows

    fcntl.flock(descriptor, fcntl.LOCK_UN)
    os.close(descriptor)
