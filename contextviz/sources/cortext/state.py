"""compaction.json: where the window of each scope begins now (engines document, sections 4.5 and 4.6).

The file is a current state and no log. Several versions of it, in the order they were kept, are compared; what differs
becomes an event.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from contextviz.events.engine_event import EngineEvent
from contextviz.events.times import instant
from contextviz.sources.lines import parse_object
from contextviz.sources.values import as_dict, as_int, as_text

ENGINE = "cortext"
STATE_NAME = "compaction.json"
PREFIX_CHARS = 200
MOST_STATE_BYTES = 4 * 1024 * 1024
_SCOPE = re.compile(r"(?:[sa]-[A-Za-z0-9\-_.@]{1,512}|global)\Z")
_COPY = re.compile(r"^\d{1,4}/")


@dataclass(frozen=True, slots=True)
class Anchor:
    """Where a scope's window begins: at the first message of `role` that begins with `prefix` and has at least
    `dropped` messages before it, system messages not counted. `at` is when it was set."""

    role: str
    prefix: str
    dropped: int
    at: datetime | None


@dataclass(slots=True)
class State:
    """One version of the file. `bad` are the scopes whose entry is not an anchor."""

    file: str
    anchors: dict[str, Anchor] = field(default_factory=dict)
    bad: list[str] = field(default_factory=list)

    @property
    def lineage(self) -> str:
        """What versions of one file have in common: its name, without the number that tells them apart."""
        return _COPY.sub("", self.file)

    @property
    def latest(self) -> float:
        """When the newest anchor of this version was set; 0 where none has a time."""
        return max((one.at.timestamp() for one in self.anchors.values() if one.at is not None), default=0.0)


def is_state(document: Mapping[str, Any]) -> bool:
    """Whether a JSON object is a compaction state: scope keys, and an anchor under one of them."""
    if not document or not all(_SCOPE.match(key) for key in document):
        return False
    return any(_anchor(value) is not None for value in document.values())


def is_state_file(path: Path, name: str) -> bool:
    """Whether a file is a compaction state, whose earlier versions tell what happened since. An empty one is one by its
    name."""
    try:
        if path.stat().st_size > MOST_STATE_BYTES:
            return False
        parsed = parse_object(path.read_bytes().strip())
    except OSError:
        return False
    if parsed is None:
        return False
    return is_state(parsed[0]) or (not parsed[0] and name.rpartition("/")[2] == STATE_NAME)


def state_of(document: Mapping[str, Any], file: str) -> State:
    """A version as it stands; entries that are no anchors are named in `bad`."""
    state = State(file)
    for scope, value in document.items():
        anchor = _anchor(value)
        if anchor is None:
            state.bad.append(scope)
        else:
            state.anchors[scope] = anchor
    return state


def _anchor(value: Any) -> Anchor | None:
    fields = as_dict(value)
    role, prefix, dropped = (
        as_text(fields.get("role")),
        as_text(fields.get("textPrefix")),
        as_int(fields.get("dropped")),
    )
    if role is None or prefix is None or dropped is None:
        return None
    return Anchor(role[:40], prefix[: 2 * PREFIX_CHARS], dropped, instant(fields.get("ts")))


def in_order(states: Sequence[State]) -> list[State]:
    """Versions by the newest anchor in them. One that holds nothing new has lost anchors since, so it stays behind
    the versions of its file that were kept before it."""
    seen: dict[str, set[tuple[str, Anchor]]] = {}
    latest: dict[str, float] = {}
    keyed = []
    for state in states:
        known = seen.setdefault(state.lineage, set())
        fresh = set(state.anchors.items()) - known
        known |= fresh
        latest[state.lineage] = max(latest.get(state.lineage, 0.0), state.latest)
        keyed.append((state.latest if fresh else latest[state.lineage], state))
    return [state for _, state in sorted(keyed, key=lambda pair: pair[0])]


def changes(states: Sequence[State], scope: str) -> Iterator[tuple[EngineEvent, Anchor | None]]:
    """What happened to a scope's window over the versions, oldest first: each event with the anchor it set, or None
    where the anchor was cleared (the time of that is not written anywhere)."""
    held: dict[str, Anchor] = {}
    seen: set[Anchor] = set()
    for state in states:
        anchor, before = state.anchors.get(scope), held.get(state.lineage)
        if anchor is None:
            if before is not None:
                yield _cleared(state, scope, before), None
                del held[state.lineage]
            continue
        held[state.lineage] = anchor
        if anchor not in seen:
            seen.add(anchor)
            yield _moved(state, scope, anchor, before), anchor


def _moved(state: State, scope: str, anchor: Anchor, before: Anchor | None) -> EngineEvent:
    data: dict[str, str | int | float | bool | None] = {
        "scope": scope, "role": anchor.role, "textPrefix": anchor.prefix, "dropped": anchor.dropped,
        "previousDropped": before.dropped if before is not None else None,
    }  # fmt: skip
    return EngineEvent("window.moved", ENGINE, anchor.at, state.file, None, "disk", "exact", data)


def _cleared(state: State, scope: str, before: Anchor) -> EngineEvent:
    data: dict[str, str | int | float | bool | None] = {
        "scope": scope, "role": before.role, "textPrefix": before.prefix, "dropped": before.dropped,
        "why": "the anchor is in the state no longer: its message was not found, or the session began anew",
    }  # fmt: skip
    return EngineEvent("window.cleared", ENGINE, None, state.file, None, "disk", "derived", data)
