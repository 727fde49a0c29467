"""The documents say the same in both languages, and their links lead somewhere."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAGES = sorted(
    page
    for page in (*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"))
    if "spec" not in page.relative_to(ROOT).parts[1:2]
)
FENCE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\[[^\]]*\]\(([^)#\s]+)?(#[^)\s]*)?\)")


def test_the_readmes_have_the_same_headings_and_the_same_commands():
    english, russian = ((ROOT / name).read_text() for name in ("README.md", "README.ru.md"))

    def shape(text: str) -> list[int]:
        return [len(marks) for marks in re.findall(r"^(#+) ", FENCE.sub("", text), re.MULTILINE)]

    assert FENCE.findall(english) == FENCE.findall(russian)
    assert shape(english) == shape(russian)
    assert len(re.findall(r"^- ", english, re.MULTILINE)) == len(re.findall(r"^- ", russian, re.MULTILINE))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_between_documents_lead_somewhere(page: Path):
    text = FENCE.sub("", page.read_text())

    broken = []
    for target, anchor in LINK.findall(text):
        if re.match(r"[a-z]+:", target):
            continue
        file = (page.parent / target) if target else page
        if not file.exists():
            broken.append(target)
        elif anchor and file.suffix == ".md" and anchor[1:] not in anchors(file):
            broken.append(f"{target}{anchor}")

    assert broken == []


def anchors(page: Path) -> set[str]:
    headings = re.findall(r"^#+ (.+)$", FENCE.sub("", page.read_text()), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}
