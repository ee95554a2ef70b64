"""What a digest found, and how it says it."""

from __future__ import annotations

from dataclasses import dataclass, field, fields

from contextviz.events.problem import ReadProblem
from contextviz.events.session import SourceFile
from contextviz.services.incoming.sniff import READABLE

WAITING_DAYS = 30  # as long as a log is kept for a session that does not come
# Of files that readers know and that hold no session: the list of what can be read would not help.
NOT_KEPT = (
    "What only tells of a session is not kept without it: bring it in together with the session's file, even where the "
    "session is here already."
)


@dataclass(slots=True)
class Outcome:
    """What a digest found, file by file and session by session. `alone` are sessions that were read once more without
    the rest of the batch, with files that came earlier; `waiting` are those that are not here, whose logs are kept."""

    files: list[SourceFile] = field(default_factory=list)
    problems: list[ReadProblem] = field(default_factory=list)
    new: list[int] = field(default_factory=list)
    updated: list[int] = field(default_factory=list)
    unchanged: list[int] = field(default_factory=list)
    alone: list[int] = field(default_factory=list)
    waiting: list[str] = field(default_factory=list)

    @property
    def sessions(self) -> list[int]:
        """Every session of the batch, once."""
        return list(dict.fromkeys([*self.new, *self.updated, *self.unchanged]))

    def add(self, other: Outcome) -> None:
        """Take in what another reading of the batch found."""
        for one in fields(self):
            mine, others = getattr(self, one.name), getattr(other, one.name)
            mine.extend(item for item in others if item not in mine)


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


def kept_for_later(outcome: Outcome) -> str:
    """What a batch of nothing but logs says, whose sessions are not here yet."""
    names = ", ".join(one[:80] for one in outcome.waiting[:3])
    more = f" and {len(outcome.waiting) - 3} more" if len(outcome.waiting) > 3 else ""
    return (
        f"Nothing to show yet: this is a log of the requests of {names}{more}, and no transcript of that is here. "
        f"It is kept for {WAITING_DAYS} days and checks the windows as soon as the transcript comes."
    )


def nothing(outcome: Outcome) -> str:
    told = {one.file for one in outcome.problems}  # of these the problem says it, with what to do
    reasons = [f"{one.path}: {one.reason}" for one in outcome.files if one.reason and one.path not in told]
    reasons = list(dict.fromkeys([*reasons, *(one.message for one in outcome.problems)]))
    said = "; ".join(one.rstrip(".") for one in reasons[:3]) or "no messages in it"
    more = f" (and {len(reasons) - 3} more)" if len(reasons) > 3 else ""
    is_beside = bool(outcome.files) and all(one.role in ("index", "trace") for one in outcome.files)
    return f"Nothing to show: {said}{more}. {NOT_KEPT if is_beside else READABLE}"
