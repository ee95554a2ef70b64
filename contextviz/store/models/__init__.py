"""Every table. A record is a row; what it stands for is a value of contextviz.events with the same name.

Words that a transcript writes (ids, names, paths) are hostile: they live in bounded or unindexed columns and are
cleaned by store.bulk. A column of text is empty, never null, where the event says None.
"""

from __future__ import annotations

from contextviz.store.models.access import ApiKeyRecord, PreferenceRecord, SignInTokenRecord
from contextviz.store.models.artifact import (
    ArtifactRecord,
    SessionArtifactRecord,
    UploadBatchRecord,
    UploadRecord,
    WaitingLogRecord,
)
from contextviz.store.models.audit import AUDIT_KINDS, AuditRecord, SignInTryRecord, WorkerRecord
from contextviz.store.models.budget import BudgetRecord, PriceRecord, WindowRecord
from contextviz.store.models.engine_event import EngineEventRecord
from contextviz.store.models.job import JobLogRecord, JobRecord
from contextviz.store.models.live import (
    ALERT_KINDS,
    INBOX_SOURCES,
    AlertRecord,
    AlertRuleRecord,
    InboxCountRecord,
    InboxRecord,
    InboxStreamRecord,
    LiveEventRecord,
)
from contextviz.store.models.replay import (
    KeptSummaryRecord,
    RunChunkRecord,
    RunRecord,
    RunSeriesRecord,
    RunTextRecord,
)
from contextviz.store.models.rows import (
    CallRecord,
    CompactionRecord,
    EntryRecord,
    MessageRecord,
    ProblemRecord,
    ToolPairRecord,
)
from contextviz.store.models.search import PlaceRecord
from contextviz.store.models.session import SessionDetailRecord, SessionRecord, SessionSeriesRecord
from contextviz.store.models.summary import ContextRefRecord, StoreMessageRecord, SummaryNodeRecord
from contextviz.store.models.text import TextPackRecord, TextRecord, TextUseRecord
from contextviz.store.models.topic import TopicEventRecord, TopicRecord
from contextviz.store.models.window import ItemRecord, SnapshotRecord

__all__ = [
    "ALERT_KINDS",
    "AUDIT_KINDS",
    "INBOX_SOURCES",
    "AlertRecord",
    "AlertRuleRecord",
    "ApiKeyRecord",
    "ArtifactRecord",
    "AuditRecord",
    "BudgetRecord",
    "CallRecord",
    "CompactionRecord",
    "ContextRefRecord",
    "EngineEventRecord",
    "EntryRecord",
    "InboxCountRecord",
    "InboxRecord",
    "InboxStreamRecord",
    "ItemRecord",
    "JobLogRecord",
    "JobRecord",
    "KeptSummaryRecord",
    "LiveEventRecord",
    "MessageRecord",
    "PlaceRecord",
    "PreferenceRecord",
    "PriceRecord",
    "ProblemRecord",
    "RunChunkRecord",
    "RunRecord",
    "RunSeriesRecord",
    "RunTextRecord",
    "SessionArtifactRecord",
    "SessionDetailRecord",
    "SessionRecord",
    "SessionSeriesRecord",
    "SignInTokenRecord",
    "SignInTryRecord",
    "SnapshotRecord",
    "StoreMessageRecord",
    "SummaryNodeRecord",
    "TextPackRecord",
    "TextRecord",
    "TextUseRecord",
    "ToolPairRecord",
    "TopicEventRecord",
    "TopicRecord",
    "UploadBatchRecord",
    "UploadRecord",
    "WaitingLogRecord",
    "WindowRecord",
    "WorkerRecord",
]
