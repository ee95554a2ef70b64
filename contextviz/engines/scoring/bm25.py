"""Likeness by shared words: BM25, the scorer of every replay that names none."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np

from contextviz.engines.scoring.scorer import best_of

K1, B = 1.5, 0.75
_SPLIT = re.compile("[a-z0-9]+")


def tokens_of(text: str) -> list[str]:
    """BM25's words: lower case, split at everything but a-z and 0-9, longer than one letter (2.6)."""
    return [word for word in _SPLIT.findall(text.lower()) if len(word) > 1]


class _Column:
    """The texts that hold a word and how often, as arrays that grow: what came since the last query is put behind."""

    __slots__ = ("counts", "documents", "size", "waiting_counts", "waiting_documents")

    def __init__(self) -> None:
        self.documents = np.empty(0, dtype=np.int64)
        self.counts = np.empty(0)
        self.size = 0
        self.waiting_documents: list[int] = []
        self.waiting_counts: list[int] = []

    def settled(self) -> tuple[np.ndarray, np.ndarray]:
        """Both columns, whole."""
        new = len(self.waiting_documents)
        if new:
            end = self.size + new
            self.documents = _with_room(self.documents, self.size, end)
            self.counts = _with_room(self.counts, self.size, end)
            self.documents[self.size : end] = self.waiting_documents
            self.counts[self.size : end] = self.waiting_counts
            self.size = end
            self.waiting_documents.clear()
            self.waiting_counts.clear()
        return self.documents[: self.size], self.counts[: self.size]


def _with_room(column: np.ndarray, used: int, needed: int) -> np.ndarray:
    if needed <= len(column):
        return column
    grown = np.empty(max(needed, 2 * len(column), 8), dtype=column.dtype)
    grown[:used] = column[:used]
    return grown


class Bm25:
    """BM25 with k1 1.5 and b 0.75; a query term that is repeated counts again (2.6)."""

    id = "bm25"

    def __init__(self, texts: Iterable[str] = ()) -> None:
        self._columns: dict[str, _Column] = {}
        self._lengths = np.empty(0)
        self._size = 0
        self._total = 0
        for text in texts:
            self.add(text)

    def add(self, text: str) -> int:
        """See Scorer.add."""
        number = self._size
        words = tokens_of(text)
        for word, count in Counter(words).items():
            column = self._columns.get(word)
            if column is None:
                column = self._columns[word] = _Column()
            column.waiting_documents.append(number)
            column.waiting_counts.append(count)
        self._lengths = _with_room(self._lengths, number, number + 1)
        self._lengths[number] = len(words)
        self._size += 1
        self._total += len(words)
        return number

    def scores(self, query: str) -> np.ndarray:
        """The score of each text, in the order of adding."""
        size = self._size
        sums = np.zeros(size)
        if not size:
            return sums
        norm = K1 * (1 - B + B * self._lengths[:size] / ((self._total / size) or 1.0))
        parts: dict[str, tuple[np.ndarray, np.ndarray]] = {}  # a word may come again
        for word in tokens_of(query):
            column = self._columns.get(word)
            if column is None:
                continue
            if word not in parts:
                documents, counts = column.settled()
                idf = np.log(1 + (size - len(documents) + 0.5) / (len(documents) + 0.5))
                parts[word] = documents, idf * (counts * (K1 + 1)) / (counts + norm.take(documents))
            documents, shares = parts[word]
            sums[documents] += shares
        return sums

    def top(self, query: str, limit: int) -> list[tuple[int, float]]:
        """See Scorer.top."""
        return best_of(self.scores(query), limit)


def ranked(query: str, texts: Sequence[str]) -> list[tuple[int, float]]:
    """All texts of a list that share a word with the query, best first."""
    return Bm25(texts).top(query, len(texts))
