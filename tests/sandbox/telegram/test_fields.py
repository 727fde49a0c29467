import pytest

from pressroom.sandbox.telegram.fields import Fields, Malformed, Number, decode


def test_numbers_stay_as_they_were_written():
    assert decode('[1, 1.50, -0, 1e400, "1"]') == ["1", "1.50", "-0", "1e400", "1"]
    assert [type(one) for one in decode('[1, "1"]')] == [Number, str]


def test_the_first_of_a_name_counts():
    assert decode('{"a": true, "b": null, "a": false}') == {"a": True, "b": None}


@pytest.mark.parametrize(
    "text", ["", "{", "NaN", "[Infinity]", "[1,]", "{'a':1}", "[" * 102 + "]" * 102, "[" * 100_000]
)
def test_what_is_no_json_is_malformed(text):
    with pytest.raises(Malformed):
        decode(text)


def test_a_hundred_levels_are_not_too_deep():
    assert decode("[" * 100 + "]" * 100)


def fields(**said: object) -> Fields:
    return Fields(said)


@pytest.mark.parametrize(
    ("ask", "answer"),
    [
        (lambda: fields(a=Number("1.5")).text("a"), "1.5"),
        (lambda: fields().text("a", "b"), "b"),
        (lambda: fields(a=Number("7")).integer("a"), 7),
        (lambda: fields(a="-7").integer("a"), -7),
        (lambda: fields(a="9223372036854775807").integer("a", bits=64), (1 << 63) - 1),
        (lambda: fields().truth("a"), False),
        (lambda: fields().array("a"), None),
        (lambda: fields(a={"b": "c"}).required_object("a").text("b"), "c"),
    ],
)
def test_fields_are_read_leniently(ask, answer):
    assert ask() == answer


@pytest.mark.parametrize(
    ("ask", "complaint"),
    [
        (lambda: Fields.of([], "not an object"), "not an object"),
        (lambda: fields().required_text("a"), 'Can\'t find field "a"'),
        (lambda: fields(a=True).text("a"), 'Field "a" must be of type String'),
        (lambda: fields(a=None).truth("a"), 'Field "a" must be of type Boolean'),
        (lambda: fields(a=[]).integer("a"), 'Field "a" must be a Number'),
        (lambda: fields(a="7.0").integer("a"), 'Field "a" must be a valid Number'),
        (lambda: fields(a="007").integer("a"), 'Field "a" must be a valid Number'),
        (lambda: fields(a="2147483648").integer("a"), 'Field "a" must be a valid Number'),
        (lambda: fields(a=None).array("a"), 'Field "a" must be of type Array'),
        (lambda: fields(a=[]).required_object("a"), 'Field "a" must be of type Object'),
    ],
)
def test_fields_complain_in_the_real_words(ask, complaint):
    with pytest.raises(Malformed) as caught:
        ask()

    assert str(caught.value) == complaint
