"""The parts of the house style that neither ruff nor the import contracts can say.

Where the style has to yield, the line says why: `# house: <reason>`.
"""

import ast
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from textwrap import dedent

import pytest

PACKAGE = Path(__file__).resolve().parent.parent / "src" / "pressroom"

Rule = Callable[[Path, ast.Module], Iterator[tuple[ast.AST, str]]]


def broken(rule: Rule, package: Path = PACKAGE) -> list[str]:
    """What a rule finds in the package: file, line and sentence. Lines that say why they differ are left out."""
    found: list[str] = []
    for path in sorted(package.rglob("*.py")):
        source = path.read_text(encoding="utf-8")
        file = path.relative_to(package)
        lines = source.splitlines()
        for node, sentence in rule(file, ast.parse(source)):
            number = getattr(node, "lineno", 1)
            if not re.search(r"# house: \S", lines[number - 1] if lines else ""):
                found.append(f"{file.as_posix()}:{number}: {sentence}")
    return found


# -- the rules


def store_of_another_room(file: Path, tree: ast.Module) -> Iterator[tuple[ast.AST, str]]:
    """A room's SQL is its own: others go through its use cases."""
    for node in ast.walk(tree):
        for module in _imported(node):
            room, _, name = module.removeprefix("pressroom.").partition(".")
            if name == "store" and room != file.parts[0]:
                yield node, f"the store of {room} is private to it; call a use case"


def _imported(node: ast.AST) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom) and node.module and not node.level:
        return [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
    return []


def star_in_store(file: Path, tree: ast.Module) -> Iterator[tuple[ast.AST, str]]:
    """A function that grows a column breaks every live connection that said `*`."""
    if file.name != "store.py":
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            star = re.search(r"\b(select|returning)\s+(\w+\.)?\*", node.value, re.IGNORECASE)
            if star:
                yield node, f"`{star[0]}`: name the columns"


# Which argument of a method of db.Transaction, or of a driver's connection, is the SQL.
SQL_ARGUMENT = {
    "rows": 1, "row": 1, "value": 0, "values": 0, "execute": 0, "execute_many": 0,
    "executemany": 0, "fetch": 0, "fetchrow": 0, "fetchval": 0, "fetchmany": 0, "cursor": 0, "prepare": 0,
}  # fmt: skip


def sql_put_together(file: Path, tree: ast.Module) -> Iterator[tuple[ast.AST, str]]:
    """SQL is literal text. Only db/ writes statements whose names cannot be parameters."""
    if file.parts[0] == "db":
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            position = SQL_ARGUMENT.get(node.func.attr, len(node.args))
            if any(_is_put_together(sql) for sql in node.args[position : position + 1]):
                yield node, f"{node.func.attr}() wants literal SQL, with values as parameters"


def _is_put_together(sql: ast.expr) -> bool:
    if isinstance(sql, ast.Call):
        return isinstance(sql.func, ast.Attribute) and sql.func.attr in ("format", "join", "replace")
    return isinstance(sql, ast.JoinedStr | ast.BinOp)


def environment_read(file: Path, tree: ast.Module) -> Iterator[tuple[ast.AST, str]]:
    """The environment is read once, at the start, and handed down in pieces."""
    if file == Path("settings.py") or file.parts[0] == "entrypoints":
        return
    for node in ast.walk(tree):
        reads = isinstance(node, ast.Attribute) and ast.unparse(node) in (
            "os.environ",
            "os.environb",
            "os.getenv",
        )
        if reads or {"os.environ", "os.environb", "os.getenv"}.intersection(_imported(node)):
            yield node, "only settings and entrypoints read the environment; take the value as an argument"


NOT_A_NAME = {
    "base", "common", "data", "helper", "helpers", "impl", "manager", "managers", "misc", "service", "services",
    "util", "utils",
}  # fmt: skip


def name_not_found_yet(file: Path, tree: ast.Module) -> Iterator[tuple[ast.AST, str]]:
    """`utils` and `process_x` say that somebody stopped looking for the name."""
    for part in file.with_suffix("").parts:
        if part in NOT_A_NAME:
            yield tree, f"{part} says nothing; name what it does"
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.lstrip("_").startswith(
            ("process_", "handle_")
        ):
            yield node, f"{node.name} does not say what it does with it"
        if isinstance(node, ast.ClassDef) and node.name.endswith(
            ("Manager", "Helper", "Impl", "Util", "Utils")
        ):
            yield node, f"{node.name} does not say what it is"


def no_promise(file: Path, tree: ast.Module) -> Iterator[tuple[ast.AST, str]]:
    """A module opens with what it promises, a package with a paragraph of it."""
    docstring = ast.get_docstring(tree) or ""
    if not docstring:
        yield tree, "opens without a docstring that says what it promises"
        return
    opening = docstring.partition("\n\n")[0]
    if file.name == "__init__.py" and not (opening.endswith((".", ":")) and len(docstring.split()) >= 8):
        yield tree, "a package opens with a paragraph, in whole sentences"


# Whole modules, so that `os` is not found in `oslo`.
ACTING = ("aiohttp", "asyncio", "asyncpg", "os", "pressroom.db", "socket")


def model_that_acts(file: Path, tree: ast.Module) -> Iterator[tuple[ast.AST, str]]:
    """Values and rules take no input and give no output."""
    if file.name != "model.py":
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.AsyncFunctionDef):
            yield node, f"{node.name} is async: a use case, not a rule"
        acting = [name for name in ACTING for module in _imported(node) if f"{module}.".startswith(f"{name}.")]
        if acting:
            yield node, f"a model does not import {acting[0]}"


RULES: list[Rule] = [
    store_of_another_room,
    star_in_store,
    sql_put_together,
    environment_read,
    name_not_found_yet,
    no_promise,
    model_that_acts,
]


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_the_house_is_in_order(rule):
    found = broken(rule)

    assert not found, "\n".join(found)


def test_no_room_is_empty():
    empty = [
        package.relative_to(PACKAGE).as_posix()
        for package in (init.parent for init in PACKAGE.rglob("__init__.py"))
        if not any(path.name != "__init__.py" for path in package.rglob("*.py"))
    ]

    assert not empty, f"only an __init__.py: {empty}"


def test_each_sql_file_opens_with_its_promise_and_defines_the_function_that_it_is_named_after():
    wrong: list[str] = []
    for path in PACKAGE.glob("*/sql/**/*.sql"):
        sql = path.read_text(encoding="utf-8")
        defined = set(re.findall(r"(?im)^create or replace function fn\.(\w+)", sql))
        if not sql.startswith("-- ") or defined != {path.stem}:
            wrong.append(f"{path.relative_to(PACKAGE).as_posix()} defines {sorted(defined)}")

    assert not wrong, "\n".join(wrong)


# -- the rules themselves


@pytest.mark.parametrize(
    ("rule", "file", "source", "lines"),
    [
        (store_of_another_room, "delivery/dispatch.py", "from pressroom.delivery import store", []),
        (store_of_another_room, "intake/push.py", "from pressroom.delivery import enqueue, store", [1]),
        (store_of_another_room, "intake/push.py", "from pressroom.delivery.store import claim", [1]),
        (store_of_another_room, "entrypoints/api/app.py", "import pressroom.delivery.store", [1]),
        (star_in_store, "delivery/store.py", "SQL = 'select  * from fn.claim_deliveries($1)'", [1]),
        (star_in_store, "delivery/store.py", "SQL = 'select d.* from deliveries d'", [1]),
        (star_in_store, "delivery/store.py", "SQL = 'update deliveries set x = 1 RETURNING *'", [1]),
        (star_in_store, "delivery/store.py", "SQL = 'select count(*) from deliveries'", []),
        (star_in_store, "delivery/dispatch.py", "HINT = 'select * from claim_deliveries(...)'", []),
        (sql_put_together, "delivery/store.py", "tx.rows(Job, f'select {column}')", [1]),
        (sql_put_together, "delivery/store.py", "tx.execute('select ' + column)", [1]),
        (sql_put_together, "delivery/store.py", "tx.value('select {}'.format(column))", [1]),
        (sql_put_together, "delivery/store.py", "tx.execute('select 1 %s' % column)", [1]),
        (sql_put_together, "delivery/store.py", "tx.rows(Job, 'select $1', f'{one}')", []),
        (sql_put_together, "delivery/store.py", "tx.execute(f'{a}')  # house: a is one of two words", []),
        (sql_put_together, "delivery/store.py", "tx.execute(f'{a}')  # house:", [1]),
        (sql_put_together, "db/migrate.py", "connection.execute(f'create role {role}')", []),
        (sql_put_together, "delivery/model.py", "settings.values()", []),
        (environment_read, "settings.py", "import os\nos.environ", []),
        (environment_read, "entrypoints/cli/main.py", "import os\nos.environ['NO_COLOR']", []),
        (environment_read, "core/text.py", "import os\nos.environ['LANG']", [2]),
        (environment_read, "core/text.py", "from os import getenv", [1]),
        (environment_read, "core/text.py", "import os\nos.environ  # house: handed to the child process", []),
        (name_not_found_yet, "core/utils.py", "pass", [1]),
        (name_not_found_yet, "core/common/text.py", "pass", [1]),
        (name_not_found_yet, "core/text.py", "def process_text(): ...\nasync def _handle_it(): ...", [1, 2]),
        (name_not_found_yet, "core/text.py", "class TextManager: ...\nclass Text: ...", [1]),
        (no_promise, "core/text.py", "x = 1", [1]),
        (no_promise, "core/__init__.py", "", [1]),
        (no_promise, "core/__init__.py", "'''Core things.'''", [1]),
        (no_promise, "core/__init__.py", "'''What every room stands on, and nothing here knows rooms.'''", []),
        (model_that_acts, "delivery/model.py", "import asyncio\nasync def send(): ...", [1, 2]),
        (model_that_acts, "delivery/model.py", "from pressroom.db.database import Transaction", [1]),
        (model_that_acts, "delivery/send.py", "from pressroom.db import Transaction", []),
    ],
)
def test_a_rule_finds_what_it_is_for(tmp_path, rule, file, source, lines):
    path = tmp_path / file
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(dedent(source), encoding="utf-8")

    found = [int(sentence.split(":")[1]) for sentence in broken(rule, tmp_path)]

    assert found == lines
