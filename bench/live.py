"""How long it takes from a written line to every open stream, and what memory each process takes meanwhile.

python -m bench live [--sessions 50] [--streams 200] [--minutes 1] [--every 5]
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import os
import socket
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import orjson

from bench.paint import session_cookie, status_of
from bench.scratch import ROOT, open_scratch, say

MIB = 1024 * 1024
MOST_SECONDS = 2.0
WARM_SECONDS = 15.0  # sessions are found and imported code is loaded; not counted
DRAIN_SECONDS = 10.0
LOOK_SECONDS = 2.0
TEXT = "the window fills while somebody looks at it, and what was said first is folded away " * 6


@dataclass(slots=True)
class Talk:
    """A session's file of Claude Code that grows by a row whose time is when it was written."""

    path: Path
    name: str
    rows: int = 0

    def grow(self) -> None:
        """Append a question or an answer."""
        at = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        is_answer = self.rows % 2
        said: dict[str, object] = {"role": "user", "content": f"{self.rows} {TEXT}"}
        if is_answer:
            usage = {"input_tokens": 20, "cache_read_input_tokens": 90 * self.rows, "output_tokens": 120}
            said = {"id": f"m-{self.name}-{self.rows}", "role": "assistant", "model": "claude-sonnet-4-5",
                    "usage": usage, "content": [{"type": "text", "text": f"{self.rows} {TEXT}"}]}  # fmt: skip
        row = {"type": "assistant" if is_answer else "user", "uuid": f"{self.name}-{self.rows}", "sessionId": self.name,
               "parentUuid": f"{self.name}-{self.rows - 1}" if self.rows else None, "isSidechain": False, "cwd": "/w",
               "version": "2.1.0", "timestamp": at, "message": said}  # fmt: skip
        with self.path.open("ab") as stream:
            stream.write(orjson.dumps(row) + b"\n")
        self.rows += 1


@dataclass(slots=True)
class Heard:
    """What the streams were told: seconds from writing to hearing, each message once for each stream."""

    seconds: list[float] = field(default_factory=list)
    known: list[float] = field(
        default_factory=list
    )  # until the row of the feed was written, of the first stream's rows
    messages: list[int] = field(default_factory=list)  # for each stream
    closed: int = 0
    resyncs: int = 0


async def _listen(port: int, cookie: str, number: int, heard: Heard, since: float) -> None:
    """One open stream; counts messages that were written after `since`."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=8 * MIB)
    writer.write(f"GET /live/stream HTTP/1.1\r\nHost: 127.0.0.1\r\nCookie: {cookie}\r\n\r\n".encode())
    name = b""
    try:
        while line := await reader.readline():
            if line.startswith(b"event: "):
                name = line[7:].strip()
                heard.resyncs += name == b"resync"
            elif line.startswith(b"data: ") and name == b"news":
                now = time.time()
                for row in orjson.loads(line[6:]):
                    at = datetime.fromisoformat(row["at"]).timestamp() if row["at"] else 0.0
                    if row["kind"] == "message" and at >= since:
                        heard.messages[number] += 1
                        heard.seconds.append(now - at)
                        if number == 0:
                            heard.known.append(datetime.fromisoformat(row["seen_at"]).timestamp() - at)
        heard.closed += 1
    finally:
        writer.close()


async def _write(talks: Sequence[Talk], every: float, until: float) -> int:
    """Have each session grow by a row every so many seconds, one after another; how many rows."""
    pause, written = every / len(talks), 0
    while time.time() < until:
        began = time.monotonic()
        talks[written % len(talks)].grow()
        written += 1
        await asyncio.sleep(max(0.0, pause - (time.monotonic() - began)))
    return written


@dataclass(slots=True)
class Used:
    """What a process took at each look: resident bytes, and seconds of processor since it began."""

    sizes: list[int] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)


async def _measure(used: dict[str, Used], pid: int, until: float) -> None:
    while time.time() < until:
        for name, size, seconds in used_by_tree(pid):
            one = used.setdefault(name, Used())
            one.sizes.append(size)
            one.seconds.append(seconds)
        await asyncio.sleep(LOOK_SECONDS)


def used_by_tree(pid: int) -> list[tuple[str, int, float]]:
    """A name, the resident bytes and the processor seconds of a process and all below it."""
    children: dict[int, list[int]] = {}
    for folder in Path("/proc").iterdir():
        with contextlib.suppress(OSError, ValueError, IndexError):
            number = int(folder.name)
            parent = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
            children.setdefault(parent, []).append(number)
    found, waiting = [], [(pid, "web server")]
    while waiting:
        number, name = waiting.pop()
        with contextlib.suppress(OSError, IndexError):
            fields = Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()
            seconds = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
            found.append((f"{name} ({number})", int(fields[21]) * os.sysconf("SC_PAGE_SIZE"), seconds))
        waiting.extend((child, _name_of(child, name)) for child in children.get(number, ()))
    return sorted(found)


def _name_of(pid: int, parent: str) -> str:
    with contextlib.suppress(OSError):
        words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
        if b"watch" in words:
            return "watcher"
        if any(b"counting" in word for word in words):
            return "token counter"
        if any(b"worker_process" in word for word in words):
            return "worker's jobs" if parent == "worker" else "worker"
    return "helper"


@contextlib.contextmanager
def _up(data: Path, home: Path) -> Iterator[tuple[int, int]]:
    """The whole product on the data folder, which follows `home`; its process id and port."""
    with socket.socket() as finder:
        finder.bind(("127.0.0.1", 0))
        port: int = finder.getsockname()[1]
    environment = os.environ | {"CONTEXTVIZ_DATA_DIR": str(data), "CONTEXTVIZ_WATCH": str(home)}
    command = [sys.executable, str(ROOT / "manage.py"), "up", "--port", str(port)]
    with (data.parent / "up.log").open("w") as log:
        started = subprocess.Popen(command, env=environment, stdout=log, stderr=log, start_new_session=True)
    try:
        _wait(port, started)
        yield started.pid, port
    finally:
        started.terminate()
        started.wait(30)


def _wait(port: int, started: subprocess.Popen[bytes]) -> None:
    for _ in range(600):
        with contextlib.suppress(OSError):
            if status_of(f"http://127.0.0.1:{port}", "/healthz") == 200:
                return
        if started.poll() is not None:
            break
        time.sleep(0.1)
    raise SystemExit("bench: the product did not start within a minute")


async def _run(port: int, pid: int, cookie: str, talks: Sequence[Talk], args: argparse.Namespace) -> int:
    warm = time.time() + WARM_SECONDS
    until = warm + args.minutes * 60
    heard, used = Heard(messages=[0] * args.streams), dict[str, Used]()
    streams = [asyncio.create_task(_listen(port, cookie, one, heard, warm)) for one in range(args.streams)]
    await _write(talks, args.every, warm)
    measuring = asyncio.create_task(_measure(used, pid, until))
    written = await _write(talks, args.every, until)
    for _ in range(int(DRAIN_SECONDS)):
        await asyncio.sleep(1)
        if min(heard.messages, default=0) >= written:
            break
    await measuring
    for one in streams:
        one.cancel()
    failed = sum(isinstance(one, Exception) for one in await asyncio.gather(*streams, return_exceptions=True))
    _tell_processes(used)
    return _told(heard, written, failed)


def _share(times: Sequence[float], part: float) -> float:
    ordered = sorted(times)
    return ordered[min(len(ordered) - 1, round(len(ordered) * part))] if ordered else float("inf")


def _told(heard: Heard, written: int, failed: int) -> int:
    late = _share(heard.seconds, 0.95)
    print(f"load average                  {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors")
    print(f"rows written                  {written:,}")
    missed = sum(max(0, written - count) for count in heard.messages)
    twice = sum(max(0, count - written) for count in heard.messages)
    print(
        f"rows heard                    {sum(heard.messages):,} by {len(heard.messages)} streams; missing {missed:,}, "
        f"too many {twice:,}, resyncs {heard.resyncs}, streams that ended {heard.closed + failed}"
    )
    mark = "   MISSED" if late > MOST_SECONDS else ""
    for what, times in (("from write to row", heard.known), ("from write to stream", heard.seconds)):
        print(
            f"{what:<29} p50 {_share(times, 0.5):.2f} s   p95 {_share(times, 0.95):.2f} s   longest "
            f"{_share(times, 1.0):.2f} s{mark if times is heard.seconds else ''}"
        )
    return 1 if late > MOST_SECONDS or missed or twice else 0


def _tell_processes(used: dict[str, Used]) -> None:
    print("process                    MiB  first    last    most    a minute   of a processor")
    for name, one in used.items():
        looked = max((len(one.sizes) - 1) * LOOK_SECONDS, 1.0)
        first, last = one.sizes[0] / MIB, one.sizes[-1] / MIB
        busy = (one.seconds[-1] - one.seconds[0]) / looked
        print(
            f"  {name:<26} {first:>7.0f} {last:>7.0f} {max(one.sizes) / MIB:>7.0f} "
            f"{(last - first) * 60 / looked:>+11.1f} {busy:>15.0%}"
        )


def main(arguments: Sequence[str]) -> int:
    """Measure and print; 1 where a stream missed a row or p95 is over two seconds."""
    parser = argparse.ArgumentParser(prog="python -m bench live", description=__doc__.splitlines()[0])
    parser.add_argument("--sessions", type=int, default=50, help="sessions that grow (default 50)")
    parser.add_argument("--streams", type=int, default=200, help="open streams (default 200)")
    parser.add_argument("--minutes", type=float, default=1, help="how long is measured (default 1)")
    parser.add_argument("--every", type=float, default=5, help="seconds between two rows of a session (default 5)")
    args = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="contextviz-bench-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        open_scratch(folder / "data")
        home = folder / "home" / "projects" / "w"
        home.mkdir(parents=True)
        names = [str(uuid.UUID(int=number + 1)) for number in range(args.sessions)]
        talks = [Talk(home / f"{one}.jsonl", one) for one in names]
        with _up(folder / "data", folder / "home") as (pid, port):
            say(f"{args.sessions} sessions grow, {args.streams} streams listen, for {args.minutes:g} minutes …")
            return asyncio.run(_run(port, pid, "=".join(session_cookie()), talks, args))
