"""paw-compact's rules over what is known of a task's messages (engines.md 2.5)."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import Any, Literal

from contextviz.events.message import Message

PartKind = Literal["user", "call", "result", "summary", "brain"]
HISTORY_ENTRIES, HISTORY_RECENT, HISTORY_CUT, HISTORY_CHARS = 50, 10, 150, 8000
SHRINK_OVER, SHRINK_TO = 500, 150
CUT_MARK = "..."


@dataclass(frozen=True, slots=True)
class Part:
    """One message of a task's window: what it is, its text, the transcript's message where it has one. `arguments`
    of a call; `is_cut` where the transcript holds only the text's beginning; `is_shrunk` by the client; `is_seen` by
    the model in an earlier call."""

    kind: PartKind
    text: str
    message: Message | None = None
    name: str | None = None
    arguments: Any = None
    is_cut: bool = False
    is_shrunk: bool = False
    is_seen: bool = False
    compaction: str | None = None


def shrunk(part: Part) -> Part:
    """A seen tool result as the compactor leaves it: state, size where it is known, and the first 150 characters."""
    if part.kind != "result" or part.is_shrunk or not part.is_seen or not (part.is_cut or len(part.text) > SHRINK_OVER):
        return part
    return replace(part, text=f"[{part.name}: {status(part)}] {part.text[:SHRINK_TO]}{CUT_MARK}", is_shrunk=True)


def status(part: Part) -> str:
    """`success` or `error`, with the size where the transcript holds the whole text."""
    lowered = part.text.lower()
    is_error = lowered.startswith("error") or any(mark in lowered for mark in ('"error"', '"ok":false', '"ok": false'))
    word = "error" if is_error else "success"
    if not part.text:
        return "empty"
    return word if part.is_cut else f"{word} ({len(part.text)} chars)"


def summary_of(parts: list[Part]) -> str:
    """The heuristic summary of the messages that were folded; sizes of cut results are missing in it."""
    lines = [f"[Context Summary — {len(parts)} messages compacted]"]
    for part in parts:
        if part.kind == "call":
            lines.append(f"- Called {part.name}({_params(part.arguments)})")
        elif part.kind == "result":
            lines.append(f"- Called {part.name}() -> {status(part)}")
        elif part.kind == "user":
            lines.append(f'- User: "{_cut(part.text, 100)}"')
        elif part.text:
            lines.append(f'- Brain: "{_cut(part.text, 100)}"')
    return "\n".join(lines)


def _params(value: Any) -> str:
    if value is None:
        return ""
    if not isinstance(value, dict):
        return _cut(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False), 60)
    shown = []
    for key, item in value.items():
        if isinstance(item, str):
            shown.append(f'{key}: "{_cut(item, 40)}"')
        elif item is not None:
            shown.append(f"{key}: {json.dumps(item, ensure_ascii=False)[:40]}")
    return ", ".join(shown)


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else text[:most] + CUT_MARK


def history(parts: list[Part]) -> list[Part]:
    """What of earlier lines is put before a task (engines.md 2.7): of the last 50 the user's and the brain's, those
    further back than 10 cut to 150 characters, at most 8,000 characters, newest first. `parts` may hold tool lines:
    they count for how far back a line is."""
    last = parts[-HISTORY_ENTRIES:]
    chosen: list[Part] = []
    used = 0
    for age, part in enumerate(reversed(last), start=1):
        if part.kind not in ("user", "brain"):
            continue
        text = part.text.replace("\n", " ")
        if age > HISTORY_RECENT and len(text) > HISTORY_CUT:
            text = text[:HISTORY_CUT] + CUT_MARK
        used += len(text) + 20
        if used > HISTORY_CHARS:
            break
        chosen.append(replace(part, text=text))
    return chosen[::-1]
