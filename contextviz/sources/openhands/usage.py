"""What OpenHands writes of its model calls' usage: by the reply's id where it lists them, as running totals else."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from contextviz.events.usage import TokenUsage, sum_usage
from contextviz.sources.plain.counts import Counts
from contextviz.sources.values import as_dict, as_float, as_id, as_int, as_list, as_text

Json = Mapping[str, Any]
Key = tuple[int | None, int | None]
# Usages with the same tokens that are looked at, to tell whether only one is left.
MOST_ALIKE = 50


@dataclass(frozen=True, slots=True)
class Counted:
    """One call as a list of usages has it. `window` is the model's context window in tokens, None where not known."""

    usage: TokenUsage
    response_id: str | None
    model: str | None
    window: int | None


@dataclass(frozen=True, slots=True)
class Totals:
    """Running totals of a conversation, in the client's words: the prompt holds the cached tokens."""

    prompt: int
    output: int
    cache_read: int | None
    cache_write: int | None
    reasoning: int | None
    cost: float | None
    window: int | None = None

    def since(self, before: Totals | None) -> TokenUsage | None:
        """What came since `before`; None where a total went down, which no call does."""
        if before is None:
            return apart(self.prompt, self.output, self.cache_read, self.cache_write, self.reasoning, self.cost)
        prompt, output = self.prompt - before.prompt, self.output - before.output
        read, written = _beyond(self.cache_read, before.cache_read), _beyond(self.cache_write, before.cache_write)
        reasoning = _beyond(self.reasoning, before.reasoning)
        if any(one is not None and one < 0 for one in (prompt, output, read, written, reasoning)):
            return None
        return apart(prompt, output, read, written, reasoning, cost_since(self, before))


def cost_since(now: Totals, before: Totals | None) -> float | None:
    """The cost in dollars since `before`; None where it is not written, or nothing was added."""
    if now.cost is None:
        return None
    more = now.cost - ((before.cost or 0.0) if before is not None else 0.0)
    # Sums of floats: what is left of a difference below a billionth of a dollar is no cost.
    return more if more > 1e-9 else None


def apart(
    prompt: int | None, output: int | None, read: int | None, written: int | None, reasoning: int | None,
    cost: float | None = None, counts: Counts | None = None,
) -> TokenUsage:  # fmt: skip
    """A usage from the client's numbers. The prompt normally holds what was read from the cache and written to it;
    where it is smaller than both together, the writes were beside it (older versions of the library that calls the
    models), and where it is smaller than the reads, so were these (agents behind the Agent Client Protocol)."""
    rest = prompt
    if prompt is not None:
        if prompt >= (read or 0) + (written or 0):
            rest = prompt - (read or 0) - (written or 0)
        elif prompt >= (read or 0):
            rest = prompt - (read or 0)
    made = counts.apart if counts is not None else TokenUsage
    return made(rest, read, written, output, reasoning, cost_usd=cost or None)


def reply_usage(value: Any) -> TokenUsage | None:
    """The usage of a reply as the calling library keeps it; None where there is none."""
    usage = as_dict(value)
    if not usage:
        return None
    details, output = as_dict(usage.get("prompt_tokens_details")), as_dict(usage.get("completion_tokens_details"))
    counts = Counts()
    read = _first(counts, (details, "cached_tokens"), (usage, "cache_read_input_tokens"))
    written = _first(counts, (usage, "cache_creation_input_tokens"), (details, "cache_creation_tokens"))
    return apart(
        counts.prompt(usage.get("prompt_tokens"), "prompt_tokens"),
        counts.answer(usage.get("completion_tokens"), "completion_tokens"), read, written,
        counts.other(output.get("reasoning_tokens"), "reasoning_tokens"), counts=counts,
    )  # fmt: skip


def _first(counts: Counts, *places: tuple[Json, str]) -> int | None:
    return next((counts.prompt(where[name], name) for where, name in places if where.get(name) is not None), None)


def totals_of(metrics: Any) -> Totals | None:
    """The running totals of a metrics object; None where it has no tokens."""
    holder = as_dict(metrics)
    sums = as_dict(holder.get("accumulated_token_usage"))
    prompt, output = as_int(sums.get("prompt_tokens")), as_int(sums.get("completion_tokens"))
    if prompt is None and output is None:
        return None
    return Totals(
        prompt or 0, output or 0, as_int(sums.get("cache_read_tokens")), as_int(sums.get("cache_write_tokens")),
        as_int(sums.get("reasoning_tokens")), as_float(holder.get("accumulated_cost")),
        as_int(sums.get("context_window")) or None,
    )  # fmt: skip


def listed(metrics: Any) -> Iterable[Counted]:
    """The calls that a metrics object lists. Costs have no ids, so they are told apart by their place, and only where
    there are as many of them."""
    holder = as_dict(metrics)
    usages, costs = as_list(holder.get("token_usages")), as_list(holder.get("costs"))
    is_paired = len(usages) == len(costs)
    for place, value in enumerate(usages):
        one = as_dict(value)
        cost = as_float(as_dict(costs[place]).get("cost")) if is_paired else None
        counts = Counts()
        usage = apart(
            counts.prompt(one.get("prompt_tokens"), "prompt_tokens"),
            counts.answer(one.get("completion_tokens"), "completion_tokens"),
            counts.prompt(one.get("cache_read_tokens"), "cache_read_tokens"),
            counts.prompt(one.get("cache_write_tokens"), "cache_write_tokens"),
            counts.other(one.get("reasoning_tokens"), "reasoning_tokens"), cost, counts,
        )  # fmt: skip
        model = as_text(one.get("model")) or as_text(holder.get("model_name"))
        yield Counted(usage, as_id(one.get("response_id")), model, as_int(one.get("context_window")) or None)


@dataclass(slots=True)
class Ledger:
    """The usages that are listed beside a conversation, until each is placed at its call. `totals` are the client's
    own, over everything."""

    by_id: dict[str, Counted] = field(default_factory=dict)
    nameless: list[Counted] = field(default_factory=list)
    totals: list[Totals] = field(default_factory=list)
    is_listed: bool = False
    _placed: set[str] = field(default_factory=set)
    _alike: dict[Key, list[str]] = field(default_factory=dict)

    def add(self, metrics: Any) -> None:
        """Take in one metrics object. A reply that is listed twice is one call."""
        totals = totals_of(metrics)
        if totals is not None:
            self.totals.append(totals)
        for one in listed(metrics):
            self.is_listed = True
            if one.response_id is None:
                self.nameless.append(one)
            else:
                if self.by_id.setdefault(one.response_id, one) is one:
                    self._alike.setdefault(_key(one.usage), []).append(one.response_id)

    def place(self, response_id: str | None) -> Counted | None:
        """The usage of a reply, which is then no longer among the rest."""
        found = self.by_id.get(response_id or "")
        if found is not None and response_id is not None:
            self._placed.add(response_id)
        return found

    def place_like(self, usage: TokenUsage | None) -> Counted | None:
        """The one usage left that has these tokens, for a call whose reply's id is not written; it is placed then."""
        if usage is None or not usage.is_real:
            return None
        names = self._alike.get(_key(usage), [])
        same = [name for name in names[:MOST_ALIKE] if name not in self._placed]
        return self.place(same[0]) if len(same) == 1 and len(names) < MOST_ALIKE else None

    def left(self) -> list[TokenUsage]:
        """The usages of calls that no event tells of."""
        rest = [one.usage for name, one in self.by_id.items() if name not in self._placed]
        return [usage for usage in (*rest, *(one.usage for one in self.nameless)) if usage.is_real]


def _key(usage: TokenUsage) -> Key:
    return (usage.prompt_tokens, usage.output_tokens)


def unlogged(ledger: Ledger, called: list[TokenUsage], last: Totals | None) -> TokenUsage | None:
    """What was spent beyond the calls that events tell of: the listed usages that are left, else what the totals have
    more than the calls; None where that is nothing, or cannot be said."""
    if ledger.is_listed:
        rest = ledger.left()
        return sum_usage(rest) if rest else None
    totals = ledger.totals or ([last] if last is not None else [])
    if not totals:
        return None
    whole = sum_usage([usage for one in totals if (usage := one.since(None)) is not None])
    made = sum_usage(called)
    less = [_beyond(one, other) for one, other in zip(_parts(whole), _parts(made), strict=True)]
    if any(value is not None and value < 0 for value in less):
        return None
    cost = whole.cost_usd - (made.cost_usd or 0.0) if whole.cost_usd is not None else None
    found = TokenUsage(*less)
    return replace(found, cost_usd=cost if cost is not None and cost > 1e-9 else None) if found.is_real else None


def _parts(usage: TokenUsage) -> tuple[int | None, ...]:
    return (
        usage.input_tokens, usage.cache_read_tokens, usage.cache_write_tokens, usage.output_tokens,
        usage.reasoning_tokens,
    )  # fmt: skip


def _beyond(whole: int | None, part: int | None) -> int | None:
    return None if whole is None else whole - (part or 0)
