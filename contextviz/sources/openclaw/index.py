"""What OpenClaw's session index claims (formats.md A.9): hints, never truth."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from contextviz.sources.values import as_dict, as_float, as_id, as_int, as_list, as_text

_NUMBERS = {
    "compactionCount": "compaction_count",
    "totalTokens": "total_tokens",
    "contextTokens": "context_tokens",
    "inputTokens": "input_tokens",
    "outputTokens": "output_tokens",
    "cacheRead": "cache_read_tokens",
    "cacheWrite": "cache_write_tokens",
}


@dataclass(slots=True)
class Claim:
    """One session's entry: `key` is its session key, `parent_key` its spawner's, `checkpoints` what is said of
    compactions by their entry id."""

    session_id: str
    key: str
    hints: dict[str, int | str | None] = field(default_factory=dict)
    window: int | None = None
    title: str | None = None
    model: str | None = None
    parent_key: str | None = None
    forked_from: str | None = None
    checkpoints: dict[str, dict[str, Any]] = field(default_factory=dict)

    @property
    def agent(self) -> str | None:
        """The agent that the key names: `agent:<id>:…`."""
        parts = self.key.split(":")
        return parts[1] or None if len(parts) >= 3 and parts[0] == "agent" else None


def claims_of(document: Mapping[str, Any]) -> Iterator[Claim]:
    """The entries of a sessions.json that name a session."""
    for key, value in document.items():
        claim = claim_of(key, as_dict(value))
        if claim is not None:
            yield claim


def claim_of(key: str, entry: Mapping[str, Any]) -> Claim | None:
    """One SessionEntry, or None where it names no session."""
    session_id = as_id(entry.get("sessionId"))
    if session_id is None:
        return None
    hints: dict[str, int | str | None] = {}
    for name, ours in _NUMBERS.items():
        if name in entry:
            hints[ours] = as_int(entry.get(name))
    cost = as_float(entry.get("estimatedCostUsd"))
    if cost is not None:
        hints["estimated_cost_usd"] = str(cost)
    hints["session_key"] = key
    hints.update(_report(as_dict(entry.get("systemPromptReport"))))
    return Claim(
        session_id=session_id,
        key=key,
        hints=hints,
        window=as_int(entry.get("contextTokens")) or None,
        title=_title(entry, key),
        model=as_id(entry.get("model")),
        parent_key=as_id(entry.get("spawnedBy")) or as_id(entry.get("parentSessionKey")),
        checkpoints=_checkpoints(entry),
    )


def _report(report: Mapping[str, Any]) -> dict[str, int | str | None]:
    """What the client says of the last run's system prompt and tools, whose texts are nowhere: sizes in characters."""
    prompt, tools = as_dict(report.get("systemPrompt")), as_dict(report.get("tools"))
    found = {
        "system_prompt_chars": as_int(prompt.get("chars")),
        "project_context_chars": as_int(prompt.get("projectContextChars")),
        "skills_prompt_chars": as_int(as_dict(report.get("skills")).get("promptChars")),
        "tool_list_chars": as_int(tools.get("listChars")),
        "tool_schema_chars": as_int(tools.get("schemaChars")),
        "tools": len(as_list(tools.get("entries"))) or None,
        "workspace_files": len(as_list(report.get("injectedWorkspaceFiles"))) or None,
    }
    return {name: value for name, value in found.items() if value is not None}


def _title(entry: Mapping[str, Any], key: str) -> str | None:
    """A name that a person gave. The main session's display name is only the end of its key: no title at all."""
    name = as_id(entry.get("label")) or as_id(entry.get("displayName"))
    return None if name is not None and name == key.rsplit(":", 1)[-1] else name


def _checkpoints(entry: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {}
    for point in map(as_dict, as_list(entry.get("compactionCheckpoints"))):
        of_entry = as_id(as_dict(point.get("postCompaction")).get("entryId"))
        if of_entry is not None:
            found[of_entry] = {"reason": as_text(point.get("reason")), "after": as_int(point.get("tokensAfter"))}
    return found


@dataclass(slots=True)
class Claims:
    """All claims of one read. Two keys may name one session (a cron job and its run): the first wins."""

    by_session: dict[str, Claim] = field(default_factory=dict)
    session_of_key: dict[str, str] = field(default_factory=dict)

    def add(self, claim: Claim) -> None:
        """Take a claim in."""
        self.session_of_key[claim.key] = claim.session_id
        self.by_session.setdefault(claim.session_id, claim)

    def parent_of(self, claim: Claim | None) -> str | None:
        """The session id of the session that spawned one."""
        if claim is None or claim.parent_key is None:
            return None
        return self.session_of_key.get(claim.parent_key)
