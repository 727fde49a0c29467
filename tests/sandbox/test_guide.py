"""The five lines for each library stand in the guide, and work as they stand."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from pressroom.sandbox.telegram import absent
from pressroom.sandbox.telegram.app import METHODS
from tests.sandbox.clients.script import NODE_FOLDER, node, python_with_aiogram

ROOT = Path(__file__).parents[2]
GUIDE = (ROOT / "docs/guides/sandbox.md").read_text("utf-8")
SNIPPETS = re.findall(
    r"^([\w .-]+):\n\n```(python|js)\n(.*?)```",
    GUIDE.partition("## In your tests")[0],
    re.MULTILINE | re.DOTALL,
)


def test_every_library_has_its_lines():
    assert [name for name, _, _ in SNIPPETS] == [
        "aiogram", "python-telegram-bot", "pyTelegramBotAPI", "grammY", "telegraf", "The official MAX client", "maxapi",
    ]  # fmt: skip


def test_the_table_speaks_of_every_method():
    said = set(re.findall(r"\b[a-zA-Z]+\b", GUIDE.partition("### Telegram")[2].partition("### MAX")[0]))
    missing = GUIDE.partition("#### Missing: 501")[2].partition("(")[0].partition("\n")[2]

    assert sorted(set(METHODS) - said) == []
    assert sorted(re.findall(r"\w+", missing)) == sorted(absent.METHODS)


@pytest.mark.parametrize(("name", "language", "code"), SNIPPETS, ids=[name for name, _, _ in SNIPPETS])
def test_the_lines_of_the_guide_send_a_message(pressroom_sandbox, tmp_path, name, language, code):
    code = code.replace("http://127.0.0.1:8801", pressroom_sandbox.telegram_url)
    code = code.replace("http://127.0.0.1:8802", pressroom_sandbox.max_url)
    command = [sys.executable, "-c", code]
    if name == "aiogram":
        command[0] = str(python_with_aiogram())
    if language == "js":
        script = tmp_path / "snippet.mjs"
        script.write_text(code)
        (tmp_path / "node_modules").symlink_to(NODE_FOLDER / "node_modules")
        command = [node(), "--preserve-symlinks", "--preserve-symlinks-main", str(script)]

    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)

    assert done.returncode == 0, done.stdout + done.stderr
    (effect,) = pressroom_sandbox.control.ledger()
    assert effect["text"] == re.search(r'"(Hello from [^"]+)"', code)[1]


def test_the_test_of_the_guide_passes(tmp_path):
    (test,) = re.findall(
        r"^```python\n(import telebot\n.*?)```",
        GUIDE.partition("## In your tests")[2],
        re.MULTILINE | re.DOTALL,
    )
    (tmp_path / "test_guide.py").write_text(test)

    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(tmp_path)],
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip

    assert done.returncode == 0, done.stdout + done.stderr
