"""One way from estimates to a window's tokens: of every item, so that the items of a category add up to its part."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

from contextviz.analysis.composition.categories import CATEGORIES, Category, category_of, item_tokens
from contextviz.analysis.composition.compose import Composition
from contextviz.events.frozen import frozen
from contextviz.events.snapshot import ContextItem

_Measured = tuple[Category, int]


@frozen
class Shares:
    """How one window's estimates become window tokens, and what no item of it holds.

    `by_place` are each item's tokens. Σ by_place of a category (+ `baseline` in its own) = the composition's part.
    """

    by_place: tuple[int, ...]
    baseline: int | None
    baseline_category: Category | None
    factor: float


def shares_of(items: Sequence[ContextItem], composition: Composition) -> Shares:
    """The tokens of a whole window's `items`, as `composition` has them by category."""
    measured, sums = _measured(items)
    factor = _factor(sums, composition)
    baseline = _baseline(sums, composition, factor)
    totals = {
        name: (part or 0) - (baseline or 0 if name == composition.baseline_category else 0)
        for name, part in composition.parts.items()
    }
    return Shares(_shared(measured, sums, totals), baseline, composition.baseline_category, factor)


def scaled(items: Sequence[ContextItem], scale: float) -> tuple[int, ...]:
    """The tokens of `items` at one scale: a category's are its estimates' sum times `scale`, rounded once."""
    measured, sums = _measured(items)
    return _shared(measured, sums, {name: round(tokens * scale) for name, tokens in sums.items()})


def _measured(items: Sequence[ContextItem]) -> tuple[list[_Measured], Mapping[Category, int]]:
    """Each item's category and estimate, and the sums of these by category."""
    measured = [(category_of(item), item_tokens(item)) for item in items]
    sums: dict[Category, int] = defaultdict(int)
    for category, tokens in measured:
        sums[category] += tokens
    return measured, sums


def _shared(
    measured: Sequence[_Measured], sums: Mapping[Category, int], totals: Mapping[Category, int]
) -> tuple[int, ...]:  # fmt: skip
    """Share each category's total out to its items by their estimates, in order, so that they add up exactly."""
    running: dict[Category, int] = defaultdict(int)
    found = []
    for category, tokens in measured:
        total, all_of_it, done = totals.get(category, 0), sums[category], running[category]
        running[category] += tokens
        found.append(_part(done + tokens, total, all_of_it) - _part(done, total, all_of_it))
    return tuple(found)


def _part(estimate: int, total: int, whole: int) -> int:
    return round(estimate * total / whole) if whole else 0


def _factor(sums: Mapping[Category, int], composition: Composition) -> float:
    known = [name for name in CATEGORIES if name != composition.baseline_category and sums.get(name)]
    estimated = sum(sums[name] for name in known)
    parts = composition.parts
    return sum(parts[name] or 0 for name in known) / estimated if estimated else 1.0


def _baseline(sums: Mapping[Category, int], composition: Composition, factor: float) -> int | None:
    category = composition.baseline_category
    part = composition.parts[category] if category else None
    return None if category is None or part is None else max(part - round(sums.get(category, 0) * factor), 0)
