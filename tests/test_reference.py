"""The reference says what the code does: made pages are up to date, and every event has its heading."""

import re

import pytest

from pressroom.delivery.model import Action
from tests.reference import FOLDER, PAGES


@pytest.mark.parametrize("name", PAGES)
def test_a_made_page_is_what_the_code_says(name: str):
    assert (FOLDER / name).read_text("utf-8") == PAGES[name]().rstrip() + "\n", "run `make reference`"


def test_every_event_has_its_heading():
    headings = re.findall(r"^## (\w+)$", (FOLDER / "events.md").read_text("utf-8"), re.MULTILINE)

    assert sorted(headings) == sorted(Action)
