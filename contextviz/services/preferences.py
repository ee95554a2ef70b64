"""Keeping what a person prefers."""

from __future__ import annotations

from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from contextviz.store.models import PreferenceRecord

THEMES = ("system", "light", "dark")


class PreferenceRefused(Exception):
    """A value that cannot be kept; the text is a sentence for a person."""


def save_preferences(user_id: int, *, theme: str, time_zone: str, is_private: bool = False) -> None:
    """Keep them; raises PreferenceRefused for an unknown theme or time zone."""
    if theme not in THEMES:
        raise PreferenceRefused("Choose system, light or dark.")
    try:
        ZoneInfo(time_zone)
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise PreferenceRefused(f"{time_zone[:64]!r} is not a time zone; write one like Europe/Berlin.") from error
    values = {"theme": theme, "time_zone": time_zone[:64], "is_private": is_private}
    PreferenceRecord.objects.update_or_create(user_id=user_id, defaults=values)
