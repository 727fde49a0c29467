"""Sealing: what is sealed opens under its key, workspace and name, and under nothing else."""

import base64
import multiprocessing
import os
from dataclasses import replace
from pathlib import Path

import pytest

from pressroom.core.errors import BadSetup
from pressroom.core.ids import WorkspaceId, uuid_v7
from pressroom.workspaces.credentials import bind_credential, resolve_credential
from pressroom.workspaces.sealing import Keyring, ResealReport, reseal_all
from tests.conftest import add_workspace

A, B = (WorkspaceId(uuid_v7()) for _ in range(2))
KEY = base64.b64encode(bytes(range(32))).decode()
OTHER = base64.b64encode(bytes(range(32, 64))).decode()


def said(error: BadSetup) -> str:
    return f"{error.message} {error.hint}"


def test_what_is_sealed_opens_and_no_two_sealings_are_alike():
    keyring = Keyring.parse(Keyring.generate_text())

    first, second = (keyring.seal(A, "telegram/news", "токен\n") for _ in range(2))

    assert [keyring.unseal(A, "telegram/news", sealed) for sealed in (first, second)] == ["токен\n"] * 2
    assert first.nonce != second.nonce
    assert first.ciphertext != second.ciphertext
    assert first.key_id == keyring.current


@pytest.mark.parametrize(
    "spoil",
    [
        pytest.param(lambda sealed: (B, "name", sealed), id="carried to another workspace"),
        pytest.param(lambda sealed: (A, "other", sealed), id="renamed"),
        pytest.param(
            lambda s: (A, "name", replace(s, ciphertext=bytes([s.ciphertext[0] ^ 1]) + s.ciphertext[1:])),
            id="changed text",
        ),
        pytest.param(lambda s: (A, "name", replace(s, ciphertext=s.ciphertext[:-1])), id="cut"),
        pytest.param(lambda s: (A, "name", replace(s, ciphertext=b"")), id="empty"),
        pytest.param(lambda s: (A, "name", replace(s, nonce=bytes(12))), id="changed nonce"),
        pytest.param(lambda s: (A, "name", replace(s, nonce=b"x")), id="short nonce"),
        pytest.param(lambda s: (A, "name", replace(s, key_id="two")), id="said to be under another key"),
        pytest.param(lambda s: (A, "name", replace(s, key_id="three")), id="said to be under no key of ours"),
    ],
)
def test_what_was_tampered_with_does_not_open_and_says_so(spoil):
    keyring = Keyring.parse(f"one:{KEY},two:{OTHER}")
    workspace_id, name, sealed = spoil(keyring.seal(A, "name", "plain text"))

    with pytest.raises(BadSetup) as refused:
        keyring.unseal(workspace_id, name, sealed)

    assert repr(name) in refused.value.message
    assert "plain text" not in said(refused.value)
    assert refused.value.hint


def test_a_keyring_with_the_wrong_key_of_the_same_id_does_not_open():
    sealed = Keyring.parse(f"one:{KEY}").seal(A, "name", "text")

    with pytest.raises(BadSetup, match="another key of the id 'one'"):
        Keyring.parse(f"one:{OTHER}").unseal(A, "name", sealed)


def test_the_first_key_seals_and_every_key_opens():
    before = Keyring.parse(f"one:{KEY}").seal(A, "name", "text")
    keyring = Keyring.parse(f" two:{OTHER} ,\n one:{KEY}\n")

    assert keyring.unseal(A, "name", before) == "text"
    assert keyring.seal(A, "name", "text").key_id == "two"
    assert (keyring.current, keyring.key_ids) == ("two", ["two", "one"])


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "holds no key"),
        (" , ", "holds no key"),
        (KEY, "key 1 has no id"),
        (f"one:{KEY},{OTHER}", "key 2 has no id"),
        (f"{KEY}:one", "key 1 has no id"),
        (f"one:{KEY}x", "key 1 is not base64"),
        ("one:schlüssel", "key 1 is not base64"),
        (f"one:{base64.b64encode(bytes(16)).decode()}", "key 1 has 16 bytes instead of 32"),
        (f"one:{KEY},one:{OTHER}", "two keys have the same id"),
    ],
)
def test_keys_that_cannot_be_read_are_refused_without_printing_them(text, problem):
    with pytest.raises(BadSetup) as refused:
        Keyring.parse(text)

    assert refused.value.message.startswith("PRESSROOM_SECRET_KEYS")
    assert problem in refused.value.message
    assert "id:base64" in said(refused.value) or "id of its own" in said(refused.value)
    for material in (KEY, OTHER, "schlüssel"):
        assert material[:12] not in said(refused.value)
    assert refused.value.__cause__ is None


def test_url_safe_base64_is_read_too():
    key = base64.urlsafe_b64encode(b"\xff" * 32).decode()

    sealed = Keyring.parse(f"one:{key}").seal(A, "name", "text")

    assert (
        Keyring.parse(f"one:{base64.b64encode(bytes([255]) * 32).decode()}").unseal(A, "name", sealed) == "text"
    )


def test_no_repr_shows_a_key():
    keyring = Keyring.parse(f"one:{KEY}")

    assert repr(keyring) == "Keyring(one)"
    assert KEY not in str(vars(keyring))


# -- the file


def test_the_file_is_made_once_for_its_owner_alone_and_read_again(tmp_path):
    file = tmp_path / "secret.keys"

    made = Keyring.load_or_create(file)
    read = Keyring.load_or_create(file)

    assert file.stat().st_mode & 0o777 == 0o600
    assert read.unseal(A, "name", made.seal(A, "name", "text")) == "text"
    assert list(tmp_path.iterdir()) == [file]


def _current_key_of(file: str, ready: "multiprocessing.synchronize.Barrier") -> str:
    ready.wait(10)
    keyring = Keyring.load_or_create(Path(file))
    return keyring.current


def _report(file, ready, answers):
    answers.put(_current_key_of(file, ready))


def test_processes_that_make_the_file_at_once_get_one_key(tmp_path):
    context = multiprocessing.get_context("forkserver")
    file = tmp_path / "secret.keys"
    ready, answers = context.Barrier(4), context.Queue()
    processes = [context.Process(target=_report, args=(str(file), ready, answers)) for _ in range(4)]

    for process in processes:
        process.start()
    keys = {answers.get(timeout=30) for _ in processes}
    for process in processes:
        process.join(10)

    assert keys == {Keyring.load_or_create(file).current}
    assert list(tmp_path.iterdir()) == [file]


def test_a_draft_of_a_process_that_died_is_in_nobodys_way(tmp_path):
    (tmp_path / ".secret.keys.0011223344556677").write_text("half a k")

    assert Keyring.load_or_create(tmp_path / "secret.keys").key_ids


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o660, 0o606, 0o610])
def test_a_file_that_others_may_read_or_change_is_refused(tmp_path, mode):
    file = tmp_path / "secret.keys"
    Keyring.load_or_create(file)
    file.chmod(mode)

    with pytest.raises(BadSetup) as refused:
        Keyring.load_or_create(file)

    assert str(file) in refused.value.message
    assert f"chmod 600 {file}" in (refused.value.hint or "")
    assert file.read_text().partition(":")[2].strip() not in said(refused.value)


@pytest.mark.parametrize("content", ["", "nonsense", "one:notbase64"])
def test_a_spoilt_file_is_refused_and_left_as_it_is(tmp_path, content):
    file = tmp_path / "secret.keys"
    file.touch(0o600)
    file.write_text(content)

    with pytest.raises(BadSetup) as refused:
        Keyring.load_or_create(file)

    assert str(file) in refused.value.message
    assert file.read_text() == content


def test_what_is_no_file_is_refused_without_waiting(tmp_path):
    os.mkfifo(tmp_path / "pipe", 0o600)

    with pytest.raises(BadSetup, match="no ordinary file"):
        Keyring.load_or_create(tmp_path / "pipe")
    with pytest.raises(BadSetup):
        Keyring.load_or_create(tmp_path)
    with pytest.raises(BadSetup, match="cannot be made"):
        Keyring.load_or_create(tmp_path / "absent" / "secret.keys")


# -- resealing


@pytest.fixture
async def bound(own_db):
    """Five secrets in two workspaces under the key `one`, and how to read them with a keyring."""
    old = Keyring.parse(f"one:{KEY}")
    pairs = [
        (workspace_id, f"ref-{n}")
        for workspace_id in (await add_workspace(own_db), await add_workspace(own_db))
        for n in range(3)
    ][:5]
    for workspace_id, auth_ref in pairs:
        await bind_credential(
            own_db,
            old,
            workspace_id=workspace_id,
            auth_ref=auth_ref,
            platform="telegram",
            secret=f"secret of {auth_ref}",
        )

    async def read(keyring):
        return [
            await resolve_credential(
                own_db, keyring, {}, workspace_id=workspace_id, auth_ref=auth_ref, platform="telegram"
            )
            for workspace_id, auth_ref in pairs
        ]

    return read


async def key_ids(db):
    async with db.system() as tx:
        return await tx.values("select key_id from sealed_secrets order by workspace_id, name")


async def test_everything_comes_under_the_current_key_in_batches_and_again_changes_nothing(own_db, bound):
    before = await bound(Keyring.parse(f"one:{KEY}"))
    both = Keyring.parse(f"two:{OTHER},one:{KEY}")

    first = await reseal_all(own_db, both, batch=2)
    again = await reseal_all(own_db, both, batch=2)

    assert (first, again) == (ResealReport(5, []), ResealReport(0, []))
    assert await key_ids(own_db) == ["two"] * 5
    assert await bound(Keyring.parse(f"two:{OTHER}")) == before


async def test_what_does_not_open_is_reported_left_alone_and_holds_up_nothing(own_db, bound):
    async with own_db.system() as tx:
        await tx.execute(
            "update sealed_secrets set ciphertext = '\\x00' "
            "where (workspace_id, name) = (select workspace_id, name from sealed_secrets order by 1, 2 offset 1 limit 1)"
        )

    report = await reseal_all(own_db, Keyring.parse(f"two:{OTHER},one:{KEY}"), batch=1)

    assert report.resealed == 4
    assert [(row.name, "does not open" in row.problem) for row in report.unopened] == [("telegram/ref-1", True)]
    assert await key_ids(own_db) == ["two", "one", "two", "two", "two"]


async def test_resealing_that_dies_goes_on_where_it_was(own_db, bound):
    both = Keyring.parse(f"two:{OTHER},one:{KEY}")

    class DyingKeyring(Keyring):
        sealed = 0

        def seal(self, workspace_id, name, text):
            self.sealed += 1
            if self.sealed == 4:
                raise KeyboardInterrupt
            return super().seal(workspace_id, name, text)

    dying = DyingKeyring([("two", bytes(range(32, 64))), ("one", bytes(range(32)))])
    with pytest.raises(KeyboardInterrupt):
        await reseal_all(own_db, dying, batch=2)
    halfway = await key_ids(own_db)
    rest = await reseal_all(own_db, both, batch=2)

    assert halfway == ["two", "two", "one", "one", "one"]
    assert rest == ResealReport(3, [])
    assert await bound(Keyring.parse(f"two:{OTHER}")) == [
        "secret of ref-0", "secret of ref-1", "secret of ref-2", "secret of ref-0", "secret of ref-1"
    ]  # fmt: skip
