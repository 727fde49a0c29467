"""Tenants, endpoints, tokens and credential references: values and rules."""

import hashlib
import re
import secrets
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from enum import StrEnum
from typing import Literal, NewType, cast

from pressroom.core.errors import InvalidInput
from pressroom.core.ids import EVERY_WORKSPACE, EndpointId, WorkspaceId

TokenId = NewType("TokenId", str)

READABLE_ID = re.compile(r"[A-Za-z0-9._:-]{1,100}")
LONGEST_NAME = 200

# -- tenants


class WorkspaceStatus(StrEnum):
    """`paused` still takes in and sends nothing; `disabled` does neither."""

    ACTIVE = "active"
    PAUSED = "paused"
    DISABLED = "disabled"


@dataclass(frozen=True, slots=True)
class Workspace:
    workspace_id: WorkspaceId
    name: str
    status: WorkspaceStatus
    created_at: datetime


# -- endpoints


class EndpointKind(StrEnum):
    WEBHOOK_PUSH = "webhook_push"
    BOT_WEBHOOK = "bot_webhook"


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A door of one workspace. `meta` describes it and holds no secrets; the secret itself is kept nowhere."""

    workspace_id: WorkspaceId
    endpoint_id: EndpointId
    kind: EndpointKind
    enabled: bool
    ingress_rps: Decimal
    max_payload_bytes: int
    hash_drop_window_sec: int
    meta: Mapping[str, object]
    created_at: datetime
    updated_at: datetime

    @property
    def title(self) -> str:
        return str(self.meta.get("title", ""))


@dataclass(frozen=True, slots=True)
class ResolvedEndpoint:
    """Whose door a secret opened, and how much may come in at once."""

    workspace_id: WorkspaceId
    endpoint_id: EndpointId
    max_payload_bytes: int


# -- tokens


class Verb(StrEnum):
    """What a token may do in a workspace.

    - `read`: look at everything that is not a secret: channels, messages, deliveries, events, settings.
    - `write`: bring content in and change it: push, schedule, edit, cancel, recall.
    - `operate`: keep it running: passes on demand, pause, resume, requeue, the runbook.
    - `admin`: all of these, and who and what has access: endpoints, tokens, credentials, the workspace itself.

    Only `admin` includes the others; a token that writes and reads names both.
    """

    READ = "read"
    WRITE = "write"
    OPERATE = "operate"
    ADMIN = "admin"


@dataclass(frozen=True, slots=True)
class ApiToken:
    """`workspaces` is `"all"` for a token that opens every workspace, those made later included."""

    token_id: TokenId
    title: str
    workspaces: tuple[WorkspaceId, ...] | Literal["all"]
    verbs: frozenset[Verb]
    created_at: datetime
    expires_at: datetime | None
    revoked_at: datetime | None


@dataclass(frozen=True, slots=True)
class Access:
    """What the bearer of a token may do where. Under the nil workspace stand the verbs for all of them."""

    token_id: TokenId
    opens: Mapping[WorkspaceId, frozenset[Verb]]

    def allows(self, workspace_id: WorkspaceId, verb: Verb) -> bool:
        """Asked for the nil workspace, this says whether the verb is allowed in every workspace."""
        granted = self.opens.get(workspace_id, frozenset()) | self.opens.get(EVERY_WORKSPACE, frozenset())
        return verb in granted or Verb.ADMIN in granted

    @property
    def everywhere(self) -> bool:
        return EVERY_WORKSPACE in self.opens

    @property
    def workspaces(self) -> frozenset[WorkspaceId]:
        """The workspaces that are named; a token for all of them names none."""
        return frozenset(self.opens) - {EVERY_WORKSPACE}

    def only_workspace(self) -> WorkspaceId | None:
        """The one workspace that a request without a name means; None when there are several to choose from."""
        if self.everywhere or len(self.opens) != 1:
            return None
        return next(iter(self.opens))


# -- credentials


@dataclass(frozen=True, slots=True)
class CredentialBinding:
    """Where the secret behind a logical key is: `sealed:<name>`, `env:<NAME>` or `file:</path>`."""

    workspace_id: WorkspaceId
    auth_ref: str
    platform: str
    secret_ref: str
    rotated_at: datetime | None
    updated_at: datetime


@dataclass(frozen=True, slots=True)
class Sealed:
    """A text under the key `key_id`: AES-256-GCM, bound to its workspace and name."""

    key_id: str
    nonce: bytes
    ciphertext: bytes = field(repr=False)


# -- secrets

PUSH_PREFIX = "prs_push_"
API_PREFIX = "prs_api_"
#: What `new_secret` makes, wherever it stands in a text; redaction looks for it.
OUR_SECRETS = re.compile(r"prs_[a-z]+_[A-Za-z0-9_-]{20,}")
LONGEST_SECRET = 512
SHORTEST_SECRET = 16

_KNOWN_SECRETS = (
    OUR_SECRETS,
    re.compile(r"\d{5,}:[A-Za-z0-9_-]{30,}"),  # a Telegram bot token
    re.compile(r"(?:sk|pk|ghp|gho|xox[abp]|glpat)[-_][A-Za-z0-9_-]{16,}"),
    re.compile(r"eyJ[A-Za-z0-9_-]{10,}\."),  # a JSON web token
    re.compile(r"vk1\.a\."),
    re.compile(r"-----BEGIN"),
    re.compile(r"(?i)\bbearer\s+\S{8,}"),
)
_LONG_RUN = re.compile(r"[A-Za-z0-9_=+-]{32,}")
_SECRET_WORDS = re.compile(
    r"(?i)secret|password|passwd|passphrase|token|credential|bearer|authori[sz]ation|private_?key|api_?key|access_?key"
)


def new_secret(prefix: str) -> str:
    """256 random bits, safe in URLs and headers, and recognisable as ours in a log."""
    return prefix + secrets.token_urlsafe(32)


def hash_secret(secret: str) -> str:
    """SHA-256 in hex. No salt and no stretching: our secrets are 256 random bits, which nobody can guess.

    `surrogatepass`, because a header may hold anything: what is no text resolves to nothing instead of failing.
    """
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()


def looks_like_a_secret(text: str) -> bool:
    """Recognises known shapes, and long runs that mix capitals, small letters and digits."""
    if any(shape.search(text) for shape in _KNOWN_SECRETS):
        return True
    return any(
        any(map(str.isupper, run)) and any(map(str.islower, run)) and any(map(str.isdigit, run))
        for run in _LONG_RUN.findall(text)
    )


# -- checks


def readable_id(text: str, field: str) -> str:
    """An id that people choose: it stands in URLs, logs and metrics as it is."""
    if READABLE_ID.fullmatch(text) is None:
        raise InvalidInput(
            f"{field} must be 1 to 100 letters, digits, dots, underscores, colons or hyphens",
            hint="for example my-site.2",
            field=field,
        )
    return text


def checked_name(text: str, field: str = "name", *, required: bool = True) -> str:
    name = text.strip()
    if required and not name:
        raise InvalidInput(f"{field} is empty", hint="give a name that people recognise", field=field)
    if len(name) > LONGEST_NAME or not name.isprintable():
        raise InvalidInput(
            f"{field} must be at most {LONGEST_NAME} printable characters in one line",
            hint="shorten it; what is longer belongs into a document",
            field=field,
        )
    return name


def checked_meta(meta: Mapping[str, object], field: str = "meta") -> dict[str, object]:
    """`meta` describes; whoever reads the table reads it, so nothing secret may stand there at any depth."""
    for path, value in _leaves(meta, field):
        if _SECRET_WORDS.search(path.removeprefix(field)):
            raise InvalidInput(
                f"{path} is named like a secret, and meta holds none",
                hint="bind a credential and name its auth_ref here",
                field=path,
            )
        if isinstance(value, str) and looks_like_a_secret(value):
            raise InvalidInput(
                f"the value of {path} looks like a secret, and meta holds none",
                hint="bind a credential and name its auth_ref here",
                field=path,
            )
    return dict(meta)


def _leaves(value: object, path: str) -> Iterable[tuple[str, object]]:
    inner: list[tuple[str, object]] = []
    if isinstance(value, Mapping):
        inner = [(f"{path}.{name}", item) for name, item in cast("Mapping[str, object]", value).items()]
    elif isinstance(value, list | tuple):
        inner = [(f"{path}[{position}]", item) for position, item in enumerate(cast("list[object]", value))]
    if not inner:
        yield path, value
    for where, item in inner:
        yield from _leaves(item, where)


_ENVIRONMENT_NAME = re.compile(r"[A-Z_][A-Z0-9_]{0,99}")
_LONGEST_PATH = 1000


#: Files of Pressroom itself, and folders in which the system shows what processes hold.
_OUR_FILES = frozenset({"secret.keys", "database.password"})
_OF_THE_SYSTEM = frozenset({"proc", "sys", "dev"})


def check_place(path: str) -> None:
    """No `file:` may lead to these; to be asked of the name and, as links lead elsewhere, of the real path."""
    folders = [part for part in path.split("/") if part not in ("", ".")]
    if folders and folders[-1] in _OUR_FILES:
        raise InvalidInput(
            f"{folders[-1]} is a file of Pressroom itself and no credential of a workspace",
            hint="name another file",
            field="secret_ref",
        )
    if folders and folders[0] in _OF_THE_SYSTEM:
        raise InvalidInput(
            f"what is below /{folders[0]} belongs to the system and is no credential of a workspace",
            hint="put the credential into a file of its own",
            field="secret_ref",
        )


def checked_secret_ref(secret_ref: str) -> str:
    """`env:NAME` or `file:/path`: where the secret is, never the secret itself."""
    field = "secret_ref"
    if looks_like_a_secret(secret_ref):
        raise InvalidInput(
            "secret_ref looks like the secret itself",
            hint="hand it in as the secret, to be sealed; or name where it is: env:NAME or file:/path",
            field=field,
        )
    kind, _, place = secret_ref.partition(":")
    if kind == "env":
        if _ENVIRONMENT_NAME.fullmatch(place) is None:
            raise InvalidInput(
                "env: must name an environment variable in capitals",
                hint="for example env:TELEGRAM_NEWS_TOKEN",
                field=field,
            )
        if place.startswith("PRESSROOM_"):
            raise InvalidInput(
                "the variables of Pressroom itself are no credentials of a workspace",
                hint="put the credential into a variable of its own",
                field=field,
            )
    elif kind == "file":
        parts = place.split("/")
        if not place.startswith("/") or not place.isprintable() or ".." in parts or len(place) > _LONGEST_PATH:
            raise InvalidInput(
                f"file: must be an absolute path without `..`, at most {_LONGEST_PATH} printable characters",
                hint="for example file:/run/secrets/telegram-news",
                field=field,
            )
        check_place(place)
    else:
        raise InvalidInput(
            "secret_ref must be env:NAME or file:/path",
            hint="to have the secret sealed here, hand in the secret itself instead",
            field=field,
        )
    return secret_ref
