"""The command line: `pressroom <noun> <verb>`. It reads arguments, calls one use case and shows the result.

`COMMANDS` names every command with the line that the help shows for it, and the module that is imported only
when it is called: `pressroom --help` loads none of them. What a command prints goes to standard output, as
tables for people or as one JSON document; progress, notes and errors go to standard error.
"""

import io
import sys
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Entry:
    """`place` is `module:attribute` below this package: a function, or the `Noun` of several verbs."""

    section: str
    place: str
    help: str


COMMANDS: dict[str, Entry] = {
    "up": Entry("Run", "up:command", "Start everything in one process: database, API, workers, sandbox."),
    "serve": Entry("Run", "serve:command", "Run some roles of the product, in any number of processes."),
    "run": Entry("Run", "run:command", "Make one pass of one loop, for cron jobs and orchestrators."),
    "push": Entry("Run", "push:command", "Put one post to work, from the command line."),
    "status": Entry("Look", "status:command", "Show on one screen what waits, what fails and what runs."),
    "doctor": Entry("Look", "doctor:command", "Check everything that can be wrong; each finding has its fix."),
    "sandbox": Entry("Try", "sandbox:app", "A Telegram and a MAX on this machine, to point any bot at."),
    "markup": Entry("Try", "markup:app", "Telegram's markup: what a text says, or the exact error."),
    "workspace": Entry("Set up", "workspace:app", "The tenants: list, create, rename, pause, disable."),
    "endpoint": Entry("Set up", "endpoint:app", "The doors that senders push through, each with a secret."),
    "token": Entry("Set up", "token:app", "Bearer tokens of the HTTP API."),
    "credential": Entry("Set up", "credential:app", "What we present to platforms, and the keys that seal it."),
    "config": Entry(
        "Set up", "config:app", "The settings: what they are, where they come from, whether they work."
    ),
    "db": Entry("Keep", "db:app", "The database: status, migrate, psql, url, stop, backup, restore."),
    "backup": Entry("Keep", "backup:app", "Prove that a backup can be restored."),
}


def main(arguments: Sequence[str] | None = None) -> int:
    """The exit code. Nothing that a user can do wrong ends in a traceback."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal that cannot show a sign shows a question mark
    try:
        from pressroom.entrypoints.cli.shape import root

        code = root().main(given, prog_name="pressroom", standalone_mode=False)
        sys.stdout.flush()
    except BaseException as error:  # noqa: BLE001 - the entrypoint answers the caller
        from pressroom.entrypoints.cli.failures import answer

        return answer(error, given)
    return code if isinstance(code, int) else 0
