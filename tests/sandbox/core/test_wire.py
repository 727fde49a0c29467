from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from pressroom.sandbox.core.wire import Gone, TooLarge, media_type, read_body, stranger
from pressroom.sandbox.core.world import CALLS_KEPT, Call, World

Receive = Callable[[], Awaitable[dict[str, Any]]]


def parts(*bodies: bytes, whole: bool = True) -> tuple[Receive, list[bytes]]:
    """A body in pieces, and those of them that nobody has read yet."""
    left = list(bodies)

    async def receive() -> dict[str, Any]:
        if not left:
            return {"type": "http.disconnect"}
        body = left.pop(0)
        return {"type": "http.request", "body": body, "more_body": bool(left) or not whole}

    return receive, left


async def test_a_body_of_exactly_the_limit_is_read():
    receive, _ = parts(b"abc", b"def")

    assert await read_body(receive, 6) == b"abcdef"
    assert await read_body(parts(b"abcdef")[0], 6) == b"abcdef"


@pytest.mark.parametrize("bodies", [(b"abcdefg",), (b"abc", b"defg"), (b"abc", b"def", b"g")])
async def test_a_byte_more_is_too_large(bodies):
    with pytest.raises(TooLarge):
        await read_body(parts(*bodies)[0], 6)


async def test_what_comes_after_the_limit_is_not_read():
    receive, left = parts(b"abc", b"defg", b"hij", b"klm")

    with pytest.raises(TooLarge):
        await read_body(receive, 6)

    assert left == [b"hij", b"klm"]


async def test_who_leaves_in_the_middle_has_sent_nothing():
    with pytest.raises(Gone):
        await read_body(parts(b"abc", whole=False)[0], 6)


@pytest.mark.parametrize("said", ["text/html", "text/plain; charset=utf-8", "image/svg+xml"])
def test_a_type_that_a_header_can_carry_is_said_again(said):
    assert media_type(said) == said


@pytest.mark.parametrize("said", ["", "тип/x", "text/html\r\nX: 1", "text/html\n", "a\0b"])
def test_others_are_only_bytes(said):
    assert media_type(said) == "application/octet-stream"


@pytest.mark.parametrize(
    ("host", "near"),
    [
        (b"127.0.0.1", True),
        (b"127.0.0.1:8801", True),
        (b"[::1]", True),
        (b"[::1]:8801", True),
        (b"localhost", True),
        (b"LOCALHOST:8801", True),
        (b"News.Sandbox:8801", True),
        (b"sandbox.example.org", False),
        (b"[evil.example]", False),
        (b"[", False),
    ],
)
def test_pages_of_other_sites_are_known_by_the_name_they_came_to(host, near):
    assert (stranger({"type": "http", "headers": [(b"host", host)]}) == "") is near


def test_only_the_newest_calls_are_kept():
    world = World()

    world.calls.extend(Call(0.0, "telegram", "bot", f"{n}", None, 200, "") for n in range(CALLS_KEPT + 1))

    assert (len(world.calls), world.calls[0].method) == (CALLS_KEPT, "1")
