"""Looking at every text where it is put into the pool: one place for all formats, and no text is fetched again."""

from __future__ import annotations

from typing import Any

from contextviz.events.artefacts import Artefact, find_artefacts
from contextviz.events.text import TextPool, TextRef
from contextviz.sources.source import Memory, Probe

Found = dict[bytes, tuple[Artefact, ...]]


class WatchedPool:
    """A text pool that notes which of the texts put into it hold artefacts (`found`, by digest).

    Whoever reads on from a kept state has to keep `found` with it: texts of before are not put again.
    """

    def __init__(self, pool: TextPool, found: Found | None = None) -> None:
        self._pool = pool
        self.found: Found = {} if found is None else found

    @property
    def estimator(self) -> str:
        """See TextPool.estimator."""
        return self._pool.estimator

    def put(self, text: str) -> TextRef:
        """See TextPool.put."""
        ref = self._pool.put(text)
        artefacts = find_artefacts(text)
        if artefacts:
            self.found.setdefault(ref.digest, artefacts)
        return ref

    def get(self, ref: TextRef) -> str:
        """See TextPool.get."""
        return self._pool.get(ref)


class WatchedMemory:
    """A memory that holds, with what a reader knows of a file, the artefacts that were found in it so far."""

    def __init__(self, memory: Memory, pool: WatchedPool) -> None:
        self._memory = memory
        self._pool = pool

    def take(self, reader: str, probe: Probe) -> Any | None:
        """See Memory.take."""
        kept = self._memory.take(reader, probe)
        if kept is None:
            return None
        found, state = kept
        self._pool.found.update(found)
        return state

    def keep(self, reader: str, probe: Probe, offset: int, state: Any) -> None:
        """See Memory.keep."""
        self._memory.keep(reader, probe, offset, (dict(self._pool.found), state))
