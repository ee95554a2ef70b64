"""Items of the windows by what they are about: groups for the treemap, and the heaviest by carry cost."""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from contextviz.analysis.budget.residency import Walk
from contextviz.analysis.budget.tables import Group, HeavyItem, TargetKind
from contextviz.analysis.budget.targets import ToolUse
from contextviz.analysis.composition import Category, category_of, item_tokens
from contextviz.events.session import Transcript
from contextviz.events.snapshot import ContextItem

MOST_GROUPS = 300
MOST_ITEMS = 100
REST = "…"
About = tuple[str, str, TargetKind]
_GroupKey = tuple[Category, str, str, TargetKind]
_NOTHING: About = ("", "", "none")
_OF_TOOLS = frozenset({"call", "result", "error", "stub"})


class Abouts:
    """Which tool and target an item belongs to: by its tool call's id, else by its message where that has one use."""

    def __init__(self, uses: Sequence[ToolUse]):
        self._by_id: dict[str, About] = {}
        self._by_message: dict[int, About | None] = {}
        for use in uses:
            about = (use.target.tool, use.target.text, use.target.kind)
            if use.id:
                self._by_id[use.id] = about
            for message in {use.call_message, use.result_message}:
                if message is not None:
                    self._by_message[message] = None if message in self._by_message else about

    def of(self, item: ContextItem, category: Category) -> About:
        """Tool, target and the target's kind; all empty for what no tool gave."""
        if category not in _OF_TOOLS:
            return _NOTHING
        found = self._by_id.get(item.tool_call_id) if item.tool_call_id else None
        if found is None and item.message_index is not None:
            found = self._by_message.get(item.message_index)
        return found or (item.tool_name or "", "", "none")


def groups(transcript: Transcript, walk: Walk, abouts: Abouts) -> list[Group]:
    """Groups by category, tool and target with their tokens now and carry, heaviest first; what no record holds is a
    group of its own. Beyond MOST_GROUPS the smallest of a category are one."""
    sums: dict[_GroupKey, list[float]] = defaultdict(lambda: [0, 0.0, 0.0])
    scale = walk.last_rate.scale
    for position, stay in walk.stays.items():
        item = transcript.log.table.items[position]
        category = category_of(item)
        row = sums[(category, *abouts.of(item, category))]
        row[0] += 1
        row[1] += stay.places_now * item_tokens(item) * scale
        row[2] += stay.carry
    # Of tens of thousands only the largest become rows.
    ordered = sorted(sums.items(), key=lambda pair: (-max(pair[1][1], pair[1][2]), pair[0]))
    found = [
        Group(category, tool, target, kind, int(count), round(now), round(carry))
        for (category, tool, target, kind), (count, now, carry) in ordered[:MOST_GROUPS]
    ]
    return [*found, *_not_recorded(walk), *_rest(ordered[MOST_GROUPS:])]


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


def _rest(small: Iterable[tuple[_GroupKey, list[float]]]) -> list[Group]:
    sums: dict[Category, list[float]] = defaultdict(lambda: [0.0, 0.0, 0.0])
    for (category, _, _, _), values in small:
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
    chosen = heapq.nlargest(most, walk.stays.items(), key=lambda pair: (pair[1].carry, -pair[0]))
    return [_heavy(transcript, walk, abouts, position, last_use) for position, _ in chosen]


def last_uses(uses: Sequence[ToolUse]) -> Mapping[str, int]:
    """The last call that named each file."""
    found: dict[str, int] = {}
    for use in uses:
        if use.target.kind == "file" and use.call is not None:
            found[use.target.text] = max(found.get(use.target.text, 0), use.call)
    return found


def _heavy(transcript: Transcript, walk: Walk, abouts: Abouts, position: int, last_use: Mapping[str, int]) -> HeavyItem:
    item, stay = transcript.log.table.items[position], walk.stays[position]
    category = category_of(item)
    tool, target, kind = abouts.of(item, category)
    used = last_use.get(target) if kind == "file" else None
    return HeavyItem(
        position, category, tool, target, stay.since, stay.last, stay.calls,
        round(item_tokens(item) * walk.last_rate.scale), round(stay.carry), stay.places_now > 0, item.message_index,
        # The call that asked for the item itself is the one before it entered.
        used if used is not None and used >= stay.since else None,
    )  # fmt: skip
