"""What each of Kiro's files is, and the client's own words around a summary."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from contextviz.sources.values import as_dict, as_list

FORMAT = "kiro"
Json = dict[str, Any]
PROMPT, ANSWER, RESULTS = "Prompt", "AssistantMessage", "ToolResults"
COMPACTED, CLEARED, RESET, CANCELLED = "Compaction", "Clear", "ResetTo", "CancelledPrompt"
KINDS = frozenset({PROMPT, ANSWER, RESULTS, COMPACTED, CLEARED, RESET, CANCELLED})
# What the client gives the model for a conversation that it summarised (2.8 to 2.24).
_BEFORE = (
    "--- CONTEXT ENTRY BEGIN ---\nThis summary contains ALL relevant information from our previous conversation "
    "including tool uses, results, code analysis, and file operations. YOU MUST reference this information when "
    "answering questions and explicitly acknowledge specific details from the summary when they're relevant to the "
    "current question.\n\nSUMMARY CONTENT:\n"
)
_BEHIND = "\n--- CONTEXT ENTRY END ---"


def wrapped(summary: str) -> str:
    """The text that stands for what was summarised."""
    return f"{_BEFORE}{summary}{_BEHIND}"


def is_row(record: Mapping[str, Any]) -> bool:
    """Whether a record is a line of the CLI's log."""
    version, kind = record.get("version"), record.get("kind")
    return isinstance(version, str) and version.startswith("v") and isinstance(kind, str) and "data" in record


def is_known_row(record: Mapping[str, Any]) -> bool:
    """Whether a record is a line of the CLI's log of a kind that only Kiro writes."""
    return is_row(record) and record.get("kind") in KINDS


def is_sidecar(document: Mapping[str, Any]) -> bool:
    """Whether a document is what the CLI keeps beside a log."""
    state = document.get("session_state")
    return "session_id" in document and isinstance(state, Mapping) and (
        "conversation_metadata" in state or "rts_model_state" in state
    )  # fmt: skip


def is_saved(document: Mapping[str, Any]) -> bool:
    """Whether a document is a conversation as the CLI saves it."""
    if not isinstance(document.get("conversation_id"), str) or not isinstance(document.get("history"), list):
        return False
    first = (document["history"] or [None])[0]
    if first is None:
        return "valid_history_range" in document or "next_message" in document
    user, answer = sides_of(first)
    return "content" in user and bool(answer.keys() & {"Response", "ToolUse"})


def sides_of(entry: Any) -> tuple[Json, Json]:
    """The prompt and the answer of an entry: a pair in older versions."""
    if isinstance(entry, list):
        return as_dict(entry[0] if entry else None), as_dict(entry[1] if len(entry) > 1 else None)
    return as_dict(as_dict(entry).get("user")), as_dict(as_dict(entry).get("assistant"))


def is_ide(document: Mapping[str, Any]) -> bool:
    """Whether a document is a session of the IDE."""
    first = as_dict(next(iter(as_list(document.get("history"))), None))
    message = as_dict(first.get("message"))
    return isinstance(message.get("role"), str) and "content" in message
