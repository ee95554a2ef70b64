"""Files that grow are read on from where they ended, and what comes of it is what reading the whole gives."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from dataclasses import fields
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from contextviz.events.session import Transcript
from contextviz.events.text import TextRef
from contextviz.sources.files import NamedPath, read_paths
from contextviz.sources.memory import Resident
from contextviz.sources.source import Probe, ReadItem, ReadOptions
from contextviz.tokens.pool import MemoryPool
from tests.sources.claude_code.help import SESSION, Writer, call
from tests.sources.codex.building import Rollout
from tests.sources.copilot_cli import building as copilot_cli
from tests.sources.cursor.building import lines as written
from tests.sources.cursor.building import query
from tests.sources.droid.building import Rows, tool
from tests.sources.kiro.building import made
from tests.sources.openclaw.build import script
from tests.sources.openhands import building as oh

NOW = datetime(2026, 12, 1, tzinfo=UTC)


class Counted(Resident):
    """A memory that counts how often it had something."""

    hits = 0

    def take(self, reader: str, probe: Probe) -> Any | None:
        found = super().take(reader, probe)
        self.hits += found is not None
        return found


class OneReading(MemoryPool):
    """A pool as long as it is read, with the texts of the readings before; who keeps it longer loses what is put."""

    is_over = False

    def __init__(self, before: MemoryPool) -> None:
        super().__init__(count=None)
        self._texts, self._refs = before._texts, before._refs

    def put(self, text: str) -> TextRef:
        assert not self.is_over, "the pool of an earlier reading"
        return super().put(text)

    def get(self, ref: TextRef) -> str:
        assert not self.is_over, "the pool of an earlier reading"
        return super().get(ref)


class Reads:
    """Reads of one folder with and without a memory."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.memory = Counted()
        self.pool = MemoryPool(count=None)

    def on(self) -> list[Any]:
        pool = OneReading(self.pool)
        found = [shape(item) for item in self._read(pool, self.memory)]
        pool.is_over = True
        return found

    def whole(self) -> list[Any]:
        return [shape(item) for item in self._read(MemoryPool(count=None), None)]

    def _read(self, pool: MemoryPool, memory: Resident | None) -> Iterator[ReadItem]:
        paths = sorted(path for path in self.folder.rglob("*") if path.is_file())
        named = [NamedPath(path, path.relative_to(self.folder).as_posix()) for path in paths]
        return read_paths(named, ReadOptions(pool, NOW, memory=memory))


def shape(item: ReadItem) -> Any:
    """Everything that is read, without what a log keeps for itself."""
    if not isinstance(item, Transcript):
        return item
    values = {one.name: getattr(item, one.name) for one in fields(item) if one.name != "log"}
    return values | {"items": item.log.table.items, "snapshots": item.log.snapshots}


def openclaw() -> bytes:
    one = script(version=3)
    one.user("u1", "look at \ud83d this")
    one.call("c1", "t1")
    one.result("r1", "t1", "[flowctx hash=0123456789abcdef01234567 tokens=9]")
    one.answer("a1")
    one.add("message", "late", "comes-later", message={"role": "user", "content": "my parent comes later"})
    one.add("custom", "comes-later", "a1", customType="note")
    one.add("compaction", "k1", "comes-later", summary="what was said", firstKeptEntryId="a1", tokensBefore=900)
    one.user("u2")
    one.answer("a2", prompt=50)
    one.add("usage", "us", usage={"input": 5, "output": 1}, kind="title")
    one.add("message", "b1", "a1", message={"role": "user", "content": "another branch"})
    one.answer("b2")
    one.add("strange", "x1")
    one.add("leaf", "l1", targetId="a2")
    one.user("u3", parent="a2")
    one.answer("a3", prompt=70)
    one.add("compaction", "k2", summary="all of it", firstKeptEntryId="not-there", tokensBefore=10)
    return lines(one.lines())


def claude() -> bytes:
    one = Writer(Path("unused"))
    one.user("u1", "first")
    one.answer("a1", "so", "m1")
    one.answer("a1b", "so far so good", "m1")
    one.answer("a1c", call("t1"), "m1")
    one.result("r1", "t1", "found")
    one.answer("s1", "inside", "ms", isSidechain=True, agentId="x")
    one.answer("a2", "done", "m2", parent="r1")
    one.boundary("b1", trigger="auto", preTokens=900)
    one.summary("sum", "This session is being continued from a previous conversation: so it went")
    one.user("u2", "next")
    one.answer("a3", "yes", "m3")
    one.user("u1", "first, written again", parent=None)
    one.flat({"type": "strange", "sessionId": SESSION})
    one.flat({"type": "ai-title", "aiTitle": "A title", "sessionId": SESSION})
    one.answer("a4", "no", "m4", parent="u2")
    return "".join(line + "\n" for line in one.lines).encode()


def codex() -> bytes:
    one = Rollout(base_instructions={"text": "be brief"})
    one.turn()
    one.message("user", "first")
    one.message("assistant", "so")
    one.usage(100, 20, 5)
    one.item("function_call", name="read", arguments="{}", call_id="t1")
    one.item("function_call_output", call_id="t1", output="found")
    one.item("strange")
    one.message("assistant", "done")
    one.usage(150, 90, 6)
    one.add("compacted", {"message": "what was said", "replacement_history": [
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "first"}]},
    ]})  # fmt: skip
    one.message("user", "second")
    one.message("assistant", "again")
    one.usage(80, 10, 6)
    one.event("thread_rolled_back", num_turns=1)
    one.message("user", "third")
    one.message("assistant", "at last")
    one.usage(60, 10, 6)
    return "".join(line + "\n" for line in one.lines).encode()


def copilot() -> bytes:
    first = copilot_cli.Log()
    first.user("first")
    return lines([*first.events, *copilot_cli.full().events[1:]])


def droid() -> bytes:
    one = Rows()
    one.user("u1", "first")
    for turn in range(1, 5):
        one.answer(f"a{turn}", [tool(f"t{turn}", file_path="a")])
        one.result(f"r{turn}", f"t{turn}", "A")
    one.compacted("k1", anchorMessage={"id": "r2", "index": 4})
    one.user("u2", "go on")
    one.answer("a9", "ok")
    one.add("strange", "x1")
    return lines(one.rows)


def kiro() -> bytes:
    one = made()
    one.rows[0]["data"]["content"].insert(0, {"kind": "text", "data": "first"})
    one.add("ResetTo", {"target_index": 3})
    one.add("Strange")
    one.add("Clear")
    return lines(one.rows)


def cursor() -> bytes:
    return lines([query("first"), *written(), {"type": "strange"}, *written()])


def openhands() -> bytes:
    reply = oh.reply("r1", ["c1"], oh.usage(50))
    recall = oh.event(3, observation="recall", content="", extras={"repo_instructions": "ask before"})
    forgets = oh.condensation(6, forgotten_event_ids=[1], summary="what was said", summary_offset=1)
    events = [oh.system(0), oh.user(1, "first"), oh.user(2, "a picture", image_urls=[oh.IMAGE]), recall,
              oh.runs(4, "c1", reply), oh.ran(5, "c1", reply, "found", 4), forgets,
              oh.event(7, action="strange", args={}), oh.says(8, "done"),
              oh.user(9, "go on"), oh.says(10, "yes")]  # fmt: skip
    return lines(events)


def openhands_sdk() -> bytes:
    forgets = oh.sdk(5, "Condensation", forgotten_event_ids=[oh.name_of(1)], summary="it", summary_offset=1)
    events = [oh.sdk_system(0), oh.sdk_user(1, "first"), oh.sdk_user(2, "and", extended_content=[oh.text("more")]),
              oh.sdk_runs(3, "c1", "r1", "a look"), oh.sdk_ran(4, "c1", "found"), forgets, oh.sdk(6, "StrangeEvent"),
              oh.sdk_says(7, "done", "r2"), oh.sdk_user(8, "go on"), oh.sdk_says(9, "yes", "r3")]  # fmt: skip
    return lines(events)


def lines(values: list[Any]) -> bytes:
    return "".join(json.dumps(value) + "\n" for value in values).encode()


def damaged(data: bytes) -> bytes:
    """The same with blank, padded, cut and glued lines in it."""
    rows = data.splitlines(keepends=True)
    rows[3:3] = [b"\n", b"\x00\x00\x00\n", b'{"type": "message", "id": "cut', b"\n"]
    rows[8] = rows[8].rstrip(b"\n") + rows[9]
    return b"\xef\xbb\xbf" + b"".join(rows)


CASES: dict[str, tuple[str, Callable[[], bytes]]] = {
    "openclaw": ("s-1.jsonl", openclaw),
    "claude": (f"{SESSION}.jsonl", claude),
    "codex": ("rollout-2026-05-01T10-00-00-019e0000-0001-7000-8000-000000000001.jsonl", codex),
    "copilot": ("events.jsonl", copilot),
    "droid": ("d-1.jsonl", droid),
    "kiro": ("k-1.jsonl", kiro),
    "cursor": ("c-1.jsonl", cursor),
    "openhands": ("o-1.jsonl", openhands),
    "openhands, its SDK": ("o-2.jsonl", openhands_sdk),
}


@pytest.mark.parametrize("is_damaged", [False, True])
@pytest.mark.parametrize("case", CASES)
def test_a_file_read_as_it_grows_is_the_file_read_at_once(tmp_path: Path, case: str, is_damaged: bool) -> None:
    name, make = CASES[case]
    data = damaged(make()) if is_damaged else make()
    reads, chance = Reads(tmp_path), random.Random(f"{case} {is_damaged}")
    ends = [at + 1 for at, byte in enumerate(data) if byte == 10]
    cuts = sorted({*ends, *(chance.randrange(1, len(data)) for _ in range(25))})
    for cut in cuts:
        (tmp_path / name).write_bytes(data[:cut])
        assert reads.on() == reads.whole(), f"after {cut} bytes"
    assert reads.memory.hits > len(cuts) // 2, "most of these were read on, not anew"


def test_a_sub_agents_file_grows_beside_its_sessions(tmp_path: Path) -> None:
    root = Writer(tmp_path / f"{SESSION}.jsonl")
    agent = Writer(tmp_path / SESSION / "subagents" / "agent-x1.jsonl", isSidechain=True, agentId="x1")
    reads = Reads(tmp_path)
    for turn in range(4):
        root.user(f"u{turn}", f"ask {turn}")
        root.answer(f"a{turn}", "say", f"m{turn}")
        root.save()
        agent.user(f"su{turn}", "look")
        agent.answer(f"sa{turn}", "seen", f"ms{turn}")
        agent.save()
        assert reads.on() == reads.whole()
    assert reads.memory.hits == 6


def test_a_half_written_last_line_waits_and_is_there_once_when_it_is_whole(tmp_path: Path) -> None:
    name, make = CASES["openclaw"]
    data = make()
    start = data.rindex(b"\n", 0, -1) + 1
    reads = Reads(tmp_path)
    (tmp_path / name).write_bytes(data[: start + 20])

    waiting = next(item for item in reads.on() if isinstance(item, dict))
    assert waiting["lines"].in_progress == data.count(b"\n")
    (tmp_path / name).write_bytes(data)
    done = next(item for item in reads.on() if isinstance(item, dict))

    assert (done["lines"].in_progress, done["lines"].total) == (None, data.count(b"\n"))
    assert "in_progress" not in {problem.code for problem in done["problems"]}
    assert reads.memory.hits == 1
    assert done == next(item for item in reads.whole() if isinstance(item, dict))


@pytest.mark.parametrize("case", CASES)
def test_a_rewritten_rotated_or_cut_file_is_read_whole(tmp_path: Path, case: str) -> None:
    name, make = CASES[case]
    data = make()
    rows = data.splitlines(keepends=True)
    reads = Reads(tmp_path)
    versions = {
        "as it was": data,
        "a word changed near its beginning, and longer": data.replace(b"first", b"First", 1) + rows[-1],
        "cut": b"".join(rows[:5]),
        "another of the same size": data.replace(b"0", b"1"),
    }
    for what, version in versions.items():
        (tmp_path / name).write_bytes(version)
        assert reads.on() == reads.whole(), what
    assert reads.memory.hits == 0


def test_what_is_written_behind_the_known_size_is_left_for_the_next_time(tmp_path: Path) -> None:
    name, make = CASES["codex"]
    data = make()
    reads = Reads(tmp_path)
    (tmp_path / name).write_bytes(data[: len(data) // 2])

    # The file gets its rest between the look at it and the reading of it.
    real = Path.stat
    half = real(tmp_path / name)
    (tmp_path / name).write_bytes(data)
    patch = pytest.MonkeyPatch()
    patch.setattr(Path, "stat", lambda path, **more: half if path.name == name else real(path, **more))
    try:
        first = reads.on()
    finally:
        patch.undo()

    (tmp_path / name).write_bytes(data[: len(data) // 2])
    assert [item["messages"] for item in first if isinstance(item, dict)] == [
        item["messages"] for item in reads.whole() if isinstance(item, dict)
    ]
    (tmp_path / name).write_bytes(data)
    assert reads.on() == reads.whole()


def test_a_memory_is_bounded_by_the_bytes_of_its_files(tmp_path: Path) -> None:
    name, make = CASES["openclaw"]
    memory = Resident(most_bytes=2 * len(make()))
    for number in range(3):
        folder = tmp_path / str(number)
        folder.mkdir()
        (folder / f"{number}{name}").write_bytes(make())
        named = [NamedPath(folder / f"{number}{name}", f"{number}{name}")]
        list(read_paths(named, ReadOptions(MemoryPool(count=None), NOW, memory=memory)))

    held = [key[1] for key in memory._kept]

    assert held == [f"1{name}", f"2{name}"]
