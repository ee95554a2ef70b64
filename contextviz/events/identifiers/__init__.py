"""Identifiers: what a summary must carry over to be of use. The grammar is versioned (metrics.md section 1)."""

from __future__ import annotations

from contextviz.events.identifiers.canonical import base_name, canonical, class_name
from contextviz.events.identifiers.extract import GRAMMAR, MAX_CHARS, Extraction, Identifier, extract, read
from contextviz.events.identifiers.kinds import KINDS, IdentifierKind

__all__ = [
    "GRAMMAR",
    "KINDS",
    "MAX_CHARS",
    "Extraction",
    "Identifier",
    "IdentifierKind",
    "base_name",
    "canonical",
    "class_name",
    "extract",
    "read",
]
