"""What JSON can say and Postgres cannot store is found and named."""

import pytest

from pressroom.core.errors import InvalidInput
from pressroom.core.storable import MOST_DIGITS, flaw_of, parse_json, require_storable
from pressroom.db.database import Database


@pytest.mark.parametrize(
    ("text", "field", "says"),
    [
        ('"a\\u0000"', None, "the body has a NUL"),
        ('{"a": ["b", "\\ud800"]}', "a[1]", "surrogate"),
        ('{"a": {"b\\udc00": 1}}', "a", "surrogate pair in a name"),
        ('[{"a": 1e309}]', "[0].a", "too large"),
        ('{"a": -Infinity}', "a", "too large"),
        ('{"a": NaN}', "a", "NaN"),
        (f'{{"a": {"1" * (MOST_DIGITS + 1)}}}', "a", "too large"),
        ('{"z": "\\u0000", "a": NaN}', "z", "NUL"),  # the first one
        ('{"a": {"b": %s}}' % ("[" * 300 + "]" * 300), "a", "more than 200 levels"),
        ("[" * 300 + "]" * 300, None, "the body has more than 200 levels"),
    ],
)
def test_the_first_that_cannot_be_stored_is_named(text: str, field: str | None, says: str):
    with pytest.raises(InvalidInput, match=says) as refused:
        require_storable(parse_json(text))

    assert refused.value.field == field


async def test_what_passes_can_be_stored_and_what_does_not_cannot(db: Database):
    kept = '["a\\ud83d\\ude00", 1e308, -0.0, null, true, {"": "é"}, ' + "9" * MOST_DIGITS + "]"
    refused = ('"\\u0000"', '"\\ud800"', "NaN", "Infinity")
    deep = "[" * 200 + "]" * 200
    require_storable(parse_json(kept))
    require_storable(parse_json(deep))

    async with db.system() as tx:
        assert await tx.value("select pg_input_is_valid($1, 'jsonb')", kept)
        assert await tx.value("select pg_input_is_valid($1, 'jsonb')", deep)
        for text in refused:
            assert flaw_of(parse_json(text))
            assert not await tx.value("select pg_input_is_valid($1, 'jsonb')", text)
