"""Log lines of context engines: lossless-claw, flowctx, Cortext (engines document, sections 3.7, 4.9 and 7.7)."""

from __future__ import annotations

from contextviz.sources.engine_log.reader import EngineLogReader

__all__ = ["EngineLogReader"]
