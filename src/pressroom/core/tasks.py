"""Doing several things at once without losing any of them."""

import asyncio
from collections.abc import Awaitable, Iterable
from typing import TypeVar

T = TypeVar("T")


async def all_of(work: Iterable[Awaitable[T]]) -> list[T]:
    """Wait for every one, in order; when some fail, raise after the others have finished.

    Unlike a TaskGroup this never cancels a neighbour: a send cut in half is a post sent twice.
    """
    results = await asyncio.gather(*work, return_exceptions=True)
    failures = [result for result in results if isinstance(result, BaseException)]
    if len(failures) == 1:
        raise failures[0]
    if failures:
        raise BaseExceptionGroup(f"{len(failures)} of {len(results)} things done at once failed", failures)
    return [result for result in results if not isinstance(result, BaseException)]
