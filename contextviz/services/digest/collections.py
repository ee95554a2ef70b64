"""Less work for Python's garbage collector while much is read."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

# Objects of a transcript are many, long-lived and without cycles: looking at them again and again costs a fifth of an
# import, and finds nothing. Counted in new objects, as gc.set_threshold takes them.
OBJECTS_BETWEEN = 100_000


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
