"""`pressroom backup`: proves what `pressroom db backup` made."""

from pressroom.db.backup import verify_backup
from pressroom.entrypoints.cli.db import File
from pressroom.entrypoints.cli.options import Data, Json
from pressroom.entrypoints.cli.output import Facts, answer, good, progress
from pressroom.entrypoints.cli.session import settings_of
from pressroom.entrypoints.cli.shape import Noun
from pressroom.wiring import reach_database

app = Noun("Prove that a backup can be restored. `pressroom db backup` makes one.")


@app.verb("verify")
async def verify(file: File, data: Data = None, as_json: Json = False) -> None:
    """Restore a backup into a scratch database, compare every table with what the backup says, drop it again.

    The database in use is not touched. The exit code is 0 only if every row came back.

    Examples:
      pressroom backup verify pressroom.backup
      pressroom backup verify /backups/pressroom.backup --json
    """
    async with reach_database(settings_of(data), progress) as url:
        manifest = await verify_backup(url, file.absolute(), say=progress)
    facts = [
        ("Backup", str(file)),
        ("Made", manifest.created_at),
        ("Rows", f"{manifest.rows:,} in {len(manifest.tables)} tables"),
        ("Verdict", good("restored; every table has the rows and the content that it had")),
    ]
    document = {
        "file": file,
        "verified": True,
        "created_at": manifest.created_at,
        "rows": manifest.rows,
        "tables": manifest.tables,
    }
    answer(as_json, document, Facts(facts))
