"""Lists of item positions as runs: a window is mostly a few stretches of neighbours."""

from __future__ import annotations

import sys
from array import array
from collections.abc import Iterable, Iterator
from struct import Struct

_RUN = Struct("<II")


def pack(positions: Iterable[int]) -> bytes:
    """Positions (below 2**32) as pairs of start and length, little-endian 32-bit."""
    positions = tuple(positions)
    if positions and positions == tuple(range(positions[0], positions[0] + len(positions))):
        return _RUN.pack(positions[0], len(positions))  # what nearly every call adds
    runs = Runs()
    runs.extend(positions)
    return runs.packed()


class Runs:
    """A list of positions that grows and is cut at its end, kept as its runs: packing one whose window holds a hundred
    thousand items costs its few runs."""

    def __init__(self) -> None:
        self._runs = array("I")  # start and length, in turns
        self._length = 0

    def __len__(self) -> int:
        return self._length

    def extend(self, positions: Iterable[int]) -> None:
        """Put positions (below 2**32) at the end."""
        runs = self._runs
        for position in positions:
            if runs and position == runs[-2] + runs[-1]:
                runs[-1] += 1
            else:
                runs.extend((position, 1))
            self._length += 1

    def cut(self, keep: int) -> None:
        """Leave the first `keep` positions."""
        while self._length > keep:
            gone = min(self._runs[-1], self._length - keep)
            self._length -= gone
            if gone == self._runs[-1]:
                del self._runs[-2:]
            else:
                self._runs[-1] -= gone

    def packed(self) -> bytes:
        """The runs as `pack` writes them."""
        runs = self._runs
        if sys.byteorder == "big":
            runs = runs[:]
            runs.byteswap()
        return runs.tobytes()


def unpack(data: bytes | memoryview) -> list[int]:
    """The positions behind `pack`, in order."""
    runs = array("I")
    runs.frombytes(bytes(data))
    if sys.byteorder == "big":
        runs.byteswap()
    return list(_each(runs))


def _each(runs: array[int]) -> Iterator[int]:
    for number in range(0, len(runs), 2):
        yield from range(runs[number], runs[number] + runs[number + 1])
