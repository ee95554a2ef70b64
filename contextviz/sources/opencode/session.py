"""One exported session into a draft: messages, steps as calls, compactions and cleared tool results."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from contextviz.events.call import ModelCall
from contextviz.events.compaction import Compaction
from contextviz.events.message import Block, Message
from contextviz.events.usage import TokenUsage, sum_usage
from contextviz.sources.opencode.parts import CLEARED, Parts, Step, read_parts, usage_of
from contextviz.sources.opencode.second import Checkpoint
from contextviz.sources.plain.draft import Draft, item_of
from contextviz.sources.values import as_dict, as_id, as_list, as_text

Json = Mapping[str, Any]
MOST_NAMED = 200


@dataclass(slots=True)
class _Entry:
    """A message in the window with the positions of its items, as far as it has come."""

    message: Message
    parts: Parts
    is_summary: bool = False
    positions: list[int] = field(default_factory=list)


class SessionReader:
    """Reads the messages of one session (the main one, or a sub-agent's with its id in `agent`)."""

    def __init__(self, draft: Draft, agent: str | None):
        self._draft = draft
        self._agent = agent
        self._window: list[_Entry] = []
        self._is_dirty = False
        self._pending: Compaction | None = None
        # Results that a later pruning cleared: (when, in which entry, which block), until that time has come.
        self._prunable: list[tuple[datetime, _Entry, int]] = []

    def read(self, messages: list[Any], reverted: str | None) -> None:
        """Add every message; those from the reverted one on are off the active path."""
        is_active = True
        for value in messages:
            if isinstance(value, Checkpoint):
                is_active = is_active and (reverted is None or value.info.get("id") != reverted)
                self._checkpoint(value, is_active=is_active)
                continue
            outer = as_dict(value)
            info = as_dict(outer.get("info"))
            is_active = is_active and (reverted is None or info.get("id") != reverted)
            self._message(info, as_list(outer.get("parts")), is_active=is_active)

    def _message(self, info: Json, values: list[Any], *, is_active: bool) -> None:
        draft, is_user = self._draft, info.get("role") == "user"
        parts = read_parts(values, draft.pool, is_user=is_user)
        for kind in parts.unknown:
            draft.unknown_part(kind)
        name = as_id(info.get("id"))
        at = draft.time(as_dict(info.get("time")).get("created"), f"message {name or ''}".strip())
        is_summary = not is_user and (info.get("summary") is True or info.get("agent") == "compaction")
        if is_summary:
            parts.blocks = [replace(one, kind="summary") if one.kind == "text" else one for one in parts.blocks]
        added = as_text(info.get("native")) if is_user else None
        native = added or as_text(info.get("role")) or "unknown"
        model = as_text(info.get("modelID")) or as_text(as_dict(info.get("model")).get("modelID"))
        message = draft.message(
            "system" if added == "system" else "user" if is_user else "assistant", native, parts.blocks,
            id=name if name not in draft.transcript.entry_times else None, at=at, agent=self._agent, model=model,
            parent=as_id(info.get("parentID")), on_active_path=is_active,
            is_human=is_user and added is None and any(one.kind == "text" for one in parts.blocks),
        )  # fmt: skip
        if is_user:
            if parts.is_compaction:
                self._begin(message, parts)
            entry = _Entry(message, parts)
            self._put(entry)
            self._grow(entry, len(parts.blocks))
            return
        self._answer(info, message, parts, is_summary=is_summary, is_active=is_active)

    def _answer(self, info: Json, message: Message, parts: Parts, *, is_summary: bool, is_active: bool) -> None:
        draft = self._draft
        whole = usage_of(info)
        steps = [step for step in parts.steps if step.usage is not None and step.usage.is_real]
        self._check(message, whole, steps)
        if not steps:
            steps = [Step(0, len(parts.blocks), whole)]
        entry = _Entry(message, parts, is_summary)
        if is_summary and self._pending is None:
            self._begin(message, parts)
        calls = 0
        if not is_summary:
            self._put(entry)
        for number, step in enumerate(steps):
            if not is_summary:
                self._grow(entry, step.start)
            at = message.at if number == 0 else None
            self._clear(at)
            call = draft.call(
                step.usage, id=f"{message.id}#{number + 1}" if len(steps) > 1 else message.id, at=at or message.at,
                model=message.model, agent=self._agent, purpose="summary" if is_summary else "turn", message=message,
                on_active_path=is_active,
            )  # fmt: skip
            calls += call is not None
            self._snapshot(call)
        if not calls and info.get("error"):
            draft.transcript.failed_calls += 1
        draft.transcript.failed_calls += parts.retries
        if is_summary:
            self._is_dirty = True
            self._grow(entry, len(parts.blocks))
            self._summarised(entry)
        else:
            self._grow(entry, len(parts.blocks))

    def _checkpoint(self, one: Checkpoint, *, is_active: bool) -> None:
        """A compaction of the second generation: the window is its summary and the recent words, then what follows."""
        draft, info = self._draft, one.info
        name, usage = as_id(info.get("id")), usage_of(info)
        at = draft.time(as_dict(info.get("time")).get("created"), f"compaction {name or ''}".strip())
        if not one.is_done:
            draft.transcript.failed_calls += one.is_failed and not one.is_copied
            self._snapshot(draft.call(usage, id=name, at=at, model=as_text(info.get("modelID")), agent=self._agent,
                                      purpose="summary", on_active_path=is_active))  # fmt: skip
            return
        blocks = [Block("summary", draft.pool.put(one.summary))]
        blocks += [Block("injected", draft.pool.put(one.recent))] if one.recent else []
        message = draft.message(
            "user", "compaction", blocks, id=name if name not in draft.transcript.entry_times else None, at=at,
            agent=self._agent, model=as_text(info.get("modelID")), on_active_path=is_active, is_human=False,
        )  # fmt: skip
        parts, entry = Parts(blocks), _Entry(message, Parts(blocks), is_summary=True)
        if not one.is_copied:
            self._begin(message, parts)
            if self._pending is not None:
                self._pending.trigger = one.reason
            call = draft.call(usage, id=message.id, at=at, model=message.model, agent=self._agent, purpose="summary",
                              message=message, on_active_path=is_active)  # fmt: skip
            self._snapshot(call)
        self._is_dirty = True
        self._grow(entry, len(blocks))
        self._window = []
        self._summarised(entry)

    def _check(self, message: Message, whole: TokenUsage | None, steps: list[Step]) -> None:
        """The message's tokens are its last step's or the sum of its steps: either way they are counted once."""
        if whole is None or not whole.is_real or not steps:
            return
        usages = [step.usage for step in steps if step.usage is not None]
        known = {usages[-1].total_tokens, sum_usage(usages).total_tokens}
        if whole.total_tokens not in known:
            text = (
                f"message {message.id} says {whole.total_tokens} tokens, its steps say {sum_usage(usages).total_tokens}"
            )
            self._draft.problem("count_mismatch", text, entry=message.id, value=whole.total_tokens)

    def _put(self, entry: _Entry) -> None:
        self._window.append(entry)
        self._prunable.extend((at, entry, place) for place, at in entry.parts.cleared.items())
        if not self._is_dirty:
            self._draft.window(self._agent).names.append(entry.message.id or "")

    def _grow(self, entry: _Entry, end: int) -> None:
        """Let an entry's blocks up to `end` follow in the window."""
        table, message = self._draft.transcript.log.table, entry.message
        is_derived = entry.parts.is_compaction
        grown = [
            table.intern(item_of(message, block, _reason(block), "verbatim", derived=is_derived))
            for block in message.blocks[len(entry.positions) : end]
        ]
        entry.positions.extend(grown)
        if not self._is_dirty:
            self._draft.window(self._agent).positions.extend(grown)

    def _stub(self, entry: _Entry, place: int) -> None:
        table = self._draft.transcript.log.table
        text = self._draft.pool.put(CLEARED)
        item = replace(
            table.items[entry.positions[place]],
            text=text,
            state="stub",
            reason="cleared by the client",
            basis="derived",
        )
        entry.positions[place] = table.intern(item)

    def _snapshot(self, call: ModelCall | None) -> None:
        """The window of a call; it is put together anew only where something in it changed."""
        if self._is_dirty:
            positions = [one for other in self._window for one in other.positions]
            self._draft.restart(positions, [other.message.id or "" for other in self._window], agent=self._agent)
            self._is_dirty = False
        self._draft.snapshot(call)

    def _begin(self, message: Message, parts: Parts) -> None:
        trigger = None if parts.is_auto is None else "auto" if parts.is_auto else "manual"
        number = len(self._draft.transcript.compactions) + 1
        self._pending = Compaction(
            message.id, number, None, self._draft.file, message.at, "summary", trigger=trigger, agent=self._agent,
            message_index=message.index, on_active_path=message.on_active_path,
        )  # fmt: skip
        self._draft.compaction(self._pending)

    def _summarised(self, entry: _Entry) -> None:
        """After a summary the window is the request for it, the summary, and what follows."""
        pending, message = self._pending, entry.message
        last = self._window[-1] if self._window and self._window[-1].parts.is_compaction else None
        self._window = [*([last] if last else []), entry]
        self._is_dirty = True
        if pending is None:
            return
        text = next((block.text for block in message.blocks if block.kind == "summary"), None)
        pending.summary = text
        pending.after_call = None
        # The summariser's own call is neither the last before nor the first after.
        turns = [c.index for c in self._draft.transcript.calls if c.agent == self._agent and c.purpose == "turn"]
        pending.before_call = turns[-1] if turns else None
        pending.context_items = [f"summary {pending.id}"]
        if message.at is not None and pending.at is not None:
            pending.duration_seconds = max(0.0, (message.at - pending.at).total_seconds()) or None
        self._pending = None

    def _clear(self, now: datetime | None) -> None:
        """Results that were pruned before this call are stubs from here on; one event for all of one pruning."""
        if now is None or not self._prunable:
            return
        due = [one for one in self._prunable if one[0] <= now and one[2] < len(one[1].positions)]
        if not due:
            return
        done = {(id(entry), place) for _, entry, place in due}
        self._prunable = [one for one in self._prunable if (id(one[1]), one[2]) not in done]
        for _, entry, place in due:
            self._stub(entry, place)
        shown = {id(entry) for entry in self._window}
        if not any(id(entry) in shown for _, entry, _ in due):
            return
        self._is_dirty = True
        number = len(self._draft.transcript.compactions) + 1
        # A hostile file may prune at every call: whole windows are named for the first events only.
        names = [one.message.id or "" for one in self._window] if number <= MOST_NAMED else []
        self._draft.compaction(
            Compaction(
                f"clear-{number}", number, None, self._draft.file, max(at for at, _, _ in due), "clear",
                trigger="auto", agent=self._agent, context_items=names, kept=list(names),
            )
        )  # fmt: skip

    def settle(self) -> None:
        """The calls after summaries, and the window at the end."""
        calls = self._draft.transcript.calls
        for compaction in self._draft.transcript.compactions:
            if compaction.agent == self._agent and compaction.kind == "summary" and compaction.after_call is None:
                before = -1 if compaction.before_call is None else compaction.before_call
                compaction.after_call = next(
                    (c.index for c in calls[before + 1 :] if c.agent == self._agent and c.purpose == "turn"), None
                )
        if self._agent is None:
            self._draft.transcript.context_at_end = [
                f"summary {entry.message.id}" if entry.is_summary else entry.message.id or "" for entry in self._window
            ]


def _reason(block: Block) -> str:
    if block.kind == "summary":
        return "summary of everything before"
    return "put in by the client" if block.kind == "injected" else "in the transcript"
