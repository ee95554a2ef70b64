"""Which readers there are, and which of them a file belongs to."""

from __future__ import annotations

from contextviz.sources.atif import AtifReader
from contextviz.sources.chat import ChatReader
from contextviz.sources.claude_code import ClaudeCodeReader
from contextviz.sources.codex import CodexReader
from contextviz.sources.configuration import ConfigurationReader
from contextviz.sources.context_events import ContextEventsReader
from contextviz.sources.conversation_map import ConversationMapReader
from contextviz.sources.cortext import CortextReader
from contextviz.sources.engine_log import EngineLogReader
from contextviz.sources.flowctx import FlowctxReader
from contextviz.sources.gemini_cli import GeminiCliReader
from contextviz.sources.lossless_claw import LosslessClawReader
from contextviz.sources.openclaw import OpenClawReader
from contextviz.sources.opencode import OpenCodeReader
from contextviz.sources.openvole import OpenVoleReader
from contextviz.sources.otlp import OtlpReader
from contextviz.sources.source import Detection, Probe, Reader
from contextviz.sources.swe_agent import SweAgentReader

READERS: tuple[Reader, ...] = (
    ConfigurationReader(),  # the first: what holds credentials is never taken for anything else
    OpenClawReader(),
    ClaudeCodeReader(),
    CodexReader(),
    LosslessClawReader(),
    ConversationMapReader(),
    OpenVoleReader(),
    GeminiCliReader(),
    OpenCodeReader(),
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
