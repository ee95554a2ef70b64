from __future__ import annotations

from pathlib import Path

from contextviz.sources.cursor import CursorReader
from contextviz.sources.files import probe
from contextviz.sources.registry import detect
from tests.sources.cursor.building import full, line, lines, query, tool, turn
from tests.sources.plain.reading import Result, read, write_lines


def reading(folder: Path) -> Result:
    return read(CursorReader(), folder)


def test_messages_in_their_order_without_what_is_not_written(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "c-1.jsonl", lines())
    result = reading(tmp_path)
    found = result.one

    assert (found.session.id, found.session.title, found.session.started_at) == ("c-1", "look at it", None)
    assert [one.role for one in found.messages] == ["user", "assistant", "assistant", "user"]
    assert [[block.kind for block in one.blocks] for one in found.messages] == [
        ["injected", "text", "injected"], ["text", "tool_call"], ["text"], ["text"],
    ]  # fmt: skip
    assert result.texts()[0][1] == "look at it\nplease"
    assert [one.id for one in found.messages if one.is_human] == ["m1", "m4"]
    assert found.messages[1].blocks[1].tool_name == "Read"
    assert [(pair.call_entry, pair.result_entry) for pair in found.pairs] == [("m2", None)]
    assert not found.calls and found.unlogged_usage is None and found.failed_calls == 1
    assert found.context_at_end == ["m1", "m2", "m3", "m4"]
    assert (found.lines.total, found.lines.read, found.problems) == (6, 6, [])
    known = detect(probe(path))
    assert known is not None and known[0].name == "cursor"


def test_a_sub_agent_names_its_parent(tmp_path: Path) -> None:
    full(tmp_path)
    found = {one.session.id: one for one in reading(tmp_path).transcripts}
    assert found["c-2"].session.parent == "c-1" and found["c-1"].session.parent is None
    assert not found["c-2"].messages[0].is_human


def test_results_of_tools_are_paired_by_order_where_a_version_writes_them(tmp_path: Path) -> None:
    given = {"type": "tool_result", "content": "A"}
    write_lines(tmp_path / "c-1.jsonl", [query("a"), line("assistant", tool()), line("user", given)])
    found = reading(tmp_path).one
    assert found.messages[2].role == "tool"
    assert [(pair.call_entry, pair.result_entry) for pair in found.pairs] == [("m2", "m3")]


def test_unknown_lines_parts_and_a_cut_off_end_are_told(tmp_path: Path) -> None:
    rows = [query("a"), line("assistant", {"type": "hologram", "x": 1}), {"type": "weather"}, line("referee", "x"),
            "{broken", line("assistant", "b")]  # fmt: skip
    path = write_lines(tmp_path / "c-1.jsonl", rows)
    path.write_text(path.read_text() + '{"role":"ass')
    found = reading(tmp_path).one

    assert found.lines.unknown_types == {"weather": 1, "referee": 1}
    assert (found.lines.malformed, found.lines.in_progress) == ([5], 7)
    assert {one.value for one in found.problems if one.code == "unknown_type"} == {"weather", "referee", "hologram"}
    assert [one.role for one in found.messages] == ["user", "assistant", "assistant"]


def test_of_two_files_of_a_session_the_larger_counts(tmp_path: Path) -> None:
    write_lines(tmp_path / "a" / "c-1.jsonl", lines()[:2])
    write_lines(tmp_path / "b" / "c-1.jsonl", lines())
    result = reading(tmp_path)
    assert [(one.path, one.role) for one in result.files] == [("a/c-1.jsonl", "duplicate"), ("b/c-1.jsonl", "session")]
    assert len(result.one.messages) == 4


def test_what_is_not_ours_is_left_to_others(tmp_path: Path) -> None:
    others = [
        [{"role": "user", "content": "hi"}],
        [{"type": "user", "uuid": "u", "message": {"role": "user", "content": []}}],
        [{"type": "message", "id": "a", "message": {"role": "user", "content": []}}],
        [turn()],
        [{"role": "user", "message": "hi"}],
        [],
    ]
    for number, rows in enumerate(others):
        path = write_lines(tmp_path / f"{number}.jsonl", list(rows))
        assert CursorReader().detect(probe(path)) is None


def test_bad_values_do_no_harm(tmp_path: Path) -> None:
    parts = [None, 3, {"type": ["x"]}, {"type": "text", "text": 4}]
    rows = [query("a"), {"role": "user", "message": {"content": parts}},
            {"role": "assistant", "message": 3}, {"role": ["x"], "message": {"content": []}},
            turn(["x"]), line("user", "<user_query>" * 200_000)]  # fmt: skip
    write_lines(tmp_path / "c-1.jsonl", rows)
    found = reading(tmp_path).one
    assert len(found.messages) == 4 and found.lines.unknown_types == {"no role": 1}
