"""The rows of Droid's sessions: what each is, and a message's content as blocks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from contextviz.events.message import Block, Kind
from contextviz.events.text import TextPool
from contextviz.sources.plain.content import part_blocks
from contextviz.sources.values import as_dict, as_list, as_text

FORMAT = "droid"
Json = dict[str, Any]
# Rows that neither say anything to the model nor change what it is given.
QUIET = frozenset({"todo_state", "session_end", "session_settings"})
# A session's settings that hold any of these are not opened further: they may hold credentials.
_SECRET = frozenset({"mcpServers", "customModels", "apiKey", "env", "hooks"})
_REMINDER = ("<system-reminder>", "</system-reminder>")
USER_ONLY, MODEL_ONLY = "user_only", "llm_only"


def is_start(record: Mapping[str, Any]) -> bool:
    """Whether a record is a session's first row."""
    return record.get("type") == "session_start" and isinstance(record.get("id"), str)


def is_message(record: Mapping[str, Any]) -> bool:
    """Whether a record is a message's row, as only Droid writes it: no version of another agent has the role inside
    `message`, the id beside it and no `uuid`."""
    message = as_dict(record.get("message"))
    is_row = record.get("type") == "message" and isinstance(record.get("id"), str)
    return is_row and "role" in message and ("visibility" in message or "modelId" in message)


def is_settings(document: Mapping[str, Any], basename: str) -> bool:
    """Whether a document is what Droid keeps beside a session: named after it, with its tokens."""
    if not basename.removesuffix(".bak").endswith(".settings.json") or _SECRET & document.keys():
        return False
    return isinstance(document.get("tokenUsage"), Mapping) or "assistantActiveTimeMs" in document


def blocks_of_message(message: Json, pool: TextPool) -> list[Block]:
    """A message's blocks. What the client puts in stands in reminders, or in messages for the model alone."""
    is_injected = message.get("visibility") == MODEL_ONLY or message.get("hiddenFromUserViews") is True
    content = message.get("content")
    parts = content if isinstance(content, list) else [content]
    blocks: list[Block] = []
    for part in parts:
        kind: Kind = "injected" if is_injected or _is_reminder(part) else "text"
        blocks.extend(part_blocks(part, pool, kind))
    thought = as_text(message.get("chatCompletionReasoningContent"))
    if thought and not any(block.kind == "thinking" and block.text.chars for block in blocks):
        blocks.insert(0, Block("thinking", pool.put(thought)))
    return blocks


def _is_reminder(part: Any) -> bool:
    text = part if isinstance(part, str) else as_text(as_dict(part).get("text"))
    return text is not None and text.lstrip().startswith(_REMINDER[0]) and text.rstrip().endswith(_REMINDER[1])


def is_hook(message: Json) -> bool:
    """Whether a message is what a hook did: it has no content."""
    return "hookEventName" in message and not as_list(message.get("content"))
