"""The default summariser: hand-off notes drawn from the text itself, which keep its identifiers.

No sentence in them is invented: every line is a line or an identifier of the source, cut where it is long.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from contextviz.engines.settings import Value
from contextviz.engines.summaries import SummariserFailed, SummaryRequest
from contextviz.engines.summarising.drawing import Drawn, Facts, drawn_from
from contextviz.events.message import Role
from contextviz.events.text import sanitised
from contextviz.tokens.estimate import estimate
from contextviz.tokens.estimators import cp_weighted

SECTIONS = (
    "TASK / GOAL", "WORKING APPROACHES", "FAILED APPROACHES", "KEY IDENTIFIERS", "FILE ARTIFACTS", "OPEN STATE",
)  # fmt: skip
NONE = "(none)"
MOST_TOKENS = 1_500  # where the engine names no target
# How many lines of each section are taken in one round of filling up.
_SHARES = (2, 2, 2, 4, 3, 2)
_CHARS_A_TOKEN = 8  # of the source: notes are at most half of it, by four characters a token
_IDENTIFIERS, _FILES = 3, 4  # places among the sections
_MOST_KNOWN = 20_000
_HEADING = re.compile(r"^## (.{1,40})$")
_SPEAKER = re.compile(
    r"\[?(?P<who>user|human|assistant|brain|model|tool result|tool|system)\b[^\]:\n]{0,60}\]?: ?", re.IGNORECASE
)
_ROLES: dict[str, Role] = {
    "user": "user", "human": "user", "assistant": "assistant", "brain": "assistant", "model": "assistant",
    "tool result": "tool", "tool": "tool", "system": "system",
}  # fmt: skip


@dataclass(slots=True)
class _Fill:
    """Lines of the six sections within a number of tokens."""

    lines: list[list[str]]
    left: int


class Notes:
    """See the module. What was found in a paragraph is kept for the run, since engines give the same ones again."""

    id = "notes"

    def __init__(self) -> None:
        self._facts: dict[tuple[Role | None, str], Facts] = {}
        self._costs: dict[str, int] = {}
        self._frame = sum(self._cost(f"## {name}") + self._cost(NONE) + 1 for name in SECTIONS)

    @property
    def settings(self) -> dict[str, Value]:
        """The bound where an engine names none."""
        return {"mostTokens": MOST_TOKENS}

    def __call__(self, request: SummaryRequest) -> str:
        """Notes of at most `target_tokens` (half of it when aggressive), always shorter than the source."""
        source = sanitised(request.text.strip())[0]  # half an emoji is no text that a tokenizer takes
        if len(source) < 2:
            raise SummariserFailed("There is nothing to summarise.")
        limit = min(request.target_tokens or MOST_TOKENS, max(1, len(source) // _CHARS_A_TOKEN))
        if request.is_aggressive:
            limit = max(1, limit // 2)
        carried, before = _carried(sanitised(request.previous or "")[0])
        for who, paragraph in _paragraphs(before):
            for kind, _, named in self._found(who, paragraph).identifiers:
                carried[_FILES if kind == "path" else _IDENTIFIERS].append(named)
        drawn = drawn_from([self._found(who, text) for who, text in _paragraphs(source)], carried)
        text = self._filled(drawn, limit) if limit > self._frame else self._clipped(drawn, source, limit)
        return text if len(text) < len(source) else self._clipped(drawn, source, limit)

    def _found(self, who: Role | None, text: str) -> Facts:
        known = self._facts.get((who, text))
        if known is None:
            if len(self._facts) >= _MOST_KNOWN:
                self._facts.clear()
            known = self._facts[who, text] = Facts.of(text, who)
        return known

    def _cost(self, line: str) -> int:
        """Tokens of a line with its end, by whichever of two estimators says more."""
        known = self._costs.get(line)
        if known is None:
            if len(self._costs) >= _MOST_KNOWN:
                self._costs.clear()
            known = self._costs[line] = max(estimate(line), cp_weighted(line)) + 1
        return known

    def _filled(self, drawn: Drawn, limit: int) -> str:
        fill = _Fill([[] for _ in SECTIONS], limit - self._frame)
        waiting = [iter(dict.fromkeys(lines)) for lines in drawn.sections()]
        alive = set(range(len(SECTIONS)))
        while alive and fill.left > 0:
            for number in sorted(alive):
                if not self._round(fill, number, waiting[number]):
                    alive.discard(number)
        sections = [
            f"## {name}\n" + "\n".join(lines or [NONE]) for name, lines in zip(SECTIONS, fill.lines, strict=True)
        ]
        return "\n\n".join(sections)

    def _round(self, fill: _Fill, number: int, waiting: Iterator[str]) -> bool:
        """Take a section's share of one round; whether it may have more."""
        for _ in range(_SHARES[number]):
            line = next(waiting, None)
            if line is None:
                return False
            cost = self._cost(f"- {line}")
            if cost <= fill.left:
                fill.lines[number].append(f"- {line}")
                fill.left -= cost
        return fill.left > 0

    def _clipped(self, drawn: Drawn, source: str, limit: int) -> str:
        """Too little room for sections: identifiers in a row, else the source's beginning."""
        row = " · ".join(dict.fromkeys([*drawn.files, *drawn.identifiers])) or source
        most = min(len(source) - 1, 4 * limit)
        text = row[:most].rstrip() or source[:1]
        while len(text) > 1 and max(estimate(text), cp_weighted(text)) > limit:
            text = text[: max(1, len(text) * 3 // 4)]
        return text


def _paragraphs(text: str) -> list[tuple[Role | None, str]]:
    """Paragraphs with who said them, as far as the engine wrote that in front."""
    found: list[tuple[Role | None, str]] = []
    who: Role | None = None
    for paragraph in text.split("\n\n"):
        stripped = paragraph.strip()
        if not stripped:
            continue
        told = _SPEAKER.match(stripped)
        if told is not None:
            who = _ROLES[told["who"].lower()]
            stripped = stripped[told.end() :].strip() or stripped
        found.append((who, stripped))
    return found


def _carried(previous: str) -> tuple[list[list[str]], str]:
    """The lines of earlier notes by section, and what of the earlier summary is no notes."""
    sections: list[list[str]] = [[] for _ in SECTIONS]
    if f"## {SECTIONS[0]}" not in previous:
        return sections, previous
    at: int | None = None
    other: list[str] = []
    for line in previous.split("\n"):
        heading = _HEADING.match(line)
        if heading is not None:
            at = SECTIONS.index(heading[1]) if heading[1] in SECTIONS else None
        elif at is None:
            other.append(line)
        elif line.startswith("- "):
            sections[at].append(line[2:])
    return sections, "\n".join(other)
