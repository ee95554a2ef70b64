"""A transcript while a plain reader makes it: messages, calls, windows, times and pairs in one place."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from contextviz.events.call import ModelCall, Purpose
from contextviz.events.compaction import Compaction
from contextviz.events.message import Block, Message, Role, ToolPair
from contextviz.events.problem import ReadProblem, Severity
from contextviz.events.session import Session, Transcript
from contextviz.events.snapshot import ContextItem, ItemState, SnapshotBasis
from contextviz.events.times import instant, is_suspicious, oddity
from contextviz.events.usage import TokenUsage
from contextviz.sources.source import ReadOptions

MOST_OF_A_KIND = 50


@dataclass(slots=True)
class Window:
    """What the next call of one agent would be given: item positions, and the entries they come from. `sent` is
    how many leading items the last snapshot holds unchanged; None where the window began anew since."""

    positions: list[int] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    sent: int | None = None


class Draft:
    """Builds one transcript. Messages are shown in the order they are added; windows are kept by agent."""

    def __init__(self, session: Session, file: str, options: ReadOptions):
        self.session = session
        self.file = file
        self.pool = options.pool
        self.transcript = Transcript(session, [file])
        self._options = options
        self._windows: dict[str | None, Window] = {}
        self._counts: dict[str, int] = {}
        self._latest: dict[str | None, datetime] = {}
        self._unknown_parts: set[str] = set()

    @property
    def has_future(self) -> bool:
        """Whether a time cannot be true as seen now: one in the future may be later."""
        return bool(self._counts.get("suspicious_time"))

    def go_on(self, options: ReadOptions) -> None:
        """Take more after `finish`, in another reading."""
        self.pool, self._options = options.pool, options

    def problem(
        self,
        code: str,
        message: str,
        severity: Severity = "warning",
        *,
        line: int | None = None,
        entry: str | None = None,
        value: str | int | None = None,
    ) -> None:
        """Add a finding; of one code at most 50 are listed, and the last line says how many more there are."""
        self._counts[code] = self._counts.get(code, 0) + 1
        if self._counts[code] <= MOST_OF_A_KIND:
            self.transcript.problems.append(ReadProblem(code, message, severity, self.file, line, entry, value))

    def time(self, value: Any, what: str, *, line: int | None = None) -> datetime | None:
        """`value` as an instant; a finding where it is written and cannot be read, or cannot be true."""
        at = instant(value)
        if at is None:
            if value not in (None, ""):
                self.problem("unreadable_time", f"{what} has a time that cannot be read", line=line)
            return None
        odd = oddity(at, now=self._options.now)
        if odd is not None:
            self.problem("suspicious_time", f"{what} lies {odd}", line=line)
            return at
        session = self.session
        session.started_at = at if session.started_at is None else min(session.started_at, at)
        session.ended_at = at if session.ended_at is None else max(session.ended_at, at)
        return at

    def note_surrogates(self, count: int) -> None:
        """Count half emoji that were replaced, and tell of them where there are any."""
        if count:
            self.transcript.lines.lone_surrogates += count
            self.problem("lone_surrogate", f"{count} half emoji replaced by U+FFFD", "info", value=count)

    def unknown(self, kind: str, *, line: int | None = None) -> None:
        """Count a record or part whose type is not known; it is told once a type."""
        types = self.transcript.lines.unknown_types
        if kind not in types:
            self.problem("unknown_type", f"records of the unknown type {kind[:80]}", "info", line=line, value=kind[:80])
        types[kind] = types.get(kind, 0) + 1

    def unknown_part(self, kind: str) -> None:
        """Tell once that parts of a type are not known; they are kept as their JSON."""
        if kind not in self._unknown_parts:
            self._unknown_parts.add(kind)
            self.problem("unknown_type", f"parts of the unknown type {kind[:80]}", "info", value=kind[:80])

    def message(
        self,
        role: Role,
        native_role: str,
        blocks: Iterable[Block],
        *,
        id: str | None = None,
        at: datetime | None = None,
        line: int | None = None,
        agent: str | None = None,
        model: str | None = None,
        parent: str | None = None,
        is_human: bool | None = None,
        on_active_path: bool = True,
    ) -> Message:
        """Add a message; one without an id gets `m<number>` (formats.md trap 37)."""
        messages = self.transcript.messages
        entry = id or f"m{len(messages) + 1}"
        message = Message(
            len(messages), entry, parent, role, native_role, tuple(blocks), at, line, self.file, agent, model,
            on_active_path=on_active_path, is_human=role == "user" if is_human is None else is_human,
            entry_ids=(entry,),
        )  # fmt: skip
        messages.append(message)
        self.transcript.entry_times[entry] = at
        if at is not None and not is_suspicious(at, now=self._options.now):
            latest = self._latest.get(agent)
            if latest is not None and at < latest:
                text = f"{entry} is stamped earlier than a message before it; the order of the file is kept"
                self.problem("out_of_order", text, "info", line=line, entry=entry)
            self._latest[agent] = at if latest is None else max(latest, at)
        return message

    def call(
        self,
        usage: TokenUsage | None,
        *,
        id: str | None = None,
        response_id: str | None = None,
        at: datetime | None = None,
        model: str | None = None,
        agent: str | None = None,
        purpose: Purpose = "turn",
        message: Message | None = None,
        window: int | None = None,
        line: int | None = None,
        on_active_path: bool = True,
    ) -> ModelCall | None:
        """Add a call where `usage` is real (inspect.md: api_calls); None, and nothing added, where it is not."""
        if usage is None or not usage.is_real:
            return None
        calls = self.transcript.calls
        entry = message.id if message is not None else None
        call = ModelCall(
            len(calls), id or response_id or entry, response_id, at, model, usage, agent, purpose, window=window,
            message_index=message.index if message is not None else None, entry=entry, line=line,
            on_active_path=on_active_path,
        )  # fmt: skip
        calls.append(call)
        if message is not None:
            message.call_index = call.index
        self.session.model = model or self.session.model
        return call

    def items(
        self, message: Message, *, blocks: Sequence[Block] | None = None, reason: str = "in the transcript",
        state: ItemState = "verbatim", derived: bool = False, without_thinking: bool = False,
    ) -> list[int]:  # fmt: skip
        """The item positions of a message (of `blocks` instead of its own, where it was sent otherwise)."""
        return [
            self.transcript.log.table.intern(item_of(message, block, reason, state, derived=derived))
            for block in (message.blocks if blocks is None else blocks)
            if not (without_thinking and block.kind == "thinking")
        ]

    def window(self, agent: str | None = None) -> Window:
        """The running window of an agent."""
        return self._windows.setdefault(agent, Window())

    def put(self, message: Message, *, agent: str | None = None, without_thinking: bool = False) -> None:
        """Let a message follow in its agent's window."""
        window = self.window(agent)
        window.positions.extend(self.items(message, without_thinking=without_thinking))
        window.names.append(message.id or "")

    def restart(self, positions: Iterable[int], names: Iterable[str], *, agent: str | None = None) -> None:
        """Begin an agent's window anew (a compaction, a rewind)."""
        self._windows[agent] = Window(list(positions), list(names))

    def snapshot(self, call: ModelCall | None, *, basis: SnapshotBasis = "rules", note: str | None = None) -> None:
        """Record the running window of the call's agent as what that call was given."""
        if call is None:
            return
        window = self.window(call.agent)
        log = self.transcript.log
        if window.sent is None:
            log.add(call.index, window.positions, basis=basis, agent=call.agent, note=note)
        else:
            tail = window.positions[window.sent :]
            log.add_from(call.index, window.sent, tail, basis=basis, agent=call.agent, note=note)
        window.sent = len(window.positions)

    def compaction(self, compaction: Compaction, *, is_here: bool = False) -> None:
        """Add a compaction: its number and the calls around it are filled in here and by `finish`. `is_here` where the
        source writes it between the messages added before and those added after."""
        compaction.number = len(self.transcript.compactions) + 1
        if is_here:
            compaction.message_index = len(self.transcript.messages)
        if compaction.before_call is None:
            own = (
                call.index
                for call in reversed(self.transcript.calls)
                if call.agent == compaction.agent and call.purpose == "turn"
            )
            compaction.before_call = next(own, None)
        self.transcript.compactions.append(compaction)

    def finish(self) -> Transcript:
        """The finished transcript: pairs, calls after compactions, the window at the end."""
        transcript = self.transcript
        transcript.pairs, transcript.orphan_results = paired(transcript.messages)
        to_own_messages(transcript)
        for compaction in transcript.compactions:
            if compaction.after_call is None:
                before = -1 if compaction.before_call is None else compaction.before_call
                compaction.after_call = next(
                    (
                        one.index
                        for one in map(transcript.calls.__getitem__, range(before + 1, len(transcript.calls)))
                        if one.agent == compaction.agent and one.purpose == "turn"
                    ),
                    None,
                )
        if not transcript.context_at_end:
            transcript.context_at_end = list(dict.fromkeys(self.window().names))
        lines = transcript.lines
        half_written = lines.in_progress is not None
        lines.read = max(0, lines.total - lines.blank - len(lines.malformed) - lines.unknown - half_written)
        for code, count in self._counts.items():
            if count > MOST_OF_A_KIND:
                text = f"{count - MOST_OF_A_KIND} more findings of the kind {code} are not listed"
                transcript.problems.append(ReadProblem(code, text, "info", self.file, value=count))
        return transcript


def to_own_messages(transcript: Transcript) -> None:
    """Let every compaction that has a place stand before a message of its own agent's window: those of others, which
    may follow it in the file, are on other pages. Behind the last one it stays where the next will be."""
    if all(one.message_index is None for one in transcript.compactions):
        return
    own: dict[str | None, list[int]] = {}
    for message in transcript.messages:
        own.setdefault(message.agent, []).append(message.index)
    for one in transcript.compactions:
        if one.message_index is not None:
            indexes = own.get(one.agent, [])
            at = bisect_left(indexes, one.message_index)
            one.message_index = indexes[at] if at < len(indexes) else len(transcript.messages)


def item_of(message: Message, block: Block, reason: str, state: ItemState, *, derived: bool = False) -> ContextItem:
    """A message's block as a context item. A tool result inside a user's message is a tool's item."""
    role: Role = "tool" if block.kind == "tool_result" else message.role
    if block.kind == "summary":
        state = "summary"
    elif block.kind == "injected":
        state = "injected"
    return ContextItem(
        role, block.kind, block.text, message.id, message.index, state, reason, "derived" if derived else "recorded",
        block.is_error, block.tool_name, block.tool_call_id, block.media_bytes,
    )  # fmt: skip


def paired(messages: Sequence[Message]) -> tuple[list[ToolPair], list[str]]:
    """Tool calls with their results by position: the latest unanswered call of that id, or the oldest unanswered
    one (of that name) where no id is written; with the entry ids of results that no call wants."""
    open_calls: dict[tuple[str | None, str], list[tuple[int, int]]] = {}
    pairs: dict[tuple[int, int], ToolPair] = {}
    orphans: list[str] = []
    for message in messages:
        seen: dict[tuple[str | None, str], tuple[int, int]] = {}
        for number, block in enumerate(message.blocks):
            key = (message.agent, block.tool_call_id or f"\x00{block.tool_name or ''}")
            if block.kind == "tool_call":
                pairs[message.index, number] = ToolPair(message.id, message.index, number)
                open_calls.setdefault(key, []).append((message.index, number))
            elif block.kind == "tool_result":
                waiting = open_calls.get(key) if key[1] != "\x00" else _nameless(open_calls, message.agent)
                if key in seen and block.tool_call_id:
                    continue  # a further part of one result
                if not waiting:
                    orphans.append(message.id or "")
                    continue
                place = waiting.pop() if block.tool_call_id else waiting.pop(0)
                seen[key] = place
                call = pairs[place]
                pairs[place] = ToolPair(
                    call.call_entry, call.call_message, call.call_block, message.id, message.index, number
                )
    return list(pairs.values()), orphans


def _nameless(
    open_calls: dict[tuple[str | None, str], list[tuple[int, int]]], agent: str | None
) -> list[tuple[int, int]] | None:
    """The list that holds the oldest unanswered call without an id, for a result that has neither id nor name."""
    lists = [one for (owner, name), one in open_calls.items() if owner == agent and name.startswith("\x00") and one]
    return min(lists, key=lambda one: one[0], default=None)
