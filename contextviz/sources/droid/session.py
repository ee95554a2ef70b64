"""One session's rows into a draft, in the order of the file, which is the order Droid reads them in."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from contextviz.events.compaction import Compaction
from contextviz.events.message import Message, Role
from contextviz.events.snapshot import ContextItem, SnapshotBasis
from contextviz.sources.droid.rows import QUIET, USER_ONLY, blocks_of_message, is_hook
from contextviz.sources.lines import Record
from contextviz.sources.plain.content import named
from contextviz.sources.plain.draft import Draft
from contextviz.sources.plain.growing import title_of
from contextviz.sources.plain.usage import anthropic_usage
from contextviz.sources.values import as_dict, as_id, as_int, as_text

Json = dict[str, Any]
# The client's own words around a summary (seen in the request of a session that was compacted, 0.226).
_BEFORE = "A previous instance of Droid has summarized the conversation thus far as follows:\n\n<summary>\n"
_BEHIND = (
    "\n</summary>\n\nIMPORTANT: This summary was created by a previous instance of Droid. Files referenced in the "
    "summary may not be available until you explicitly view them again."
)
# A hostile file may compact at every row: whole windows are named for the first compactions only.
MOST_NAMED = 200
UNKNOWN_ANCHOR = "the message up to which it summarised is not in the file, so nothing is taken as kept"


@dataclass(frozen=True, slots=True)
class _Entry:
    """A message in the window: the number of its row, and where its items begin."""

    name: str
    row: int
    start: int
    is_result: bool


@dataclass(frozen=True, slots=True)
class Answer:
    """The last answer of a session, with the window before it: the first `upto` of `items`."""

    message: Message
    items: list[int]
    upto: int


class SessionRows:
    """The script (plain.growing) of one session; of a sub-agent where `agent` is given."""

    def __init__(self, draft: Draft, agent: str | None = None) -> None:
        self.draft = draft
        self.last: Answer | None = None
        self.basis: SnapshotBasis = "rules"
        self._agent = agent
        self._has_start = False
        self._items: list[int] = []
        self._entries: list[_Entry] = []
        # What `start` of an entry is less by than its place in the items; the name of what stands before the entries.
        self._shift = 0
        self._head: str | None = None
        self._tools: dict[str, str] = {}
        self._by_response: dict[str, int] = {}
        # Message rows by id: a compaction's anchor is named so, or by the row's number.
        self._rows: dict[str, int] = {}
        self._count = 0

    def feed(self, record: Record) -> str | None:
        """See Script.feed."""
        value = record.value
        kind = as_text(value.get("type")) or "no type"
        at = self.draft.time(value.get("timestamp"), f"line {record.line}", line=record.line)
        if kind == "session_start":
            self._start(value)
        elif kind == "message":
            self._message(value, at, record.line)
        elif kind == "compaction_state":
            self._compacted(value, at, record.line)
        elif kind == "agent_turn_outcome":
            self.draft.transcript.failed_calls += value.get("reason") == "error"
        elif kind not in QUIET:
            return kind
        return None

    def end(self) -> None:
        """See Script.end."""
        if self._agent is None:
            self.draft.transcript.context_at_end = self._names()

    def _start(self, value: Json) -> None:
        if self._has_start or self._agent is not None:
            return
        self._has_start = True
        session = self.draft.session
        session.id = as_id(value.get("id")) or session.id
        session.cwd = as_text(value.get("cwd"))
        session.title = title_of(as_text(value.get("sessionTitle")) or as_text(value.get("title")) or "")
        version = as_int(value.get("version"))
        session.format_version = None if version is None else str(version)
        session.forked_from = as_id(value.get("parent"))
        session.parent = as_id(value.get("callingSessionId"))

    def _message(self, value: Json, at: datetime | None, line: int) -> None:
        message, name = as_dict(value.get("message")), as_id(value.get("id"))
        if is_hook(message):
            counters = self.draft.session.counters
            counters["hooks"] = counters.get("hooks", 0) + 1
            return
        word = as_text(message.get("role")) or "no role"
        blocks = named(blocks_of_message(message, self.draft.pool), self._tools)
        is_result = bool(blocks) and all(block.kind in ("tool_result", "image") for block in blocks)
        is_result = is_result and any(block.kind == "tool_result" for block in blocks)
        role: Role = "assistant" if word == "assistant" else "tool" if is_result else "user"
        role = "system" if word not in ("user", "assistant", "tool") else role
        is_typed = any(block.kind in ("text", "image") for block in blocks) and not message.get("userMessageSource")
        free = name if name not in self.draft.transcript.entry_times else None
        made = self.draft.message(
            role, word, blocks, id=free, at=at, line=line, agent=self._agent, model=as_text(message.get("modelId")),
            parent=as_id(value.get("parentId")), is_human=role == "user" and is_typed and self._agent is None
            and self.draft.session.parent is None,
        )  # fmt: skip
        row, self._count = self._count, self._count + 1
        if name is not None:
            self._rows.setdefault(name, row)
        if role == "assistant":
            self.last = Answer(made, self._items, len(self._items))
            if self._agent is None:
                self.draft.session.model = made.model or self.draft.session.model
            self._usage(message, made, at, line)
        if message.get("visibility") != USER_ONLY and role != "system":
            self._put(made, row, is_result=is_result)

    def _usage(self, message: Json, made: Message, at: datetime | None, line: int) -> None:
        """Usage in the row itself (no version that was seen writes it); rows of one response share it."""
        usage, response = anthropic_usage(as_dict(message.get("usage"))), as_id(message.get("id"))
        known = self._by_response.get(response or "")
        if known is not None:
            made.call_index = known
            return
        call = self.draft.call(
            usage, response_id=response, at=at, model=made.model, agent=self._agent, message=made, line=line
        )
        if call is not None:
            self._by_response[response or f"line {line}"] = call.index
            self.draft.transcript.log.add(call.index, list(self._items), basis=self.basis, agent=self._agent)

    def _put(self, message: Message, row: int, *, is_result: bool) -> None:
        self._entries.append(_Entry(message.id or "", row, len(self._items) - self._shift, is_result))
        self._items.extend(self.draft.items(message, without_thinking=True))

    def _names(self) -> list[str]:
        return [*([self._head] if self._head else ()), *(one.name for one in self._entries)]

    def _compacted(self, value: Json, at: datetime | None, line: int) -> None:
        """The window is the summary, the environment as it was told then, and the messages after the anchor."""
        draft = self.draft
        name = as_id(value.get("id")) or f"line-{line}"
        summary = as_text(value.get("summaryText")) or ""
        is_written = value.get("summaryKind") in (None, "", "llm_summary")
        number = len(draft.transcript.compactions) + 1
        compaction = Compaction(
            name, number, line, draft.file, at, "summary", agent=self._agent,
            summary=draft.pool.put(summary) if summary else None,
        )  # fmt: skip
        kept, problem = self._kept(as_dict(value.get("anchorMessage")))
        compaction.problem = problem
        text = f"{_BEFORE}{summary}{_BEHIND}" if is_written else summary
        table = draft.transcript.log.table
        given = ContextItem("user", "summary", draft.pool.put(text), name, None, "summary",
                            "summary of everything before", "derived")  # fmt: skip
        items = [table.intern(given)]
        told = as_text(value.get("systemInfoText"))
        if told:
            more = ContextItem("user", "injected", draft.pool.put(told), name, None, "injected", "put in by the client")
            items.append(table.intern(more))
        start = kept[0].start + self._shift if kept else len(self._items)
        self._shift += len(items) - start
        self._items = items + self._items[start:]
        self._entries, self._head = kept, f"summary {name}"
        compaction.first_kept = kept[0].name if kept else None
        if number <= MOST_NAMED:
            compaction.kept, compaction.context_items = [one.name for one in kept], self._names()
        removed = as_int(value.get("removedCount"))
        if removed is not None:
            draft.session.counters["removed_messages"] = draft.session.counters.get("removed_messages", 0) + removed
        draft.compaction(compaction, is_here=True)

    def _kept(self, anchor: Json) -> tuple[list[_Entry], str | None]:
        """The entries after the anchor, without tool results whose calls were summarised. Without an anchor the
        session began with the summary, and what is in it stays."""
        place = 0
        if anchor:
            wanted, index = as_id(anchor.get("id")), as_int(anchor.get("index"))
            row = self._rows.get(wanted or "", index if index is not None and index < self._count else None)
            if row is None:
                return [], UNKNOWN_ANCHOR
            place = bisect_right(self._entries, row, key=lambda one: one.row)
        while place < len(self._entries) and self._entries[place].is_result:
            place += 1
        return self._entries[place:], None
