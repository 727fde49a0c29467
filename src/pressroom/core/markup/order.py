"""Sorting as `std::sort` of libstdc++ does it, which decides how equal keys end up.

The standard leaves that open, but a message shows it: of two links over the same words one comes first. Short lists
are sorted by insertion, which keeps the order of equal ones; long ones are divided around the median of three until
they are short, and what cannot be divided well is sorted as a heap.
"""

from operator import itemgetter
from typing import TypeVar

Key = tuple[int, int, int]
Value = TypeVar("Value")

_SHORT = 16


def sort_as_libstdcxx(keyed: list[tuple[Key, Value]]) -> None:
    """In place, by the first of each pair."""
    ranges = [(0, len(keyed), 2 * (len(keyed).bit_length() - 1))]
    while ranges:
        begin, end, depth = ranges.pop()
        while end - begin > _SHORT and depth:
            depth -= 1
            cut = _partition(keyed, begin, end)
            ranges.append((cut, end, depth))
            end = cut
        if end - begin > _SHORT:
            keyed[begin:end] = _heap_sorted(keyed[begin:end])
    keyed.sort(key=itemgetter(0))


def _partition(keyed: list[tuple[Key, Value]], begin: int, end: int) -> int:
    """Around the median, which moves to the front. Returns where the second part begins."""
    median = _median(keyed, begin + 1, begin + (end - begin) // 2, end - 1)
    keyed[begin], keyed[median] = keyed[median], keyed[begin]
    pivot = keyed[begin][0]
    low, high = begin + 1, end
    while True:
        while keyed[low][0] < pivot:
            low += 1
        high -= 1
        while pivot < keyed[high][0]:
            high -= 1
        if low >= high:
            return low
        keyed[low], keyed[high] = keyed[high], keyed[low]
        low += 1


def _median(keyed: list[tuple[Key, Value]], a: int, b: int, c: int) -> int:
    one, two, three = keyed[a][0], keyed[b][0], keyed[c][0]
    if one < two:
        return b if two < three else c if one < three else a
    return a if one < three else c if two < three else b


def _heap_sorted(heap: list[tuple[Key, Value]]) -> list[tuple[Key, Value]]:
    for parent in range((len(heap) - 2) // 2, -1, -1):
        _sink(heap, parent, len(heap), heap[parent])
    for last in range(len(heap) - 1, 0, -1):
        value, heap[last] = heap[last], heap[0]
        _sink(heap, 0, last, value)
    return heap


def _sink(heap: list[tuple[Key, Value]], top: int, size: int, value: tuple[Key, Value]) -> None:
    """The hole goes down to a leaf along the larger children, and the value up again from there."""
    hole = top
    while (child := 2 * hole + 2) < size:
        if heap[child][0] < heap[child - 1][0]:
            child -= 1
        heap[hole] = heap[child]
        hole = child
    if child == size:
        heap[hole] = heap[child - 1]
        hole = child - 1
    while hole > top and heap[parent := (hole - 1) // 2][0] < value[0]:
        heap[hole] = heap[parent]
        hole = parent
    heap[hole] = value
