"""Compactions of a rollout: the history each one leaves, what called for it, and the call that wrote it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from contextviz.events.compaction import Compaction
from contextviz.events.engine_event import EngineEvent
from contextviz.events.message import Block
from contextviz.events.session import Transcript
from contextviz.events.snapshot import ItemState
from contextviz.events.text import TextPool
from contextviz.sources.codex.items import ENCRYPTED, Item, read_item
from contextviz.sources.codex.window import Entry, History, context_items, newest_within
from contextviz.sources.values import as_dict, as_float, as_id, as_list, as_text

# What an old local compaction leaves of the user's messages, in Codex's own count of four bytes a token.
OLD_USER_BUDGET = 20_000
BYTES_PER_TOKEN = 4
NO_PROMPT = "the instruction that asks for the summary is not written in the rollout"
BY_RULE = "the new history is not written; it is rebuilt as first context, recent user messages and summary"
Key = tuple[str, tuple[bytes, ...]]


@dataclass(frozen=True, slots=True)
class _Known:
    entry: str
    index: int
    key: Key


class Compactions:
    """Applies `compacted` lines to a history and keeps the Compaction rows of a transcript."""

    def __init__(self, transcript: Transcript, history: History, pool: TextPool, name: str):
        self.task_has_prompt = False
        self._transcript = transcript
        self._history = history
        self.pool = pool
        self._name = name
        self._by_id: dict[str, _Known] = {}
        self._by_key: dict[Key, _Known] = {}
        self._summary_of: dict[Key, str] = {}
        self._in_task = False
        self._task_calls = 0
        self._of_task: list[Compaction] = []
        self._last_answer: list[int] = []
        # For each row, how many calls there were when it was written.
        self._calls_before: list[int] = []

    def remember(self, item: Item, entry: str, index: int) -> None:
        """Note a message, so that a later history can be tied to it."""
        known = _Known(entry, index, _key(item))
        self._by_id[entry] = known
        self._by_key[known.key] = known

    def saw_answer(self, answer: list[int]) -> None:
        """Note the messages of a call's answer: it may turn out to be the next compaction's summary."""
        self._last_answer = list(answer)

    def task_started(self) -> None:
        """A task begins: what is compacted in it is told apart by what else it holds."""
        self._in_task, self.task_has_prompt = True, False
        self._task_calls, self._of_task = len(self._transcript.calls), []

    def task_complete(self) -> None:
        """A task that only compacted was asked for by a person: no trigger is recorded (formats.md C.5)."""
        calls = self._transcript.calls[self._task_calls :]
        if not self.task_has_prompt and all(call.purpose == "summary" for call in calls):
            for compaction in self._of_task:
                compaction.trigger = "manual"
        self._in_task, self._of_task = False, []

    def item_started(self, number: int, payload: dict[str, Any], at: datetime | None) -> None:
        """Note that a compaction began, where the client writes that: most versions write only its end."""
        if as_dict(payload.get("item")).get("type") == "ContextCompaction":
            self._transcript.engine_events.append(
                EngineEvent("compaction.started", "codex", at, self._name, number, data={"strategy": "summary"})
            )

    def item_completed(self, payload: dict[str, Any]) -> None:
        """Take the duration of a compaction from its ContextCompaction item."""
        if as_dict(payload.get("item")).get("type") != "ContextCompaction" or not self._transcript.compactions:
            return
        started, ended = as_float(payload.get("started_at_ms")), as_float(payload.get("completed_at_ms"))
        if started is not None and ended is not None and ended >= started:
            self._transcript.compactions[-1].duration_seconds = (ended - started) / 1000

    def estimated_after(self, tokens: int | None) -> None:
        """Take Codex's own estimate of the context right after a compaction (trap 17)."""
        rows = self._transcript.compactions
        if tokens is None or not rows or self._calls_before[-1] != len(self._transcript.calls):
            return
        if rows[-1].tokens_after is None:
            rows[-1].tokens_after = tokens

    def apply(self, number: int, payload: dict[str, Any], at: datetime | None, *, is_replay: bool) -> None:
        """Replace the history as a `compacted` line says; a replayed one is the parent's and gets no row."""
        rows = self._transcript.compactions
        name = _name_of(payload, number)
        row = Compaction(name, len(rows) + 1, number, self._name, at, "summary")
        if not is_replay:
            self._tie_calls(row, payload)
        message = as_text(payload.get("message")) or ""
        written = payload.get("replacement_history")
        if isinstance(written, list):
            entries = self._written(written, message, row, is_replay=is_replay)
        else:
            row.problem = BY_RULE
            entries = self._by_rule(message, row)
        row.summary = self.pool.put(message) if message else None
        if row.summary is None and row.summary_note is None:
            row.summary_note = "no summary is written in the rollout"
        row.context_items = [entry.name for entry in entries]
        row.first_kept = row.kept[0] if row.kept else None
        self._history.replace(entries)
        if not is_replay:
            row.trigger = "auto" if self._in_task else None
            row.message_index = len(self._transcript.messages)
            rows.append(row)
            self._of_task.append(row)
            self._calls_before.append(len(self._transcript.calls))

    def finish(self) -> None:
        """Tie every compaction to the first turn call after it, now that all purposes are known."""
        calls = self._transcript.calls
        for row, start in zip(self._transcript.compactions, self._calls_before, strict=True):
            row.after_call = next((n for n in range(start, len(calls)) if calls[n].purpose == "turn"), None)

    def _tie_calls(self, row: Compaction, payload: dict[str, Any]) -> None:
        calls = self._transcript.calls
        made_by = self._summary_call(payload)
        if made_by is not None:
            calls[made_by].purpose = "summary"
            row.producer = calls[made_by].model
            self._note_partial(made_by)
        before = next((call for call in reversed(calls) if call.purpose == "turn"), None)
        if before is not None:
            row.before_call = before.index
            row.tokens_before = before.usage.total_tokens

    def _summary_call(self, payload: dict[str, Any]) -> int | None:
        calls = self._transcript.calls
        wanted = as_id(payload.get("compaction_response_id"))
        if wanted is not None:
            return next((call.index for call in reversed(calls) if call.response_id == wanted), None)
        if not calls or (self._calls_before and self._calls_before[-1] == len(calls)):
            return None
        if not self._last_answer:
            return len(calls) - 1
        # Before ids were written: the summary ends with what the last call answered.
        blocks = self._transcript.messages[self._last_answer[-1]].blocks
        answer = self.pool.get(blocks[-1].text) if blocks else ""
        message = as_text(payload.get("message")) or ""
        return len(calls) - 1 if answer and message.endswith(answer) else None

    def _note_partial(self, call: int) -> None:
        snapshots = self._transcript.log.snapshots
        for number in range(len(snapshots) - 1, -1, -1):
            if snapshots[number].call_index == call:
                snapshots[number] = replace(snapshots[number], basis="partial", note=NO_PROMPT)
                return

    def _written(self, items: list[Any], message: str, row: Compaction, *, is_replay: bool) -> list[Entry]:
        entries: list[Entry] = []
        for position, payload in enumerate(as_list(items)):
            item = read_item(as_dict(payload), self.pool)
            if item is None:
                continue
            entry, is_kept = self._entry(item, message, row, position, is_replay=is_replay)
            entries.append(entry)
            if is_kept:
                row.kept.append(entry.id)
        return entries

    def _entry(
        self, item: Item, message: str, row: Compaction, position: int, *, is_replay: bool
    ) -> tuple[Entry, bool]:
        summary_of = self._whose_summary(item, message, row)
        if summary_of is not None:
            return self._summary_entry(item, row, summary_of, position), False
        key = _key(item)
        known = self._by_id.get(item.id) if item.id is not None else self._by_key.get(key)
        name = item.id or (known.entry if known else f"line-{row.line}-{position + 1}")
        label = "the parent's compaction" if is_replay else f"compaction {row.number}"
        state: ItemState = "verbatim"
        reason = f"put back by the client after {label}"
        if known is not None:
            is_same = known.key == key
            state = "verbatim" if is_same else "truncated"
            reason = f"kept verbatim by {label}" if is_same else f"cut by {label}"
        made = context_items(item, name, known.index if known else None, reason=reason, state=state)
        injected = all(block.kind == "injected" for block in item.blocks)
        positions = tuple(map(self._history.table.intern, made))
        return Entry(name, positions, known.index if known else None, item.is_human, injected), known is not None

    def _whose_summary(self, item: Item, message: str, row: Compaction) -> str | None:
        """The compaction whose summary `item` is, None where it is something else."""
        key = _key(item)
        if key in self._summary_of and not item.is_opaque:
            return self._summary_of[key]
        if any(block.kind == "summary" for block in item.blocks):
            return row.id
        if item.role == "user" and message and any(self.pool.get(block.text) == message for block in item.blocks):
            return row.id
        return None

    def _summary_entry(self, item: Item, row: Compaction, summary_of: str, position: int) -> Entry:
        self._summary_of[_key(item)] = summary_of
        as_summary = replace(item, blocks=tuple(replace(block, kind="summary") for block in item.blocks))
        reason = f"summary by compaction {self._number_of(summary_of, row)}"
        if item.is_opaque:
            reason = f"{reason}, {ENCRYPTED}"
            row.summary_note = ENCRYPTED
        name = item.id or f"line-{row.line}-{position + 1}"
        made = context_items(as_summary, name, None, reason=reason, state="summary")
        return Entry(name, tuple(map(self._history.table.intern, made)), summary_of=summary_of)

    def _number_of(self, name: str, row: Compaction) -> int:
        found = next((known.number for known in reversed(self._transcript.compactions) if known.id == name), None)
        return row.number if found is None else found

    def _by_rule(self, message: str, row: Compaction) -> list[Entry]:
        """The history that a local compaction of an old version left: it writes the summary alone."""
        before = self._history.entries
        first_turn = next((number for number, entry in enumerate(before) if entry.is_turn), len(before))
        entries = [entry for entry in before[:first_turn] if entry.is_injected]
        turns = [entry for entry in before if entry.is_turn]
        kept = self._recent(turns, row)
        row.kept = [entry.id for entry in kept]
        entries.extend(kept)
        if message:
            text = Block("summary", self.pool.put(message))
            item = Item(None, "message", "user", "user", (text,))
            entries.append(self._summary_entry(item, row, row.id or "", len(entries)))
        return entries

    def _recent(self, turns: list[Entry], row: Compaction) -> list[Entry]:
        table = self._history.table
        sizes = [
            sum(-(-table.items[position].text.size // BYTES_PER_TOKEN) for position in entry.positions)
            for entry in turns
        ]
        if not turns:
            return []
        start, left = newest_within(sizes, OLD_USER_BUDGET)
        kept = turns[start:]
        if left >= sizes[start]:
            return kept
        cut = []
        for position in kept[0].positions:
            item = table.items[position]
            text = self.pool.get(item.text).encode("utf-8")[: left * BYTES_PER_TOKEN].decode("utf-8", errors="ignore")
            left = max(0, left - -(-len(text) // BYTES_PER_TOKEN))
            reason = f"cut by compaction {row.number}"
            made = replace(item, text=self.pool.put(text), state="truncated", basis="derived", reason=reason)
            cut.append(table.intern(made))
        return [replace(kept[0], positions=tuple(cut)), *kept[1:]]


def _name_of(payload: dict[str, Any], number: int) -> str:
    window = payload.get("window_id")
    return as_id(window) or (f"window-{window}" if isinstance(window, int) else f"line-{number}")


def _key(item: Item) -> Key:
    return item.role, tuple(block.text.digest for block in item.blocks)
