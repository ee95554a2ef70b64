"""Measurements put together: each in a process of its own, several rounds, medians, beside the bare parser."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

import orjson

from bench.generate import Generated

MEASURES = ("parse", "read", "read-tokens", "import", "again", "grown")
WORDS = {
    "parse": "bare orjson lines",
    "read": "read, no tokens",
    "read-tokens": "read with tokens",
    "import": "import (saved)",
    "again": "import again, unchanged",
    "grown": "import again, 1% longer",
}
MB, MIB = 1_000_000, 1024 * 1024


@dataclass(frozen=True, slots=True)
class Measured:
    """The medians of one measurement."""

    seconds: float
    processor_seconds: float
    peak_bytes: float
    helpers_peak_bytes: float


@dataclass(slots=True)
class Case:
    """One generated input with what was measured on it."""

    kind: str
    format: str
    bytes: int
    calls: int
    files: int
    found: dict[str, Measured] = field(default_factory=dict)

    def rate(self, measure: str) -> float:
        """MB of input a second of wall time."""
        return self.bytes / MB / self.found[measure].seconds

    def as_json(self) -> dict[str, Any]:
        """The case for --json."""
        return {
            "kind": self.kind, "format": self.format, "bytes": self.bytes, "calls": self.calls, "files": self.files,
            "measured": {
                name: {
                    "seconds": one.seconds, "processor_seconds": one.processor_seconds,
                    "mb_per_second": self.rate(name), "peak_bytes": one.peak_bytes,
                    "helpers_peak_bytes": one.helpers_peak_bytes,
                }
                for name, one in self.found.items()
            },
        }  # fmt: skip


def measured(kind: str, format: str, made: Generated, measures: Sequence[str], rounds: int) -> Case:
    """Measure one input; rounds of different measures take turns, so that a busy minute spoils none alone."""
    case = Case(kind, format, made.bytes, made.calls, len(made.files))
    raw: dict[str, list[dict[str, float]]] = {measure: [] for measure in measures}
    for _ in range(max(1, rounds)):
        for measure in measures:
            raw[measure].append(_once(measure, made.files))
    for measure, runs in raw.items():
        case.found[measure] = Measured(*(median(run[name] for run in runs) for name in Measured.__slots__))
    return case


def _once(measure: str, files: Sequence[Path]) -> dict[str, float]:
    named = files if len(files) == 1 else [files[0].parent]
    command = [sys.executable, "-m", "bench.measure", measure, *map(str, named)]
    done = subprocess.run(command, capture_output=True, check=False, cwd=Path(__file__).parents[1])
    if done.returncode:
        sys.stderr.write(done.stderr.decode(errors="replace"))
        raise SystemExit(f"bench: measuring {measure!r} failed; see above")
    numbers: dict[str, float] = orjson.loads(done.stdout.splitlines()[-1])
    return numbers


def rendered(cases: Sequence[Case]) -> str:
    """The table that people read. `of bare` is the rate as a share of the bare parser's in the same run."""
    head = ("case", "MB", "calls", "what", "MB/s", "of bare", "wall s", "cpu s", "peak MiB", "helper MiB")
    rows = [head]
    for case in cases:
        for name, one in case.found.items():
            bare = case.found.get("parse")
            share = f"{bare.seconds / one.seconds:.1%}" if bare else "—"
            helper = f"{one.helpers_peak_bytes / MIB:.0f}" if one.helpers_peak_bytes else "—"
            rows.append(
                (
                    f"{case.kind} {case.format}", f"{case.bytes / MB:.0f}", f"{case.calls:,}", WORDS[name],
                    f"{case.rate(name):.1f}", share, f"{one.seconds:.2f}", f"{one.processor_seconds:.2f}",
                    f"{one.peak_bytes / MIB:.0f}", helper,
                )
            )  # fmt: skip
    widths = [max(len(row[column]) for row in rows) for column in range(len(head))]
    return "\n".join(_line(row, widths) for row in rows)


def _line(row: Sequence[str], widths: Sequence[int]) -> str:
    words = (0, 3)
    return "  ".join(
        text.ljust(width) if column in words else text.rjust(width)
        for column, (text, width) in enumerate(zip(row, widths, strict=True))
    ).rstrip()
