"""OpenTelemetry's OTLP/JSON files: GenAI spans, events and log records (formats.md F)."""

from __future__ import annotations

from contextviz.sources.otlp.reader import OtlpReader

__all__ = ["OtlpReader"]
