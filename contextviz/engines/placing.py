"""Finds items in the table again, so that a window costs what changed in it: parts by identity, items by content."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from operator import is_

import numpy as np

from contextviz.engines.material import Piece
from contextviz.engines.window import Assembly, Part, PartPiece
from contextviz.events.snapshot import ContextItem, ItemTable, common_prefix
from contextviz.events.text import TextPool, TextRef, storable
from contextviz.tokens.estimate import ESTIMATOR
from contextviz.tokens.estimators import ESTIMATORS

_AT_ONCE = 512
_DIGEST = hashlib.sha256().digest_size
_PAIRED = {"tool_call": 0, "tool_result": 1}
CALL_IS_GONE = "its call left the window"  # with this in its reason an engine says itself that a result is alone
_MOST_LAST = 4  # parts at the end that may have gone although what is before them stays


@dataclass(frozen=True, slots=True)
class _Measured:
    """A window by the one before it. Of its parts it keeps the first `same` and those in `[start, end)`, which are at
    `place` now; of its items the first `kept` and those in `[first, last)`, with `inserted` between and `tail` after.
    """

    assembly: Assembly
    system: tuple[int, ...]
    body_tokens: int
    same: int
    start: int
    end: int
    place: int
    kept: int
    first: int
    last: int
    inserted: list[int]
    tail: list[int]


@dataclass(frozen=True, slots=True)
class Taken:
    """A window beside the one before it. They share the first `keep` items, in `shared` leading items the same bytes
    (`tokens` of them); `digest` is the window's hash."""

    before: list[int]
    window: list[int]
    keep: int
    shared: int
    tokens: int
    digest: str


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
        # Of the window taken last. What is added to the system prompt changes with every turn in some engines while
        # all behind it stays, so the messages are followed without it.
        self._parts: list[Part] = []
        self._ends = np.empty(0, dtype=np.int64)  # items up to and including each of its parts
        self._body: list[int] = []
        self._body_sizes = np.empty(0, dtype=np.int64)
        self._body_digests = bytearray()
        self._hasher = hashlib.sha256()
        self._system: tuple[int, ...] = ()
        self._window: list[int] = []
        self._measured: _Measured | None = None
        self._pairs: dict[int, tuple[str, int]] = {}  # by position: the tool call's id; 0 for the call, 1 for a result
        self._held_pairs: dict[str, list[int]] = {}  # by that id: calls and results in the window
        self.total = 0
        self.left: list[int] = []  # seqs of the messages that the window taken last has no more, and the one before had
        self.alone: set[str] = set()  # ids of calls of which the window taken last holds results alone

    def count(self, text: str) -> int:
        """Tokens of a text by the run's estimator."""
        known = self._counted.get(text)
        if known is None:
            # As it will be kept: half an emoji is no text that a tokenizer takes.
            known = self._counted[text] = self._counter(storable(text)[0])
        return known

    def size_of(self, text: str, ref: TextRef | None) -> int:
        """The same, where the pool has counted already without counting again."""
        if self._uses_pool and ref is not None:
            return ref.estimated_tokens
        return self.count(text)

    def measured(self, assembly: Assembly) -> int:
        """The tokens of a window that may yet be given up for another."""
        if self._measured is None or self._measured.assembly is not assembly:
            self._measured = self._compared(assembly)
        self.total = self._tokens(self._measured.system) + self._measured.body_tokens
        return self.total

    def _compared(self, assembly: Assembly) -> _Measured:
        """What a window keeps of the one before it: work for what changed, not for what is there."""
        parts = assembly.parts
        same, start, end, place = _overlap(self._parts, parts)
        kept, first, last = self._items_before(same), self._items_before(start), self._items_before(end)
        inserted, tail = self._numbers_of(parts[same:place]), self._numbers_of(parts[place + end - start :])
        sizes = self._body_sizes
        tokens = int(sizes[:kept].sum() + sizes[first:last].sum()) + self._tokens(inserted) + self._tokens(tail)
        system = tuple(self._numbers_of([assembly.system])) if assembly.system is not None else ()
        return _Measured(assembly, system, tokens, same, start, end, place, kept, first, last, inserted, tail)

    def _items_before(self, part: int) -> int:
        return int(self._ends[part - 1]) if part else 0

    def taken(self, assembly: Assembly) -> Taken:
        """A call is made with the window."""
        self.measured(assembly)
        made = self._measured
        assert made is not None
        before, body, system = self._window, self._body, made.system
        kept, first, last = made.kept, made.first, made.last
        after = [*body[:kept], *made.inserted, *body[first:last], *made.tail]
        window = [*system, *after] if system else after
        if system == self._system:
            keep = len(system) + kept + (0 if kept == len(body) else common_prefix(body[kept:], after[kept:]))
        else:
            keep = common_prefix(before, window)
        # The same words with another reason are the same bytes to a provider.
        shared = keep if keep == len(before) else keep + self._same_bytes(before[keep:], window[keep:])
        kept_tokens = self._tokens(before[: min(shared, len(self._system))])
        kept_tokens += int(self._body_sizes[: max(0, shared - len(self._system))].sum())
        self.left = self._gone(made)
        self._follow(made, after)
        self._system, self._window, self._measured = system, window, None
        head = b"".join(map(self._digests.__getitem__, system))
        digest = hashlib.sha256(head + self._hasher.digest()).hexdigest()
        return Taken(before, window, keep, shared, kept_tokens, digest)

    def _same_bytes(self, first: list[int], second: list[int]) -> int:
        """How many leading items of two lists are the same role, kind and text."""
        length = min(len(first), len(second))
        digests = self._digests.__getitem__
        for at in range(length):
            if first[at] != second[at] and digests(first[at]) != digests(second[at]):
                return at
        return length

    def _gone(self, made: _Measured) -> list[int]:
        parts, follows = made.assembly.parts, made.place + made.end - made.start
        here = {part.message.seq for part in (*parts[made.same : made.place], *parts[follows:]) if part.message}
        gone = (*self._parts[made.same : made.start], *self._parts[made.end :])
        return [part.message.seq for part in gone if part.message is not None and part.message.seq not in here]

    def _follow(self, made: _Measured, after: list[int]) -> None:
        """Bring all that is known of the window to the one that was taken."""
        kept, first, last = made.kept, made.first, made.last
        digests, sizes, ends, parts = self._body_digests, self._body_sizes, self._ends, made.assembly.parts
        inserted, tail = (b"".join(map(self._digests.__getitem__, one)) for one in (made.inserted, made.tail))
        if kept == len(self._body):
            digests += inserted + tail
            self._hasher.update(inserted + tail)
        else:
            middle = digests[first * _DIGEST : last * _DIGEST]
            self._body_digests = digests[: kept * _DIGEST] + inserted + middle + tail
            self._hasher = hashlib.sha256(self._body_digests)
        self._body_sizes = np.concatenate(
            (sizes[:kept], self._sizes_of(made.inserted), sizes[first:last], self._sizes_of(made.tail))
        )
        moved = kept + len(made.inserted)
        follows = made.place + made.end - made.start
        self._ends = np.concatenate(
            (
                ends[: made.same],
                self._ends_of(parts[made.same : made.place], kept),
                ends[made.start : made.end] - first + moved,
                self._ends_of(parts[follows:], moved + last - first),
            )
        )
        left = self._body[kept:first] + self._body[last:]
        self._paired(left, -1)
        self._paired(made.inserted + made.tail, 1)
        self._parts, self._body = list(parts), after

    def _paired(self, numbers: list[int], step: int) -> None:
        """Items come into the window (1) or leave it (-1): keep the account of calls and results."""
        for number in filter(self._pairs.__contains__, numbers):
            name, place = self._pairs[number]
            held = self._held_pairs.setdefault(name, [0, 0])
            held[place] += step
            if held[1] and not held[0]:
                self.alone.add(name)
            else:
                self.alone.discard(name)

    def _sizes_of(self, numbers: Sequence[int]) -> np.ndarray:
        return np.fromiter(map(self._sizes.__getitem__, numbers), np.int64, len(numbers))

    def _ends_of(self, parts: list[Part], before: int) -> np.ndarray:
        lengths = (len(self._numbers[id(part)]) for part in parts)
        return before + np.cumsum(np.fromiter(lengths, np.int64, len(parts)))

    def _tokens(self, numbers: Sequence[int]) -> int:
        return sum(map(self._sizes.__getitem__, numbers))

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
            if item.tool_call_id and item.kind in _PAIRED and CALL_IS_GONE not in item.reason:
                self._pairs[number] = item.tool_call_id, _PAIRED[item.kind]
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


def _overlap(first: list[Part], second: list[Part]) -> tuple[int, int, int, int]:
    """How many leading parts are the same objects; of the rest, which stretch of the first list stays, and where it is
    in the second. What slides or is rewritten in front keeps nearly all of its end."""
    same = _same_parts(first, second)
    size = len(first)
    for last in range(size - 1, max(same, size - _MOST_LAST) - 1, -1):
        block = second[max(same, len(second) - _AT_ONCE) :]
        if first[last] in block:
            place = len(second) - 1 - block[::-1].index(first[last])
            stays = _same_ends(first, second, last + 1, place + 1, min(last + 1, place + 1) - same)
            return same, last + 1 - stays, last + 1, place + 1 - stays
    return same, size, size, len(second)


def _same_ends(first: list[Part], second: list[Part], end: int, other: int, most: int) -> int:
    """How many parts before `end` and `other` are the same objects, at most `most`."""
    same = 0
    while same < most:
        step = min(_AT_ONCE, most - same)
        one, two = first[end - same - step : end - same], second[other - same - step : other - same]
        if one != two:
            return same + next(at for at in range(step) if one[-1 - at] is not two[-1 - at])
        same += step
    return same
