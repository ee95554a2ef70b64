"""One session's log into a draft, event by event."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from contextviz.events.message import Block, Message, Role
from contextviz.events.session import Session
from contextviz.sources.copilot_cli.agents import Agents
from contextviz.sources.copilot_cli.calls import Calls
from contextviz.sources.copilot_cli.content import answer_blocks, result_blocks, user_blocks
from contextviz.sources.copilot_cli.cuts import Cuts
from contextviz.sources.copilot_cli.event import Event
from contextviz.sources.copilot_cli.kinds import FORMAT, QUIET, is_event
from contextviz.sources.copilot_cli.window import Windows
from contextviz.sources.lines import Record
from contextviz.sources.plain.content import tool_call
from contextviz.sources.plain.draft import Draft
from contextviz.sources.plain.growing import title_of
from contextviz.sources.source import Probe, ReadOptions
from contextviz.sources.values import as_dict, as_id, as_int, as_text

Json = dict[str, Any]
# The origin of a prompt that the user typed, where an origin is written at all.
TYPED = "user"


class SessionLog:
    """The script (plain.growing) of one events.jsonl."""

    def __init__(self, probe: Probe, name: str, options: ReadOptions) -> None:
        self.draft = Draft(Session(name, FORMAT), probe.name, options)
        self._windows = Windows(self.draft)
        self._calls = Calls(self.draft, self._windows)
        self._agents = Agents(self.draft)
        self._cuts = Cuts(self.draft, self._windows, self._calls)
        self._has_start = False
        self._has_title = False
        self._systems: dict[tuple[str | None, str], str] = {}
        self._thoughts: dict[str | None, str] = {}
        self._last: dict[str | None, int] = {}  # the newest message of each agent
        self._tools: dict[str, str] = {}
        self._takes: dict[str, Callable[[Json, Event], None]] = {
            "session.start": self._start,
            "session.resume": self._resume,
            "session.model_change": self._model,
            "session.title_changed": self._title,
            "session.usage_info": self._usage_info,
            "session.shutdown": self._shutdown,
            "session.error": self._error,
            "session.info": self._note,
            "session.warning": self._note,
            "session.handoff": self._handoff,
            "session.compaction_start": self._cuts.started,
            "session.compaction_complete": self._cuts.completed,
            "session.truncation": self._cuts.truncated,
            "session.context_cleared": self._cuts.cleared,
            "session.snapshot_rewind": self._cuts.rewound,
            "user.message": self._user,
            "system.message": self._system,
            "system.notification": self._injected,
            "skill.invoked": self._injected,
            "assistant.message": self._answer,
            "assistant.reasoning": self._reasoning,
            "assistant.usage": self._calls.told,
            "model.call_failure": self._call_failure,
            "tool.user_requested": self._tool_start,
            "tool.execution_start": self._tool_start,
            "tool.execution_complete": self._tool_end,
            "subagent.started": self._agents.started,
            "subagent.completed": self._agents.ended,
            "subagent.failed": self._agents.ended,
            "abort": self._abort,
        }

    def feed(self, record: Record) -> str | None:
        """See Script.feed."""
        value = record.value
        kind = as_text(value.get("type")) or "no type"
        if not is_event(value):
            return kind
        take = self._takes.get(kind)
        at = self.draft.time(value.get("timestamp"), f"line {record.line}", line=record.line)
        if take is None:
            return None if kind in QUIET else kind
        take(value["data"], Event(kind, value["id"], at, record.line, self._agents.of(value)))
        return None

    def end(self) -> None:
        """See Script.end."""
        self._calls.settle()
        self._agents.settle()
        self.draft.transcript.context_at_end = self._windows.names()

    # Events of the session

    def _start(self, data: Json, event: Event) -> None:
        session = self.draft.session
        if self._has_start:
            return
        self._has_start = True
        session.id = as_id(data.get("sessionId")) or session.id
        session.format_version = as_text(data.get("copilotVersion"))
        session.cwd = as_text(as_dict(data.get("context")).get("cwd"))
        session.parent = as_id(data.get("detachedFromSpawningParentSessionId"))
        self._calls.model = as_text(data.get("selectedModel"))
        self.draft.time(data.get("startTime"), "the session", line=event.line)

    def _resume(self, data: Json, event: Event) -> None:
        self._count("resumes")
        self._calls.model = as_text(data.get("selectedModel")) or self._calls.model

    def _model(self, data: Json, event: Event) -> None:
        self._calls.model = as_text(data.get("newModel")) or self._calls.model

    def _title(self, data: Json, event: Event) -> None:
        title = as_text(data.get("title"))
        if title:
            self.draft.session.title, self._has_title = title, True

    def _usage_info(self, data: Json, event: Event) -> None:
        self._cuts.limit(data)
        self.draft.session.hints["current_tokens"] = as_int(data.get("currentTokens"))

    def _shutdown(self, data: Json, event: Event) -> None:
        self._calls.shutdown(data, event)
        self.draft.session.hints["current_tokens"] = as_int(data.get("currentTokens"))

    def _error(self, data: Json, event: Event) -> None:
        self.draft.transcript.failed_calls += 1
        self._note(data, event)

    def _call_failure(self, data: Json, event: Event) -> None:
        self._count("model_call_failures")

    def _abort(self, data: Json, event: Event) -> None:
        self._count("aborts")

    def _note(self, data: Json, event: Event) -> None:
        """What the client tells the user; it is not sent."""
        text = as_text(data.get("message")) or as_text(data.get("summary")) or ""
        self._message("system", [Block("text", self.draft.pool.put(text))], event)

    def _handoff(self, data: Json, event: Event) -> None:
        texts = [text for key in ("context", "summary") if (text := as_text(data.get(key)))]
        self._message("system", [Block("text", self.draft.pool.put(text)) for text in texts], event)

    # What is said

    def _user(self, data: Json, event: Event) -> None:
        is_typed = data.get("source") in (None, "", TYPED) and data.get("isAutopilotContinuation") is not True
        is_human = event.agent is None and is_typed
        message = self._message("user", user_blocks(data, self.draft.pool), event, is_human=is_human)
        self._windows.put(message, agent=event.agent)
        typed = as_text(data.get("content")) or ""
        if event.agent is None:
            self._cuts.prompt(typed)
            if is_human and not self._has_title and self.draft.session.title is None:
                self.draft.session.title = title_of(typed)

    def _system(self, data: Json, event: Event) -> None:
        """A system prompt is written again at every turn; it is a message where it is another one."""
        role: Role = "developer" if data.get("role") == "developer" else "system"
        text, name = as_text(data.get("content")) or "", as_text(data.get("name")) or role
        if self._systems.get((event.agent, name)) == text:
            return
        self._systems[event.agent, name] = text
        message = self._message(role, [Block("system", self.draft.pool.put(text))], event)
        self._windows.system(event.agent, name, message)

    def _injected(self, data: Json, event: Event) -> None:
        text = as_text(data.get("content")) or ""
        block = Block("injected", self.draft.pool.put(text))
        self._windows.put(self._message("user", [block], event, is_human=False), agent=event.agent)

    def _answer(self, data: Json, event: Event) -> None:
        blocks = answer_blocks(data, self.draft.pool, self._thoughts.pop(event.agent, None))
        for block in blocks:
            if block.kind == "tool_call" and block.tool_call_id:
                self._tools[block.tool_call_id] = block.tool_name or ""
                self._agents.asked(block.tool_call_id, event.id)
        mark = self._windows.mark(event.agent)
        model = as_text(data.get("model")) or self._calls.model
        message = self._message("assistant", blocks, event, model=model)
        self._calls.answered(data, event, message, mark)
        self._windows.put(message, agent=event.agent)

    def _reasoning(self, data: Json, event: Event) -> None:
        text = as_text(data.get("content")) or ""
        place = self._last.get(event.agent)
        last = None if place is None else self.draft.transcript.messages[place]
        ref = self.draft.pool.put(text)
        if last is not None and any(one.kind == "thinking" and one.text.digest == ref.digest for one in last.blocks):
            return  # the answer told it already
        self._thoughts[event.agent] = text
        self._message("assistant", [Block("thinking", ref)], event)

    def _tool_start(self, data: Json, event: Event) -> None:
        """A call that no answer asked for (the user's own, or of a version that does not list them)."""
        name, call = as_text(data.get("toolName")) or "", as_id(data.get("toolCallId"))
        if call is None or call in self._tools:
            return
        self._tools[call] = name
        block = tool_call(self.draft.pool, name, data.get("arguments"), call)
        self._windows.put(self._message("assistant", [block], event), agent=event.agent)

    def _tool_end(self, data: Json, event: Event) -> None:
        name = self._tools.get(as_text(data.get("toolCallId")) or "")
        message = self._message("tool", result_blocks(data, self.draft.pool, name), event)
        self._windows.put(message, agent=event.agent)

    def _message(
        self, role: Role, blocks: list[Block], event: Event, *, is_human: bool = False, model: str | None = None
    ) -> Message:
        name = event.id if event.id not in self.draft.transcript.entry_times else None
        word = role if event.kind.endswith(".message") or role == "tool" else event.kind
        message = self.draft.message(
            role, word, blocks, id=name, at=event.at, line=event.line, agent=event.agent, model=model,
            is_human=is_human,
        )  # fmt: skip
        self._last[event.agent] = message.index
        return message

    def _count(self, name: str) -> None:
        counters = self.draft.session.counters
        counters[name] = counters.get(name, 0) + 1
