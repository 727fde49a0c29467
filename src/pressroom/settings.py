"""Every setting of a process: read once from the environment, checked, frozen, handed down in pieces.

What differs per workspace, channel or source is a row, not a setting. An empty environment is a working
product: embedded Postgres in the data folder, sandbox providers, loopback addresses.
"""

import os
from collections.abc import Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Literal
from urllib.parse import urlsplit

from pydantic import Field, SecretStr, ValidationError, field_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

from pressroom.core.errors import BadSetup

PREFIX = "PRESSROOM_"
Port = Annotated[int, Field(ge=0, le=65535)]


class Settings(BaseSettings):
    """Each field is the variable PRESSROOM_<FIELD IN CAPITALS>."""

    model_config = SettingsConfigDict(
        env_prefix=PREFIX, frozen=True, env_ignore_empty=True, hide_input_in_errors=True
    )

    data: Path | None = Field(None, description="Folder of the embedded database, keys and stored files.")
    database_url: SecretStr | None = Field(
        None, description="postgresql:// URL of a server to use instead of the embedded one (15 or newer)."
    )
    database_pool_size: int = Field(10, ge=1, le=50, description="Connections of one process, listeners aside.")
    database_pooler: bool = Field(
        False,
        description="A pooler in transaction mode stands before the server: keep no prepared statements. "
        "Notifications do not pass it, so loops poll; `db migrate` needs a direct URL.",
    )
    secret_keys: SecretStr | None = Field(
        None,
        description="Keys that seal secrets, `id:base64` of 32 bytes each, comma-separated, the current one "
        "first; required with PRESSROOM_DATABASE_URL, else kept in `secret.keys` in the data folder.",
    )

    api_host: str = Field("127.0.0.1", description="Address that the HTTP API listens on.")
    api_port: Port = Field(8800, description="Port of the HTTP API; 0 picks a free one.")
    api_max_body_bytes: int = Field(1_048_576, ge=1024, le=104_857_600, description="Largest request body.")
    api_request_seconds: float = Field(30, ge=1, le=600, description="Longest time that a request may take.")
    health_check_token: SecretStr | None = Field(
        None,
        description="Bearer token that opens the details of /api/health (without it there are none) and /metrics.",
    )

    sandbox_telegram_port: Port = Field(
        8801, description="Port of the sandbox Telegram, which `http://telegram.sandbox` stands for."
    )
    sandbox_max_port: Port = Field(
        8802, description="Port of the sandbox MAX, which `http://max.sandbox` stands for."
    )
    sandbox_window_port: Port = Field(8803, description="Port of the sandbox's window, and of its control API.")
    telegram_base_url: str = Field(
        "https://api.telegram.org", pattern=r"^https?://[^/\s]+(/\S*)?$", description="The Telegram Bot API."
    )

    dispatch_batch: int = Field(100, ge=1, le=10_000, description="Deliveries that one claim takes.")
    dispatch_parallel: int = Field(
        50, ge=1, le=1000, description="Sends that one process has under way at once."
    )
    poll_seconds: float = Field(
        5, ge=0.05, le=3600, description="How often a loop looks for work when no notification wakes it."
    )
    drain_seconds: float = Field(
        30, ge=0, le=600, description="How long a stopping process waits for what it has under way."
    )
    stall_seconds: float = Field(
        60, ge=5, le=86_400, description="Due work that nobody has touched for so long makes health fail."
    )

    log_level: Literal["debug", "info", "warning", "error"] = Field("info", description="What is logged.")
    log_format: Literal["auto", "pretty", "json"] = Field(
        "auto", description="pretty on a terminal and json otherwise, or one of them always."
    )
    tracing: bool = Field(
        False, description="Send OpenTelemetry traces (extra `otel`; its own OTEL_ variables say where)."
    )

    @field_validator("database_url")
    @classmethod
    def _postgres(cls, value: SecretStr | None) -> SecretStr | None:
        if value is not None and not value.get_secret_value().startswith(("postgresql://", "postgres://")):
            raise ValueError("must be postgresql://user:password@host:port/database")
        if value is not None:
            try:
                _ = urlsplit(value.get_secret_value()).port
            except ValueError as error:
                raise ValueError(f"is no URL: {error}") from None
        return value


def load(**given: object) -> Settings:
    """The settings of the environment; `given` (from the command line, None meaning not given) wins over it."""
    known = {PREFIX + name.upper() for name in Settings.model_fields}
    unknown = sorted(name for name in os.environ if name.startswith(PREFIX) and name not in known)
    if unknown:
        close = get_close_matches(unknown[0], known, n=1)
        raise BadSetup(
            f"unknown setting {', '.join(unknown)}",
            hint=f"did you mean {close[0]}?" if close else "known: " + ", ".join(sorted(known)),
        )
    try:
        return Settings(**{name: value for name, value in given.items() if value is not None})  # pyright: ignore[reportArgumentType]
    except ValidationError as error:
        raise BadSetup("; ".join(_said(problem["loc"], problem["msg"]) for problem in error.errors())) from None


def environment() -> Mapping[str, str]:
    """For credentials of the kind `env:NAME`, which are read at each use."""
    return os.environ


def _said(location: tuple[int | str, ...], message: str) -> str:
    return f"{PREFIX}{str(location[0]).upper()}: {message.removeprefix('Value error, ')}"
