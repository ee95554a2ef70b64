"""How much there is to look through, before doing it."""

from __future__ import annotations

from django.db.models import Sum

from contextviz.store.models import TextUseRecord

BYTES_A_SECOND = 1_500_000  # on one core; for an estimate in words


def text_bytes(session_id: int) -> int:
    """Bytes of the session's distinct texts. One query."""
    found = TextUseRecord.objects.filter(session_id=session_id).aggregate(size=Sum("text__size"))["size"]
    return int(found or 0)
