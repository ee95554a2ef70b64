"""OpenBrain by our rule: thoughts in a store, windows by likeness and newness (engines document, section 5)."""

from __future__ import annotations

from contextviz.engines.openbrain.engine import OpenBrain
from contextviz.engines.openbrain.exchanges import Exchange, operation_of, read_exchange
from contextviz.engines.openbrain.merge import Kept, Merged, in_time, merge, recent_of
from contextviz.engines.openbrain.thoughts import (
    Scored,
    Thought,
    body_of,
    read_thought,
    read_thoughts,
    score_of,
    source_of,
)

__all__ = [
    "Exchange", "Kept", "Merged", "OpenBrain", "Scored", "Thought", "body_of", "in_time", "merge", "operation_of",
    "read_exchange", "read_thought", "read_thoughts", "recent_of", "score_of", "source_of",
]  # fmt: skip
