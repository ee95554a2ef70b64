"""What of a text would give a secret away, and the text without it."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from contextviz.analysis.disclosure.signs import certain, is_mixed, uncertain
from contextviz.analysis.disclosure.views import View, decoded, joined, joined_text

Certainty = Literal["found", "suspected"]
MASKED = re.compile(r"\[[a-z ]{2,20} masked\]")
_BETWEEN_MASKS = re.compile(r"[\s.,;:=&/+\"'-]*")
MIN_CHARS = 6


@dataclass(frozen=True, slots=True)
class Finding:
    """Characters `start` up to `end` of a text. What is "found" is masked; what is "suspected" a person decides."""

    start: int
    end: int
    kind: str
    certainty: Certainty
    # Why it is only suspected, in words; "" where it is certain
    reason: str = ""


def find(text: str) -> list[Finding]:
    """Everything in `text` that looks like a secret, in order, none overlapping."""
    if len(text) < MIN_CHARS:
        return []
    found = apart(Finding(start, end, kind, "found") for start, end, kind in certain(text))
    more = [Finding(start, end, kind, "suspected", reason) for (start, end, kind), reason in uncertain(text)]
    plain = decoded(text)
    if plain.parent is not None:
        more += _in_view(plain, "behind escapes")
        more += [
            Finding(*plain.span(start, end), kind, "suspected", f"{reason}, behind escapes")
            for (start, end, kind), reason in uncertain(plain.text)
        ]
    known = {text[one.start : one.end] for one in [*found, *more]}
    one_line = joined_text(plain.text)
    if len(one_line) < len(plain.text) and any(one_line[at:end] not in known for at, end, _ in certain(one_line)):
        # Two words that meet where lines are joined are no key with its value.
        more += [
            one for one in _in_view(joined(plain), "split over lines")
            if one.kind != "password" or is_mixed("".join(text[one.start : one.end].split()))
        ]  # fmt: skip
    return merged(found, [one for one in more if not _is_masked(text, one)])


def left(text: str) -> list[Finding]:
    """What still looks like a secret in a text that was masked."""
    return [one for one in find(text) if not _is_masked(text, one)]


def _in_view(view: View, reason: str) -> list[Finding]:
    return [Finding(*view.span(at, until), kind, "suspected", reason) for at, until, kind in certain(view.text)]


def apart(findings: Iterable[Finding]) -> list[Finding]:
    """In order, overlapping ones as one."""
    result: list[Finding] = []
    for one in sorted(findings, key=lambda one: (one.start, -one.end)):
        if result and one.start < result[-1].end:
            last = result[-1]
            if one.end > last.end:
                result[-1] = Finding(last.start, one.end, last.kind, last.certainty, last.reason)
            continue
        result.append(one)
    return result


def merged(found: Sequence[Finding], suspected: Iterable[Finding]) -> list[Finding]:
    """Certain findings, and what is suspected beyond them: a suspicion that only reaches further keeps its reach."""
    beyond = []
    for one in apart(suspected):
        inside = [other for other in found if other.start < one.end and one.start < other.end]
        if any(other.start <= one.start and one.end <= other.end for other in inside):
            continue
        beyond.append(one)
    swallowed = [one for one in found if not any(other.start < one.end and one.start < other.end for other in beyond)]
    grown = [
        Finding(
            min([one.start, *(other.start for other in found if other.start < one.end and one.start < other.end)]),
            max([one.end, *(other.end for other in found if other.start < one.end and one.start < other.end)]),
            one.kind,
            one.certainty,
            one.reason,
        )
        for one in beyond
    ]
    return apart([*swallowed, *grown])


def _is_masked(text: str, one: Finding) -> bool:
    # A pattern may take a part of the words that stand for a secret: they are looked for beyond it.
    if "masked]" not in text:
        return False
    around = text[max(one.start - 30, 0) : one.end + 30]
    start, end = min(one.start, 30), min(one.start, 30) + one.end - one.start
    rest, position, count = [], start, 0
    for match in MASKED.finditer(around):
        if match.end() > start and match.start() < end:
            rest.append(around[position : max(match.start(), position)])
            position, count = match.end(), count + 1
    rest.append(around[position:end])
    return bool(count) and _BETWEEN_MASKS.fullmatch("".join(rest)) is not None


def mask_of(kind: str) -> str:
    """What stands in a copy where a secret of this kind stood."""
    return f"[{kind.replace('_', ' ')} masked]"


def without(text: str, findings: Iterable[Finding]) -> str:
    """The text with each finding masked; they must not overlap."""
    parts: list[str] = []
    position = 0
    for one in sorted(findings, key=lambda one: one.start):
        parts += [text[position : one.start], mask_of(one.kind)]
        position = one.end
    return "".join([*parts, text[position:]])


def text_key(text: str) -> str:
    """A short name for a text, by its content."""
    return hashlib.sha256(text.encode("utf-8", errors="replace")).hexdigest()[:16]
