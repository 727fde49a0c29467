"""`pressroom config`: the settings of this process."""

import socket
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from pydantic import SecretStr

from pressroom.core.errors import PressroomError
from pressroom.core.logs import MASK, redact
from pressroom.db import embedded
from pressroom.entrypoints.cli import findings
from pressroom.entrypoints.cli.options import Data, Json
from pressroom.entrypoints.cli.output import Table, answer, quiet
from pressroom.entrypoints.cli.session import settings_of
from pressroom.entrypoints.cli.shape import Noun
from pressroom.ops.doctor import Finding, Severity, check_database, check_disk, failed, fine, found
from pressroom.settings import PREFIX, Settings, environment
from pressroom.wiring import data_folder, platform_plugs
from pressroom.workspaces.sealing import Keyring

app = Noun("The settings of this process. Each is an environment variable; none is needed to start.")


@dataclass(frozen=True, slots=True)
class Setting:
    """As people may see it."""

    name: str
    value: object
    source: str
    description: str


@app.verb("show")
def show(data: Data = None, as_json: Json = False) -> None:
    """Show each setting: its value, where that comes from, and what it is for. Secrets are masked.

    Examples:
      pressroom config show
      pressroom config show --json | jq '.[] | select(.source != "default")'
    """
    settings = settings_of(data)
    described = [
        Setting(PREFIX + name.upper(), _shown(settings, name), _source(name, data), field.description or "")
        for name, field in Settings.model_fields.items()
    ]
    rows = [
        (
            one.name,
            quiet("unset") if one.value is None else str(one.value),
            quiet(one.source) if one.source == "default" else one.source,
            one.description,
        )
        for one in described
    ]
    answer(as_json, described, Table(("Setting", "Value", "From", "What it is"), rows))


@app.verb("check")
async def check(data: Data = None, as_json: Json = False) -> None:
    """Check everything that can be checked without starting: values, keys, database, ports, plugs.

    Exit code 1 when something would keep the product from starting.

    Examples:
      pressroom config check
      pressroom config check --json
    """
    try:
        settings = settings_of(data)
    except PressroomError as error:
        return findings.show([failed("settings", error)], as_json)
    checked = [
        fine("settings", "every value is in range"),
        *check_keys(settings),
        *(await check_database_of(settings)),
        *check_ports(settings),
        *check_plugs(),
    ]
    return findings.show(checked, as_json)


def check_keys(settings: Settings) -> list[Finding]:
    """Makes none, where the first start would."""
    file = data_folder(settings) / "secret.keys"
    try:
        if settings.secret_keys is not None:
            keyring = Keyring.parse(settings.secret_keys.get_secret_value())
        elif settings.database_url is not None:
            fix = "set it to what `pressroom credential new-key` prints, and keep that safe"
            what = "PRESSROOM_SECRET_KEYS is not set, and is needed with PRESSROOM_DATABASE_URL"
            return [found(Severity.ERROR, "keys", what, fix)]
        elif not file.exists():
            return [fine("keys", f"the first start makes {file}")]
        else:
            keyring = Keyring.load_or_create(file)
    except PressroomError as error:
        return [failed("keys", error)]
    return [fine("keys", f"{len(keyring.key_ids)}, the current one is {keyring.current}")]


async def check_database_of(settings: Settings) -> list[Finding]:
    """The server that the URL names, or whether the embedded one could start."""
    if settings.database_url is not None:
        return (await check_database(settings.database_url.get_secret_value()))[0]
    folder = data_folder(settings)
    try:
        server = embedded.status(folder)
    except PressroomError as error:
        return [failed("database", error)]
    if server.running:
        return [fine("database", f"the embedded server is running in {folder}"), *check_disk(folder)]
    nearest = next(at for at in (folder, *folder.parents) if at.exists())
    try:
        with tempfile.TemporaryFile(dir=nearest):
            made = "is ready in" if server.version else "will be made in"
            return [fine("database", f"the embedded server {made} {folder}"), *check_disk(folder)]
    except OSError as error:
        fix = "choose a folder of your own with --data or PRESSROOM_DATA"
        return [found(Severity.ERROR, "database", f"{nearest} cannot be written to: {error.strerror}", fix)]


def check_ports(settings: Settings) -> list[Finding]:
    return [
        *_check_port(settings.api_host, settings.api_port, "API", "PRESSROOM_API_PORT"),
        *_check_port(
            "127.0.0.1", settings.sandbox_telegram_port, "sandbox Telegram", "PRESSROOM_SANDBOX_TELEGRAM_PORT"
        ),
        *_check_port("127.0.0.1", settings.sandbox_max_port, "sandbox MAX", "PRESSROOM_SANDBOX_MAX_PORT"),
        *_check_port(
            "127.0.0.1", settings.sandbox_window_port, "sandbox's window", "PRESSROOM_SANDBOX_WINDOW_PORT"
        ),
    ]


def check_plugs() -> list[Finding]:
    try:
        plugs = platform_plugs()
    except PressroomError as error:
        return [failed("plugs", error)]
    except ImportError as error:
        fix = "reinstall the distribution that brings the plug, or remove it"
        return [found(Severity.ERROR, "plugs", f"a plug does not load: {error}", fix)]
    return [fine("plugs", f"platforms: {', '.join(sorted(plugs))}")]


def _check_port(host: str, port: int, what: str, setting: str) -> Iterator[Finding]:
    where = f"port of the {what}"
    if port == 0:
        yield fine(where, "any free one")
        return
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        with socket.socket(family, kind, protocol) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(address)
    except OSError as error:
        fix = f"if that is not your own `pressroom up`: {setting}=0 picks a free one"
        yield found(Severity.WARNING, where, f"{host}:{port} cannot be used now: {error.strerror}", fix)
        return
    yield fine(where, f"{host}:{port} is free")


def _shown(settings: Settings, name: str) -> object:
    value: object = getattr(settings, name)
    if isinstance(value, SecretStr):
        return redact(value.get_secret_value()) if name == "database_url" else MASK
    if name == "data":
        return str(data_folder(settings))
    return str(value) if isinstance(value, Path) else value


def _source(name: str, data: str | None) -> str:
    if name == "data" and data is not None:
        return "--data"
    return "environment" if environment().get(PREFIX + name.upper()) else "default"
