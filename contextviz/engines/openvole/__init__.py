"""OpenVole, replayed: its budget, trimmer, compactor, history, memory and prices (engines document, section 2)."""

from __future__ import annotations

from contextviz.engines.openvole.budget import (
    Breakdown,
    Budget,
    calculate_budget,
    estimate,
    estimate_messages,
    exceeds_count,
    format_budget,
    message_breakdown,
    should_compact,
)
from contextviz.engines.openvole.compact import compact_messages, heuristic_summary
from contextviz.engines.openvole.costs import CostEntry, usage_cost
from contextviz.engines.openvole.engine import OpenVole
from contextviz.engines.openvole.history import history_lines, inject_history
from contextviz.engines.openvole.memory import (
    Chunk,
    MemoryFile,
    MemoryHit,
    bm25_search,
    bootstrap_blocks,
    chunk_markdown,
    facts_before_compaction,
    read_memory,
    search_memory,
)
from contextviz.engines.openvole.messages import AgentMessage, ToolCall, from_plain, to_plain
from contextviz.engines.openvole.prompt import build_prompt, identity_section, memory_section
from contextviz.engines.openvole.sessions import (
    SessionEntry,
    StoredSession,
    last_entries,
    parse_transcript,
    read_sessions,
    session_folder_name,
)
from contextviz.engines.openvole.trim import trim, trim_messages

__all__ = [
    "AgentMessage", "Breakdown", "Budget", "Chunk", "CostEntry", "MemoryFile", "MemoryHit", "OpenVole", "SessionEntry",
    "StoredSession", "ToolCall", "bm25_search", "bootstrap_blocks", "build_prompt", "calculate_budget",
    "chunk_markdown", "compact_messages", "estimate", "estimate_messages", "exceeds_count", "facts_before_compaction",
    "format_budget", "from_plain", "heuristic_summary", "history_lines", "identity_section", "inject_history",
    "last_entries", "memory_section", "message_breakdown", "parse_transcript", "read_memory", "read_sessions",
    "search_memory", "session_folder_name", "should_compact", "to_plain", "trim", "trim_messages", "usage_cost",
]  # fmt: skip
