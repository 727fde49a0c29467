"""Finding plugs: modules of an adapters package that declare PLUG, and installed entry points.

An outside distribution adds a platform with
`[project.entry-points."pressroom.platforms"]` and `myplatform = "its_module:PLUG"`.
"""

import importlib
import pkgutil
from importlib.metadata import entry_points
from typing import Protocol, TypeVar

from pressroom.core.errors import BadSetup


class Plug(Protocol):
    @property
    def name(self) -> str: ...


P = TypeVar("P", bound=Plug)


def discover(package: str, kind: type[P]) -> dict[str, P]:
    """Every plug of one family by name, ours first; two of one name are refused, naming both."""
    family = importlib.import_module(package)
    found: dict[str, P] = {}
    origin: dict[str, str] = {}
    candidates: list[tuple[str, object]] = [
        (f"{package}.{module.name}", getattr(importlib.import_module(f"{package}.{module.name}"), "PLUG", None))
        for module in pkgutil.iter_modules(family.__path__)
    ]
    candidates += [
        (entry.value, entry.load()) for entry in entry_points(group=f"pressroom.{package.rpartition('.')[2]}")
    ]
    for where, plug in candidates:
        if plug is None:
            continue
        if not isinstance(plug, kind):
            raise BadSetup(f"{where}: PLUG is a {type(plug).__name__}, not a {kind.__name__}")
        if plug.name in found:
            raise BadSetup(
                f"two plugs are named {plug.name!r}: {origin[plug.name]} and {where}",
                hint="uninstall one of the two distributions",
            )
        found[plug.name], origin[plug.name] = plug, where
    return found
