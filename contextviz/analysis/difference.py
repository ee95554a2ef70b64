"""What changed between two windows, item by item, and how far their shared prefix reaches."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict, deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from contextviz.analysis.composition.categories import CATEGORIES, POSITION, Category, category_of, item_tokens
from contextviz.events.snapshot import ContextItem

ChangeKind = Literal["kept", "moved", "gone", "new"]
ItemKey = tuple[str, str, bytes, str | None]


@dataclass(frozen=True, slots=True)
class Change:
    """One item and what became of it. `a` and `b` are its places (from 0) in either window, None where it is not.

    `tokens` are estimated, times the scale that the difference was given.
    """

    kind: ChangeKind
    item: ContextItem
    category: Category
    tokens: int
    a: int | None
    b: int | None


@dataclass(frozen=True, slots=True)
class WindowDifference:
    """The difference from window A to window B. Σ kept + moved + gone = A, Σ kept + moved + new = B.

    `a_tokens` and `b_tokens` are by category in the order of CATEGORIES. `prefix_items` leading items are the
    same in both; `predicted_cache_tokens` is what a prefix cache can serve B from: those and the baseline before
    them. `break_a` and `break_b` are the first items that differ, None where that window ends.
    """

    changes: tuple[Change, ...]
    a_tokens: tuple[int, ...]
    b_tokens: tuple[int, ...]
    prefix_items: int
    prefix_tokens: int
    predicted_cache_tokens: int | None
    reported_cache_tokens: int | None
    break_a: ContextItem | None
    break_b: ContextItem | None

    def of(self, *kinds: ChangeKind) -> list[Change]:
        """The changes of these kinds, in order."""
        return [change for change in self.changes if change.kind in kinds]

    def delta(self, category: Category) -> int:
        """Tokens of B minus tokens of A in one category."""
        place = POSITION[category]
        return self.b_tokens[place] - self.a_tokens[place]


def item_key(item: ContextItem) -> ItemKey:
    """What makes two items of different windows the same one: the text and its part in the conversation."""
    return (item.role, item.kind, item.text.digest, item.tool_call_id)


def difference(
    a: Sequence[ContextItem],
    b: Sequence[ContextItem],
    *,
    scale: float = 1.0,
    baseline: int | None = None,
    cache_read: int | None = None,
) -> WindowDifference:
    """The difference from window `a` to window `b`.

    Equal items are matched in order; the longest run of matches that keeps its order is kept, other matches
    have moved. `scale` and `baseline` are the calibration's, `cache_read` what B's call reported.
    """
    prefix = _shared_prefix(a, b)
    matches = _matches(a, b, prefix)
    ordered = _longest_increasing([place for _, place in matches])
    changes = [_change("kept", a[place], scale, place, place) for place in range(prefix)]
    for at, (in_b, in_a) in enumerate(matches):
        changes.append(_change("kept" if at in ordered else "moved", b[in_b], scale, in_a, in_b))
    matched_a = {in_a for _, in_a in matches}
    matched_b = {in_b for in_b, _ in matches}
    changes += [_change("gone", a[at], scale, at, None) for at in range(prefix, len(a)) if at not in matched_a]
    changes += [_change("new", b[at], scale, None, at) for at in range(prefix, len(b)) if at not in matched_b]
    changes.sort(key=lambda one: (one.b is None, one.b if one.b is not None else one.a))
    prefix_tokens = sum(change.tokens for change in changes if change.b is not None and change.b < prefix)
    return WindowDifference(
        tuple(changes),
        _totals([change for change in changes if change.a is not None]),
        _totals([change for change in changes if change.b is not None]),
        prefix,
        prefix_tokens,
        prefix_tokens + (baseline or 0),
        cache_read,
        a[prefix] if prefix < len(a) else None,
        b[prefix] if prefix < len(b) else None,
    )


def _shared_prefix(a: Sequence[ContextItem], b: Sequence[ContextItem]) -> int:
    length = min(len(a), len(b))
    for at in range(length):
        if a[at] is not b[at] and item_key(a[at]) != item_key(b[at]):
            return at
    return length


def _matches(a: Sequence[ContextItem], b: Sequence[ContextItem], start: int) -> list[tuple[int, int]]:
    """Pairs (place in b, place in a) of equal items after the prefix, each used once, in the order of b."""
    places: dict[ItemKey, deque[int]] = defaultdict(deque)
    for at in range(start, len(a)):
        places[item_key(a[at])].append(at)
    pairs = []
    for at in range(start, len(b)):
        waiting = places.get(item_key(b[at]))
        if waiting:
            pairs.append((at, waiting.popleft()))
    return pairs


def _longest_increasing(values: list[int]) -> set[int]:
    """The indices of one longest increasing run of `values` (patience sorting, n log n)."""
    tops: list[int] = []
    top_index: list[int] = []
    before: list[int | None] = []
    for index, value in enumerate(values):
        pile = bisect_left(tops, value)
        before.append(top_index[pile - 1] if pile else None)
        if pile == len(tops):
            tops.append(value)
            top_index.append(index)
        else:
            tops[pile] = value
            top_index[pile] = index
    chosen: set[int] = set()
    at = top_index[-1] if top_index else None
    while at is not None:
        chosen.add(at)
        at = before[at]
    return chosen


def _change(kind: ChangeKind, item: ContextItem, scale: float, a: int | None, b: int | None) -> Change:
    return Change(kind, item, category_of(item), round(item_tokens(item) * scale), a, b)


def _totals(changes: list[Change]) -> tuple[int, ...]:
    sums = [0] * len(CATEGORIES)
    for change in changes:
        sums[POSITION[change.category]] += change.tokens
    return tuple(sums)
