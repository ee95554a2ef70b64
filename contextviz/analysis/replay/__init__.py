"""What a replay is worth: needs met, losses, prefix stability, coverage and the bill (metrics.md)."""

from __future__ import annotations

from contextviz.analysis.replay.billing import Bill, CallOutput, SummaryCalls, bill
from contextviz.analysis.replay.coverage import Coverage, coverage
from contextviz.analysis.replay.history import HistoryMessage, Said, answer_to, history_of
from contextviz.analysis.replay.metrics import METRICS, Metric, MetricSpec
from contextviz.analysis.replay.needs import BANDS, CallNeeds, Need, Needs, needs_of
from contextviz.analysis.replay.oracle import foreknown
from contextviz.analysis.replay.prefix import Culprit, Stability, stability
from contextviz.analysis.replay.recall import Missed, Recall, Share, negative_control, recall
from contextviz.analysis.replay.retention import Retention, retention
from contextviz.analysis.replay.scorecard import Scorecard, scorecard, sentences, thrash

__all__ = [
    "BANDS",
    "METRICS",
    "Bill",
    "CallNeeds",
    "CallOutput",
    "Coverage",
    "Culprit",
    "HistoryMessage",
    "Metric",
    "MetricSpec",
    "Missed",
    "Need",
    "Needs",
    "Recall",
    "Retention",
    "Said",
    "Scorecard",
    "Share",
    "Stability",
    "SummaryCalls",
    "answer_to",
    "bill",
    "coverage",
    "foreknown",
    "history_of",
    "needs_of",
    "negative_control",
    "recall",
    "retention",
    "scorecard",
    "sentences",
    "stability",
    "thrash",
]
