from __future__ import annotations

from pathlib import Path
from typing import Any

from contextviz.sources.gemini_cli import GeminiCliReader
from tests.sources.plain.reading import read, write, write_lines

HEADER = {"sessionId": "g-1", "projectHash": "p", "startTime": "2026-03-01T10:00:00.000Z",
          "lastUpdated": "2026-03-01T10:09:00.000Z"}  # fmt: skip


def user(name: str, text: Any, second: int = 1) -> dict[str, Any]:
    return {"id": name, "type": "user", "timestamp": f"2026-03-01T10:00:{second:02d}.000Z", "content": text}


def gemini(name: str, text: str, given: int, second: int = 2, **more: Any) -> dict[str, Any]:
    tokens = {"input": given, "output": 5, "cached": 10, "thoughts": 3, "tool": 0, "total": given + 8}
    return {"id": name, "type": "gemini", "timestamp": f"2026-03-01T10:00:{second:02d}.000Z", "content": text,
            "model": "gemini-x", "tokens": tokens, **more}  # fmt: skip


TOOL = {
    "id": "t1",
    "name": "read_file",
    "args": {"path": "a"},
    "status": "success",
    "result": [{"functionResponse": {"id": "t1", "name": "read_file", "response": {"output": "A"}}}],
    "resultDisplay": "shown",
}


def test_a_json_chat_has_calls_with_thoughts_in_their_output(tmp_path: Path) -> None:
    thoughts = [{"subject": "Plan", "description": "look first"}]
    messages = [
        user("u1", "look"),
        gemini("a1", "looking", 100, thoughts=thoughts, toolCalls=[TOOL]),
        {"id": "i1", "type": "info", "timestamp": "2026-03-01T10:00:03.000Z", "content": "update available"},
        gemini("a2", "it is A", 140, 4),
    ]
    write(tmp_path / "chats" / "session-1.json", {**HEADER, "messages": messages})
    result = read(GeminiCliReader(), tmp_path)
    found = result.one

    assert [message.native_role for message in found.messages] == ["user", "gemini", "info", "gemini"]
    usage = found.calls[0].usage
    assert (usage.prompt_tokens, usage.cache_read_tokens, usage.output_tokens, usage.reasoning_tokens) == (
        100,
        10,
        8,
        3,
    )
    assert [block.kind for block in found.messages[1].blocks] == ["thinking", "text", "tool_call", "tool_result"]
    assert result.windows()[1] == [
        ("user", "text", "look"),
        ("assistant", "text", "looking"),
        ("assistant", "tool_call", '{"name": "read_file", "arguments": {"path": "a"}}'),
        ("tool", "tool_result", "A"),
    ]
    assert [(pair.call_message, pair.result_message) for pair in found.pairs] == [(1, 1)]


def test_the_last_version_of_a_line_wins_and_its_first_place_stays(tmp_path: Path) -> None:
    lines = [HEADER, user("u1", "a"), gemini("a1", "half", 50), user("u2", "b", 3), gemini("a1", "whole", 60),
             {"$set": {"summary": "about a", "lastUpdated": "x"}}]  # fmt: skip
    write_lines(tmp_path / "session-1.jsonl", lines)
    result = read(GeminiCliReader(), tmp_path)

    assert result.texts() == [["a"], ["whole"], ["b"]]
    assert [call.usage.prompt_tokens for call in result.one.calls] == [60]
    assert result.one.session.title == "about a"
    assert result.one.lines.total == 6


def test_going_back_takes_messages_off_the_path_and_keeps_their_spend(tmp_path: Path) -> None:
    lines = [HEADER, user("u1", "a"), gemini("a1", "b", 50), user("u2", "wrong", 3), gemini("a2", "bad", 70, 4),
             {"$rewindTo": "u2"}, user("u3", "right", 5), gemini("a3", "good", 65, 6),
             {"$rewindTo": "nowhere"}]  # fmt: skip
    write_lines(tmp_path / "session-1.jsonl", lines)
    result = read(GeminiCliReader(), tmp_path)
    found = result.one

    assert [message.on_active_path for message in found.messages] == [True, True, False, False, True, True]
    assert [call.on_active_path for call in found.calls] == [True, False, True]
    assert [text for _, _, text in result.windows()[1]] == ["a", "b", "wrong"]
    assert [text for _, _, text in result.windows()[2]] == ["a", "b", "right"]
    assert found.compactions == [] and found.session.counters["rewinds"] == 1
    assert result.codes() == ["dangling_parent"]


def test_a_replaced_list_of_messages_is_an_inferred_compaction(tmp_path: Path) -> None:
    kept = user("u2", "go on", 5)
    lines = [HEADER, user("u1", "a"), gemini("a1", "b", 50), kept,
             {"$set": {"messages": [user("s1", "what was said", 6), kept]}}, gemini("a2", "c", 30, 7)]  # fmt: skip
    write_lines(tmp_path / "session-1.jsonl", lines)
    result = read(GeminiCliReader(), tmp_path)
    found = result.one

    assert [(one.kind, one.before_call, one.after_call, one.kept) for one in found.compactions] == [
        ("trim", 0, 1, ["u2"])
    ]
    assert {text for _, _, text in result.windows()[1]} == {"what was said", "go on"}


def test_a_subagents_chat_is_part_of_the_chat_that_started_it(tmp_path: Path) -> None:
    write_lines(tmp_path / "chats" / "session-1.jsonl", [HEADER, user("u1", "a"), gemini("a1", "b", 50)])
    child = {**HEADER, "sessionId": "sub-1", "kind": "subagent"}
    write_lines(tmp_path / "chats" / "g-1" / "sub-1.jsonl", [child, user("u9", "task"), gemini("a9", "done", 20)])
    found = read(GeminiCliReader(), tmp_path).one

    assert [(call.agent, call.usage.prompt_tokens) for call in found.calls] == [(None, 50), ("sub-1", 20)]
    assert [(one.id, one.message_count) for one in found.subagents] == [("sub-1", 2)]


def test_of_two_copies_of_a_chat_the_longer_counts(tmp_path: Path) -> None:
    messages = [user("u1", "a"), gemini("a1", "b", 50)]
    write(tmp_path / "session-1.json", {**HEADER, "messages": messages[:1]})
    write_lines(tmp_path / "session-1.jsonl", [HEADER, *messages])
    result = read(GeminiCliReader(), tmp_path)

    assert {one.path: (one.role, one.is_counted) for one in result.files} == {
        "session-1.json": ("duplicate", False),
        "session-1.jsonl": ("session", True),
    }
    assert len(result.one.calls) == 1


def test_damage_and_unknown_types_are_told(tmp_path: Path) -> None:
    lines = [HEADER, user("u1", "a"), "{broken", {"id": "x", "type": "hologram", "content": "?"}, {"odd": 1}]
    write_lines(tmp_path / "session-1.jsonl", lines)
    result = read(GeminiCliReader(), tmp_path)

    assert result.one.lines.malformed == [3]
    assert result.one.lines.unknown_types == {"hologram": 1, "no type": 1}
    assert set(result.codes()) == {"malformed_line", "unknown_type"}


def test_other_json_is_not_ours(tmp_path: Path) -> None:
    write(tmp_path / "a.json", {"sessionId": "s", "messages": []})
    write_lines(tmp_path / "b.jsonl", [{"sessionId": "s", "type": "user", "uuid": "u"}])

    assert read(GeminiCliReader(), tmp_path).files == []
