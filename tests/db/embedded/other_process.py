"""Another process that uses the embedded server: python other_process.py DATA [UID] [DIE_AT]

Prints one JSON line per event (`say`, `attached`, `refused`, `closed`) and obeys the lines it reads: `close`,
`attach`. At the end of its input it exits without closing. With UID it first becomes that user; with DIE_AT it
kills itself when a sentence with these words is said.
"""

import encodings.idna  # what is loaded as root need not be readable afterwards
import json
import os
import signal
import sys
from pathlib import Path

from pressroom.core.errors import BadSetup
from pressroom.db import embedded
from pressroom.db.embedded import binaries

__all__ = ["encodings"]


def tell(event: str, **facts: object) -> None:
    print(json.dumps({"event": event, **facts}), flush=True)


def main(data: str, uid: str = "", die_at: str = "") -> None:
    if uid:
        binaries.find()
        os.setgroups([])
        os.setgid(int(uid))
        os.setuid(int(uid))

    def say(sentence: str) -> None:
        tell("say", text=sentence)
        if die_at and die_at in sentence:
            os.kill(os.getpid(), signal.SIGKILL)

    def attach() -> embedded.Attachment | None:
        try:
            attachment = embedded.attach(Path(data), say=say)
        except BadSetup as error:
            tell("refused", message=error.message, hint=error.hint)
            return None
        pid = embedded.status(Path(data)).pid
        socket_dir = str(attachment.socket_dir)
        tell("attached", started=attachment.started, port=attachment.port, socket_dir=socket_dir, pid=pid)
        return attachment

    attachment = attach()
    for line in sys.stdin:
        if line.strip() == "attach":
            attachment = attach()
        elif line.strip() == "close" and attachment is not None:
            attachment.close()
            tell("closed")


if __name__ == "__main__":
    main(*sys.argv[1:])
