"""What the logs put in place of what they cut or hide (formats.md A.7 and I)."""

from __future__ import annotations

from typing import Any

from contextviz.sources.values import as_dict, as_list, as_text

TRUNCATED = "[Truncated]"
HIDDEN = "***"
_REDACTED = ("[Oversized diagnostic JSON redacted]", "[Malformed diagnostic JSON redacted]")
_WITHIN = ("<redacted>", "$WORKSPACE_DIR", *_REDACTED)
MOST_VALUES = 200_000


def is_cut(value: Any) -> bool:
    """Whether anything within `value` was cut or hidden. A message that quotes a placeholder counts as cut too: it is
    then only not used."""
    todo: list[Any] = [value]
    looked = 0
    while todo:
        one = todo.pop()
        looked += 1
        if looked > MOST_VALUES:
            return True
        if isinstance(one, str):
            if one in (TRUNCATED, HIDDEN) or any(mark in one for mark in _WITHIN):
                return True
        elif isinstance(one, dict):
            if one.get("truncated") is True and "reason" in one:
                return True
            todo.extend(one.values())
        elif isinstance(one, list):
            todo.extend(one)
    return False


def whole_text(value: Any) -> str | None:
    """A text that is whole; None for anything else."""
    text = as_text(value)
    return None if text is None or not text or is_cut(text) else text


def named_tools(value: Any) -> tuple[dict[str, Any], ...]:
    """The tool definitions of a list that have a name, parts of them cut or not."""
    return tuple(one for one in map(as_dict, as_list(value)) if as_text(one.get("name")))
