"""What sessions cost, kept with them so that lists can show it and sort by it: as recorded, else from the prices here.

The same sum as the budget page's (analysis.budget.bill), over the same groups. When prices change, it is worked out
again from the groups that budget tables keep, or from the calls where there is no table yet.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import Any

import orjson
import zstandard

from contextviz.analysis.budget import Bill, UsageGroup, bill, usage_groups
from contextviz.events.usage import TokenUsage
from contextviz.services.budget.prices import price_table
from contextviz.store.bulk import chunks
from contextviz.store.models import BudgetRecord, SessionRecord
from contextviz.store.queries import calls
from contextviz.tokens.prices import PriceTable

BATCH_SESSIONS = 200
_FIELDS = ("cost_usd", "cost_basis", "cost_unpriced_calls", "cost_prices")


def cost_numbers(groups: Iterable[UsageGroup], prices: PriceTable) -> dict[str, Any]:
    """A session's columns of cost, by name."""
    money = bill(groups, prices)
    return {
        "cost_usd": money.usd,
        "cost_basis": basis_of(money),
        "cost_unpriced_calls": money.unpriced,
        "cost_prices": fingerprint(prices),
    }


def basis_of(money: Bill) -> str:
    """Where a sum comes from: reported where all of it is as recorded, else derived; estimated where some usage is."""
    if money.usd is None:
        return "unknown"
    if money.is_estimated:
        return "estimated"
    return "derived" if money.derived else "reported"


def fingerprint(prices: PriceTable) -> str:
    """Tells one state of all prices from another."""
    return hashlib.sha256(repr(prices.prices).encode()).hexdigest()[:16]


def refresh_costs() -> int:
    """Work out again what was worked out with other prices than those that hold now; how many sessions that was. Two
    queries for every 200 of them, and one for each whose budget is not there."""
    prices = price_table()
    now = fingerprint(prices)
    stale = list(SessionRecord.objects.exclude(cost_prices=now).order_by("pk").values_list("pk", flat=True))
    for part in chunks(stale, BATCH_SESSIONS):
        bodies = dict(BudgetRecord.objects.filter(session_id__in=part).values_list("session_id", "body"))
        found = [
            SessionRecord(pk=session_id, **cost_numbers(_groups(session_id, bodies.get(session_id)), prices))
            for session_id in part
        ]
        SessionRecord.objects.bulk_update(found, _FIELDS)
    return len(stale)


def _groups(session_id: int, packed: bytes | memoryview | None) -> list[UsageGroup]:
    if not packed:  # an earlier version's session, or one that grows
        return usage_groups(calls.calls(session_id))
    read = orjson.loads(zstandard.ZstdDecompressor().decompress(bytes(packed), max_output_size=1 << 26))
    return [UsageGroup(**row | {"usage": TokenUsage(**row["usage"])}) for row in read["usage"]]
