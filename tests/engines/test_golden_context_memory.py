"""context-memory held against a folder of goldens: the workspace, what its readers show, and what is wrong with it.

`expected.json` has four parts: what ClawClient shows, what a complete viewer shows, the defects, and colours. Where a
field has a name that is known it is held against that value, else against everything that the view says.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from contextviz.engines.context_memory import (
    ZERO,
    ClawView,
    ConversationMap,
    clawclient_view,
    color_of,
    cut_bytes,
    full_view,
    id_parts,
    instant_of,
    is_dormant,
    lint,
    must_archive,
    next_agent_id,
    next_switch_id,
    read_map,
)
from tests.engines.golden_files import name_unknown, part

KNOWN = {"expected.json", "memory/conversation-map.json", "memory/CONTEXT_LOG.md", "memory/CONTEXT_LOG_ARCHIVE.md",
         "memory/session-state.md"}  # fmt: skip
OF_A_TOPIC = re.compile(r"memory/contexts/[^/]+/(?:STATUS\.md|THREAD\.md|THREAD_ARCHIVE\.md|artifacts/.+)")
DAILY = re.compile(r"memory/\d{4}-\d\d-\d\d\.md")
SPOKEN = {
    "duplicate": ("duplicate-id",), "undeclared": ("undeclared-topic",), "not declared": ("undeclared-topic",),
    "unknown context": ("undeclared-topic",), "missing from": ("undeclared-topic",),
    "empty summary": ("empty-summary",), "color": ("missing-color", "bad-color"),
    "colour": ("missing-color", "bad-color"), "stale": ("stale-activity", "stale-status"),
}  # fmt: skip


@pytest.fixture
def folder(goldens: Path) -> Path:
    return part(goldens, "context-memory")


@pytest.fixture
def made(folder: Path) -> ConversationMap:
    path = folder / "memory" / "conversation-map.json"
    if not path.is_file():
        pytest.skip("the map is not in this part of the set")
    return read_map(path.read_text(encoding="utf-8"))


@pytest.fixture
def written(folder: Path, made: ConversationMap) -> dict[str, Any]:
    document = json.loads((folder / "memory" / "conversation-map.json").read_text(encoding="utf-8"))
    assert isinstance(document, dict)
    return document


@pytest.fixture
def expected(folder: Path) -> dict[str, Any]:
    path = folder / "expected.json"
    if not path.is_file():
        pytest.skip("expected.json is not in this part of the set")
    document = json.loads(path.read_text(encoding="utf-8"))
    assert isinstance(document, dict)
    return document


def texts_of(folder: Path) -> dict[str, str]:
    root = folder / "memory"
    return {path.relative_to(root).as_posix(): path.read_text(encoding="utf-8") for path in root.rglob("*.md")}


def test_golden_context_memory_files_are_all_known(folder: Path) -> None:
    name_unknown(folder, KNOWN, lambda name: OF_A_TOPIC.fullmatch(name) or DAILY.fullmatch(name))


def test_golden_context_memory_map_is_read_whole(made: ConversationMap, written: dict[str, Any]) -> None:
    assert made.error is None and made.version == written["version"]
    assert list(made.topics) == list(written["contexts"])
    for key, fields in written["contexts"].items():
        topic = made.topics[key]
        own = {"name": topic.name, "color": topic.color, "created": topic.created, "lastActive": topic.last_active,
               "status": topic.status}  # fmt: skip
        assert {name: own[name] for name in fields} == fields, key
    assert len(made.events) == len(written["events"])
    for event, fields in zip(made.events, written["events"], strict=True):
        own_event = {
            "id": event.id, "type": event.kind, "trigger": event.trigger, "timestamp": event.timestamp,
            "summary": event.summary, "parentId": event.parent, "model": event.model, "task": event.task,
            "durationMs": event.duration_ms, "result": event.result, "artifacts": list(event.artifacts),
            "activeContexts": list(event.active), "context": event.topic,
        }  # fmt: skip
        assert {name: own_event[name] for name in fields} == fields, event.id


def test_golden_context_memory_a_full_view_drops_nothing(made: ConversationMap) -> None:
    view = full_view(made)

    assert sorted(one.event.number for one in view.events) == list(range(len(made.events)))
    assert set(view.topics) == {*made.topics, *(event.topic for event in made.events if event.topic)}
    for one in view.events:
        assert one.is_in_clawclient != bool(one.why_not)
        if one.event.kind == "agent_spawn" and any(other.id == one.event.parent for other in made.events):
            assert one.at is not None


def test_golden_context_memory_ids_go_on(made: ConversationMap) -> None:
    """The next id of each day in the map is free, and one above the day's last."""
    placed = [(event.id, event.at) for event in made.events if event.kind != "agent_spawn"]
    for _, at in placed:
        if at is None:
            continue
        numbers = [parts[1] for name, when in placed if when is not None and when.date() == at.date()
                   and (parts := id_parts(name)) is not None and parts[0] == at.day]  # fmt: skip
        if numbers:
            assert next_switch_id(placed, at) == f"ctx-{at.day:02d}-{max(numbers) + 1:03d}"
    ids = [event.id for event in made.events]
    for event in made.events:
        if event.kind == "agent_spawn" and event.parent:
            assert next_agent_id(event.parent, ids) not in ids


def test_golden_context_memory_files_and_statuses(folder: Path, made: ConversationMap) -> None:
    files = texts_of(folder)
    findings = lint(made, files)

    for path, text in files.items():
        assert must_archive(text) == (len(text.splitlines()) > 200), path
    newest = max((at for event in made.events if (at := event.at) is not None), default=ZERO)
    for topic in made.topics.values():
        if topic.touched is not None and topic.status == "dormant":
            stale = any(one.code == "stale-status" and one.topic == topic.key for one in findings)
            assert is_dormant(topic.touched, newest) != stale


# ---- expected.json ----


def plain(name: str) -> str:
    return re.sub(r"[^a-z]", "", name.lower())


def leaves(value: Any) -> Iterator[Any]:
    if isinstance(value, dict):
        for key, one in value.items():
            yield key
            yield from leaves(one)
    elif isinstance(value, list):
        for one in value:
            yield from leaves(one)
    else:
        yield value


def first(fields: dict[str, Any], *names: str) -> Any:
    return next((value for key, value in fields.items() if plain(key) in names), None)


def name_of(entry: Any) -> Any:
    return first(entry, "key", "context", "name", "id", "topic") if isinstance(entry, dict) else entry


def entries_of(value: Any) -> list[tuple[str, Any]]:
    """Names with their entries, of a list or an object."""
    if isinstance(value, dict):
        return list(value.items())
    return [(name_of(one), one) for one in value]


def time_matches(given: Any, at: datetime) -> bool:
    if given in (None, "", 0):
        return at == ZERO
    return (instant_of(given) or ZERO) == at


def check_shown(name: str, entry: Any, view: ClawView) -> None:
    shown = view.contexts[name]
    if not isinstance(entry, dict):
        return
    values = {
        "name": shown.name, "color": shown.color, "colour": shown.color, "summary": shown.summary,
        "preview": shown.preview, "displaysummary": shown.summary, "eventcount": len(shown.events),
        "count": len(shown.events), "key": shown.name, "context": shown.name,
    }  # fmt: skip
    for key, given in entry.items():
        word = plain(key)
        if word in ("lastevent", "lastactive", "lasteventat"):
            assert time_matches(given, shown.last_event), (name, key)
        elif word == "events" and isinstance(given, list):
            check_events(name, given, view)
        elif word == "events":
            assert given == len(shown.events), (name, key)
        elif word in values:
            assert given == values[word], (name, key)
        else:
            check_said(given, said_by(view), f"{name}.{key}")


def check_events(name: str, given: list[Any], view: ClawView) -> None:
    own = view.contexts[name].events
    assert len(given) == len(own), name
    for entry, event in zip(given, own, strict=True):
        known = {event.id, event.summary, event.timestamp, cut_bytes(event.summary, 120)}
        said = known | {event.topic, event.kind, event.trigger}
        for leaf in [entry] if not isinstance(entry, dict) else entry.values():
            assert leaf in said or instant_of(leaf) == event.at, (name, leaf)


def said_by(view: ClawView) -> set[Any]:
    said: set[Any] = {"main", None, ""}
    for shown in view.contexts.values():
        said |= {shown.name, shown.color, shown.summary, shown.preview, shown.last_event}
        for event in shown.events:
            said |= {event.id, event.summary, event.timestamp, event.at, cut_bytes(event.summary, 120), event.trigger}
    for event, why in view.dropped:
        said |= {event.id, event.topic, event.kind, event.timestamp, event.summary, why, event.parent}
    return said


def check_said(given: Any, said: set[Any], where: str) -> None:
    """Every text in a field that has no known name is one that the view says; keys of objects are its own words."""
    values = [given] if not isinstance(given, dict | list) else list(leaves(given))
    names = set(given) if isinstance(given, dict) else set()
    for leaf in values:
        if isinstance(leaf, str) and leaf not in names:
            assert leaf in said or instant_of(leaf) in said, f"{where}: {leaf!r} is not what the view says"


def check_infer(value: Any, view: ClawView) -> None:
    for probe in entries_of(value) if isinstance(value, dict) else value:
        if isinstance(probe, dict):
            at = first(probe, "t", "at", "time", "ts", "timestamp", "when")
            wanted = first(probe, "context", "expected", "result", "topic", "key", "name")
        else:
            at, wanted = probe
        instant = instant_of(at)
        assert instant is not None, probe
        assert view.infer(instant) == wanted, probe


def check_colors(value: Any, view: ClawView | None = None) -> None:
    for name, entry in entries_of(value) if isinstance(value, dict) else map(pair_of, value):
        color = first(entry, "color", "colour", "hsl", "fallback", "expected") if isinstance(entry, dict) else entry
        shown = view.contexts[name].color if view is not None and name in view.contexts else color_of(name)
        assert color in (shown, color_of(name)), name


def pair_of(entry: Any) -> tuple[str, Any]:
    return (name_of(entry), entry) if isinstance(entry, dict) else (entry[0], entry[1])


def test_golden_context_memory_clawclient(expected: dict[str, Any], made: ConversationMap) -> None:
    view = clawclient_view(made)
    assert "clawclient" in expected
    for key, value in expected["clawclient"].items():
        word = plain(key)
        if word.startswith("context"):
            for name, entry in entries_of(value):
                check_shown(name, entry, view)
            assert {name for name, _ in entries_of(value)} <= set(view.contexts)
        elif word.startswith("timeline"):
            assert [name for name, _ in entries_of(value)] == [one.name for one in view.timeline]
            for name, entry in entries_of(value):
                check_shown(name, entry, view)
        elif word.startswith("list"):
            assert [name for name, _ in entries_of(value)] == [one.name for one in view.listed]
        elif word.startswith("preview"):
            for name, entry in entries_of(value):
                text = first(entry, "preview", "text", "value") if isinstance(entry, dict) else entry
                assert text == view.contexts[name].preview, name
        elif word.startswith("infer"):
            check_infer(value, view)
        elif word.startswith(("color", "colour")):
            check_colors(value, view)
        else:
            check_said(value, said_by(view), f"clawclient.{key}")


def test_golden_context_memory_full(expected: dict[str, Any], made: ConversationMap) -> None:
    assert "full" in expected
    view = full_view(made)
    said = said_by(clawclient_view(made))
    for topic in view.topics.values():
        declared = made.topics.get(topic.key)
        said |= {topic.key, topic.name, topic.color, topic.status, topic.last_active}
        said |= {declared.created, declared.last_active, declared.touched} if declared else set()
    for one in view.events:
        event = one.event
        said |= {event.id, event.kind, event.topic, event.trigger, event.timestamp, event.summary, event.parent}
        said |= {event.model, event.task, event.result, one.at, one.end, one.why_not, *event.artifacts, *event.active}
    for key, value in expected["full"].items():
        check_full(value, said, key)


def check_full(value: Any, said: set[Any], where: str) -> None:
    if isinstance(value, dict):
        for key, one in value.items():
            check_full(one, said, f"{where}.{key}")
    elif isinstance(value, list):
        for one in value:
            check_full(one, said, where)
    elif isinstance(value, str):
        assert value in said or instant_of(value) in said, f"full.{where}: {value!r} is not what the view says"


def test_golden_context_memory_problems(expected: dict[str, Any], folder: Path, made: ConversationMap) -> None:
    findings = lint(made, texts_of(folder))
    about = [(one.code, {one.event, one.topic, one.file} - {""}) for one in findings]
    about += [("not-shown", {event.id, event.topic} - {""}) for event, _ in clawclient_view(made).dropped]
    names = {name for _, ones in about for name in ones} | set(made.topics) | {event.id for event in made.events}
    assert "problems" in expected
    problems = expected["problems"]
    for problem in entries_of(problems) if isinstance(problems, dict) else problems:
        text = json.dumps(problem, ensure_ascii=False)
        named = {name for name in names if name and re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", text)}
        spoken = text.lower().replace("_", " ").replace("-", " ")
        codes = {code for word, own in SPOKEN.items() if word in spoken for code in own}
        fits = [code for code, ones in about if (not named or ones & named) and (not codes or code in codes)]
        assert fits, f"a defect that is not found: {text}"


def test_golden_context_memory_colors(expected: dict[str, Any]) -> None:
    assert "colors" in expected
    check_colors(expected["colors"])


def test_golden_context_memory_upstream_facts(goldens: Path) -> None:
    path = goldens / "upstream_expected_values.json"
    if not path.is_file():
        pytest.skip("upstream_expected_values.json is not in this part of the set")
    named = [one for one in json.loads(path.read_text(encoding="utf-8")) if one["engine"] == "context-memory"]

    assert not named, f"facts of a project without tests, which are not checked: {named}"
