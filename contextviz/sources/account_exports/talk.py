"""One conversation of an export as a transcript: its messages along the tree, its calls and what each was given.

Neither export has usage, so the tokens of every call are unknown. A call is told by what the model wrote: everything
from one thing that was put before it to the next.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from contextviz.events.call import ModelCall
from contextviz.events.message import Message, ToolPair
from contextviz.events.session import Session, Transcript
from contextviz.events.times import instant, is_suspicious, iso
from contextviz.events.usage import TokenUsage
from contextviz.sources.account_exports.tree import Entry, Step, Tree
from contextviz.sources.plain.draft import Draft
from contextviz.sources.source import ReadOptions

# In a session's hints: when the app says that the conversation changed last. Of two exports it tells the newer one.
UPDATED = "updated_at"
NOTE = "by the branch; the app's own instructions, its tools, its memory and what it cut are not in the export"
# How far back a result looks for the call of its name, before it takes the nearest.
LOOKED_BACK = 8


@dataclass(slots=True)
class _Open:
    """A call that waits for its result: its message and block, and the one that waited before it."""

    message: int
    block: int
    name: str | None
    before: _Open | None


@dataclass(slots=True)
class _Spot:
    """What holds right behind an entry, for the entries that follow it: how long the window is, the answer that may go
    on, and the tool calls that wait. `answered` is the call answered last."""

    positions: int = 0
    names: int = 0
    call: int | None = None
    waiting: _Open | None = None
    answered: tuple[int, int] | None = None


def updated_of(value: object, *, now: datetime) -> datetime | None:
    """When a conversation changed last, as it says; None where that is not written, or lies in the future."""
    at = instant(value)
    return None if at is None or is_suspicious(at, now=now) else at


class Talk:
    """Builds the transcript of one tree. With `pairs_by_place` tool results belong to the call above them in the tree,
    since they name none."""

    def __init__(self, session: Session, file: str, options: ReadOptions, *, pairs_by_place: bool = False):
        self.draft = Draft(session, file, options)
        self._now = options.now
        self._pairs_by_place = pairs_by_place
        self._pairs: dict[tuple[int, int], ToolPair] = {}
        self._orphans: list[str] = []
        self._spots: list[_Spot] = []
        self._taken: set[int] = set()

    def updated(self, value: object) -> None:
        """Note when the conversation changed last, as its export says it; nothing where that is not known."""
        at = updated_of(value, now=self._now)
        if at is not None:
            self.draft.session.hints[UPDATED] = iso(at)

    def add(self, tree: Tree) -> None:
        """Add all entries of the tree, in its order."""
        names = []
        for place, entry in enumerate(tree.entries):
            parent = tree.parents[place]
            before = self._spots[parent] if parent >= 0 else _Spot()
            self._back_to(before)
            # Only the first answer that follows one goes on with it; another branch is another call.
            call = None if parent in self._taken else before.call
            spot = _Spot(before.positions, before.names, call, before.waiting, before.answered)
            self._taken.add(parent)
            self._spots.append(spot)
            if entry.blocks is None:
                continue
            is_active = place in tree.active
            message = self._message(entry, is_active=is_active)
            self._calls(entry, message, spot, is_active=is_active)
            if entry.is_sent and is_active:
                names.append(message.id or "")
            window = self.draft.window()
            spot.positions, spot.names = len(window.positions), len(window.names)
            if self._pairs_by_place:
                self._pair(message, spot, is_active=is_active)
        self.draft.transcript.context_at_end = names
        self._models(tree)

    def finish(self) -> Transcript:
        """The finished transcript."""
        draft = self.draft
        names = draft.transcript.context_at_end
        calls = draft.transcript.calls
        if calls:
            draft.session.counters["calls_without_usage"] = len(calls)
        messages = draft.transcript.messages
        if self._pairs_by_place:
            draft.transcript.messages = []  # not paired by name and order, which would mix the branches
        transcript = draft.finish()
        transcript.context_at_end = names
        if self._pairs_by_place:
            transcript.messages = messages
            transcript.pairs, transcript.orphan_results = list(self._pairs.values()), self._orphans
        return transcript

    def _message(self, entry: Entry, *, is_active: bool) -> Message:
        draft = self.draft
        at = draft.time(entry.time, f"message {entry.id[:80]}")
        return draft.message(
            entry.role, entry.native_role, entry.blocks or (), id=entry.id, at=at, model=entry.model,
            parent=entry.parent, is_human=entry.is_human, on_active_path=is_active,
        )  # fmt: skip

    def _back_to(self, spot: _Spot) -> None:
        """Cut the window to what it was behind an earlier entry."""
        window = self.draft.window()
        if len(window.positions) > spot.positions or len(window.names) > spot.names:
            del window.positions[spot.positions :]
            del window.names[spot.names :]
            if window.sent is not None:
                window.sent = min(window.sent, spot.positions)

    def _calls(self, entry: Entry, message: Message, spot: _Spot, *, is_active: bool) -> None:
        """The calls of what the model wrote, each with the window before it; then the entry is in the window."""
        draft = self.draft
        put = 0
        for number, step in enumerate(entry.steps):
            self._grow(entry, message, put, step.start)
            put = step.start
            if number == 0 and spot.call is not None:
                message.call_index = spot.call
                continue
            name = message.id if len(entry.steps) == 1 else f"{message.id}#{number + 1}"
            self._call(name or "", message, step, is_active=is_active)
            spot.call = len(draft.transcript.calls) - 1
        self._grow(entry, message, put, len(message.blocks))
        if entry.is_sent:
            draft.window().names.append(message.id or "")
        # An entry without steps ends the answer; the model's empty entries do not.
        if not entry.steps and (entry.role != "assistant" or message.blocks):
            spot.call = None

    def _call(self, name: str, message: Message, step: Step, *, is_active: bool) -> None:
        draft = self.draft
        at: datetime | None = draft.time(step.time, "a part of an answer") if step.time else message.at
        calls = draft.transcript.calls
        call = ModelCall(
            len(calls), name, None, at, message.model, TokenUsage(), basis="unknown", message_index=message.index,
            entry=message.id, on_active_path=is_active,
        )  # fmt: skip
        calls.append(call)
        message.call_index = call.index if message.call_index is None else message.call_index
        draft.snapshot(call, basis="partial", note=NOTE)

    def _grow(self, entry: Entry, message: Message, start: int, end: int) -> None:
        if entry.is_sent and start < end:
            blocks = message.blocks[start:end]
            self.draft.window().positions.extend(self.draft.items(message, blocks=blocks, without_thinking=True))

    def _pair(self, message: Message, spot: _Spot, *, is_active: bool) -> None:
        if message.is_human:
            spot.waiting = spot.answered = None
        for number, block in enumerate(message.blocks):
            if block.kind == "tool_call":
                self._pairs[message.index, number] = ToolPair(message.id, message.index, number)
                spot.waiting = _Open(message.index, number, block.tool_name, spot.waiting)
        result = next((n for n, block in enumerate(message.blocks) if block.kind == "tool_result"), None)
        if result is None:
            return
        place, spot.waiting = _taken(spot.waiting, message.blocks[result].tool_name)
        if place is None:
            if spot.answered is None:
                self._orphans.append(message.id or "")
            return  # else a further part of one result
        spot.answered = place
        pair = self._pairs[place]
        if pair.result_message is None or is_active:
            self._pairs[place] = ToolPair(
                pair.call_entry, pair.call_message, pair.call_block, message.id, message.index, result
            )

    def _models(self, tree: Tree) -> None:
        """The session's model is the last one on the path that is shown."""
        named = [entry.model for place, entry in enumerate(tree.entries) if entry.model and place in tree.active]
        if named:
            self.draft.session.model = named[-1]


def _taken(waiting: _Open | None, name: str | None) -> tuple[tuple[int, int] | None, _Open | None]:
    """The waiting call that a result answers (of its name, else the nearest), and those that still wait."""
    looked: list[_Open] = []
    one = waiting
    while one is not None and len(looked) < LOOKED_BACK:
        if one.name == name:
            left = one.before
            for other in reversed(looked):
                left = _Open(other.message, other.block, other.name, left)
            return (one.message, one.block), left
        looked.append(one)
        one = one.before
    return ((waiting.message, waiting.block), waiting.before) if waiting is not None else (None, None)
