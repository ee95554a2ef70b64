"""What was chosen here: a person's preferences, this installation's own prices and windows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from contextviz.store.models import PreferenceRecord, PriceRecord, WindowRecord

PARTS = ("input", "output", "cache_read", "cache_write_5m", "cache_write_1h")


@dataclass(frozen=True, slots=True)
class Preferences:
    """Appearance, time zone (a name of the IANA data base), and whether uploads are private unless said otherwise."""

    theme: Literal["system", "light", "dark"] = "system"
    time_zone: str = "UTC"
    is_private: bool = False


def preferences(user_id: int) -> Preferences:
    """A person's preferences, the defaults where nothing was chosen. One query."""
    found: Any = (
        PreferenceRecord.objects.filter(user_id=user_id).values_list("theme", "time_zone", "is_private").first()
    )
    return Preferences(found[0], found[1] or "UTC", found[2]) if found else Preferences()


def own_prices() -> dict[str, dict[str, float | None]]:
    """Pattern → part → dollars per million tokens, in the order of the patterns. One query."""
    rows = PriceRecord.objects.order_by("pattern").values("pattern", *PARTS)
    return {row["pattern"]: {part: row[part] for part in PARTS} for row in rows}


def own_windows() -> dict[str, int]:
    """Pattern → window in tokens, in the order of the patterns. One query."""
    return dict(WindowRecord.objects.order_by("pattern").values_list("pattern", "tokens"))
