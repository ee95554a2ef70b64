"""What was read of sessions whose files grow, held in this process while the sessions are what was read.

A reader's state refers to texts by their hashes. It is held only once its session is saved, and lent only while that
session is there: its texts are then in the store.
"""

from __future__ import annotations

from typing import Any

from contextviz.sources.memory import Resident
from contextviz.sources.source import Probe
from contextviz.store.models import SessionRecord

RESIDENT = Resident()
_Fresh = tuple[str, Probe, int, Any]


class ReadingMemory:
    """The Memory (sources.source) of one reading. `is_going_on` says whether something was read on from its end."""

    def __init__(self) -> None:
        self.is_going_on = False
        self._fresh: list[_Fresh] = []

    def take(self, reader: str, probe: Probe) -> Any | None:
        """See Memory.take. One query where there is a state."""
        kept = RESIDENT.take(reader, probe)
        if kept is None:
            return None
        session, state = kept
        if not SessionRecord.objects.filter(**session).exclude(status="deleting").exists():
            return None
        self.is_going_on = True
        return state

    def keep(self, reader: str, probe: Probe, offset: int, state: Any) -> None:
        """See Memory.keep: held by this reading until its session is saved."""
        self._fresh.append((reader, probe, offset, state))

    def forget(self) -> None:
        """What was read will not be saved."""
        self._fresh.clear()

    def saved(self, session_id: int) -> None:
        """What was read is the session now: hold it for the next time. One query where there is something to hold."""
        fresh, self._fresh = self._fresh, []
        if not fresh:
            return
        session = SessionRecord.objects.filter(pk=session_id).values("pk", "key", "created_at", "read_by").get()
        for reader, probe, offset, state in fresh:
            try:
                RESIDENT.keep(reader, probe, offset, (session, state))
            except OSError:
                continue  # it lay in an archive, which is closed
