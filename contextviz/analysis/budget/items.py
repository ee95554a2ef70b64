"""Items of the windows by what they are about: groups for the treemap, and the heaviest by carry cost."""

from __future__ import annotations

import heapq
from array import array
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from operator import neg

from contextviz.analysis.budget.residency import Walk
from contextviz.analysis.budget.tables import Group, HeavyItem, TargetKind
from contextviz.analysis.budget.targets import MAX_TOOL, ToolUse
from contextviz.analysis.composition import Category, Measures, category_of, item_tokens
from contextviz.events.session import Transcript
from contextviz.events.snapshot import ContextItem

MOST_GROUPS = 300
MOST_ITEMS = 100
REST = "…"
About = tuple[str, str, TargetKind]
_GroupKey = tuple[Category, str, str, TargetKind]
_NOTHING: About = ("", "", "none")
_NO_USE, _MANY_USES = -1, -2
_OF_TOOLS = frozenset({"call", "result", "error", "stub"})


class Abouts:
    """Which tool and target an item belongs to: by its tool call's id, else by its message where that has one use."""

    def __init__(self, uses: Sequence[ToolUse]):
        self._uses = uses
        self._by_id: dict[str, int] = {}  # places in `uses`
        last = max((max(use.call_message, use.result_message or 0) for use in uses), default=-1)
        self._by_message = array("q", [_NO_USE]) * (last + 1)
        for place, use in enumerate(uses):
            if use.id:
                self._by_id[use.id] = place
            for message in {use.call_message, use.result_message}:
                if message is not None:
                    self._by_message[message] = place if self._by_message[message] == _NO_USE else _MANY_USES

    def of(self, item: ContextItem, category: Category) -> About:
        """Tool, target and the target's kind; all empty for what no tool gave."""
        if category not in _OF_TOOLS:
            return _NOTHING
        found = self._by_id.get(item.tool_call_id, _NO_USE) if item.tool_call_id else _NO_USE
        if found < 0 and item.message_index is not None and item.message_index < len(self._by_message):
            found = self._by_message[item.message_index]
        if found < 0:
            return ((item.tool_name or "")[:MAX_TOOL], "", "none")
        target = self._uses[found].target
        return (target.tool, target.text, target.kind)


@dataclass(frozen=True, slots=True)
class Shares:
    """What each item that windows held belongs to and costs, in columns, in the order of the walk's stays.

    `kinds` are places in `keys` (category, tool, target, its kind); `now` and `carry` scaled tokens.
    """

    keys: list[_GroupKey]
    kinds: array[int]
    now: array[float]
    carry: array[float]


def shares_of(transcript: Transcript, walk: Walk, abouts: Abouts, measures: Measures) -> Shares:
    """Each item's share, looked at once for all tables."""
    places: dict[_GroupKey, int] = {}
    kinds = array("q")
    items, stays, scale = transcript.log.table.items, walk.stays, walk.last_rate.scale
    for position in stays:
        category = measures.categories[position]
        key = (category, *abouts.of(items[position], category))
        kinds.append(places.setdefault(key, len(places)))
    now = array("d", (stays.places_now[at] * measures.tokens[at] * scale for at in stays))
    return Shares(list(places), kinds, now, array("d", map(stays.carry.__getitem__, stays)))


def groups(walk: Walk, shares: Shares) -> list[Group]:
    """Groups by category, tool and target with their tokens now and carry, heaviest first; what no record holds is a
    group of its own. Beyond MOST_GROUPS the smallest of a category are one."""
    zeros = bytes(8 * len(shares.keys))
    items, now, carry = array("q", zeros), array("d", zeros), array("d", zeros)
    for kind, tokens, carried in zip(shares.kinds, shares.now, shares.carry, strict=True):
        items[kind] += 1
        now[kind] += tokens
        carry[kind] += carried
    _make_whole(now, shares.keys)
    # Of tens of thousands only the largest become rows.
    places = range(len(shares.keys))
    largest = heapq.nsmallest(MOST_GROUPS, places, key=lambda at: (-max(now[at], carry[at]), shares.keys[at]))
    found = [Group(*shares.keys[at], items[at], round(now[at]), round(carry[at])) for at in largest]
    chosen = frozenset(largest)
    small = ((shares.keys[at][0], items[at], now[at], carry[at]) for at in places if at not in chosen)
    return [*found, *_not_recorded(walk), *_rest(small)]


def _make_whole(tokens: array[float], keys: Sequence[_GroupKey]) -> None:
    """Round groups so that those of a category add up to its part of the window, which is rounded once."""
    running: dict[Category, float] = defaultdict(float)
    for at, (category, *_) in enumerate(keys):
        before = running[category]
        running[category] += tokens[at]
        tokens[at] = round(running[category]) - round(before)


def _not_recorded(walk: Walk) -> list[Group]:
    carry: dict[Category, int] = defaultdict(int)
    for rate in walk.rates.values():
        if rate.baseline_category is not None and rate.baseline:
            carry[rate.baseline_category] += rate.baseline
    last = walk.last_rate
    return [
        Group(category, "", "", "none", 0, (last.baseline or 0) if category == last.baseline_category else 0, tokens,
              note="not recorded")
        for category, tokens in carry.items()
    ]  # fmt: skip


def _rest(small: Iterable[tuple[Category, int, float, float]]) -> list[Group]:
    sums: dict[Category, list[float]] = defaultdict(lambda: [0.0, 0.0, 0.0])
    for category, *values in small:
        for place, value in enumerate(values):
            sums[category][place] += value
    return [
        Group(category, "", REST, "other", int(items), round(now), round(carry))
        for category, (items, now, carry) in sums.items()
    ]


def heaviest(
    transcript: Transcript, walk: Walk, abouts: Abouts, uses: Sequence[ToolUse], most: int = MOST_ITEMS
) -> list[HeavyItem]:
    """The items with the largest carry, heaviest first."""
    last_use = last_uses(uses)
    by_carry = zip(map(walk.stays.carry.__getitem__, walk.stays), map(neg, walk.stays), strict=True)
    chosen = [-at for _, at in heapq.nlargest(most, by_carry)]
    return [_heavy(transcript, walk, abouts, position, last_use) for position in chosen]


def last_uses(uses: Sequence[ToolUse]) -> Mapping[str, int]:
    """The last call that named each file."""
    found: dict[str, int] = {}
    for use in uses:
        if use.target.kind == "file" and use.call is not None:
            found[use.target.text] = max(found.get(use.target.text, 0), use.call)
    return found


def _heavy(transcript: Transcript, walk: Walk, abouts: Abouts, position: int, last_use: Mapping[str, int]) -> HeavyItem:
    item, stays, since = transcript.log.table.items[position], walk.stays, walk.stays.since[position]
    category = category_of(item)
    tool, target, kind = abouts.of(item, category)
    used = last_use.get(target) if kind == "file" else None
    return HeavyItem(
        position, category, tool, target, since, stays.last[position], stays.calls[position],
        round(item_tokens(item) * walk.last_rate.scale), round(stays.carry[position]),
        stays.places_now[position] > 0, item.message_index,
        # The call that asked for the item itself is the one before it entered.
        used if used is not None and used >= since else None,
    )  # fmt: skip
