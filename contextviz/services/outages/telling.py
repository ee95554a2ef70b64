"""Sending from a thread of its own, so that a broker that does not answer holds nobody up."""

from __future__ import annotations

import logging
import os
import queue
import threading
from collections.abc import Callable
from dataclasses import dataclass, field

logger = logging.getLogger("contextviz.services.telling")
WAIT_SECONDS = 1.0
MOST_WAITING = 1_000


@dataclass(frozen=True, slots=True)
class _Message:
    send: Callable[[], object]
    job: str
    is_over: threading.Event = field(default_factory=threading.Event)


class Teller:
    """One thread that sends, one message after the other, for all threads of its process.

    Nothing depends on a message: it says to a worker that there is a row, and a worker looks for rows that wait by
    itself. So the sender waits for a second at most, and not at all while an earlier message hangs; of a thousand that
    hang no more than that are kept.
    """

    def __init__(self) -> None:
        self.renew()

    def renew(self) -> None:
        """Begin anew, without the thread: what a process made by a fork has to do."""
        self._waiting: queue.Queue[_Message] = queue.Queue(MOST_WAITING)
        self._starting = threading.Lock()
        self._thread: threading.Thread | None = None
        self._is_behind = False

    def tell(self, send: Callable[[], object], *, job: str) -> bool:
        """Have `send` called, which tells a worker of `job`; whether that is over (it may have failed, with a line in
        the log). Returns within a second; raises nothing."""
        message = _Message(send, job)
        self._start()
        try:
            self._waiting.put_nowait(message)
        except queue.Full:
            return False
        if not self._is_behind and message.is_over.wait(WAIT_SECONDS):
            return True
        if not self._is_behind and not message.is_over.is_set():
            self._is_behind = True
            logger.warning("the broker does not answer; jobs wait, and are told of again job=%s", job)
        return message.is_over.is_set()

    def _start(self) -> None:
        with self._starting:
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="teller", daemon=True)
                self._thread.start()

    def _run(self) -> None:
        while True:
            message = self._waiting.get()
            try:
                message.send()
            except Exception as error:  # whatever it is, the job's row waits and a worker finds it
                logger.warning(
                    "a worker could not be told of a job, it is told again within two minutes job=%s: %s: %s",
                    message.job, type(error).__name__, error,
                )  # fmt: skip
            message.is_over.set()
            if self._waiting.empty():
                self._is_behind = False


TELLER = Teller()
os.register_at_fork(after_in_child=TELLER.renew)
