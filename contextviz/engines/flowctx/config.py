"""flowctx's configuration: defaults, ranges, and how raw values are taken (section 3.1)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from contextviz.engines.settings import Setting
from contextviz.events.javascript import to_number

# What the port clamps: default, least, most.
PORT_NUMBERS: dict[str, tuple[int, int, int]] = {
    "leafChunkTokens": (40_000, 2_000, 64_000),
    "condenseFanout": (6, 2, 32),
    "maxSummaryDepth": (1, 0, 3),
    "summaryKeepRecentTurns": (2, 0, 100),
    "freshTailWindow": (64, 0, 256),
    "projectionThreshold": (1_000, 200, 100_000),
    "projectionTtlSeconds": (604_800, 60, 2_592_000),
    "scratchpadMaxChars": (8_000, 500, 100_000),
}
PORT_FLAGS = {"auto": True, "layeredSummary": True, "projection": True, "scratchpad": False}
_TEXTS = ("summarizationProvider", "summarizationModel")
_PASSED_ON = (
    "thresholdRatio", "retainRatio", "retainTokens", "maxTokens", "compactionRetries", "maxOverflowRetries",
    "summaryMaxTokens",
)  # fmt: skip


def resolve_config(raw: Mapping[str, Any]) -> dict[str, Any]:
    """The port's configuration as it takes it: numbers by JavaScript's `Number`, clamped and not rounded; the default
    where that is not finite. What has no default is there only where it was given."""
    out: dict[str, Any] = {key: raw[key] if isinstance(raw.get(key), str) else "" for key in _TEXTS}
    for key in _PASSED_ON:
        value = raw.get(key)
        if isinstance(value, int | float) and not isinstance(value, bool):
            out[key] = value
    if isinstance(raw.get("modelPolicies"), list):
        out["modelPolicies"] = raw["modelPolicies"]
    for key, default in PORT_FLAGS.items():
        out[key] = raw[key] if isinstance(raw.get(key), bool) else default
    for key, (number, least, most) in PORT_NUMBERS.items():
        out[key] = clamped(raw[key], number, least, most) if key in raw else number
    return out


def clamped(value: Any, default: float, least: float, most: float) -> float:
    """A number within its range; a whole one without a fraction."""
    number = to_number(value)
    if not math.isfinite(number):
        return default
    bounded = min(most, max(least, number))
    return int(bounded) if bounded == int(bounded) else bounded


def _number(key: str, help_: str, unit: str, *, most: int | None = None, is_what_if: bool = False) -> Setting:
    default, least, top = PORT_NUMBERS[key]
    return Setting(key, default, help_, "int", least, top if most is None else most, unit=unit, is_what_if=is_what_if,
                   keeps_fractions=True)  # fmt: skip


def _common(most_tail: int | None) -> tuple[Setting, ...]:
    return (
        _number("projectionThreshold", "A tool result of more tokens than this is compressed.", "tokens",
                is_what_if=True),
        _number("projectionTtlSeconds", "How long an original can be had back.", "seconds"),
        _number("freshTailWindow", "The newest messages that are never touched.", "messages", most=most_tail,
                is_what_if=True),
        _number("summaryKeepRecentTurns", "User turns before the tail that are not folded; one more than this stays.",
                "turns"),
        Setting("layeredSummary", True, "Fold old turns into summaries, and summaries into deeper ones.", "bool"),
        _number("leafChunkTokens", "Tokens of text that make a leaf.", "tokens", is_what_if=True),
        _number("condenseFanout", "Summaries of one depth that are condensed into one.", "summaries"),
        _number("maxSummaryDepth", "How deep condensing goes; 0 leaves leaves.", "levels"),
        Setting("summaryMaxTokens", 0, "The longest summary asked for; 0 leaves it to the version's own.", "int", 0,
                100_000, unit="tokens"),
        Setting("requireSections", True, "Refuse a summary without one of the note's headings, as upstream does; off"
                " for summarisers that know none, such as recorded summaries.", "bool"),
    )  # fmt: skip


PORT_SETTINGS: tuple[Setting, ...] = (
    *_common(None),
    Setting("projection", True, "Compress tool results at all.", "bool"),
    Setting("scratchpad", False, "Show the model the working memory that it edits by tools.", "bool"),
    _number("scratchpadMaxChars", "The longest working memory.", "UTF-16 units"),
    Setting("thresholdRatio", 0.8, "Share of the window at which the engine beneath compacts.", "float", 0.05, 0.95,
            is_what_if=True),
    Setting("retainRatio", 0.16, "Share of the window that it keeps verbatim.", "float", 0.01, 0.9, is_what_if=True),
)  # fmt: skip

SEED_SETTINGS: tuple[Setting, ...] = (
    *_common(64),
    Setting("contextWindowTokens", 1_000_000, "The window where the host reports none.", "int", 8_000, 2_000_000,
            unit="tokens"),
    Setting("projectionKeepRecentTurns", 1, "Newest user turns whose results stay whole, at most"
            " summaryKeepRecentTurns; 0 protects freshTailWindow messages instead.", "int", 0, 100, unit="turns",
            is_what_if=True),
    Setting("summaryTriggerRatio", 0.2, "Share of the window from which on old turns are folded.", "float", 0.05, 0.95,
            is_what_if=True),
    Setting("summaryMinTurns", 6, "User turns before which nothing is folded.", "int", 1, 1_000, unit="turns"),
    Setting("summaryReplacesHistory", True, "Show summaries instead of what they cover, else in front of it.", "bool"),
)  # fmt: skip
