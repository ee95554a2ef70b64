"""Sessions, windows and settings for the properties that every engine has to hold: nothing in them is likely."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from hypothesis import strategies as st

from contextviz.engines.engine import Engine
from contextviz.engines.material import CallPoint, Material, Piece, Recorded, ReplayMessage
from contextviz.engines.replay import RunRequest
from contextviz.engines.settings import Setting
from contextviz.events.message import Kind, Role
from contextviz.events.snapshot import ContextItem, SnapshotLog
from contextviz.tokens.pool import MemoryPool

START = 1_750_000_000_000
MINUTE, WEEK = 60_000, 604_800_000
LISTING = "\n".join(f"{number:4} src/part{number}.py: value_{number} = {number * 37}" for number in range(120))
LOG = "\n".join(f"2026-01-05 10:00:{number:02} ERROR worker {number}: timed out" for number in range(60))
JSON = '{"rows": [' + ", ".join(f'{{"id": {number}, "name": "row {number}"}}' for number in range(90)) + "]}"
BODIES = (
    "", "yes", "Look at src/reader.py, please.", "今天我们检查会话窗口。", "会話の要約が必要です。" * 60,
    "👩‍👩‍👧 ok", "\ud83d half",
    "a\x00b\x1b[2J", "[1, 2, 3]", '{"broken": ', JSON, LISTING, LOG, "## TASK / GOAL\nship it\n## OPEN STATE\nnothing",
    "[Context Summary — 3 messages compacted]", "<flowctx-handoff-note>quoted</flowctx-handoff-note>", "word " * 900,
    "x" * 30_000, "🙂" * 3_000,
)  # fmt: skip
TOOLS = ("Read", "bash", "Task", "flowctx_retrieve", "memory_search", "sessions_spawn")
NONSENSE: tuple[Any, ...] = (
    None, "", "many", "1e3", "0x10", "∞", float("nan"), float("inf"), -1, -1e300, 10**30, True, [], {}, [7], "\ud800",
)  # fmt: skip
WINDOWS = (None, 0, 1, 40, 300, 1_500, 6_000, 200_000)
STEPS = ("user", "user", "say", "say", "think", "call", "call", "calls", "cycle", "result", "result", "results", "late",
         "system", "developer", "stray", "image", "bare")  # fmt: skip


@dataclass(slots=True)
class Making:
    """A session while it is made: the messages so far and the calls whose results have not come."""

    chance: random.Random
    messages: list[ReplayMessage] = field(default_factory=list)
    waiting: list[tuple[str, str]] = field(default_factory=list)
    turn: int = 0
    at: int = START
    numbered: int = 0

    def body(self) -> str:
        """Some text; in half of them a number, so that no two are the same."""
        text = self.chance.choice(BODIES)
        return f"{text} #{len(self.messages)}" if text and self.chance.random() < 0.5 else text

    def add(self, role: Role, *pieces: tuple[Kind, str, str | None, str | None]) -> None:
        """One message of pieces: kind, text, tool, id of the call."""
        self.turn += role == "user"
        self.at += self.chance.choice((0, 900, 900, 7 * MINUTE, WEEK + MINUTE))
        seq = len(self.messages)
        made = tuple(
            Piece(kind, text, index, tool_name=tool, tool_call_id=call, is_error=self.chance.random() < 0.1,
                  media_bytes=900 if kind == "image" else None)
            for index, (kind, text, tool, call) in enumerate(pieces)
        )  # fmt: skip
        at = self.at if self.chance.random() < 0.9 else None
        name = f"m{seq}" if self.chance.random() < 0.9 else None
        self.messages.append(ReplayMessage(seq, role, made, self.turn, at, name, seq))

    def call(self, number: int) -> None:
        """An answer of the model with calls, half of the time with words before them."""
        pieces: list[tuple[Kind, str, str | None, str | None]] = []
        if self.chance.random() < 0.5:
            pieces.append(("text", self.body(), None, None))
        for _ in range(number):
            self.numbered += 1
            tool, name = self.chance.choice(TOOLS), f"call-{self.numbered}"
            text = self.chance.choice((f'{{"name": "{tool}", "arguments": {{"path": "a.py"}}}}', self.body()))
            pieces.append(("tool_call", text, tool, name))
            self.waiting.append((tool, name))
        self.add("assistant", *pieces)

    def result(self, *, at: int = 0, number: int = 1) -> None:
        """Results of calls that wait, in one message of the tool."""
        found = [self.waiting.pop(at) for _ in range(min(number, len(self.waiting)))]
        if found:
            self.add("tool", *(("tool_result", self.body(), tool, name) for tool, name in found))

    def step(self, what: str) -> None:
        """One of STEPS."""
        if what in ("user", "system", "developer"):
            self.add(what, ("system" if what == "system" else "text", self.body(), None, None))  # type: ignore[arg-type]
        elif what == "say":
            self.add("assistant", ("text", self.body(), None, None))
        elif what == "think":
            self.add("assistant", ("thinking", self.body(), None, None), ("text", self.body(), None, None))
        elif what == "image":
            self.add("user", ("image", "", None, None), ("text", self.body(), None, None))
        elif what == "bare":
            self.add(self.chance.choice(("assistant", "tool", "user")))
        elif what == "stray":
            self.add("tool", ("tool_result", self.body(), "Read", f"nobody-{len(self.messages)}"))
        elif what == "cycle":
            for _ in range(3):
                self.call(1)
                self.result(at=-1)
        elif what in ("call", "calls"):
            self.call(1 if what == "call" else 3)
        else:
            self.result(at=-1 if what == "late" else 0, number=3 if what == "results" else 1)


class Drawn:
    """A material, what is asked of its replay, and whether the summariser fails now and then. No dataclass, so that a
    failing example is printed in few lines."""

    def __init__(self, material: Material, request: RunRequest, *, fails: bool) -> None:
        self.material = material
        self.request = request
        self.fails = fails

    def __repr__(self) -> str:
        lines = [
            f"{one.seq} {one.role} {[(p.kind, p.tool_call_id, len(p.text), p.text[:20]) for p in one.pieces]}"
            for one in self.material.messages
        ]
        calls = [point.messages for point in self.material.points]
        return "\n".join([f"{self.request}, calls after {calls}, fails: {self.fails}", *lines])


@st.composite
def drawn(draw: st.DrawFn, engine: type[Engine]) -> Drawn:
    """A session of some sixty messages, and a request with settings of `engine` and of nobody."""
    steps = draw(st.lists(st.sampled_from(STEPS), max_size=28))
    return made_up(engine, steps, draw(st.integers(0, 2**32)))


def made_up(engine: type[Engine], steps: Sequence[str], seed: int) -> Drawn:
    """The same for steps and a seed."""
    chance = random.Random(seed)
    made = Making(chance)
    is_alone = chance.random() < 0.2  # nobody asks for anything
    for step in steps:
        made.step("say" if is_alone and step in ("user", "image") else step)
    settings: dict[str, Any] = {}
    for setting in engine.spec.settings:
        if chance.random() < 0.5:
            settings[setting.key] = _value(setting, chance)
    if chance.random() < 0.2:
        settings["nobody.knows"] = chance.choice(NONSENSE)
    request = RunRequest(
        settings, chance.choice(WINDOWS), chance.choice((None, None, 0, 20, 2_000)),
        chance.choice((None, None, 0, 30, 3_000)),
        chance.choice((None, None, "cp-weighted", "chars4-each", "ov-json2-text4", "nonsense")),
    )  # fmt: skip
    return Drawn(_material(made, chance), request, fails=chance.random() < 0.15)


def _value(setting: Setting, chance: random.Random) -> Any:
    if chance.random() < 0.15:
        return chance.choice(NONSENSE)
    if setting.kind == "bool":
        return chance.random() < 0.5
    if setting.kind == "choice":
        return chance.choice(setting.choices)
    if setting.kind == "text":
        return chance.choice(("", "openclaw", "1 storage\n2 parser\n\n3", '{"1": "storage", "3": 4}', "\ud83d" * 9))
    least = setting.least if setting.least is not None else -10.0
    most = setting.most if setting.most is not None else 10_000.0
    near = (least, least, most, least - 1, most + 1, least + 0.5, *(min(most, one) for one in (least + 3, 40.0, 900.0)))
    value = chance.choice((*near, chance.uniform(least, most)))
    return value if setting.kind == "float" or chance.random() < 0.2 else int(value)


def _material(made: Making, chance: random.Random) -> Material:
    messages = made.messages
    places = sorted(chance.choice(range(len(messages) + 1)) for _ in range(chance.randrange(1, 14)))
    answers = [at for at, message in enumerate(messages) if message.role == "assistant"]
    places = chance.choice((places, answers, [at + 1 for at in range(len(messages))]))
    points = [CallPoint(at, number if chance.random() < 0.8 else None) for number, at in enumerate(places)]
    material = Material(
        messages, points, window=chance.choice((None, 2_000)), system_tokens=chance.choice((None, 100)),
        session_id=chance.choice(("s1", "../etc\x00", "")), agent=chance.choice(("main", "")),
    )  # fmt: skip
    if chance.random() < 0.8:
        material.recorded = _recorded(material, chance)
        names = [f"value_{number}" for number in range(8)]
        material.needs = [frozenset(chance.sample(names, 2)) for _ in points]
        material.holds = {one.seq: frozenset(chance.sample(names, 2)) for one in messages}
    return material


def _recorded(material: Material, chance: random.Random) -> Recorded:
    """Windows as a client may have recorded them: from some message on, at most of the calls."""
    pool, log, first = MemoryPool(), SnapshotLog(), 0
    for point in material.points:
        if point.model_call is None or chance.random() < 0.1:
            continue
        first = chance.choice((first, first, max(0, point.messages - 4)))
        log.add(
            point.model_call,
            [
                ContextItem(message.role, piece.kind, pool.put(piece.text), message.id, message.source_index,
                            tool_call_id=piece.tool_call_id, tool_name=piece.tool_name)
                for message in material.messages[first : point.messages]
                for piece in message.pieces
            ],
            basis="request",
        )  # fmt: skip
    seqs = {message.seq: message.seq for message in material.messages}
    return Recorded(log, tuple(range(len(log.snapshots))), pool.get, seqs)
