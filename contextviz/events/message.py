"""Messages and their blocks, as a transcript holds them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from contextviz.events.frozen import frozen
from contextviz.events.text import TextRef

Role = Literal["system", "developer", "user", "assistant", "tool"]
Kind = Literal["system", "tools", "text", "thinking", "tool_call", "tool_result", "summary", "image", "injected"]


@frozen
class Block:
    """One content block. A tool call's text is JSON `{"name","arguments"}` (inspect.md, --snapshots).

    `is_synthetic` marks a tool result that a repair wrote, never a success. `media_bytes` is an image's decoded
    size (its base64 is never text); `full_chars` is the size before the client cut what the model saw.
    """

    kind: Kind
    text: TextRef
    tool_name: str | None = None
    tool_call_id: str | None = None
    is_error: bool = False
    is_synthetic: bool = False
    media_type: str | None = None
    media_bytes: int | None = None
    base64_chars: int | None = None
    full_chars: int | None = None


@dataclass(slots=True)
class Message:
    """One message of a session, in the order it is shown (`index`), on whichever branch.

    `native_role` is the word inspect.md counts it under (`toolResult`, `user_prompts`, …). `agent` is the
    sub-agent's id or None. `call_index` points into Transcript.calls for an assistant answer. `entry_ids` are
    all the entries that make it up (Claude Code writes one answer as several lines); empty where that is `id` alone.
    """

    index: int
    id: str | None
    parent_id: str | None
    role: Role
    native_role: str
    blocks: tuple[Block, ...]
    at: datetime | None
    line: int | None
    file: str
    agent: str | None = None
    model: str | None = None
    call_index: int | None = None
    on_active_path: bool = True
    is_human: bool = False
    entry_ids: tuple[str, ...] = ()

    @property
    def is_empty(self) -> bool:
        """Whether it holds no content at all."""
        return not any(block.text.chars or block.media_bytes or block.base64_chars for block in self.blocks)


@frozen
class ToolPair:
    """A tool call and its result by position. `result` is None while the call is pending."""

    call_entry: str | None
    call_message: int
    call_block: int
    result_entry: str | None = None
    result_message: int | None = None
    result_block: int | None = None
