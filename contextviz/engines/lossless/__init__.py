"""lossless-claw (engines document, section 7): its rules as pure functions, and two releases as replay engines."""

from __future__ import annotations

from contextviz.engines.lossless.assembly import Selection, messages_of, rendered_line, rendered_size, select
from contextviz.engines.lossless.clamp import Clamped, clamped
from contextviz.engines.lossless.cleaning import meaningful, without_injected, without_media
from contextviz.engines.lossless.escalation import Written, capped, escalated, fallback, sanitized
from contextviz.engines.lossless.items import Conversation, Line, Row, Summary
from contextviz.engines.lossless.leaf import fresh_tail, leaf_chunk, leaf_source, raw_outside_tail
from contextviz.engines.lossless.relevance import relevance, terms
from contextviz.engines.lossless.rendering import message_of, summary_xml, time_text
from contextviz.engines.lossless.replaying.engine import Lossless, LosslessBeta
from contextviz.engines.lossless.replaying.rows import row_of
from contextviz.engines.lossless.settings import Config, config_of
from contextviz.engines.lossless.sweep import (
    Decision,
    Pass,
    Sweeper,
    SweepResult,
    UntilUnder,
    evaluate,
)
from contextviz.engines.lossless.tokens import serialized, truncated

__all__ = [
    "Clamped", "Config", "Conversation", "Decision", "Line", "Lossless", "LosslessBeta", "Pass", "Row", "Selection",
    "Summary", "SweepResult", "Sweeper", "UntilUnder", "Written", "capped", "clamped", "config_of", "escalated",
    "evaluate", "fallback", "fresh_tail", "leaf_chunk", "leaf_source", "meaningful", "message_of", "messages_of",
    "raw_outside_tail", "relevance", "rendered_line", "rendered_size", "row_of", "sanitized", "select", "serialized",
    "summary_xml", "terms", "time_text", "truncated", "without_injected", "without_media",
]  # fmt: skip
