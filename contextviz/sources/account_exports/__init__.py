"""What ChatGPT and claude.ai give a person who asks for their data: all conversations in one document
(formats.md D)."""

from __future__ import annotations

from contextviz.sources.account_exports import chatgpt, claude_ai
from contextviz.sources.account_exports.readers import ChatGptExportReader, ClaudeAiExportReader
from contextviz.sources.account_exports.talk import UPDATED

__all__ = ["TOLD_WHOLE", "UPDATED", "ChatGptExportReader", "ClaudeAiExportReader"]

# Formats whose files tell each conversation as a whole every time: of two the one with more of it says all, of two
# with as much the one that changed last.
TOLD_WHOLE = frozenset({chatgpt.FORMAT, claude_ai.FORMAT})
