"""One measurement in one process: what to run, its wall and processor seconds, its peak memory, as a line of JSON.

    python -m bench.measure parse|read|read-tokens|import|again|grown PATH…
    python -m bench.measure import-into DATA PATH…

Each runs in a process of its own, so that no measurement warms or swells another.
"""

from __future__ import annotations

import atexit
import gc
import resource
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path

import orjson

from bench.scratch import import_here, open_scratch
from contextviz.events.session import Transcript
from contextviz.sources.files import NamedPath, read_paths
from contextviz.sources.source import ReadOptions
from contextviz.tokens.counting import close
from contextviz.tokens.estimate import estimate
from contextviz.tokens.pool import MemoryPool

KIB = 1024
GROWN = 0.01
SETTLED_SECONDS = 2.5
Counts = dict[str, int]


def parse(paths: Sequence[Path]) -> Counts:
    """The yardstick: every line through orjson, nothing kept."""
    lines = 0
    for path in paths:
        with path.open("rb") as stream:
            for line in stream:
                orjson.loads(line)
                lines += 1
    return {"lines": lines}


def read(paths: Sequence[Path], pool: MemoryPool) -> Counts:
    """Readers to events and snapshots, texts kept in memory (so its peak grows with the files)."""
    counts = {"sessions": 0, "messages": 0, "calls": 0, "items": 0}
    options = ReadOptions(pool, datetime.now(UTC))
    for item in read_paths([NamedPath(path, path.name) for path in paths], options):
        if isinstance(item, Transcript):
            counts["sessions"] += 1
            counts["messages"] += len(item.messages)
            counts["calls"] += len(item.calls)
            counts["items"] += len(item.log.table.items)
    return counts


def files_below(paths: Sequence[Path]) -> list[Path]:
    """The files that the paths name, folders opened."""
    return [file for path in paths for file in ([path] if path.is_file() else sorted(path.rglob("*.jsonl")))]


def _prepare_parse(paths: Sequence[Path]) -> Callable[[], Counts]:
    files = files_below(paths)
    return lambda: parse(files)


def _prepare_read(paths: Sequence[Path]) -> Callable[[], Counts]:
    pool, files = MemoryPool(count=None), files_below(paths)
    return lambda: read(files, pool)


def _prepare_tokens(paths: Sequence[Path]) -> Callable[[], Counts]:
    estimate("loads the tokenizer's tables before the clock starts")
    pool, files = MemoryPool(), files_below(paths)
    return lambda: read(files, pool)


def _prepare_import(paths: Sequence[Path]) -> Callable[[], Counts]:
    """The whole: files received, read, counted and saved, into a database of its own that goes away again."""
    folder = _scratch_folder()
    return _prepare_import_into([folder, *paths])


def _prepare_again(paths: Sequence[Path]) -> Callable[[], Counts]:
    """The import of files of which nothing has changed since they were imported in this process."""
    return _prepare_second(paths, grows=False)


def _prepare_grown(paths: Sequence[Path]) -> Callable[[], Counts]:
    """The import of files that became a hundredth longer since they were imported in this process."""
    return _prepare_second(paths, grows=True)


def _prepare_second(paths: Sequence[Path], *, grows: bool) -> Callable[[], Counts]:
    folder = _scratch_folder()
    files, tails = _copied(files_below(paths), folder / "files", GROWN if grows else 0)
    run_into = _prepare_import_into([folder / "data", *files])
    time.sleep(SETTLED_SECONDS)  # a file that changed just now is opened again: its time may be too coarse
    import_here(files)
    for file, tail in zip(files, tails, strict=True):
        if tail:
            with file.open("ab") as out:
                out.write(tail)
    return run_into


def _scratch_folder() -> Path:
    """A folder that goes away when the process ends."""
    folder = tempfile.TemporaryDirectory(prefix="contextviz-bench-", ignore_cleanup_errors=True)
    atexit.register(folder.cleanup)
    return Path(folder.name)


def _copied(files: Sequence[Path], folder: Path, share: float) -> tuple[list[Path], list[bytes]]:
    """Copies without their last whole lines, and those lines: `share` of each file, nothing where it is 0."""
    folder.mkdir(parents=True)
    copies, tails = [], []
    for file in files:
        copy = folder / file.name
        shutil.copyfile(file, copy)
        with copy.open("r+b") as stream:
            size = copy.stat().st_size
            stream.seek(size - int(size * share))
            if share:
                stream.readline()
            at = stream.tell()
            tails.append(stream.read())
            stream.truncate(at)
        copies.append(copy)
    return copies, tails


def _prepare_import_into(paths: Sequence[Path]) -> Callable[[], Counts]:
    """The same into the data folder that is named first."""
    open_scratch(paths[0])
    models = import_module("contextviz.store.models")

    def run() -> Counts:
        import_here(paths[1:])
        sessions = list(models.SessionRecord.objects.values_list("message_count", "call_count"))
        return {
            "sessions": len(sessions),
            "messages": sum(one[0] for one in sessions),
            "calls": sum(one[1] for one in sessions),
        }

    return run


PREPARE: dict[str, Callable[[Sequence[Path]], Callable[[], Counts]]] = {
    "parse": _prepare_parse,
    "read": _prepare_read,
    "read-tokens": _prepare_tokens,
    "import": _prepare_import,
    "again": _prepare_again,
    "grown": _prepare_grown,
    "import-into": _prepare_import_into,
}


def main(arguments: Sequence[str]) -> int:
    """Run the measurement that the arguments name and print its numbers."""
    what, paths = arguments[0], [Path(argument) for argument in arguments[1:]]
    run = PREPARE[what](paths)
    gc.collect()
    wall, processor = time.perf_counter(), time.process_time()
    counts = run()
    seconds, processor_seconds = time.perf_counter() - wall, time.process_time() - processor
    close()  # a helper's memory is known when it has ended
    numbers = {
        "seconds": seconds,
        "processor_seconds": processor_seconds,
        "peak_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * KIB,
        "helpers_peak_bytes": resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * KIB,
        **counts,
    }
    sys.stdout.write(orjson.dumps(numbers).decode() + "\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
