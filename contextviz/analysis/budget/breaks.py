"""Where the prompt-cache prefix broke, by how much, and what broke it (metrics.md 5)."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from contextviz.analysis.budget.residency import Prefix, Walk
from contextviz.analysis.budget.tables import BreakKind, Culprit, PrefixBreak, PrefixTable
from contextviz.analysis.composition import Composition, category_of
from contextviz.events.call import ModelCall
from contextviz.events.compaction import Compaction
from contextviz.events.session import Transcript
from contextviz.events.snapshot import ContextItem

MOST_BREAKS = 100
MAX_BARS = 400
# Providers cache in blocks and not up to the last token: a smaller shortfall is no break.
LEAST_TOKENS = 1_024
LEAST_SHARE = 0.05
TTL_SECONDS = 300
LONG_TTL_SECONDS = 3_600
Why = tuple[BreakKind, Culprit, str]


@dataclass(frozen=True, slots=True)
class _Step:
    """Two neighbouring calls: prompts, the prefix predicted to be shared, and what was read from the cache."""

    before: ModelCall
    call: ModelCall
    prompt_before: int
    prompt: int
    prefix: Prefix | None
    predicted: int | None
    billed: int | None

    @property
    def held(self) -> int | None:
        return self.predicted if self.billed is None else self.billed

    @property
    def expected(self) -> int:
        return min(self.prompt_before, self.prompt)

    def is_short(self, tokens: int) -> bool:
        """Whether `tokens` fall short of what was expected by more than providers' grain."""
        return self.expected - tokens > max(LEAST_TOKENS, LEAST_SHARE * self.expected)


def prefix_table(
    transcript: Transcript, walk: Walk, compositions: Sequence[Composition], turns: Sequence[ModelCall]
) -> PrefixTable:
    """The breaks of one agent's calls (`turns`, in order), the largest MOST_BREAKS of them in order, and the shares.

    A break is a call whose cache read (where caching is reported, else its predicted shared prefix) falls short of
    the smaller of its prompt and the one before by more than LEAST_TOKENS and LEAST_SHARE.
    """
    is_billed = any(call.usage.cache_read_tokens for call in turns)
    steps = _steps(walk, compositions, turns, is_billed)
    marks = _Compactions(transcript, turns)
    breaks = [
        _break(step, marks.between(step.before.index, step.call.index), transcript.log.table.items)
        for step in steps
        if step.held is not None and step.is_short(step.held)
    ]
    chosen = sorted(breaks, key=lambda found: -found.rewritten)[:MOST_BREAKS]
    both = [step for step in steps if step.predicted is not None and step.billed is not None]
    known = [step for step in steps if step.predicted is not None]
    largest = max((step.prompt for step in steps), default=0)
    calls, share, broken = _bars(steps, {found.call for found in breaks})
    return PrefixTable(
        breaks=sorted(chosen, key=lambda found: found.call),
        count=len(breaks),
        rewritten=sum(found.rewritten for found in breaks),
        by=dict(Counter(found.by for found in breaks)),
        predicted=sum(step.predicted or 0 for step in both) if both else None,
        billed=sum(step.billed or 0 for step in both) if both else None,
        prefix_share=_ratio(sum(step.predicted or 0 for step in known), sum(step.prompt for step in known)),
        rewrite_factor=_ratio(sum(step.prompt - (step.predicted or 0) for step in known), largest) if known else None,
        calls=calls,
        share=share,
        broken=broken,
        is_billed=is_billed,
    )


def _ratio(part: float, whole: float) -> float | None:
    return part / whole if whole else None


def _steps(walk: Walk, compositions: Sequence[Composition], turns: Sequence[ModelCall], is_billed: bool) -> list[_Step]:
    found = []
    for before, call in pairwise(turns):
        prompt_before, prompt = compositions[before.index].total, compositions[call.index].total
        if not prompt or not prompt_before:
            continue
        prefix = walk.prefixes.get(call.index)
        if prefix is not None and prefix.previous_call != before.index:
            prefix = None
        billed = call.usage.cache_read_tokens if is_billed else None
        predicted = _predicted(walk, prefix, call.index, min(prompt_before, prompt))
        found.append(_Step(before, call, prompt_before, prompt, prefix, predicted, billed))
    return found


def _predicted(walk: Walk, prefix: Prefix | None, call_index: int, most: int) -> int | None:
    if prefix is None:
        return None
    if prefix.is_whole:
        return most
    rate = walk.rates[call_index]
    return min(round(prefix.tokens * rate.scale) + (rate.baseline or 0), most)


class _Compactions:
    """The compactions of one agent by the calls they stand between."""

    def __init__(self, transcript: Transcript, turns: Sequence[ModelCall]):
        agent = turns[0].agent if turns else None
        own = [one for one in transcript.compactions if one.agent == agent and one.before_call is not None]
        self._found: dict[int, Compaction] = {}
        calls = [call.index for call in turns]
        for one in own:
            # The first turn after the call it followed; a summariser's own calls may lie between.
            place = bisect_right(calls, one.before_call or 0)
            if place < len(calls):
                self._found[calls[place]] = one

    def between(self, before: int, after: int) -> Compaction | None:
        """The last compaction between two neighbouring calls."""
        found = self._found.get(after)
        return found if found is not None and (found.before_call or 0) >= before else None


def _break(step: _Step, compaction: Compaction | None, items: Sequence[ContextItem]) -> PrefixBreak:
    prefix = step.prefix
    differs = prefix is not None and not prefix.is_whole
    gap = (step.call.at - step.before.at).total_seconds() if step.call.at and step.before.at else None
    kind, by, why = _culprit(step, compaction, items, gap)
    return PrefixBreak(
        step.call.index + 1, kind, by, why, compaction.number if compaction else None,
        prefix.new if prefix and differs else None, prefix.old if prefix and differs else None,
        step.predicted, step.billed, step.prompt, max(step.expected - (step.held or 0), 0), gap, step.call.model,
    )  # fmt: skip


def _culprit(step: _Step, compaction: Compaction | None, items: Sequence[ContextItem], gap: float | None) -> Why:
    """The first cause that applies; what is in the records comes before what only time can explain."""
    if compaction is not None:
        kind: BreakKind = "compaction" if compaction.kind == "summary" else "trim"
        by: Culprit = "user" if compaction.trigger == "manual" else "engine"
        if compaction.kind == "summary":
            return kind, by, compaction.trigger or "trigger not recorded"
        return kind, by, " ".join(word for word in (compaction.kind, compaction.trigger) if word)
    if step.call.model != step.before.model:
        return "model", "user", f"{step.before.model or 'unknown'} → {step.call.model or 'unknown'}"
    if step.prefix is not None and step.predicted is not None and step.is_short(step.predicted):
        return _structural(step.prefix, items)
    limit = LONG_TTL_SECONDS if step.before.usage.cache_write_1h_tokens else TTL_SECONDS
    if gap is not None and gap >= limit:
        return "expired", "time", f"after {limit // 60} min"
    if step.prefix is None:
        return "unknown", "unknown", "the window is not recorded"
    if step.prefix.is_whole:
        return "unknown", "unknown", "nothing recorded differs"
    return "unknown", "unknown", "what differs is too small to explain it"


_WORDS: Mapping[str, Why] = {
    "tools": ("tools", "client", "tool list changed"),
    "system": ("system", "client", "system prompt changed"),
    "memory": ("injection", "client", "put in by the client"),
    "stub": ("edit", "client", "item replaced by a placeholder"),
    "summary": ("edit", "engine", "summary put in"),
}


def _structural(prefix: Prefix, items: Sequence[ContextItem]) -> Why:
    if prefix.new is None:
        return "edit", "client", "items taken out"
    found = _WORDS.get(category_of(items[prefix.new]))
    if found is not None:
        return found
    if prefix.old is not None and category_of(items[prefix.old]) == "memory":
        return "injection", "client", "injected item taken out"
    return "edit", "client", "earlier item changed or taken out"


def _bars(steps: Sequence[_Step], broken: set[int]) -> tuple[list[int], list[float | None], list[bool]]:
    """The share of each prompt that its prefix made up; of many calls the lowest of each stretch."""
    rows = [(step.call.index + 1, _share(step), step.call.index + 1 in broken) for step in steps]
    if len(rows) > MAX_BARS:
        count = len(rows)
        stretches = [rows[at * count // MAX_BARS : (at + 1) * count // MAX_BARS] for at in range(MAX_BARS)]
        rows = [min(part, key=lambda row: 2.0 if row[1] is None else row[1]) for part in stretches]
    return [row[0] for row in rows], [row[1] for row in rows], [row[2] for row in rows]


def _share(step: _Step) -> float | None:
    return None if step.held is None else round(min(step.held / step.prompt, 1.0), 4)
