"""What a replay costs by every engine: a session of 15,709 messages, 372,000 tokens, a window after each user message.

python -m bench engines [--messages 15709] [--engines keep-tail,flowctx] [--rounds 1] [--profile ENGINE] [--json]
"""

from __future__ import annotations

import argparse
import cProfile
import gc
import hashlib
import pstats
import resource
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from random import Random
from statistics import median

import orjson
import zstandard

from bench.words import WORDS, Writer
from contextviz.analysis.replay import foreknown, history_of, needs_of
from contextviz.engines.material import CallPoint, Material, Piece, Recorded, ReplayMessage
from contextviz.engines.oracle import Oracle
from contextviz.engines.registry import NoSuchEngine, engines, named
from contextviz.engines.replay import RunRequest, replay
from contextviz.engines.summarising.registry import summariser
from contextviz.events.run import Run
from contextviz.events.snapshot import ContextItem, SnapshotLog
from contextviz.tokens.estimate import estimate
from contextviz.tokens.pool import MemoryPool

MESSAGES = 15_709
MOST_SECONDS = 10.0
WINDOWS = {"wide": 200_000, "tight": 20_000}
START = 1_772_442_000_000
KIB, MIB, KB = 1024, 1024 * 1024, 1000
IN_A_CHUNK = 1024


@dataclass(frozen=True, slots=True)
class Measured:
    """One replay. `yardstick` is seconds of the processor for counting and hashing the session's texts once, in the
    same process; `bytes` are the differences as they are packed; `peak_bytes` the process's greatest memory."""

    engine: str
    window: int
    wall: float
    cpu: float
    yardstick: float
    calls: int
    boundaries: int
    nodes: int
    bytes: int
    peak_bytes: int
    hash: str

    @property
    def verdict(self) -> str:
        """MISSED where the budget is missed, and by which clock: a busy machine takes its time from the wall's."""
        if self.wall <= MOST_SECONDS:
            return ""
        return "MISSED" if self.cpu > MOST_SECONDS else "MISSED (wall alone)"


def main(arguments: Sequence[str]) -> int:
    """Measure and print; 1 where a replay misses its budget by both clocks."""
    parser = argparse.ArgumentParser(prog="python -m bench engines", description=__doc__.splitlines()[0])
    parser.add_argument("--messages", type=int, default=MESSAGES, help=f"of the session (default {MESSAGES:,})")
    parser.add_argument("--engines", default="", help="ids or keys with commas between; without it all")
    parser.add_argument("--windows", default=",".join(WINDOWS), help=f"of {', '.join(WINDOWS)}")
    parser.add_argument("--rounds", type=int, default=1, help="repetitions; medians are shown (default 1)")
    parser.add_argument("--profile", default="", help="print where the time of this engine goes")
    parser.add_argument("--json", action="store_true", help="print the numbers as one JSON object")
    parser.add_argument("--once", default="", help=argparse.SUPPRESS)
    args = parser.parse_args(arguments)
    windows = [WINDOWS[name] for name in WINDOWS if name in args.windows.split(",")]
    if args.once:
        sys.stdout.write(orjson.dumps(asdict(_measured(args.once, windows[0], args.messages))).decode() + "\n")
        return 0
    if args.profile:
        _profile(args.profile, windows[-1], args.messages)
        return 0
    try:
        keys = [named(name.strip()).spec.key for name in args.engines.split(",") if name.strip()]
    except NoSuchEngine as error:
        parser.error(str(error))
    found = [
        _middle([_in_a_process(key, name, args.messages) for _ in range(max(1, args.rounds))])
        for key in keys or [engine.spec.key for engine in engines()]
        for name in WINDOWS
        if name in args.windows.split(",")
    ]
    print(orjson.dumps([asdict(one) for one in found], option=orjson.OPT_INDENT_2).decode() if args.json
          else rendered(found))  # fmt: skip
    return int(any(one.verdict == "MISSED" for one in found))


def _in_a_process(key: str, window: str, messages: int) -> Measured:
    command = [sys.executable, "-m", "bench", "engines", "--once", key, "--windows", window]
    command += ["--messages", str(messages)]
    done = subprocess.run(command, capture_output=True, check=False, cwd=Path(__file__).parents[1])
    if done.returncode:
        sys.stderr.write(done.stderr.decode(errors="replace"))
        raise SystemExit(f"bench: replaying by {key} failed; see above")
    one = Measured(**orjson.loads(done.stdout.splitlines()[-1]))
    print(f"{key} {window}: {one.wall:.1f} s", file=sys.stderr, flush=True)
    return one


def _middle(rounds: Sequence[Measured]) -> Measured:
    """The medians of several rounds; what follows from the session is the same in all."""
    names = ("wall", "cpu", "yardstick", "peak_bytes")
    return replace(rounds[0], **{name: median(getattr(one, name) for one in rounds) for name in names})


def _measured(key: str, window: int, messages: int) -> Measured:
    pool = MemoryPool()
    material = session(messages, pool)
    yardstick = _yardstick(material)
    engine = named(key)
    if engine is Oracle:
        material = _with_needs(material)
    request = RunRequest({}, window, system_tokens=0)
    gc.collect()
    wall, cpu = time.perf_counter(), time.process_time()
    made = replay(material, engine, request, pool=pool, summarise=summariser(material=material))
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    return Measured(
        key, window, wall, cpu, yardstick, len(made.calls), len(made.boundaries), len(made.nodes), packed_bytes(made),
        resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * KIB, made.hash,
    )  # fmt: skip


def _profile(name: str, window: int, messages: int) -> None:
    pool = MemoryPool()
    material = session(messages, pool)
    engine = named(name)
    if engine is Oracle:
        material = _with_needs(material)
    profile = cProfile.Profile()
    profile.enable()
    replay(material, engine, RunRequest({}, window, system_tokens=0), pool=pool,
           summarise=summariser(material=material))  # fmt: skip
    profile.disable()
    pstats.Stats(profile).sort_stats("tottime").print_stats(25)


def _yardstick(material: Material) -> float:
    cpu = time.process_time()
    for message in material.messages:
        for piece in message.pieces:
            estimate(piece.text)
            hashlib.sha256(piece.text.encode()).digest()
    return time.process_time() - cpu


def _with_needs(material: Material) -> Material:
    history = history_of(material.messages, lambda text, ref: ref.estimated_tokens if ref else estimate(text))
    points = [point.messages for point in material.points]
    by_call, holds = foreknown(history, needs_of(history, points, root=None), len(points))
    return replace(material, needs=by_call, holds=holds)


def packed_bytes(made: Run) -> int:
    """The differences of all windows, packed as a run keeps them, without the items that they name."""
    pack, edits = zstandard.ZstdCompressor(level=3).compress, made.log.edits
    rows = [[edit.keep, _runs(edit.insert), edit.start, edit.end, _runs(edit.tail)] for edit in edits]
    return sum(len(pack(orjson.dumps(rows[at : at + IN_A_CHUNK]))) for at in range(0, len(rows), IN_A_CHUNK))


def _runs(positions: Sequence[int]) -> list[int]:
    """Starts and lengths in turns: a window is mostly a few stretches of neighbours."""
    runs: list[int] = []
    for position in positions:
        if runs and position == runs[-2] + runs[-1]:
            runs[-1] += 1
        else:
            runs += (position, 1)
    return runs


def session(messages: int, pool: MemoryPool, seed: int = 1) -> Material:
    """Turns of four messages, a user's, a tool call, its result, an answer; about 24 tokens each, files named again and
    again; a call after each user message. The same arguments give the same session."""
    writer = Writer(seed)
    files = [writer.path() for _ in range(max(10, messages // 40))]
    made: list[ReplayMessage] = []
    for seq in range(messages):
        made.append(ReplayMessage(seq, ("user", "assistant", "tool", "assistant")[seq % 4],
                                  (_piece(seq, writer.random, files, pool),), seq // 4 + 1, START + 9_000 * seq,
                                  f"m{seq}", seq))  # fmt: skip
    points = [CallPoint(at + 1, number) for number, at in enumerate(range(0, messages, 4))]
    material = Material(made, points, window=200_000, session_id="bench", agent="main")
    material.recorded = _recorded(material, pool)
    return material


def _piece(seq: int, draw: Random, files: Sequence[str], pool: MemoryPool) -> Piece:
    words = " ".join(draw.choices(WORDS, k=draw.randrange(3, 17)))
    # Most is said about what was said just now, some about what was long ago.
    path = files[min(len(files) - 1, seq // 40)] if draw.random() < 0.8 else draw.choice(files)
    place, tool, call = seq % 4, None, None
    text = f"{words} {path} {words[::-1][:6]}{seq}."
    if place in (1, 2):
        tool, call = "Read", f"call-{seq - (place == 2)}"
    if place == 1:
        text = orjson.dumps({"name": "Read", "arguments": {"path": path, "why": words[:40]}}).decode()
    kind = {1: "tool_call", 2: "tool_result"}.get(place, "text")
    return Piece(kind, text, 0, pool.put(text), tool, call)  # type: ignore[arg-type]


def _recorded(material: Material, pool: MemoryPool) -> Recorded:
    """Windows that only grow, as a client without compaction would have recorded them."""
    log, at, positions = SnapshotLog(), 0, 0
    for number, point in enumerate(material.points):
        tail = [
            log.table.intern(ContextItem(message.role, piece.kind, piece.ref or pool.put(piece.text), message.id,
                                         message.source_index, tool_call_id=piece.tool_call_id))
            for message in material.messages[at : point.messages]
            for piece in message.pieces
        ]  # fmt: skip
        log.add_from(number, positions, tail, basis="request")
        at, positions = point.messages, positions + len(tail)
    seqs = {message.seq: message.seq for message in material.messages}
    return Recorded(log, tuple(range(len(log.snapshots))), pool.get, seqs)


def rendered(found: Sequence[Measured]) -> str:
    """The table that people read."""
    head = ("engine", "window", "wall s", "× yardstick", "cpu s", "calls", "boundaries", "nodes", "differences KB",
            "peak MiB", "")  # fmt: skip
    rows = [head] + [
        (
            one.engine, f"{one.window:,}", f"{one.wall:.2f}", f"{one.wall / one.yardstick:.1f}", f"{one.cpu:.2f}",
            f"{one.calls:,}", f"{one.boundaries:,}", f"{one.nodes:,}", f"{one.bytes / KB:,.0f}",
            f"{one.peak_bytes / MIB:,.0f}", one.verdict,
        )
        for one in found
    ]  # fmt: skip
    widths = [max(len(row[column]) for row in rows) for column in range(len(head))]
    ends = (0, len(head) - 1)
    return "\n".join(
        "  ".join(
            text.ljust(width) if column in ends else text.rjust(width)
            for column, (text, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    )
