import pytest

from pressroom.core import errors
from pressroom.core.errors import Category, InvalidInput, PressroomError, ProviderError, Scope
from pressroom.entrypoints.errors import INTERNAL, PROBLEMS, every_problem, problem_of, problem_of_status


def classes_of_errors() -> list[type[PressroomError]]:
    return [
        kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, PressroomError)
    ]


@pytest.mark.parametrize("kind", classes_of_errors())
def test_every_error_class_has_a_row_of_its_own(kind: type[PressroomError]):
    assert kind in PROBLEMS


def test_each_row_is_told_apart_by_slug_and_each_of_our_errors_by_exit_code():
    slugs = [problem.slug for problem in every_problem()]
    exits = [problem.exit_code for problem in PROBLEMS.values()]

    assert len(set(slugs)) == len(slugs)
    assert len(set(exits)) == len(exits)
    assert all(0 < code < 126 for code in exits)


def test_titles_exist_in_both_languages():
    for problem in every_problem():
        assert problem.title.isascii()
        assert any("а" <= letter <= "я" for letter in problem.title_ru.lower())
        assert problem.meaning.endswith(".")


def test_a_status_agrees_with_the_sqlstate_of_the_same_error():
    for kind, problem in PROBLEMS.items():
        if kind.sqlstate is not None:
            assert kind.sqlstate == f"PR{problem.status}"


def test_a_subclass_takes_its_ancestors_row_and_a_stranger_is_internal():
    class MoreSpecialError(InvalidInput):
        pass

    assert problem_of(MoreSpecialError("x")).slug == "invalid-input"
    assert problem_of(ProviderError(Category.TRANSIENT, Scope.CHANNEL, "500", "x")).status == 502
    assert problem_of(ZeroDivisionError()) is INTERNAL


def test_a_status_of_the_http_layer_finds_its_row():
    assert [problem_of_status(status).slug for status in (404, 405, 413, 431, 418, 500, 503)] == [
        "not-found", "method-not-allowed", "too-large", "headers-too-large", "bad-request", "internal", "unavailable",
    ]  # fmt: skip
