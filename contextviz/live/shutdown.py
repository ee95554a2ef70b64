"""What must end before the server may: open event streams would otherwise hold it until they are cut off."""

from __future__ import annotations

import logging
from collections.abc import Callable

logger = logging.getLogger("contextviz.live")
_callbacks: list[Callable[[], None]] = []


def register(callback: Callable[[], None]) -> None:
    """Have the callback run once when the server is told to stop.

    It runs on the server's event-loop thread, inside a signal handler: it must not block; pushing a sentinel to
    each stream's queue is what it is for.
    """
    if callback not in _callbacks:
        _callbacks.append(callback)


def unregister(callback: Callable[[], None]) -> None:
    """Forget the callback; unknown ones are ignored."""
    if callback in _callbacks:
        _callbacks.remove(callback)


def run_all() -> None:
    """Run every registered callback; a failing one is logged and does not keep the others from running."""
    for callback in list(_callbacks):
        try:
            callback()
        except Exception:
            logger.exception("a shutdown callback failed callback=%r", callback)
