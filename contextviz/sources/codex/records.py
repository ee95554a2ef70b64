"""The lines of a rollout in one shape, whichever era wrote them, and how a file is recognised (formats.md C.2)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from contextviz.sources.source import Detection, Probe
from contextviz.sources.values import as_dict, as_id, as_text

FORMAT = "codex"
META = "session_meta"
ITEM = "response_item"
EVENT = "event_msg"
TURN = "turn_context"
COMPACTED = "compacted"
USAGE = "token_usage_record"
STATE = "state"

# Lines that shape neither the conversation nor the spend; known, so that they do not count as unknown.
QUIET = frozenset({STATE, "world_state", "inter_agent_communication", "inter_agent_communication_metadata"})
KNOWN = frozenset({META, ITEM, EVENT, TURN, COMPACTED, USAGE}) | QUIET
_BARE_ITEMS = frozenset(
    {
        "message",
        "reasoning",
        "function_call",
        "function_call_output",
        "custom_tool_call",
        "custom_tool_call_output",
        "local_shell_call",
        "web_search_call",
    }
)
_STORE_NAME = re.compile(r"(?:state|thread_history|queue)_\d+\.sqlite")
_THREADS = frozenset({"id", "rollout_path", "tokens_used"})


@dataclass(frozen=True, slots=True)
class Line:
    """One rollout line: its kind in the words of the wrapped era, its payload and its time as written."""

    kind: str
    payload: dict[str, Any]
    timestamp: Any


def line_of(value: dict[str, Any]) -> Line:
    """`value` as a wrapped line; bare-era lines are put into the wrapped shape, other things keep their type."""
    kind, payload = as_text(value.get("type")), value.get("payload")
    if kind is not None and isinstance(payload, dict):
        return Line(kind, payload, value.get("timestamp"))
    if "record_type" in value:
        return Line(STATE, value, value.get("timestamp"))
    if kind in _BARE_ITEMS:
        return Line(ITEM, value, value.get("timestamp"))
    if is_bare_head(value):
        return Line(META, value, value.get("timestamp"))
    return Line(kind or "no type", value, value.get("timestamp"))


def is_bare_head(value: dict[str, Any]) -> bool:
    """Whether `value` opens a rollout of the bare era: id, timestamp and instructions, and no type."""
    return "type" not in value and "instructions" in value and {"id", "timestamp"} <= value.keys()


def thread_id(value: dict[str, Any]) -> str | None:
    """A record's own entry id, for the list of what was recovered from a malformed line."""
    return as_id(as_dict(value.get("payload")).get("id")) or as_id(value.get("id"))


def detect(probe: Probe) -> Detection | None:
    """What `probe` is to Codex: a rollout, an index beside rollouts, or nothing of Codex's."""
    if probe.tables is not None:
        return _detect_store(probe)
    if _is_rollout(probe.records):
        return Detection(FORMAT, "session")
    first = probe.records[0] if probe.records else {}
    if first.keys() >= {"session_id", "ts", "text"} and "type" not in first:
        return Detection(FORMAT, "index", "the list of prompts typed into Codex; the rollouts hold the sessions")
    if first.keys() >= {"id", "thread_name", "updated_at"} and "type" not in first:
        return Detection(FORMAT, "index", "names of Codex threads; the rollouts hold the sessions")
    return None


def _is_rollout(records: tuple[dict[str, Any], ...]) -> bool:
    if any(_is_wrapped(value) for value in records):
        return True
    if not records or not is_bare_head(records[0]):
        return False
    rest = records[1:]
    return any("record_type" in value or line_of(value).kind == ITEM for value in rest) or "git" in records[0]


def _is_wrapped(value: dict[str, Any]) -> bool:
    return (
        as_text(value.get("type")) in KNOWN - {STATE}
        and isinstance(value.get("payload"), dict)
        and "timestamp" in value
        and "sessionId" not in value
    )


def _detect_store(probe: Probe) -> Detection | None:
    tables = probe.tables or {}
    if tables.get("threads", frozenset()) >= _THREADS:
        return Detection(FORMAT, "index", "Codex's index of its threads; the rollouts hold the sessions")
    if {"thread_turns", "thread_items"} <= tables.keys():
        return Detection(FORMAT, "index", "Codex's copy of the turns for its own pages; the rollouts hold the sessions")
    if {"queued_items", "queued_thread_revisions"} <= tables.keys():
        return Detection(FORMAT, "index", "Codex's queue of messages not sent yet")
    # An index over JSON makes an older SQLite refuse the whole schema; then the name is all there is.
    if not tables and _STORE_NAME.fullmatch(probe.basename):
        return Detection(FORMAT, "index", "by its name Codex's own index; the rollouts hold the sessions")
    return None
