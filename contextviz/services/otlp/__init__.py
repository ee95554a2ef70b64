"""OpenTelemetry's protocol over HTTP: what an agent's exporter posts, kept as rows of the inbox."""

from __future__ import annotations

from contextviz.services.otlp.receiving import Exported, receive_export
from contextviz.services.otlp.wire import MOST_BYTES, SIGNALS, BadExport, Signal, answer_of, failure_of, unzipped

__all__ = [
    "MOST_BYTES",
    "SIGNALS",
    "BadExport",
    "Exported",
    "Signal",
    "answer_of",
    "failure_of",
    "receive_export",
    "unzipped",
]
