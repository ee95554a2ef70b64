"""Usage gathered so that money can be told later, at whatever prices hold then."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from contextviz.analysis.budget.tables import Scope, UsageGroup
from contextviz.events.call import ModelCall
from contextviz.events.usage import TokenUsage, sum_usage
from contextviz.tokens.prices import LONG_PROMPT, PriceTable, cost, priced, without_cache

MOST_GROUPS = 100
MAX_MODEL = 200
_Key = tuple[str | None, bool, Scope, str, bool, bool]


def usage_groups(calls: Iterable[ModelCall]) -> list[UsageGroup]:
    """The usage of all calls by what they cost at, most calls first; at most MOST_GROUPS, the rest as one without a
    model (so without a price)."""
    gathered: dict[_Key, list[TokenUsage]] = defaultdict(list)
    for call in calls:
        gathered[_key(call)].append(call.usage)
    ordered = sorted(gathered.items(), key=lambda pair: (-len(pair[1]), str(pair[0])))
    found = [_group(key, usages) for key, usages in ordered[:MOST_GROUPS]]
    rest = [usage for _, usages in ordered[MOST_GROUPS:] for usage in usages]
    if rest:
        found.append(UsageGroup(None, False, "main", "unknown", len(rest), False, sum_usage(rest)))
    return found


def _key(call: ModelCall) -> _Key:
    usage = call.usage
    scope: Scope = "main" if call.agent is None else "sub-agents"
    if call.purpose != "turn":
        scope = "summaries"
    is_complete = usage.prompt_tokens is not None and usage.output_tokens is not None
    is_long = (usage.prompt_tokens or 0) > LONG_PROMPT
    return (
        call.model[:MAX_MODEL] if call.model else None,
        is_long,
        scope,
        call.basis,
        is_complete,
        usage.cost_usd is not None,
    )


def _group(key: _Key, usages: list[TokenUsage]) -> UsageGroup:
    model, is_long, scope, basis, is_complete, _ = key
    return UsageGroup(model, is_long, scope, basis, len(usages), is_complete, sum_usage(usages))


@dataclass(frozen=True, slots=True)
class Bill:
    """Money over some calls. `usd` is None where no call has a price; `unpriced` calls are left out of it.

    `reported` and `derived` are its parts: as recorded, and from the price table. `is_estimated` where some usage is.
    """

    usd: float | None
    reported: float
    derived: float
    calls: int
    unpriced: int
    is_estimated: bool


def bill(groups: Iterable[UsageGroup], prices: PriceTable) -> Bill:
    """What these calls cost: as recorded, else from `prices`, else not in the sum."""
    reported = derived = 0.0
    calls = unpriced = 0
    is_estimated = False
    for group in groups:
        calls += group.calls
        found = cost(group.usage, group.model, prices, is_long=group.is_long)
        if found.usd is None or (found.basis != "reported" and not group.is_complete):
            unpriced += group.calls
            continue
        is_estimated |= group.basis == "estimated"
        if found.basis == "reported":
            reported += found.usd
        else:
            derived += found.usd
    usd = reported + derived if calls > unpriced else None
    return Bill(usd, reported, derived, calls, unpriced, is_estimated)


@dataclass(frozen=True, slots=True)
class CacheEconomics:
    """Prompt tokens by how they were billed, and what the cache saved at the table's prices.

    `share` is read ÷ prompt, None where no call reports cache reads. Money is over the `priced` calls only.
    """

    read: int | None
    written: int | None
    uncached: int | None
    prompt: int | None
    output: int | None
    share: float | None
    calls: int
    priced: int
    with_cache: float | None
    without_cache: float | None

    @property
    def saved(self) -> float | None:
        """Dollars that the cache saved; negative where writing cost more than reading saved."""
        if self.with_cache is None or self.without_cache is None:
            return None
        return self.without_cache - self.with_cache


def cache_economics(groups: Iterable[UsageGroup], prices: PriceTable) -> CacheEconomics:
    """The cache's economics over these calls."""
    known = list(groups)
    total = sum_usage(group.usage for group in known)
    with_cache = without = 0.0
    priced_calls = 0
    for group in known:
        first = priced(group.usage, group.model, prices, is_long=group.is_long)
        second = without_cache(group.usage, group.model, prices, is_long=group.is_long)
        if group.is_complete and first.usd is not None and second.usd is not None:
            with_cache += first.usd
            without += second.usd
            priced_calls += group.calls
    prompt, read = total.prompt_tokens, total.cache_read_tokens
    has_price = priced_calls > 0
    return CacheEconomics(
        read, total.cache_write_tokens, total.input_tokens, prompt, total.output_tokens,
        read / prompt if read is not None and prompt else None, sum(group.calls for group in known), priced_calls,
        with_cache if has_price else None, without if has_price else None,
    )  # fmt: skip
