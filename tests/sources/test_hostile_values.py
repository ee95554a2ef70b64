"""Values that no agent would write: too deep, too big, too long. Each file is read all the same, and says what is
wrong with it."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from contextviz.events.problem import ReadProblem
from contextviz.events.session import SourceFile, Transcript
from contextviz.sources.files import NamedPath, read_paths
from contextviz.sources.source import ReadItem, ReadOptions
from contextviz.sources.values import MOST_NESTED, as_float, as_int, inner_json, is_too_deep
from contextviz.tokens.pool import MemoryPool

NOW = datetime(2026, 6, 18, 12, tzinfo=UTC)
AT = "2026-06-18T08:00:01.000Z"
DEPTHS = (MOST_NESTED + 60, 950, 3_000, 100_000)


def nested(depth: int) -> str:
    return "[" * depth + "1" + "]" * depth


def openclaw_line(content: str, name: str = "m2") -> str:
    head = f'"type":"message","id":"{name}","parentId":"m1","timestamp":"{AT}"'
    return f'{{{head},"message":{{"role":"assistant","content":{content}}}}}'


def openclaw(*lines: str) -> str:
    header = {"type": "session", "version": 3, "id": "hostile-values", "timestamp": AT, "cwd": "/w"}
    first = {"type": "message", "id": "m1", "parentId": None, "timestamp": AT, "message": {"role": "user"}}
    first["message"] = {"role": "user", "content": [{"type": "text", "text": "first"}]}
    return "\n".join([json.dumps(header), json.dumps(first), *lines]) + "\n"


def claude(content: str) -> str:
    row: dict[str, Any] = {"type": "user", "uuid": "u1", "parentUuid": None, "sessionId": "hostile", "timestamp": AT}
    row["message"] = {"role": "user", "content": "first"}
    deep = f'{{"type":"assistant","uuid":"a1","parentUuid":"u1","sessionId":"hostile","timestamp":"{AT}","message":'
    return json.dumps(row) + "\n" + deep + f'{{"id":"m","role":"assistant","content":{content}}}}}\n'


def codex(payload: str) -> str:
    meta = {"timestamp": AT, "type": "session_meta", "payload": {"id": "hostile", "timestamp": AT, "cwd": "/w"}}
    said = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "first"}]}
    lines = [json.dumps(meta), json.dumps({"timestamp": AT, "type": "response_item", "payload": said})]
    return "\n".join([*lines, f'{{"timestamp":"{AT}","type":"response_item","payload":{payload}}}']) + "\n"


def call(arguments: str, *, key: str = "arguments", kind: str = "toolCall") -> str:
    return f'[{{"type":"{kind}","id":"t1","name":"bash","{key}":{arguments}}}]'


def read(folder: Path, name: str, text: str | bytes) -> list[ReadItem]:
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return list(read_paths([NamedPath(path, name)], ReadOptions(pool=MemoryPool(), now=NOW)))


def one_session(items: list[ReadItem]) -> Transcript:
    (found,) = [item for item in items if isinstance(item, Transcript)]
    return found


def deep_files(depth: int) -> dict[str, str]:
    """One file for each place of each format that takes a value of any shape."""
    value, quoted = nested(depth), json.dumps(nested(depth))
    function = '{"type":"function_call","name":"x","call_id":"c","arguments":%s}'
    result = '{"type":"function_call_output","call_id":"c","output":{"x":%s}}'
    return {
        "content.jsonl": openclaw(openclaw_line(value)),
        "arguments.jsonl": openclaw(openclaw_line(call(value))),
        "arguments-as-text.jsonl": openclaw(openclaw_line(call(quoted))),
        "input.jsonl": claude(call(value, key="input", kind="tool_use")),
        "result.jsonl": claude(f'[{{"type":"tool_result","tool_use_id":"t1","content":{value}}}]'),
        "function.jsonl": codex(function % quoted),
        "output.jsonl": codex(result % value),
    }


@pytest.mark.parametrize("depth", DEPTHS)
def test_a_value_nested_without_end_costs_its_own_line_and_no_other(tmp_path: Path, depth: int) -> None:
    for name, text in deep_files(depth).items():
        session = one_session(read(tmp_path, name, text))
        assert session.messages, name
        if "as-text" not in name and name != "function.jsonl":
            said = [problem.message for problem in session.problems if problem.code == "malformed_line"]
            assert said == [f"line {text.count(chr(10))} is malformed: nested deeper than 200 levels"], name


def test_a_value_as_deep_as_is_kept_can_be_written_and_shown(tmp_path: Path) -> None:
    inside = nested(MOST_NESTED - 10)

    session = one_session(read(tmp_path, "kept.jsonl", openclaw(openclaw_line(call(inside)))))

    assert [len(message.blocks) for message in session.messages] == [1, 1]
    assert not is_too_deep(inner_json(nested(MOST_NESTED)))
    with pytest.raises(ValueError, match="nested deeper"):
        inner_json(nested(MOST_NESTED + 1))


@pytest.mark.parametrize(
    "value", [10**400, -(10**400), 2**63, -1, True, float("nan"), float("inf"), "9" * 500, "٣", []]
)
def test_a_number_that_no_count_can_be_is_unknown(value: Any) -> None:
    assert as_int(value) is None
    assert as_float(value) is None or 0 <= value < 10**300


def test_padding_before_and_after_a_transcript_is_listed_and_the_rest_read(tmp_path: Path) -> None:
    padded = b"\x00" * 10_000 + openclaw(openclaw_line('"second"')).encode() + b"\x00" * 10_000

    session = one_session(read(tmp_path, "padded.jsonl", padded))

    assert len(session.messages) == 2
    assert [problem.value for problem in session.problems if problem.code == "malformed_line"] == ["NUL padding"] * 2


def test_a_damaged_database_is_not_called_another_programs(tmp_path: Path) -> None:
    (source,) = read(tmp_path, "lcm.db", b"SQLite format 3\x00" + b"\xff" * 5000)

    assert isinstance(source, SourceFile)
    assert source.reason == "a SQLite database that is empty or damaged"


def test_a_reader_that_meets_the_end_of_the_stack_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def deep(*_arguments: Any) -> Any:
        raise RecursionError

    monkeypatch.setattr("contextviz.sources.openclaw.reader._read_lines", deep)

    items = read(tmp_path, "a.jsonl", openclaw())

    problems = [item.message for item in items if isinstance(item, ReadProblem)]
    assert problems == ["reading ended early, since something in a.jsonl is nested too deeply"]
