"""The context-memory skill: topics in files, and what its readers show (engines document, section 6)."""

from __future__ import annotations

from contextviz.engines.context_memory.clawclient import (
    ClawView,
    ShownContext,
    clawclient_view,
    color_of,
    cut_bytes,
    date_label,
    infer_context,
)
from contextviz.engines.context_memory.engine import ContextMemory
from contextviz.engines.context_memory.folder import Folder, TopicNotes, excerpt
from contextviz.engines.context_memory.full import FullEvent, FullTopic, FullView, full_view
from contextviz.engines.context_memory.lint import Finding, lint
from contextviz.engines.context_memory.model import (
    ZERO,
    ConversationMap,
    MapEvent,
    Topic,
    id_parts,
    instant_of,
    is_dormant,
    line_count,
    map_of,
    must_archive,
    next_agent_id,
    next_switch_id,
    read_map,
)
from contextviz.engines.context_memory.topics import LabelledTopics, WordTopics, read_labels, slug_of

__all__ = [
    "ZERO", "ClawView", "ContextMemory", "ConversationMap", "Finding", "Folder", "FullEvent", "FullTopic", "FullView",
    "LabelledTopics", "MapEvent", "ShownContext", "Topic", "TopicNotes", "WordTopics", "clawclient_view", "color_of",
    "cut_bytes", "date_label", "excerpt", "full_view", "id_parts", "infer_context", "instant_of", "is_dormant",
    "line_count", "lint", "map_of", "must_archive", "next_agent_id", "next_switch_id", "read_labels", "read_map",
    "slug_of",
]  # fmt: skip
