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


def test_numbers_go_on_after_a_clearing():
    ledger = Ledger()
    record(ledger, "a")

    ledger.clear()

    assert ledger.effects() == []
    assert record(ledger, "b").seq == 2


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
