"""Scorers: which texts are most like a query. BM25 here; others are given from outside."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Protocol

import numpy as np

K1, B = 1.5, 0.75
_SPLIT = re.compile("[a-z0-9]+")


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


def tokens_of(text: str) -> list[str]:
    """BM25's words: lower case, split at everything but a-z and 0-9, longer than one letter (2.6)."""
    return [word for word in _SPLIT.findall(text.lower()) if len(word) > 1]


class Bm25:
    """BM25 with k1 1.5 and b 0.75; a query term that is repeated counts again (2.6)."""

    id = "bm25"

    def __init__(self, texts: Iterable[str] = ()) -> None:
        self._postings: dict[str, tuple[list[int], list[int]]] = {}
        self._frozen: dict[str, tuple[int, np.ndarray, np.ndarray]] = {}
        self._lengths: list[int] = []
        self._total = 0
        for text in texts:
            self.add(text)

    def add(self, text: str) -> int:
        """See Scorer.add."""
        number = len(self._lengths)
        words = tokens_of(text)
        counts: dict[str, int] = {}
        for word in words:
            counts[word] = counts.get(word, 0) + 1
        for word, count in counts.items():
            documents, found = self._postings.setdefault(word, ([], []))
            documents.append(number)
            found.append(count)
        self._lengths.append(len(words))
        self._total += len(words)
        return number

    def scores(self, query: str) -> np.ndarray:
        """The score of each text, in the order of adding."""
        size = len(self._lengths)
        sums = np.zeros(size)
        if not size:
            return sums
        norm = K1 * (1 - B + B * np.array(self._lengths) / ((self._total / size) or 1.0))
        for word in tokens_of(query):
            if word not in self._postings:
                continue
            documents, counts = self._columns(word)
            idf = np.log(1 + (size - len(documents) + 0.5) / (len(documents) + 0.5))
            sums[documents] += idf * (counts * (K1 + 1)) / (counts + norm[documents])
        return sums

    def _columns(self, word: str) -> tuple[np.ndarray, np.ndarray]:
        documents, counts = self._postings[word]
        kept = self._frozen.get(word)
        if kept is None or kept[0] != len(documents):
            kept = (len(documents), np.array(documents), np.array(counts, dtype=float))
            self._frozen[word] = kept
        return kept[1], kept[2]

    def top(self, query: str, limit: int) -> list[tuple[int, float]]:
        """See Scorer.top."""
        sums = self.scores(query)
        found = np.flatnonzero(sums > 0)
        if limit < len(found):
            edge = np.partition(sums[found], len(found) - limit)[len(found) - limit]
            found = found[sums[found] >= edge]
        best = sorted(found.tolist(), key=lambda number: (-sums[number], number))[:limit]
        return [(number, float(sums[number])) for number in best]


def ranked(query: str, texts: Sequence[str]) -> list[tuple[int, float]]:
    """All texts of a list that share a word with the query, best first."""
    return Bm25(texts).top(query, len(texts))
