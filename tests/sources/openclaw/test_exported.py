"""An exported trajectory whose transcript is not there: its entries are the session."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from contextviz.sources.openclaw.traces.trajectory import is_written
from tests.sources.openclaw.build import Script, codes, script
from tests.sources.openclaw.exporting import FOLDER, exported, save
from tests.sources.openclaw.test_cache_trace import conversation
from tests.sources.openclaw.tracing import CUT, check_of, event, read_all

EVENTS = f"{FOLDER}/events.jsonl"


def folded() -> Script:
    made = conversation()
    made.add("compaction", "c1", summary="so far", firstKeptEntryId="u2", tokensBefore=100)
    made.user("u3")
    made.answer("a4", prompt=70)
    return made


def windows(result: Any) -> list[list[str]]:
    return [result.window(number) for number in range(len(result.only.calls))]


def test_an_export_alone_is_the_session_that_its_transcript_would_be(tmp_path: Path) -> None:
    made = folded()
    save(tmp_path / "export", exported(made), made)
    made.save(tmp_path / "whole" / "s-1.jsonl")
    index = {"agent:main:main": {"sessionId": "s-1"}}  # the export knows the session's key
    (tmp_path / "whole" / "sessions.json").write_text(json.dumps(index), encoding="utf-8")
    found, whole = read_all(tmp_path / "export"), read_all(tmp_path / "whole")
    one, other = found.only, whole.only

    assert (one.session.id, one.session.format, one.session.format_version) == ("s-1", "openclaw", "4")
    assert (one.session.agent, one.session.cwd) == ("main", None)
    assert [call.usage for call in one.calls] == [call.usage for call in other.calls] and len(one.calls) == 4
    assert [message.id for message in one.messages] == [message.id for message in other.messages]
    assert [(c.id, c.kind, c.tokens_before) for c in one.compactions] == [("c1", "summary", 100)]
    assert windows(found) == windows(whole)
    assert codes(one) == ["trajectory_only"] and found.problems == []
    assert one.problems[0].message == (
        "an exported trajectory, read as its session since the transcript is not among these files: it has the entries "
        "of the active branch"
    )
    source = found.files[EVENTS]
    assert (source.role, source.is_counted, source.session) == ("session", True, "s-1")
    assert {file.role for name, file in found.files.items() if name != EVENTS} == {"trace"}


def test_with_its_transcript_an_export_is_counted_nowhere(tmp_path: Path) -> None:
    made = folded()
    save(tmp_path, exported(made), made)
    made.save(tmp_path / "s-1.jsonl")
    result = read_all(tmp_path)

    assert len(result.only.calls) == 4 and codes(result.only) == []
    assert (result.files[EVENTS].role, result.files[EVENTS].is_counted) == ("trace", False)


def test_bodies_that_were_cut_are_shown_as_cut_and_counted(tmp_path: Path) -> None:
    made = conversation()
    save(tmp_path, exported(made, cut=("u1", "r1")), made)
    result = read_all(tmp_path)
    one = result.only

    assert [(message.role, len(message.blocks)) for message in one.messages] == [
        ("user", 1), ("assistant", 1), ("tool", 1), ("assistant", 1), ("user", 1), ("assistant", 1),
    ]  # fmt: skip
    assert [result.pool.get(block.text) for block in one.messages[0].blocks] == [CUT]
    assert codes(one)[:2] == ["trajectory_only", "truncated_content"]
    cut = next(problem for problem in one.problems if problem.code == "truncated_content")
    assert (cut.severity, cut.value) == ("warning", 2)
    assert cut.message == "2 entries are cut in the exported trajectory; what is missing in them reads [Truncated]"


def test_without_the_branchs_header_nothing_is_dated(tmp_path: Path) -> None:
    made = conversation()
    save(tmp_path, exported(made))
    result = read_all(tmp_path)

    assert result.only.session.format_version == "3" and len(result.only.calls) == 3
    assert result.window(0) == ["first question"]


def test_the_runs_of_an_export_check_the_windows_of_its_entries(tmp_path: Path) -> None:
    made = conversation()
    compiled = event("context.compiled", 0.2, messages=[], prompt="first question", systemPrompt="Be exact.")
    save(tmp_path, [compiled, *exported(made)], made)
    result = read_all(tmp_path)

    assert check_of(result).verdict == "confirmed" and result.window(0)[0] == "Be exact."


def test_of_two_exports_of_a_session_the_one_with_more_entries_is_read(tmp_path: Path) -> None:
    made = conversation()
    save(tmp_path / "old", exported(made))
    save(tmp_path / "new", exported(folded()), folded())
    result = read_all(tmp_path)

    assert len(result.only.calls) == 4
    assert {name: file.role for name, file in result.files.items() if name.endswith("events.jsonl")} == {
        f"old/{EVENTS}": "trace", f"new/{EVENTS}": "session",
    }  # fmt: skip


def test_what_only_the_runtime_noted_is_no_session(tmp_path: Path) -> None:
    path = tmp_path / "s-1.trajectory.jsonl"
    path.write_text(json.dumps(event("model.completed", 1.0, usage={"input": 5})) + "\n", encoding="utf-8")
    result = read_all(tmp_path)

    assert result.transcripts == [] and result.files["s-1.trajectory.jsonl"].role == "trace"


def test_hostile_events_are_passed_over(tmp_path: Path) -> None:
    made = script(version=4)
    made.user("u1")
    good = exported(made)
    bad: list[Any] = [
        {**good[0], "entryId": 7}, {**good[0], "type": 5}, {**good[0], "data": "x", "entryId": "u2"},
        {**good[0], "sessionId": None}, {**good[0], "parentEntryId": {"a": 1}, "entryId": "u3", "data": {"message": 4}},
        {**good[0], "type": "session.x" * 50, "entryId": "u4", "data": {"type": "message", "id": "other"}},
    ]  # fmt: skip
    save(tmp_path, [*good, *bad])
    result = read_all(tmp_path)

    ids = [message.id for message in result.only.messages]
    assert ids[0] == "u1" and "other" not in ids and result.only.calls == []
    assert not is_written({"source": "transcript", "entryId": "x", "type": "user.message"})


def test_the_export_of_a_real_session_is_that_session(shared: Path) -> None:
    sample = shared / "samples" / "oc-legacy"
    found, whole = read_all(sample / "trajectory-export"), read_all(sample / "agents")
    one, other = found.only, whole.only

    assert one.session.id == other.session.id and len(one.calls) == len(other.calls) == 82
    assert [call.usage for call in one.calls] == [call.usage for call in other.calls]
    assert [(m.id, [b.text.digest for b in m.blocks]) for m in one.messages] == [
        (m.id, [b.text.digest for b in m.blocks]) for m in other.messages
    ]
    assert windows(found) == windows(whole)
