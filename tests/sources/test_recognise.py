"""Each artefact of a context engine in otherwise plain transcripts of two formats, through the door of all readers."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from contextviz.analysis.composition.categories import category_of
from contextviz.analysis.composition.compose import compositions
from contextviz.events.engine_event import EngineEvent
from contextviz.events.message import Message
from contextviz.events.session import Transcript
from contextviz.events.snapshot import ContextItem
from contextviz.sources.files import read_paths, walk
from contextviz.sources.recognise import marking
from contextviz.sources.source import ReadOptions
from contextviz.tokens.pool import MemoryPool
from tests.events.test_artefacts import (
    BRIDGE,
    BRIEF,
    CONDENSED,
    EXPLORED,
    FILE,
    FOLDED,
    HANDOFF,
    HASH,
    LAYER,
    LEAF,
    MEMORY,
    OUTPUT,
    WORKING,
    marker,
)
from tests.sources.openclaw.build import NOW, script
from tests.sources.plain.reading import write_lines

FORMATS = ("openclaw", "chat")
BRAIN = '[Context Summary — 12 messages compacted]\n- User: "which port"'
HYBRID = BRIDGE + "x" * (162 - len(BRIDGE) - 1) + "]"
COMPRESSED = f"0123456789\n\n{marker(10)}"
SHRUNK = "[read: success (9120 chars)] " + "x" * 150 + "..."


@dataclass
class Read:
    """A session that was read, with its texts."""

    transcript: Transcript
    pool: MemoryPool

    def message(self, text: str) -> Message:
        """The message with that text."""
        return next(m for m in self.transcript.messages for b in m.blocks if self.pool.get(b.text) == text)

    def item(self, text: str) -> ContextItem:
        """The window item with that text, of the last window."""
        window = self.transcript.log.window(len(self.transcript.log.snapshots) - 1)
        return next(item for item in window if self.pool.get(item.text) == text)

    @property
    def events(self) -> list[EngineEvent]:
        return self.transcript.engine_events


def session(folder: Path, form: str, *, role: str = "user", text: str) -> Read:
    """A plain session with one text said by `role` (user, assistant, tool or system) in the middle of it."""
    (openclaw if form == "openclaw" else chat)(folder, role, text)
    pool = MemoryPool()
    found = [
        item for item in read_paths(list(walk(folder)), ReadOptions(pool=pool, now=NOW))
        if isinstance(item, Transcript)
    ]  # fmt: skip
    assert len(found) == 1
    return Read(found[0], pool)


def openclaw(folder: Path, role: str, text: str) -> None:
    made = script("traced")
    made.user("u1", "which port is it")
    made.call("a1", "c1")
    made.result("r1", "c1", text if role == "tool" else "found")
    if role == "user":
        made.user("u2", text)
    made.answer("a2", [{"type": "text", "text": text}] if role == "assistant" else None)
    made.user("u3", "go on")
    made.answer("a3", prompt=4000)
    made.save(folder / "traced.jsonl")


def chat(folder: Path, role: str, text: str) -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "read", "arguments": '{"path": "a1"}'}}
    said: list[dict[str, Any]] = [{"role": "system", "content": text if role == "system" else "be brief"}]
    said += [
        {"role": "user", "content": "which port is it"},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": text if role == "tool" else "found"},
        *([{"role": "user", "content": text}] if role == "user" else []),
        {"role": "assistant", "content": text if role == "assistant" else "say a2"},
        {"role": "user", "content": "go on"},
    ]
    reply = {
        "id": "r1", "object": "chat.completion", "created": 1772359200, "model": "gpt-x",
        "choices": [{"index": 0, "message": {"role": "assistant", "content": "say a3"}}],
        "usage": {"prompt_tokens": 4000, "completion_tokens": 10},
    }  # fmt: skip
    write_lines(folder / "log.jsonl", [{"request": {"model": "gpt-x", "messages": said}, "response": reply}])


CASES: list[tuple[str, str, str, str, str, dict[str, Any]]] = [
    # role, text, category of its item, engine, type of its event, some of its data
    ("assistant", BRAIN, "summary", "openvole", "summary.created", {"kind": "rolling", "count": 12}),
    ("user", f"{LAYER}\n{FOLDED}", "summary", "flowctx", "summary.created",
     {"id": "d0-1-3", "turn_start": 1, "turn_end": 3}),
    ("user", LEAF, "summary", "lossless-claw", "summary.created", {"id": "sum_aa11", "kind": "leaf", "depth": 0}),
    ("user", CONDENSED, "summary", "lossless-claw", "summary.created",
     {"id": "sum_cc33", "depth": 1, "sources": "sum_aa11 sum_bb22"}),
    ("user", HYBRID, "memory", "cortext", "window.moved", {"mode": "hybrid"}),
    ("user", HANDOFF, "memory", "flowctx", "recall.injected", {"origin": "handoff", "position": "user-message"}),
    ("user", WORKING, "memory", "flowctx", "recall.injected", {"origin": "working"}),
    ("user", BRIEF, "memory", "lossless-claw", "recall.injected", {"origin": "focus_brief", "id": "fb_1"}),
    ("tool", COMPRESSED, "stub", "flowctx", "block.compressed",
     {"hash": HASH, "route": "structured", "contentType": "json", "original_chars": 1699, "kept_chars": 10}),
    ("tool", OUTPUT + EXPLORED, "stub", "lossless-claw", "block.compressed",
     {"hash": "file_ffff000011112222", "route": "file", "original_bytes": 98304}),
    ("tool", SHRUNK, "result", "openvole", "block.compressed",
     {"route": "shrink", "original_chars": 9120, "reversible": False}),
    ("user", f"read it\n{FILE}{EXPLORED}", "user", "lossless-claw", "block.compressed",
     {"hash": "file_0a1b2c3d4e5f6a7b", "label": "report.csv"}),
]  # fmt: skip


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize(("role", "text", "category", "engine", "kind", "data"), CASES)
def test_an_artefact_in_a_plain_transcript_is_an_event_and_its_item_has_its_kind(
    tmp_path: Path, form: str, role: str, text: str, category: str, engine: str, kind: str, data: dict[str, Any]
) -> None:
    read = session(tmp_path, form, role=role, text=text)
    (event,) = read.events
    assert (event.engine, event.type, event.origin) == (engine, kind, "disk")
    assert {name: event.data[name] for name in data} == data
    assert event.data["message"] == read.message(text).index
    assert category_of(read.item(text)) == category
    # Compactions are told by logs, stores and hosts; an artefact alone is none (engines document, section 8.3).
    assert read.transcript.compactions == []


@pytest.mark.parametrize("form", FORMATS)
def test_parts_still_add_up_to_what_was_reported(tmp_path: Path, form: str) -> None:
    found = compositions(session(tmp_path, form, text=LEAF).transcript)[-1]
    assert found.reported == 4000 and found.residual is not None
    assert found.known + found.residual == 4000


@pytest.mark.parametrize("form", FORMATS)
def test_what_an_engine_hands_over_as_a_users_message_was_written_by_no_person(tmp_path: Path, form: str) -> None:
    read = session(tmp_path, form, text=LEAF)
    assert [m.is_human for m in read.transcript.messages if m.role == "user"] == [True, False, True]
    assert read.message(LEAF).blocks[0].kind == "summary"
    assert (read.item(LEAF).kind, read.item(LEAF).state) == ("summary", "summary")
    assert read.item(LEAF).reason == "summary of depth 0 by lossless-claw"


def test_recalled_memory_is_a_system_message_of_its_own_or_stands_before_the_prompt(tmp_path: Path) -> None:
    whole = session(tmp_path / "a", "chat", role="system", text=MEMORY)
    assert category_of(whole.item(MEMORY)) == "memory"
    assert whole.events[0].data["position"] == "system-section"
    both = f"{MEMORY}\nYou are an agent."
    before = session(tmp_path / "b", "chat", role="system", text=both)
    assert category_of(before.item(both)) == "system"
    assert before.item(both).reason.endswith("with memory recalled by Cortext")
    assert (before.events[0].type, before.events[0].data["position"]) == ("recall.injected", "system-prefix")


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize(
    ("role", "text"),
    [
        ("user", f"why does it say this?\n\n{LEAF}"),
        ("user", f"the manual says\n{marker(350)}\nwhat is it"),
        ("user", BRAIN),
        ("user", f"it begins {HYBRID}"),
        ("assistant", f"A marker looks so:\n```\n{marker(350)}\n```"),
        ("assistant", LEAF),
        ("tool", f"# Markers\n\n```text\n{marker(350)}\n```\n"),
        ("tool", LEAF),
        ("tool", MEMORY),
        ("tool", f"> {OUTPUT}"),
    ],
)
def test_a_quotation_changes_nothing(tmp_path: Path, form: str, role: str, text: str) -> None:
    read = session(tmp_path, form, role=role, text=text)
    assert read.events == []
    assert read.item(text).state == "verbatim"
    assert read.item(text).reason in ("in the transcript", "in the request")
    expected = {"user": "user", "assistant": "assistant", "tool": "result"}
    assert category_of(read.item(text)) == expected[role]


def test_retrievals_are_events_and_hit_where_the_result_has_the_hash_asked_for(tmp_path: Path) -> None:
    original = "the whole of it"
    handle = MemoryPool().put(original).handle
    made = script("asking")
    made.user("u1")
    for number, (key, result) in enumerate(
        [(handle, original), ("b" * 24, "No original is kept under b."), (handle, "no")]
    ):
        arguments = {"hash": key}
        block = {"type": "toolCall", "id": f"c{number}", "name": "flowctx_retrieve", "arguments": arguments}
        made.answer(f"a{number}", [block], stopReason="toolUse")
        is_error = number == 2
        made.add("message", f"r{number}", message={
            "role": "toolResult", "toolCallId": f"c{number}", "toolName": "flowctx_retrieve", "isError": is_error,
            "content": [{"type": "text", "text": result}],
        })  # fmt: skip
    made.answer("a9", [{"type": "toolCall", "id": "c9", "name": "lcm_expand_query",
                        "arguments": {"summaryIds": ["sum_a", "sum_b"], "prompt": "port"}}])  # fmt: skip
    made.save(tmp_path / "asking.jsonl")
    (found,) = [
        item for item in read_paths(list(walk(tmp_path)), ReadOptions(pool=MemoryPool(), now=NOW))
        if isinstance(item, Transcript)
    ]  # fmt: skip
    asked = [(e.engine, e.data["tool"], e.data["key"], e.data["hit"]) for e in found.engine_events]
    assert asked == [
        ("flowctx", "flowctx_retrieve", handle, True),
        ("flowctx", "flowctx_retrieve", "b" * 24, None),
        ("flowctx", "flowctx_retrieve", handle, False),
        ("lossless-claw", "lcm_expand_query", "sum_a, sum_b", None),
    ]


def test_a_summary_that_is_sent_again_was_made_once(tmp_path: Path) -> None:
    made = script("again")
    for number in range(3):
        made.user(f"u{number}", LEAF)
        made.answer(f"a{number}")
    made.save(tmp_path / "again.jsonl")
    (found,) = [
        item for item in read_paths(list(walk(tmp_path)), ReadOptions(pool=MemoryPool(), now=NOW))
        if isinstance(item, Transcript)
    ]  # fmt: skip
    assert [event.data["message"] for event in found.engine_events] == [0]
    assert [m.blocks[0].kind for m in found.messages if m.role == "user"] == ["summary"] * 3


def test_more_traces_than_are_kept_are_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(marking, "MOST_EVENTS", 2)
    made = script("many")
    for number in range(5):
        made.user(f"u{number}", HANDOFF + "\n" * number)
        made.answer(f"a{number}")
    made.save(tmp_path / "many.jsonl")
    (found,) = [
        item for item in read_paths(list(walk(tmp_path)), ReadOptions(pool=MemoryPool(), now=NOW))
        if isinstance(item, Transcript)
    ]  # fmt: skip
    assert len(found.engine_events) == 2
    (problem,) = [one for one in found.problems if one.code == "many_artefacts"]
    assert problem.severity == "info" and problem.message.startswith("3 more traces")
    assert json.dumps(found.engine_events[0].data)
