"""The texts of one replay: the session's from the store, what the engine writes in memory until the run is saved.

A replay is given the tokens of a text at once, which the store's own pool knows only after a flush.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

from contextviz.events.text import TextPool, TextRef, storable
from contextviz.store.bulk import chunks
from contextviz.store.texts import TextReader
from contextviz.tokens.estimate import ESTIMATOR, estimate

TEXTS_AT_ONCE = 5_000


class ReplayPool:
    """A TextPool over a session's texts. Reads ahead what it is told to `hold`; writes nothing before `keep`."""

    def __init__(self, reader: TextReader | None = None) -> None:
        self.estimator = ESTIMATOR
        self._reader = reader or TextReader()
        self._held: dict[bytes, str] = {}
        self._refs: dict[bytes, TextRef] = {}
        self._made: dict[bytes, tuple[TextRef, str]] = {}

    def hold(self, refs: Iterable[TextRef]) -> None:
        """Have these texts of the store at hand: two queries for 5,000, where one by one would be two each."""
        for part in chunks(refs, TEXTS_AT_ONCE):
            self._refs.update((ref.digest, ref) for ref in part)
            self._held.update(self._reader.get_many(part))

    def put(self, text: str) -> TextRef:
        """See TextPool.put."""
        good, raw = storable(text)
        digest = hashlib.sha256(raw).digest()
        known = self._refs.get(digest)
        if known is not None:
            return known
        ref = TextRef(digest, len(good), len(raw), estimate(good))
        self._refs[digest] = ref
        self._made[digest] = (ref, good)
        return ref

    def get(self, ref: TextRef) -> str:
        """See TextPool.get."""
        held = self._held.get(ref.digest)
        if held is not None:
            return held
        made = self._made.get(ref.digest)
        return made[1] if made is not None else self._reader.get(ref)

    @property
    def made(self) -> list[bytes]:
        """The hashes of the texts that the engine wrote, as far as the session has no such text."""
        return list(self._made)

    def keep(self, into: TextPool) -> None:
        """Put what the engine wrote into the store's pool; its owner flushes it."""
        for _, text in self._made.values():
            into.put(text)
