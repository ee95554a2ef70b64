"""What would be removed by age and size, before it is."""

from __future__ import annotations

from dataclasses import dataclass

from django.urls import reverse

from contextviz.charts import words
from contextviz.services.keeping.retention import DueSession, RetentionPlan

SHOWN = 100


@dataclass(frozen=True, slots=True)
class DueLine:
    """A session that would go."""

    title: str
    url: str
    ended: str
    size: str
    why: str


@dataclass(frozen=True, slots=True)
class RetentionPage:
    """The settings in words, and what they would remove."""

    # The two limits and what there is, as sentences
    rules: list[str]
    is_on: bool
    rows: list[DueLine]
    # How many are not listed
    more: int
    # "12 sessions, 340 MB", "" for none
    total: str


def retention_page(found: RetentionPlan) -> RetentionPage:
    """The page."""
    rules = [
        f"Sessions that ended more than {words.counted(found.days, 'day')} ago go." if found.days
        else "No session goes for its age (CONTEXTVIZ_RETENTION_DAYS is 0).",
        f"Above {words.size(found.most_bytes)} of raw files the oldest sessions go." if found.most_bytes
        else "No session goes for the size of all (CONTEXTVIZ_RETENTION_MB is 0).",
        f"Raw files take {words.size(found.total_bytes)} now; {words.counted(found.kept_count, 'session')} marked to be"
        " kept.",
    ]  # fmt: skip
    count = len(found.due)
    total = f"{words.counted(count, 'session')}, {words.size(found.freed_bytes)} of raw files" if count else ""
    is_on = bool(found.days or found.most_bytes)
    return RetentionPage(rules, is_on, [_line(one) for one in found.due[:SHOWN]], max(0, count - SHOWN), total)


def _line(one: DueSession) -> DueLine:
    url = reverse("session", args=[one.id])
    return DueLine(one.title, url, f"{one.ended_at:%Y-%m-%d}", words.size(one.size), "age" if one.is_old else "size")
