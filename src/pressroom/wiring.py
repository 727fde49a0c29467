"""Who works with whom: the one module that knows plugs and rooms alike.

A process opens a `Product` from its settings and hands its pieces to use cases.
"""

import asyncio
from collections import ChainMap
from collections.abc import AsyncGenerator, Callable, Collection, Mapping, MutableMapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from pressroom import __version__
from pressroom.core.errors import BadSetup, PressroomError
from pressroom.core.http import open_session
from pressroom.core.ids import WorkspaceId
from pressroom.core.plugins import discover
from pressroom.core.tasks import to_the_end
from pressroom.db import embedded
from pressroom.db.database import Database
from pressroom.db.migrate import migrate, status
from pressroom.example import seed_example
from pressroom.ports.platform import Platform, PlatformContext, PlatformPlug
from pressroom.settings import Settings, environment
from pressroom.workspaces.credentials import resolve_credentials
from pressroom.workspaces.sealing import Keyring

Say = Callable[[str], None]


def quietly(_: str) -> None:
    """For those who want no progress."""


@dataclass(frozen=True, slots=True)
class Product:
    """What the entrypoints work with."""

    settings: Settings
    db: Database
    keyring: Keyring
    platforms: Mapping[str, Platform]

    async def secrets(
        self, workspace_id: WorkspaceId, refs: Collection[tuple[str, str]]
    ) -> Mapping[tuple[str, str], str | PressroomError]:
        """What `dispatch_due` asks for."""
        return await resolve_credentials(
            self.db, self.keyring, environment(), workspace_id=workspace_id, refs=refs
        )


def platform_plugs() -> dict[str, PlatformPlug]:
    return discover("pressroom.adapters.platforms", PlatformPlug)


def data_folder(settings: Settings) -> Path:
    return (settings.data or embedded.default_data_folder()).expanduser().absolute()


def embedded_folder(settings: Settings) -> Path | None:
    """The folder of the embedded database; None when another server is used."""
    return None if settings.database_url is not None else data_folder(settings)


def load_keyring(settings: Settings) -> Keyring:
    """From the setting, else from the data folder, where the first start makes one."""
    if settings.secret_keys is not None:
        return Keyring.parse(settings.secret_keys.get_secret_value())
    if settings.database_url is not None:
        raise BadSetup(
            "PRESSROOM_SECRET_KEYS is needed with PRESSROOM_DATABASE_URL: the keys seal secrets in that database",
            hint="make one with `pressroom credential new-key` and keep it where your other secrets are",
        )
    return Keyring.load_or_create(data_folder(settings) / "secret.keys")


@asynccontextmanager
async def reach_database(settings: Settings, say: Say = quietly) -> AsyncGenerator[str]:
    """The URL of the database; the embedded server runs for as long as this is open."""
    if settings.database_url is not None:
        yield settings.database_url.get_secret_value()
        return
    attaching = asyncio.create_task(asyncio.to_thread(embedded.attach, data_folder(settings), say=say))
    try:
        attachment = await asyncio.shield(attaching)
    except asyncio.CancelledError:
        (await to_the_end(attaching)).close()  # what the thread started is left in order
        raise
    try:
        yield attachment.dsn()
    finally:
        await asyncio.to_thread(attachment.close)


async def revive_database(settings: Settings) -> bool:
    """Start the embedded server again when it died under those who use it."""
    return settings.database_url is None and await asyncio.to_thread(embedded.revive, data_folder(settings))


async def prepare_database(url: str, settings: Settings, keyring: Keyring, say: Say = quietly) -> None:
    """Migrate, and seed the example workspace where the product owns the database and it is new."""
    report = await migrate(url, say=say)
    if report.first and settings.database_url is None:
        db = await Database.open(url, size=1, name="pressroom seed")
        try:
            await seed_example(db, keyring)
        finally:
            await db.close()


@asynccontextmanager
async def open_product(
    settings: Settings,
    *,
    say: Say = quietly,
    upgrade: bool = False,
    sandbox: MutableMapping[str, tuple[str, int]] | None = None,
    name: str = "pressroom",
) -> AsyncGenerator[Product]:
    """`upgrade` migrates an older database too; without it only an empty one is prepared, and an older one is
    refused. `sandbox` says where the emulators listen, when not where the settings say; it may be filled later."""
    async with reach_database(settings, say) as url:
        keyring = load_keyring(settings)
        state = await status(url)
        if upgrade or not state.applied:
            await prepare_database(url, settings, keyring, say)
        elif not state.current:
            raise BadSetup(
                f"the database lacks {', '.join(state.pending)}",
                hint="run `pressroom db migrate`, then try again",
            )
        db = await Database.open(
            url, size=settings.database_pool_size, name=name, pooled=settings.database_pooler
        )
        usual = {
            "telegram.sandbox": ("127.0.0.1", settings.sandbox_telegram_port),
            "max.sandbox": ("127.0.0.1", settings.sandbox_max_port),
        }
        hosts = usual if sandbox is None else ChainMap(sandbox, usual)
        try:
            async with open_session(hosts=hosts, user_agent=f"Pressroom/{__version__}") as http:
                defaults = {"telegram": {"base_url": settings.telegram_base_url}}
                yield Product(
                    settings,
                    db,
                    keyring,
                    {
                        plug.name: plug.open(PlatformContext(http, defaults.get(plug.name, {})))
                        for plug in platform_plugs().values()
                    },
                )
        finally:
            await db.close()
