"""flowctx.sqlite: originals, summary nodes and scratchpads (formats.md E.2, engines.md 3.6)."""

from __future__ import annotations

from contextviz.sources.flowctx.reader import FlowctxReader

__all__ = ["FlowctxReader"]
