"""What a scorer is, and how its best texts are picked."""

from __future__ import annotations

from typing import Protocol

import numpy as np


class NoSuchScorer(ValueError):
    """No scorer has that id, or it is not installed or cannot be read; the text is a sentence."""


class Scorer(Protocol):
    """An index that grows: texts are added once, in order, and asked for by likeness."""

    @property
    def id(self) -> str:
        """What the run is labelled with."""
        ...

    def add(self, text: str) -> int:
        """Take a text; its number, from 0."""
        ...

    def top(self, query: str, limit: int) -> list[tuple[int, float]]:
        """The numbers of the best texts with their scores (above 0), best first; equal ones in the order of adding."""
        ...


def best_of(scores: np.ndarray, limit: int) -> list[tuple[int, float]]:
    """The `limit` highest of one score a text, as `Scorer.top` gives them; sorts only what may be among them."""
    size = len(scores)
    edge = np.partition(scores, size - limit)[size - limit] if 0 < limit < size else 0.0
    found = np.flatnonzero(scores >= edge) if edge > 0 else np.flatnonzero(scores > 0)
    best = sorted(found.tolist(), key=lambda number: (-scores[number], number))[:limit]
    return [(number, float(scores[number])) for number in best]
