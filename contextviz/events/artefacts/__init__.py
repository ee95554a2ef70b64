"""What context engines leave in a transcript's messages, and when it counts (engines.md 8.3).

Grammar says what a text holds, rules say whether that counts where it stands, event is what it then says happened.
"""

from __future__ import annotations

from contextviz.events.artefacts.event import event_of, retrieval
from contextviz.events.artefacts.grammar import Artefact, ArtefactKind, find_artefacts, may_hold, standing_markers
from contextviz.events.artefacts.rules import Engine, Segment, counts_in, engine_of, reason_for, segment_of

__all__ = [
    "Artefact",
    "ArtefactKind",
    "Engine",
    "Segment",
    "counts_in",
    "engine_of",
    "event_of",
    "find_artefacts",
    "may_hold",
    "reason_for",
    "retrieval",
    "segment_of",
    "standing_markers",
]
