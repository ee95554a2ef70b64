"""The scorers by id: BM25, and vectors where the extra `semantic` is installed."""

from __future__ import annotations

import difflib
from collections.abc import Callable
from dataclasses import dataclass

from contextviz.engines.scoring.bm25 import Bm25
from contextviz.engines.scoring.scorer import NoSuchScorer, Scorer
from contextviz.engines.scoring.vectors import Vectors, check

DEFAULT = Bm25.id


@dataclass(frozen=True, slots=True)
class ScorerSpec:
    """A scorer that can be chosen. `make` gives a fresh one for one run; `check` raises NoSuchScorer where it cannot
    be had."""

    id: str
    label: str
    help: str
    make: Callable[[], Scorer]
    check: Callable[[], None] = lambda: None

    @property
    def is_there(self) -> bool:
        """Whether it can be had here."""
        try:
            self.check()
        except NoSuchScorer:
            return False
        return True


_ALL: tuple[ScorerSpec, ...] = (
    ScorerSpec(DEFAULT, "BM25", "By the words that two texts share, rare ones first.", Bm25),
    ScorerSpec(
        Vectors.id, "Vectors", "By meaning: the cosine of two texts' mean token vectors, of 256 numbers each.", Vectors,
        check,
    ),
)  # fmt: skip


def scorers() -> list[ScorerSpec]:
    """Every scorer that can be had here, the default first."""
    return [one for one in _ALL if one.is_there]


def scorer_spec(name: str = DEFAULT) -> ScorerSpec:
    """The scorer of an id; raises NoSuchScorer, also for one that is not installed."""
    found = {one.id: one for one in _ALL}
    if name not in found:
        near = difflib.get_close_matches(name, found, n=1)
        hint = f"Did you mean {near[0]}? " if near else ""
        raise NoSuchScorer(f"There is no scorer {name[:60]!r}. {hint}There are: {', '.join(found)}.")
    found[name].check()
    return found[name]


def scorer(name: str = DEFAULT) -> Callable[[], Scorer]:
    """What makes fresh scorers of an id, for one run; raises as `scorer_spec`."""
    return scorer_spec(name).make
