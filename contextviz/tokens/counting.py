"""Tokens counted beside the reader, in a process of its own.

Counting is the dearest step of an import and the tokenizer holds Python's lock meanwhile, so a thread would not help.
A second process counts on another core, and its tables (70 MB) are not in the importing one. Texts go out in batches;
a ticket is the promise of their counts.
"""

from __future__ import annotations

import atexit
import logging
import os
import queue
import subprocess
import sys
import threading
from array import array
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO

from contextviz.tokens.estimate import estimate

logger = logging.getLogger("contextviz.tokens")
IDLE_SECONDS = 120.0  # without work for so long, the process goes away and frees its memory
CLOSE_SECONDS = 5.0
_PROJECT = str(Path(__file__).parents[2])


class Ticket:
    """The counts of one batch, once they are there."""

    def __init__(self, texts: Sequence[bytes]) -> None:
        self.texts: Sequence[bytes] = texts
        self._done = threading.Event()
        self._counts: Sequence[int] = ()
        self._error: Exception | None = None

    def keep(self, counts: Sequence[int]) -> None:
        """Hold the counts ready, and the texts no longer."""
        self._counts, self.texts = counts, ()
        self._done.set()

    def fail(self, error: Exception) -> None:
        """Nobody can count these texts: whoever waits for them is told, and waits no longer."""
        self._error, self.texts = error, ()
        self._done.set()

    def counts(self) -> Sequence[int]:
        """Estimated tokens of each text, in order; waits for them. Raises RuntimeError where they cannot be counted."""
        self._done.wait()
        if self._error is not None:
            raise RuntimeError("the tokens of a text could not be counted") from self._error
        return self._counts


def count_later(texts: Sequence[bytes]) -> Ticket:
    """Have the tokens of `texts` (valid UTF-8) counted by tokens.estimate's estimator; returns at once.

    Where no second process can be had, they are counted in this one, which takes longer and more memory.
    """
    ticket = Ticket(texts)
    _counter().submit(ticket)
    return ticket


class _Counter:
    """The process with the thread that talks to it. Both start with the first batch."""

    def __init__(self) -> None:
        self.pid = os.getpid()
        self._waiting: queue.SimpleQueue[Ticket | None] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._process: subprocess.Popen[bytes] | None = None

    def submit(self, ticket: Ticket) -> None:
        with self._lock:
            self._waiting.put(ticket)
            if self._thread is None:
                self._thread = threading.Thread(target=self._serve, name="token-counter", daemon=True)
                self._thread.start()

    def close(self) -> None:
        """End the thread and the process; what waits is counted before."""
        with self._lock:
            thread = self._thread
            self._waiting.put(None)
        if thread is not None:
            thread.join(CLOSE_SECONDS)

    def _serve(self) -> None:
        while True:
            ticket = self._next()
            if ticket is None:
                return
            try:
                ticket.keep(self._counted(ticket.texts))
            except Exception as error:  # an unanswered ticket would hold its reader, and every later one, for ever
                ticket.fail(error)

    def _counted(self, texts: Sequence[bytes]) -> Sequence[int]:
        try:
            return self._ask(texts)
        except (OSError, EOFError) as error:
            logger.warning("the counting process is gone (%s); tokens are counted in this process", error)
            _end(self._process)
            self._process = None
            return [estimate(text.decode()) for text in texts]

    def _next(self) -> Ticket | None:
        try:
            ticket = self._waiting.get(timeout=IDLE_SECONDS)
        except queue.Empty:
            ticket = None
        if ticket is not None:
            return ticket
        with self._lock:
            if not self._waiting.empty():  # a batch came in just now
                return self._waiting.get()
            # From here on the next batch starts a thread and a process of its own.
            process, self._process, self._thread = self._process, None, None
        _end(process)
        return None

    def _ask(self, texts: Sequence[bytes]) -> Sequence[int]:
        process = self._started()
        if process.stdin is None or process.stdout is None:
            raise EOFError("it has no pipes")
        send(process.stdin, array("I", map(len, texts)), b"".join(texts))
        return receive_numbers(process.stdout)

    def _started(self) -> subprocess.Popen[bytes]:
        if self._process is None:
            path = os.pathsep.join(filter(None, (_PROJECT, os.environ.get("PYTHONPATH"))))
            self._process = subprocess.Popen(
                [sys.executable, "-m", "contextviz.tokens.counting_process"],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=os.environ | {"PYTHONPATH": path},
            )  # fmt: skip
        return self._process


def _end(process: subprocess.Popen[bytes] | None) -> None:
    if process is None:
        return
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            with suppress(OSError):
                pipe.close()  # the end of its input ends it
    try:
        process.wait(CLOSE_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


_counters: list[_Counter] = []


def _counter() -> _Counter:
    # A forked child has its parent's list, but neither its thread nor the right to its process.
    if not _counters or _counters[0].pid != os.getpid():
        _counters[:] = [_Counter()]
    return _counters[0]


@atexit.register
def close() -> None:
    """End this process's counting process, if it has one; the next batch starts another."""
    if _counters and _counters[0].pid == os.getpid():
        _counters.pop().close()


def send(stream: IO[bytes], numbers: array[int], body: bytes = b"") -> None:
    """Write how many numbers there are, the numbers, and what they speak of."""
    stream.write(array("I", [len(numbers)]).tobytes() + numbers.tobytes())
    stream.write(body)
    stream.flush()


def receive_numbers(stream: IO[bytes]) -> array[int]:
    """Read numbers as `send` writes them; raises EOFError where the other side is gone."""
    count = array("I")
    count.frombytes(receive(stream, 4))
    numbers = array("I")
    numbers.frombytes(receive(stream, 4 * count[0]))
    return numbers


def receive(stream: IO[bytes], size: int) -> bytes:
    """Read exactly `size` bytes; raises EOFError where there are fewer."""
    data = stream.read(size)
    if len(data) < size:
        raise EOFError("its output ended")
    return data
