"""A session's budget table as it is held, and this installation's own prices and windows."""

from __future__ import annotations

from contextviz.store.models import BudgetRecord, PriceRecord, WindowRecord

PARTS = ("input", "output", "cache_read", "cache_write_5m", "cache_write_1h")


def find_budget(session_id: int) -> bytes | None:
    """The packed table (services.budgets opens it), None where it was never computed. One query."""
    found = BudgetRecord.objects.filter(session_id=session_id).values_list("body", flat=True).first()
    return None if found is None else bytes(found)


def own_prices() -> dict[str, dict[str, float | None]]:
    """Pattern → part → dollars per million tokens, in the order of the patterns. One query."""
    rows = PriceRecord.objects.order_by("pattern").values("pattern", *PARTS)
    return {row["pattern"]: {part: row[part] for part in PARTS} for row in rows}


def own_windows() -> dict[str, int]:
    """Pattern → window in tokens, in the order of the patterns. One query."""
    return dict(WindowRecord.objects.order_by("pattern").values_list("pattern", "tokens"))
