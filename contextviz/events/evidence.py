"""What a client's own log of its requests says of a window, and how that stands to the window that was rebuilt.

A log may be cut: a body that was left out is None here, and never takes the place of a whole one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

from contextviz.events.message import Role
from contextviz.events.snapshot import ContextItem, TraceSource, WindowCheck

# What of a request a transcript does not have, so that a log which fills a part of it leaves only the rest unsaid.
HIDDEN_NOTE = "the system prompt and the tool definitions are not in the transcript"
HIDDEN_TOOLS_NOTE = "the tool definitions are not in the transcript"
HIDDEN_SYSTEM_NOTE = "the system prompt is not in the transcript"
_ENDS: Mapping[str, str] = {
    "corrected": "what is shown is the log's",
    "refuted": "the log is cut where they differ, so the rebuilt window is shown",
    "differs": "it notes what the context engine assembled, which is not always what was sent: the rebuilt is shown",
}
SOURCES: Mapping[str, str] = {"cache_trace": "cache trace", "trajectory": "trajectory"}


@dataclass(frozen=True, slots=True)
class TracedMessage:
    """One message of a window as a log has it. `role` is None where even that was cut. `entry` is the transcript's
    entry that it is, by fingerprint. `items` are its whole body, None where it was cut. `is_client` marks what the
    client adds to this one request and keeps in no transcript."""

    role: Role | None
    entry: str | None = None
    items: tuple[ContextItem, ...] | None = None
    is_client: bool = False


@dataclass(frozen=True, slots=True)
class TracedWindow:
    """What a log says of one call. `messages` is None where it says nothing of them; else their number is whole.

    `system` and `tools` stand before the messages; `system_chars` is the size of a system prompt that was cut,
    `tool_names` what was offered also where the definitions are cut.
    `opening_before` is the entry of the run's first answer: a prompt that opened the run and that no entry holds stands
    before it in the run's later windows too. `is_literal` says that bodies are word for word (a trajectory has paths
    and names taken out).
    """

    call_index: int
    source: TraceSource
    file: str
    line: int | None = None
    messages: tuple[TracedMessage, ...] | None = None
    system: ContextItem | None = None
    system_chars: int | None = None
    tools: tuple[ContextItem, ...] = ()
    tool_names: tuple[str, ...] = ()
    opening_before: str | None = None
    is_literal: bool = True


def check_as_dict(check: WindowCheck) -> dict[str, Any]:
    """A check as plain values, for JSON and for the store."""
    return asdict(check)


def check_from(value: Any) -> WindowCheck | None:
    """A check from what `check_as_dict` gave; None for anything else."""
    names = [one.name for one in fields(WindowCheck)]
    if not isinstance(value, dict) or not set(names) <= set(value):
        return None
    return WindowCheck(**{name: value[name] for name in names})


def described(check: WindowCheck) -> str:
    """A check in one sentence with its numbers."""
    log = SOURCES[check.source]
    own = f", and {_messages(check.client)} that the client adds to this request alone" if check.client else ""
    how = f"{check.proven} by {'fingerprint or text' if check.source == 'cache_trace' else 'text'}"
    rest = f", {check.by_role} by role and place alone" if check.by_role else ""
    was = "was" if check.rebuilt == 1 else "were"
    counted = f"The {log} has {_messages(check.traced)}, {check.rebuilt} {was} rebuilt"
    if check.verdict == "confirmed":
        return f"{counted}{own}: they agree ({how}{rest})."
    parts = [
        f"{check.missing} missing here" if check.missing else "",
        f"{check.extra} here that it does not have" if check.extra else "",
    ]
    differs = " and ".join(part for part in parts if part) or "another order"
    return f"{counted}{own}: they disagree, {differs}; {_ENDS[check.verdict]}."


def _messages(number: int) -> str:
    return f"{number} message" if number == 1 else f"{number} messages"
