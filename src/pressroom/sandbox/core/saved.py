"""A world as JSON, and back: what a state file holds."""

from collections.abc import Mapping
from typing import Any, cast

from pressroom.sandbox.core.world import World

VERSION = 1


def world_state(world: World) -> dict[str, Any]:
    """Faults and calls are of the moment, and not kept."""
    version, numbers, gauss = world.chance.getstate()
    return {
        "version": VERSION,
        "seed": world.seed,
        "chance": [version, list(numbers), gauss],
        "clock": world.clock.state(),
        "ledger": world.ledger.state(),
        "providers": {name: provider.state() for name, provider in world.providers.items()},
    }


def restore_world(world: World, state: Any) -> None:
    """Into a world that has the same emulators and has seen nothing yet. Raises ValueError, KeyError, TypeError."""
    if not isinstance(state, dict):
        raise TypeError("the state is not an object")
    _restore(world, cast("Mapping[str, Any]", state))


def _restore(world: World, state: Mapping[str, Any]) -> None:
    if state.get("version") != VERSION:
        raise ValueError(f"the version of the state is {state.get('version')!r}, not {VERSION}")
    version, numbers, gauss = state["chance"]
    world.chance.setstate((version, tuple(numbers), gauss))
    world.seed = int(state["seed"])
    world.clock.restore(state["clock"])
    for name, provider in world.providers.items():
        if name in state["providers"]:
            provider.restore(state["providers"][name])
    world.ledger.restore(state["ledger"])
