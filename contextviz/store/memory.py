"""Memory between the steps of an import."""

from __future__ import annotations

import ctypes
import sys

_LIBC = ctypes.CDLL(None) if sys.platform == "linux" else None
# glibc's <malloc.h>: from which size a block is the system's own, how much free memory is kept, how many heaps.
_MMAP_THRESHOLD, _TRIM_THRESHOLD, _ARENA_MAX = -3, -1, -8
_KEPT_BYTES = 128 * 1024


def keep_little() -> None:
    """Have the C library keep little of what is freed, from now on.

    By itself it raises the size from which a block goes back at once to that of the largest that was freed, and a heap
    for each thread keeps its own rest: 17 MB of an import of 200 MB. Does nothing where the library has no such call.
    """
    choose = getattr(_LIBC, "mallopt", None)
    if choose is not None:
        for option, value in ((_MMAP_THRESHOLD, _KEPT_BYTES), (_TRIM_THRESHOLD, _KEPT_BYTES), (_ARENA_MAX, 1)):
            choose(option, value)


def give_back() -> None:
    """Let the system have what was freed. The C library keeps it otherwise: buffers of texts that were read, tens of
    megabytes of a large file, while the next step needs new memory. Costs some milliseconds; does nothing where the
    library has no such call."""
    trim = getattr(_LIBC, "malloc_trim", None)
    if trim is not None:
        trim(0)
