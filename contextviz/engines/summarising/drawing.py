"""What notes are drawn from: the identifiers and the telling lines of each paragraph, and which of them matter most."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from contextviz.events.identifiers import extract
from contextviz.events.message import Role

MOST_LINE = 200
MOST_GOALS = 10
_MOST_LINES = 6  # telling lines of one paragraph
_MOST_IDENTIFIERS = 400  # of one paragraph
_FAILED = re.compile(
    r"\b(?:fail(?:s|ed|ure|ing)?|errors?|exception|traceback|denied|refused|not found|cannot|can't|timed out|"
    r"does(?: not|n't) work|broke(?:n)?)\b",
    re.IGNORECASE,
)
_WORKED = re.compile(
    r"\b(?:works?|worked|pass(?:es|ed)?|succeed(?:s|ed)|successful(?:ly)?|fixed|solved|resolved|done)\b", re.IGNORECASE
)
_OPEN = re.compile(r"\b(?:next|remaining|pending|still|left to|waiting|unfinished)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Facts:
    """What one paragraph says: identifiers as (kind, canonical, text), and lines by what they tell."""

    who: Role | None
    first: str
    identifiers: tuple[tuple[str, str, str], ...]
    worked: tuple[str, ...]
    failed: tuple[str, ...]
    left: tuple[str, ...]

    @classmethod
    def of(cls, text: str, who: Role | None) -> Facts:
        """Read a paragraph."""
        lines = [clipped(line) for line in text.split("\n")]
        lines = [line for line in lines if line]
        found = extract(text, speaker=who)[:_MOST_IDENTIFIERS]
        failed = [line for line in lines if _FAILED.search(line)][:_MOST_LINES]
        worked = [line for line in lines if line not in failed and _WORKED.search(line)][:_MOST_LINES]
        left = [line for line in lines if who != "tool" and _OPEN.search(line)][:_MOST_LINES]
        identifiers = tuple((one.kind, one.canonical, clipped(one.text)) for one in found)
        return cls(who, lines[0] if lines else "", identifiers, tuple(worked), tuple(failed), tuple(left))


@dataclass(slots=True)
class Drawn:
    """The lines of each section, the most telling first."""

    goals: list[str] = field(default_factory=list)
    worked: list[str] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)
    identifiers: list[str] = field(default_factory=list)
    files: list[str] = field(default_factory=list)
    left: list[str] = field(default_factory=list)

    def sections(self) -> tuple[list[str], ...]:
        """In the order of the headings."""
        return (self.goals, self.worked, self.failed, self.identifiers, self.files, self.left)


@dataclass(slots=True)
class _Seen:
    """An identifier: its spelling last seen, how often, and in which paragraph last."""

    text: str
    times: int = 0
    last: int = 0


def clipped(line: str) -> str:
    """A line without blanks around it, cut at MOST_LINE characters."""
    line = " ".join(line.split())
    return line if len(line) <= MOST_LINE else line[: MOST_LINE - 1] + "…"


def drawn_from(facts: Sequence[Facts], carried: Sequence[list[str]]) -> Drawn:
    """The lines of all paragraphs and of earlier notes (by section), the newest of both first where that tells more."""
    drawn = Drawn()
    asked = [one.first for one in facts if one.who == "user" and one.first]
    told = _by_kind(facts, ("directive",))
    decided = _by_kind(facts, ("decision",))
    # What was asked first is the task; what was asked last is what is going on.
    first = carried[0][:1] or asked[:1]
    drawn.goals = [*first, *asked[-1:], *told, *carried[0][1:], *reversed(asked)][:MOST_GOALS]
    drawn.worked = [*decided, *_newest(facts, "worked"), *carried[1]]
    drawn.failed = [*_by_kind(facts, ("error",)), *_newest(facts, "failed"), *carried[2]]
    drawn.files = _ranked(facts, ("path",), carried[4])
    drawn.identifiers = _ranked(
        facts, ("command", "url", "symbol", "hash", "version", "number", "key", "quote"), carried[3]
    )
    # A tool call is one line of JSON: what it names is among the identifiers.
    answered = [one.first for one in facts if one.who == "assistant" and one.first and one.first[0] != "{"]
    drawn.left = [*_by_kind(facts, ("open_item",)), *answered[-1:], *_newest(facts, "left"), *carried[5]]
    return drawn


def _by_kind(facts: Sequence[Facts], kinds: tuple[str, ...]) -> list[str]:
    return [text for one in reversed(facts) for kind, _, text in one.identifiers if kind in kinds]


def _newest(facts: Sequence[Facts], name: str) -> list[str]:
    return [line for one in reversed(facts) for line in getattr(one, name)]


def _ranked(facts: Sequence[Facts], kinds: tuple[str, ...], carried: Sequence[str]) -> list[str]:
    """Identifiers by how often and how lately they were named; after each two of them one of earlier notes, so that
    these fade over several folds and not at once."""
    seen: dict[str, _Seen] = {}
    for place, one in enumerate(facts, start=1):
        for kind, canonical, text in one.identifiers:
            if kind in kinds:
                known = seen.setdefault(canonical, _Seen(text))
                known.text, known.times, known.last = text, known.times + 1, place
    size = max(1, len(facts))
    # Twice as often counts as much as being named in the newest half.
    ranked = sorted(seen.values(), key=lambda one: -(min(one.times, 8) + 4 * one.last / size))
    new = [one.text for one in ranked]
    known_now = set(new)
    old = [text for text in carried if text not in known_now]
    mixed: list[str] = []
    for at in range(0, max(len(new), 2 * len(old)), 2):
        mixed += new[at : at + 2]
        mixed += old[at // 2 : at // 2 + 1]
    return mixed
