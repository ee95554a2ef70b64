"""What an lcm.db holds beside messages and summaries: its last evaluation, its debt, large payloads, focus briefs.

Each is a state of one row, so it becomes one event at the time it was last written (engines document, section 8.3).
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from contextviz.events.engine_event import EngineEvent, EventType, Quality, Scalar
from contextviz.events.times import instant
from contextviz.sources.lossless_claw.rows import Row, StoreRows
from contextviz.sources.values import as_float, as_int, as_text

ENGINE = "lossless-claw"
MOST_CHARS = 300
_DEBT = {
    "pending": "pending", "running": "running", "reason": "reason", "retry_attempts": "retryAttempts",
    "token_budget": "budget", "current_token_count": "current", "projected_token_count": "projected",
    "raw_tokens_outside_tail": "rawOutsideTail", "context_threshold": "thresholdShare",
    "last_failure_summary": "failure", "resolution_reason": "resolution",
}  # fmt: skip
_SEEN = {
    "last_observed_prompt_token_count": "inputTokens", "last_observed_cache_read": "cacheRead",
    "last_observed_cache_write": "cacheWrite", "cache_state": "cacheState", "provider": "provider", "model": "model",
    "turns_since_leaf_compaction": "turnsSinceLeaf", "tokens_accumulated_since_leaf_compaction": "tokensSinceLeaf",
}  # fmt: skip
_FLAGS = frozenset({"pending", "running"})


def told(rows: StoreRows, conversation: int, file: str) -> list[EngineEvent]:
    """The events of one conversation; none in a store of the first generation, which has no such tables."""
    return [
        *_maintenance(rows.state("conversation_compaction_maintenance", conversation), file),
        *_telemetry(rows.state("conversation_compaction_telemetry", conversation), file),
        *(_large(row, file) for row in rows.large_files(conversation)),
        *(_brief(row, file) for row in rows.focus_briefs(conversation)),
    ]


def _maintenance(state: Row, file: str) -> Iterator[EngineEvent]:
    if not state:
        return
    yield _event("maintenance.debt", _when(state, "updated_at", "requested_at"), file, _taken(state, _DEBT))
    current, budget = as_int(state.get("current_token_count")), as_int(state.get("token_budget"))
    share = as_float(state.get("context_threshold"))
    if current is None or not budget or share is None or share > 1:
        return
    threshold = int(share * budget)  # section 7.4: compacted where current > floor(threshold · budget)
    data: dict[str, Scalar] = {
        "current": current, "threshold": threshold, "budget": budget, "should": current > threshold, "trigger": "ratio",
    }  # fmt: skip
    yield _event("compaction.evaluated", _when(state, "requested_at", "updated_at"), file, data, "derived")


def _telemetry(state: Row, file: str) -> Iterator[EngineEvent]:
    if state:
        data = {"purpose": "brain", **_taken(state, _SEEN)}
        yield _event("llm.call", _when(state, "last_api_call_at", "updated_at"), file, data)


def _large(row: Row, file: str) -> EngineEvent:
    summary = as_text(row["exploration_summary"]) or ""
    data: dict[str, Scalar] = {
        "route": "file", "key": _text(row["file_id"]), "name": _text(row["file_name"]), "mime": _text(row["mime_type"]),
        "original.bytes": as_int(row["byte_size"]), "original.lines": as_int(row["line_count"]),
        "kept.chars": len(summary), "kept": summary[:MOST_CHARS] or None, "storedAt": _text(row["storage_uri"]),
    }  # fmt: skip
    return _event("block.compressed", instant(row["created_at"]), file, data)


def _brief(row: Row, file: str) -> EngineEvent:
    data: dict[str, Scalar] = {
        "origin": "focus brief", "key": _text(row["brief_id"]), "status": _text(row["status"]),
        "query": _text(row["prompt"]), "tokens": as_int(row["token_count"]), "error": _text(row["error"]),
    }  # fmt: skip
    return _event("recall.injected", instant(row["created_at"]), file, data)


def _event(
    kind: EventType, at: datetime | None, file: str, data: dict[str, Scalar], quality: Quality = "exact"
) -> EngineEvent:
    return EngineEvent(kind, ENGINE, at, file, None, "disk", quality, data)


def _taken(state: Row, names: dict[str, str]) -> dict[str, Scalar]:
    found: dict[str, Scalar] = {}
    for column, name in names.items():
        value = state.get(column)
        if column in _FLAGS and isinstance(value, int):
            found[name] = bool(value)
        elif isinstance(value, int | float) or value is None:
            found[name] = value
        else:
            found[name] = _text(value)
    return found


def _when(state: Row, *columns: str) -> datetime | None:
    return next((at for name in columns if (at := instant(state.get(name))) is not None), None)


def _text(value: object) -> str | None:
    text = as_text(value)
    return None if text is None else text[:MOST_CHARS]
