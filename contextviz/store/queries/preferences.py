"""What a person prefers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from contextviz.store.models import PreferenceRecord


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
