"""The requirements, the markers of the tests and docs/spec/open.md say the same; `make spec` shows them."""

import json
from pathlib import Path
from textwrap import dedent

import pytest

from tests import spec


@pytest.fixture(scope="module")
def account() -> spec.Account:
    return spec.read()


def test_every_requirement_stands_once(account):
    assert not account.spec_faults, "\n".join(account.spec_faults)


def test_every_marker_names_a_requirement_and_stands_on_a_test_that_asserts(account):
    assert not account.marker_faults, "\n".join(account.marker_faults)


def test_open_md_names_requirements_once_with_a_reason_and_none_that_is_proven(account):
    assert not account.open_faults, "\n".join(account.open_faults)


def test_changes_md_names_requirements_and_says_what_why_and_what_for(account):
    assert not account.change_faults, "\n".join(account.change_faults)


def test_every_requirement_is_proven_by_a_test_or_open_with_a_reason(account):
    assert not account.unaccounted, " ".join(account.unaccounted)


# -- the machinery, on a small tree

REQUIREMENTS = """
    # Made up

    | ID | Requirement |
    |---|---|
    | AP-001 | A post is sent. |
    | AP-002 | A post is sent once. |
    | AP-003 | **Decision:** `a` or `b`. |
    | AP-004 | `max_attempts` | 5 |
    | AP-005 | Later. |

    ## Decisions

    | ID | Decided |
    |---|---|
    | AP-003 | a or b |
"""

PROVES_ONE_TO_FOUR = """
    import pytest

    pytestmark = [pytest.mark.slow, pytest.mark.spec("AP-001")]

    @pytest.mark.spec("AP-002", "AP-003")
    async def test_a():
        assert compute() == 1

    class TestB:
        @pytest.mark.parametrize("n", [1, pytest.param(2, marks=pytest.mark.spec("AP-004"))])
        def test_b(self, n):
            with pytest.raises(ValueError):
                compute(n)

    def test_c():
        check_all()
"""

LATER = "| AP-005..AP-005 | delivery | later |"


@pytest.fixture
def read(tmp_path):
    """Reads a tree that holds this open.md, this test file and these changes."""

    def read(
        *, opened: str = LATER, test: str = PROVES_ONE_TO_FOUR, name: str = "test_it.py", changes: str = ""
    ) -> spec.Account:
        write(tmp_path / "docs" / "spec" / "made_up.md", REQUIREMENTS)
        write(tmp_path / "docs" / "spec" / "open.md", opened)
        write(tmp_path / "docs" / "spec" / "changes.md", changes)
        write(tmp_path / "tests" / "room" / name, test)
        return spec.read(tmp_path)

    return read


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(dedent(text), encoding="utf-8")


def marked(body: str, *, decorators: str = "", name: str = "test_it") -> str:
    return f'import pytest\n\n{decorators}\n@pytest.mark.spec("AP-001")\ndef {name}():\n    {body}\n'


def test_markers_on_modules_classes_functions_and_parameters_prove(read):
    account = read()

    assert account.faults == []
    assert account.unaccounted == []
    assert account.proven == {
        "AP-001": [
            "tests/room/test_it.py::TestB::test_b",
            "tests/room/test_it.py::test_a",
            "tests/room/test_it.py::test_c",
        ],
        "AP-002": ["tests/room/test_it.py::test_a"],
        "AP-003": ["tests/room/test_it.py::test_a"],
        "AP-004": ["tests/room/test_it.py::TestB::test_b"],
    }
    assert account.counts == {
        "made_up.md": {
            "requirements": 5, "proven": 4, "open alone": 0, "open by range": 1, "unaccounted": 0
        }
    }  # fmt: skip


def test_a_requirement_with_neither_test_nor_row_is_unaccounted(read):
    assert read(opened="").unaccounted == ["AP-005"]


def test_a_range_may_be_proven_bit_by_bit(read):
    account = read(opened="| AP-004..AP-005 | delivery | later |")

    assert (account.faults, list(account.open)) == ([], ["AP-005"])


def test_a_requirement_that_stands_twice_is_refused(read, tmp_path):
    write(tmp_path / "docs" / "spec" / "other.md", "| ID | Requirement |\n|---|---|\n| AP-001 | Again. |\n")

    assert read().spec_faults == ["AP-001 stands twice: made_up.md and other.md"]


@pytest.mark.parametrize(
    ("opened", "fault"),
    [
        ("| AP-005 | delivery | |", "AP-005: the row wants three cells: ids, capability, reason"),
        ("| AP-005 | | why |", "AP-005: the row wants three cells: ids, capability, reason"),
        ("| AP-005 | why |", "AP-005: the row wants three cells: ids, capability, reason"),
        ("| AP-005, AP-006 | delivery | why |", "AP-005, AP-006: write AP-001, or AP-001..AP-009"),
        ("| AP-005..AP-004 | delivery | why |", "AP-005..AP-004: write AP-001, or AP-001..AP-009"),
        ("| AP-005..SB-009 | delivery | why |", "AP-005..SB-009: write AP-001, or AP-001..AP-009"),
        (
            "| AP-005..AP-007 | delivery | why |",
            "AP-005..AP-007: no such requirement: AP-006, AP-007",
        ),
        (
            "| AP-004..AP-005 | delivery | why |\n| AP-005 | delivery | why |",
            "AP-005 stands twice: in AP-004..AP-005 and in AP-005",
        ),
        ("| AP-004 | delivery | why |", "AP-004: proven (by tests/room/test_it.py::TestB::test_b), so the row"),
        (
            "| AP-003..AP-004 | delivery | why |",
            "AP-003..AP-004: proven (by tests/room/test_it.py::test_a), so",
        ),
    ],
)
def test_a_wrong_row_of_open_md_is_named(read, opened, fault):
    faults = read(opened=opened).open_faults

    assert [found[: len(fault)] for found in faults] == [fault]


@pytest.mark.parametrize(
    ("changes", "faults"),
    [
        ("| AP-001, AP-003..AP-005 | other | because | speed |", []),
        (
            "| AP-001 | other | because |",
            ["AP-001: the row wants four cells: ids, what instead, why, what it gains"],
        ),
        ("| AP-001, AP-009 | other | because | speed |", ["AP-001, AP-009: no such requirement: AP-009"]),
    ],
)
def test_a_wrong_row_of_changes_md_is_named(read, changes, faults):
    assert read(changes=changes).change_faults == faults


NEVER_SO = "a spec marker stands on a test, in a pytestmark or in the marks of a pytest.param, and is called"


@pytest.mark.parametrize(
    ("test", "fault"),
    [
        (marked("assert 1 + 1 == 2").replace("AP-001", "AP-999"), "test_it: there is no requirement AP-999"),
        (marked("pass"), "test_it proves AP-001 without asserting anything"),
        (marked("assert True"), "test_it proves AP-001 without asserting anything"),
        (marked("compute()"), "test_it proves AP-001 without asserting anything"),
        (
            marked("assert done()", decorators='@pytest.mark.skip(reason="later")'),
            "test_it is skipped or expected to fail, so it proves nothing",
        ),
        (
            marked("assert done()", decorators="@pytest.mark.xfail"),
            "test_it is skipped or expected to fail, so it proves nothing",
        ),
        (marked("assert done()", name="given"), "given is no test, so it proves nothing"),
        (
            marked("assert done()").replace('"AP-001"', 'f"AP-{1:03}"'),
            "the ids of a spec marker are plain strings, and at least one",
        ),
        (
            marked("assert done()").replace('"AP-001"', "*IDS"),
            "the ids of a spec marker are plain strings, and at least one",
        ),
        (
            marked("assert done()").replace('"AP-001"', ""),
            "the ids of a spec marker are plain strings, and at least one",
        ),
        (marked("assert done()").replace('("AP-001")', ""), NEVER_SO),
        ('import pytest\n\nproves = pytest.mark.spec("AP-001")\n', NEVER_SO),
        ('import pytest\n\npytestmark = pytest.mark.spec("AP-001")\n', "the marker covers no test"),
        ("def test_it(:\n", "invalid syntax, so its markers cannot be read"),
    ],
)
def test_a_marker_that_proves_nothing_is_named(read, test, fault):
    account = read(test=test)

    assert [found.partition(": ")[2] for found in account.marker_faults] == [fault.removeprefix("test_it: ")]
    assert "AP-001" not in account.proven


def test_a_marker_in_a_file_that_pytest_does_not_collect_is_named(read):
    account = read(name="conftest.py", test=marked("assert done()"))

    assert account.marker_faults == [
        "tests/room/conftest.py:5: pytest does not collect this file, so test_it proves nothing"
    ]


# -- the command


def test_the_table_counts_every_file(capsys, monkeypatch, read):
    account = read()
    monkeypatch.setattr(spec, "read", lambda: account)

    spec.main([])

    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert lines[1:] == [["made_up.md", "5", "4", "·", "1", "·"], ["all", "5", "4", "0", "1", "0"]]


def test_the_json_names_what_is_proven_open_and_unaccounted(capsys, monkeypatch, read):
    account = read(test=marked("assert done()"))
    monkeypatch.setattr(spec, "read", lambda: account)

    spec.main(["--json"])

    answer = json.loads(capsys.readouterr().out)
    assert answer["proven"] == {"AP-001": ["tests/room/test_it.py::test_it"]}
    assert answer["open"] == {"AP-005": {"row": "AP-005..AP-005", "capability": "delivery", "reason": "later"}}
    assert answer["unaccounted"] == ["AP-002", "AP-003", "AP-004"]


@pytest.mark.parametrize(
    ("arguments", "printed"),
    [
        (["open"], "AP-005  Later.\n        delivery: later\n"),
        (["open", "SB"], ""),
        (["proven", "AP-004"], "AP-004  `max_attempts` | 5\n        tests/room/test_it.py::TestB::test_b\n"),
        (["unaccounted"], ""),
    ],
)
def test_the_list_shows_one_part_by_prefix(capsys, monkeypatch, read, arguments, printed):
    account = read()
    monkeypatch.setattr(spec, "read", lambda: account)

    spec.main(["--list", *arguments])

    assert capsys.readouterr().out == printed


def test_the_list_refuses_a_part_that_it_does_not_know(capsys):
    with pytest.raises(SystemExit) as refused:
        spec.main(["--list", "closed"])

    assert refused.value.code == 2
    assert "--list takes open, proven or unaccounted" in capsys.readouterr().err
