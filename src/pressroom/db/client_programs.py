"""The client programs of PostgreSQL against any database URL: `psql`, `pg_dump`, `pg_restore`.

Those of the wheel come first, because a client must not be older than its server; else the system's. A password
is handed over in the environment: what stands on a command line, everybody on the machine can read.
"""

import os
import shutil
from pathlib import Path
from urllib.parse import parse_qsl, unquote, urlencode, urlsplit, urlunsplit

from pressroom.core.errors import BadSetup
from pressroom.db.embedded import binaries


def program(name: str) -> Path:
    try:
        return binaries.find().path(name)
    except BadSetup as error:
        found = shutil.which(name)
        if found is None:
            raise BadSetup(
                f"the program {name} is not installed", hint="install the client programs of PostgreSQL"
            ) from error
        return Path(found)


def connection(url: str) -> tuple[str, dict[str, str]]:
    """The URL without its password, for `--dbname`, and the environment with it."""
    parts = urlsplit(url)
    user, at, place = parts.netloc.rpartition("@")
    name, _, password = user.partition(":")
    query = parse_qsl(parts.query, keep_blank_values=True)
    given = [value for key, value in query if key == "password"] or ([unquote(password)] if password else [])
    shown = urlunsplit(
        parts._replace(
            netloc=name + at + place, query=urlencode([pair for pair in query if pair[0] != "password"])
        )
    )
    inherited = os.environ.items()  # house: handed to the child process, which needs none of our secrets
    environment = {name: value for name, value in inherited if not name.startswith("PRESSROOM_")}
    if given:
        environment["PGPASSWORD"] = given[0]
    return shown, environment | {"PGCLIENTENCODING": "UTF8"}


def in_database(url: str, name: str) -> str:
    """The same server, another database."""
    return urlunsplit(urlsplit(url)._replace(path=f"/{name}"))
