"""How much there is to look through, before doing it."""

from __future__ import annotations

from dataclasses import dataclass

from django.db.models import Sum

from contextviz.store.models import (
    EngineEventRecord,
    ItemRecord,
    ProblemRecord,
    SnapshotRecord,
    StoreMessageRecord,
    TextUseRecord,
    TopicEventRecord,
)
from contextviz.store.values import SessionRow

BYTES_A_SECOND = 1_500_000  # on one core; for an estimate in words
RECORDS_A_SECOND = 8_000
# Records that a session's own row does not count
_COUNTED = (EngineEventRecord, ItemRecord, ProblemRecord, SnapshotRecord, StoreMessageRecord, TopicEventRecord)


@dataclass(frozen=True, slots=True)
class Size:
    """The bytes of a session's distinct texts, and how many records are walked over whatever their texts are."""

    text: int
    records: int

    @property
    def seconds(self) -> float:
        """About how long a look takes, in seconds."""
        return self.text / BYTES_A_SECOND + self.records / RECORDS_A_SECOND


def size_of(row: SessionRow) -> Size:
    """How much a look through a session has to go through. Seven queries, each a count."""
    others = sum(one.objects.filter(session_id=row.id).count() for one in _COUNTED)
    counted = row.message_count + row.call_count + row.compaction_count + row.node_count + row.topic_count
    return Size(text_bytes(row.id), counted + others)


def text_bytes(session_id: int) -> int:
    """Bytes of the session's distinct texts. One query."""
    found = TextUseRecord.objects.filter(session_id=session_id).aggregate(size=Sum("text__size"))["size"]
    return int(found or 0)
