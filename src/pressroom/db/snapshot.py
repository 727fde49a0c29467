"""`make schema`: write schema.sql, which shows in one place what the migrations add up to.

It holds the tables; functions of schema `fn` have files of their own and are loaded by each migrate, and the
daily partitions of `events` are made as days come.
"""

import asyncio
import re
import subprocess
import tempfile
from importlib.resources import files
from pathlib import Path

from pressroom.core.errors import BadSetup
from pressroom.db import embedded
from pressroom.db.migrate import ROLES, migrate

HEAD = """-- What the migrations add up to, made by `make schema`; a test holds both equal. Do not edit.
-- Runs on an empty database. Functions come with `pressroom db migrate`.

"""
ROLE = """do $$ begin
    create role {role} nologin;
exception when duplicate_object then null;
end $$;

"""
#: Of pg_dump's output: its settings, the versions it names, its psql commands, and the comments above objects.
NOISE = re.compile(r"^(SET |SELECT pg_catalog\.set_config|--|\\(un)?restrict).*\n", re.MULTILINE)


def dump(pg_dump: Path, url: str) -> str:
    """The tables of this database as SQL that runs on an empty one."""
    done = subprocess.run(  # noqa: S603 - the server's own pg_dump, arguments of ours
        [pg_dump, "--schema-only", "--no-owner", "--schema=pressroom", "--exclude-table=pressroom.events_2*", url],
        capture_output=True, text=True, encoding="utf-8", check=False,
    )  # fmt: skip
    if done.returncode != 0:
        raise BadSetup(f"pg_dump failed: {done.stderr.strip()}")
    return re.sub(r"\n{3,}", "\n\n", NOISE.sub("", done.stdout)).strip() + "\n"


def snapshot(pg_dump: Path, url: str) -> str:
    """What schema.sql holds for this migrated database."""
    return HEAD + "".join(ROLE.format(role=role) for role in ROLES) + dump(pg_dump, url)


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
