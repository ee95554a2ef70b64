"""From a source to a summary: normal, aggressive, a deterministic stand-in, and the cap on length (7.4)."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass

from contextviz.engines.lossless.items import Level
from contextviz.engines.lossless.tokens import truncated
from contextviz.engines.summaries import SummariserFailed
from contextviz.events.javascript import S, round_half_up, trim, trim_end
from contextviz.tokens.estimators import cp_weighted

OMISSION = "[LCM fallback summary omitted directive-shaped untrusted content]."
OMISSION_MARKER = "[LCM fallback summary; directive-shaped untrusted content omitted]"


@dataclass(frozen=True, slots=True)
class Written:
    """A summary's text, how it came about, and a warning where it is longer than asked."""

    text: str
    level: Level
    warning: str | None = None


def escalated(
    source: str, ask: Callable[[bool], str], *, target: int, overage: float = 3, fallback_tokens: int = 512
) -> Written | None:
    """Summarise `source` with `ask(is_aggressive)`; None where there is nothing to summarise or credentials were
    refused. `target` is the length asked for in tokens."""
    source = trim(source)
    if not source:
        return None
    given = max(1, cp_weighted(source))
    level: Level
    for level, is_aggressive in _STEPS:
        try:
            text = trim(ask(is_aggressive))
        except SummariserFailed as failure:
            if failure.is_refused:
                return None
            break
        if not text:
            break
        if cp_weighted(text) < given:
            return _capped(text, level, target, overage)
    note = f"[Truncated from {given} tokens]"
    return Written(fallback(source, fallback_tokens, note, f"{OMISSION_MARKER}\n{note}"), "fallback")


_STEPS: tuple[tuple[Level, bool], ...] = (("normal", False), ("aggressive", True))


def _capped(text: str, level: Level, target: int, overage: float) -> Written:
    tokens = cp_weighted(text)
    most = math.ceil(target * overage)
    warning = None
    if tokens > math.ceil(target * 1.5):
        percent = round_half_up((tokens / target - 1) * 100)
        warning = f"summary exceeds target by {percent}%: {tokens} tokens vs target {target}"
    if tokens <= most:
        return Written(text, level, warning)
    return Written(capped(text, tokens, most), "capped", warning)


def capped(text: str, tokens: int, most: int) -> str:
    """`text` cut so that it and the longest note that fits are at most `most` tokens."""
    for note in (f"\n[Capped from {tokens} tokens to ~{most}]", f"\n[Capped to ~{most}]", "\n[Capped]"):
        short = truncated(text, max(0, most - cp_weighted(note))) + note
        if cp_weighted(short) <= most:
            return short
    return truncated(text, most)


def fallback(text: str, most: int, note: str, omission_note: str = OMISSION_MARKER) -> str:
    """The beginning of a source in place of a summary, without sentences that look like orders, and a note after it;
    together at most `most` tokens unless the note alone is more."""
    clean, has_omitted = sanitized(trim(text))
    end = omission_note if has_omitted else note
    if not trim(clean.replace(OMISSION, "")):
        return end if trim(text) else ""
    body = trim_end(truncated(clean, max(0, most - cp_weighted(f"\n{end}"))))
    return f"{body}\n{end}" if body else end


def sanitized(text: str) -> tuple[str, bool]:
    """A text with one marker for each run of sentences that look like orders to a model; whether there were any."""
    kept: list[str] = []
    has_omitted = is_after_omission = False
    for part in _SENTENCES.findall(text) or [text]:
        if not part.strip("\n"):
            kept.append(part)
        elif _is_order(part) or (is_after_omission and _CARRIES_ON.match(part)):
            if not is_after_omission:
                kept.append(f"{OMISSION} ")
            has_omitted = is_after_omission = True
        else:
            kept.append(part)
            is_after_omission = False
    return trim(re.sub(r"[ \t]+\n", "\n", "".join(kept))), has_omitted


_SENTENCES = re.compile(rf"\n+|[^\n.!?]+[.!?]*{S}*")
_GAP = f"{S}+"
_DROP = r"\b(?:ignore|disregard|forget|override)"
_RULES = "(?:instructions?|prompts?|rules?)"
_EARLIER = rf"(?:(?:previous|prior|above|earlier)(?:{_GAP}(?:system|developer))?|(?:system|developer))"
_WHOSE = "(?:the|your|my|any|these|those)"
_ANY = "(?:the|your|my|these|those|current|existing|original)"
_TELL = "(?:reveal|print|show|dump|exfiltrate|provide|give|send)"
_LISTENERS = (
    rf"(?:me|us|(?:(?:the|this|that|your|my|any|these|those|all|every){_GAP})?(?:future{_GAP})?"
    "(?:users?|requests?|questions?|prompts?|messages?))"
)
_CARRIES_ON = re.compile(
    rf"{S}*(?:answer|reply|respond|say|output|print|return|show|provide|give|send|reveal|dump|exfiltrate)\b"
    rf"[^.!?\n]{{0,160}}[.!?]?{S}*\Z",
    re.IGNORECASE | re.ASCII,
)
# In the patterns, ~ stands for a gap between words.
_ORDERS = [
    re.compile(pattern.replace("~", _GAP), re.IGNORECASE | re.ASCII)
    for pattern in (
        rf"{_DROP}~(?:all~)?(?:of~)?(?:{_WHOSE}~)?{_EARLIER}~{_RULES}\b",
        rf"{_DROP}~(?:(?:all|any)~)?(?:of~)?(?:{_ANY}~)?{_RULES}{S}*(?:\Z|[.,;:!?]"
        r"|~(?:and|then|now|before|after|instead|to|with|from)\b)",
        r"\byou~are~now\b",
        r"\bfrom~now~on\b",
        r"\breply~only~with\b",
        rf"\b{_TELL}~(?:me~)?(?:(?:the|your|my|any)~)?(?:system|developer)~prompt\b",
        r"\bjailbreak~(?:mode|prompt|instructions?|the~model|the~assistant)\b",
        r"\bdan~mode\b",
        r"\byou~are~dan\b",
        rf"\banswer~{_LISTENERS}~as~dan\b",
        rf"^{S}*(?:[a-z][-a-z0-9_/ ]{{0,40}}:{S}*)?(?:act~as|pretend~to~be)~dan\b",
    )
]
# Dan is also a person's name: within a sentence it is an order only where it is not written like one.
_PERSONA = re.compile(
    r"\b(?i:act~as|pretend~to~be|enable|activate|unlock|enter|start|use)~(?!Dan\b)(?i:dan)\b".replace("~", _GAP),
    re.ASCII,
)


def _is_order(text: str) -> bool:
    return any(order.search(text) for order in _ORDERS) or _PERSONA.search(text) is not None
