"""Doing several things at once without losing any of them."""

import asyncio
import contextlib
from collections.abc import Awaitable, Iterable, Sequence
from typing import TypeVar

T = TypeVar("T")


async def to_the_end(task: "asyncio.Task[T]") -> T:
    """Its result, however often the waiter is cancelled meanwhile: for work in a thread, which nobody can stop."""
    while not task.done():
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.shield(task)
    return task.result()


async def all_of(work: Iterable[Awaitable[T]]) -> list[T]:
    """Wait for every one, in order; when some fail, raise after the others have finished.

    Unlike a TaskGroup this never cancels a neighbour: a send cut in half is a post sent twice.
    """
    return _whole(await asyncio.gather(*work, return_exceptions=True))


async def each_of(work: Iterable[Awaitable[T]]) -> list[T]:
    """One after the other; when some fail, raise after the others have had their turn."""
    results: list[T | BaseException] = []
    for one in work:
        try:
            results.append(await one)
        except Exception as error:  # noqa: BLE001 - raised in the end
            results.append(error)
    return _whole(results)


def _whole(results: Sequence[T | BaseException]) -> list[T]:
    failures = [result for result in results if isinstance(result, BaseException)]
    if len(failures) == 1:
        raise failures[0]
    if failures:
        raise BaseExceptionGroup(f"{len(failures)} of {len(results)} things done at once failed", failures)
    return [result for result in results if not isinstance(result, BaseException)]
