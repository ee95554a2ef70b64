"""Memory between the steps of an import."""

from __future__ import annotations

import ctypes
import sys

_LIBC = ctypes.CDLL(None) if sys.platform == "linux" else None


def give_back() -> None:
    """Let the system have what was freed. The C library keeps it otherwise: buffers of texts that were read, tens of
    megabytes of a large file, while the next step needs new memory. Costs some milliseconds; does nothing where the
    library has no such call."""
    trim = getattr(_LIBC, "malloc_trim", None)
    if trim is not None:
        trim(0)
