"""Which topic a turn is of: by labels that somebody gave, else by a classifier of words. The latter is simulated.

The skill leaves this to the model (6.4), so nothing of a transcript tells it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from contextviz.engines.scoring import tokens_of

MAIN = "main"
MOST_TOPICS, MOST_LABELS = 50, 5000
_LEAST_WORDS = 3
_SLUG = re.compile(r"[^a-z0-9]+")
_LABEL = re.compile(r"\s*(\d{1,9})\s*=\s*(.+?)\s*", re.ASCII | re.DOTALL)
_COMMON_WORDS = """
a an and are as at be but by can could do does for from get go had has have how i if in into is it its just let
like make me my need no not now of ok on one or our out please see should so some that the their them then there
these they this to up us use want was we what when where which will with would yes you your
"""
_COMMON = frozenset(_COMMON_WORDS.split())


def slug_of(name: str) -> str:
    """A topic key: lower case with hyphens."""
    return _SLUG.sub("-", name.lower()).strip("-")[:60]


def read_labels(text: str) -> tuple[dict[int, str], list[str]]:
    """Labels as `turn=topic`, with commas or line ends between them: from that turn on the topic is that. The second
    are sentences about what could not be read."""
    labels: dict[int, str] = {}
    problems: list[str] = []
    for part in re.split(r"[,\n;]", text):
        if not part.strip():
            continue
        found = _LABEL.fullmatch(part)
        key = slug_of(found[2]) if found else ""
        if found is None or not key or int(found[1]) < 1:
            problems.append(f"{part.strip()[:60]!r} is no label: one is a turn from 1, an equals sign and a topic.")
        elif len(labels) >= MOST_LABELS:
            problems.append(f"More than {MOST_LABELS:,} labels are given; the rest is left out.")
            break
        else:
            labels[int(found[1])] = key
    return labels, problems


def words_of(text: str) -> set[str]:
    """The words of a message that can tell a topic."""
    return {word for word in tokens_of(text[:4000]) if len(word) > 2 and word not in _COMMON and not word.isdigit()}


@dataclass(slots=True)
class WordTopics:
    """A classifier: a turn is of the topic that holds the largest share of its words, of a new one where none holds
    `least` of them. A turn of few words stays with the topic before it."""

    least: float
    words: dict[str, set[str]] = field(default_factory=dict)
    current: str = ""

    def topic_of(self, text: str) -> str:
        """The topic of the next turn."""
        words = words_of(text)
        if len(words) < _LEAST_WORDS and self.current:
            return self.current
        best, share = self._best(words)
        if share < self.least and len(self.words) < MOST_TOPICS:
            best = self._new(text, words)
        self.words.setdefault(best, set()).update(words)
        self.current = best
        return best

    def _best(self, words: set[str]) -> tuple[str, float]:
        best, most = self.current or MAIN, -1.0
        for key, known in self.words.items():
            share = len(words & known) / len(words) if words else 0.0
            if share > most or (share == most and key == self.current):
                best, most = key, share
        return best, most

    def _new(self, text: str, words: set[str]) -> str:
        said = [word for word in dict.fromkeys(tokens_of(text[:4000])) if word in words][:2]
        base = f"project-{'-'.join(said)}" if said else MAIN
        key, number = base, 2
        while key in self.words:
            key, number = f"{base}-{number}", number + 1
        return key


@dataclass(slots=True)
class LabelledTopics:
    """The topics of given labels; `main` before the first."""

    labels: dict[int, str]
    current: str = MAIN

    def topic_of(self, turn: int) -> str:
        """The topic of a turn."""
        self.current = self.labels.get(turn, self.current)
        return self.current
