"""Records to entries, messages and calls, in file order (formats.md A.2 to A.4)."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Protocol

from contextviz.events.call import ModelCall, Purpose
from contextviz.events.message import Block, Message, Role
from contextviz.events.problem import ReadProblem
from contextviz.events.session import LineCounts
from contextviz.events.text import TextPool
from contextviz.events.times import instant
from contextviz.events.usage import TokenUsage
from contextviz.sources.openclaw import content
from contextviz.sources.openclaw.nodes import Node, Tree
from contextviz.sources.openclaw.prompt import patch_of
from contextviz.sources.openclaw.usage import is_failed, is_internal, usage_of
from contextviz.sources.openclaw.window import Recorded
from contextviz.sources.values import as_dict, as_float, as_id, as_int, as_text, same

Json = dict[str, Any]
KNOWN = frozenset({
    "session", "message", "model_change", "thinking_level_change", "compaction", "reset", "branch_summary",
    "custom", "custom_message", "context_edit", "usage", "label", "session_info", "leaf",
})  # fmt: skip
RUNTIME_CONTEXT = "openclaw.runtime-context"
SENT_ROLES = frozenset({"user", "toolResult", "custom", "hookMessage", "branchSummary", "compactionSummary"})
_ROLES: dict[str, Role] = {"assistant": "assistant", "toolResult": "tool", "system": "system"}


class Listener(Protocol):
    """Who is told what a transcript holds while it is read."""

    def message(self, entry: str, message: Json, said_at: datetime | None) -> None:
        """A message as it is written; `said_at` dates a user's text, where the client does that."""
        ...

    def summary(self, entry: str, record: Json, at: datetime | None) -> None:
        """A compaction's record."""
        ...


@dataclass(slots=True)
class Draft:
    """A transcript while it is read. `seen` are the entries of its family (the session it was forked from, other
    files of the same id) that were counted already: their calls and compactions are not counted again. An entry
    is known by its id and its written time, since ids are short; `keys` are this file's own, where `keeps_keys`.
    `windowless` are calls (by index) whose window no entry tells. `listener` is told its messages and
    compactions, where a log of its requests wants to know them."""

    name: str
    format: str
    pool: TextPool
    seen: frozenset[str] = frozenset()
    counts: LineCounts = field(default_factory=LineCounts)
    problems: list[ReadProblem] = field(default_factory=list)
    header: Json = field(default_factory=dict)
    tree: Tree = field(default_factory=Tree)
    messages: list[Message] = field(default_factory=list)
    calls: list[ModelCall] = field(default_factory=list)
    triggers: dict[str, Json] = field(default_factory=dict)
    failed: int = 0
    entries: int = 0
    title: str | None = None
    model: str | None = None
    replayed: int = 0
    first_own_line: int | None = None
    entry_order: list[str | None] = field(default_factory=list)
    keys: set[str] = field(default_factory=set)
    keeps_keys: bool = False
    windowless: set[int] = field(default_factory=set)
    recorded: Recorded | None = None
    listener: Listener | None = None
    _noted: set[str] = field(default_factory=set)
    _problems_of_lines: int = 0

    @property
    def version(self) -> int:
        """The transcript's version; 1 where the header names none (formats.md A.2)."""
        return as_int(self.header.get("version")) or 1

    def end(self) -> None:
        """All lines are in: what is added to the problems from here on follows from the whole."""
        self._problems_of_lines = len(self.problems)

    def go_on(self, pool: TextPool) -> None:
        """Take more records after `finish`: what followed from the whole is forgotten."""
        self.pool = pool
        del self.problems[self._problems_of_lines :]
        self.tree.unsettle()

    def add(self, record: Json, line: int | None) -> bool:
        """Take one record; False where its type is not known (it stays in the tree all the same)."""
        self.entries += 1
        kind = same(as_text(record.get("type"))) or "(none)"
        if kind == "session":
            self._head(record)
            return True
        entry = same(as_id(record.get("id")))
        self.entry_order.append(entry or f"line-{self.entries}")
        if kind == "leaf":
            self._navigate(record, entry, line)
            return True
        if kind in KNOWN or entry is not None:
            self._place(record, kind, entry or f"line-{self.entries}", line)
        if kind not in KNOWN:
            self.note("unknown_type", f"records of type {kind!r} are not known; kept, not read", line, entry, kind)
        return kind in KNOWN

    def note(
        self,
        code: str,
        message: str,
        line: int | None,
        entry: str | None,
        value: str | int | None,
        *,
        once: bool = True,
    ) -> None:
        """Add an info problem, once for each code and value unless told otherwise."""
        key = f"{code}:{value}"
        if not once or key not in self._noted:
            self._noted.add(key)
            self.problems.append(ReadProblem(code, message, "info", self.name, line, entry, value))

    def _head(self, record: Json) -> None:
        self.entry_order.append(None)
        if not self.header:
            self.header = record
            self.tree.attaches = self.version >= 4

    def _navigate(self, record: Json, entry: str | None, line: int | None) -> None:
        target = record.get("targetId")
        moved = self.tree.move(entry or "", as_id(target)) if target is None or as_id(target) else False
        if not moved:
            self.note(
                "dangling_leaf",
                "a leaf entry points at an entry that is not there; ignored",
                line,
                entry,
                as_id(target),
            )

    def _place(self, record: Json, kind: str, entry: str, line: int | None) -> None:
        if entry in self.tree.by_id:
            self.note(
                "duplicate_entry", f"entry {entry} is written more than once; the first is kept", line, entry, entry
            )
            return
        node = Node(len(self.tree.nodes), entry, kind, line, self._time(record, line, entry))
        if (self.keeps_keys or self.seen) and as_id(record.get("id")) is not None:
            key = f"{entry} {record.get('timestamp')}"
            node.is_copied = key in self.seen
            if self.keeps_keys:
                self.keys.add(key)
        if node.is_copied:
            self.replayed += 1
        elif self.first_own_line is None:
            self.first_own_line = line
        has_parent = "parentId" in record and as_id(record.get("id")) is not None
        is_side = record.get("appendMode") == "side"
        self.tree.add(node, as_id(record.get("parentId")), has_parent=has_parent, is_side=is_side)
        self._read(node, record)

    def _time(self, record: Json, line: int | None, entry: str) -> datetime | None:
        written = record.get("timestamp")
        inner = as_dict(record.get("message")).get("timestamp")
        at = instant(written)
        if at is None and written is not None:
            shown = as_text(written) or str(written)
            self.note("unreadable_time", f"the time of entry {entry} cannot be read: {shown[:80]}", line, entry,
                      shown[:80], once=False)  # fmt: skip
        return at or instant(inner)

    def _read(self, node: Node, record: Json) -> None:
        kind = node.kind
        if kind == "message":
            self._message(node, as_dict(record.get("message")), record)
        elif kind in ("compaction", "reset"):
            self._boundary(node, record)
        elif kind == "branch_summary":
            self._summary(node, record, "branch_summary")
        elif kind == "custom_message":
            node.blocks = content.blocks_of(record.get("content"), self.pool, kind="injected")
            node.role = as_text(record.get("customType")) or "custom"
            node.is_sent = node.is_listed = node.role != RUNTIME_CONTEXT
        elif kind == "context_edit":
            self.tree.has_edits = True
            node.target = as_id(record.get("targetId"))
            node.blocks = content.blocks_of(record.get("replacement"), self.pool)
        elif kind == "usage":
            self._other_usage(node, record)
        elif kind == "session_info":
            self.title = as_id(record.get("name")) or self.title
        elif kind == "model_change":
            self.model = as_id(record.get("modelId")) or as_id(record.get("model")) or self.model

    def _message(self, node: Node, message: Json, record: Json) -> None:
        role = same(as_text(message.get("role"))) or "unknown"
        index = len(self.messages)
        node.role, node.message, node.said_at = role, index, instant(message.get("timestamp"))
        if self.listener is not None:
            self.listener.message(node.id, message, (node.said_at or node.at) if self.version >= 4 else None)
        if role == "assistant":
            self._answer(node, message)
        elif role == "system":
            node.prompt = patch_of(message, self.pool)
            self.tree.has_prompts = True
        node.is_listed = node.is_listed or role in SENT_ROLES
        if role == "bashExecution" and message.get("excludeFromContext") is not True:
            node.is_listed = True
        node.is_sent = node.is_sent or (node.is_listed and role != "assistant")
        self.messages.append(
            Message(
                index=index, id=node.id, parent_id=same(as_id(record.get("parentId"))),
                role=_ROLES.get(role, "user"), native_role=role, blocks=self._blocks(role, message, node), at=node.at,
                line=node.line, file=self.name, model=same(as_id(message.get("model"))), call_index=node.call,
                is_human=role == "user" and content.is_human(message, message.get("content")),
            )
        )  # fmt: skip

    def _blocks(self, role: str, message: Json, node: Node) -> tuple[Block, ...]:
        if role == "toolResult":
            if "usage" in message:
                self._nested_usage(node, message)
            return content.result_blocks(message, self.pool)
        if role == "bashExecution":
            return (Block("text", self.pool.put(content.shell_text(message))),)
        if role in ("branchSummary", "compactionSummary"):
            node.summary = self.pool.put(as_text(message.get("summary")) or "")
            return (Block("summary", node.summary),)
        if role == "system":
            return self._prompt_blocks(node)
        is_added = role in ("custom", "hookMessage")
        return content.blocks_of(message.get("content"), self.pool, kind="injected" if is_added else "text")

    @staticmethod
    def _prompt_blocks(node: Node) -> tuple[Block, ...]:
        if node.prompt is None:
            return ()
        texts = [node.prompt.content, *(ref for _, ref in node.prompt.sections)]
        tools = [Block("tools", ref, tool_name=name) for name, ref in node.prompt.added]
        return (*(Block("system", ref) for ref in texts if ref is not None), *tools)

    def _answer(self, node: Node, message: Json) -> None:
        if is_internal(message):
            node.is_mirror = True
            return
        node.is_listed = True
        usage = usage_of(message.get("usage"))
        if is_failed(message):
            self.failed += not node.is_copied
            if usage.is_real and not node.is_copied:
                self.note("failed_usage", f"a failed answer reports {usage.total_tokens} tokens; not counted as a call",
                          node.line, node.id, usage.total_tokens, once=False)  # fmt: skip
            return
        node.is_sent = True
        if not usage.is_real:
            self.note("no_usage", "answers without usage (all zero or absent) are not counted as calls",
                      node.line, node.id, None)  # fmt: skip
        elif not node.is_copied:
            self._context_said(node, message, usage)
            self._call(node, usage, "turn", message)
            self.model = as_id(message.get("model")) or self.model

    def _context_said(self, node: Node, message: Json, usage: TokenUsage) -> None:
        """Where the client measured the context itself and it is not the prompt that was billed (formats document,
        A.4), both numbers are told; the billed one stays the call's prompt."""
        said = as_dict(as_dict(message.get("usage")).get("contextUsage"))
        measured = as_int(said.get("promptTokens")) if said.get("state") == "available" else None
        if measured is not None and measured != usage.prompt_tokens:
            text = f"the client says the context held {measured} tokens, the usage {usage.prompt_tokens}"
            self.note("context_usage", text, node.line, node.id, measured, once=False)

    def _call(self, node: Node, usage: TokenUsage, purpose: Purpose, said: Json, *, has_window: bool = True) -> None:
        call = ModelCall(
            index=len(self.calls), id=node.id, response_id=as_id(said.get("responseId")), at=node.at,
            model=same(as_id(said.get("model"))) or self.model, usage=usage, purpose=purpose,
            message_index=node.message if has_window else None, entry=node.id, line=node.line,
            on_active_path=has_window,
        )  # fmt: skip
        if not has_window:
            self.windowless.add(call.index)
        elif purpose == "turn":
            node.call = call.index
        self.calls.append(call)

    def _boundary(self, node: Node, record: Json) -> None:
        node.first_kept = as_text(record.get("firstKeptEntryId"))
        index = as_int(record.get("firstKeptEntryIndex"))
        if node.first_kept is None and index is not None and index < len(self.entry_order):
            node.first_kept = self.entry_order[index]
        self.triggers[node.id] = {
            "before": None if as_float(record.get("tokensBefore")) is None else as_int(record.get("tokensBefore")),
            "after": as_int(record.get("tokensAfter")),
            "reason": as_id(record.get("reason")),
        }
        if node.kind == "compaction":
            if self.listener is not None:
                self.listener.summary(node.id, record, node.at)
            self._summary(node, record, "summary")
            checkpoint = as_dict(record.get("systemMessage"))
            node.prompt = patch_of(checkpoint, self.pool, is_whole=True) if checkpoint else None
            self.tree.has_prompts = self.tree.has_prompts or node.prompt is not None

    def _summary(self, node: Node, record: Json, purpose: Purpose) -> None:
        node.summary = self.pool.put(as_text(record.get("summary")) or "")
        node.is_sent = node.is_listed = node.kind == "branch_summary"
        usage = usage_of(record.get("usage"))
        if usage.is_real and not node.is_copied:
            self._call(node, usage, purpose, record)

    def _other_usage(self, node: Node, record: Json) -> None:
        usage = usage_of(record.get("usage"))
        word = (as_text(record.get("kind")) or "").lower()
        is_summary = "compact" in word or "summar" in word
        if usage.is_real and not node.is_copied:
            self._call(node, usage, "summary" if is_summary else "turn", record, has_window=False)

    def _nested_usage(self, node: Node, message: Json) -> None:
        usage = usage_of(message.get("usage"))
        if usage.is_real and not node.is_copied:
            self._call(node, usage, "turn", as_dict(message.get("usage")), has_window=False)
