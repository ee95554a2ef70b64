"""flowctx: compressed tool results that can be had back, and layered summaries (engines document, section 3).

Two versions are registered: the original as its seed describes it, and the port flowctx-dsh. The rules are functions
of their own.
"""

from __future__ import annotations

from contextviz.engines.flowctx.cli_rules import CliRule, apply_rule, choose_cli_rule, reduce_output
from contextviz.engines.flowctx.clips import clip_json, clip_line, compact_json, minify_json
from contextviz.engines.flowctx.config import resolve_config
from contextviz.engines.flowctx.detection import ContentType, detect
from contextviz.engines.flowctx.drain import Done, Step, Tree, is_note, simulate
from contextviz.engines.flowctx.engine_port import FlowctxPort
from contextviz.engines.flowctx.engine_seed import FlowctxSeed, frozen_start
from contextviz.engines.flowctx.explorers import (
    explore,
    explore_code,
    explore_delimited,
    explore_json,
    explore_xml,
    explore_yaml,
)
from contextviz.engines.flowctx.projection import Marker, Projection, marker, parse_marker, project
from contextviz.engines.flowctx.reducers import Structured, structured
from contextviz.engines.flowctx.store import Row, Scratchpad, Store, hash_of
from contextviz.engines.flowctx.tree import (
    Condense,
    Leaf,
    Node,
    Plan,
    Timeline,
    TreeConfig,
    active,
    cover_end,
    keep_tail,
    node_id,
    placeholder,
    plan,
)
from contextviz.tokens.estimators import cp_weighted


def truncate(text: str, tokens: int) -> str:
    """The longest beginning of a text of at most `tokens` by `cp-weighted`, in whole code points."""
    low, high = 0, len(text)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if cp_weighted(text[:middle]) <= tokens else (low, middle - 1)
    return text[:low]


__all__ = [
    "CliRule", "Condense", "ContentType", "Done", "FlowctxPort", "FlowctxSeed", "Leaf", "Marker", "Node", "Plan",
    "Projection", "Row", "Scratchpad", "Step", "Store", "Structured", "Timeline", "Tree", "TreeConfig", "active",
    "apply_rule", "choose_cli_rule", "clip_json", "clip_line", "compact_json", "cover_end", "cp_weighted", "detect",
    "explore", "explore_code", "explore_delimited", "explore_json", "explore_xml", "explore_yaml", "frozen_start",
    "hash_of", "is_note", "keep_tail", "marker", "minify_json", "node_id", "parse_marker", "placeholder", "plan",
    "project", "reduce_output", "resolve_config", "simulate", "structured", "truncate",
]  # fmt: skip
