"""Every process is killed without notice while a session grows: afterwards nothing is missing and nothing is twice.

Real processes, on SQLite and its broker, and once more on PostgreSQL and Redis where they are installed.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.operations.servers import free_port, postgres, postgres_programs
from tests.sources.claude_code.help import SESSION, Writer
from tests.stack import ROOT, Stack, ending, stack_in, wait_until
from tests.watch.listening import Listener

pytestmark = [pytest.mark.kill, pytest.mark.worker, pytest.mark.slow]
TURNS = 24
COMPACTED_AFTER = 11
SUMMARY = "This session is being continued from a previous one."


def lines() -> list[str]:
    """A session of 24 turns, compacted once in the middle."""
    file = Writer(Path("unused"))
    for turn in range(TURNS):
        file.user(f"u{turn}", f"question {turn} " + "x" * turn)
        file.answer(f"a{turn}", f"answer {turn} " + "y" * turn, f"m{turn}")
        if turn == COMPACTED_AFTER:
            file.boundary("b", trigger="auto", preTokens=900, postTokens=90, durationMs=1500)
            file.summary("s", SUMMARY)
    return [line + "\n" for line in file.lines]


def length_of_each_message() -> list[int]:
    """Characters, in order."""
    found = []
    for turn in range(TURNS):
        found += [len(f"question {turn} ") + turn, len(f"answer {turn} ") + turn]
        found += [len(SUMMARY)] if turn == COMPACTED_AFTER else []
    return found


class Growing:
    """The session's file, written on demand."""

    def __init__(self, folder: Path) -> None:
        self.home = folder / "home"
        self.path = self.home / "projects" / "w" / f"{SESSION}.jsonl"
        self.path.parent.mkdir(parents=True)
        self._left = lines()
        self._turns = 0

    def to(self, turns: int) -> None:
        """Write on until so many turns are there."""
        with self.path.open("a") as stream:
            while self._left and self._turns < turns:
                line = self._left.pop(0)
                self._turns += '"type": "assistant"' in line
                stream.write(line)
                stream.flush()

    def end(self) -> None:
        """Write the rest."""
        self.to(TURNS + 1)


def calls(stack: Stack) -> int:
    """The calls that are known by now."""
    found = stack.rows("SELECT call_count FROM store_sessionrecord")
    return int(found[0][0]) if found else 0


def known(stack: Stack, turns: int) -> None:
    wait_until(lambda: calls(stack) >= turns, seconds=90, what=f"{turns} calls")


def complete(stack: Stack, listener: Listener | None) -> None:
    """Assert that everything is there once: rows, the feed, and what a browser was told of it."""
    found: dict[str, Any] = json.loads(stack.python("from tests.watch.probe import show; show()"))
    assert found["sessions"] == [[TURNS, 2 * TURNS + 1, 1]]
    assert found["messages"] == 2 * TURNS + 1
    assert found["words"] == [length_of_each_message()]
    kinds = [kind for _, kind, _ in found["feed"]]
    keys = [key for _, _, key in found["feed"]]
    assert len(keys) == len(set(keys))
    # The first turn was there when the file was read first: one row tells of it.
    assert [kinds.count(kind) for kind in ("session", "call", "compaction")] == [1, TURNS - 1, 1]
    assert kinds.count("message") == 2 * TURNS + 1 - 2
    assert found["states"] == ["done"]
    if listener is not None:
        wait_until(lambda: listener.rows[-1:] == [found["feed"][-1][0]], seconds=30, what="the last row in the stream")
        assert listener.resyncs == 0
        assert listener.rows == [number for number, _, _ in found["feed"]]


@contextlib.contextmanager
def listening(stack: Stack, port: int) -> Iterator[Listener]:
    cookie = stack.python("from tests.watch.probe import cookie; cookie()").strip()
    listener = Listener(port, cookie, after=0)
    try:
        wait_until(lambda: listener.connects, seconds=60, what="an open stream")
        yield listener
    finally:
        listener.close()


def test_watcher_worker_and_server_are_killed_and_nothing_is_missing_or_twice(tmp_path: Path) -> None:
    growing, port = Growing(tmp_path), free_port()
    with stack_in(tmp_path / "data", migrated=True) as stack:
        growing.to(1)
        watcher = stack.start("watch", str(growing.home))
        worker = stack.start("worker")
        web = stack.start("web", "--port", str(port))
        known(stack, 1)
        with listening(stack, port) as listener:
            growing.to(4)
            stack.kill_group(watcher)
            growing.to(7)
            watcher = stack.start("watch", str(growing.home))
            known(stack, 7)

            growing.to(10)
            stack.kill_group(worker)
            growing.to(13)
            worker = stack.start("worker")
            known(stack, 13)

            growing.to(15)
            stack.kill_group(web)
            growing.to(18)
            known(stack, 18)
            before = listener.connects
            stack.start("web", "--port", str(port))
            wait_until(lambda: listener.connects > before, seconds=60, what="the stream again")

            growing.to(20)
            stack.kill_group(watcher)
            stack.kill_group(worker)
            growing.end()
            stack.start("worker")
            stack.start("watch", str(growing.home))
            known(stack, TURNS)
            complete(stack, listener)


@contextlib.contextmanager
def scaled_out(tmp_path: Path, broker: int) -> Iterator[Stack]:
    """A stack on a PostgreSQL of its own and on a Redis at the port `broker`."""
    folder = tmp_path / "data"
    folder.mkdir(mode=0o700)
    with postgres("contextviz", "contextviz", "secret") as database:
        environment = {name: value for name, value in os.environ.items() if not name.startswith("CONTEXTVIZ_")}
        environment |= {
            "CONTEXTVIZ_DATA_DIR": str(folder), "DJANGO_SETTINGS_MODULE": "contextviz.settings",
            "CONTEXTVIZ_DATABASE_URL": f"postgres://contextviz:secret@127.0.0.1:{database}/contextviz",
            "CONTEXTVIZ_REDIS_URL": f"redis://127.0.0.1:{broker}/0", "PYTHONPATH": str(ROOT),
        }  # fmt: skip
        with ending(Stack(folder, environment)) as stack:
            stack.run("migrate", "--verbosity", "0", "--skip-checks")
            yield stack


def start_redis(stack: Stack, port: int) -> subprocess.Popen[str]:
    command = ["redis-server", "--save", "", "--port", str(port), "--bind", "127.0.0.1", "--dir", str(stack.data_dir)]
    with (stack.data_dir / f"redis-{len(stack.processes)}.log").open("w") as log:
        started = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT, text=True, start_new_session=True)
    stack.processes.append(started)
    return started


def test_redis_is_killed_with_all_its_messages_and_nothing_is_missing_or_twice(tmp_path: Path) -> None:
    if postgres_programs() is None or shutil.which("redis-server") is None:
        pytest.skip("PostgreSQL or Redis is not installed (Debian: apt install postgresql redis-server)")
    growing, broker = Growing(tmp_path), free_port()
    with scaled_out(tmp_path, broker) as stack:
        redis = start_redis(stack, broker)
        growing.to(1)
        worker = stack.start("worker")
        stack.start("watch", str(growing.home))
        known(stack, 1)

        growing.to(6)
        stack.kill_group(redis)
        growing.to(10)
        redis = start_redis(stack, broker)
        known(stack, 10)

        stack.kill_group(worker)
        growing.to(14)
        # The message for what came is there and goes with Redis: the worker that comes finds the row all the same.
        stack.kill_group(redis)
        start_redis(stack, broker)
        stack.start("worker")
        growing.end()
        known(stack, TURNS)
        complete(stack, None)
