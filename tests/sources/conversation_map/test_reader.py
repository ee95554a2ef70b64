"""Conversation maps with the folder around them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from contextviz.events.problem import ReadProblem
from contextviz.events.session import SourceFile, Transcript
from contextviz.sources.conversation_map import ConversationMapReader
from contextviz.sources.conversation_map import reader as reader_module
from contextviz.sources.files import probe, walk
from contextviz.sources.source import Found, ReadItem, ReadOptions
from contextviz.tokens.pool import MemoryPool

NOW = datetime(2026, 12, 31, tzinfo=UTC)
SHARED = Path(__file__).resolve().parents[4] / "shared"
KITE = {
    "name": "Kite",
    "color": "#3b82f6",
    "created": "2026-03-01T08:00:00Z",
    "lastActive": "2026-03-02T09:00:00Z",
    "status": "active",
}
SWITCH = {
    "id": "ctx-02-001",
    "type": "context_switch",
    "context": "kite",
    "trigger": "user_message",
    "timestamp": "2026-03-02T09:00:00Z",
    "summary": "began",
}
SPAWN = {
    "id": "ctx-02-001-a1",
    "type": "agent_spawn",
    "parentId": "ctx-02-001",
    "model": "m",
    "task": "look",
    "durationMs": 5000,
    "result": "ok",
    "artifacts": ["a.md"],
}


def a_map(*events: Mapping[str, Any], **contexts: Any) -> dict[str, Any]:
    return {"version": 1, "contexts": {"kite": KITE, **contexts}, "events": list(events)}


def read_folder(folder: Path, pool: MemoryPool | None = None) -> list[ReadItem]:
    reader, found = ConversationMapReader(), []
    for named in walk(folder):
        looked = probe(named.path, named.name)
        detection = reader.detect(looked)
        if detection is not None:
            found.append(Found(looked, detection))
    return list(reader.read(found, ReadOptions(pool or MemoryPool(), NOW)))


def read_map(tmp_path: Path, document: Any, **notes: str) -> Transcript:
    memory = tmp_path / "ws" / "memory"
    memory.mkdir(parents=True, exist_ok=True)
    raw = document if isinstance(document, str) else json.dumps(document)
    (memory / "conversation-map.json").write_text(raw, "utf-8")
    for name, text in notes.items():
        path = memory / name.replace("__", "/").replace("_md", ".md")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    (transcript,) = [item for item in read_folder(tmp_path) if isinstance(item, Transcript)]
    return transcript


def codes(transcript: Transcript) -> list[str]:
    return sorted({one.code for one in transcript.problems} - {"missing_notes"})


def test_a_spawn_takes_time_and_topic_from_its_parent(tmp_path: Path) -> None:
    read = read_map(tmp_path, a_map(SWITCH, SPAWN))
    switch, spawn = read.topic_events
    assert (spawn.at, spawn.at_basis, spawn.topic) == (switch.at, "inherited", "kite")
    assert (spawn.duration_ms, spawn.artifacts, spawn.source) == (5000, ["a.md"], "map")
    assert codes(read) == []
    assert read.session.title == "Conversation map of ws"


def test_a_spawn_belongs_to_the_nearest_parent_above_since_ids_repeat_every_month(tmp_path: Path) -> None:
    april = {**SWITCH, "timestamp": "2026-04-02T09:00:00Z"}
    read = read_map(tmp_path, a_map(SWITCH, SPAWN, april, SPAWN))
    assert [event.at.month if event.at else None for event in read.topic_events] == [3, 3, 4, 4]
    assert [one.severity for one in read.problems if one.code == "duplicate_id"] == ["info", "info"]


def test_an_undeclared_topic_is_shown_and_told(tmp_path: Path) -> None:
    read = read_map(tmp_path, a_map(SWITCH, {**SWITCH, "id": "ctx-02-002", "context": "ghost"}))
    assert [(topic.slug, topic.is_declared) for topic in read.topics] == [("kite", True), ("ghost", False)]
    assert codes(read) == ["undeclared_topic"]


def test_what_is_missing_or_wrong_is_a_finding_and_never_an_error(tmp_path: Path) -> None:
    document = a_map(
        {"type": "context_switch", "context": "kite", "timestamp": "tomorrow", "summary": ""},
        {**SPAWN, "parentId": "ctx-99-999"},
        {**SWITCH, "id": "one"},
        {**SWITCH, "id": "ctx-07-001"},
        {"type": "teleport"},
        {},
        house=7,
        Bad_Key={**KITE, "color": "red"},
    )
    document["events"] += [None, 3]
    read = read_map(tmp_path, {**document, "version": 9})
    assert codes(read) == [
        "bad_color", "bad_id", "bad_topic_key", "dangling_parent", "empty_summary", "malformed_entry", "missing_key",
        "unknown_type", "unreadable_time",
    ]  # fmt: skip
    assert len(read.topic_events) == 4
    assert read.topic_events[0].at_basis == "unknown"


@pytest.mark.parametrize("document", [{"version": 1, "contexts": {}, "events": []}, {"contexts": {}, "events": [{}]}])
def test_an_empty_map_is_a_map(tmp_path: Path, document: dict[str, Any]) -> None:
    read = read_map(tmp_path, document)
    assert (read.topics, read.topic_events) == ([], [])


def test_trailing_commas_are_mended_and_told(tmp_path: Path) -> None:
    raw = json.dumps(a_map(SWITCH)).replace("}]", "},]")
    read = read_map(tmp_path, raw)
    assert len(read.topic_events) == 1
    assert codes(read) == ["repaired_json"]


def test_the_log_and_the_map_tell_one_event_once(tmp_path: Path) -> None:
    log = """## 2026-03-02
### 12:00 — [COMPACTION]
- Active contexts at compaction: kite
### 09:00 — [CONTEXT: kite] triggered by: user message
- looked around
  - ctx-02-001-a1: m-short, 5s, found it
  - ctx-02-001-a2: m-short, 7s, found more
"""
    read = read_map(tmp_path, a_map({**SWITCH, "summary": ""}, SPAWN), CONTEXT_LOG_md=log)
    assert [(event.id, event.kind, event.source) for event in read.topic_events] == [
        ("ctx-02-001", "context_switch", "both"),
        ("ctx-02-001-a1", "agent_spawn", "both"),
        ("ctx-02-001-a2", "agent_spawn", "log"),
        (None, "compaction", "log"),
    ]
    switch, first, second, compaction = read.topic_events
    assert (switch.summary, first.model, first.summary) == ("looked around", "m", "found it")
    assert (second.duration_ms, second.at_basis, second.topic) == (7000, "inherited", "kite")
    assert compaction.active_topics == ["kite"]


def test_notes_and_the_active_topic_are_taken_from_the_folder(tmp_path: Path) -> None:
    pool = MemoryPool()
    read_map(
        tmp_path,
        a_map(SWITCH),
        contexts__kite__THREAD_md="# Kite Thread",
        contexts__kite__STATUS_md="# Kite — Status",
        contexts__other__STATUS_md="# Other",
    )
    (tmp_path / "ws" / "memory" / "session-state.md").write_text("Active context: kite\n", "utf-8")
    items = read_folder(tmp_path, pool)
    (read,) = [item for item in items if isinstance(item, Transcript)]
    kite, other = read.topics
    assert kite.thread is not None
    assert kite.status_note is not None
    assert (pool.get(kite.thread), pool.get(kite.status_note)) == ("# Kite Thread", "# Kite — Status")
    assert not other.is_declared
    assert read.session.hints == {"active_context": "kite"}
    files = [item for item in items if isinstance(item, SourceFile)]
    assert len(files) == 5
    assert {item.session for item in files} == {read.session.id}


def test_the_session_id_stays_while_the_map_grows_and_wherever_it_lies(tmp_path: Path) -> None:
    first = read_map(tmp_path / "a", a_map(SWITCH))
    later = {**SWITCH, "id": "ctx-03-001", "timestamp": "2026-03-03T09:00:00Z"}
    second = read_map(tmp_path / "b", a_map(SWITCH, later))
    assert first.session.id == second.session.id
    other = read_map(tmp_path / "c", a_map(later))
    assert other.session.id != first.session.id


def test_a_log_without_a_map_is_read_alone(tmp_path: Path) -> None:
    log = "## 2026-03-02\n### 09:00 — [CONTEXT: kite] triggered by: user message\n- began\n"
    (tmp_path / "CONTEXT_LOG.md").write_text(log, "utf-8")
    (read,) = [item for item in read_folder(tmp_path) if isinstance(item, Transcript)]
    assert [(event.topic, event.source) for event in read.topic_events] == [("kite", "log")]


def test_a_map_beyond_the_limit_is_refused_with_a_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reader_module, "MAX_MAP_BYTES", 10)
    (tmp_path / "conversation-map.json").write_text(json.dumps(a_map(SWITCH)), "utf-8")
    problem, listed = read_folder(tmp_path)
    assert isinstance(problem, ReadProblem)
    assert isinstance(listed, SourceFile)
    assert (problem.code, listed.role, listed.is_counted) == ("too_large", "ignored", False)


def test_a_map_that_cannot_be_read_is_told_and_its_notes_are_listed(tmp_path: Path) -> None:
    (tmp_path / "conversation-map.json").write_text('{"contexts": ', "utf-8")
    (tmp_path / "session-state.md").write_text("Active context: kite", "utf-8")
    problem, *files = read_folder(tmp_path)
    assert isinstance(problem, ReadProblem)
    assert [item.role for item in files if isinstance(item, SourceFile)] == ["ignored", "ignored"]


def test_a_file_of_the_same_name_from_another_program_is_not_taken(tmp_path: Path) -> None:
    path = tmp_path / "conversation-map.json"
    for text in ('{"greeting": {"next": "bye"}}', '{"greeting": "hi",}', "[]"):
        path.write_text(text, "utf-8")
        assert ConversationMapReader().detect(probe(path, path.name)) is None


def test_the_shared_folder_is_read_whole() -> None:
    folder = SHARED / "cases" / "engines" / "context-memory"
    if not folder.is_dir():
        pytest.skip("the shared cases are not here")
    (read,) = [item for item in read_folder(folder) if isinstance(item, Transcript)]
    assert len(read.topic_events) == 12
    assert [topic.slug for topic in read.topics if not topic.is_declared] == ["ghost-topic"]
    assert sum(event.kind == "agent_spawn" and event.at_basis == "inherited" for event in read.topic_events) == 3
    assert {"undeclared_topic", "duplicate_id", "empty_summary", "missing_key"} <= set(codes(read))
    assert all(topic.thread is not None for topic in read.topics if topic.is_declared)


def test_a_threads_archive_stands_behind_it_and_a_state_is_read_in_other_hands(tmp_path: Path) -> None:
    pool = MemoryPool()
    read_map(
        tmp_path,
        a_map(SWITCH),
        contexts__kite__THREAD_md="# Kite Thread",
        contexts__kite__THREAD_ARCHIVE_md="older points",
    )
    said = "# Session State\n- **Active context:** `boat`\n**Last Updated:** 2026-03-02 16:50\n"
    (tmp_path / "ws" / "memory" / "session-state.md").write_text(said, "utf-8")
    (read,) = [item for item in read_folder(tmp_path, pool) if isinstance(item, Transcript)]
    assert read.topics[0].thread is not None
    assert pool.get(read.topics[0].thread) == "# Kite Thread\n\nolder points"
    assert read.session.hints == {"active_context": "boat", "state_updated": "2026-03-02 16:50"}
    undeclared = [problem.entry for problem in read.problems if problem.code == "undeclared_topic"]
    assert undeclared == ["boat"]
