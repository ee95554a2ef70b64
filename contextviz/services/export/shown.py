"""What the readable copies (Markdown, HTML) say of each record, in the same words."""

from __future__ import annotations

from typing import Any

from contextviz.charts import words
from contextviz.sources.naming import format_name

Facts = list[tuple[str, str]]
NOTE = (
    "What each call was given (its context window, item by item), tool pairs and the store's messages are in the JSON "
    "copy of the same session. Replays of it by context engines are in no copy."
)

# What is counted in a session, as pages call one and many of it
COUNTED = {
    "entry": ("entry", "entries"), "message": ("message", "messages"), "call": ("call", "calls"),
    "failed_call": ("failed call", "failed calls"), "compaction": ("compaction", "compactions"),
    "snapshot": ("known window", "known windows"), "subagent": ("sub-agent", "sub-agents"),
    "node": ("summary", "summaries"), "topic": ("topic", "topics"),
    "problem": ("finding in reading", "findings in reading"),
}  # fmt: skip


def head_facts(head: dict[str, Any]) -> Facts:
    """The session in name and value."""
    session, masking, counts = head["session"], head["masking"], head["session"]["counts"]
    facts = [
        ("Format", " ".join(part for part in (format_name(session["format"]), session["format_version"]) if part)),
        ("Id", session["source_id"]),
        ("Agent", session["agent"] or words.tokens(None)),
        ("Model", session["model"] or words.tokens(None)),
        ("From", session["started_at"] or words.tokens(None)),
        ("Until", session["ended_at"] or words.tokens(None)),
        ("Context window", tokens(session["window"], words.window_from(session["window_from"]))),
        ("Occupancy at the end", tokens(session["occupancy"])),
        ("Tokens spent", f"{words.tokens(session['spend']['total'])} ({session['spend']['basis']})"),
        ("Cost", f"{words.money(session['cost']['usd'])} ({session['cost']['basis']})"),
        ("Counts", ", ".join(words.counted(number, *COUNTED[name]) for name, number in counts.items() if number)),
        ("Exported", f"{head['exported_at']} by contextviz {head['contextviz']}"),
        ("Secrets", masking_sentence(masking)),
    ]
    return [(name, value) for name, value in facts if value]


def masking_sentence(masking: dict[str, Any]) -> str:
    """What was done about secrets."""
    if masking["mode"] == "unmasked":
        return "NOT masked: this copy holds everything that the session holds."
    kept = masking["kept"]
    told = f"{words.counted(masking['masked'], 'value')} masked"
    if kept:
        reasons = "; ".join(f"{one['where']}: {one['reason'] or 'no reason given'}" for one in kept)
        told += f", {len(kept)} kept by decision ({reasons})"
    return f"{told}."


def tokens(number: dict[str, Any] | None, origin: str = "") -> str:
    """A token number with its basis, or where it is from in words; an em dash where it is unknown."""
    if number is None or number["count"] is None:
        return words.tokens(None)
    return f"{words.tokens(number['count'])} ({origin or number['basis']})"


def message_title(record: dict[str, Any]) -> str:
    """A message's heading."""
    parts = [f"Message {record['number']}: {record['role']}"]
    parts += [f"sub-agent {record['agent']}"] if record["agent"] else []
    parts += [f"call {record['call']}"] if record["call"] else []
    parts += [record["at"]] if record["at"] else []
    parts += [] if record["on_active_path"] else ["not on the active branch"]
    return " · ".join(parts)


def block_title(block: dict[str, Any]) -> str:
    """A block's heading."""
    parts = [block["kind"].replace("_", " ")]
    parts += [block["tool_name"]] if block["tool_name"] else []
    parts += ["error"] if block["is_error"] else []
    parts += ["written by a repair"] if block["is_synthetic"] else []
    if block["media_type"] or block["media_bytes"]:
        parts.append(f"{block['media_type'] or 'media'}, {words.size(block['media_bytes'])}, not part of this copy")
    parts.append(f"{tokens(block['content']['tokens'])} tokens" if block["content"] else "no text")
    return " · ".join(parts)


def text_of(body: dict[str, Any] | None) -> str:
    """The text of a text object."""
    if body is None:
        return ""
    text = body["text"]
    return "[this text is not held any more]" if text is None else str(text)


CALLS = ("call", "time", "model", "purpose", "prompt", "cache read", "output", "basis", "cost")
COMPACTIONS = ("compaction", "time", "kind", "trigger", "before", "after")


def call_cells(record: dict[str, Any]) -> list[str]:
    """A call as a row of CALLS."""
    usage = record["usage"]
    numbers = [words.tokens(usage[name]) for name in ("prompt_tokens", "cache_read_tokens", "output_tokens")]
    known = [record["at"] or words.tokens(None), record["model"] or words.tokens(None), record["purpose"]]
    return [str(record["number"]), *known, *numbers, usage["basis"], words.money(record["cost"]["usd"])]


def compaction_cells(record: dict[str, Any]) -> list[str]:
    """A compaction as a row of COMPACTIONS."""
    return [
        str(record["number"]),
        record["at"] or words.tokens(None),
        record["kind"],
        record["trigger"] or words.tokens(None),
        tokens(record["tokens_before"]),
        tokens(record["tokens_after"]),
    ]


def problem_line(record: dict[str, Any]) -> str:
    """A reading problem in a line."""
    place = f"{record['file']}, line {record['line']}" if record["line"] else record["file"] or ""
    return " · ".join(part for part in (record["severity"], record["message"], place) if part)
