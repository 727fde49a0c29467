"""`pressroom db`: the database that everything is kept in."""

import asyncio
import signal
import sys
from contextlib import suppress
from pathlib import Path
from typing import Annotated

import typer

from pressroom.core.errors import BadSetup, Conflict, InvalidInput
from pressroom.core.logs import redact
from pressroom.db import backup, embedded
from pressroom.db.client_programs import connection, program
from pressroom.db.migrate import SchemaStatus, function_files, status
from pressroom.entrypoints.cli.options import Data, Json
from pressroom.entrypoints.cli.output import (
    Cell,
    Facts,
    answer,
    bad,
    end_progress,
    good,
    note,
    print_json,
    progress,
    quiet,
    warning,
)
from pressroom.entrypoints.cli.session import database_of, prepare, product_of, settings_of
from pressroom.entrypoints.cli.shape import Noun
from pressroom.wiring import data_folder, reach_database

app = Noun("The database: where it is, its migrations, a way in for other programs, backups.")

File = Annotated[Path, typer.Argument(metavar="FILE", help="The file of the backup.")]


@app.verb("status")
async def status_(data: Data = None, as_json: Json = False) -> None:
    """Show where the database is, whether it runs, and whether its migrations are current. It starts nothing.

    Examples:
      pressroom db status
      pressroom db status --data /srv/pressroom --json
    """
    settings = settings_of(data)
    if settings.database_url is not None:
        url = settings.database_url.get_secret_value()
        schema = await status(url)
        facts: list[tuple[str, Cell]] = [("Database", redact(url)), ("PostgreSQL", str(schema.server_version))]
        answer(
            as_json, {"embedded": False, "url": redact(url), **_schema(schema)}, Facts(facts + _facts(schema))
        )
        return
    folder = data_folder(settings)
    server = embedded.status(folder)
    schema = await _schema_of_running(folder) if server.running else None
    facts = [
        ("Database", "embedded"),
        ("Folder", str(folder)),
        ("Size", f"{server.data_size / 1_000_000:,.0f} MB"),
        ("PostgreSQL", server.version or quiet("not created yet")),
        ("State", good(f"running, process {server.pid}") if server.running else quiet("stopped")),
    ]
    if server.running:
        facts += [
            ("Port", str(server.port)),
            ("Used by", f"{server.users} process{'' if server.users == 1 else 'es'}"),
            ("Stops", "with `pressroom db stop`" if server.kept else "with its last user"),
        ]
    document = {
        "embedded": True,
        "folder": folder,
        "running": server.running,
        "pid": server.pid,
        "socket_dir": server.socket_dir,
        "port": server.port,
        "postgres": server.version,
        "users": server.users,
        "kept": server.kept,
        "bytes": server.data_size,
        **_schema(schema),
    }
    answer(as_json, document, Facts(facts + _facts(schema)))


@app.verb("migrate")
async def migrate(data: Data = None, as_json: Json = False) -> None:
    """Bring the database to this version: new migrations once, all functions anew. Safe to repeat.

    A migration that fails leaves nothing behind.

    Examples:
      pressroom db migrate
      PRESSROOM_DATABASE_URL=postgresql://... pressroom db migrate
    """
    settings = settings_of(data)
    async with reach_database(settings, progress) as url:
        before = await status(url)
        await prepare(url, settings)
        after = await status(url)
    count = len(function_files())
    document = {"migrated": before.pending, "functions": count, **_schema(after)}
    done = f"Applied {', '.join(before.pending)}." if before.pending else "The tables were current already."
    answer(as_json, document, good(done), f"{count} functions reloaded.")


@app.verb("psql", context_settings={"allow_extra_args": True, "ignore_unknown_options": True})
async def psql(context: typer.Context, data: Data = None) -> None:
    """Open the SQL shell as the owner of the database. Further arguments go to psql.

    Tables and functions are on the search path: `select * from channels;` works as it stands.

    Examples:
      pressroom db psql
      pressroom db psql -c "select status, count(*) from deliveries group by 1"
      pressroom db psql --csv -f report.sql
    """
    async with database_of(data) as url:
        shown, environment = connection(url)
        end_progress()
        sys.stdout.flush()
        process = await asyncio.create_subprocess_exec(
            program("psql"), f"--dbname={shown}", *context.args, env=environment
        )
        asyncio.get_running_loop().add_signal_handler(signal.SIGINT, lambda: None)  # it is psql's to answer
        try:
            code = await process.wait()
        finally:
            with suppress(ProcessLookupError):
                process.terminate()
    if code:
        raise typer.Exit(code)


@app.verb("url")
async def url_(data: Data = None, as_json: Json = False) -> None:
    """Print the URL of the database, with its password, for other programs on this machine; nothing else.

    The server is started, and stays up until `pressroom db stop`.

    Examples:
      pressroom db url
      psql "$(pressroom db url)"
      DATABASE_URL=$(pressroom db url) python app.py
    """
    settings = settings_of(data)
    if settings.database_url is not None:
        return _print_url(settings.database_url.get_secret_value(), as_json)
    folder = data_folder(settings)
    with await asyncio.to_thread(embedded.attach, folder, say=progress) as attachment:
        async with product_of(data):  # migrated and seeded
            await asyncio.to_thread(embedded.keep_running, folder)
        return _print_url(attachment.url(), as_json)


@app.verb("stop")
def stop(
    force: Annotated[bool, typer.Option("--force", help="Even while other processes use it.")] = False,
    data: Data = None,
    as_json: Json = False,
) -> None:
    """Stop the embedded server that `pressroom db url` left running.

    Examples:
      pressroom db stop
      pressroom db stop --data /srv/pressroom --force
    """
    settings = settings_of(data)
    if settings.database_url is not None:
        raise InvalidInput(
            "PRESSROOM_DATABASE_URL names a server of your own, which Pressroom does not stop",
            hint="unset it to stop the embedded server",
        )
    folder = data_folder(settings)
    users = embedded.status(folder).users
    if users and not force:
        raise Conflict(
            f"{users} process{'' if users == 1 else 'es'} of Pressroom use the server in {folder}",
            hint="stop them (`pressroom up`, `serve`), or say --force",
        )
    stopped = embedded.stop(folder)
    answer(
        as_json, {"folder": folder, "stopped": stopped}, "Stopped." if stopped else quiet("It was not running.")
    )


@app.verb("backup")
async def backup_(
    file: File,
    verify: Annotated[
        bool, typer.Option("--verify", help="Restore it into a scratch database and compare.")
    ] = False,
    data: Data = None,
    as_json: Json = False,
) -> None:
    """Write everything that the database holds to one file, as of one moment, while work goes on.

    An older file of this name is replaced when the new one is complete. The keys that seal secrets are not in it:
    keep secret.keys, or PRESSROOM_SECRET_KEYS, in another safe place.

    Examples:
      pressroom db backup /backups/pressroom.backup --verify
      pressroom db backup "pressroom-$(date +%F).backup"
    """
    settings = settings_of(data)
    async with database_of(data) as url:
        report = await backup.write_backup(url, file.absolute(), say=progress)
        if verify:
            await backup.verify_backup(url, report.file, say=progress)
    manifest = report.manifest
    facts: list[tuple[str, Cell]] = [
        ("Backup", str(report.file)),
        ("Size", f"{report.size / 1_000_000:,.1f} MB"),
        ("Rows", f"{manifest.rows:,} in {len(manifest.tables)} tables"),
        (
            "Verified",
            good("yes: restored and compared") if verify else quiet("no: pressroom backup verify FILE"),
        ),
    ]
    document = {
        "file": report.file,
        "bytes": report.size,
        "rows": manifest.rows,
        "tables": len(manifest.tables),
        "verified": verify,
        "sealing_keys_left_out": manifest.sealing_keys,
    }
    answer(as_json, document, Facts(facts))
    if manifest.sealing_keys:
        where = (
            data_folder(settings) / "secret.keys" if settings.secret_keys is None else "PRESSROOM_SECRET_KEYS"
        )
        note(
            f"The keys that seal its secrets ({', '.join(manifest.sealing_keys)}) are not in it. "
            f"Keep {where} elsewhere: without it sealed secrets do not open."
        )


@app.verb("restore")
async def restore(
    file: File,
    replace: Annotated[bool, typer.Option("--replace", help="Give up what the database holds now.")] = False,
    data: Data = None,
    as_json: Json = False,
) -> None:
    """Put a backup into an empty database, then bring it to this version.

    All or nothing: interrupted or failed, it leaves the database as it was. Sealed secrets open only with the keys
    that sealed them.

    Examples:
      pressroom db restore pressroom.backup --data /srv/new
      pressroom db restore pressroom.backup --replace
    """
    settings = settings_of(data)
    async with reach_database(settings, progress) as url:
        report = await backup.restore_backup(url, file.absolute(), replace=replace, say=progress)
    manifest = report.manifest
    facts: list[tuple[str, Cell]] = [
        ("Restored", str(file)),
        ("Made", manifest.created_at),
        ("Rows", f"{manifest.rows:,} in {len(manifest.tables)} tables"),
        ("Migrated", ", ".join(report.migrated) or quiet("it was current")),
    ]
    document = {
        "file": file,
        "created_at": manifest.created_at,
        "rows": manifest.rows,
        "tables": len(manifest.tables),
        "migrated": report.migrated,
        "sealing_keys": manifest.sealing_keys,
    }
    answer(as_json, document, Facts(facts))
    if manifest.sealing_keys:
        note(f"Its secrets open with these keys, which no backup has: {', '.join(manifest.sealing_keys)}.")


async def _schema_of_running(folder: Path) -> SchemaStatus | None:
    """None when it says nothing that can be understood; the rest of the answer is still worth having."""
    with embedded.attach(folder) as attachment:
        try:
            return await status(attachment.dsn())
        except BadSetup as error:
            note(f"note: {error.message}")
            return None


def _schema(schema: SchemaStatus | None) -> dict[str, object]:
    return {
        "server_version": schema.server_version if schema else None,
        "applied": schema.applied if schema else None,
        "pending": schema.pending if schema else None,
    }


def _facts(schema: SchemaStatus | None) -> list[tuple[str, Cell]]:
    if schema is None:
        return []
    if schema.current:
        return [("Migrations", good(f"current, at {schema.applied[-1]}"))]
    if not schema.applied:
        return [("Migrations", warning("none yet: pressroom db migrate"))]
    return [("Migrations", bad(f"lacks {', '.join(schema.pending)}: pressroom db migrate"))]


def _print_url(url: str, as_json: bool) -> None:
    end_progress()
    if as_json:
        print_json({"url": url})
    else:
        sys.stdout.write(url + "\n")
