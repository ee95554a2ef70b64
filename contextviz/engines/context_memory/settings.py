"""What the context-memory engine is, and what can be set."""

from __future__ import annotations

from contextviz.engines.engine import EngineSpec
from contextviz.engines.settings import Setting

# OpenClaw compacts once a window holds more than its size less a reserve of 16,384 tokens (9.3): 0.92 of 200,000.
HOST_COMPACTS_AT = 0.92

SETTINGS = (
    Setting("labels", "", "Topics by turn, as 1=project-atlas, 7=job-search: each holds until the next. Without any, a"
            " classifier of words stands in.", "text", most=200_000),
    Setting("newTopicBelow", 0.15, "Simulated classifier: a turn of which no topic holds this share of words begins a"
            " topic. Ours.", "float", least=0, most=1, unit="share"),
    Setting("keepRecentTokens", 20_000, "Tokens at the end that the host keeps when it compacts; at most a quarter of"
            " the budget.", least=0, most=10_000_000, unit="tokens", is_what_if=True),
    Setting("readsBack", True, "The agent reads a topic's STATUS and THREAD when it comes back to it.", "bool"),
)  # fmt: skip

SPEC = EngineSpec(
    "context-memory", "map-1", "context-memory",
    "The agent keeps notes by topic in files, and reads them back when a topic returns or the host has compacted.",
    "6", SETTINGS,
    qualities={
        "ids": "exact", "dormancy": "exact", "archiving": "exact", "cut": "derived", "topics": "simulated",
        "notes": "simulated", "summary": "simulated",
    },
    simulated="Which topic a turn is of follows the labels given, else a simulated classifier of words. The notes that"
    " the agent would write are simulated by excerpts. The host's own compaction is derived from what was measured of"
    " it.",
    estimator="chars4-each", host_compacts_at=HOST_COMPACTS_AT, uses_summariser=True,
)  # fmt: skip
