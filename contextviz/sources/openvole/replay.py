"""A task of the log over the transcript's lines: its calls, its windows, its compactions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from contextviz.events.compaction import Compaction, CompactionKind
from contextviz.events.engine_event import EngineEvent, Scalar
from contextviz.events.message import Message
from contextviz.events.snapshot import ContextItem
from contextviz.events.usage import TokenUsage
from contextviz.sources.openvole.compact import Part, history, shrunk, summary_of
from contextviz.sources.openvole.log import LogEvent, Task
from contextviz.sources.plain.content import arguments_of, dumps
from contextviz.sources.plain.draft import Draft

CUT_IN_FILE = "only its beginning is in the transcript"
BY_RULE = "by the log and the client's rules; the system prompt and the ends of long tool results are not written"


class TaskReplay:
    """Plays the events of one task. `segment` are the transcript's lines from the task's user line on."""

    def __init__(self, draft: Draft, before: Sequence[Message], segment: Sequence[Message], log_name: str):
        self._draft = draft
        self._log = log_name
        self._parts: list[Part] = []
        self._results = [message for message in segment if message.role == "tool"]
        self._answers = [message for message in segment if message.role == "assistant"]
        self._history = history([self._part(message) for message in before])
        self._said: int | None = None
        self._before: LogEvent | None = None
        self._trigger: str | None = None
        self._hooks: list[LogEvent] = []
        self._trims: list[LogEvent] = []
        self._window: int | None = None
        if segment and segment[0].role == "user":
            self._parts.append(self._part(segment[0]))

    def play(self, task: Task) -> None:
        """Add the calls and compactions of `task` to the draft."""
        last = next((event for event in reversed(task.events) if event.kind == "call"), None)
        for event in task.events:
            if event.kind == "budget":
                self._before, self._trigger = event, None
                self._hooks.clear()
                self._trims.clear()
            elif event.kind == "trigger":
                self._trigger = event.text
            elif event.kind == "hook":
                self._hooks.append(event)
            elif event.kind == "trim":
                self._trims.append(event)
            elif event.kind == "final":
                self._evaluated(event)
            elif event.kind == "think":
                self._said = event.numbers[0]
            elif event.kind == "tool":
                self._tool(event)
            else:
                self._call(event, is_last=event is last)

    def _part(self, message: Message) -> Part:
        text = self._draft.pool.get(message.blocks[0].text) if message.blocks else ""
        is_cut = message.role == "tool" and len(text) >= 300 and text.endswith("...")
        name = message.blocks[0].tool_name if message.blocks else None
        kind = {"user": "user", "tool": "result"}.get(message.role, "brain")
        return Part(kind, text, message, name, is_cut=is_cut)  # type: ignore[arg-type]

    def _tool(self, event: LogEvent) -> None:
        arguments = arguments_of(event.text or "")
        self._parts.append(Part("call", f"Calling tools: {event.name}({event.text})", None, event.name, arguments))
        place = next(
            (n for n, one in enumerate(self._results) if one.blocks and one.blocks[0].tool_name == event.name), None
        )
        if place is not None:
            self._parts.append(self._part(self._results.pop(place)))

    def _evaluated(self, final: LogEvent) -> None:
        """One evaluation of the budget: its events are between the line before it and the final one."""
        self._window = final.numbers[1]
        before = self._before.numbers[0] if self._before else None
        is_trigger = self._trigger is not None or bool(self._hooks)
        self._told(final, before, is_trigger=is_trigger)
        first, last = (self._hooks[0], self._hooks[-1]) if self._hooks else (None, None)
        if is_trigger:
            if first is not None and last is not None and last.numbers[1] < first.numbers[0]:
                self._compacted("summary", first, before, final, kept=max(0, last.numbers[1] - 2))
            elif before is not None and final.numbers[0] < before and not self._trims:
                self._compacted("microcompact", last or final, before, final, kept=None)
            elif not self._trims:
                counters = self._draft.session.counters
                counters["compactions_without_effect"] = counters.get("compactions_without_effect", 0) + 1
        for trim in self._trims:
            self._compacted("trim", trim, before, final, kept=None)
        self._before, self._trigger = None, None
        self._hooks.clear()
        self._trims.clear()

    def _told(self, final: LogEvent, before: int | None, *, is_trigger: bool) -> None:
        """The evaluation and the window after it, as events: those too after which nothing was compacted."""
        events, window = self._draft.transcript.engine_events, final.numbers[1]
        if self._before is not None:
            trigger = {"share": "ratio", "messages": "message-count"}.get(self._trigger or "", "none")
            data: dict[str, Scalar] = {"current": before, "budget": window, "should": is_trigger, "trigger": trigger}
            at, line = self._before.at, self._before.line
            events.append(EngineEvent("compaction.evaluated", "openvole", at, self._log, line, "log", "exact", data))
        shown: dict[str, Scalar] = {"total": final.numbers[0], "budget": window, "overBudget": final.text == "OVER"}
        events.append(
            EngineEvent("context.assembled", "openvole", final.at, self._log, final.line, "log", "exact", shown)
        )

    def _compacted(
        self, kind: CompactionKind, event: LogEvent, before: int | None, final: LogEvent, *, kept: int | None
    ) -> None:
        number = len(self._draft.transcript.compactions) + 1
        name = f"compaction-{number}"
        summary = None
        if kind == "summary" and kept is not None:
            summary = self._fold(kept, name)
        elif kind == "microcompact":
            self._shrink()
        compaction = Compaction(
            name, number, event.line, self._log, event.at, kind, trigger="auto", tokens_before=before,
            tokens_after=final.numbers[0], summary=None if summary is None else self._draft.pool.put(summary),
            producer=event.name or "openvole",
            summary_note=None if summary is None else "rebuilt by the client's rule; sizes of cut results are missing",
        )  # fmt: skip
        compaction.kept = [part.message.id for part in self._parts if part.message and part.message.id]
        compaction.context_items = [name_of(part) for part in self._parts if part.message or part.compaction]
        self._draft.compaction(compaction)

    def _fold(self, kept: int, name: str) -> str | None:
        self._shrink()
        if len(self._parts) < kept + 2:
            return None
        end = len(self._parts) - kept
        text = summary_of(self._parts[1:end])
        self._parts[1:end] = [Part("summary", text, compaction=name)]
        return text

    def _shrink(self) -> None:
        self._parts = [shrunk(part) for part in self._parts]

    def _call(self, event: LogEvent, *, is_last: bool) -> None:
        given, made = event.numbers
        usage = TokenUsage(input_tokens=given, output_tokens=made, cost_usd=event.cost)
        message = self._answers.pop(0) if is_last and self._answers else None
        call = self._draft.call(
            usage, at=event.at, model=event.text, message=message, line=event.line, window=self._window
        )
        if call is None:
            return
        call.id = f"call-{call.index + 1}"
        note = BY_RULE
        if self._said is not None and self._said != len(self._parts):
            note = f"{BY_RULE}; the log says {self._said} messages, here are {len(self._parts)}"
        self._draft.restart([self._position(part) for part in (*self._history, *self._parts)], [])
        self._draft.snapshot(call, basis="partial", note=note)
        self._parts = [replace(part, is_seen=True) for part in self._parts]
        self._said = None

    def _position(self, part: Part) -> int:
        pool, table, message = self._draft.pool, self._draft.transcript.log.table, part.message
        entry, index = (None, None) if message is None else (message.id, message.index)
        if part.kind == "call":
            text = pool.put(dumps({"name": part.name or "", "arguments": part.arguments}))
            item = ContextItem("assistant", "tool_call", text, reason="by the log", basis="derived",
                               tool_name=part.name)  # fmt: skip
        elif part.kind == "summary":
            item = ContextItem("assistant", "summary", pool.put(part.text), part.compaction, state="summary",
                               reason=f"summary by {part.compaction}", basis="derived")  # fmt: skip
        elif part.kind == "result":
            is_short = part.is_cut or part.is_shrunk
            reason = "shrunk by the client" if part.is_shrunk else CUT_IN_FILE if part.is_cut else "in the transcript"
            item = ContextItem("tool", "tool_result", pool.put(part.text), entry, index,
                               "truncated" if is_short else "verbatim", reason,
                               "derived" if part.is_shrunk else "recorded", tool_name=part.name)  # fmt: skip
        else:
            role = "user" if part.kind == "user" else "assistant"
            item = ContextItem(role, "text", pool.put(part.text), entry, index)  # type: ignore[arg-type]
        return table.intern(item)


def name_of(part: Part) -> str:
    """How context lists name a part: an entry id, or the summary of a compaction."""
    return f"summary {part.compaction}" if part.compaction else (part.message.id or "" if part.message else "")
