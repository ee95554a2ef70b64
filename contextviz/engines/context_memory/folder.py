"""The folder that the skill keeps: topics with STATUS and THREAD, a log, the state for after a compaction (6.2).

What the agent would write there is simulated: excerpts of what was said stand for its notes.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from contextviz.engines.context_memory.clawclient import color_of
from contextviz.engines.context_memory.model import MOST_LINES, is_dormant, next_agent_id, next_switch_id

_EXCERPT = 200  # characters of a message that a note holds
_LATEST = 4  # exchanges that THREAD.md has under Latest
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_STATUS_LINES = 6
_READ_LINES = 40  # of THREAD.md that an agent reads back (ours)


def excerpt(text: str) -> str:
    """The first words of a message in one line."""
    line = " ".join(text[: 4 * _EXCERPT].split())
    return line if len(line) <= _EXCERPT else f"{line[: _EXCERPT - 1]}…"


@dataclass(slots=True)
class TopicNotes:
    """One topic's folder. `said` are excerpts, oldest first, up to what THREAD.md holds; `archived` lines are in its
    archive."""

    key: str
    created: datetime
    last_active: datetime
    is_dormant: bool = False
    said: deque[tuple[str, str]] = field(default_factory=deque)
    asked: str = ""
    archived: int = 0

    def note(self, who: str, text: str) -> bool:
        """Write an excerpt down; whether THREAD.md had to be archived for it."""
        line = excerpt(text)
        if not line:
            return False
        self.said.append((who, line))
        if who == "User":
            self.asked = line
        # Title, date, two headings and blank lines take six of its 200 lines.
        if len(self.said) + _STATUS_LINES <= MOST_LINES:
            return False
        gone = len(self.said) // 2
        for _ in range(gone):
            self.said.popleft()
        self.archived += gone
        return True

    def status(self) -> str:
        """STATUS.md."""
        return (
            f"# {self.key} — Status\n**Last Updated:** {self.last_active:%Y-%m-%d %H:%M}\n\n"
            f"## Active\n- {self.asked or 'nothing yet'}\n\n## Next Actions\n"
        )

    def thread(self) -> str:
        """THREAD.md: the newest exchanges, then older points."""
        latest = list(self.said)[-2 * _LATEST :]
        older = list(self.said)[: -2 * _LATEST]
        lines = [f"# {self.key} Thread", f"## Active Since: {self.created:%Y-%m-%d}", ""]
        lines += [f"### Latest ({self.last_active:%Y-%m-%d})", *(f"**{who}:** {text}" for who, text in latest)]
        if older:
            lines += ["", "### Earlier Context", *(f"- {text}" for _, text in reversed(older))]
        return "\n".join(lines) + "\n"

    def read_back(self) -> str:
        """What an agent reads when it comes back to the topic: STATUS and the first lines of THREAD."""
        return self.status() + "\n" + "\n".join(self.thread().split("\n")[:_READ_LINES]) + "\n"


class Folder:
    """The whole folder, and the map that describes it."""

    def __init__(self) -> None:
        self.topics: dict[str, TopicNotes] = {}
        self.events: list[dict[str, Any]] = []
        self.current = ""
        self.log_lines = 1
        self.log_archives = 0
        self._today: list[tuple[str, datetime | None]] = []  # ids of the newest day: only they count for the next
        self._agents: dict[str, list[str]] = {}

    def switch(self, topic: str, now: datetime, summary: str) -> tuple[str, bool] | None:
        """A turn is of a topic: the id of the switch and whether the topic is new; None where nothing changes."""
        notes = self.topics.get(topic)
        is_new = notes is None
        if notes is None:
            notes = self.topics[topic] = TopicNotes(topic, now, now)
        notes.last_active = max(notes.last_active, now)
        if topic == self.current:
            return None
        self.current = topic
        name = self._next(now)
        self.events.append({
            "id": name, "type": "context_switch", "context": topic, "trigger": "user_message",
            "timestamp": _iso(now), "summary": excerpt(summary) or topic,
        })  # fmt: skip
        self._logged(3)
        return name, is_new

    def compaction(self, now: datetime) -> tuple[str, list[str]]:
        """The host compacted: the id, and the topics active then."""
        name = self._next(now)
        active = [key for key, notes in self.topics.items() if not notes.is_dormant]
        self.events.append({"id": name, "type": "compaction", "timestamp": _iso(now), "activeContexts": active})
        self._logged(3)
        return name, active

    def spawn(self, task: str) -> str:
        """A sub-agent started under the newest switch: its id."""
        parent = next(
            (event["id"] for event in reversed(self.events) if event["type"] == "context_switch"), "ctx-00-000"
        )
        ids = self._agents.setdefault(parent, [])
        name = next_agent_id(parent, ids)
        ids.append(name)
        self.events.append({"id": name, "type": "agent_spawn", "parentId": parent, "task": excerpt(task)})
        self._logged(1)
        return name

    def ended(self, name: str, result: str, duration_ms: int | None) -> None:
        """It ended."""
        for event in reversed(self.events):
            if event["id"] == name and event["type"] == "agent_spawn":
                event |= {"result": result, "artifacts": []}
                if duration_ms is not None:
                    event["durationMs"] = duration_ms
                return

    def gone_dormant(self, now: datetime) -> list[TopicNotes]:
        """The topics that are dormant since this moment."""
        found = [one for one in self.topics.values() if not one.is_dormant and is_dormant(one.last_active, now)]
        for one in found:
            one.is_dormant = True
        return found

    def session_state(self, now: datetime) -> str:
        """session-state.md, as it is written at a compaction."""
        return f"# Session State\nActive context: {self.current or 'main'}\nLast updated: {now:%Y-%m-%d %H:%M}\n"

    def recovery(self, now: datetime) -> str:
        """What an agent reads back after a compaction: the state, then STATUS and THREAD of the active topic."""
        notes = self.topics.get(self.current)
        return self.session_state(now) + (f"\n{notes.read_back()}" if notes is not None else "")

    def map_document(self) -> dict[str, Any]:
        """conversation-map.json as it stands."""
        contexts = {
            key: {
                "name": key, "color": _hex(key), "created": _iso(one.created), "lastActive": _iso(one.last_active),
                "status": "dormant" if one.is_dormant else "active",
            }
            for key, one in self.topics.items()
        }  # fmt: skip
        return {"version": 1, "contexts": contexts, "events": self.events}

    def _next(self, now: datetime) -> str:
        name = next_switch_id(self._today, now)
        self._today = [(name, now)]  # the greatest of a day is all that counts
        return name

    def _logged(self, lines: int) -> None:
        self.log_lines += lines
        if self.log_lines > MOST_LINES:
            self.log_archives += 1
            self.log_lines = self.log_lines // 2


def moment(milliseconds: int) -> datetime:
    """The time of a message."""
    return _EPOCH + timedelta(milliseconds=milliseconds)


def _iso(at: datetime) -> str:
    return f"{at:%Y-%m-%dT%H:%M:%S}Z"


def _hex(key: str) -> str:
    """A colour that the map's rule allows, from the one that ClawClient would give."""
    hue, saturation, light = (int(number.strip(" %)")) for number in color_of(key)[4:].split(","))
    spread = saturation / 100 * min(light, 100 - light) / 100
    channels = []
    for offset in (0, 8, 4):
        place = (offset + hue / 30) % 12
        channels.append(round(255 * (light / 100 - spread * max(-1, min(place - 3, 9 - place, 1)))))
    return "#" + "".join(f"{channel:02x}" for channel in channels)
