"""The window of Cortext: where it is cut, the anchor that finds the cut again, and what stands before it (4.5).

All of it is exact: the same messages and settings give the cut, the anchor and the token numbers of the plugin.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from contextviz.engines.cortext.text import message_text
from contextviz.events.javascript import slice16, to_number
from contextviz.tokens.estimators import chars4

Mode = Literal["hybrid", "full"]
PREFIX_UNITS = 200
PROTECT_TAIL, MOST_PROTECT_TAIL = 6, 64
NOTHING_BEFORE = "nothing before the protected window to archive"

_BRIDGE_START = "[Earlier conversation was archived to Cortext durable memory."
_BRIDGE_REST = {
    # The plugin's wording is its own; token numbers need its length and its start alone.
    "hybrid": " What matters now is recalled from there; the newest messages all follow exactly as they were given.]",
    "full": " What matters now is recalled from there and listed in the system prompt; only the newest turn follows"
    " here exactly as it was given.]",
}


@dataclass(frozen=True, slots=True)
class ViewMessage:
    """A message as the window rule sees it: role and text (section 4.2)."""

    role: str
    text: str


@dataclass(frozen=True, slots=True)
class Anchor:
    """The first message of the window: its role, the first 200 UTF-16 units of its text, and how many messages that
    are no system messages stood before it. `at` is when it was set, in milliseconds."""

    role: str
    prefix: str
    dropped: int
    at: int | None = None

    def document(self) -> dict[str, Any]:
        """As it is written to compaction.json."""
        return {"role": self.role, "textPrefix": self.prefix, "dropped": self.dropped, "ts": self.at}


@dataclass(frozen=True, slots=True)
class Windowed:
    """A view with its anchor applied. `cut` is the index in the full view (None: not windowed); `is_cleared` says that
    the anchor's message is not there any more, so the anchor is given up and all is shown."""

    view: list[ViewMessage]
    cut: int | None = None
    is_cleared: bool = False

    @property
    def is_windowed(self) -> bool:
        """Whether anything is left out."""
        return self.cut is not None

    @property
    def tokens(self) -> int:
        """By `chars4`: one rounding for the whole list, the bridge included."""
        return chars4(one.text for one in self.view)


@dataclass(frozen=True, slots=True)
class ViewCompaction:
    """What a compaction of a view gives; tokens by `chars4`. Without `compacted` nothing but `cut` is known."""

    compacted: bool
    cut: int
    dropped: int = 0
    anchor: Anchor | None = None
    tokens_before: int | None = None
    tokens_after: int | None = None
    reason: str = NOTHING_BEFORE


def view_of(messages: Sequence[Any]) -> list[ViewMessage]:
    """The view of messages as the host stores them (`role`, `content`); what is no message is left out."""
    return [
        ViewMessage(str(one.get("role") or ""), message_text(one.get("content")))
        for one in messages
        if isinstance(one, dict)
    ]


def protect_tail_of(value: Any) -> int:
    """`protectTail` as the plugin takes it: 0 to 64, anything else is 6."""
    number = to_number(value)
    if not math.isfinite(number) or number != int(number) or not 0 <= number <= MOST_PROTECT_TAIL:
        return PROTECT_TAIL
    return int(number)


def bridge_text(mode: Mode) -> str:
    """The message that stands for the archived ones: our words, as long as the plugin's (162 and 194 units)."""
    return _BRIDGE_START + _BRIDGE_REST[mode]


def last_user(view: Sequence[ViewMessage], upto: int) -> int:
    """The greatest index up to `upto` of a user message; 0 where there is none."""
    return next((index for index in range(min(upto, len(view) - 1), -1, -1) if view[index].role == "user"), 0)


def cut_from(length: int, mode: Mode, protect_tail: int) -> int:
    """The index from which the cut walks back to a user message."""
    return length - 1 if mode == "full" else max(0, length - max(1, protect_tail))


def cut_of(view: Sequence[ViewMessage], mode: Mode, protect_tail: int) -> int:
    """The index at which the window begins."""
    return last_user(view, cut_from(len(view), mode, protect_tail)) if view else 0


def dropped_before(view: Sequence[ViewMessage], cut: int) -> int:
    """Messages before the cut that are no system messages."""
    return sum(1 for one in view[:cut] if one.role != "system")


def anchor_at(view: Sequence[ViewMessage], cut: int, now: int | None) -> Anchor:
    """The anchor that finds `cut` again."""
    first = view[cut]
    return Anchor(first.role, slice16(first.text, 0, PREFIX_UNITS), dropped_before(view, cut), now)


def found_at(view: Sequence[ViewMessage], anchor: Anchor) -> int | None:
    """Where the anchor's message is now: at its own position, else the first like it behind that; None: gone."""
    position, later = 0, None
    for index, one in enumerate(view):
        if one.role == "system":
            continue
        if one.role == anchor.role and slice16(one.text, 0, PREFIX_UNITS) == anchor.prefix:
            if position == anchor.dropped:
                return index
            if position > anchor.dropped and later is None:
                later = index
        position += 1
    return later


def apply_window(view: Sequence[ViewMessage], anchor: Anchor | None, mode: Mode) -> Windowed:
    """The view that the model is given: system messages, the bridge, and everything from the anchor on."""
    if anchor is None:
        return Windowed(list(view))
    cut = found_at(view, anchor)
    if cut is None:
        return Windowed(list(view), is_cleared=True)
    if cut == 0:
        return Windowed(list(view))
    heads = [one for one in view[:cut] if one.role == "system"]
    return Windowed([*heads, ViewMessage("user", bridge_text(mode)), *view[cut:]], cut)


def compact_view(view: Sequence[ViewMessage], mode: Mode, protect_tail: int, now: int | None = None) -> ViewCompaction:
    """Move the window as far as the mode allows, whatever is asked for. `now` is in milliseconds."""
    cut = cut_of(view, mode, protect_tail)
    dropped = dropped_before(view, cut)
    if cut <= 0 or dropped == 0:
        return ViewCompaction(False, cut)
    anchor = anchor_at(view, cut, now)
    after = apply_window(view, anchor, mode).tokens
    return ViewCompaction(
        True, cut, dropped, anchor, chars4(one.text for one in view), after, archived_sentence(dropped, mode)
    )


def archived_sentence(dropped: int, mode: Mode) -> str:
    """What the plugin answers, and gives as summary (4.5)."""
    kept = "working memory is injected beside the tail" if mode == "hybrid" else "working memory stands for the rest"
    return f"Archived {dropped} message{'' if dropped == 1 else 's'} to Cortext durable memory ({mode} mode; {kept})"
