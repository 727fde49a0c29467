"""`pressroom markup parse`: one text, or a line of JSON per text."""

import json
import subprocess

import pytest

from tests.core.markup.vectors import CASES, answer_of
from tests.entrypoints.cli.conftest import PROGRAM

BOLD = {"type": "bold", "offset": 0, "length": 2}


def lines(said) -> list[object]:
    return [json.loads(line) for line in said.out.splitlines()]


def program(*words: str, stdin: bytes) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run([*PROGRAM, "markup", "parse", *words], input=stdin, capture_output=True, timeout=60)


def test_people_see_the_text_and_a_line_for_each_entity(anywhere):
    said = anywhere("markup", "parse", "--mode", "html", stdin='<b>Hi</b> 👍<a href="e.com">there</a>')

    assert (said.code, said.err) == (0, "")
    assert [line.split() for line in said.out.splitlines()] == [
        ["Hi", "👍there"],
        [],
        ["Entity", "Offset", "Length", "Text", "Leads", "to"],
        ["bold", "0", "2", "Hi"],
        ["text_link", "5", "5", "there", "http://e.com/"],
    ]


def test_programs_see_the_form_of_the_vectors(anywhere):
    said = anywhere("markup", "parse", "--mode", "MarkdownV2", "--json", stdin="*Hi*\\.")

    assert (said.code, said.json) == (0, {"text": "Hi.", "entities": [BOLD]})


@pytest.mark.parametrize("words", [(), ("--json",)])
def test_the_exact_error_is_the_answer_and_the_exit_code_says_so(anywhere, words):
    error = "Bad Request: can't parse entities: Can't find end tag corresponding to start tag \"b\""

    said = anywhere("markup", "parse", "--mode", "HTML", *words, stdin="<b>Hi")

    assert (said.code, said.err) == (1, "")
    assert (said.json["error"] if words else said.out.strip()) == error


def test_control_characters_do_not_reach_the_terminal(anywhere):
    said = anywhere("markup", "parse", "--mode", "html", stdin="<b>\x1b[2J\u202e</b>")

    assert "\x1b" not in said.out
    assert "\u202e" not in said.out


def test_every_vector_gets_its_answer_in_order_and_in_one_process(anywhere):
    asked = [json.dumps({"mode": case["mode"].swapcase(), "input": case["input"]}) for case in CASES]

    said = anywhere("markup", "parse", "--jsonl", stdin="\n".join(asked))

    assert (said.code, said.err) == (0, "")
    assert lines(said) == [expected_line(case) for case in CASES]


def expected_line(case) -> dict[str, object]:
    answer = answer_of(case)
    if "bot_api_description" in answer:
        return {"error": answer["bot_api_description"]}
    return {"text": case["input"], **answer}


def test_a_line_that_cannot_be_done_is_answered_and_the_pipe_goes_on(anywhere):
    bad = [
        "", "nonsense", "[]", "5", '{"mode": "html"}', '{"mode": 5, "input": ""}', '{"mode": "rtf", "input": ""}', "[" * 200_000,
        '{"mode": "html", "input": "\\ud800"}', '{"input": "no mode"}', "9" * 10_000,
    ]  # fmt: skip
    good = '{"mode": "html", "input": "<b>Hi</b>"}'

    said = anywhere("markup", "parse", "--jsonl", stdin="\n".join([*bad, good]) + "\n")

    answers = lines(said)
    assert said.code == 0
    assert [list(answer) for answer in answers] == [["error"]] * len(bad) + [["text", "entities"]]
    assert answers[6] == {"error": "'rtf' is no mode"}
    assert answers[8] == {"error": "Bad Request: text must be encoded in UTF-8"}


def test_the_mode_of_lines_that_name_none_is_that_of_the_option(anywhere):
    said = anywhere("markup", "parse", "--jsonl", "--mode", "auto", stdin='{"input": "@durov"}')

    assert lines(said) == [{"text": "@durov", "entities": [{"type": "mention", "offset": 0, "length": 6}]}]


@pytest.mark.parametrize("words", [(), ("--mode", "rtf")])
def test_a_mode_that_is_missing_or_unknown_is_wrong_usage(anywhere, words):
    said = anywhere("markup", "parse", *words, stdin="x")

    assert (said.code, said.out) == (2, "")
    assert "html, markdownv2, markdown or auto" in said.err


def test_bytes_and_line_breaks_are_taken_as_they_are():
    kept = program("--mode", "html", "--json", stdin=b"a\r\n\xd1\x8f<b>\rb</b>\n")
    refused = program("--mode", "html", "--json", stdin=b"\xff")
    line = program("--jsonl", stdin=b'{"mode": "html", "input": "a\\rb"}\r\n{"mode": "html", "input": "\xff"}')

    assert json.loads(kept.stdout) == {
        "text": "a\r\nя\rb\n",
        "entities": [{"type": "bold", "offset": 4, "length": 2}],
    }
    assert json.loads(refused.stdout) == {"error": "Bad Request: text must be encoded in UTF-8"}
    assert [json.loads(one) for one in line.stdout.splitlines()] == [
        {"text": "a\rb", "entities": []},
        {"error": "Bad Request: text must be encoded in UTF-8"},
    ]
