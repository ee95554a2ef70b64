"""How much an item shares with the prompt, for prompt-aware eviction (7.5)."""

from __future__ import annotations

import re
from collections import Counter

_APART = re.compile("[^a-z0-9]+")


def terms(text: str) -> list[str]:
    """Words in lower case, of a-z and 0-9, longer than one letter."""
    return [word for word in _APART.split(text.lower()) if len(word) > 1]


def relevance(text: str, prompt: str) -> float:
    """Over the prompt's different terms: how often each is in the text, by the number of the text's terms."""
    own = terms(text)
    if not own:
        return 0.0
    counts = Counter(own)
    # The order of addition is that of the prompt, as upstream adds.
    score = 0.0
    for term in dict.fromkeys(terms(prompt)):
        score += counts[term] / len(own)
    return score
