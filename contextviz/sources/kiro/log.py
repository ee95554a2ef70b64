"""The lines of the CLI's log into a draft, with the window as the client keeps it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from contextviz.events.compaction import Compaction
from contextviz.events.message import Message, Role
from contextviz.events.session import Session
from contextviz.events.snapshot import ContextItem
from contextviz.sources.kiro.kinds import (
    ANSWER,
    CANCELLED,
    CLEARED,
    COMPACTED,
    FORMAT,
    PROMPT,
    RESET,
    RESULTS,
    is_row,
    wrapped,
)
from contextviz.sources.kiro.parts import log_blocks
from contextviz.sources.lines import Record
from contextviz.sources.plain.content import named
from contextviz.sources.plain.draft import Draft
from contextviz.sources.plain.growing import title_of
from contextviz.sources.source import Probe, ReadOptions
from contextviz.sources.values import as_dict, as_id, as_int, as_list, as_text

Json = dict[str, Any]
# A hostile log may compact or go back at every line: windows are named for the first compactions only, and going
# back copies the window, so that it is followed so often.
MOST_NAMED = 200
MOST_RESETS = 100


@dataclass(frozen=True, slots=True)
class Mark:
    """The window before an answer: the first `upto` of `items`."""

    items: list[int]
    upto: int


class KiroLog:
    """The script (plain.growing) of one log."""

    def __init__(self, probe: Probe, name: str, options: ReadOptions) -> None:
        self.draft = Draft(Session(name, FORMAT), probe.name, options)
        self.marks: dict[int, Mark] = {}
        self._items: list[int] = []
        # The window's messages by id, in order, with their items.
        self._entries: dict[str, list[int]] = {}
        self._prompt: Message | None = None
        self._tools: dict[str, str] = {}
        self._resets = 0

    def feed(self, record: Record) -> str | None:
        """See Script.feed."""
        value = record.value
        kind, data = as_text(value.get("kind")) or "no kind", as_dict(value.get("data"))
        if not is_row(value):
            return kind
        if kind in (PROMPT, ANSWER, RESULTS):
            self._message(kind, data, record.line)
        elif kind == COMPACTED:
            self._compacted(data, record.line)
        elif kind == CLEARED:
            self._cleared(record.line)
        elif kind == CANCELLED:
            self._cancelled()
        elif kind == RESET:
            self._back_to(as_int(data.get("target_index")), record.line)
        else:
            return kind
        return None

    def end(self) -> None:
        """See Script.end."""
        self.draft.transcript.context_at_end = list(self._entries)

    def _message(self, kind: str, data: Json, line: int) -> None:
        draft = self.draft
        at = self._time(data, line)
        name = as_id(data.get("message_id"))
        free = name if name not in draft.transcript.entry_times else None
        roles: dict[str, Role] = {PROMPT: "user", ANSWER: "assistant", RESULTS: "tool"}
        role = roles[kind]
        blocks = named(log_blocks(data.get("content"), draft), self._tools)
        made = draft.message(role, role, blocks, id=free, at=at, line=line, is_human=kind == PROMPT)
        if kind == ANSWER:
            self.marks[made.index] = Mark(self._items, len(self._items))
        self._prompt = made if kind == PROMPT else None
        if kind == PROMPT and draft.session.title is None:
            text = next((draft.pool.get(one.text) for one in made.blocks if one.kind == "text"), "")
            draft.session.title = title_of(text)
        items = draft.items(made, without_thinking=True)
        self._items.extend(items)
        self._entries[made.id or ""] = items

    def _time(self, data: Json, line: int) -> datetime | None:
        return self.draft.time(as_dict(data.get("meta")).get("timestamp"), f"line {line}", line=line)

    def _compacted(self, data: Json, line: int) -> None:
        """The window is the summary and the messages that the line says were kept."""
        draft = self.draft
        name, summary = f"line-{line}", as_text(data.get("summary")) or ""
        compaction = Compaction(
            name, 0, line, draft.file, None, "summary", summary=draft.pool.put(summary) if summary else None
        )
        given = ContextItem(
            "user", "summary", draft.pool.put(wrapped(summary)), name, None, "summary",
            "summary of everything before", "derived",
        )  # fmt: skip
        first = draft.transcript.log.table.intern(given)
        wanted = [as_id(as_dict(one).get("id")) or "" for one in as_list(data.get("messages_snapshot"))]
        kept = [one for one in dict.fromkeys(wanted) if one in self._entries]
        lost = sum(one not in self._entries for one in wanted)
        if lost:
            compaction.problem = f"{lost} of the messages that it kept are not in the file"
        entries = {f"summary {name}": [first]} | {one: self._entries[one] for one in kept}
        compaction.first_kept = kept[0] if kept else None
        if len(draft.transcript.compactions) < MOST_NAMED:
            compaction.kept, compaction.context_items = kept, list(entries)
        self._begin(entries)
        draft.compaction(compaction, is_here=True)

    def _begin(self, entries: dict[str, list[int]]) -> None:
        self._entries, self._prompt = entries, None
        self._items = [item for items in entries.values() for item in items]

    def _cleared(self, line: int) -> None:
        self._begin({})
        self.draft.compaction(Compaction(f"line-{line}", 0, line, self.draft.file, None, "clear"), is_here=True)

    def _cancelled(self) -> None:
        """The last prompt was taken back before an answer came; after anything else the line says nothing."""
        prompt, self._prompt = self._prompt, None
        if prompt is None:
            return
        items = self._entries.pop(prompt.id or "", [])
        # In place: no answer followed, so no mark reaches so far.
        del self._items[len(self._items) - len(items) :]
        self._leave(prompt)

    def _leave(self, message: Message) -> None:
        # Another object: what was given out before stays as it was.
        self.draft.transcript.messages[message.index] = replace(message, on_active_path=False)

    def _back_to(self, count: int | None, line: int) -> None:
        """Only the first `count` messages stay; the others are an abandoned branch."""
        self._resets += 1
        names = list(self._entries) if self._resets <= MOST_RESETS else []
        if count is None or self._resets > MOST_RESETS:
            self.draft.problem("lost_reset", "the line goes back, which is not followed", line=line)
        if count is None or not names[count:]:
            return
        gone = set(names[count:])
        self._begin({name: self._entries[name] for name in names[:count]})
        messages = self.draft.transcript.messages
        place = len(messages)
        while gone and place:
            place -= 1
            message = messages[place]
            if message.id in gone:
                self._leave(message)
                gone.discard(message.id)
