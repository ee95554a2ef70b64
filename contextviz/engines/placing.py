"""Finds items in the table again, so that a window costs what changed in it: parts by identity, items by content."""

from __future__ import annotations

import hashlib
from operator import is_

from contextviz.engines.material import Piece
from contextviz.engines.window import Assembly, Part, PartPiece
from contextviz.events.snapshot import ContextItem, ItemTable, common_prefix
from contextviz.events.text import TextPool, TextRef
from contextviz.tokens.estimate import ESTIMATOR
from contextviz.tokens.estimators import ESTIMATORS

_AT_ONCE = 512


class Places:
    """The items of a run, and its last window. `total` is the tokens of the window measured last."""

    def __init__(self, table: ItemTable, pool: TextPool, estimator: str) -> None:
        self._table = table
        self._pool = pool
        self._counter = ESTIMATORS[estimator]
        self._uses_pool = estimator == ESTIMATOR == pool.estimator
        self._counted: dict[str, int] = {}
        self._sizes: list[int] = []  # tokens by position in the table
        self._digests: list[bytes] = []
        self._numbers: dict[int, tuple[int, ...]] = {}  # positions by part
        self._held: list[Part] = []  # so that a part's id stays its own
        self._parts: list[Part] = []  # of the window taken last
        self._ends: list[int] = []  # items up to and including each of its parts
        self._window: list[int] = []
        self._hasher = hashlib.sha256()
        self._window_total = 0
        self._measured: tuple[Assembly, list[Part], int, list[int]] | None = None
        self.total = 0

    def count(self, text: str) -> int:
        """Tokens of a text by the run's estimator."""
        known = self._counted.get(text)
        if known is None:
            known = self._counted[text] = self._counter(text)
        return known

    def size_of(self, text: str, ref: TextRef | None) -> int:
        """The same, where the pool has counted already without counting again."""
        if self._uses_pool and ref is not None:
            return ref.estimated_tokens
        return self.count(text)

    def measured(self, assembly: Assembly) -> int:
        """The tokens of a window that may yet be given up for another."""
        parts = [assembly.system, *assembly.parts] if assembly.system is not None else assembly.parts
        same = _same_parts(self._parts, parts)
        kept = self._ends[same - 1] if same else 0
        rest = self._numbers_of(parts[same:])
        if kept == len(self._window):
            total = self._window_total + sum(map(self._sizes.__getitem__, rest))
        else:
            window = self._window[:kept] + rest
            total = sum(map(self._sizes.__getitem__, window))
        self._measured = (assembly, parts, same, rest)
        self.total = total
        return total

    def taken(self, assembly: Assembly) -> tuple[list[int], list[int], int, int, str]:
        """A call is made with the window: the one before it, it, how many leading items and tokens they share, its
        hash."""
        if self._measured is None or self._measured[0] is not assembly:
            self.measured(assembly)
        assert self._measured is not None
        _, parts, same, rest = self._measured
        before = self._window
        kept = self._ends[same - 1] if same else 0
        # Equal items made anew are the same bytes: the prefix is of items, not of objects.
        keep = kept + common_prefix(before[kept:], rest) if kept < len(before) else kept
        appended = keep == len(before)
        kept_tokens = self._window_total if appended else sum(map(self._sizes.__getitem__, before[:keep]))
        self._window = before[:kept] + rest
        if appended:
            self._hasher.update(b"".join(map(self._digests.__getitem__, self._window[keep:])))
        else:
            self._hasher = hashlib.sha256(b"".join(map(self._digests.__getitem__, self._window)))
        self._window_total = self.total
        self._parts = list(parts)
        del self._ends[same:]
        end = kept
        for part in parts[same:]:
            end += len(self._numbers[id(part)])
            self._ends.append(end)
        self._measured = None
        return before, self._window, keep, kept_tokens, self._hasher.hexdigest()

    def _numbers_of(self, parts: list[Part]) -> list[int]:
        numbers = self._numbers
        try:
            return [number for part in parts for number in numbers[id(part)]]
        except KeyError:
            for part in parts:
                if id(part) not in numbers:
                    numbers[id(part)] = self._placed(part)
                    self._held.append(part)
            return [number for part in parts for number in numbers[id(part)]]

    def _placed(self, part: Part) -> tuple[int, ...]:
        if part.pieces is None and part.message is not None:
            return tuple(self._interned(self._verbatim(part, piece)) for piece in part.message.pieces)
        return tuple(self._interned(self._changed(part, piece)) for piece in part.pieces or ())

    def _interned(self, item: ContextItem) -> int:
        number = self._table.intern(item)
        if number == len(self._sizes):
            uses_pool = self._uses_pool
            self._sizes.append(item.text.estimated_tokens if uses_pool else self.count(self._pool.get(item.text)))
            self._digests.append(hashlib.sha256(f"{item.role}\0{item.kind}\0".encode() + item.text.digest).digest())
        return number

    def _verbatim(self, part: Part, piece: Piece) -> ContextItem:
        message = part.message
        return ContextItem(
            message.role if message else part.role, piece.kind, piece.ref or self._pool.put(piece.text),
            message.id if message else None, message.source_index if message else None, "verbatim", part.reason,
            is_error=piece.is_error, tool_name=piece.tool_name, tool_call_id=piece.tool_call_id,
            media_bytes=piece.media_bytes,
        )  # fmt: skip

    def _changed(self, part: Part, piece: PartPiece) -> ContextItem:
        message = part.message
        return ContextItem(
            part.role, piece.kind, self._pool.put(piece.text), message.id if message else part.node,
            message.source_index if message else None, piece.state, part.reason,
            "recorded" if piece.state == "verbatim" else "derived",
            is_error=piece.is_error, tool_name=piece.tool_name, tool_call_id=piece.tool_call_id,
        )  # fmt: skip


def _same_parts(first: list[Part], second: list[Part]) -> int:
    """How many leading parts are the same objects."""
    length = min(len(first), len(second))
    for start in range(0, length, _AT_ONCE):
        end = min(start + _AT_ONCE, length)
        # Parts are equal by identity alone, so this runs at the speed of memory.
        if first[start:end] != second[start:end]:
            return start + next(at for at, same in enumerate(map(is_, first[start:end], second[start:end])) if not same)
    return length
