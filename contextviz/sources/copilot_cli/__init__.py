"""GitHub Copilot CLI's session logs (formats.md D)."""

from __future__ import annotations

from contextviz.sources.copilot_cli.reader import CopilotCliReader

__all__ = ["CopilotCliReader"]
