"""What exporters sent that is counted and not kept, for whoever asks why a session lacks something."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from contextviz.events.masking import without_secrets
from contextviz.store.queries.live import InboxCount, inbox_counts

MOST_SHOWN = 200


@dataclass(frozen=True, slots=True)
class NotKeptPage:
    """The counts, the most frequent first; `is_more` where rarer ones are not listed."""

    rows: Sequence[InboxCount]
    total: int
    is_more: bool


def not_kept_page() -> NotKeptPage:
    """The page. One query."""
    found = inbox_counts(most=MOST_SHOWN + 1)
    rows = [InboxCount(without_secrets(row.what), row.count, row.last_at) for row in found[:MOST_SHOWN]]
    return NotKeptPage(rows, sum(row.count for row in rows), len(found) > MOST_SHOWN)
