import os

import pytest

from pressroom.core.files import replace_file


def test_a_file_is_replaced_and_is_for_us_alone(tmp_path):
    file = tmp_path / "state.json"
    file.write_text("old, and much longer than the new")

    replace_file(file, b"new")

    assert (file.read_bytes(), file.stat().st_mode & 0o777) == (b"new", 0o600)
    assert list(tmp_path.iterdir()) == [file]


def test_a_link_is_replaced_and_not_followed(tmp_path):
    elsewhere, link = tmp_path / "elsewhere", tmp_path / "link"
    elsewhere.write_text("kept")
    link.symlink_to(elsewhere)

    replace_file(link, b"new")

    assert (elsewhere.read_text(), link.is_symlink(), link.read_bytes()) == ("kept", False, b"new")


def test_a_draft_that_a_killed_one_left_is_no_hindrance(tmp_path):
    (tmp_path / ".state.json.draft").symlink_to(tmp_path / "victim")

    replace_file(tmp_path / "state.json", b"new")

    assert [one.name for one in tmp_path.iterdir()] == ["state.json"]


def test_what_fails_before_the_end_leaves_the_old_content(tmp_path):
    file = tmp_path / "state.json"
    file.write_text("old")

    def fail(descriptor: int) -> None:
        os.fstat(descriptor)
        raise OSError("no")

    with pytest.raises(OSError, match="no"):
        replace_file(file, b"new", prepare=fail)

    assert file.read_text() == "old"


def test_drafts_may_stand_elsewhere(tmp_path):
    drafts, folder = tmp_path / "drafts", tmp_path / "folder"
    drafts.mkdir()
    folder.mkdir()
    seen: list[list[str]] = []

    replace_file(
        folder / "x",
        b"new",
        drafts=drafts,
        prepare=lambda _: seen.append([one.name for one in drafts.iterdir()]),
    )

    assert (seen, (folder / "x").read_bytes(), list(drafts.iterdir())) == ([[".x.draft"]], b"new", [])
