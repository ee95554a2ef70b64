"""Which of the records that exporters send this reader has a use for, and which session they belong to.

An agent's own tracing writes thousands of internal spans a minute. Those that say nothing of a model call, a window or
a compaction are counted where they arrive and not kept (formats document, section F and what was measured of OTLP).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any, Literal

Kind = Literal["span", "log"]
TALK_KEYS = ("gen_ai.conversation.id", "conversation.id", "session.id", "gen_ai.session.id")
# Spans that a reader uses though they carry no attribute of the GenAI conventions.
_SPANS = frozenset({"session_task.turn", "codex.compaction", "run_auto_compact"})
_OPENCLAW = frozenset({
    "openclaw.model.call", "openclaw.model.usage", "openclaw.run", "openclaw.context.assembled", "openclaw.compaction",
})  # fmt: skip
_MARKS = ("gen_ai.", "llm.", "openinference.")
_LOGS = frozenset({
    "codex.conversation_starts", "codex.user_prompt", "codex.tool_result", "codex.compaction", "codex.sse_event",
    "claude_code.api_request", "claude_code.user_prompt", "api_request", "user_prompt",
})  # fmt: skip
_THREAD = re.compile(r"^[0-9a-fA-F-]{32,40}$")


def is_used(kind: Kind, name: str, keys: Iterable[str], event_kind: str | None = None) -> bool:
    """Whether a span or log record of this name with these attributes is one that the reader reads.

    `name` is a span's name, or a log record's `event.name`; `event_kind` a Codex event's kind.
    """
    if kind == "log":
        if name == "codex.sse_event":
            return event_kind == "response.completed"
        return name in _LOGS or name.startswith("gen_ai.")
    if name.startswith("openclaw."):
        return name in _OPENCLAW
    return name in _SPANS or any(key.startswith(_MARKS) for key in keys)


def talk_of(attributes: Mapping[str, Any]) -> str | None:
    """The conversation that a record names itself, or None."""
    for key in TALK_KEYS:
        value = attributes.get(key)
        if isinstance(value, str | int) and not isinstance(value, bool) and str(value).strip():
            return str(value)
    # Codex writes its thread here; on other spans of the same name it is the number of an operating system's thread.
    thread = attributes.get("thread.id")
    return thread if isinstance(thread, str) and _THREAD.match(thread) else None


def gateway_of(name: str, attributes: Mapping[str, Any], at: datetime | None) -> str | None:
    """OpenClaw's spans name no session: what one gateway sends in a day is read together."""
    if not name.startswith("openclaw."):
        return None
    day = at.strftime("%Y-%m-%d") if at is not None else "no date"
    return f"{attributes.get('service.name') or 'openclaw'} {day}"
