import os

import asyncpg

from pressroom.db.client_programs import in_database
from pressroom.db.scratch import drop_database


async def test_a_database_goes_with_whoever_is_in_it(server):
    name = f"scratch_{os.urandom(6).hex()}"
    admin = await asyncpg.connect(server)
    await admin.execute(f"create database {name} template template0")
    guest = await asyncpg.connect(in_database(server, name))

    await drop_database(admin, name)
    await drop_database(admin, name)

    assert not await admin.fetchval("select count(*) from pg_database where datname = $1", name)
    await guest.close()
    await admin.close()
