"""OpenAI Codex CLI rollouts (formats.md C and I)."""

from __future__ import annotations

from contextviz.sources.codex.reader import CodexReader

__all__ = ["CodexReader"]
