"""Which readers there are, and which of them a file belongs to."""

from __future__ import annotations

from contextviz.sources.claude_code import ClaudeCodeReader
from contextviz.sources.codex import CodexReader
from contextviz.sources.conversation_map import ConversationMapReader
from contextviz.sources.lossless_claw import LosslessClawReader
from contextviz.sources.openclaw import OpenClawReader
from contextviz.sources.source import Detection, Probe, Reader

READERS: tuple[Reader, ...] = (
    OpenClawReader(),
    ClaudeCodeReader(),
    CodexReader(),
    LosslessClawReader(),
    ConversationMapReader(),
)


def detect(probe: Probe) -> tuple[Reader, Detection] | None:
    """The first reader that knows `probe`, with what it is to it; None when no reader does."""
    for reader in READERS:
        detection = reader.detect(probe)
        if detection is not None:
            return reader, detection
    return None
