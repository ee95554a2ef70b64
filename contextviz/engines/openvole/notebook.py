"""What OpenVole's paws keep from one task to the next: the session's transcript and the daily memory (2.6, 2.7)."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from contextviz.engines.openvole.history import history_lines, inject_history
from contextviz.engines.openvole.memory import appended, bootstrap_blocks, facts_before_compaction
from contextviz.engines.openvole.messages import AgentMessage
from contextviz.engines.openvole.sessions import SessionEntry
from contextviz.events.javascript import length16, slice16

MOST_ENTRY, MOST_RESULT, MOST_ANSWER = 4000, 300, 1000  # UTF-16 units
LEARNED_EVERY = 10  # successful results
_SENSITIVE = ("api_key", "token", "password")


class Notebook:
    """The transcript and the memory of one session. Times are milliseconds since 1970, days and clocks are UTC."""

    def __init__(self, ttl_minutes: int) -> None:
        self._ttl = ttl_minutes * 60_000
        self._entries: list[SessionEntry] = []
        self._active: int | None = None
        self._days: dict[str, str] = {}
        self._successes = 0
        self._learned: set[str] = set()

    def history(self, now: int) -> str:
        """The session's history for a task that begins; empty after a longer pause than it may have."""
        if self._active is None or now - self._active > self._ttl:
            return ""
        return inject_history(history_lines(self._entries))

    def memory(self, now: int) -> str:
        """The memory for a task that begins."""
        day = _instant(now)
        return bootstrap_blocks("", self._days.get(_day(day - timedelta(days=1)), ""), self._days.get(_day(day), ""))

    def wrote(self, role: str, content: str, now: int) -> None:
        """An entry of the transcript."""
        at = _instant(now).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        self._entries.append(SessionEntry(at, role, slice16(content, 0, MOST_ENTRY)))
        self._active = now

    def answered(self, content: str, now: int) -> None:
        """The answer that ends a task."""
        is_long = length16(content) > MOST_ANSWER
        self.wrote("brain", slice16(content, 0, MOST_ANSWER) + "... [truncated]" if is_long else content, now)

    def observed(self, message: AgentMessage, whole: str, now: int) -> None:
        """A tool's result; every tenth that succeeded may leave a note in the memory."""
        name = message.tool_call.name if message.tool_call else "tool"
        short = slice16(whole, 0, MOST_RESULT) + "..." if length16(whole) > MOST_RESULT else whole
        self.wrote(f"tool:{name}", short, now)
        if message.role == "error":
            return
        self._successes += 1
        if self._successes % LEARNED_EVERY:
            return
        notes = [] if name in self._learned else [f"- Frequently used tool: {name}"]
        self._learned.add(name)
        lower = whole.lower()
        if any(word in lower for word in _SENSITIVE):
            notes.append(f"- Warning: {name} gave what looks like a secret; keep such in the vault")
        if notes:
            self._note("\n".join([f"### Auto-learned (iteration {self._successes})", *notes]), now)

    def before_compaction(self, messages: Sequence[AgentMessage], now: int) -> None:
        """What is written down of messages that are about to be compacted."""
        facts = facts_before_compaction(messages)
        if facts:
            self._note(facts, now)

    def _note(self, text: str, now: int) -> None:
        instant = _instant(now)
        day = _day(instant)
        self._days[day] = appended(self._days.get(day, ""), text, instant.strftime("%H:%M:%S"))


def _instant(now: int) -> datetime:
    return datetime.fromtimestamp(now / 1000, UTC)


def _day(instant: datetime) -> str:
    return instant.date().isoformat()
