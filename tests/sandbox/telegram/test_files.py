"""What is remembered of files: as many as there is room for, and nothing of what is forgotten."""

import pytest

from pressroom.sandbox.telegram.files import FileName, Files
from tests.sandbox.telegram.api import NOON


def files(*, room: int = 1 << 20, known: int = 100) -> Files:
    return Files(lambda: NOON, room, known)


def keep(kept: Files, *contents: bytes) -> list[str]:
    return [kept.keep(content).unique for content in contents]


def test_what_came_last_is_kept_also_when_it_came_before():
    kept = files(room=2)

    a, b, again, c = keep(kept, b"a", b"b", b"a", b"c")

    assert (a, kept.content(a), kept.content(b), kept.content(c)) == (again, b"a", None, b"c")
    assert kept.known(b) is not None


@pytest.mark.parametrize("room", [0, 1, 1000])
def test_files_are_bounded_by_their_number_too(room):
    kept = files(room=room, known=3)

    a, *rest = keep(kept, b"a", b"b", b"c", b"a", *(bytes([n]) for n in range(50)), b"a", b"y", b"z")

    assert len(list(kept)) == min(room, 3)
    assert (len(kept._known), len(kept._contents)) == (3, min(room, 3))
    assert kept._bytes == len(kept._contents)
    assert [kept.known(unique) is not None for unique in (a, rest[-2], rest[-1], rest[0])] == [True] * 3 + [
        False
    ]


def test_what_came_again_is_remembered_longer():
    kept = files(known=3)

    a, b, *_ = keep(kept, b"a", b"b", b"c", b"a", b"d")

    assert (kept.known(a) is not None, kept.content(a), kept.known(b), kept.content(b)) == (
        True,
        b"a",
        None,
        None,
    )


def test_links_are_bounded_on_a_clock_that_stands_still():
    kept = files(known=3)
    (unique,) = keep(kept, b"a")

    paths = [kept.link(bot, FileName("document", unique)) for bot in range(50)]

    assert (len(kept._links), len(kept._paths)) == (3, 3)
    assert [kept.download(bot, paths[bot] or "") for bot in (0, 46, 47, 49)] == [None, None, b"a", b"a"]
