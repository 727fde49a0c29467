"""Which requirements of docs/spec are proven by a test, which are open, and which nobody answers for.

`python -m tests.spec` prints the table; tests/test_spec.py keeps it true. A requirement is proven when a test
carries `@pytest.mark.spec("AP-020")`, and open when it stands in docs/spec/open.md: alone with its reason, or
in a range that a later capability brings. Markers are read without importing anything, so that a test which
cannot be imported still shows; this is why an key in a marker has to be a plain string.
"""

import argparse
import ast
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

# The two files beside the requirements that speak about them.
OPEN = "open.md"
CHANGES = "changes.md"

ID = r"[A-Z]{2}-\d{3}"
REQUIREMENT = re.compile(rf"\| ({ID}) \| (.+) \|")
RANGE = re.compile(rf"({ID})(?:\.\.({ID}))?")

PARTS = ("requirements", "proven", "open alone", "open by range", "unaccounted")


@dataclass(frozen=True, slots=True)
class Requirement:
    key: str
    text: str
    file: str


@dataclass(frozen=True, slots=True)
class OpenRow:
    """One row of open.md. A range, even of one, is a promise for later; an id alone says why it is missing."""

    name: str
    ids: tuple[str, ...]
    capability: str
    reason: str

    @property
    def alone(self) -> bool:
        return ".." not in self.name


@dataclass(frozen=True, slots=True)
class Proof:
    key: str
    test: str


@dataclass(slots=True)
class Account:
    """What the project says about its requirements. `faults` are sentences: what is wrong, where, what to do."""

    requirements: dict[str, Requirement] = field(default_factory=dict)
    open_rows: list[OpenRow] = field(default_factory=list)
    proofs: list[Proof] = field(default_factory=list)
    spec_faults: list[str] = field(default_factory=list)
    open_faults: list[str] = field(default_factory=list)
    change_faults: list[str] = field(default_factory=list)
    marker_faults: list[str] = field(default_factory=list)

    @property
    def proven(self) -> dict[str, list[str]]:
        tests: dict[str, list[str]] = {}
        for proof in self.proofs:
            tests.setdefault(proof.key, []).append(proof.test)
        return dict(sorted(tests.items()))

    @property
    def open(self) -> dict[str, OpenRow]:
        """What is open and not proven; a range may be proven bit by bit."""
        proven = self.proven
        return {key: row for row in self.open_rows for key in row.ids if key not in proven}

    @property
    def parts(self) -> dict[str, str]:
        """Where each requirement stands, as one of PARTS."""
        proven, rows = self.proven, self.open

        def part(key: str) -> str:
            if key in proven:
                return "proven"
            if key in rows:
                return "open alone" if rows[key].alone else "open by range"
            return "unaccounted"

        return {key: part(key) for key in self.requirements}

    @property
    def unaccounted(self) -> list[str]:
        return [key for key, part in self.parts.items() if part == "unaccounted"]

    @property
    def counts(self) -> dict[str, dict[str, int]]:
        """How many requirements of each file stand where."""
        counts: dict[str, dict[str, int]] = {}
        for key, part in self.parts.items():
            row = counts.setdefault(self.requirements[key].file, dict.fromkeys(PARTS, 0))
            row["requirements"] += 1
            row[part] += 1
        return counts

    @property
    def faults(self) -> list[str]:
        return self.spec_faults + self.open_faults + self.change_faults + self.marker_faults


def read(root: Path = ROOT) -> Account:
    account = Account()
    _read_requirements(account, root / "docs" / "spec")
    _read_open(account, root / "docs" / "spec" / OPEN)
    _read_changes(account, root / "docs" / "spec" / CHANGES)
    _read_markers(account, root / "tests")
    return account


# -- documents


def _read_requirements(account: Account, folder: Path) -> None:
    for path in sorted(folder.glob("*.md")):
        if path.name in (OPEN, CHANGES):
            continue
        repeats = False
        for line in path.read_text(encoding="utf-8").splitlines():
            if line.startswith("| ID |"):
                repeats = line == "| ID | Decided |"  # an index of rows that stand elsewhere in the file
            found = REQUIREMENT.fullmatch(line)
            if found is None:
                continue
            key, text = found[1], found[2].strip()
            if repeats:
                if key not in account.requirements:
                    account.spec_faults.append(
                        f"{path.name} lists {key} among its decisions, but has no such row"
                    )
            elif key in account.requirements:
                account.spec_faults.append(
                    f"{key} stands twice: {account.requirements[key].file} and {path.name}"
                )
            else:
                account.requirements[key] = Requirement(key, text, path.name)


def _read_open(account: Account, path: Path) -> None:
    stands_in: dict[str, str] = {}
    for name, cells in _rows(path):
        if len(cells) != 2 or not all(cells):
            account.open_faults.append(f"{name}: the row wants three cells: ids, capability, reason")
            continue
        ids = expand(name)
        if not ids:
            account.open_faults.append(f"{name}: write AP-001, or AP-001..AP-009 with the smaller one first")
            continue
        unknown = [key for key in ids if key not in account.requirements]
        if unknown:
            account.open_faults.append(f"{name}: no such requirement: {', '.join(unknown)}")
        for key in ids:
            if key in stands_in:
                account.open_faults.append(f"{key} stands twice: in {stands_in[key]} and in {name}")
            stands_in[key] = name
        account.open_rows.append(OpenRow(name, ids, *cells))


def _read_changes(account: Account, path: Path) -> None:
    for name, cells in _rows(path):
        if len(cells) != 3 or not all(cells):
            account.change_faults.append(
                f"{name}: the row wants four cells: ids, what instead, why, what it gains"
            )
        for part in name.split(", "):
            ids = expand(part)
            unknown = [key for key in ids if key not in account.requirements]
            if unknown or not ids:
                account.change_faults.append(f"{name}: no such requirement: {', '.join(unknown) or part}")


def _rows(path: Path) -> Iterator[tuple[str, list[str]]]:
    """The table rows that open with an id: its cell, and the cells behind it."""
    for line in path.read_text(encoding="utf-8").splitlines():
        if re.match(rf"\|\s*{ID}", line):
            first, *rest = [cell.strip() for cell in re.split(r"(?<!\\)\|", line.strip().strip("|"))]
            yield first, rest


def expand(name: str) -> tuple[str, ...]:
    """`AP-001..AP-003` as its ids; empty for what is neither an id nor a range within one file."""
    found = RANGE.fullmatch(name)
    if found is None:
        return ()
    first, last = found[1], found[2] or found[1]
    if first[:2] != last[:2] or first > last:
        return ()
    return tuple(f"{first[:2]}-{number:03}" for number in range(int(first[3:]), int(last[3:]) + 1))


# -- markers

Function = ast.FunctionDef | ast.AsyncFunctionDef


def _read_markers(account: Account, folder: Path) -> None:
    for path in sorted(folder.rglob("*.py")):
        file = path.relative_to(folder.parent).as_posix()
        try:
            tree = ast.parse(path.read_text(encoding="utf-8"))
        except SyntaxError as error:
            account.marker_faults.append(f"{file}:{error.lineno}: {error.msg}, so its markers cannot be read")
            continue
        _Markers(account, file).read(tree)
    account.proofs = sorted(set(account.proofs), key=lambda proof: (proof.key, proof.test))
    for proof in account.proofs:
        if proof.key not in account.requirements:
            account.marker_faults.append(f"{proof.test}: there is no requirement {proof.key}")
    for row in account.open_rows:
        left = [key for key in row.ids if key in account.open]
        if not left:
            proven = account.proven[row.ids[0]][0]
            account.open_faults.append(f"{row.name}: proven (by {proven}), so the row must go")


class _Markers:
    """Collects the markers of one module, and what is wrong with them."""

    def __init__(self, account: Account, file: str) -> None:
        self._account = account
        self._file = file
        self._used: set[ast.AST] = set()

    def read(self, tree: ast.Module) -> None:
        self._read_body(tree.body, "", self._of_body(tree.body))
        for node in ast.walk(tree):
            if _is_marker(node) and node not in self._used:
                self._fault(
                    node,
                    "a spec marker stands on a test, in a pytestmark or in the marks of a pytest.param, and is called",
                )

    def _read_body(self, body: list[ast.stmt], inside: str, inherited: list[str]) -> None:
        """Every test of a module or class, with the ids of what it stands in."""
        tests = 0
        for node in body:
            if isinstance(node, ast.ClassDef):
                ids = inherited + self._of_decorators(node) + self._of_body(node.body)
                self._read_body(node.body, f"{inside}{node.name}::", ids)
                tests += 1
            elif isinstance(node, Function):
                own = self._of_decorators(node)
                if node.name.startswith("test_"):
                    tests += 1
                    self._prove(node, inside, inherited + own)
                elif own:
                    self._fault(node, f"{node.name} is no test, so it proves nothing")
        if inherited and not tests:
            self._fault(body[0], "the marker covers no test")

    def _prove(self, test: Function, inside: str, ids: list[str]) -> None:
        if not ids:
            return
        name = Path(self._file).name
        if not (name.startswith("test_") or name.endswith("_test.py")):
            self._fault(test, f"pytest does not collect this file, so {test.name} proves nothing")
        elif not any(_asserts(node) for node in ast.walk(test)):
            self._fault(test, f"{test.name} proves {', '.join(ids)} without asserting anything")
        elif any(_switches_off(node) for node in test.decorator_list):
            self._fault(test, f"{test.name} is skipped or expected to fail, so it proves nothing")
        else:
            self._account.proofs += [Proof(key, f"{self._file}::{inside}{test.name}") for key in ids]

    def _of_decorators(self, node: Function | ast.ClassDef) -> list[str]:
        """The ids on a test, those on its parameter sets included."""
        ids: list[str] = []
        for decorator in node.decorator_list:
            ids += self._ids(decorator)
            for part in ast.walk(decorator):
                if isinstance(part, ast.keyword) and part.arg == "marks":
                    ids += self._ids(part.value)
        return ids

    def _of_body(self, body: list[ast.stmt]) -> list[str]:
        """The ids of `pytestmark = ...` in a module or class."""
        ids: list[str] = []
        for node in body:
            if isinstance(node, ast.Assign) and [ast.unparse(target) for target in node.targets] == [
                "pytestmark"
            ]:
                ids += self._ids(node.value)
        return ids

    def _ids(self, node: ast.expr) -> list[str]:
        """The ids of a marker or of a list of markers."""
        if isinstance(node, ast.List | ast.Tuple):
            return [key for element in node.elts for key in self._ids(element)]
        if not isinstance(node, ast.Call) or not _is_marker(node.func):
            return []
        self._used.add(node.func)
        ids = [arg.value for arg in node.args if isinstance(arg, ast.Constant) and isinstance(arg.value, str)]
        if len(ids) < len(node.args) or node.keywords or not ids:
            self._fault(node, "the ids of a spec marker are plain strings, and at least one")
        return ids

    def _fault(self, node: ast.AST, sentence: str) -> None:
        self._account.marker_faults.append(f"{self._file}:{getattr(node, 'lineno', 1)}: {sentence}")


def _is_marker(node: ast.AST) -> bool:
    return isinstance(node, ast.Attribute) and ast.unparse(node) in ("pytest.mark.spec", "mark.spec")


def _switches_off(decorator: ast.expr) -> bool:
    called = decorator.func if isinstance(decorator, ast.Call) else decorator
    return ast.unparse(called) in ("pytest.mark.skip", "pytest.mark.xfail", "mark.skip", "mark.xfail")


def _asserts(node: ast.AST) -> bool:
    if isinstance(node, ast.Assert):
        return not isinstance(node.test, ast.Constant)
    if not isinstance(node, ast.Call):
        return False
    name = ast.unparse(node.func)
    return name == "pytest.raises" or name.rpartition(".")[2].startswith(("assert_", "check_"))


# -- printing


def as_json(account: Account) -> dict[str, object]:
    return {
        "files": account.counts,
        "proven": account.proven,
        "open": {
            key: {"row": row.name, "capability": row.capability, "reason": row.reason}
            for key, row in account.open.items()
        },
        "unaccounted": account.unaccounted,
        "faults": account.faults,
    }


def _listing(account: Account, wanted: str, prefix: str) -> Iterator[str]:
    proven, rows = account.proven, account.open
    for key, part in account.parts.items():
        if not key.startswith(prefix) or not part.startswith(wanted):
            continue
        if key in proven:
            note = ", ".join(proven[key])
        elif key in rows:
            note = f"{rows[key].capability}: {rows[key].reason}"
        else:
            note = "no test, no row in open.md"
        yield f"{key}  {account.requirements[key].text}\n        {note}"


def _print_table(account: Account) -> None:
    from rich.console import Console
    from rich.table import Table

    counts = account.counts
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), show_footer=True)
    table.add_column("file", footer="all")
    for part in PARTS:
        total = sum(row[part] for row in counts.values())
        table.add_column(part, footer=str(total), justify="right")
    for file, row in counts.items():
        style = "red" if row["unaccounted"] else None
        table.add_row(file, *(str(row[part]) if row[part] else "·" for part in PARTS), style=style)
    console = Console()
    console.print(table)
    if account.unaccounted:
        console.print(f"\nunaccounted: {' '.join(account.unaccounted)}", style="red", highlight=False)
    for fault in account.faults:
        console.print(fault, style="red", highlight=False, markup=False, soft_wrap=True)


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.spec", description=__doc__.partition("\n")[0])
    wanted = parser.add_mutually_exclusive_group()
    wanted.add_argument("--json", action="store_true", help="everything, for a program")
    wanted.add_argument(
        "--list", nargs="+", metavar=("PART", "PREFIX"), help="open, proven or unaccounted; then AP, or AP-02"
    )
    options = parser.parse_args(arguments)
    account = read()
    if options.list is None:
        if options.json:
            print(json.dumps(as_json(account), indent=2))
        else:
            _print_table(account)
        return
    part, *prefixes = options.list
    if part not in ("open", "proven", "unaccounted") or len(prefixes) > 1:
        parser.error("--list takes open, proven or unaccounted, and at most one prefix")
    for entry in _listing(account, part, prefixes[0] if prefixes else ""):
        print(entry)


if __name__ == "__main__":
    main()
