"""Credentials: a logical key leads to a secret that the binding never holds and no error shows."""

import asyncio
import base64
import os

import pytest

from pressroom.core.errors import BadSetup, InvalidInput, NotFound
from pressroom.core.ids import WorkspaceId, uuid_v7
from pressroom.workspaces import store
from pressroom.workspaces.credentials import (
    bind_credential,
    list_credentials,
    resolve_credential,
    resolve_credentials,
    unbind_credential,
)
from pressroom.workspaces.sealing import Keyring

KEYRING = Keyring.parse(f"one:{base64.b64encode(bytes(range(32))).decode()}")
TOKEN = "110201543:AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw"
ENVIRONMENT = {"NEWS_TOKEN": TOKEN, "EMPTY": ""}


@pytest.fixture
def bind(db, workspace):
    def bind(auth_ref="news", platform="telegram", *, workspace_id=workspace, **given):
        return bind_credential(
            db, KEYRING, workspace_id=workspace_id, auth_ref=auth_ref, platform=platform, **given
        )

    return bind


@pytest.fixture
def resolve(db, workspace):
    def resolve(auth_ref="news", platform="telegram", *, workspace_id=workspace, keyring=KEYRING):
        return resolve_credential(
            db, keyring, ENVIRONMENT, workspace_id=workspace_id, auth_ref=auth_ref, platform=platform
        )

    return resolve


async def sealed_names(db, workspace_id):
    async with db.system() as tx:
        return await tx.values(
            "select name from sealed_secrets where workspace_id = $1 order by name", workspace_id
        )


async def test_a_secret_is_sealed_and_comes_back(bind, resolve, db, workspace):
    binding = await bind(secret=TOKEN)

    assert (binding.secret_ref, binding.rotated_at) == ("sealed:telegram/news", None)
    assert await resolve() == TOKEN
    assert await sealed_names(db, workspace) == ["telegram/news"]


async def test_a_reference_leads_to_the_environment_or_to_a_file(bind, resolve, tmp_path):
    (tmp_path / "token").write_text(f"{TOKEN}\n")
    (tmp_path / "crlf").write_bytes(b"two\nlines\r\n")

    await bind("env", secret_ref="env:NEWS_TOKEN")
    await bind("file", secret_ref=f"file:{tmp_path}/token")
    await bind("crlf", secret_ref=f"file:{tmp_path}/crlf")

    assert [await resolve(ref) for ref in ("env", "file", "crlf")] == [TOKEN, TOKEN, "two\nlines"]


@pytest.mark.spec("AP-057")
async def test_the_key_of_a_binding_is_workspace_auth_ref_and_platform(bind, resolve, other_workspace):
    await bind("news", "telegram", secret="one")
    await bind("news", "max", secret="two")
    await bind("other", "telegram", secret="three")
    await bind("news", "telegram", secret="four", workspace_id=other_workspace)
    await bind("news", "telegram", secret="five")

    assert [
        await resolve("news", "telegram"),
        await resolve("news", "max"),
        await resolve("other", "telegram"),
        await resolve("news", "telegram", workspace_id=other_workspace),
    ] == ["five", "two", "three", "four"]


@pytest.mark.spec("AP-056")
async def test_the_binding_has_its_columns_and_never_holds_the_secret(bind, db, workspace, tmp_path):
    (tmp_path / "token").write_text(TOKEN)
    await bind("sealed", secret=TOKEN)
    await bind("env", secret_ref="env:NEWS_TOKEN")
    await bind("file", secret_ref=f"file:{tmp_path}/token")
    for refused in (TOKEN, f"env:{TOKEN}", f"file:/{TOKEN}", "sealed:telegram/sealed"):
        with pytest.raises(InvalidInput) as error:
            await bind("leaky", secret_ref=refused)
        assert error.value.field == "secret_ref"
        assert TOKEN not in f"{error.value.message} {error.value.hint}"

    async with db.transaction(workspace) as tx:
        columns = await tx.values(
            "select attname::text from pg_attribute "
            "where attrelid = 'credential_bindings'::regclass and attnum > 0 order by attnum"
        )
        bindings = await tx.values("select b::text from credential_bindings b")
        refs = await tx.values("select secret_ref from credential_bindings order by auth_ref")
        sealed = await tx.values("select s::text from sealed_secrets s")
        ciphertexts = await tx.values("select ciphertext from sealed_secrets")

    assert columns == ["workspace_id", "auth_ref", "platform", "secret_ref", "rotated_at", "updated_at"]
    assert refs == ["env:NEWS_TOKEN", f"file:{tmp_path}/token", "sealed:telegram/sealed"]
    assert (len(bindings), len(sealed)) == (3, 1)
    assert TOKEN not in "\n".join(bindings + sealed)
    assert TOKEN.encode() not in b"\n".join(ciphertexts)
    with pytest.raises(InvalidInput):  # nor does the table take one from hand-written SQL
        async with db.transaction(workspace) as tx:
            await tx.execute(
                "insert into credential_bindings (workspace_id, auth_ref, platform, secret_ref) values ($1, 'x', 'y', $2)",
                workspace,
                TOKEN,
            )


async def test_bound_again_the_new_one_takes_the_place_and_nothing_sealed_is_left_behind(
    bind, resolve, db, workspace
):
    await bind(secret="old")

    sealed = await bind(secret="new")
    now = await resolve()
    moved = await bind(secret_ref="env:NEWS_TOKEN")

    assert (now, await resolve()) == ("new", TOKEN)
    assert sealed.rotated_at is not None
    assert moved.rotated_at is not None
    assert moved.rotated_at > sealed.rotated_at
    assert await sealed_names(db, workspace) == []


async def test_unbinding_takes_the_sealed_secret_along(bind, resolve, db, workspace):
    await bind(secret=TOKEN)

    await unbind_credential(db, workspace_id=workspace, auth_ref="news", platform="telegram")

    assert await sealed_names(db, workspace) == []
    with pytest.raises(NotFound, match="'news' of telegram"):
        await resolve()
    with pytest.raises(NotFound):
        await unbind_credential(db, workspace_id=workspace, auth_ref="news", platform="telegram")


async def test_racing_binds_leave_a_binding_and_a_secret_that_belong_together(bind, resolve, db, workspace):
    for _ in range(5):
        await asyncio.gather(
            *(bind(secret=f"secret {n}") for n in range(4)),
            *(bind(secret_ref="env:NEWS_TOKEN") for _ in range(4)),
        )

        secret = await resolve()
        assert (secret == TOKEN) == (await sealed_names(db, workspace) == [])


async def test_a_bind_that_dies_in_the_middle_leaves_the_old_secret(bind, resolve, db, workspace):
    await bind(secret="old")

    class DiedError(Exception):
        pass

    async def dies():
        async with db.transaction(workspace) as tx:
            sealed = KEYRING.seal(workspace, "telegram/news", "new")
            await store.bind_credential(
                tx, workspace, "news", "telegram", "sealed:telegram/news", "telegram/news", sealed
            )
            raise DiedError

    with pytest.raises(DiedError):
        await dies()

    assert await resolve() == "old"


async def test_the_list_says_what_resolves_and_shows_no_value(bind, db, workspace, tmp_path):
    await bind("a", secret=TOKEN)
    await bind("b", secret_ref="env:NEWS_TOKEN")
    await bind("c", secret_ref="env:ABSENT")
    await bind("d", secret_ref=f"file:{tmp_path}/absent")

    states = await list_credentials(db, KEYRING, ENVIRONMENT, workspace_id=workspace)

    assert [(state.binding.auth_ref, state.problem) for state in states] == [
        ("a", None),
        ("b", None),
        ("c", "the credential 'c' of telegram is env:ABSENT: the environment has no value for ABSENT"),
        (
            "d",
            f"the credential 'd' of telegram is file:{tmp_path}/absent: No such file or directory",
        ),
    ]
    assert TOKEN not in repr(states)


async def test_a_credential_of_another_workspace_does_not_exist(bind, resolve, other_workspace):
    await bind(secret=TOKEN)

    with pytest.raises(NotFound):
        await resolve(workspace_id=other_workspace)


async def test_a_sealed_secret_carried_to_another_workspace_does_not_open(
    bind, resolve, db, workspace, other_workspace
):
    await bind(secret=TOKEN)
    await bind(secret="mine", workspace_id=other_workspace)
    async with db.system() as tx:
        await tx.execute(
            """update sealed_secrets own set nonce = s.nonce, ciphertext = s.ciphertext
                 from sealed_secrets s
                where own.workspace_id = $1 and s.workspace_id = $2 and s.name = own.name""",
            other_workspace,
            workspace,
        )

    with pytest.raises(BadSetup, match="does not open") as refused:
        await resolve(workspace_id=other_workspace)

    assert TOKEN not in f"{refused.value.message} {refused.value.hint}"


@pytest.mark.parametrize(
    ("make", "problem"),
    [
        (lambda file: file.write_bytes(b""), "the file is empty"),
        (lambda file: file.write_bytes(b"\n"), "the file is empty"),
        (lambda file: file.write_bytes(b"\xff\xfe"), "not UTF-8"),
        (lambda file: file.write_bytes(b"x" * 65_537), "more than 65536 bytes"),
        (lambda file: file.mkdir(), "Is a directory"),
        (os.mkfifo, "no ordinary file"),
        (lambda file: file.symlink_to(file), "symbolic links"),
    ],
)
async def test_a_file_that_holds_no_secret_is_named_with_the_reason(bind, resolve, tmp_path, make, problem):
    file = tmp_path / "token"
    make(file)
    await bind(secret_ref=f"file:{file}")

    with pytest.raises(BadSetup) as refused:
        await resolve()

    assert f"'news' of telegram is file:{file}" in refused.value.message
    assert problem in refused.value.message
    assert refused.value.hint


@pytest.mark.parametrize(
    ("path", "says"),
    [
        ("/proc/self/environ", "below /proc"),
        ("//proc/1/environ", "below /proc"),
        ("/./sys/kernel/notes", "below /sys"),
        ("/dev/stdin", "below /dev"),
        ("/proc", "below /proc"),
        ("/home/pressroom/data/database.password", "database.password is a file of Pressroom"),
        ("/home/pressroom/data/secret.keys", "secret.keys is a file of Pressroom"),
        ("/home/pressroom/data/secret.keys/", "secret.keys is a file of Pressroom"),
    ],
)
async def test_files_of_the_system_and_of_pressroom_are_no_credentials(bind, path, says):
    with pytest.raises(InvalidInput, match=says) as refused:
        await bind(secret_ref=f"file:{path}")

    assert refused.value.field == "secret_ref"


@pytest.mark.parametrize("target", ["/proc/self/environ", "secret.keys", "database.password"])
async def test_no_link_leads_to_them_when_bound_nor_when_used(bind, resolve, tmp_path, target):
    (tmp_path / "secret.keys").write_text("k:x")
    (tmp_path / "database.password").write_text("hunter2")
    (tmp_path / "honest").write_text(TOKEN)
    link = tmp_path / "token"
    link.symlink_to(tmp_path / target)
    with pytest.raises(InvalidInput, match="no credential of a workspace"):
        await bind(secret_ref=f"file:{link}")

    link.unlink()
    link.symlink_to(tmp_path / "honest")
    await bind(secret_ref=f"file:{link}")
    assert await resolve() == TOKEN
    link.unlink()
    link.symlink_to(tmp_path / target)

    with pytest.raises(BadSetup, match="no credential of a workspace"):
        await resolve()


async def test_an_empty_or_missing_variable_is_named(bind, resolve):
    for name in ("EMPTY", "ABSENT"):
        await bind(secret_ref=f"env:{name}")
        with pytest.raises(BadSetup, match=f"no value for {name}"):
            await resolve()


async def test_a_key_that_is_gone_is_named_with_the_credential(bind, resolve):
    await bind(secret=TOKEN)

    with pytest.raises(BadSetup) as refused:
        await resolve(keyring=Keyring.parse("two:" + base64.b64encode(bytes(32)).decode()))

    assert "'news' of telegram" in refused.value.message
    assert "under the key 'one'" in refused.value.message


async def test_references_that_somebody_wrote_by_hand_are_checked_when_they_are_used(
    db, bind, resolve, workspace
):
    await bind(secret=TOKEN)
    async with db.system() as tx:
        await tx.execute(
            "update credential_bindings set secret_ref = 'env:PRESSROOM_SECRET_KEYS' where workspace_id = $1",
            workspace,
        )

    with pytest.raises(BadSetup, match="no credentials of a workspace"):
        await resolve()


async def test_many_are_resolved_at_once_and_a_bad_one_spoils_only_itself(bind, db, workspace):
    await bind("a", secret="sealed one")
    await bind("b", "max", secret_ref="env:NEWS_TOKEN")
    await bind("c", secret_ref="env:ABSENT")
    refs = [("a", "telegram"), ("b", "max"), ("c", "telegram"), ("b", "telegram"), ("a", "telegram")]

    answers = await resolve_credentials(db, KEYRING, ENVIRONMENT, workspace_id=workspace, refs=refs)

    assert list(answers) == refs[:4]
    assert answers["a", "telegram"] == "sealed one"
    assert answers["b", "max"] == TOKEN
    assert type(answers["c", "telegram"]) is BadSetup
    assert type(answers["b", "telegram"]) is NotFound
    assert await resolve_credentials(db, KEYRING, ENVIRONMENT, workspace_id=workspace, refs=[]) == {}


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({}, "secret"),
        ({"secret": "a", "secret_ref": "env:A"}, "secret"),
        ({"secret": ""}, "secret"),
        ({"secret": " \n"}, "secret"),
        ({"secret": "\udcff"}, "secret"),
        ({"secret": "x" * 65_537}, "secret"),
        ({"auth_ref": "a/b", "secret": "x"}, "auth_ref"),
        ({"platform": "", "secret": "x"}, "platform"),
    ],
)
async def test_values_out_of_bounds_are_refused_by_field(bind, given, field):
    with pytest.raises(InvalidInput) as refused:
        await bind(**given)

    assert refused.value.field == field
    assert refused.value.hint


async def test_an_absent_workspace_is_not_found(bind, db):
    absent = WorkspaceId(uuid_v7())

    with pytest.raises(NotFound, match=str(absent)):
        await bind(secret="x", workspace_id=absent)
    with pytest.raises(NotFound, match=str(absent)):
        await list_credentials(db, KEYRING, {}, workspace_id=absent)


def test_no_repr_of_a_row_shows_a_ciphertext():
    assert "ciphertext" not in repr(store.SealedRow(WorkspaceId(uuid_v7()), "n", "k", b"nonce", b"ciphertext"))
