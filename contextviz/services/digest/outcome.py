"""What a digest found, and how it says it."""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass, field, fields
from datetime import datetime
from functools import total_ordering

from contextviz.events.problem import ReadProblem
from contextviz.events.session import SourceFile, Transcript
from contextviz.events.times import EARLIEST
from contextviz.services.digest.batch import BatchFile
from contextviz.services.incoming.sniff import READABLE

WAITING_DAYS = 30  # as long as a log is kept for a session that does not come
# Of files that readers know and that hold no session: the list of what can be read would not help.
NOT_KEPT = (
    "What only tells of a session is not kept without it: bring it in together with the session's file, even where the "
    "session is here already."
)


MOST_NAMESAKES = 20  # runs of one name that are looked for


@total_ordering
@dataclass(frozen=True, slots=True)
class Fullness:
    """How much of its session a transcript has: messages, then calls, then how late it ends."""

    size: tuple[int, int, datetime]
    session: str
    file: str

    @classmethod
    def of(cls, transcript: Transcript) -> Fullness:
        """That of a transcript that was read whole."""
        size = (len(transcript.messages), len(transcript.calls), transcript.session.ended_at or EARLIEST)
        return cls(size, transcript.session.id, next(iter(transcript.files), ""))

    def __lt__(self, other: Fullness) -> bool:
        return self.size < other.size

    def left_out(self, fuller: Fullness) -> ReadProblem:
        """What is to be said of this one where `fuller` counts, which has as much at least."""
        how_much = "more" if self < fuller else "as much"
        text = (
            f"{fuller.file} holds {how_much} of the session {self.session[:100]} and is the one that counts: what only "
            f"{self.file} has ({count(self.size[0], 'message')} in it) is not shown"
        )
        return ReadProblem("duplicate_conversation", text, "warning", self.file)


def namesakes_of(session_id: str) -> list[str]:
    """What readers call further sessions that are written under this name."""
    return [f"{session_id}-{number}" for number in range(2, MOST_NAMESAKES + 1)]


@dataclass(slots=True)
class Outcome:
    """What a digest found, file by file and session by session. `alone` are sessions that were read once more without
    the rest of the batch, with files that came earlier; `waiting` are those that are not here, whose logs are kept;
    `joint` are files of several sessions that have to be read once more together; `beside` are sessions of none of the
    batch's files whose numbers changed with them."""

    files: list[SourceFile] = field(default_factory=list)
    problems: list[ReadProblem] = field(default_factory=list)
    new: list[int] = field(default_factory=list)
    updated: list[int] = field(default_factory=list)
    unchanged: list[int] = field(default_factory=list)
    alone: list[int] = field(default_factory=list)
    waiting: list[str] = field(default_factory=list)
    joint: list[BatchFile] = field(default_factory=list)
    beside: list[int] = field(default_factory=list)

    @property
    def sessions(self) -> list[int]:
        """Every session of the batch, once."""
        return list(dict.fromkeys([*self.new, *self.updated, *self.unchanged]))

    def is_found(self, session: int, *, is_new: bool, is_changed: bool) -> None:
        """Note what became of a session; what was said of it before stays, unless it has changed since."""
        if session in self.new or session in self.updated:
            return
        if (is_new or is_changed) and session in self.unchanged:
            self.unchanged.remove(session)
        ids = self.new if is_new else self.updated if is_changed else self.unchanged
        if session not in ids:
            ids.append(session)

    def add_problem(self, problem: ReadProblem) -> None:
        """Note what was wrong with a file, once."""
        if problem not in self.problems:
            self.problems.append(problem)

    def now_a_copy(self, file: SourceFile) -> None:
        """A file that counted alone is a copy, or the lesser one, beside what came before."""
        self.files = [file if one.path == file.path else one for one in self.files]

    def set_apart(self, others: Container[int]) -> None:
        """Sessions `others` are of none of the batch's files: those that changed are counted by themselves."""
        self.beside = [one for one in [*self.new, *self.updated] if one in others]
        for ids in (self.new, self.updated, self.unchanged):
            ids[:] = [one for one in ids if one not in others]

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
    beside = len(outcome.beside)
    if beside:
        rest += f" {count(beside, 'other session')} that {'is' if beside == 1 else 'are'} read together with "
        rest += f"{'it' if len(outcome.sessions) == 1 else 'them'} {was(beside)} brought up to date."
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
