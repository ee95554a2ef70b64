"""What a digest found, and how it says it."""

from __future__ import annotations

from dataclasses import dataclass, field

from contextviz.events.problem import ReadProblem
from contextviz.events.session import SourceFile
from contextviz.services.incoming.sniff import READABLE


@dataclass(slots=True)
class Outcome:
    """What a digest found, file by file and session by session. `alone` are sessions that were read once more without
    the rest of the batch, with files that came earlier."""

    files: list[SourceFile] = field(default_factory=list)
    problems: list[ReadProblem] = field(default_factory=list)
    new: list[int] = field(default_factory=list)
    updated: list[int] = field(default_factory=list)
    unchanged: list[int] = field(default_factory=list)
    alone: list[int] = field(default_factory=list)

    @property
    def sessions(self) -> list[int]:
        """Every session of the batch, once."""
        return list(dict.fromkeys([*self.new, *self.updated, *self.unchanged]))


def count(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def was(number: int) -> str:
    return "was" if number == 1 else "were"


def success(outcome: Outcome, files: int) -> str:
    parts = [
        f"{len(ids)} {word}"
        for ids, word in ((outcome.new, "new"), (outcome.updated, "updated"), (outcome.unchanged, "unchanged"))
        if ids
    ]
    ignored = sum(one.role == "ignored" for one in outcome.files)
    rest = f" {count(ignored, 'file')} {was(ignored)} not a transcript." if ignored else ""
    return f"Read {count(files, 'file')}: {count(len(outcome.sessions), 'session')} ({', '.join(parts)}).{rest}"


def nothing(outcome: Outcome) -> str:
    reasons = [f"{one.path}: {one.reason}" for one in outcome.files if one.reason]
    reasons.extend(one.message for one in outcome.problems)
    said = "; ".join(reasons[:3]) or "no messages in it"
    more = f" (and {len(reasons) - 3} more)" if len(reasons) > 3 else ""
    return f"Nothing to show: {said}{more}. {READABLE}"
