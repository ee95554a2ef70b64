"""Where the tokens and the money go: one bounded table of a session's main chain, computed once."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

from contextviz.analysis.budget.breaks import prefix_table
from contextviz.analysis.budget.headroom import headroom
from contextviz.analysis.budget.items import Abouts, groups, heaviest, shares_of
from contextviz.analysis.budget.residency import Prefixes, Walk, walk
from contextviz.analysis.budget.spend import Bill, CacheEconomics, bill, cache_economics, usage_groups
from contextviz.analysis.budget.tables import (
    BudgetTable,
    FileTotal,
    Group,
    Headroom,
    HeavyItem,
    PrefixBreak,
    PrefixTable,
    Repeat,
    ToolTotal,
    UsageGroup,
)
from contextviz.analysis.budget.targets import Texts, ToolUse, tool_uses
from contextviz.analysis.budget.tools import MOST_REPEATS, per_tool_and_file, repeats
from contextviz.analysis.composition import Composition, Measures, measure
from contextviz.events.session import Transcript

__all__ = [
    "Bill",
    "BudgetTable",
    "CacheEconomics",
    "FileTotal",
    "Group",
    "Headroom",
    "HeavyItem",
    "PrefixBreak",
    "PrefixTable",
    "Repeat",
    "ToolTotal",
    "ToolUse",
    "UsageGroup",
    "bill",
    "budget",
    "cache_economics",
    "usage_groups",
]


def budget(
    transcript: Transcript, compositions: Sequence[Composition], texts: Texts, measures: Measures | None = None
) -> BudgetTable:
    """The budget of the main chain; usage is of all calls. `texts` gives the words of tool calls by digest, `measures`
    are those of the transcript where they are there already.

    Costs what changed from window to window, and one reading of each distinct tool call.
    """
    session = transcript.session
    turns = [call for call in transcript.calls if call.agent is None and call.purpose == "turn"]
    known = measure(transcript) if measures is None else measures
    walked = walk(transcript, known)
    prefix = prefix_table(transcript, walked, compositions, turns)
    walked.prefixes = Prefixes(0)  # megabytes of a long session, which nothing asks for any more
    room = headroom(turns, compositions, session.window, session.compaction_threshold)
    uses = tool_uses(transcript, texts)
    abouts = Abouts(uses)
    shares = shares_of(transcript, walked, abouts, known)
    grouped = groups(walked, shares)
    tools, files, tool_count, file_count = per_tool_and_file(walked, shares, uses)
    heavy = heaviest(transcript, walked, abouts, uses)
    del abouts, shares  # of a long session megabytes, which the next needs
    again = repeats(walked, uses, _carries(transcript, walked))
    prompt_tokens = sum(compositions[call.index].total for call in turns)
    return BudgetTable(
        calls=len(turns),
        prompt_tokens=prompt_tokens,
        carry_residual=prompt_tokens - sum(group.carry for group in grouped),
        now_residual=(room.tokens if room else 0) - sum(group.now for group in grouped),
        scale_basis=walked.last_rate.scale_basis,
        groups=grouped,
        heaviest=heavy,
        item_count=len(walked.stays),
        tools=tools,
        tool_count=tool_count,
        files=files,
        file_count=file_count,
        repeats=again[:MOST_REPEATS],
        repeat_count=sum(row.times for row in again),
        repeat_tokens=sum(row.tokens for row in again),
        usage=usage_groups(transcript.calls),
        prefix=prefix,
        headroom=room,
    )


def _carries(transcript: Transcript, walked: Walk) -> Mapping[str, float]:
    """The carry of tool results by tool call id."""
    found: dict[str, float] = defaultdict(float)
    for position in walked.stays:
        item = transcript.log.table.items[position]
        if item.tool_call_id and item.kind == "tool_result":
            found[item.tool_call_id] += walked.stays.carry[position]
    return found
