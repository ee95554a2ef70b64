"""Which of many needles stand in a text, at the cost of reading the text once."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from contextviz.analysis.compaction.loss import stands_in

_WORD = re.compile(r"\w+")


class Finder:
    """Needles by their rarest word: a needle that stands in a text by itself has its words there as whole words."""

    def __init__(self, needles: Sequence[str]):
        self._needles = needles
        words = [set(_WORD.findall(needle)) for needle in needles]
        common = Counter(word for own in words for word in own)
        self._by_word: dict[str, list[int]] = {}
        self._wordless: list[int] = []
        for number, own in enumerate(words):
            if own:
                rarest = min(own, key=lambda word: (common[word], -len(word), word))
                self._by_word.setdefault(rarest, []).append(number)
            else:
                self._wordless.append(number)

    def found_in(self, text: str) -> tuple[int, ...]:
        """The numbers of the needles that stand in `text` by themselves, in order."""
        by_word = self._by_word
        if not text or not (by_word or self._wordless):
            return ()
        asked = [number for word in set(_WORD.findall(text)) if word in by_word for number in by_word[word]]
        return tuple(sorted(one for one in [*asked, *self._wordless] if stands_in(self._needles[one], text)))
