"""`make schema`: write schema.sql, which shows in one place what the migrations add up to.

It holds the tables, the rows that migrations insert, and which migrations they are, so that a database made from it
goes on with `pressroom db migrate` like any other. That loads the functions of schema `fn`, which have files of
their own, and makes the daily partitions of `events`.
"""

import asyncio
import re
import subprocess
import tempfile
from importlib.resources import files
from pathlib import Path

from pressroom.core.errors import BadSetup
from pressroom.db import embedded
from pressroom.db.migrate import ROLES, migrate, ours

HEAD = """-- What the migrations add up to, made by `make schema`; a test holds both equal. Do not edit.
-- Runs on an empty database; `pressroom db migrate` then loads the functions.

"""
ROLE = """do $$ begin
    create role {role} nologin;
exception when duplicate_object then null;
end $$;

"""
TAIL = """
CREATE SCHEMA fn;
GRANT USAGE ON SCHEMA fn TO pressroom_app, pressroom_worker;
"""
#: Of pg_dump's output: its settings, the versions it names, its psql commands, the comments above objects, and
#: who was the owner.
NOISE = re.compile(r"^(SET |SELECT pg_catalog\.set_config|--|\\(un)?restrict).*\n", re.MULTILINE)
OWNER = re.compile(r"^(ALTER DEFAULT PRIVILEGES) FOR ROLE \S+", re.MULTILINE)


def dump(pg_dump: Path, url: str) -> str:
    """The tables of this database and the rows of their defaults, as SQL that runs on an empty one."""
    tables = _pg_dump(
        pg_dump, url, "--schema-only", "--schema=pressroom", "--exclude-table=pressroom.events_2*"
    )
    history = _pg_dump(pg_dump, url, "--schema-only", "--table=public.pressroom_migrations")
    rows = _pg_dump(pg_dump, url, "--data-only", "--inserts", "--table=pressroom.autopost_settings")
    return "\n".join((tables, TAIL, history, rows))


def _pg_dump(pg_dump: Path, url: str, *what: str) -> str:
    done = subprocess.run(  # noqa: S603 - the server's own pg_dump, arguments of ours
        [pg_dump, "--no-owner", *what, url], capture_output=True, text=True, encoding="utf-8", check=False
    )
    if done.returncode != 0:
        raise BadSetup(f"pg_dump failed: {done.stderr.strip()}")
    text = OWNER.sub(r"\1", NOISE.sub("", done.stdout))
    return re.sub(r"\n{3,}", "\n\n", text).strip() + "\n"


def snapshot(pg_dump: Path, url: str) -> str:
    """What schema.sql holds for this migrated database."""
    insert = "INSERT INTO public.pressroom_migrations (number, name, checksum) VALUES ({}, '{}', '{}');\n"
    applied = "".join(insert.format(each.number, each.name, each.checksum) for each in ours())
    return "".join((HEAD, *(ROLE.format(role=role) for role in ROLES), dump(pg_dump, url), "\n", applied))


def saved() -> str:
    return files("pressroom.db").joinpath("schema.sql").read_text("utf-8")


def main() -> None:
    with (
        tempfile.TemporaryDirectory(prefix="pressroom-schema-") as folder,
        embedded.attach(Path(folder) / "data") as attachment,
    ):
        asyncio.run(migrate(attachment.dsn()))
        text = snapshot(attachment.binary("pg_dump"), attachment.dsn())
    (Path(__file__).parent / "schema.sql").write_text(text, "utf-8")


if __name__ == "__main__":
    main()
