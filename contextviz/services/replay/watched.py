"""Waiting for something slow without being held by it: for so long at most, and with a look around meanwhile."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import Future
from concurrent.futures import TimeoutError as NotYet
from threading import Thread
from typing import TypeVar

Given = TypeVar("Given")
LOOK_SECONDS = 0.5


class OutOfTime(Exception):
    """It had not ended when its time was over. Its thread goes on until what it waits for is closed."""


def nothing() -> None:
    """A look that never stops anything."""


def watched(work: Callable[[], Given], seconds: float, look: Callable[[], None] = nothing) -> Given:
    """What `work` gives or raises, done in a thread of its own; raises OutOfTime after `seconds`.

    `look` is called before it and twice a second meanwhile, in the caller's thread; what it raises ends the waiting.
    A thread, since timeouts of sockets count from one byte to the next, and none of them bounds looking up a name.
    """
    look()
    until = time.monotonic() + seconds
    given: Future[Given] = Future()
    Thread(target=_done, args=(work, given), name="contextviz-watched", daemon=True).start()
    while (left := until - time.monotonic()) > 0:
        try:
            return given.result(timeout=min(LOOK_SECONDS, left))
        except NotYet:
            if given.done():  # it has ended just now, or this is what the work itself raised
                return given.result()
            look()
    raise OutOfTime


def _done(work: Callable[[], Given], given: Future[Given]) -> None:
    try:
        given.set_result(work())
    except BaseException as error:  # whatever it is, it is raised where somebody waits for it
        given.set_exception(error)


def waited(seconds: float, look: Callable[[], None] = nothing) -> None:
    """Wait, with a look twice a second."""
    until = time.monotonic() + seconds
    while (left := until - time.monotonic()) > 0:
        look()
        time.sleep(min(LOOK_SECONDS, left))
