"""The session itself as a record: identity, relations, counts, and its token numbers with their bases."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from contextviz.services.export.records import counted
from contextviz.store.queries import runs
from contextviz.store.values import SessionDetail, SessionRow

_AS_THEY_ARE = (
    "id", "source_id", "format", "format_version", "status", "generation", "generation_at", "agent", "title", "cwd",
    "model", "started_at", "ended_at", "parent", "forked_from", "coverage",
)  # fmt: skip
_COUNTS = (
    "entry_count", "message_count", "call_count", "failed_call_count", "compaction_count", "snapshot_count",
    "subagent_count", "node_count", "topic_count", "problem_count",
)  # fmt: skip
_WINDOW_BASIS = {"reported": "reported", "hint": "derived", "configuration": "derived", "table": "derived"}


def session_record(detail: SessionDetail) -> dict[str, Any]:
    """The record of the session; strings are still as the transcript wrote them."""
    row, read = detail.row, detail.transcript
    record: dict[str, Any] = {name: getattr(row, name) for name in _AS_THEY_ARE}
    record["title"] = whole_words(row.title)
    record["counts"] = {name.removesuffix("_count"): getattr(row, name) for name in _COUNTS}
    record |= _tokens(row)
    record |= {
        "hints": detail.session.hints,
        "counters": detail.session.counters,
        "replayed_lines": detail.session.replayed_lines,
        "first_own_line": detail.session.first_own_line,
        "files": read.files,
        "lines": asdict(read.lines) | {"recovered": {str(line): ids for line, ids in read.lines.recovered.items()}},
        "subagents": [asdict(agent) for agent in read.subagents],
        "tree": asdict(read.tree) if read.tree else None,
        "orphan_results": read.orphan_results,
        "context_at_end": read.context_at_end,
        "unlogged_usage": asdict(read.unlogged_usage) | {"basis": "reported"} if read.unlogged_usage else None,
        "summary_store": _store(detail),
        "replays_left_out": runs.count_of(row.id),
    }
    return record


def whole_words(title: str | None) -> str | None:
    """A title without the word that it was cut in: half a secret does not look like one."""
    if not title or not title.endswith("…"):
        return title
    return f"{title[:-1].rpartition(' ')[0]} …".strip()


def _tokens(row: SessionRow) -> dict[str, Any]:
    spend = {
        name: getattr(row, f"spend_{name}_tokens")
        for name in ("input", "cache_read", "cache_write", "output", "total")
    }  # fmt: skip
    is_known = any(value is not None for value in spend.values())
    return {
        "window": counted(row.window, _WINDOW_BASIS.get(row.window_basis or "", "unknown")),
        "window_from": row.window_basis,
        "compaction_threshold": counted(
            row.compaction_threshold, "derived" if row.compaction_threshold_basis == "configuration" else "reported"
        ),
        "last_prompt": counted(row.last_prompt_tokens),
        "occupancy": counted(row.occupancy_tokens, row.occupancy_basis),
        "spend": {"basis": "reported" if is_known else "unknown", **spend},
        "cost": {"usd": row.cost_usd, "basis": row.cost_basis},
        "estimator": row.estimator,
    }


def _store(detail: SessionDetail) -> dict[str, Any] | None:
    store = detail.transcript.store
    if store is None:
        return None
    return {"engine": store.engine, "file": store.file, "conversations": store.conversations, "facts": store.facts}
