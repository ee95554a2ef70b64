"""Lists of item positions as runs: a window is mostly a few stretches of neighbours."""

from __future__ import annotations

import sys
from array import array
from collections.abc import Iterable, Iterator


def pack(positions: Iterable[int]) -> bytes:
    """Positions (below 2**32) as pairs of start and length, little-endian 32-bit."""
    runs = array("I")
    start = length = 0
    for position in positions:
        if length and position == start + length:
            length += 1
            continue
        if length:
            runs.extend((start, length))
        start, length = position, 1
    if length:
        runs.extend((start, length))
    if sys.byteorder == "big":
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
