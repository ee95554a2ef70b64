"""Where the prompt-cache prefix broke, by how much, and what broke it (metrics.md 5)."""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from contextviz.analysis.budget.residency import Prefix, Walk
from contextviz.analysis.budget.spend import MAX_MODEL
from contextviz.analysis.budget.tables import BreakKind, Culprit, PrefixBreak, PrefixTable
from contextviz.analysis.composition import Composition, category_of
from contextviz.events.call import ModelCall
from contextviz.events.compaction import Compaction
from contextviz.events.session import Transcript
from contextviz.events.snapshot import ContextItem

MOST_BREAKS = 100
MAX_TRIGGER = 80
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
    marks = _Compactions(transcript, turns)
    tally = _Tally()
    breaks: list[PrefixBreak] = []
    for step in _steps(walk, compositions, turns, is_billed):
        is_broken = step.held is not None and step.is_short(step.held)
        tally.add(step, is_broken=is_broken)
        if is_broken:
            compaction = marks.between(step.before.index, step.call.index)
            breaks.append(_break(step, compaction, transcript.log.table.items))
    chosen = sorted(breaks, key=lambda found: -found.rewritten)[:MOST_BREAKS]
    calls, share, broken = tally.bars()
    return PrefixTable(
        breaks=sorted(chosen, key=lambda found: found.call),
        count=len(breaks),
        rewritten=sum(found.rewritten for found in breaks),
        by=dict(Counter(found.by for found in breaks)),
        predicted=tally.predicted_of_both if tally.both else None,
        billed=tally.billed_of_both if tally.both else None,
        prefix_share=_ratio(tally.predicted, tally.prompt),
        rewrite_factor=_ratio(tally.prompt - tally.predicted, tally.largest) if tally.known else None,
        calls=calls,
        share=share,
        broken=broken,
        is_billed=is_billed,
    )


@dataclass(slots=True)
class _Tally:
    """Sums over the steps, and the columns of the chart. `predicted` and `prompt` are of the `known` steps whose
    prediction is known, `…_of_both` of those whose cache read is known as well."""

    both: int = 0
    predicted_of_both: int = 0
    billed_of_both: int = 0
    known: int = 0
    predicted: int = 0
    prompt: int = 0
    largest: int = 0
    calls: array[int] = field(default_factory=lambda: array("q"))
    shares: array[float] = field(default_factory=lambda: array("d"))  # -1 where it is not known
    broken: bytearray = field(default_factory=bytearray)

    def add(self, step: _Step, *, is_broken: bool) -> None:
        self.largest = max(self.largest, step.prompt)
        if step.predicted is not None:
            self.known += 1
            self.predicted += step.predicted
            self.prompt += step.prompt
            if step.billed is not None:
                self.both += 1
                self.predicted_of_both += step.predicted
                self.billed_of_both += step.billed
        share = _share(step)
        self.calls.append(step.call.index + 1)
        self.shares.append(-1.0 if share is None else share)
        self.broken.append(is_broken)

    def bars(self) -> tuple[list[int], list[float | None], list[bool]]:
        """The share of each prompt that its prefix made up; of many calls the lowest of each stretch."""
        count = len(self.calls)
        kept = list(range(count))
        if count > MAX_BARS:
            stretches = [range(at * count // MAX_BARS, (at + 1) * count // MAX_BARS) for at in range(MAX_BARS)]
            kept = [min(part, key=lambda row: self.shares[row] if self.shares[row] >= 0 else 2.0) for part in stretches]
        shares = [self.shares[row] if self.shares[row] >= 0 else None for row in kept]
        return [self.calls[row] for row in kept], shares, [bool(self.broken[row]) for row in kept]


def _ratio(part: float, whole: float) -> float | None:
    return part / whole if whole else None


def _steps(
    walk: Walk, compositions: Sequence[Composition], turns: Sequence[ModelCall], is_billed: bool
) -> Iterator[_Step]:
    for before, call in pairwise(turns):
        prompt_before, prompt = compositions[before.index].total, compositions[call.index].total
        if not prompt or not prompt_before:
            continue
        prefix = walk.prefixes.get(call.index)
        if prefix is not None and prefix.previous_call != before.index:
            prefix = None
        billed = call.usage.cache_read_tokens if is_billed else None
        predicted = _predicted(walk, prefix, call.index, min(prompt_before, prompt))
        yield _Step(before, call, prompt_before, prompt, prefix, predicted, billed)


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
        step.predicted, step.billed, step.prompt, max(step.expected - (step.held or 0), 0), gap, _model(step.call),
    )  # fmt: skip


def _model(call: ModelCall) -> str | None:
    return call.model[:MAX_MODEL] if call.model else None


def _culprit(step: _Step, compaction: Compaction | None, items: Sequence[ContextItem], gap: float | None) -> Why:
    """The first cause that applies; what is in the records comes before what only time can explain."""
    if compaction is not None:
        kind: BreakKind = "compaction" if compaction.kind == "summary" else "trim"
        by: Culprit = "user" if compaction.trigger == "manual" else "engine"
        trigger = (compaction.trigger or "")[:MAX_TRIGGER]
        if compaction.kind == "summary":
            return kind, by, trigger or "trigger not recorded"
        return kind, by, f"{compaction.kind} {trigger}".strip()
    if step.call.model != step.before.model:
        return "model", "user", f"{_model(step.before) or 'unknown'} → {_model(step.call) or 'unknown'}"
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


def _share(step: _Step) -> float | None:
    return None if step.held is None else round(min(step.held / step.prompt, 1.0), 4)
