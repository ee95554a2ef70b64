"""Whether pages stay quick while a large file is imported, and how much memory that import takes.

python -m bench live-page [--mb 200] [--format openclaw] [--kind plain] [--calls 1000]
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from statistics import median

import orjson

from bench.generate import FORMATS, Size, generate
from bench.paint import ROOT, served, session_cookie, status_of
from bench.plan import KINDS
from bench.scratch import import_here, open_scratch

MB, MIB = 1_000_000, 1024 * 1024
MOST_MILLISECONDS, MOST_BYTES = 300, 300 * MB
BETWEEN = 0.1  # seconds between requests


def main(arguments: Sequence[str]) -> int:
    """Measure and print; 1 where a budget is missed."""
    parser = argparse.ArgumentParser(prog="python -m bench live-page", description=__doc__.splitlines()[0])
    parser.add_argument("--mb", type=float, default=200, help="size of the imported file, in MB (default 200)")
    parser.add_argument("--format", choices=FORMATS, default="openclaw")
    parser.add_argument("--kind", choices=KINDS, default="plain")
    parser.add_argument("--calls", type=int, default=1000, help="calls of the session that is looked at (default 1000)")
    args = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="contextviz-bench-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        open_scratch(folder / "data")
        import_here(generate(folder / "small", "compacted", Size(calls=args.calls), seed=7).files)
        large = generate(folder / "large", args.kind, Size(bytes=round(args.mb * MB)), format=args.format)
        records = import_module("contextviz.store.models").SessionRecord.objects
        (session_id,) = records.values_list("pk", flat=True)
        with served(folder / "data") as address:
            return _watched(address, folder / "data", session_id, large.files)


def _watched(address: str, data: Path, session_id: int, files: Sequence[Path]) -> int:
    cookie = "=".join(session_cookie())
    paths = [f"/sessions/{session_id}/", f"/sessions/{session_id}/calls/500/", "/"]
    alone = [_request(address, path, cookie) for path in paths * 10][len(paths) :]
    importing = subprocess.Popen(
        [sys.executable, "-m", "bench.measure", "import-into", str(data), *map(str, files)],
        stdout=subprocess.PIPE, cwd=ROOT, env=os.environ | {"PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    times: list[float] = []
    while importing.poll() is None:
        times.append(_request(address, paths[len(times) % len(paths)], cookie))
        time.sleep(BETWEEN)
    if importing.returncode or importing.stdout is None:
        raise SystemExit("bench: the import failed; see above")
    numbers = orjson.loads(importing.stdout.read().splitlines()[-1])
    return _told(alone, times, numbers, sum(file.stat().st_size for file in files))


def _request(address: str, path: str, cookie: str) -> float:
    start = time.perf_counter()
    status = status_of(address, path, cookie)
    if status != 200:
        raise SystemExit(f"bench: {path} answered {status}")
    return (time.perf_counter() - start) * 1000


def _told(alone: list[float], times: list[float], numbers: dict[str, float], size: int) -> int:
    late = _late(times)
    peak = numbers["peak_bytes"]
    print(f"pages, nothing else running   median {median(alone):6.0f} ms   p95 {_late(alone):6.0f} ms")
    print(
        f"pages while it imported       median {median(times):6.0f} ms   p95 {late:6.0f} ms   longest "
        f"{max(times):6.0f} ms   of {len(times)} requests{_mark(late > MOST_MILLISECONDS)}"
    )
    print(f"importing process             peak {peak / MB:.0f} MB ({peak / MIB:.0f} MiB){_mark(peak > MOST_BYTES)}")
    seconds, own = numbers["seconds"], numbers["processor_seconds"]
    print(
        f"import                        {size / MB / seconds:.1f} MB/s: {seconds:.0f} s, {own:.0f} s of its processor"
    )
    return 1 if late > MOST_MILLISECONDS or peak > MOST_BYTES else 0


def _late(times: Sequence[float]) -> float:
    return sorted(times)[min(len(times) - 1, round(len(times) * 0.95))]


def _mark(is_missed: bool) -> str:
    return "   MISSED" if is_missed else ""
