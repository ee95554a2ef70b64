"""A text pool in memory, for `inspect` and tests."""

from __future__ import annotations

import hashlib
from collections.abc import Callable

from contextviz.events.text import TextRef, storable
from contextviz.tokens.estimate import ESTIMATOR, estimate


class MemoryPool:
    """Keeps every text once, by hash. `count` may be replaced (or be None: estimates of 0 are then never shown)."""

    def __init__(self, count: Callable[[str], int] | None = estimate, estimator: str = ESTIMATOR):
        self.estimator = estimator
        self._count = count
        self._texts: dict[bytes, str] = {}
        self._refs: dict[str, TextRef] = {}

    def put(self, text: str) -> TextRef:
        """See TextPool.put."""
        known = self._refs.get(text)
        if known is not None:
            return known
        good, raw = storable(text)
        digest = hashlib.sha256(raw).digest()
        ref = TextRef(digest, len(good), len(raw), self._count(good) if self._count else 0)
        self._texts[digest] = good
        self._refs[text] = ref
        return ref

    def get(self, ref: TextRef) -> str:
        """See TextPool.get."""
        return self._texts[ref.digest]
