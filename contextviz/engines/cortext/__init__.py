"""Cortext's OpenClaw plugin 0.2.3: an anchored window beside a memory (engines document, section 4)."""

from __future__ import annotations

from contextviz.engines.cortext.costs import TurnCost, WriteCosts, cost_series
from contextviz.engines.cortext.engine import Cortext
from contextviz.engines.cortext.gate import Segment, Segmenter, segments
from contextviz.engines.cortext.injection import block, format_items, neutralise, not_in_window
from contextviz.engines.cortext.scope import folder_name, read_anchors, safe, scope_key, write_anchors
from contextviz.engines.cortext.text import message_text
from contextviz.engines.cortext.window import (
    Anchor,
    ViewCompaction,
    ViewMessage,
    Windowed,
    anchor_at,
    apply_window,
    bridge_text,
    compact_view,
    cut_of,
    dropped_before,
    found_at,
    last_user,
    protect_tail_of,
    view_of,
)

__all__ = [
    "Anchor", "Cortext", "Segment", "Segmenter", "TurnCost", "ViewCompaction", "ViewMessage", "Windowed", "WriteCosts",
    "anchor_at", "apply_window", "block", "bridge_text", "compact_view", "cost_series", "cut_of", "dropped_before",
    "folder_name", "format_items", "found_at", "last_user", "message_text", "neutralise", "not_in_window",
    "protect_tail_of", "read_anchors", "safe", "scope_key", "segments", "view_of", "write_anchors",
]  # fmt: skip
