import asyncio

import pytest

from pressroom.sandbox.core.ledger import Effect, Ledger


def record(
    ledger: Ledger, text: str, *, provider: str = "telegram", chat: int = 1, message_id: int = 1
) -> Effect:
    return ledger.record(0.0, provider, "bot", chat, "sendMessage", message_id, text)


def test_effects_are_numbered_over_all_providers_and_found_by_what_they_say():
    ledger = Ledger()
    record(ledger, "a")
    record(ledger, "b", provider="max")
    record(ledger, "c", chat=2)

    assert [(effect.seq, effect.text) for effect in ledger.effects()] == [(1, "a"), (2, "b"), (3, "c")]
    assert [effect.text for effect in ledger.effects(1)] == ["b", "c"]
    assert [effect.text for effect in ledger.effects(provider="telegram", chat=1)] == ["a"]
    assert ledger.effects(3) == ledger.effects(99) == []


def test_the_oldest_go_and_their_provider_hears_of_it():
    ledger = Ledger(2)
    forgotten: list[Effect] = []
    ledger.on_forget("telegram", forgotten.append)
    first = record(ledger, "a")
    record(ledger, "b", provider="max")

    record(ledger, "c")
    record(ledger, "d")

    assert forgotten == [first]
    assert [effect.text for effect in ledger.effects()] == ["c", "d"]
    assert ledger.total == 4


def test_a_page_begins_after_a_number_and_ends_at_its_limit_however_many_were_dropped():
    ledger = Ledger(10)
    for n in range(1, 96):
        record(ledger, f"{n}", chat=n % 2)

    def page(after: int = 0, **how: int) -> list[int]:
        return [effect.seq for effect in ledger.effects(after, **how)]

    assert page() == list(range(86, 96))
    assert page(limit=3) == page(85, limit=3) == page(-(10**400), limit=3) == [86, 87, 88]
    assert page(90, limit=2) == [91, 92]
    assert page(94) == [95]
    assert page(95) == page(10**400) == []
    assert page(87, chat=1, limit=2) == [89, 91]
    assert page(chat=1) == [87, 89, 91, 93, 95]


def test_who_reads_by_the_page_pays_for_the_page():
    class Counted(str):
        looks = 0

        def __eq__(self, other: object) -> bool:
            Counted.looks += 1
            return str(self) == other

        __hash__ = str.__hash__

    ledger = Ledger()
    for n in range(1_000):
        record(ledger, f"{n}", provider=Counted("max"))

    found = ledger.effects(500, limit=10, provider="max")

    assert ([effect.seq for effect in found], Counted.looks) == (list(range(501, 511)), 10)


def test_numbers_go_on_after_a_clearing():
    ledger = Ledger()
    record(ledger, "a")

    ledger.clear()

    assert ledger.effects() == []
    assert record(ledger, "b").seq == 2


async def test_a_watcher_rests_while_the_ledger_is_empty_and_goes_on_with_the_next_effect():
    ledger = Ledger()
    record(ledger, "a")
    watching = ledger.watch(0)
    assert (await anext(watching)).text == "a"
    record(ledger, "b")

    ledger.clear()
    waiting = asyncio.ensure_future(anext(watching))
    await asyncio.sleep(0)
    record(ledger, "c")

    assert (await asyncio.wait_for(waiting, 5)).text == "c"


async def test_a_number_of_another_life_means_everything():
    ledger = Ledger()
    record(ledger, "a")

    assert (await asyncio.wait_for(anext(ledger.watch(7)), 5)).text == "a"


def test_a_smaller_ledger_keeps_the_newest_of_what_was_saved_and_tells_of_the_others():
    saved = Ledger()
    for text in "abcd":
        record(saved, text)
    forgotten: list[str] = []
    ledger = Ledger(2)
    ledger.on_forget("telegram", lambda effect: forgotten.append(effect.text))

    ledger.restore(saved.state())
    record(ledger, "e")

    assert forgotten == ["a", "b", "c"]
    assert [(effect.seq, effect.text) for effect in ledger.effects()] == [(4, "d"), (5, "e")]


@pytest.mark.parametrize("numbers", [[1, 3], [2, 1], [1, 1], [4, 5]])
def test_effects_whose_numbers_have_gaps_are_no_ledger(numbers):
    effects = [[n, 0.0, "telegram", "bot", 1, "sendMessage", n, "x"] for n in numbers]

    with pytest.raises(ValueError, match="gaps"):
        Ledger().restore({"total": 3, "effects": effects})


async def test_a_watcher_sees_each_effect_once_and_in_order():
    ledger = Ledger()
    record(ledger, "before")
    seen: list[str] = []

    async def watch() -> None:
        async for effect in ledger.watch():
            seen.append(effect.text)
            if len(seen) == 3:
                return

    watching = asyncio.create_task(watch())
    await asyncio.sleep(0)
    for text in "abc":
        record(ledger, text)
        await asyncio.sleep(0)

    await asyncio.wait_for(watching, 5)
    assert seen == ["a", "b", "c"]


def test_a_ledger_that_holds_nothing_is_refused():
    with pytest.raises(ValueError, match="at least one"):
        Ledger(0)
