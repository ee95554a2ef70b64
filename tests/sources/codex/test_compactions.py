"""What a compaction leaves, whoever wrote it."""

from __future__ import annotations

from pathlib import Path

from contextviz.sources.codex.window import newest_within
from contextviz.tokens.pool import MemoryPool
from tests.sources.codex.building import Rollout, transcripts, windows


def compacted_rollout() -> Rollout:
    """Two turns, a compaction inside the second with a written history, then an answer."""
    rollout = Rollout()
    rollout.event("task_started", model_context_window=5000)
    rollout.message("developer", "<permissions instructions>all</permissions instructions>", id="d1")
    first = rollout.message("user", "one", id="u1")
    rollout.message("assistant", "re one", id="a1")
    rollout.record("r1", 100, 0, 10)
    rollout.event("task_complete")
    rollout.event("task_started", model_context_window=5000)
    second = rollout.message("user", "two", id="u2")
    rollout.message("assistant", "the gist", id="a2")
    rollout.record("r2", 150, 100, 20)
    again = {"type": "message", "role": "developer", "id": "d2", "content": [{"type": "input_text", "text": "rules"}]}
    summary = {"type": "message", "role": "user", "id": "s1"}
    summary["content"] = [{"type": "input_text", "text": "Before this: the gist"}]  # type: ignore[assignment]
    rollout.add(
        "compacted",
        {
            "message": "Before this: the gist",
            "replacement_history": [first, again, second, summary],
            "compaction_response_id": "r2",
            "window_id": "w-2",
        },
    )
    rollout.counts(rollout.total, [0, 0, 0], last_total=77)
    item = {"type": "ContextCompaction"}
    rollout.event("item_completed", item=item, started_at_ms=1000, completed_at_ms=1500)
    rollout.message("assistant", "re two", id="a3")
    rollout.record("r3", 80, 0, 5)
    return rollout


def test_a_written_history_is_the_next_window_and_the_summarisers_call_is_a_summary(tmp_path: Path) -> None:
    pool = MemoryPool()
    (read,) = transcripts(compacted_rollout().write(tmp_path / "a.jsonl"), pool=pool)
    assert [call.purpose for call in read.calls] == ["turn", "summary", "turn"]
    (row,) = read.compactions
    assert (row.id, row.number, row.kind, row.trigger) == ("w-2", 1, "summary", "auto")
    assert (row.before_call, row.after_call) == (0, 2)
    assert (row.tokens_before, row.tokens_after, row.duration_seconds) == (110, 77, 0.5)
    assert (row.kept, row.first_kept) == (["u1", "u2"], "u1")
    assert row.context_items == ["u1", "d2", "u2", "summary w-2"]
    assert row.summary is not None
    assert pool.get(row.summary) == "Before this: the gist"
    assert windows(read, pool)[2] == ["one", "rules", "two", "Before this: the gist"]
    kinds = [(item.kind, item.state, item.reason) for item in read.log.window(2)]
    assert kinds == [
        ("text", "verbatim", "kept verbatim by compaction 1"),
        ("injected", "injected", "put back by the client after compaction 1"),
        ("text", "verbatim", "kept verbatim by compaction 1"),
        ("summary", "summary", "summary by compaction 1"),
    ]
    assert read.context_at_end[-2:] == ["summary w-2", "a3"]


def test_the_summarisers_window_says_that_its_instruction_is_not_written(tmp_path: Path) -> None:
    (read,) = transcripts(compacted_rollout().write(tmp_path / "a.jsonl"))
    assert [snapshot.basis for snapshot in read.log.snapshots] == ["rules", "partial", "rules"]
    assert "not written" in (read.log.snapshots[1].note or "")


def test_a_compaction_alone_in_its_task_was_asked_for(tmp_path: Path) -> None:
    rollout = Rollout()
    rollout.event("task_started")
    rollout.message("user", "one")
    rollout.message("assistant", "re one")
    rollout.usage(100, 0, 10)
    rollout.event("task_complete")
    rollout.event("task_started")
    rollout.usage(120, 0, 30)
    rollout.add("compacted", {"message": "short", "replacement_history": []})
    rollout.event("task_complete")
    (read,) = transcripts(rollout.write(tmp_path / "a.jsonl"))
    assert [one.trigger for one in read.compactions] == ["manual"]
    assert [call.purpose for call in read.calls] == ["turn", "summary"]
    assert read.compactions[0].after_call is None


def test_an_encrypted_summary_is_said_to_be_unreadable(tmp_path: Path) -> None:
    rollout = Rollout()
    kept = rollout.message("user", "one", id="u1")
    opaque = {"type": "compaction", "encrypted_content": "gAAA"}
    rollout.add("compacted", {"message": "", "replacement_history": [kept, opaque], "window_id": 3})
    (read,) = transcripts(rollout.write(tmp_path / "a.jsonl"))
    (row,) = read.compactions
    assert row.summary is None
    assert row.summary_note == "encrypted by the provider: its text is not readable"
    assert row.context_items == ["u1", "summary window-3"]


def test_an_old_compaction_is_rebuilt_by_rule_and_says_so(tmp_path: Path) -> None:
    rollout = Rollout()
    rollout.message("user", "# AGENTS.md instructions\nbe nice")
    rollout.message("user", "x" * 60_000)
    rollout.message("assistant", "re x")
    rollout.usage(100, 0, 10)
    rollout.message("user", "y" * 40_000)
    rollout.message("assistant", "all in all")
    rollout.usage(200, 0, 10)
    rollout.add("compacted", {"message": "all in all"})
    rollout.message("user", "next")
    rollout.message("assistant", "fine")
    rollout.usage(50, 0, 1)
    pool = MemoryPool()
    (read,) = transcripts(rollout.write(tmp_path / "a.jsonl"), pool=pool)
    (row,) = read.compactions
    assert row.problem is not None
    assert [call.purpose for call in read.calls] == ["turn", "summary", "turn"]
    texts = windows(read, pool)[-1]
    assert [len(text) for text in texts] == [32, 40_000, 40_000, len("all in all"), len("next")]
    states = [(item.state, item.basis) for item in read.log.window(2)]
    assert states[1] == ("truncated", "derived")
    assert row.kept == ["line-3", "line-6"]


def test_the_newest_texts_are_kept_and_the_one_at_the_edge_is_cut() -> None:
    assert newest_within([5, 5, 5], 12) == (0, 2)
    assert newest_within([5, 5, 5], 10) == (1, 5)
    assert newest_within([5, 5], 100) == (0, 5)
    assert newest_within([], 10) == (0, 0)


def test_a_client_that_writes_the_beginning_has_it_told_before_the_end(tmp_path: Path) -> None:
    rollout = compacted_rollout()
    rollout.event("item_started", item={"type": "Reasoning"})
    rollout.event("item_started", item={"type": "ContextCompaction"})
    (read,) = transcripts(rollout.write(tmp_path / "a.jsonl"))

    assert [(event.type, event.engine, event.quality) for event in read.engine_events] == [
        ("compaction.started", "codex", "exact")
    ]
    assert len(read.compactions) == 1
