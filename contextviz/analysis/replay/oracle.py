"""What the oracle is told: which needs each call will have, and which messages hold them (metrics.md section 4)."""

from __future__ import annotations

from collections.abc import Sequence

from contextviz.analysis.replay.finding import Finder
from contextviz.analysis.replay.history import HistoryMessage
from contextviz.analysis.replay.needs import Needs

Foreknown = tuple[list[frozenset[str]], dict[int, frozenset[str]]]


def foreknown(history: Sequence[HistoryMessage], needs: Needs, calls: int) -> Foreknown:
    """Needs by call (of `calls` calls), and by message (seq) those that stand in it, by the rule that `recall` judges
    by. A need's name is its spellings; messages that hold none are left out."""
    by_call: list[frozenset[str]] = [frozenset()] * calls
    names: dict[str, list[str]] = {}
    for one in needs.calls:
        own = ["\x00".join(need.spellings) for need in one.needs]
        if one.call < calls:
            by_call[one.call] = frozenset(own)
        for name, need in zip(own, one.needs, strict=True):
            for spelling in need.spellings:
                known = names.setdefault(spelling, [])
                if name not in known:
                    known.append(name)
    spellings = list(names)
    finder = Finder(spellings)
    holds: dict[int, frozenset[str]] = {}
    for message in history:
        found = {number for said in message.texts for number in finder.found_in(said.text)}
        if found:
            holds[message.seq] = frozenset(name for number in found for name in names[spellings[number]])
    return by_call, holds
