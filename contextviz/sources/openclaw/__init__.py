"""OpenClaw and pi: JSONL transcripts (versions 1 to 4), sessions.json, and OpenClaw's SQLite store."""

from __future__ import annotations

from contextviz.sources.openclaw.reader import OpenClawReader

__all__ = ["OpenClawReader"]
