"""schema.sql is what the migrations make, and seed.sql is the example workspace."""

import asyncpg
import pytest

from pressroom.core.ids import RunId, TraceId
from pressroom.db.database import Database
from pressroom.db.embedded.binaries import find
from pressroom.db.migrate import migrate, status
from pressroom.db.snapshot import dump, saved, snapshot
from pressroom.example import WORKSPACE, push_secret, seed_example
from pressroom.intake.push import push
from pressroom.workspaces.sealing import Keyring
from tests.conftest import GIVEN_SERVER, CloneDatabase

pytestmark = pytest.mark.skipif(
    GIVEN_SERVER is not None, reason="the snapshot is made by the embedded server's version of pg_dump"
)


@pytest.mark.spec("AP-408")
async def test_schema_sql_is_the_exact_result_of_the_migrations(
    empty_database: CloneDatabase, new_database: CloneDatabase
):
    pg_dump = find().path("pg_dump")
    migrated, from_file = await new_database(), await empty_database()

    connection = await asyncpg.connect(from_file)
    await connection.execute(saved())
    await connection.close()

    assert snapshot(pg_dump, migrated) == saved(), "run `make schema`"
    assert dump(pg_dump, from_file) == dump(pg_dump, migrated)


async def test_a_database_made_from_schema_sql_goes_on_like_any_other(empty_database: CloneDatabase):
    """Under an owner of any name."""
    url = await empty_database()
    owner = await asyncpg.connect(url)
    await owner.execute("create role somebody login createrole")
    name = await owner.fetchval("select current_database()")
    await owner.execute(f"grant somebody to current_user; alter database {name} owner to somebody")
    await owner.execute("set role somebody")
    await owner.execute(saved())
    await owner.close()

    report = await migrate(url)

    assert report.applied == []
    assert (await status(url)).current
    db = await Database.open(url)
    async with db.system() as tx:
        assert await tx.value("select fn.required_setting(gen_random_uuid(), 'max_attempts')") == 5
    await db.close()


@pytest.mark.spec("AP-406")
async def test_seed_sql_is_an_example_that_works_and_may_be_run_again(empty_database: CloneDatabase):
    url = await empty_database()
    await migrate(url)
    db = await Database.open(url)
    keyring = Keyring.parse(Keyring.generate_text())

    await seed_example(db, keyring)
    await seed_example(db, keyring)
    receipt = await push(
        db, ["telegram"], secret=await push_secret(db, keyring), body=b'{"text": "Seeded"}',
        trace_id=TraceId("a" * 32), run_id=RunId("r"),
    )  # fmt: skip

    async with db.system() as tx:
        rows = {
            table: await tx.value(f"select count(*) from {table} where workspace_id = $1", WORKSPACE)
            for table in (
                "workspaces",
                "workspace_endpoints",
                "channels",
                "platform_limits",
                "credential_bindings",
            )
        }
    await db.close()
    assert rows == {
        "workspaces": 1, "workspace_endpoints": 1, "channels": 2, "platform_limits": 1, "credential_bindings": 2,
    }  # fmt: skip
    assert receipt.enqueued.queued == 2
