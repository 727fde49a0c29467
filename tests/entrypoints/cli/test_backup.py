"""Backups: written as of one moment, proven, and restored all or nothing."""

import io
import json
import os
import stat
import tarfile
from pathlib import Path

import asyncpg
import pytest

from pressroom.db import backup, embedded


@pytest.fixture(scope="module")
def silent():
    return lambda _: None


@pytest.fixture
def made(cli, tmp_path, name) -> Path:
    """A backup of the shared folder, in which there are some rows of every kind."""
    cli("workspace", "create", f"{name} \\ Вести\t'quoted'")
    cli("push", f"Привет\n\\.\nSET transaction_timeout = 0;\n{name}")
    file = tmp_path / "pressroom.backup"
    said = cli("db", "backup", file)
    assert said.code == 0, said.err
    return file


def test_a_backup_is_private_holds_no_key_and_says_so(cli, folder, tmp_path, name):
    file = tmp_path / "x.backup"
    people = cli("db", "backup", file)
    programs = cli("db", "backup", file, "--verify", "--json")

    keys = [line.partition(":")[2] for line in (folder / "secret.keys").read_text().split()]
    assert (people.code, programs.code) == (0, 0)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert programs.json["verified"] is True
    assert programs.json["sealing_keys_left_out"]
    assert "not in it" in people.err
    assert keys
    assert all(key.encode() not in file.read_bytes() for key in keys)
    assert [path.name for path in tmp_path.iterdir()] == ["x.backup"]


def test_a_backup_comes_back_row_by_row_in_a_new_folder(cli, made, tmp_path):
    new = tmp_path / "new"
    verified = cli("backup", "verify", made, "--json")
    people = cli("backup", "verify", made)
    restored = cli("db", "restore", made, "--data", new, "--json")
    again = cli("db", "backup", tmp_path / "again.backup", "--data", new, "--json")

    assert (verified.code, verified.json["verified"], people.code) == (0, True, 0)
    assert (restored.code, again.code) == (0, 0), restored.err + again.err
    assert backup.read_manifest(tmp_path / "again.backup").tables == backup.read_manifest(made).tables
    assert cli("workspace", "list", "--json").json == cli("workspace", "list", "--data", new, "--json").json
    assert cli("doctor", "--data", new, "--json").code == 1  # its secrets need the keys of the other folder
    assert not embedded.status(new).running


def test_what_happens_after_the_snapshot_is_not_in_the_backup(cli, made, name):
    cli("workspace", "create", f"{name}-later")

    assert cli("backup", "verify", made).code == 0


def test_a_database_that_holds_something_is_replaced_only_when_told(cli, made, tmp_path):
    other = tmp_path / "other"
    cli("workspace", "create", "Lost", "--data", other)

    refused = cli("db", "restore", made, "--data", other)
    before = [row["name"] for row in cli("workspace", "list", "--data", other, "--json").json]
    replaced = cli("db", "restore", made, "--data", other, "--replace")
    after = [row["name"] for row in cli("workspace", "list", "--data", other, "--json").json]

    assert refused.code == 4
    assert "--replace" in refused.err
    assert "Lost" in before
    assert replaced.code == 0, replaced.err
    assert "Lost" not in after


async def test_a_database_in_use_is_not_replaced(new_database, made, silent):
    url = await new_database()
    user = await asyncpg.connect(url, server_settings={"application_name": "a worker"})
    try:
        with pytest.raises(backup.Conflict, match="a worker"):
            await backup.restore_backup(url, made, replace=True, say=silent)
    finally:
        await user.close()


def changed(file: Path, change) -> Path:
    """The same backup with its two members changed, whole as a tar."""
    other = file.with_suffix(".changed")
    with tarfile.open(file) as old, tarfile.open(other, "w:") as new:
        for member in old.getmembers():
            content = change(member.name, old.extractfile(member).read())
            if content is not None:
                header = tarfile.TarInfo(member.name)
                header.size = len(content)
                new.addfile(header, io.BytesIO(content))
    return other


def flip_a_bit(name, content):
    if name != backup.DUMP:
        return content
    middle = len(content) // 2
    return content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1 :]


def claim_another_row(name, content):
    if name != backup.MANIFEST:
        return content
    manifest = json.loads(content)
    manifest["tables"]["pressroom.workspaces"]["rows"] += 1
    return json.dumps(manifest).encode()


def claim_another_content(name, content):
    if name != backup.MANIFEST:
        return content
    manifest = json.loads(content)
    manifest["tables"]["pressroom.channels"]["hash"] = "1"
    return json.dumps(manifest).encode()


def claim_another_table(name, content):
    if name != backup.MANIFEST:
        return content
    manifest = json.loads(content)
    manifest["tables"]["pressroom.forgotten"] = {"rows": 3, "hash": "1"}
    return json.dumps(manifest).encode()


def come_from_the_future(name, content):
    if name != backup.MANIFEST:
        return content
    manifest = json.loads(content)
    manifest["migrations"].append({**manifest["migrations"][0], "number": 999, "name": "0999_later"})
    return json.dumps(manifest).encode()


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (flip_a_bit, "cannot be used"),
        (claim_another_row, "pressroom.workspaces"),
        (claim_another_content, "pressroom.channels"),
        (claim_another_table, "pressroom.forgotten: 3 rows with hash 1 in the manifest, absent restored"),
        (come_from_the_future, "0999_later"),
        (lambda name, content: None if name == backup.DUMP else content, "dump is gone"),
        (lambda name, content: None if name == backup.MANIFEST else content, "no backup of Pressroom"),
        (lambda name, content: b"{}" if name == backup.MANIFEST else content, "no backup of Pressroom"),
    ],
)
def test_a_backup_that_is_not_what_it_says_is_found_out_and_nothing_is_left_behind(cli, made, change, says):
    wrong = changed(made, change)

    said = cli("backup", "verify", wrong)
    databases = cli("db", "psql", "-c", "select 1")  # the server is well

    assert (said.code, said.out) == (2, "")
    assert says in said.err
    assert databases.code == 0


def test_a_file_cut_short_is_found_out(cli, made):
    made.write_bytes(made.read_bytes()[: made.stat().st_size // 2])

    assert cli("backup", "verify", made).code == 2
    assert cli("db", "restore", made, "--replace").code == 2


def test_no_scratch_database_is_left(cli, folder, made):
    cli("backup", "verify", made)
    cli("backup", "verify", changed(made, claim_another_row))

    with embedded.attach(folder) as attachment:
        names = attachment.run("psql", "-Atc", "select datname from pg_database").stdout

    assert "verify" not in names


async def test_a_restore_that_fails_half_way_changes_nothing(
    cli_free_backup, new_database, silent, monkeypatch
):
    url = await new_database()
    connection = await asyncpg.connect(url)
    await connection.execute(
        "insert into pressroom.workspaces (workspace_id, name) values (gen_random_uuid(), 'Kept')"
    )
    await connection.close()
    real = backup._after
    monkeypatch.setattr(backup, "_after", lambda manifest: b"\nselect 1/0;\n" + real(manifest))

    with pytest.raises(backup.Unavailable, match="division by zero"):
        await backup.restore_backup(url, cli_free_backup, replace=True, say=silent)

    connection = await asyncpg.connect(url)
    names = [row["name"] for row in await connection.fetch("select name from pressroom.workspaces")]
    await connection.close()
    assert names == ["Kept"]


@pytest.fixture
async def cli_free_backup(new_database, silent, tmp_path) -> Path:
    url = await new_database()
    await backup.write_backup(url, tmp_path / "b.backup", say=silent)
    return tmp_path / "b.backup"


async def test_a_write_that_fails_leaves_the_older_backup(new_database, silent, cli_free_backup, monkeypatch):
    before = cli_free_backup.read_bytes()

    async def fails(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(backup, "_marks", fails)

    with pytest.raises(backup.BadSetup, match="No space left"):
        await backup.write_backup(await new_database(), cli_free_backup, say=silent)

    assert cli_free_backup.read_bytes() == before
    assert os.listdir(cli_free_backup.parent) == ["b.backup"]


def test_every_schema_that_migrations_make_is_in_a_backup():
    assert {"fn", "pressroom"} <= set(backup.our_schemas())
