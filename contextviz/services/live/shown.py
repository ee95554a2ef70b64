"""Rows of the feed as sentences: the same on the page, in the stream and in the answer to a poll."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from contextviz.analysis.live.alarms import by_the_client
from contextviz.events.masking import without_secrets
from contextviz.store.queries.live import LiveEvent

MOST_TITLE = 120
MOST_SENTENCE = 300
DASH = "—"
_ROLES = {"user": "prompt", "assistant": "answer", "tool": "tool result", "system": "system message"}


def quiet_event(row: LiveEvent) -> dict[str, Any]:
    """What a browser is sent: numbers, and words with secrets masked. `call` counts from 1, as people read it."""
    return {
        "id": row.id,
        "session": row.session_id,
        "kind": row.kind,
        "at": row.at.isoformat() if row.at else None,
        "seen_at": row.seen_at.isoformat(),
        "shown_at": shown_at(row).isoformat(),
        "call": None if row.call_index is None else row.call_index + 1,
        "title": title_of(row),
        "sentence": sentence_of(row),
        "href": address_of(row),
    }


def shown_at(row: LiveEvent) -> datetime:
    """The time beside it: its own where it has one, and when it was told where not. A session that is found is told
    now however old it is: rows stand in the order of telling, and its own time would look out of order."""
    return row.seen_at if row.kind == "session" or row.at is None else row.at


def title_of(row: LiveEvent) -> str:
    """The session's title, masked and cut."""
    return _cut(row.title or f"session {row.session_id}", MOST_TITLE)


def sentence_of(row: LiveEvent) -> str:
    """What happened, in a sentence without the session's name."""
    make = _SENTENCES.get(row.kind)
    return _cut(make(row.data) if make else row.kind, MOST_SENTENCE)


def address_of(row: LiveEvent) -> str:
    """The page that shows it."""
    base = f"/sessions/{row.session_id}/"
    if row.kind == "compaction" and isinstance(row.data.get("number"), int):
        return f"{base}compactions/{row.data['number']}/"
    if row.kind == "evaluation":
        return f"{base}compactions/"
    if row.call_index is not None:
        return f"{base}?call={row.call_index + 1}"
    return base


def _cut(text: str, most: int) -> str:
    quiet = without_secrets(text)
    return quiet if len(quiet) <= most else quiet[: most - 1] + "…"


def tokens(value: Any) -> str:
    """A number of tokens, or an em dash where it is not known."""
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else DASH


def _session(data: dict[str, Any]) -> str:
    calls, compactions = data.get("calls"), data.get("compactions")
    return f"session found: {_counted(calls, 'call')}, {_counted(compactions, 'compaction')}"


def _counted(number: Any, name: str) -> str:
    return f"{tokens(number)} {name}" + ("" if number == 1 else "s")


def _message(data: dict[str, Any]) -> str:
    tools = [str(one) for one in data.get("tools") or []]
    what = f"calls {', '.join(tools)}" if tools else _ROLES.get(str(data.get("role")), "message")
    error = ", with an error" if data.get("is_error") else ""
    return f"{_agent(data)}{what}{error}, about {tokens(data.get('tokens'))} tokens"


def _call(data: dict[str, Any]) -> str:
    purpose = "" if data.get("purpose") in (None, "turn") else " for a summary"
    given, cached, made = tokens(data.get("prompt")), tokens(data.get("cached")), tokens(data.get("output"))
    if data.get("basis") == "unknown":
        return f"{_agent(data)}model call{purpose}; its usage is not known"
    return f"{_agent(data)}model call{purpose}: {given} tokens in ({cached} cached), {made} out"


def _started(data: dict[str, Any]) -> str:
    strategy = _inner(data).get("strategy")
    return "compaction began" + (f" ({strategy})" if strategy else "")


def _compaction(data: dict[str, Any]) -> str:
    trigger = f" ({data['trigger']})" if data.get("trigger") else ""
    seconds = data.get("seconds")
    took = f" in {seconds:.1f} s" if isinstance(seconds, int | float) else ""
    before, after = tokens(data.get("before")), tokens(data.get("after"))
    sizes = f"{before} → {after} tokens{by_the_client(data.get('before'), data.get('after'))}"
    return f"{_agent(data)}compaction {tokens(data.get('number'))}{trigger}: {sizes}{took}"


def _evaluation(data: dict[str, Any]) -> str:
    inner = _inner(data)
    current, threshold = inner.get("current"), inner.get("threshold")
    return f"checked, not compacted: {tokens(current)} of {tokens(threshold)} tokens"


def _summary(data: dict[str, Any]) -> str:
    return f"summary {data.get('node')}, depth {data.get('depth')}, {tokens(data.get('tokens'))} tokens"


def _subagent(data: dict[str, Any]) -> str:
    task = f": {data['task']}" if data.get("task") else ""
    return f"sub-agent {data.get('agent')}{task}"


def _error(data: dict[str, Any]) -> str:
    return f"engine error: {_inner(data).get('message') or DASH}"


def _decision(data: dict[str, Any]) -> str:
    return f"{data.get('engine') or 'engine'}: {str(data.get('type')).replace('.', ' ')}"


def _inner(data: dict[str, Any]) -> dict[str, Any]:
    inner = data.get("data")
    return inner if isinstance(inner, dict) else {}


def _agent(data: dict[str, Any]) -> str:
    return f"sub-agent {data['agent']}: " if data.get("agent") else ""


_SENTENCES = {
    "session": _session, "message": _message, "call": _call, "compaction_started": _started,
    "compaction": _compaction, "evaluation": _evaluation, "summary": _summary, "subagent": _subagent, "error": _error,
    "decision": _decision,
}  # fmt: skip
