from dataclasses import dataclass
from textwrap import dedent

import pytest

from pressroom.core.errors import BadSetup
from pressroom.core.plugins import discover
from pressroom.ports.platform import PlatformPlug


@dataclass(frozen=True)
class Flower:
    """The plug of a family of its own: `pressroom.garden`."""

    name: str


@pytest.fixture
def family(tmp_path, monkeypatch, request):
    """Writes an adapters package of flowers, named after the test so that none is imported twice."""
    package = f"family_{abs(hash(request.node.name))}"

    def write(installed: str = "", **modules: str) -> str:
        folder = tmp_path / package / "garden"
        folder.mkdir(parents=True)
        (folder / "__init__.py").touch()
        for name, source in modules.items():
            (folder / f"{name}.py").write_text(f"from {__name__} import Flower\n{source}\n")
        if installed:
            info = tmp_path / "their_flowers-1.dist-info"
            info.mkdir()
            (info / "METADATA").write_text("Metadata-Version: 2.1\nName: their-flowers\nVersion: 1\n")
            (info / "entry_points.txt").write_text(f"[pressroom.garden]\nx = {package}_theirs:PLUG\n")
            (tmp_path / f"{package}_theirs.py").write_text(
                f"from {__name__} import Flower\n{dedent(installed)}\n"
            )
        monkeypatch.syspath_prepend(tmp_path)
        return f"{package}.garden"

    return write


def test_telegram_is_found_by_being_there():
    assert "telegram" in discover("pressroom.adapters.platforms", PlatformPlug)


def test_plugs_are_found_by_name_and_modules_without_one_are_passed_over(family):
    package = family(rose="PLUG = Flower('rose')", tulip="PLUG = Flower('tulip')", shared="")

    assert discover(package, Flower) == {"rose": Flower("rose"), "tulip": Flower("tulip")}


def test_an_installed_distribution_adds_its_own(family):
    package = family(installed="PLUG = Flower('orchid')", rose="PLUG = Flower('rose')")

    assert list(discover(package, Flower)) == ["rose", "orchid"]


def test_two_plugs_of_one_name_are_refused_and_both_are_named(family):
    package = family(installed="PLUG = Flower('rose')", rose="PLUG = Flower('rose')")

    with pytest.raises(BadSetup, match=rf"two plugs are named 'rose': {package}\.rose and \w+_theirs:PLUG"):
        discover(package, Flower)


def test_a_plug_of_another_family_is_refused(family):
    package = family(stone="PLUG = 'granite'")

    with pytest.raises(BadSetup, match=rf"{package}\.stone: PLUG is a str, not a Flower"):
        discover(package, Flower)
