"""OpenVole's message: what its budget, trimmer and compactor work on (engines document, section 2.2)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, cast

from contextviz.tokens.estimators import json2_text4

VoleRole = Literal["user", "brain", "tool_result", "error"]
ROLES: tuple[VoleRole, ...] = ("user", "brain", "tool_result", "error")
OVERHEAD = 4  # tokens that a message costs beside its text


@dataclass(frozen=True, slots=True)
class ToolCall:
    """The tool that a message calls, or whose result it is; `params` is None on results."""

    name: str
    params: Any = None


@dataclass(slots=True, eq=False)
class AgentMessage:
    """One message, known by identity. `timestamp` in milliseconds; `seen_at` the iteration in which the brain first had
    it, None while it has not. `size` is its tokens with the overhead; `rewrite` keeps it right."""

    role: VoleRole
    content: str
    timestamp: int = 0
    tool_call: ToolCall | None = None
    seen_at: int | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)
    size: int = field(init=False)

    def __post_init__(self) -> None:
        self.size = json2_text4(self.content) + OVERHEAD

    def rewrite(self, content: str) -> int:
        """Put other words in its place; the tokens saved, negative where it grew."""
        before = self.size
        self.content = content
        self.size = json2_text4(content) + OVERHEAD
        return before - self.size

    def copy(self) -> AgentMessage:
        """A message of its own with the same content."""
        return AgentMessage(self.role, self.content, self.timestamp, self.tool_call, self.seen_at, self.extra)


def from_plain(record: Mapping[str, Any]) -> AgentMessage:
    """A message from its JSON object; raises ValueError for a role that OpenVole does not know."""
    role = record.get("role")
    if role not in ROLES:
        raise ValueError(f"{str(role)[:40]!r} is no role of OpenVole; there are {', '.join(ROLES)}.")
    call = record.get("toolCall")
    known = {"role", "content", "timestamp", "toolCall", "seenAtIteration"}
    return AgentMessage(
        cast(VoleRole, role), str(record.get("content") or ""), int(record.get("timestamp") or 0),
        ToolCall(str(call.get("name")), call.get("params")) if isinstance(call, Mapping) else None,
        record.get("seenAtIteration"), {key: value for key, value in record.items() if key not in known},
    )  # fmt: skip


def to_plain(message: AgentMessage) -> dict[str, Any]:
    """A message as its JSON object."""
    record: dict[str, Any] = {"role": message.role, "content": message.content, "timestamp": message.timestamp}
    if message.tool_call is not None:
        record["toolCall"] = {"name": message.tool_call.name, "params": message.tool_call.params}
    if message.seen_at is not None:
        record["seenAtIteration"] = message.seen_at
    return {**record, **message.extra}
