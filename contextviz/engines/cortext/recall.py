"""The memory of a replay: what a scorer recalls, what counts as working memory, and when the gate fires. Simulated.

The native engine decides these by a model of its own (4.8); what stands in for it is a likeness of words.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal

from contextviz.engines.cortext.injection import as_lines
from contextviz.engines.scoring import Scorer, tokens_of
from contextviz.events.javascript import slice16

MOST_QUERY = 2000  # characters of a query that are scored
MOST_COMPARED = 20_000  # characters of a memory that a segment is held against
LEAST_WORDS = 4
BOUNDARY_SHARE, INTERRUPT_SHARE = 0.5, 0.8
MOST_HOLDING = 64  # memories that hold a word for it to be a rare one

Kind = Literal["boundary", "interrupt"]


@dataclass(frozen=True, slots=True)
class Memory:
    """A message that was written: its position in the session and its text."""

    seq: int
    text: str


@dataclass(slots=True)
class Working:
    """The newest memories before the window, less those that a message of the window holds. `checked` is the position
    of the first message that was not compared yet."""

    held: list[Memory] = field(default_factory=list)
    checked: int = 0

    def against(self, texts: Sequence[str]) -> list[Memory]:
        """What is left once the session has `texts`; each message of the window is compared once."""
        for text in texts[self.checked :]:
            if self.held:
                self.held = [one for one in self.held if one.text not in text]
        self.checked = len(texts)
        return self.held


class Store:
    """All memories of a session, in the order they were written."""

    def __init__(self, scorer: Callable[[], Scorer], most_units: int) -> None:
        self._scorer = scorer()
        self._memories: list[Memory] = []
        self._holding: dict[str, list[int]] = {}  # memories by word
        self._lines: dict[int, str] = {}
        self._most = most_units

    def write(self, seq: int, text: str) -> None:
        """Keep a message for good."""
        number = len(self._memories)
        self._memories.append(Memory(seq, text))
        self._scorer.add(text)
        for word in set(tokens_of(text[:MOST_COMPARED])):
            self._holding.setdefault(word, []).append(number)

    def line(self, memory: Memory) -> str:
        """A memory as it is injected: its first units, made harmless; empty where nothing is left of it."""
        known = self._lines.get(memory.seq)
        if known is None:
            text = slice16(memory.text, 0, self._most) if self._most else memory.text
            known = self._lines[memory.seq] = as_lines((text,), 1)
        return known

    def lines(self, memories: Iterable[Memory], limit: int) -> str:
        """The lines of memories, at most `limit` of them."""
        made = [line for one in memories if (line := self.line(one))]
        return "\n".join(made[:limit])

    def recall(self, query: str, limit: int, without: int | None) -> list[tuple[Memory, float]]:
        """The memories most like a query, best first; `without` is the position of the message that asks."""
        found = self._scorer.top(query[:MOST_QUERY], limit + 1)
        named = [(self._memories[number], score) for number, score in found]
        return [(one, score) for one, score in named if one.seq != without][:limit]

    def working(self, before: int, limit: int) -> Working:
        """The newest memories of messages before position `before`, oldest first."""
        end = len(self._memories)
        while end and self._memories[end - 1].seq >= before:
            end -= 1
        return Working(self._memories[max(0, end - limit) : end], before)

    def gated(self, segment: str, before: int) -> tuple[Memory, Kind] | None:
        """Whether a segment of a stream calls up a memory that is out of the window: of those that share its rare words
        the newest one that shares the most, by how large a share of all its words that one holds."""
        words = set(tokens_of(segment))
        if len(words) < LEAST_WORDS:
            return None
        shared: dict[int, int] = {}
        for word in words:
            holding = self._holding.get(word, ())
            if len(holding) <= MOST_HOLDING:
                for number in holding:
                    if self._memories[number].seq < before:
                        shared[number] = shared.get(number, 0) + 1
        if not shared:
            return None
        best = self._memories[max(shared, key=lambda number: (shared[number], number))]
        share = len(words & set(tokens_of(best.text[:MOST_COMPARED]))) / len(words)
        if share < BOUNDARY_SHARE:
            return None
        return best, "interrupt" if share >= INTERRUPT_SHARE else "boundary"
