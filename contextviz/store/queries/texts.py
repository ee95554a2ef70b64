"""Texts by hash: which ones there are, and where they occur. Their words come from store.texts.TextReader."""

from __future__ import annotations

import re

from django.db.models import Count

from contextviz.store.models import TextRecord, TextUseRecord
from contextviz.store.values import TextPlace, TextUse

SHORTEST_PREFIX = 6
_HEX = re.compile(r"^[0-9a-f]{6,64}$")


def find_texts(prefix: str, *, limit: int = 20, after: str = "") -> list[TextPlace]:
    """Texts whose SHA-256 begins with `prefix` (6 to 64 hex digits), in the order of their hashes, those behind the
    hash `after`; one query.

    A whole hash or a handle of 24 digits gives one at most; a shorter prefix may give several.
    """
    wanted = prefix.strip().lower()
    if not _HEX.match(wanted):
        return []
    low = bytes.fromhex(wanted.ljust(64, "0"))
    high = bytes.fromhex(wanted.ljust(64, "f"))
    found = TextRecord.objects.filter(digest__gte=low, digest__lte=high).order_by("digest")
    if after:
        found = found.filter(digest__gt=bytes.fromhex(after))
    counted = found.annotate(n=Count("uses")).values_list("digest", "chars", "size", "estimated_tokens", "n")
    return [TextPlace(bytes(row[0]).hex(), *row[1:]) for row in counted[:limit]]


def uses_of_text(sha256: str, *, limit: int = 50) -> list[TextUse]:
    """The sessions that hold a text, the newest first. One query."""
    found = TextUseRecord.objects.filter(text__digest=bytes.fromhex(sha256)).exclude(session__status="deleting")
    rows = found.order_by("-session__sorted_at", "-session_id").values_list(
        "session_id", "session__title", "session__source_id", "message_index"
    )
    return [TextUse(number, title or None, source_id, index) for number, title, source_id, index in rows[:limit]]
