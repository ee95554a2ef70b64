"""Run inside a stack (Stack.python): what an installation holds, as numbers to be compared."""

from __future__ import annotations

import hashlib
import json

from contextviz.store import models
from contextviz.store.artifacts import path_of
from contextviz.store.texts import TextReader

TABLES = (
    "SessionRecord", "MessageRecord", "CallRecord", "CompactionRecord", "SnapshotRecord", "ItemRecord",
    "SummaryNodeRecord", "TopicRecord", "TextRecord", "TextUseRecord", "JobRecord", "ArtifactRecord",
)  # fmt: skip
COLUMNS = (
    "id", "title", "source_id", "call_count", "message_count", "compaction_count", "occupancy_tokens",
    "spend_total_tokens", "problem_count",
)  # fmt: skip


def show() -> None:
    """Print rows of each table, each session's own numbers, and the hash of every text and raw file as JSON."""
    digests = [bytes(one) for one in models.TextRecord.objects.order_by("digest").values_list("digest", flat=True)]
    texts = TextReader().raw(digests)
    assert all(hashlib.sha256(texts[digest]).digest() == digest for digest in digests)
    kept = models.ArtifactRecord.objects.filter(path="").order_by("sha256").values_list("sha256", flat=True)
    files = {name: hashlib.sha256(path_of(name).read_bytes()).hexdigest() == name for name in kept}
    print(
        json.dumps(
            {
                "rows": {name: getattr(models, name).objects.count() for name in TABLES},
                "sessions": list(models.SessionRecord.objects.order_by("id").values_list(*COLUMNS)),
                "texts": [digest.hex() for digest in digests],
                "files": files,
            }
        )
    )
