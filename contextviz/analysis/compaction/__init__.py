"""What one compaction did: its two windows side by side, and the ledger of what it lost."""

from __future__ import annotations

from contextviz.analysis.compaction.boundary import (
    Accounting,
    BoundaryView,
    CompactionFacts,
    Group,
    TokenFact,
    boundary,
    find_snapshot,
    later_uses,
)
from contextviz.analysis.compaction.loss import (
    STATES,
    LaterUse,
    LossLedger,
    LossRow,
    LossState,
    Resolve,
    Source,
    ledger,
)

__all__ = [
    "STATES",
    "Accounting",
    "BoundaryView",
    "CompactionFacts",
    "Group",
    "LaterUse",
    "LossLedger",
    "LossRow",
    "LossState",
    "Resolve",
    "Source",
    "TokenFact",
    "boundary",
    "find_snapshot",
    "later_uses",
    "ledger",
]
