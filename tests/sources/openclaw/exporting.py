"""An exported trajectory of a small transcript, as the client writes one."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.sources.openclaw.build import Script
from tests.sources.openclaw.tracing import CUT

Json = dict[str, Any]
FOLDER = "openclaw-trajectory-s-1-2026-03-02T10-05-00"
_KINDS = {"user": "user.message", "assistant": "assistant.message", "toolResult": "tool.result"}


def exported(made: Script, *, session: str = "s-1", cut: Sequence[str] = ()) -> list[Json]:
    """The events of a transcript; of entries in `cut` the message is left out. Tool calls have an event of their own
    beside the message that they are in."""
    events: list[Json] = []
    for entry in made.entries:
        rest = {key: value for key, value in entry.items() if key not in ("type", "id", "parentId", "timestamp")}
        message = entry.get("message")
        kind = f"session.{entry['type']}" if message is None else _KINDS[message["role"]]
        data: Any = {"message": CUT} if entry["id"] in cut else rest
        head = {
            "traceSchema": "openclaw-trajectory", "schemaVersion": 1, "traceId": session, "source": "transcript",
            "ts": entry["timestamp"], "seq": len(events) + 1, "sourceSeq": len(events), "sessionId": session,
            "sessionKey": "agent:main:main", "workspaceDir": "$WORKSPACE_DIR", "entryId": entry["id"],
            "parentEntryId": entry["parentId"],
        }  # fmt: skip
        events.append({**head, "type": kind, "data": data})
        for part in message["content"] if message and isinstance(message["content"], list) else []:
            if part.get("type") == "toolCall":
                events.append({**head, "type": "tool.call", "data": {"name": part["name"]}})
    return events


def lines(events: Sequence[Json]) -> str:
    """The events as the file that holds them."""
    return "".join(json.dumps(one) + "\n" for one in events)


def branch(made: Script) -> Json:
    """The copy of the branch that stands beside the events: its first entries, and its header."""
    header = {**(made.header or {}), "cwd": "$WORKSPACE_DIR"}
    return {"header": header, "leafId": made.entries[-1]["id"], "entries": [made.entries[0], CUT]}


def save(folder: Path, events: Sequence[Json], made: Script | None = None) -> Path:
    """An export's folder; with the branch of `made` where that is given."""
    place = folder / FOLDER
    place.mkdir(parents=True)
    (place / "events.jsonl").write_text(lines(events), encoding="utf-8")
    about = {"traceSchema": "openclaw-trajectory", "sessionId": "s-1", "eventCount": len(events)}
    (place / "manifest.json").write_text(json.dumps(about, indent=2), encoding="utf-8")
    if made is not None:
        (place / "session-branch.json").write_text(json.dumps(branch(made), indent=2), encoding="utf-8")
    return place
