"""What this process remembers of files that grow: readers' states, by the bytes that they follow from."""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from contextviz.sources.source import Probe

READ_BYTES = 1024 * 1024
# A state takes about as much memory as its file has bytes where messages are short, and less where they are long.
MOST_BYTES = 96 * 1024 * 1024
Key = tuple[str, str]


@dataclass(slots=True)
class _Kept:
    """A state, with the running hash of the `offset` bytes that it follows from."""

    state: Any
    offset: int
    hashed: Any


class Resident:
    """A Memory (sources.source) of this process; what was used longest ago goes when its files are more than
    `most_bytes` together. Safe for several threads.

    A file is what it was read as only where its first bytes are the same, all of them: it may have been rewritten,
    rotated or cut, whatever its name and size say. Hashing them costs a second for two gigabytes.
    """

    def __init__(self, most_bytes: int = MOST_BYTES) -> None:
        self._most_bytes = most_bytes
        self._kept: OrderedDict[Key, list[_Kept]] = OrderedDict()
        self._bytes = 0
        self._hashed: dict[Path, tuple[int, Any]] = {}
        self._lock = threading.Lock()

    def take(self, reader: str, probe: Probe) -> Any | None:
        """See Memory.take."""
        with self._lock:
            return self._take(reader, probe)

    def _take(self, reader: str, probe: Probe) -> Any | None:
        for one in sorted(self._kept.get((reader, probe.name), ()), key=lambda kept: -kept.offset):
            if one.offset > probe.size:
                continue
            found = _hash_on(hashlib.sha256(), probe.path, 0, one.offset)
            if found.digest() == one.hashed.digest():
                self._remove((reader, probe.name), one)
                self._hashed = {probe.path: (one.offset, found)}
                return one.state
        return None

    def keep(self, reader: str, probe: Probe, offset: int, state: Any) -> None:
        """See Memory.keep."""
        with self._lock:
            self._keep(reader, probe, offset, state)

    def _keep(self, reader: str, probe: Probe, offset: int, state: Any) -> None:
        start, found = self._hashed.pop(probe.path, (0, hashlib.sha256()))
        if offset == 0 or offset > self._most_bytes:
            return
        found = _hash_on(found, probe.path, start, offset)
        key = (reader, probe.name)
        for one in list(self._kept.get(key, ())):
            if one.offset == offset and one.hashed.digest() == found.digest():
                self._remove(key, one)
        self._kept.setdefault(key, []).append(_Kept(state, offset, found))
        self._kept.move_to_end(key)
        self._bytes += offset
        while self._bytes > self._most_bytes:
            oldest = next(iter(self._kept))
            self._remove(oldest, self._kept[oldest][0])

    def clear(self) -> None:
        """Forget everything: what was read may not have been saved."""
        with self._lock:
            self._kept.clear()
            self._hashed.clear()
            self._bytes = 0

    def _remove(self, key: Key, one: _Kept) -> None:
        kept = self._kept[key]
        kept.remove(one)
        if not kept:
            del self._kept[key]
        self._bytes -= one.offset


def _hash_on(found: Any, path: Path, start: int, end: int) -> Any:
    with path.open("rb") as stream:
        stream.seek(start)
        left = end - start
        while left > 0 and (chunk := stream.read(min(READ_BYTES, left))):
            found.update(chunk)
            left -= len(chunk)
    return found
