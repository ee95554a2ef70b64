from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from contextviz.sources.account_exports import ClaudeAiExportReader
from tests.sources.account_exports.talks import NOBODY, chat, forked, gave, message, used
from tests.sources.plain.reading import Result, read, write


def given(folder: Path, *conversations: Any) -> Result:
    write(folder / "conversations.json", list(conversations))
    return read(ClaudeAiExportReader(), folder)


def test_each_conversation_is_a_session_of_its_own(tmp_path: Path) -> None:
    result = given(
        tmp_path,
        chat("c1", message("h", "human", "hello", 1), message("a", "assistant", "hi", 2)),
        chat("c2", message("h", "human", "again", 3), name=""),
    )

    assert [(one.session.id, one.session.title) for one in result.transcripts] == [("c1", "About c1"), ("c2", None)]
    assert result.texts() == [["hello"], ["hi"]]
    found = result.transcripts[0]
    assert [(one.role, one.native_role, one.is_human) for one in found.messages] == [
        ("user", "human", True), ("assistant", "assistant", False),
    ]  # fmt: skip
    assert found.tree is None
    assert found.context_at_end == ["h", "a"]
    assert str(found.session.ended_at) == "2026-03-01 10:00:02+00:00"


def test_the_newest_end_of_a_tree_is_shown_and_the_rest_is_a_side_branch(tmp_path: Path) -> None:
    found = given(tmp_path, forked()).one

    assert found.tree is not None
    assert found.tree.active_path == ["h1", "a1", "h3", "a3"]
    assert found.tree.abandoned == ["h2", "a2"]
    assert (found.tree.branch_point, found.tree.branches) == ("a1", 2)
    assert found.context_at_end == ["h1", "a1", "h3", "a3"]
    assert "dangling_parent" not in [problem.code for problem in found.problems]


def test_a_leaf_that_is_named_is_the_one_that_is_shown(tmp_path: Path) -> None:
    found = given(tmp_path, forked() | {"current_leaf_message_uuid": "a2", "model": "claude-x"}).one

    assert found.tree is not None
    assert found.tree.active_path == ["h1", "a1", "h2", "a2"]
    assert found.session.model == "claude-x"


def test_every_round_with_a_tool_is_a_call_of_unknown_tokens(tmp_path: Path) -> None:
    result = given(tmp_path, forked())
    found = result.one

    assert [(call.id, call.on_active_path) for call in found.calls] == [
        ("a1#1", True), ("a1#2", True), ("a1#3", True), ("a2", False), ("a3", True),
    ]  # fmt: skip
    assert [str(call.at)[17:19] for call in found.calls] == ["03", "05", "07", "11", "21"]
    assert {(call.basis, call.usage.total_tokens) for call in found.calls} == {("unknown", None)}
    asked = [("user", "text", "what bread?"), ("user", "text", "my notes"), ("user", "image", "")]
    first = [("assistant", "tool_call", '{"name": "web_search", "arguments": {"query": "bread"}}'),
             ("tool", "tool_result", "rye")]  # fmt: skip
    second = [("assistant", "tool_call", '{"name": "web_search", "arguments": {"query": "rye"}}'),
              ("tool", "tool_result", "none")]  # fmt: skip
    windows = result.windows()
    assert windows[:3] == [asked, asked + first, asked + first + second]
    answered = [*asked, *first, *second, ("assistant", "text", "Rye bread.")]
    assert windows[3] == [*answered, ("user", "text", "which flour?")]
    assert windows[4] == [*answered, ("user", "text", "which oven?")]
    assert {snapshot.basis for snapshot in found.log.snapshots} == {"partial"}


def test_tool_calls_meet_their_results_in_the_same_message(tmp_path: Path) -> None:
    found = given(tmp_path, forked()).one

    assert [(pair.call_block, pair.result_block) for pair in found.pairs] == [(1, 2), (3, 4)]
    assert [block.is_error for block in found.messages[1].blocks if block.kind == "tool_result"] == [False, True]
    assert found.session.counters["token_budget_blocks"] == 1
    assert found.orphan_results == []


def test_a_file_that_is_attached_and_listed_is_there_once_and_has_no_size(tmp_path: Path) -> None:
    blocks = given(tmp_path, forked()).one.messages[0].blocks

    assert [(block.kind, block.media_bytes) for block in blocks] == [("text", None), ("text", None), ("image", None)]


def test_the_text_counts_only_where_no_block_says_anything(tmp_path: Path) -> None:
    result = given(
        tmp_path,
        chat(
            "c1",
            message("h", "human", [], 1, text="from the text"),
            message("a", "assistant", "from the block", 2, text="not supported on your device"),
            message("e", "assistant", [], 3),
        ),
    )

    assert result.texts() == [["from the text"], ["from the block"], []]
    assert [call.entry for call in result.one.calls] == ["a"]


def test_pages_pictures_and_unknown_parts_of_results_are_kept(tmp_path: Path) -> None:
    found = [{"type": "knowledge", "title": "T", "url": "https://x", "text": "body"},
             {"type": "image", "file_uuid": "f"}, {"type": "odd", "n": 1}, {"type": ["x"]}]  # fmt: skip
    blocks = [used("look", "t1"), {"type": "tool_result", "tool_use_id": "t1", "name": "look", "content": found},
              {"type": "hologram", "n": 2}]  # fmt: skip
    result = given(tmp_path, chat("c1", message("a", "assistant", blocks, 1)))

    assert result.texts()[0][1:] == [
        "T\nhttps://x\nbody",
        "",
        '{"type": "odd", "n": 1}',
        '{"type": ["x"]}',
        '{"type": "hologram", "n": 2}',
    ]
    assert result.one.messages[0].blocks[2].media_bytes is None
    assert [p.value for p in result.one.problems if p.code == "unknown_type"] == ["hologram"]


def test_a_parent_that_is_not_there_is_told_and_the_message_before_is_taken(tmp_path: Path) -> None:
    result = given(
        tmp_path,
        chat(
            "c1",
            message("h", "human", "a", 1, parent_message_uuid=NOBODY),
            message("a", "assistant", "b", 2, parent_message_uuid="gone"),
            message("a", "assistant", "c", 3, parent_message_uuid="a"),
        ),
    )

    assert [one.id for one in result.one.messages] == ["h", "a", "m3"]
    assert [p.value for p in result.one.problems if p.code == "dangling_parent"] == ["gone"]
    assert result.one.context_at_end == ["h", "a", "m3"]


def test_the_first_question_asked_anew_is_a_second_beginning(tmp_path: Path) -> None:
    found = given(
        tmp_path,
        chat(
            "c1",
            message("h1", "human", "a", 1, parent_message_uuid=NOBODY),
            message("h2", "human", "b", 2, parent_message_uuid=NOBODY),
            message("a2", "assistant", "c", 3, parent_message_uuid="h2"),
        ),
    ).one

    assert found.tree is not None
    assert (found.tree.segments, found.tree.active_path, found.tree.abandoned) == (2, ["h2", "a2"], ["h1"])


def test_a_circle_of_parents_is_cut_open(tmp_path: Path) -> None:
    result = given(
        tmp_path,
        chat(
            "c1",
            message("x", "human", "a", 1, parent_message_uuid="y"),
            message("y", "assistant", "b", 2, parent_message_uuid="x"),
        ),
    )

    assert len(result.one.messages) == 2
    assert "cycle" in result.codes()


@pytest.mark.parametrize("messages", [[None], ["x"], [{"sender": 5, "content": 7}], [{"content": [None, 3, "t"]}]])
def test_wrong_types_are_counted_and_do_no_harm(tmp_path: Path, messages: list[Any]) -> None:
    good = [message("h", "human", "a", 1), message("b", "assistant", [gave("t", "none", "x")], 2),
            message("c", "assistant", "b", 3)]  # fmt: skip
    result = given(tmp_path, chat("c1", *good, *messages))

    assert result.texts()[:3] == [["a"], ["x"], ["b"]]
    assert sum(result.one.lines.unknown_types.values()) == 1
    assert result.one.orphan_results == ["b"]
