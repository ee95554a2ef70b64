"""What changed between two windows, item by item, and how far their shared prefix reaches."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict, deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from contextviz.analysis.composition.categories import CATEGORIES, POSITION, Category, category_of
from contextviz.analysis.composition.shares import scaled
from contextviz.events.snapshot import ContextItem

ChangeKind = Literal["kept", "moved", "gone", "new"]
ItemKey = tuple[str, str, bytes, str | None]


@dataclass(frozen=True, slots=True)
class Change:
    """One item and what became of it. `a` and `b` are its places (from 0) in either window, None where it is not.

    `category` and `tokens` (window tokens) are those in B, of an item that is gone those in A. `a_category` and
    `a_tokens` are those in A; None and 0 where it is not there.
    """

    kind: ChangeKind
    item: ContextItem
    category: Category
    tokens: int
    a: int | None
    b: int | None
    a_category: Category | None = None
    a_tokens: int = 0


@dataclass(frozen=True, slots=True)
class WindowDifference:
    """The difference from window A to window B. Σ kept + moved + gone = A (in A's tokens), Σ kept + moved + new = B.

    `a_tokens` and `b_tokens` are by category in the order of CATEGORIES. `prefix_items` leading items are the
    same in both; `predicted_cache_tokens` is what a prefix cache can serve B from: those and the baseline before
    them, never more than either prompt. `break_a` and `break_b` are the first items that differ, None where that window
    ends.
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
    tokens: tuple[Sequence[int], Sequence[int]] | None = None,
    baseline: int | None = None,
    cache_read: int | None = None,
    most_cached: int | None = None,
) -> WindowDifference:
    """The difference from window `a` to window `b`.

    Equal items are matched in order; the longest run of matches that keeps its order is kept, other matches
    have moved. `scale` and `baseline` are the calibration's, `cache_read` what B's call reported. `tokens` are those of
    the items of both windows where their compositions are known; `most_cached` is the smaller prompt of the two.
    """
    in_both = _Both(a, b, *(tokens or (scaled(a, scale), scaled(b, scale))))
    prefix = _shared_prefix(a, b)
    matches = _matches(a, b, prefix)
    ordered = _longest_increasing([place for _, place in matches])
    changes = [in_both.change("kept", place, place) for place in range(prefix)]
    for at, (in_b, in_a) in enumerate(matches):
        changes.append(in_both.change("kept" if at in ordered else "moved", in_a, in_b))
    matched_a = {in_a for _, in_a in matches}
    matched_b = {in_b for in_b, _ in matches}
    changes += [in_both.change("gone", at, None) for at in range(prefix, len(a)) if at not in matched_a]
    changes += [in_both.change("new", None, at) for at in range(prefix, len(b)) if at not in matched_b]
    changes.sort(key=lambda one: (one.b is None, one.b if one.b is not None else one.a))
    prefix_tokens = sum(in_both.b_tokens[:prefix])
    predicted = prefix_tokens + (baseline or 0)
    return WindowDifference(
        tuple(changes),
        _totals(a, in_both.a_tokens),
        _totals(b, in_both.b_tokens),
        prefix,
        prefix_tokens,
        predicted if most_cached is None else min(predicted, most_cached),
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


@dataclass(frozen=True, slots=True)
class _Both:
    """Both windows with their items' tokens."""

    a: Sequence[ContextItem]
    b: Sequence[ContextItem]
    a_tokens: Sequence[int]
    b_tokens: Sequence[int]

    def change(self, kind: ChangeKind, a: int | None, b: int | None) -> Change:
        old = None if a is None else category_of(self.a[a])
        before = 0 if a is None else self.a_tokens[a]
        item = self.b[b] if b is not None else self.a[a or 0]
        return Change(kind, item, category_of(item), before if b is None else self.b_tokens[b], a, b, old, before)


def _totals(items: Sequence[ContextItem], tokens: Sequence[int]) -> tuple[int, ...]:
    sums = [0] * len(CATEGORIES)
    for item, part in zip(items, tokens, strict=True):
        sums[POSITION[category_of(item)]] += part
    return tuple(sums)
