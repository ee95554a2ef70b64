"""Which readers there are, and which of them a file belongs to."""

from __future__ import annotations

from contextviz.sources.account_exports import ChatGptExportReader, ClaudeAiExportReader
from contextviz.sources.atif import AtifReader
from contextviz.sources.chat import ChatReader
from contextviz.sources.checkpoints import CheckpointReader
from contextviz.sources.claude_code import ClaudeCodeReader
from contextviz.sources.codex import CodexReader
from contextviz.sources.configuration import ConfigurationReader
from contextviz.sources.context_events import ContextEventsReader
from contextviz.sources.conversation_map import ConversationMapReader
from contextviz.sources.copilot_cli import CopilotCliReader
from contextviz.sources.cortext import CortextReader
from contextviz.sources.cursor import CursorReader
from contextviz.sources.droid import DroidReader
from contextviz.sources.engine_log import EngineLogReader
from contextviz.sources.flowctx import FlowctxReader
from contextviz.sources.gemini_cli import GeminiCliReader
from contextviz.sources.kiro import KiroReader
from contextviz.sources.lossless_claw import LosslessClawReader
from contextviz.sources.openclaw import OpenClawReader
from contextviz.sources.opencode import OpenCodeReader
from contextviz.sources.openhands import OpenHandsReader
from contextviz.sources.openvole import OpenVoleReader
from contextviz.sources.otlp import OtlpReader
from contextviz.sources.source import Detection, Probe, Reader
from contextviz.sources.swe_agent import SweAgentReader

READERS: tuple[Reader, ...] = (
    ConfigurationReader(),  # the first: what holds credentials is never taken for anything else
    DroidReader(),  # before OpenClaw's, whose messages have the same envelope
    OpenClawReader(),
    ClaudeCodeReader(),
    CodexReader(),
    CopilotCliReader(),
    LosslessClawReader(),
    ConversationMapReader(),
    OpenVoleReader(),
    GeminiCliReader(),
    OpenCodeReader(),
    KiroReader(),
    CursorReader(),
    CheckpointReader(),
    ChatGptExportReader(),
    ClaudeAiExportReader(),
    OpenHandsReader(),
    AtifReader(),
    SweAgentReader(),
    OtlpReader(),
    FlowctxReader(),
    CortextReader(),
    EngineLogReader(),
    ContextEventsReader(),
    ChatReader(),  # the last: its bodies and arrays are the least peculiar
)


def detect(probe: Probe) -> tuple[Reader, Detection] | None:
    """The first reader that knows `probe`, with what it is to it; None when no reader does."""
    for reader in READERS:
        detection = reader.detect(probe)
        if detection is not None:
            return reader, detection
    return None
