"""Times and findings of one rollout."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from contextviz.events.problem import ReadProblem, Severity
from contextviz.events.session import Transcript
from contextviz.events.times import instant, is_suspicious, oddity

MAX_ORDER_PROBLEMS = 50


class Notes:
    """Reads the times of a rollout's lines and adds what is wrong with them to the transcript. `now` is the clock;
    where `has_future` another clock would read them otherwise."""

    def __init__(self, transcript: Transcript, name: str, now: datetime):
        self._transcript = transcript
        self._name = name
        self.now = now
        self.has_future = False
        self._latest: datetime | None = None
        self._out_of_order = 0

    def time(self, value: Any, number: int) -> datetime | None:
        """The instant of line `number`; the session ends at the latest one that does not lie in the future."""
        at = instant(value)
        if at is None:
            if value is not None:
                self.problem("unreadable_time", f"line {number} has a time that cannot be read", line=number)
            return None
        session = self._transcript.session
        if self.is_odd(at):
            self.problem("suspicious_time", f"line {number} lies {oddity(at, now=self.now)}", line=number)
        elif session.ended_at is None or at > session.ended_at:
            session.ended_at = at
        return at

    def is_odd(self, at: datetime) -> bool:
        """Whether `at` lies too far ahead, or back, to be believed."""
        is_odd = is_suspicious(at, now=self.now)
        self.has_future = self.has_future or is_odd
        return is_odd

    def in_order(self, at: datetime | None, number: int, entry: str) -> None:
        """Tell where an item is stamped earlier than one before it; the order of the file is kept."""
        if at is None or self.is_odd(at):
            return
        if self._latest is None or at >= self._latest:
            self._latest = at
            return
        self._out_of_order += 1
        if self._out_of_order <= MAX_ORDER_PROBLEMS:
            text = f"line {number} is stamped earlier than a line before it; the order of the file is kept"
            self.problem("out_of_order", text, "info", line=number, entry=entry)

    def problem(
        self,
        code: str,
        message: str,
        severity: Severity = "warning",
        *,
        line: int | None = None,
        entry: str | None = None,
        value: str | int | None = None,
    ) -> None:
        """Add a finding about this file."""
        self._transcript.problems.append(ReadProblem(code, message, severity, self._name, line, entry, value))
