"""Reader of Claude Code's transcripts (formats.md B and I): JSONL files of sessions and of their sub-agents."""

from __future__ import annotations

from contextviz.sources.claude_code.reader import ClaudeCodeReader

__all__ = ["ClaudeCodeReader"]
