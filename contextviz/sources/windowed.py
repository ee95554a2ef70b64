"""A host's windows as Cortext moved their beginning: what is before the anchor out, a bridge in.

Rule: engines document, section 4.5. The anchor is looked for in each window; where it is not in one, the engine shows
all of it. What the engine recalls into the system prompt is written nowhere, so the windows stay partial.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace

from contextviz.events.compaction import Compaction
from contextviz.events.message import Message
from contextviz.events.session import Transcript
from contextviz.events.snapshot import ContextItem, ContextSnapshot, SnapshotLog
from contextviz.events.text import TextPool

PREFIX_UNITS = 200
ARGUMENT_UNITS = 2000
# Only the beginning of the bridge is known, and that the whole has 162 characters (194 in the mode full).
BRIDGE = "[Earlier conversation was archived to Cortext durable memory."
BY_ANCHOR = "by the engine's anchor; what it recalls into the system prompt, and the end of its bridge, are not written"
NOT_FOUND = "the message that the anchor names is not in the transcript, so the engine shows the whole window"
UNKNOWN_ANCHOR = "the engine had moved the beginning of the window, and where to is written no longer; all is shown"
ROLES = {"tool": "toolResult"}


@dataclass(frozen=True, slots=True)
class Anchor:
    """See the state of Cortext: role, beginning of the text, messages before it without system messages."""

    role: str
    prefix: str
    dropped: int


def text_of(message: Message, pool: TextPool) -> str:
    """A message as Cortext sees it: its texts, and its tool calls as `[tool call] NAME ARGUMENTS` (section 4.2)."""
    parts = []
    for block in message.blocks:
        if block.kind in ("text", "summary", "injected", "tool_result"):
            parts.append(pool.get(block.text))
        elif block.kind == "tool_call" and block.tool_name:
            parts.append(_call_text(block.tool_name, pool.get(block.text)))
    return " ".join(part for part in parts if part)


def _call_text(name: str, stored: str) -> str:
    try:
        arguments = json.loads(stored).get("arguments")
    except (ValueError, AttributeError, RecursionError):
        arguments = None
    if arguments is None:
        return f"[tool call] {name}"
    text = json.dumps(arguments, ensure_ascii=False, separators=(",", ":"))
    cut = first_units(text, ARGUMENT_UNITS)
    return f"[tool call] {name} {cut}" + ("…" if cut != text else "")


def first_units(text: str, units: int) -> str:
    """The first UTF-16 units of a text, as JavaScript's slice gives them; half a pair at the end is left out."""
    if text.isascii() or len(text) * 2 <= units:
        return text[:units]
    return text.encode("utf-16-le", errors="replace")[: units * 2].decode("utf-16-le", errors="ignore")


def move_windows(
    host: Transcript, folds: Sequence[Compaction], anchors: Sequence[Anchor | None], pool: TextPool
) -> list[Compaction]:
    """Rebuild the main agent's windows from each fold on (`folds` in time order, placed between calls; an anchor None
    for one whose place is not known), and return the folds with what each of them kept."""
    mover = _Mover(host, pool)
    done = 0
    old, fresh = host.log, SnapshotLog(table=host.log.table)
    told = list(folds)
    for number, snapshot in enumerate(old.snapshots):
        call = host.calls[snapshot.call_index]
        positions = old.positions(number)
        if call.agent is None and not _is_proven(snapshot):
            is_first = False
            while done < len(folds) and _is_in_force(folds[done], call.index):
                mover.set(anchors[done])
                done, is_first = done + 1, True
            shown = mover.shown(positions)
            if is_first and anchors[done - 1] is not None:
                told[done - 1] = mover.told(told[done - 1], is_found=shown is not None)
            if shown is not None:
                fresh.add(call.index, shown, basis="partial", note=BY_ANCHOR)
                continue
        fresh.add(call.index, positions, basis=snapshot.basis, agent=call.agent, note=snapshot.note,
                  check=snapshot.check)  # fmt: skip
    host.log = fresh
    return told


def _is_proven(snapshot: ContextSnapshot) -> bool:
    """Whether a window is what was sent, by the client's own record of the request."""
    is_traced = snapshot.check is not None and snapshot.check.verdict != "refuted"
    return snapshot.basis == "request" or is_traced


def mark_unknown(host: Transcript, folds: Sequence[Compaction]) -> None:
    """Say of the windows behind folds whose anchor is not known any longer, up to the next fold, that they are partial:
    they are shown whole, and were not."""
    for fold in folds:
        later = [one.after_call for one in host.compactions if one.after_call is not None]
        start = fold.after_call
        if start is None:
            continue
        end = min((index for index in later if index > start), default=len(host.calls))
        for place, snapshot in enumerate(host.log.snapshots):
            call = host.calls[snapshot.call_index]
            if call.agent is None and start <= call.index < end and not _is_proven(snapshot):
                host.log.snapshots[place] = replace(snapshot, basis="partial", note=UNKNOWN_ANCHOR)


def _is_in_force(fold: Compaction, call: int) -> bool:
    return fold.after_call is not None and fold.after_call <= call


def _always_there(item: ContextItem) -> bool:
    return item.role in ("system", "developer") or item.kind in ("system", "tools")


def entries_shown(host: Transcript, anchor: Anchor, pool: TextPool) -> list[str] | None:
    """The entries of the host's window at the end that stand from the anchor on; None where the anchor is not found."""
    by_entry = {entry: message for message in host.messages for entry in (message.id, *message.entry_ids)}
    count, later = -1, None
    for place, entry in enumerate(host.context_at_end):
        message = by_entry.get(entry)
        if message is None or message.role in ("system", "developer"):
            continue
        count += 1
        if count >= anchor.dropped and later is None and _is_at(message, anchor, pool):
            later = place
    return None if not later else host.context_at_end[later:]


def _is_at(message: Message, anchor: Anchor, pool: TextPool) -> bool:
    roles = (message.role, message.native_role, ROLES.get(message.role))
    text = first_units(text_of(message, pool), PREFIX_UNITS)
    return anchor.role in roles and text == first_units(anchor.prefix, PREFIX_UNITS)


class _Mover:
    """Finds the anchor in one window after another. Windows mostly grow at their end, so the place found last is tried
    before the whole window is gone through."""

    def __init__(self, host: Transcript, pool: TextPool):
        self._host = host
        self._pool = pool
        self._table = host.log.table
        self._anchor: Anchor | None = None
        self._matches: dict[int, bool] = {}
        self._cut: int | None = None
        self._before: list[int] = []
        self._kept: list[str] = []

    def set(self, anchor: Anchor | None) -> None:
        """Take an anchor as the one in force."""
        self._anchor = anchor
        self._matches = {}
        self._cut, self._before = None, []

    def shown(self, positions: list[int]) -> list[int] | None:
        """The window as the engine shows it; None where it shows all of it."""
        if self._anchor is None:
            return None
        if self._cut is None or positions[: self._cut] != self._before:
            self._cut = self._found(positions, self._anchor)
            self._before = positions[: self._cut or 0]
        if not self._cut:
            return None
        items = self._table.items
        stays = [at for at in self._before if _always_there(items[at])]
        bridge = ContextItem("user", "injected", self._pool.put(BRIDGE), None, None, "injected",
                             "Cortext's bridge to what it archived", "derived")  # fmt: skip
        rest = positions[self._cut :]
        self._kept = list(dict.fromkeys(entry for at in rest if (entry := items[at].entry) is not None))
        return [*stays, self._table.intern(bridge), *rest]

    def told(self, fold: Compaction, *, is_found: bool) -> Compaction:
        """The fold with the entries that its first window kept."""
        if not is_found:
            return replace(fold, problem=NOT_FOUND)
        return replace(fold, kept=self._kept, first_kept=self._kept[0] if self._kept else None,
                       context_items=list(self._kept))  # fmt: skip

    def _found(self, positions: list[int], anchor: Anchor) -> int | None:
        """Where the anchor's message begins: the one with exactly `dropped` before it, else the first with more."""
        items = self._table.items
        count = -1
        last: int | None = None
        later: int | None = None
        for place, position in enumerate(positions):
            index = items[position].message_index
            if index is None or index == last or items[position].role in ("system", "developer"):
                continue
            last, count = index, count + 1
            if count < anchor.dropped or not self._fits(index, anchor):
                continue
            if count == anchor.dropped:
                return place
            later = place if later is None else later
        return later

    def _fits(self, index: int, anchor: Anchor) -> bool:
        known = self._matches.get(index)
        if known is None:
            known = _is_at(self._host.messages[index], anchor, self._pool)
            self._matches[index] = known
        return known
