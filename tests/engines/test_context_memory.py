from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any

from contextviz.engines.context_memory import (
    ContextMemory,
    Folder,
    clawclient_view,
    cut_bytes,
    date_label,
    instant_of,
    lint,
    map_of,
    next_switch_id,
    read_labels,
    read_map,
)
from contextviz.engines.material import CallPoint, Material
from contextviz.events.message import Role
from contextviz.events.run import Run
from tests.engines.building import message, run, session

NOW = datetime(2026, 3, 4, 12, tzinfo=UTC)


def talk(turns: int) -> list[tuple[Role, str]]:
    made: list[tuple[Role, str]] = []
    for turn in range(turns):
        made += [("user", f"question {turn} " + "word " * 30), ("assistant", f"answer {turn}")]
    return made


def told(made: Run, kind: str) -> list[dict[str, Any]]:
    return [event.data for event in made.events if event.type == kind]


def test_labels_switch_topics_and_a_return_reads_the_notes_back() -> None:
    made = run(ContextMemory, session(talk(5)), labels="1=Atlas, 3=jobs, 4=atlas")

    switches = told(made, "topic.switch")
    assert [(data["topic"], data["isNew"]) for data in switches] == [("atlas", True), ("jobs", True), ("atlas", False)]
    assert [data["id"] for data in switches] == ["ctx-14-001", "ctx-14-002", "ctx-14-003"]
    reasons = [item.reason for item in made.log.window(4)]
    assert reasons.count("notes on atlas, read back") == 1
    assert {event.quality for event in made.events if event.type == "topic.switch"} == {"derived"}


def test_without_labels_the_topics_are_simulated() -> None:
    turns: list[tuple[Role, str]] = [("user", "migrate the database schema tables"), ("assistant", "ok"),
                                     ("user", "write invoices for customers quickly"), ("assistant", "ok"),
                                     ("user", "more database schema tables"), ("assistant", "ok")]  # fmt: skip
    made = run(ContextMemory, session(turns))

    assert [data["topic"] for data in told(made, "topic.switch")] == [
        "project-migrate-database", "project-write-invoices", "project-migrate-database",
    ]  # fmt: skip
    assert {event.quality for event in made.events if event.type == "topic.switch"} == {"simulated"}


def test_the_host_compacts_and_the_notes_are_recovered() -> None:
    made = run(ContextMemory, session(talk(40)), window=900, labels="1=atlas")

    assert made.boundaries
    first = made.log.window(made.boundaries[0].compaction.after_call or 0)
    assert [item.reason for item in first[:2]] == ["the host's summary", "notes recovered after the compaction"]
    assert made.nodes[1].made_from == [made.nodes[0].id]
    assert [node.in_context for node in made.nodes[-2:]] == [False, True]


def test_a_topic_is_dormant_after_seven_days_and_active_again() -> None:
    material = Material(session_id="s", agent="main")
    day = 86_400_000
    for at, (days, text) in enumerate([(0, "one"), (1, "two"), (9, "three"), (10, "four")]):
        one = message(at, "user", text, turn=at + 1)
        material.messages.append(type(one)(at, "user", one.pieces, at + 1, 1_700_000_000_000 + days * day, None, at))
    made = run(ContextMemory, material, labels="1=a,2=b,3=b,4=a")

    assert [(data["topic"], data["status"]) for data in told(made, "topic.status")] == [
        ("a", "dormant"), ("a", "active"),
    ]  # fmt: skip


def test_bad_input_is_a_sentence_or_a_flag() -> None:
    made = run(ContextMemory, session(talk(2)), window=0, labels="x=, 0=a, 2=b", label="y")
    large = run(ContextMemory, session([("user", "word " * 500), ("assistant", "yes")]), window=100)
    none = run(ContextMemory, session([("assistant", "hello"), ("tool", "there")] * 30), window=40)

    assert len(told(made, "engine.error")) == 2
    assert any("labels" in note for note in made.notes)
    assert large.calls[0].is_over and large.calls[0].items == 1
    assert none.calls and not told(none, "topic.switch")
    assert run(ContextMemory, Material(points=[CallPoint(0)])).calls[0].items == 0


def test_what_a_replay_keeps_is_a_map_that_its_readers_take() -> None:
    folder = Folder()
    for topic, days in (("atlas", 0), ("jobs", 0), ("atlas", 1), ("atlas", 1)):
        folder.switch(topic, NOW + timedelta(days=days), f"about {topic}")
    folder.ended(folder.spawn("list tables"), "ok", 1500)
    folder.compaction(NOW + timedelta(days=1))
    made = read_map(json.dumps(folder.map_document()))

    assert [event.id for event in made.events] == ["ctx-04-001", "ctx-04-002", "ctx-05-001", "ctx-05-001-a1",
                                                   "ctx-05-002"]  # fmt: skip
    codes = {finding.code for finding in lint(made)}
    assert codes <= {"inherited-time", "missing-field"}
    assert [one.name for one in clawclient_view(made).timeline] == ["atlas", "jobs"]


def test_ids_begin_anew_each_day_and_month() -> None:
    events = [("ctx-04-007", NOW - timedelta(days=28)), ("ctx-04-002", NOW), ("ctx-04-002-a9", NOW), ("junk", NOW)]

    assert next_switch_id(events, NOW) == "ctx-04-003"
    assert next_switch_id([], NOW) == "ctx-04-001"


def test_broken_maps() -> None:
    assert lint(read_map("{"))[0].code == lint(map_of([]))[0].code == "broken-map"
    made = map_of({"contexts": {"A b": 3}, "events": [1, {"type": "x", "id": 5}, {"type": "context_switch"}]})
    codes = [finding.code for finding in lint(made)]
    assert {"wrong-type", "version", "topic-key", "unknown-type", "missing-field", "bad-time"} <= set(codes)
    assert clawclient_view(made).timeline == ()
    assert instant_of("2026-02-30T00:00:00Z") is None and instant_of("2026-02-03T01:00:00+01:00") is not None


def test_labels_and_small_rules() -> None:
    assert read_labels("3 = Big Topic\n9=b;") == ({3: "big-topic", 9: "b"}, [])
    assert cut_bytes("é" * 60, 100) == "é" * 50 + "…" and cut_bytes("x" * 100, 100) == "x" * 100
    labels = [date_label(NOW - timedelta(days=days), NOW) for days in (0, 1, 3, 30)]
    assert labels == ["Today", "Yesterday", "Sunday", "Feb 2"]
