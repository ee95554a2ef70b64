"""How quick pages are on sessions of many calls: time, bytes and queries of every address, in this process.

python -m bench pages [--calls 1000,10000,30000] [--formats claude-code,openclaw] [--rounds 9] [--keep FOLDER]
                      [--paint] [--profile NAME] [--json]
"""

from __future__ import annotations

import argparse
import cProfile
import pstats
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from importlib import import_module
from pathlib import Path
from statistics import median
from typing import Any

import orjson

from bench.addresses import Address, Extent, every
from bench.generate import FORMATS, Format, Size, generate
from bench.paint import painted
from bench.scratch import import_here, open_scratch, say, signed_in_client

MOST_MILLISECONDS = 150
MOST_PAINT_MILLISECONDS = 1000


@dataclass(frozen=True, slots=True)
class Measured:
    """One address of one session: milliseconds of warm requests, bytes of the reply, queries of one request."""

    format: str
    calls: int
    name: str
    url: str
    middle_ms: float
    late_ms: float  # the 95th of a hundred
    own_ms: float  # of the processor: on a busy machine the only one that says something
    bytes: int
    most_bytes: int
    queries: int
    status: int

    def misses(self, fewest_queries: int) -> str:
        """What it misses, in a word each; "" where it holds."""
        found = [
            ("status", self.status not in (200, 302)),
            ("time", min(self.middle_ms, self.own_ms) > MOST_MILLISECONDS),
            ("bytes", self.bytes > self.most_bytes),
            ("queries", self.queries > fewest_queries),
        ]
        return " ".join(word for word, is_missed in found if is_missed)


def main(arguments: Sequence[str]) -> int:
    """Measure and print; 1 where an address misses its budget."""
    parser = argparse.ArgumentParser(prog="python -m bench pages", description=__doc__.splitlines()[0])
    parser.add_argument("--calls", default="1000,10000,30000", help="sizes of the sessions (default 1000,10000,30000)")
    parser.add_argument("--formats", default=",".join(FORMATS), help=f"of {', '.join(FORMATS)}")
    parser.add_argument("--rounds", type=int, default=9, help="requests an address, after one to warm up (default 9)")
    parser.add_argument("--keep", type=Path, help="a folder whose imported sessions are kept, and used the next time")
    parser.add_argument("--paint", action="store_true", help="also: milliseconds to the first chart in Chromium")
    parser.add_argument("--profile", default="", help="print where the time of the addresses of this name goes")
    parser.add_argument("--json", action="store_true", help="print the numbers as one JSON object")
    args = parser.parse_args(arguments)
    formats = [name for name in FORMATS if name in args.formats.split(",")]
    sizes = [int(text) for text in args.calls.split(",")]
    with _folder(args.keep) as folder:
        open_scratch(folder / "data", is_kept=args.keep is not None)
        extents = [(name, _session(folder, name, calls)) for name in formats for calls in sizes]
        import_module("django.conf").settings.ALLOWED_HOSTS = ["*"]
        if args.profile:
            _profile(extents[-1][1], args.profile)
            return 0
        found = [one for name, extent in extents for one in _measured(name, extent, args.rounds)]
        paints = painted(folder / "data", [extent for _, extent in extents]) if args.paint else []
    if args.json:
        print(orjson.dumps([asdict(one) for one in found], option=orjson.OPT_INDENT_2).decode())
    else:
        print(rendered(found))
        for extent, name, milliseconds in paints:
            mark = "  MISSED" if milliseconds > MOST_PAINT_MILLISECONDS else ""
            print(f"{name} of {extent.calls:,} calls: first chart after {milliseconds:.0f} ms (most 1,000){mark}")
    is_missed = any(one.misses(fewest) for one, fewest in _with_fewest(found))
    return 1 if is_missed or any(ms > MOST_PAINT_MILLISECONDS for _, _, ms in paints) else 0


@contextmanager
def _folder(kept: Path | None) -> Iterator[Path]:
    if kept is not None:
        kept.mkdir(parents=True, exist_ok=True)
        yield kept
        return
    with tempfile.TemporaryDirectory(prefix="contextviz-bench-", ignore_cleanup_errors=True) as name:
        yield Path(name)


def _session(folder: Path, format: Format, calls: int) -> Extent:
    """The generated session of that size, imported unless the folder has it from the last time."""
    records = import_module("contextviz.store.models").SessionRecord.objects
    wanted = records.filter(format__startswith=format, call_count=calls)
    if not wanted.exists():
        out = folder / "files" / f"{format}-{calls}"
        # Another seed each: one session may not be the beginning of another.
        made = generate(out, "compacted", Size(calls=calls), format=format, seed=calls)
        say(f"importing {format}, {calls:,} calls, {made.bytes / 1_000_000:.0f} MB …")
        import_here(made.files)
        for file in made.files:
            file.unlink()
    row = wanted.get()
    return Extent(row.pk, row.call_count, row.compaction_count, row.message_count - 1)


def _measured(format: str, extent: Extent, rounds: int) -> Iterator[Measured]:
    client = signed_in_client()
    for address in every(extent):
        yield measure(client, format, extent.calls, address, rounds)


def measure(client: Any, format: str, calls: int, address: Address, rounds: int) -> Measured:
    """One address: a request to warm up (its queries are counted), then `rounds` that are timed."""
    capture = import_module("django.test.utils").CaptureQueriesContext(import_module("django.db").connection)
    headers = {"accept": address.accept}
    client.get(address.url, headers=headers)
    with capture as queries:
        response = client.get(address.url, headers=headers)
    count = len(queries)  # now: the next request empties the list
    times, own = [], []
    for _ in range(rounds):
        start, processor = time.perf_counter(), time.process_time()
        client.get(address.url, headers=headers)
        own.append((time.process_time() - processor) * 1000)
        times.append((time.perf_counter() - start) * 1000)
    late = sorted(times)[min(len(times) - 1, round(len(times) * 0.95))]
    size = len(b"".join(response.streaming_content)) if response.streaming else len(response.content)
    return Measured(
        format, calls, address.name, address.url, median(times), late, median(own), size, address.most_bytes, count,
        response.status_code,
    )  # fmt: skip


def _profile(extent: Extent, name: str) -> None:
    client = signed_in_client()
    for address in every(extent):
        if address.name != name:
            continue
        client.get(address.url, headers={"accept": address.accept})
        profile = cProfile.Profile()
        profile.runcall(client.get, address.url, headers={"accept": address.accept})
        pstats.Stats(profile).sort_stats("tottime").print_stats(30)


def _with_fewest(found: Sequence[Measured]) -> Iterator[tuple[Measured, int]]:
    """Each with the queries of its address in the smallest session of its format."""
    fewest: dict[tuple[str, str], int] = {}
    for one in sorted(found, key=lambda one: one.calls):
        fewest.setdefault((one.format, one.name), one.queries)
    for one in found:
        yield one, fewest[(one.format, one.name)]


def rendered(found: Sequence[Measured]) -> str:
    """The table that people read: a row for each address, missed budgets named at its end."""
    head = (
        "session",
        "address",
        "median ms",
        "p95 ms",
        "cpu ms",
        f"of {MOST_MILLISECONDS}",
        "KB",
        "most",
        "queries",
        "",
    )
    rows: list[Sequence[str]] = [head]
    for one, fewest in _with_fewest(found):
        missed = one.misses(fewest)
        rows.append(
            (
                f"{one.format} {one.calls:,}", one.name, f"{one.middle_ms:.1f}", f"{one.late_ms:.1f}",
                f"{one.own_ms:.1f}", f"{min(one.middle_ms, one.own_ms) / MOST_MILLISECONDS:.0%}",
                f"{one.bytes / 1000:.1f}", f"{one.most_bytes // 1000}",
                f"{one.queries}", f"MISSED {missed}" if missed else "",
            )
        )  # fmt: skip
    widths = [max(len(row[column]) for row in rows) for column in range(len(head))]
    return "\n".join(
        "  ".join(
            text.ljust(width) if column in (0, 1, 9) else text.rjust(width)
            for column, (text, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    )
