"""`pressroom doctor`: everything that can be wrong, and how to mend it."""

from datetime import timedelta

from pressroom.core.errors import PressroomError
from pressroom.db.database import Database
from pressroom.entrypoints.cli import findings
from pressroom.entrypoints.cli.config import check_keys, check_plugs
from pressroom.entrypoints.cli.options import Data, Json
from pressroom.entrypoints.cli.session import database_of, settings_of
from pressroom.ops.doctor import Finding, check_database, check_disk, examine, failed, fine
from pressroom.settings import Settings, environment
from pressroom.wiring import data_folder, load_keyring


async def command(data: Data = None, as_json: Json = False) -> None:
    """Check the database, the disk, the clock, settings, credentials, loops and endpoints.

    Each finding says what is wrong, where, and how to mend it. The exit code is 1 when one is an error.

    Examples:
      pressroom doctor
      pressroom doctor --json | jq '.findings[] | select(.severity == "error")'
    """
    try:
        settings = settings_of(data)
    except PressroomError as error:
        return findings.show([failed("settings", error)], as_json)
    found = [fine("settings", "every value is in range"), *check_plugs(), *check_keys(settings)]
    try:
        if settings.database_url is None:
            found += check_disk(data_folder(settings))
        async with database_of(data) as url:
            found += await _examine(url, settings)
    except PressroomError as error:
        found.append(failed("database", error))
    return findings.show(found, as_json)


async def _examine(url: str, settings: Settings) -> list[Finding]:
    found, usable = await check_database(url)
    if not usable:
        return found
    db = await Database.open(url, size=2, name="pressroom doctor", pooled=settings.database_pooler)
    try:
        keyring = load_keyring(settings)
        stall = timedelta(seconds=settings.stall_seconds)
        return [*found, *await examine(db, keyring, environment(), stall=stall)]
    finally:
        await db.close()
