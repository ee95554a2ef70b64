"""What a file is to Claude Code: by the shape of its records first, by its name only as a help."""

from __future__ import annotations

import re
from typing import Any

from contextviz.sources.source import Detection, Probe
from contextviz.sources.values import as_dict, as_id, as_text

FORMAT = "claude-code"
CHAIN_TYPES = frozenset({"user", "assistant", "system", "attachment", "progress"})
REQUEST_TYPES = frozenset({"api-request", "api-request-shape", "api-request-blob"})
FLAT_TYPES = frozenset(
    {
        "agent-color", "agent-name", "agent-setting", "ai-title", "atis-latch", "attribution-snapshot",
        "content-replacement", "cost-state", "custom-title", "file-history-snapshot", "last-prompt", "mode",
        "permission-mode", "pr-link", "queue-operation", "saved_hook_context", "summary", "tag", "task-summary",
        "tools-used", "worktree-state",
    }
)  # fmt: skip
_SNIFFED_FLAT = FLAT_TYPES - {"mode", "summary", "tag"} | REQUEST_TYPES
_AGENT_FILE = re.compile(r"(?:^|/)agent-([^/]+)\.jsonl$")
_AGENT_META = re.compile(r"(?:^|/)agent-([^/]+)\.meta\.json$")
_SPILLED = re.compile(r"(?:^|/)[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/tool-results/[^/]+$")


def detect(probe: Probe) -> Detection | None:
    """Say what `probe` is to Claude Code (formats.md 0.2 and B.1); None when it is none of its files."""
    if _SPILLED.search(probe.name):
        return Detection(FORMAT, "trace", "a tool's whole output, spilled to a file; the transcript keeps a preview")
    if _AGENT_META.search(probe.name) and probe.document is not None:
        return Detection(FORMAT, "index", "says what kind of sub-agent the transcript beside it is of")
    if probe.document is not None and probe.basename == ".claude.json":
        return Detection(FORMAT, "ignored", "the client's settings, not a transcript")
    if any(_is_record(record) for record in probe.records):
        return Detection(FORMAT, "session")
    if probe.basename == "history.jsonl" and any(_is_prompt_history(record) for record in probe.records):
        return Detection(FORMAT, "ignored", "the history of typed prompts, not a transcript")
    return None


def agent_of_name(name: str) -> str | None:
    """The sub-agent's id in a file name `agent-<id>.jsonl`, or None."""
    found = _AGENT_FILE.search(name)
    return found.group(1) if found else None


def agent_of_meta(name: str) -> str | None:
    """The sub-agent's id in a file name `agent-<id>.meta.json`, or None."""
    found = _AGENT_META.search(name)
    return found.group(1) if found else None


def _is_record(record: dict[str, Any]) -> bool:
    kind = as_text(record.get("type"))
    if kind is None or "payload" in record:
        return False
    if as_id(record.get("sessionId")) and as_id(record.get("uuid")) and "parentUuid" in record:
        return True
    if kind == "summary":
        return as_id(record.get("leafUuid")) is not None and "summary" in record
    if kind == "file-history-snapshot":
        return "messageId" in record and "snapshot" in record
    return kind in _SNIFFED_FLAT and as_id(record.get("sessionId")) is not None and "projectHash" not in record


def _is_prompt_history(record: dict[str, Any]) -> bool:
    return "display" in record and "project" in record and not as_dict(record.get("message"))
