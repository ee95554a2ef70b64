"""What holds for every file, whatever is in it: nothing raised, bounded time and memory, every line accounted for."""

from __future__ import annotations

import resource
import signal
import traceback
from collections.abc import Iterator, Sequence
from dataclasses import fields
from datetime import UTC, datetime
from pathlib import Path
from types import FrameType
from typing import Any
from zoneinfo import ZoneInfo

import orjson

import contextviz
from bench.fuzz.families import Seed
from contextviz.analysis.inspect import problem_json, session_json
from contextviz.analysis.snapshots import snapshot_lines
from contextviz.analysis.windows import fill_window
from contextviz.events.problem import ReadProblem
from contextviz.events.session import SourceFile, Transcript
from contextviz.sources.files import NamedPath, read_paths
from contextviz.sources.memory import Resident
from contextviz.sources.source import ReadItem, ReadOptions
from contextviz.sources.unpack import unpacked
from contextviz.tokens.pool import MemoryPool

NOW = datetime(2026, 12, 31, tzinfo=UTC)
UTC_ZONE = ZoneInfo("UTC")
PACKAGE = Path(contextviz.__file__).parent
MOST_SECONDS = 5.0
MOST_GROWTH = 200 * 1024 * 1024
KIB = 1024


class Broken(Exception):
    """A rule that does not hold; the text says which."""


class TooSlow(Exception):
    """An input that takes more than MOST_SECONDS of processor time."""


def arm() -> None:
    """Have inputs that take too long end where they are. Processor time: the machine may have other work."""

    def end(_number: int, _frame: FrameType | None) -> None:
        raise TooSlow(f"more than {MOST_SECONDS:.0f} s of processor time")

    signal.signal(signal.SIGPROF, end)


class Oracle:
    """Reads a seed with one of its files replaced by other bytes, and holds the outcome against the rules."""

    def __init__(self, seeds: Sequence[Seed], scratch: Path, *, is_growing: bool):
        self.seeds = seeds
        self._scratch = scratch
        self._is_growing = is_growing
        scratch.mkdir(parents=True, exist_ok=True)

    def original(self, seed: int, file: int) -> bytes:
        """The bytes of a seed's file, both counted round."""
        one = self.seeds[seed % len(self.seeds)]
        return one.files[file % len(one.files)].path.read_bytes()

    def check(self, seed: int, file: int, data: bytes) -> None:
        """Read; raises whatever is a fault: Broken, TooSlow, or what a reader let through."""
        one = self.seeds[seed % len(self.seeds)]
        at = file % len(one.files)
        place = self._scratch / one.files[at].path.name
        place.write_bytes(data)
        paths = [*one.files[:at], NamedPath(place, one.files[at].name), *one.files[at + 1 :]]
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        signal.setitimer(signal.ITIMER_PROF, MOST_SECONDS)
        try:
            if self._is_growing:
                _grows(paths, at, place, data)
            else:
                _read(paths)
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
            place.unlink(missing_ok=True)
        growth = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * KIB
        if growth > MOST_GROWTH:
            raise Broken(f"{growth // 1024 // 1024} MiB more memory for {len(data):,} bytes")


def _read(paths: Sequence[NamedPath]) -> None:
    pool, told = MemoryPool(count=None), set[str | None]()
    with unpacked(paths) as opened:
        for item in opened.all_of(read_paths(opened.paths, ReadOptions(pool, NOW))):
            if isinstance(item, SourceFile):
                told.add(item.path)
            elif isinstance(item, Transcript):
                _accounted(item)
                fill_window(item)
                orjson.dumps(session_json(item, zone=UTC_ZONE))
                for line in snapshot_lines(item, pool):
                    orjson.dumps(line)
            elif isinstance(item, ReadProblem):
                told.add(item.file)
                orjson.dumps(problem_json(item))
                if not item.message:
                    raise Broken(f"a problem without a sentence: {item.code}")
        if missing := {named.name for named in (*paths, *opened.paths)} - told:
            raise Broken(f"nothing is told of {len(missing)} files: {', '.join(sorted(missing))}")


def _accounted(one: Transcript) -> None:
    """Lines, calls, messages and windows add up and point at what is there."""
    lines = one.lines
    told = lines.read + lines.blank + len(lines.malformed) + lines.unknown + (lines.in_progress is not None)
    if lines.total != told or lines.read < 0:
        raise Broken(f"{lines.total} lines, of which {told} are accounted for ({lines.read} read)")
    if [call.index for call in one.calls] != list(range(len(one.calls))):
        raise Broken("calls are not numbered from 0 on")
    for snapshot in one.log.snapshots:
        if not 0 <= snapshot.call_index < len(one.calls):
            raise Broken(f"a window of call {snapshot.call_index}, of {len(one.calls)}")


def _grows(paths: Sequence[NamedPath], at: int, place: Path, data: bytes) -> None:
    """What is read on from half of a file is what reading the whole gives."""
    memory, pool = Resident(), MemoryPool(count=None)
    cuts = sorted({data.find(b"\n", len(data) * part // 7) + 1 for part in (2, 3, 5)})
    for cut in (*cuts, len(data) * 4 // 5):
        place.write_bytes(data[:cut])
        for _ in read_paths(paths, ReadOptions(pool, NOW, memory=memory)):
            pass
    place.write_bytes(data)
    on = [_shape(item) for item in read_paths(paths, ReadOptions(pool, NOW, memory=memory))]
    whole = [_shape(item) for item in read_paths(paths, ReadOptions(MemoryPool(count=None), NOW))]
    if on != whole:
        raise Broken(f"read on, {paths[at].name} differs from the whole: {_difference(on, whole)}")


def _shape(item: ReadItem) -> Any:
    if not isinstance(item, Transcript):
        return item
    values = {one.name: getattr(item, one.name) for one in fields(item) if one.name != "log"}
    return values | {"items": item.log.table.items, "snapshots": item.log.snapshots}


def _difference(on: list[Any], whole: list[Any]) -> str:
    if len(on) != len(whole):
        return f"{len(on)} things of {len(whole)}"
    names: Iterator[str] = (
        ", ".join(name for name in right if left.get(name) != right[name]) if isinstance(right, dict) else "a file"
        for left, right in zip(on, whole, strict=True)
        if left != right
    )
    return next(names)


def place_of(error: BaseException) -> str:
    """Where a fault is, to tell one from another: its type and the last line of the product it passed."""
    frames = traceback.extract_tb(error.__traceback__)
    ours = [frame for frame in frames if Path(frame.filename).is_relative_to(PACKAGE)]
    last = ours[-1] if ours else frames[-1]
    digits = "".join(char for char in str(error) if not char.isdigit())[:80] if isinstance(error, Broken) else ""
    return f"{type(error).__name__} {last.filename.rpartition('contextviz/')[2]}:{last.lineno} {digits}".strip()
