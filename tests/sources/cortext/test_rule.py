"""The rule of the window's beginning against the engine's own results (../shared/cases/engines/cortext)."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from contextviz.events.call import ModelCall
from contextviz.events.compaction import Compaction
from contextviz.events.engine_event import EngineEvent
from contextviz.events.message import Block, Message
from contextviz.events.session import Session, Transcript
from contextviz.events.snapshot import ContextItem
from contextviz.events.usage import TokenUsage
from contextviz.sources.attach import attach
from contextviz.sources.plain.content import dumps
from contextviz.sources.windowed import text_of
from contextviz.tokens.pool import MemoryPool

AT = datetime(2026, 1, 2, 10, tzinfo=UTC)


@pytest.fixture
def goldens(shared: Path) -> Path:
    folder = shared / "cases" / "engines" / "cortext"
    if not folder.is_dir():
        pytest.skip("../shared/cases/engines/cortext is not here")
    return folder


def blocks(content: Any, pool: MemoryPool) -> tuple[Block, ...]:
    if isinstance(content, str):
        return (Block("text", pool.put(content)),)
    found = []
    for part in content:
        if isinstance(part, str) or isinstance(part.get("text"), str):
            found.append(Block("text", pool.put(part if isinstance(part, str) else part["text"])))
        elif part.get("type") == "toolCall":
            given = {"name": part["name"]} | ({"arguments": part["arguments"]} if "arguments" in part else {})
            found.append(Block("tool_call", pool.put(dumps(given)), part["name"]))
        else:
            found.append(Block("image" if part.get("type") == "image" else "thinking", pool.put("")))
    return tuple(found)


def message(number: int, value: dict[str, Any], pool: MemoryPool) -> Message:
    role = {"toolResult": "tool"}.get(value["role"], value["role"])
    return Message(number, f"e{number}", None, role, value["role"], blocks(value["content"], pool), AT, None, "host")


def moved(view: list[dict[str, Any]], anchor: dict[str, Any], pool: MemoryPool) -> Transcript:
    """One call that was given the whole view, after the anchor was set."""
    host = Transcript(Session("S", "openclaw"))
    host.messages = [message(number, value, pool) for number, value in enumerate(view)]
    window = [
        ContextItem(one.role, block.kind, block.text, one.id, one.index)
        for one in host.messages
        for block in one.blocks
    ]
    host.calls.append(ModelCall(0, None, None, AT + timedelta(hours=1), None, TokenUsage(1)))
    host.log.add(0, window, basis="rules")
    part = Transcript(Session("s-S", "cortext"), ["compaction.json"])
    data = {name: anchor[name] for name in ("role", "textPrefix", "dropped")}
    part.engine_events.append(
        EngineEvent("window.moved", "cortext", AT, "compaction.json", None, "disk", "exact", data)
    )
    part.compactions.append(Compaction("anchor-1", 1, None, "compaction.json", AT, "trim", producer="cortext"))
    attach(host, part, pool)
    return host


def shown(host: Transcript) -> list[int | None]:
    """The messages of the window in order, the bridge as None."""
    found: list[int | None] = []
    for item in host.log.window(0):
        if not found or found[-1] != item.message_index:
            found.append(item.message_index)
    return found


def test_windows_begin_where_the_engine_lets_them_begin(goldens: Path) -> None:
    sequences = json.loads((goldens / "anchor_sequences.json").read_text())
    steps = [step for one in sequences for step in one["steps"] if step.get("anchorBefore")]
    assert len(steps) >= 3
    for step in steps:
        found = shown(moved(step["view"], step["anchorBefore"], MemoryPool()))
        whole = list(range(len(step["view"])))
        systems = [n for n in whole[: step["cutIndex"] or 0] if step["view"][n]["role"] == "system"]
        expected = [*systems, None, *whole[step["cutIndex"] :]] if step["windowed"] else whole
        assert found == expected, step["label"]
        assert not step["windowed"] or len(found) == step["outLen"]


def test_each_compaction_gives_the_roles_that_the_engine_assembled(goldens: Path) -> None:
    views = json.loads((goldens / "views.json").read_text())
    cases = [one for one in json.loads((goldens / "compact_expected.json").read_text()) if one["compact"]["compacted"]]
    assert len(cases) >= 3
    for case in cases:
        view = views[case["view"]]
        found = shown(moved(view, case["compact"]["anchor"], MemoryPool()))
        roles = ["user" if number is None else view[number]["role"] for number in found]
        assert roles == case["assembledRoles"], case["id"]


def test_a_messages_text_is_what_the_engine_sees(goldens: Path) -> None:
    cases = json.loads((goldens / "message_text.json").read_text())
    assert cases
    for case in cases:
        pool = MemoryPool()
        assert text_of(message(0, {"role": "user", "content": case["content"]}, pool), pool) == case["text"]
