"""What an import asks of Python itself: less work for its garbage collector, shorter turns for its threads."""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator
from contextlib import contextmanager

# Objects of a transcript are many, long-lived and without cycles: looking at them again and again costs a fifth of an
# import, and finds nothing. Counted in new objects, as gc.set_threshold takes them.
OBJECTS_BETWEEN = 100_000

# Seconds that a thread may keep Python's lock while another waits for it. The threads that write packs, rows and the
# search index need it a moment only, thousands of times, and then work without it.
TURN_SECONDS = 0.0005


@contextmanager
def short_turns() -> Iterator[None]:
    """Let threads take turns ten times as often inside."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(TURN_SECONDS)
    try:
        yield
    finally:
        sys.setswitchinterval(before)


@contextmanager
def few_collections() -> Iterator[None]:
    """Collect rarely inside, and never what was there before; as before afterwards."""
    before = gc.get_threshold()
    gc.freeze()
    gc.set_threshold(OBJECTS_BETWEEN, 50, 1000)
    try:
        yield
    finally:
        gc.set_threshold(*before)
        gc.unfreeze()
