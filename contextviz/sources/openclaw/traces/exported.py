"""A session out of an exported trajectory, for when its transcript is not there (formats.md A.7).

An export has the client's notes of each run, and among them one event for each entry of the session's active branch:
with its id, its parent, its time and its message. Those are the transcript's own, so they are read as its lines are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from contextviz.sources.openclaw.traces.cuts import TRUNCATED
from contextviz.sources.openclaw.traces.trajectory import ENTRY, ROLES
from contextviz.sources.source import Found
from contextviz.sources.values import as_dict, as_id, as_text

Json = dict[str, Any]
# From this one on the client dates a user's words; without a header nothing says that it did.
VERSION = 3
HIDDEN_FOLDER = "$WORKSPACE_DIR"
MOST_VALUES = 200_000


def entry_of(event: Json) -> Json:
    """The line of the transcript that an event tells of. A body that was cut is `[Truncated]`."""
    kind, data = as_text(event.get("type")) or "", as_dict(event.get("data"))
    place = {"id": event.get("entryId"), "parentId": event.get("parentEntryId"), "timestamp": event.get("ts")}
    role = ROLES.get(kind)
    if role is None:
        return {**data, **place, "type": kind.removeprefix(ENTRY)}
    message = as_dict(data.get("message")) or {"role": role, "content": TRUNCATED}
    return {**place, "type": "message", "message": {**message, "role": as_text(message.get("role")) or role}}


def is_shortened(event: Json) -> bool:
    """Whether the export left something of an event's message out."""
    data = as_dict(event.get("data"))
    message = data.get("message") if as_text(event.get("type")) in ROLES else data
    todo: list[Any] = [message]
    for _ in range(MOST_VALUES):
        if not todo:
            return False
        one = todo.pop()
        if one == TRUNCATED or (isinstance(one, dict) and one.get("truncated") is True):
            return True
        if isinstance(one, dict):
            todo.extend(one.values())
        elif isinstance(one, list):
            todo.extend(one)
    return True


def is_branch(document: Mapping[str, Any] | None) -> bool:
    """Whether a JSON object is the `session-branch.json` of an export: the first entries of the branch, and its
    header."""
    header = as_dict((document or {}).get("header"))
    return header.get("type") == "session" and isinstance((document or {}).get("entries"), list)


def header_of(session: str, event: Json, files: Sequence[Found]) -> Json:
    """The header of a session: as the export's own copy of it says, else what an event tells."""
    made = {"type": "session", "version": VERSION, "id": session, "timestamp": event.get("ts"),
            "cwd": event.get("workspaceDir")}  # fmt: skip
    for one in files:
        header = as_dict((one.probe.document or {}).get("header"))
        if is_branch(one.probe.document) and as_id(header.get("id")) == session:
            made = header
    # The export hides where the work was done.
    return {key: value for key, value in made.items() if key != "cwd" or HIDDEN_FOLDER not in (as_text(value) or "")}
