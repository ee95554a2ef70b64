"""How newest and most alike thoughts become one window. Our rule: nothing public defines it (engines document, 5.3).

Newest first until one does not fit; then the most alike, passing over those that do not fit; nothing twice. What is
kept of the alike comes first, then the newest, each in the order it was said.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from contextviz.engines.openbrain.thoughts import Scored, Thought
from contextviz.tokens.estimators import chars4_each

Origin = Literal["recalled", "recent"]


@dataclass(frozen=True, slots=True)
class Kept:
    """A thought of the window: why it is there, and its score where it was recalled."""

    thought: Thought
    segment: Origin
    score: float | None = None


@dataclass(frozen=True, slots=True)
class Merged:
    """The window; tokens by `chars4-each`. `duplicates` were there already, `too_large` did not fit."""

    kept: tuple[Kept, ...]
    tokens: int
    duplicates: int = 0
    too_large: int = 0


class Budget:
    """What is in a window so far. `most` is in tokens; 0 is no limit."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._ids: set[str] = set()
        self._said: set[tuple[str, str]] = set()
        self.tokens = 0

    def has(self, name: str, likeness: tuple[str, str]) -> bool:
        """Whether the same thought, or one that says the same, is in."""
        return name in self._ids or likeness in self._said

    def take(self, name: str, likeness: tuple[str, str], tokens: int) -> bool:
        """Put it in, if it fits."""
        if self._most and self.tokens + tokens > self._most:
            return False
        self._ids.add(name)
        self._said.add(likeness)
        self.tokens += tokens
        return True


def in_time(thoughts: Iterable[Thought]) -> list[Thought]:
    """By the time they were stored; those of one time, or of none, in the order given."""
    return sorted(thoughts, key=lambda one: one.created_at)


def recent_of(
    thoughts: Iterable[Thought], limit: int, source: str | None = None, session: str | None = None
) -> list[Thought]:
    """The newest `limit` thoughts of a source and session (None: of any), oldest first."""
    own = [
        one for one in in_time(thoughts)
        if (source is None or one.source == source) and (session is None or one.session == session)
    ]  # fmt: skip
    return own[-limit:] if limit > 0 else []


def merge(recent: Sequence[Thought], found: Sequence[Scored], most: int | None) -> Merged:
    """The window of `recent` (oldest first) and `found` (in any order) in `most` tokens; None is no limit."""
    if most is not None and most <= 0:
        return Merged((), 0)
    budget = Budget(most or 0)
    newest: list[Kept] = []
    duplicates = too_large = 0
    for thought in reversed(recent):
        if budget.has(thought.id, thought.likeness):
            duplicates += 1
        elif budget.take(thought.id, thought.likeness, chars4_each(thought.content)):
            newest.append(Kept(thought, "recent"))
        else:
            too_large += 1
            break
    recalled: list[Kept] = []
    for one in sorted(found, key=lambda scored: (-(scored.score or 0.0), scored.thought.id)):
        thought = one.thought
        if budget.has(thought.id, thought.likeness):
            duplicates += 1
        elif budget.take(thought.id, thought.likeness, chars4_each(thought.content)):
            recalled.append(Kept(thought, "recalled", one.score))
        else:
            too_large += 1
    recalled.sort(key=lambda kept: kept.thought.created_at)
    return Merged((*recalled, *reversed(newest)), budget.tokens, duplicates, too_large)
