"""What Cortext is, and what can be set (engines document, 4.1)."""

from __future__ import annotations

from contextviz.engines.engine import EngineSpec
from contextviz.engines.settings import Setting

# OpenClaw compacts once a window holds more than its size less a reserve of 16,384 tokens (9.3): 0.92 of 200,000.
HOST_COMPACTS_AT = 0.92

SETTINGS = (
    Setting("compactionMode", "hybrid", "What stays: a protected tail (hybrid), or the newest turn alone (full).",
            "choice", choices=("hybrid", "full"), is_what_if=True),
    Setting("protectTail", 6, "Messages at the end that hybrid mode protects; the cut then walks back to a user"
            " message. 0 acts as 1.", least=0, most=64, unit="messages", is_what_if=True),
    Setting("recallLimit", 12, "Memories shown in each list.", least=1, most=64, unit="memories"),
    Setting("memoryScope", "session", "Whose memory it is; a replay knows one session, so this only names the scope.",
            "choice", choices=("session", "agent", "global")),
    Setting("interruptGate", True, "Look up what the model thinks and writes while it does.", "bool"),
    Setting("ingestReasoning", True, "The gate reads thinking as well.", "bool"),
    Setting("forceRepass", True, "An interrupt makes the answer be revised once.", "bool"),
    Setting("autoConsolidate", True, "Consolidate the memory whenever the host asks for room.", "bool"),
    Setting("recallItemUnits", 2000, "Of each simulated memory, the first units that are shown; 0 shows it whole. Ours:"
            " what the native memory gives back is not known.", least=0, most=1_000_000, unit="UTF-16 units"),
    Setting("hintRecommendedAt", 64, "Writes since the last consolidation from which one is recommended. Ours.",
            least=1, most=1_000_000, unit="writes"),
    Setting("hintRequiredAt", 256, "Writes since the last consolidation from which one is required. Ours.",
            least=1, most=1_000_000, unit="writes"),
)  # fmt: skip

SPEC = EngineSpec(
    "cortext", "0.2.3", "Cortext",
    "Everything from an anchor on, verbatim; older messages go to a memory that is recalled into the system prompt."
    " It never asks a language model.",
    "4", SETTINGS,
    qualities={
        "cut": "exact", "anchor": "exact", "window": "exact", "tokens": "exact", "segments": "derived",
        "recall": "simulated", "working memory": "simulated", "gate": "simulated", "consolidation": "simulated",
        "summary": "exact",
    },
    simulated="Cortext's cut, anchor and token numbers follow its rule exactly. What it recalls, its working memory,"
    " when its gate fires and when it asks for a consolidation are simulated: a likeness of words stands in for its"
    " native memory.",
    estimator="chars4", host_compacts_at=HOST_COMPACTS_AT, uses_scorer=True,
)  # fmt: skip
