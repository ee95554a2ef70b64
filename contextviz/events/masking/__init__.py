"""Secrets in texts: found by grammars, masked wherever a text is shown."""

from __future__ import annotations

from contextviz.events.masking.masks import (
    MARGIN_CHARS,
    MOST_LOOKED_AT,
    holds_secrets,
    masked_as,
    may_hold_secrets,
    safe_cut,
    without_secrets,
)

__all__ = [
    "MARGIN_CHARS",
    "MOST_LOOKED_AT",
    "holds_secrets",
    "masked_as",
    "may_hold_secrets",
    "safe_cut",
    "without_secrets",
]
