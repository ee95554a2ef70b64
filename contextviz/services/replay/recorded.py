"""What the session's own calls add up to, of the main chain's turns alone: what a replay's bill can stand beside."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from contextviz.analysis.budget import UsageGroup, bill
from contextviz.analysis.replay import SummaryCalls
from contextviz.services.budget.costs import basis_of
from contextviz.services.budget.prices import price_table
from contextviz.services.yardstick import summary_calls
from contextviz.store.queries import calls
from contextviz.store.queries.calls import CallUsage


@dataclass(frozen=True, slots=True)
class RecordedSpend:
    """Tokens and dollars of the main chain's turns, without a summariser's calls and sub-agents; None is unknown.

    The bases are where each comes from (reported, estimated, derived, unknown). Of `calls`, `uncounted` have no tokens
    and `unpriced` no cost; the sums leave them out. `summaries` are the main chain's own calls for a summary.
    """

    tokens: int | None
    tokens_basis: str
    cost: float | None
    cost_basis: str
    calls: int
    uncounted: int
    unpriced: int
    summaries: SummaryCalls


def recorded_spend(session_id: int, revision: int | None = None) -> RecordedSpend:
    """What was recorded of a session; the number of queries is fixed. With its `revision` its calls are added up once
    and not for each page: a long session has tens of thousands."""
    groups, summaries = _added_up(session_id) if revision is None else _remembered(session_id, revision)
    known = [one for one in groups if one.usage.total_tokens is not None]
    money = bill(map(_group, groups), price_table())
    return RecordedSpend(
        sum(one.usage.total_tokens or 0 for one in known) if known else None, _basis(known),
        money.usd, basis_of(money), money.calls,
        sum(one.calls for one in groups if not one.is_complete), money.unpriced,
        summary_calls(*summaries),
    )  # fmt: skip


def _added_up(session_id: int) -> tuple[list[CallUsage], tuple[int, int]]:
    return calls.main_usage(session_id), calls.summaries_of_main(session_id)


@lru_cache(maxsize=64)
def _remembered(session_id: int, revision: int) -> tuple[list[CallUsage], tuple[int, int]]:
    return _added_up(session_id)


def _group(one: CallUsage) -> UsageGroup:
    return UsageGroup(one.model, one.is_long, "main", one.basis, one.calls, one.is_complete, one.usage)


def _basis(known: list[CallUsage]) -> str:
    if not known:
        return "unknown"
    return "estimated" if any(one.basis == "estimated" for one in known) else "reported"
