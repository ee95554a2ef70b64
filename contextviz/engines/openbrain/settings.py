"""What the OpenBrain engine is, and what can be set (engines document, 5.1)."""

from __future__ import annotations

from contextviz.engines.engine import EngineSpec
from contextviz.engines.settings import Setting

# OpenClaw compacts once a window holds more than its size less a reserve of 16,384 tokens (9.3): 0.92 of 200,000.
HOST_COMPACTS_AT = 0.92

SETTINGS = (
    Setting("recentMessages", 20, "Newest thoughts that are given first.", least=0, most=10_000, unit="thoughts",
            is_what_if=True),
    Setting("semanticSearchLimit", 10, "Thoughts that are asked for by likeness to the newest question.", least=0,
            most=1000, unit="thoughts", is_what_if=True),
    Setting("source", "openclaw", "What the source of a thought begins with; the agent follows.", "text", most=100),
)  # fmt: skip

SPEC = EngineSpec(
    "openbrain", "our-rule-1", "OpenBrain (our rule)",
    "Every message is a thought in a store outside; a window is the thoughts most alike to the question, then the"
    " newest ones.",
    "5", SETTINGS,
    qualities={
        "thoughts": "derived", "recent": "derived", "merge": "derived", "budget": "derived", "recall": "simulated",
        "summary": "simulated", "hand-over": "derived",
    },
    simulated="No public code of OpenBrain exists: windows are made by our rule from its design. Its search is"
    " simulated by a likeness of words, the summaries it archives by the summariser of this run.",
    estimator="chars4-each", host_compacts_at=HOST_COMPACTS_AT, uses_summariser=True, uses_scorer=True,
)  # fmt: skip
