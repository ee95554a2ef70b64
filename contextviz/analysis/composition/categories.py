"""The eleven categories of window tokens, in the order they are stacked."""

from __future__ import annotations

from typing import Literal

from contextviz.events.snapshot import ContextItem

Category = Literal[
    "system", "tools", "memory", "summary", "user", "assistant", "thinking", "call", "result", "stub", "error"
]
CATEGORIES: tuple[Category, ...] = (
    "system",
    "tools",
    "memory",
    "summary",
    "user",
    "assistant",
    "thinking",
    "call",
    "result",
    "stub",
    "error",
)
POSITION: dict[Category, int] = {category: index for index, category in enumerate(CATEGORIES)}
# A picture's tokens follow its pixels, which transcripts do not write; never from its base64 (formats.md trap 35).
IMAGE_TOKENS = 1500

_BY_ROLE: dict[str, Category] = {
    "system": "system",
    "developer": "system",
    "user": "user",
    "assistant": "assistant",
    "tool": "result",
}
_BY_KIND: dict[str, Category] = {
    "system": "system",
    "tools": "tools",
    "injected": "memory",
    "summary": "summary",
}


def category_of(item: ContextItem) -> Category:
    """The one category `item` counts in; the first rule that applies.

    What the client put in by itself is memory, whatever its role; a placeholder is a stub before it is a
    result or an error; a picture counts where its carrier's text counts.
    """
    by_kind = _BY_KIND.get(item.kind)
    if by_kind is not None:
        return by_kind
    if item.state in ("injected", "summary", "stub"):
        return "memory" if item.state == "injected" else item.state
    if item.kind == "thinking":
        return "thinking"
    if item.kind == "tool_call":
        return "call"
    if item.kind == "tool_result" or item.role == "tool":
        return "error" if item.is_error else "result"
    return _BY_ROLE[item.role]


def item_tokens(item: ContextItem) -> int:
    """Estimated tokens of `item` by its pool's estimator; a picture is a fixed IMAGE_TOKENS."""
    return IMAGE_TOKENS if item.kind == "image" else item.text.estimated_tokens
