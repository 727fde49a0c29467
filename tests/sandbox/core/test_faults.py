from random import Random

import pytest

from pressroom.sandbox.core.faults import Fault, Faults, Kind

HERE = {"provider": "telegram", "bot": "news_bot", "chat": 7, "method": "sendMessage"}


class At:
    now = 100.0

    def __call__(self) -> float:
        return self.now


def planned(**wish) -> Faults:
    faults = Faults(Random(0), At())
    faults.plan(Fault(**{"kind": "fail", "code": 500, **wish}))
    return faults


@pytest.mark.parametrize(
    ("scope", "hit"),
    [
        ({}, True),
        ({"provider": "telegram"}, True),
        ({"provider": "max"}, False),
        ({"bot": "news_bot"}, True),
        ({"bot": "deals_bot"}, False),
        ({"chat": 7}, True),
        ({"chat": 8}, False),
        ({"method": "SENDMESSAGE"}, True),
        ({"method": "send*"}, True),
        ({"method": "send"}, False),
        ({"method": "edit*"}, False),
        ({"since": 100.0}, True),
        ({"since": 101.0}, False),
        ({"until": 101.0}, True),
        ({"until": 100.0}, False),
    ],
)
def test_a_fault_hits_what_its_scope_says(scope, hit):
    assert (planned(**scope).take(**HERE) is not None) is hit


def test_a_fault_hits_as_often_as_it_says_after_those_it_lets_pass():
    faults = planned(times=2, skip=1)

    assert [faults.take(**HERE) is not None for _ in range(5)] == [False, True, True, False, False]
    assert not faults


def test_a_fault_without_a_number_hits_until_it_is_healed():
    faults = planned(times=None)
    assert all(faults.take(**HERE) for _ in range(10))

    assert (faults.heal(1), faults.take(**HERE)) == (1, None)


def test_chance_is_repeatable():
    def run() -> list[bool]:
        faults = planned(times=None, probability=0.5)
        return [faults.take(**HERE) is not None for _ in range(200)]

    first = run()
    assert first == run()
    assert 60 < sum(first) < 140


def test_the_oldest_that_fits_is_taken():
    faults = planned(code=500, chat=8)
    faults.plan(Fault(kind=Kind.FAIL, code=502))
    faults.plan(Fault(kind=Kind.FAIL, code=503))

    assert [taken.code for _ in range(2) if (taken := faults.take(**HERE))] == [502, 503]


def test_a_fault_that_lets_pass_stands_in_nobodys_way():
    faults = planned(code=500, skip=1)
    faults.plan(Fault(kind=Kind.FAIL, code=502))

    assert [taken.code for _ in range(2) if (taken := faults.take(**HERE))] == [502, 500]


def test_a_fault_whose_time_is_over_hits_nobody_and_others_have_their_turn():
    at = At()
    faults = Faults(Random(0), at)
    faults.plan(Fault(kind=Kind.FAIL, code=500, times=None, until=200.0))
    faults.plan(Fault(kind=Kind.FAIL, code=502, times=None, since=150.0))

    def code() -> int | None:
        taken = faults.take(**HERE)
        return taken.code if taken else None

    seen = []
    for at.now in (100.0, 160.0, 199.9, 200.0):
        seen.append(code())

    assert seen == [500, 500, 500, 502]


@pytest.mark.parametrize(
    "wish",
    [
        {"kind": "explode"},
        {"kind": "fail"},
        {"kind": "fail", "code": 200},
        {"kind": "slow", "seconds": -1},
        {"kind": "drop", "times": 0},
        {"kind": "drop", "probability": 0},
    ],
)
def test_a_fault_that_makes_no_sense_is_refused(wish):
    with pytest.raises(ValueError):  # noqa: PT011 - the words differ, each says what is wrong
        Fault(**wish)


@pytest.mark.parametrize(
    ("method", "hit"),
    [
        ("sendMessage", True),
        ("sendMediaGroup", True),
        ("POST /messages", True),
        ("getMe", False),
        ("GET /messages", False),
    ],
)
def test_sends_are_what_sends_a_message_at_any_provider(method, hit):
    assert (planned(method="sends").take(**{**HERE, "method": method}) is not None) is hit
