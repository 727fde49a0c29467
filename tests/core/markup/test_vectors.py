"""The stored answers of the real parser. They need no wheel, so they hold on every platform."""

import pytest

from pressroom.core.markup import Dialect
from tests.core.markup import ours
from tests.core.markup.vectors import CASES, answer_of


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case['mode']} {case['input'][:30]!a}")
def test_the_answer_is_the_one_that_was_measured(case):
    if case["mode"] == "auto":
        answer = {"entities": ours.detected(case["input"])}
    else:
        answer = ours.parsed(case["input"], Dialect(case["mode"]))

    assert answer == answer_of(case)


@pytest.mark.parametrize(
    ("given", "meant"), [("html", "HTML"), ("MARKDOWNv2", "MarkdownV2"), ("markdown", "Markdown")]
)
def test_a_dialect_is_named_in_any_case(given, meant):
    assert Dialect.named(given) == meant


def test_a_name_of_no_dialect_is_none():
    assert Dialect.named("auto") is None
