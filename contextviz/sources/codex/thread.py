"""One rollout, line by line, into a Transcript."""

from __future__ import annotations

import json
import re
from collections import Counter
from dataclasses import replace
from datetime import datetime
from typing import Any

from contextviz.events.message import Message, ToolPair
from contextviz.events.session import Session, Transcript
from contextviz.events.snapshot import ContextItem
from contextviz.events.times import instant
from contextviz.sources.codex import records as kinds
from contextviz.sources.codex.calls import Calls
from contextviz.sources.codex.compacted import Compactions
from contextviz.sources.codex.fork import ReplayCut, relations
from contextviz.sources.codex.items import UNSENT, Item, plain_text, read_item
from contextviz.sources.codex.notes import Notes
from contextviz.sources.codex.records import FORMAT, Line
from contextviz.sources.codex.window import Entry, History, context_items
from contextviz.sources.source import ReadOptions
from contextviz.sources.values import as_dict, as_id, as_int, as_list, as_text

TITLE_CHARS = 120
MOST_TOOLS = 1000
_CWD = re.compile(r"<cwd>([^<]{1,4096})</cwd>")


class Thread:
    """Builds the transcript of one rollout. Feed it every line in order, then take `finish()`."""

    def __init__(self, name: str, options: ReadOptions, fallback_id: str, *, counted: set[str]):
        self.name = name
        self.options = options
        self.transcript = Transcript(Session(fallback_id, FORMAT), files=[name])
        self.session = self.transcript.session
        self.notes = Notes(self.transcript, name, options.now)
        self.history = History(self.transcript.log.table)
        self.compactions = Compactions(self.transcript, self.history, options.pool, name)
        self.calls = Calls(self.transcript, self.history, self.compactions, counted, options.with_snapshots)
        self.cut: ReplayCut | None = None
        self.has_meta = False
        self._pending: dict[str, list[int]] = {}
        self._instructions: str | None = None
        self._base: list[ContextItem] = []
        self._tools: list[ContextItem] = []
        self._unknown_items: Counter[str] = Counter()

    def feed(self, number: int, line: Line) -> str | None:
        """Take one line; returns the type's name where it is not known, None where it was understood."""
        at = self.notes.time(line.timestamp, number)
        is_replay = self.cut is not None and self.cut.is_replay(number, line, at)
        if line.kind == kinds.META:
            if not self.has_meta:
                self._meta(line.payload, at)
        elif line.kind == kinds.ITEM:
            return self._item(number, line.payload, at, is_replay=is_replay)
        elif line.kind == kinds.EVENT:
            self._event(number, line.payload, at, is_replay=is_replay)
        elif line.kind == kinds.USAGE:
            self.calls.usage_record(number, line.payload, at, is_replay=is_replay)
        elif line.kind == kinds.TURN:
            self._turn(line.payload)
        elif line.kind == kinds.COMPACTED:
            self.calls.drop_answer()
            self.compactions.apply(number, line.payload, at, is_replay=is_replay)
        elif line.kind not in kinds.QUIET:
            return line.kind
        return None

    def go_on(self, options: ReadOptions) -> None:
        """Take more lines after `finish`, in another reading."""
        self.options = options
        self.notes.now = options.now
        self.compactions.pool = options.pool

    def finish(self) -> Transcript:
        """The transcript with what only the end of the file tells; feeding more lines does not change it."""
        known = len(self.transcript.problems)
        self._end()
        whole = self.transcript
        found = replace(
            whole, session=replace(whole.session, hints=dict(whole.session.hints)), files=list(whole.files),
            messages=list(whole.messages),
            calls=list(whole.calls), pairs=list(whole.pairs), orphan_results=list(whole.orphan_results),
            compactions=list(whole.compactions), log=whole.log.copy(), problems=list(whole.problems),
        )  # fmt: skip
        del whole.problems[known:]
        return found

    def _end(self) -> None:
        transcript, session, meter = self.transcript, self.session, self.calls.meter
        transcript.context_at_end = self.history.names()
        session.model, session.window = self.calls.model, self.calls.window
        session.window_basis = None if self.calls.window is None else "reported"
        if self.cut is not None and self.cut.is_fork:
            session.replayed_lines = self.cut.lines
            session.first_own_line = self.cut.first_own_line
        session.counters = {
            "token_count_events": meter.token_count_events,
            "null_info_events": meter.null_info_events,
            "token_usage_records": meter.records,
        }
        self.compactions.finish()
        if meter.gap:
            text = f"the running totals hold {meter.gap} tokens more than the calls that are written down"
            self.notes.problem("count_mismatch", text, "info", value=meter.gap)
        for kind, count in self._unknown_items.items():
            text = f"{count} item(s) of type {kind} are kept as lines but not understood, so no window shows them"
            self.notes.problem("unknown_type", text, "info", value=kind)

    def _meta(self, payload: dict[str, Any], at: datetime | None) -> None:
        self.has_meta = True
        session = self.session
        session.id = as_id(payload.get("id")) or session.id
        session.parent, session.forked_from = relations(payload)
        session.cwd = as_text(payload.get("cwd"))
        session.format_version = as_text(payload.get("cli_version"))
        session.agent = _agent_name(payload)
        started = instant(payload.get("timestamp")) or at
        self.cut = ReplayCut(session.id, session.forked_from is not None, instant(payload.get("timestamp")))
        if started is not None and not self.notes.is_odd(started):
            session.started_at = started
        base = payload.get("base_instructions")
        if isinstance(base, dict) and as_text(base.get("text")):
            self._set_base(base["text"], is_developer=True)
        elif isinstance(base, str) and base:
            self._set_base(base, is_developer=True)
        else:
            self._instructions = as_text(payload.get("instructions"))
            if self._instructions:
                self._set_base(self._instructions, is_developer=False)
        self._set_tools(payload.get("dynamic_tools"))

    def _set_tools(self, written: Any) -> None:
        """The tools that whoever started the thread gave it; Codex's own are not written (formats document, C.3)."""
        tools = as_list(as_dict(written).get("tools")) if isinstance(written, dict) else as_list(written)
        self._tools = [
            ContextItem(
                role="system",
                kind="tools",
                text=self.options.pool.put(json.dumps(tool, ensure_ascii=False)),
                state="injected",
                reason="a dynamic tool of the session",
                tool_name=as_text(tool.get("name")),
            )
            for tool in tools[:MOST_TOOLS]
            if isinstance(tool, dict)
        ]
        if self._tools:
            self.history.set_base([*self._base, *self._tools])

    def _set_base(self, text: str, *, is_developer: bool) -> None:
        item = ContextItem(
            role="developer" if is_developer else "system",
            kind="system",
            text=self.options.pool.put(text),
            state="injected",
            reason="base instructions of the session",
        )
        self._base = [item]
        self.history.set_base([*self._base, *self._tools])

    def _turn(self, payload: dict[str, Any]) -> None:
        self.calls.model = as_text(payload.get("model")) or self.calls.model
        self.session.cwd = self.session.cwd or as_text(payload.get("cwd"))

    def _item(self, number: int, payload: dict[str, Any], at: datetime | None, *, is_replay: bool) -> str | None:
        kind = as_text(payload.get("type")) or ""
        if kind in UNSENT:
            return None
        item = read_item(payload, self.options.pool)
        if item is None:
            self._unknown_items[kind] += 1
            return f"{kinds.ITEM}/{kind}"
        entry = item.id or f"line-{number}"
        index = self._message(item, entry, number, at)
        self.calls.track(item, index, is_replay=is_replay)
        self._pair(item, entry, index)
        self._user_text(item, payload)
        positions = tuple(self.history.table.intern(made) for made in context_items(item, entry, index))
        injected = all(block.kind == "injected" for block in item.blocks)
        self.history.append(Entry(entry, positions, index, item.is_human, injected))
        self.compactions.remember(item, entry, index)
        return None

    def _message(self, item: Item, entry: str, number: int, at: datetime | None) -> int:
        transcript = self.transcript
        index = len(transcript.messages)
        message = Message(
            index=index,
            id=entry,
            parent_id=None,
            role=item.role,
            native_role=item.native_role,
            blocks=item.blocks,
            at=at,
            line=number,
            file=self.name,
            model=self.calls.model if item.is_model else None,
            is_human=item.is_human,
            entry_ids=(entry,),
        )
        transcript.messages.append(message)
        transcript.entry_times[entry] = at
        self.notes.in_order(at, number, entry)
        return index

    def _pair(self, item: Item, entry: str, index: int) -> None:
        call_id = item.call_id
        pairs = self.transcript.pairs
        if item.awaits_result:
            self._pending.setdefault(call_id or entry, []).append(len(pairs))
            pairs.append(ToolPair(entry, index, 0))
        elif item.is_result:
            waiting = self._pending.get(call_id or "")
            if not waiting:
                self.transcript.orphan_results.append(entry)
                return
            number = waiting.pop(0)
            call = pairs[number]
            pairs[number] = ToolPair(call.call_entry, call.call_message, call.call_block, entry, index, 0)

    def _user_text(self, item: Item, payload: dict[str, Any]) -> None:
        if item.role != "user":
            return
        text = plain_text(payload)
        if item.is_human:
            self.compactions.task_has_prompt = True
            if self.session.title is None and text.strip():
                self.session.title = text.strip().splitlines()[0][:TITLE_CHARS]
            return
        if self.session.cwd is None:
            found = _CWD.search(text[:8192])
            self.session.cwd = found.group(1) if found else None
        if self._instructions and self._instructions.strip() in text:
            # Early versions wrote the user's own instructions here, and sent them as this message.
            self._base = []
            self.history.set_base(self._tools)
            self._instructions = None

    def _event(self, number: int, payload: dict[str, Any], at: datetime | None, *, is_replay: bool) -> None:
        kind = payload.get("type")
        if kind == "token_count":
            self.calls.token_count(number, payload, at, is_replay=is_replay)
        elif kind == "task_started":
            self.calls.window = as_int(payload.get("model_context_window")) or self.calls.window
            self.compactions.task_started()
        elif kind == "task_complete":
            self.compactions.task_complete()
        elif kind == "thread_rolled_back":
            self._roll_back(as_int(payload.get("num_turns")) or 0)
        elif kind in ("error", "turn_aborted"):
            self.transcript.failed_calls += 0 if is_replay else 1
            self.calls.drop_answer()
        elif kind == "item_started" and not is_replay:
            self.compactions.item_started(number, payload, at)
        elif kind == "item_completed":
            self.compactions.item_completed(payload)

    def _roll_back(self, turns: int) -> None:
        self.calls.drop_answer()
        for entry in self.history.roll_back(turns):
            if entry.message_index is None:
                continue
            message = self.transcript.messages[entry.message_index]
            message.on_active_path = False
            if message.call_index is not None:
                self.transcript.calls[message.call_index].on_active_path = False


def _agent_name(meta: dict[str, Any]) -> str | None:
    spawn = as_dict(as_dict(as_dict(meta.get("source")).get("subagent")).get("thread_spawn"))
    for fields in (spawn, meta):
        name = as_id(fields.get("agent_nickname")) or as_id(fields.get("agent_role"))
        if name is not None:
            return name
    return None
