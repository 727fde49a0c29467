"""Sealed secrets: AES-256-GCM, bound to the workspace and the name that they are kept under.

A sealed text that was changed, renamed or carried to another workspace does not open. Keys have ids and the
first one seals; the others only open, until `reseal_all` has put everything under the first. No error, log or
`repr` shows a key or a plain text.
"""

import base64
import binascii
import os
import re
import secrets
import stat
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from uuid import UUID

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from pressroom.core.errors import BadSetup
from pressroom.core.files import sync_folder
from pressroom.core.ids import EVERY_WORKSPACE, WorkspaceId
from pressroom.db.database import Database
from pressroom.workspaces import store
from pressroom.workspaces.model import Sealed

KEY_BYTES = 32
NONCE_BYTES = 12
BATCH = 200
LARGEST_KEY_FILE = 65_536

_KEY_ID = re.compile(r"[A-Za-z0-9._-]{1,40}")
_FORM = "id:base64 of 32 bytes, comma-separated, the current one first"


class Keyring:
    """Keys by id, the current one first."""

    def __init__(self, keys: Sequence[tuple[str, bytes]]) -> None:
        if not keys:
            raise BadSetup("there is no key to seal secrets with", hint=f"the form is {_FORM}")
        self._ciphers = {key_id: AESGCM(key) for key_id, key in keys}
        self.current = keys[0][0]

    def __repr__(self) -> str:
        return f"Keyring({', '.join(self._ciphers)})"

    @property
    def key_ids(self) -> list[str]:
        return list(self._ciphers)

    @classmethod
    def parse(cls, text: str, *, where: str = "PRESSROOM_SECRET_KEYS") -> "Keyring":
        """Errors count the keys and quote nothing of them."""
        entries = [entry.strip() for entry in re.split(r"[,\n]", text)]
        keys = [_key(entry, f"{where}, key {at}") for at, entry in enumerate(filter(None, entries), start=1)]
        if not keys:
            raise BadSetup(f"{where} holds no key", hint=f"the form is {_FORM}")
        if len({key_id for key_id, _ in keys}) < len(keys):
            raise BadSetup(f"{where}: two keys have the same id", hint="give each key an id of its own")
        return cls(keys)

    @staticmethod
    def generate_text() -> str:
        """One new key as `parse` reads it. To rotate, put it before the others, then reseal."""
        key = base64.b64encode(secrets.token_bytes(KEY_BYTES)).decode()
        return f"k{secrets.token_hex(4)}:{key}"

    @classmethod
    def load_or_create(cls, file: Path) -> "Keyring":
        """The keys of a file that only its owner may read; made with one key where there is none.

        Of two processes that make it at once both get the same key: a file is put in place whole, by a link
        that fails where another one stands.
        """
        try:
            return cls.parse(_read_private(file), where=str(file))
        except FileNotFoundError:
            _create_private(file, cls.generate_text() + "\n")
        return cls.parse(_read_private(file), where=str(file))

    def seal(self, workspace_id: WorkspaceId, name: str, text: str) -> Sealed:
        nonce = os.urandom(NONCE_BYTES)
        ciphertext = self._ciphers[self.current].encrypt(nonce, text.encode(), _bound_to(workspace_id, name))
        return Sealed(self.current, nonce, ciphertext)

    def unseal(self, workspace_id: WorkspaceId, name: str, sealed: Sealed) -> str:
        cipher = self._ciphers.get(sealed.key_id)
        if cipher is None:
            raise BadSetup(
                f"{name!r} is sealed under the key {sealed.key_id!r}, which is not among {', '.join(self._ciphers)}",
                hint="put that key back behind the current one, or bind the credential again",
            )
        try:
            return cipher.decrypt(sealed.nonce, sealed.ciphertext, _bound_to(workspace_id, name)).decode()
        except (InvalidTag, ValueError) as error:
            raise BadSetup(
                f"{name!r} does not open: it was sealed under another key of the id {sealed.key_id!r}, "
                "or changed, renamed or moved since",
                hint="put the right key back, or bind the credential again",
            ) from error


@dataclass(frozen=True, slots=True)
class Unopened:
    workspace_id: WorkspaceId
    name: str
    problem: str


@dataclass(frozen=True, slots=True)
class ResealReport:
    """How many are under the current key now that were not, and which ones would not open."""

    resealed: int
    unopened: list[Unopened]


async def reseal_all(db: Database, keyring: Keyring, *, batch: int = BATCH) -> ResealReport:
    """Everything under the current key. Safe to repeat and to interrupt: each batch is a transaction.

    When nothing is left unopened, the other keys may go.
    """
    resealed, unopened = 0, list[Unopened]()
    after = (EVERY_WORKSPACE, "")
    while True:
        async with db.system() as tx:
            rows = await store.lock_sealed_under_other_keys(tx, keyring.current, after, batch)
            done: list[store.SealedRow] = []
            for row in rows:
                try:
                    done.append(_resealed(keyring, row))
                except BadSetup as error:
                    unopened.append(Unopened(row.workspace_id, row.name, error.message))
            await store.replace_sealed(tx, done)
        resealed += len(done)
        if len(rows) < batch:
            return ResealReport(resealed, unopened)
        after = (rows[-1].workspace_id, rows[-1].name)


def _resealed(keyring: Keyring, row: store.SealedRow) -> store.SealedRow:
    text = keyring.unseal(row.workspace_id, row.name, Sealed(row.key_id, row.nonce, row.ciphertext))
    sealed = keyring.seal(row.workspace_id, row.name, text)
    return store.SealedRow(row.workspace_id, row.name, sealed.key_id, sealed.nonce, sealed.ciphertext)


def _bound_to(workspace_id: WorkspaceId, name: str) -> bytes:
    return UUID(str(workspace_id)).bytes + name.encode()


def _key(entry: str, where: str) -> tuple[str, bytes]:
    key_id, colon, encoded = entry.partition(":")
    if not colon or _KEY_ID.fullmatch(key_id) is None:
        raise BadSetup(
            f"{where} has no id of 1 to 40 letters, digits, dots or hyphens", hint=f"the form is {_FORM}"
        )
    try:
        key = base64.b64decode(encoded.strip().translate(str.maketrans("-_", "+/")), validate=True)
    except (binascii.Error, ValueError):
        raise BadSetup(f"{where} is not base64", hint=f"the form is {_FORM}") from None
    if len(key) != KEY_BYTES:
        raise BadSetup(f"{where} has {len(key)} bytes instead of {KEY_BYTES}", hint=f"the form is {_FORM}")
    return key_id, key


def open_without_waiting(path: str, flags: int) -> int:
    """An opener for files that somebody named: a pipe without a writer does not hold us up."""
    return os.open(path, flags | os.O_NONBLOCK | os.O_CLOEXEC)


def _read_private(file: Path) -> str:
    try:
        with open(file, encoding="ascii", errors="replace", opener=open_without_waiting) as opened:
            status = os.fstat(opened.fileno())
            if not stat.S_ISREG(status.st_mode):
                raise BadSetup(f"{file} is no ordinary file", hint="it should be the file of the keys")
            if status.st_mode & 0o077:
                raise BadSetup(
                    f"{file} may be read by others, and it opens every sealed secret",
                    hint=f"chmod 600 {file}; if somebody may have read it, put a new key before the others and reseal",
                )
            return opened.read(LARGEST_KEY_FILE)
    except FileNotFoundError:
        raise
    except OSError as error:
        raise BadSetup(
            f"{file} cannot be read: {error.strerror}", hint="it holds the keys; check its owner"
        ) from error


def _create_private(file: Path, text: str) -> None:
    """Does nothing where the file stands meanwhile."""
    draft = file.with_name(f".{file.name}.{secrets.token_hex(8)}")
    try:
        try:
            with open(
                os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600), "w"
            ) as opened:
                if os.geteuid() == 0:  # in somebody's folder, so that they can go on
                    folder = file.parent.stat()
                    os.fchown(opened.fileno(), folder.st_uid, folder.st_gid)
                opened.write(text)
                opened.flush()
                os.fsync(opened.fileno())
            with suppress(FileExistsError):
                os.link(draft, file)
        finally:
            draft.unlink(missing_ok=True)
        sync_folder(file.parent)
    except OSError as error:
        raise BadSetup(
            f"{file} cannot be made: {error.strerror}", hint="the folder must exist and be writable"
        ) from error
