from __future__ import annotations

import json

import pytest

from contextviz.analysis.transcript import argument_texts, call_arguments, one_line, result_line, title_of, tool_line
from tests.analysis.building import Builder


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        ({"command": "pytest  -x\n tests", "timeout": 9}, "pytest -x tests"),
        ({"file_path": "src/cart.py", "content": "long"}, "src/cart.py"),
        ({"command": ["bash", "-lc", "ls"]}, "bash -lc ls"),
        ({"path": "", "pattern": "lock"}, "lock"),
        ({"limit": 5}, "limit=5"),
        ({}, ""),
        ('{"path": "a.py"}', "a.py"),
        ("plain words", "plain words"),
        ([1, "two"], "1 two"),
        (None, ""),
        ({"command": "x" * 500}, "x" * 159 + "…"),
    ],
)
def test_a_tool_call_is_told_by_its_most_telling_field(arguments: object, line: str) -> None:
    assert tool_line("Bash", arguments) == line


@pytest.mark.parametrize(
    ("text", "first", "lines", "exit_code"),
    [
        ("", "", 0, None),
        ("---\nFAILED test_cart.py\n1 failed", "FAILED test_cart.py", 3, None),
        ("Exit code: 2\nno such file\n", "Exit code: 2", 2, 2),
        ("Process exited with code 0\nOutput: ok", "Process exited with code 0", 2, 0),
        ("the tool may exit with any code 7 we like", "the tool may exit with any code 7 we like", 1, None),
    ],
)
def test_a_result_is_told_by_its_first_line_with_words_its_size_and_its_exit_code(
    text: str, first: str, lines: int, exit_code: int | None
) -> None:
    found = result_line(text)
    assert (found.first, found.lines, found.chars, found.exit_code) == (first, lines, len(text), exit_code)


def test_a_cut_line_ends_at_a_word() -> None:
    assert one_line("several words that go on and on", 20) == "several words that…"


def test_a_tool_calls_json_gives_its_values_as_they_were_before_escaping() -> None:
    text = json.dumps({"name": "Write", "arguments": {"path": "a\\b", "lines": [1, "x\ny"], "deep": {"n": 2.5}}})
    name, arguments = call_arguments(text)
    assert name == "Write"
    assert argument_texts(arguments) == ["a\\b", "lines=1", "x\ny", "n=2.5"]
    assert call_arguments("not json") == (None, "not json")
    assert call_arguments("[" * 100_000)[0] is None


def test_a_title_is_the_sessions_own_else_the_first_human_prompt_else_its_id(builder: Builder) -> None:
    assert title_of(builder.transcript, builder.pool) == "s"
    builder.say("user", ("text", "a reminder by the client"))
    builder.say("user", ("text", "\n\nFix the flaky checkout test, please " + "and more " * 20), is_human=True)
    title = title_of(builder.transcript, builder.pool)
    assert title.startswith("Fix the flaky checkout test, please and more")
    assert len(title) <= 80
    builder.transcript.session.title = "Checkout"
    assert title_of(builder.transcript, builder.pool) == "Checkout"


@pytest.mark.parametrize(
    ("said", "title"),
    [
        ("[Mon 2026-11-30 01:30 UTC] Turn 1: read it", "Turn 1: read it"),
        ("[Tue 2026-12-01 01:30 GMT+1]\nread it", "read it"),
        ("[Mon] read it", "[Mon] read it"),
        ("read [Mon 2026-11-30 01:30 UTC] it", "read [Mon 2026-11-30 01:30 UTC] it"),
        ("[Mon 2026-11-30 01:30 UTC]", "s"),
    ],
)
def test_a_title_leaves_out_the_date_that_a_client_put_in_front(builder: Builder, said: str, title: str) -> None:
    builder.say("user", ("text", said), is_human=True)
    assert title_of(builder.transcript, builder.pool) == title
