"""The door of export: `look_through(session_id)` → Report, then `copied(report, form, decisions, now=)` → a stream.

Masked by default, and nothing leaves while a place that looks like a secret is undecided (product rule: fail closed).
"""

from __future__ import annotations

from contextviz.services.export.copying import FORMATS, Format, copied, copied_unmasked, look_through, refuse_open
from contextviz.services.export.report import Decision, Decisions, ExportRefused, Place, Report

__all__ = [
    "FORMATS",
    "Decision",
    "Decisions",
    "ExportRefused",
    "Format",
    "Place",
    "Report",
    "copied",
    "copied_unmasked",
    "look_through",
    "refuse_open",
]
