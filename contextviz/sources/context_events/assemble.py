"""Events to a transcript: messages, calls with their windows, compactions, summaries, topics, sub-agents.

Rules: engines document, section 8.2. What has no other place is kept as an EngineEvent, so that nothing is dropped.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from contextviz.events.compaction import Compaction, NodeKind, SummaryNode, SummaryStore
from contextviz.events.engine_event import EngineEvent, EventType, Scalar
from contextviz.events.message import Block, Kind, Message, Role
from contextviz.events.session import SubAgent
from contextviz.events.topic import Topic, TopicEvent
from contextviz.sources.context_events.envelope import Envelope
from contextviz.sources.context_events.segments import Segments
from contextviz.sources.plain.counts import Counts
from contextviz.sources.plain.draft import Draft
from contextviz.sources.plain.usage import less
from contextviz.sources.values import as_dict, as_float, as_id, as_int, as_list, as_plain, as_text

# Role map of section 8.1.
ROLES: dict[str, Role] = {
    "system": "system", "user": "user", "in": "user", "assistant": "assistant", "brain": "assistant",
    "out": "assistant", "tool": "tool", "tool_result": "tool", "toolResult": "tool", "error": "tool",
}  # fmt: skip
NOT_SENT = "content_not_sent"
MOST_DATA_CHARS = 2000
KINDS: dict[str | None, NodeKind] = {"leaf": "leaf", "condensed": "condensed", "rolling": "rolling"}
_BESIDE = frozenset({"message.ingested", "llm.call", "topic.switch", "topic.status", "agent.spawn", "agent.end"})


class Assembly:
    """Takes events in order and fills a draft."""

    def __init__(self, draft: Draft):
        self._draft = draft
        self._transcript = draft.transcript
        self._segments = Segments(draft)
        self._messages: dict[str, Message] = {}
        self._nodes: dict[str, SummaryNode] = {}
        self._topics: dict[str, Topic] = {}
        self._agents: dict[str, SubAgent] = {}
        self._store: SummaryStore | None = None
        self._without_text = 0
        self._handlers: dict[str, Callable[[Envelope, int], None]] = {
            "message.ingested": self._message, "llm.call": self._call, "context.assembled": self._assembled,
            "compaction.evaluated": self._evaluated, "compaction.finished": self._compacted,
            "window.cleared": self._cleared, "summary.created": self._summary, "summary.replaced": self._replaced,
            "topic.switch": self._topic_switch, "topic.status": self._topic_status, "agent.spawn": self._spawn,
            "agent.end": self._spawn_end,
        }  # fmt: skip

    def add(self, event: Envelope, line: int) -> None:
        """Take one event."""
        if event.has_time and event.at is None:
            self._draft.problem("unreadable_time", f"event {event.identity} has a time that cannot be read", line=line)
        elif event.at is not None:
            self._draft.time(event.at.isoformat(), f"event {event.identity}", line=line)
        handler = self._handlers.get(event.type)
        if handler is not None:
            handler(event, line)
        if event.type not in _BESIDE:
            self._note(event, line)

    def end(self) -> None:
        """Everything is in: what is said of the whole."""
        self._transcript.store = self._store
        self._transcript.topics = list(self._topics.values())
        self._transcript.subagents.extend(self._agents.values())
        if self._without_text:
            count = "1 message" if self._without_text == 1 else f"{self._without_text} messages"
            said = f"{count} came without text, so what they say and how long they are is not known"
            self._draft.problem(NOT_SENT, said, "info", value=self._without_text)

    def _note(self, event: Envelope, line: int) -> None:
        kind: EventType = event.type  # type: ignore[assignment]  # the envelope's types are those of the model
        self._transcript.engine_events.append(
            EngineEvent(
                kind, event.engine, event.at, self._draft.file, line, "log",
                "exact" if event.quality == "exact" else "derived", _flat(event.data),
            )
        )  # fmt: skip

    def _message(self, event: Envelope, line: int) -> None:
        told = as_dict(event.data.get("msg"))
        native = as_text(told.get("role")) or "user"
        role: Role = "tool" if native.startswith("tool:") else ROLES.get(native, "user")
        tool = as_dict(event.data.get("tool"))
        text = as_text(event.data.get("text"))
        text = as_text(told.get("text")) if text is None else text
        kind: Kind = "tool_result" if role == "tool" else "system" if role == "system" else "text"
        blocks = []
        if text is None:
            self._without_text += 1
        else:
            blocks.append(self._block(event, kind, text, tool, is_error=native == "error"))
        number = as_int(told.get("seq"))
        name = as_id(told.get("id")) or (f"message-{number}" if number is not None else None)
        if name is not None and name in self._messages:
            return  # ingested again
        message = self._draft.message(role, native, blocks, id=name, at=event.at, line=line)
        if name is not None:
            self._messages[name] = message
        if number is not None:
            self._messages.setdefault(f"message-{number}", message)

    def _block(self, event: Envelope, kind: Kind, text: str, tool: dict[str, Any], *, is_error: bool) -> Block:
        return Block(
            kind, self._draft.pool.put(text), as_text(tool.get("name")), as_text(tool.get("callId")),
            is_error=is_error or tool.get("isError") is True, full_chars=as_int(event.data.get("chars")),
        )  # fmt: skip

    def _call(self, event: Envelope, line: int) -> None:
        data = event.data
        counts = Counts()
        read = counts.prompt(data.get("cacheRead"), "cacheRead")
        written = counts.prompt(data.get("cacheWrite"), "cacheWrite")
        given = counts.prompt(data.get("inputTokens"), "inputTokens")
        cached = (read or 0) + (written or 0)
        # As in the GenAI conventions the input includes what was cached; where that is larger it stands beside it.
        uncached = given if given is not None and cached > given else less(given, cached)
        output = counts.answer(data.get("outputTokens"), "outputTokens")
        usage = counts.apart(uncached, read, written, output, cost_usd=as_float(data.get("costUsd")))
        purpose = as_text(data.get("purpose"))
        call = self._draft.call(
            usage, id=event.id or f"call-{event.seq}", at=event.at, model=as_text(data.get("model")), line=line,
            purpose="turn" if purpose in (None, "brain") else "summary",
        )  # fmt: skip
        if call is not None and call.purpose == "turn":
            self._segments.given_to(call)

    def _assembled(self, event: Envelope, line: int) -> None:
        budget = as_dict(event.data.get("budget"))
        window = as_int(budget.get("max"))
        if window and self._draft.session.window is None:
            self._draft.session.window, self._draft.session.window_basis = window, "reported"
        self._segments.assembled(as_list(event.data.get("segments")), self._messages, self._nodes)

    def _evaluated(self, event: Envelope, line: int) -> None:
        threshold = as_int(event.data.get("threshold"))
        # A share of the window below 1 is no number of tokens.
        if threshold and threshold > 1:
            self._draft.session.compaction_threshold = threshold

    def _compacted(self, event: Envelope, line: int) -> None:
        data = event.data
        if data.get("compacted") in (False, 0):
            return  # an attempt after which nothing was compacted: an event, no boundary
        strategy = as_text(data.get("strategy"))
        is_trim = strategy in ("trim", "window")
        self._draft.compaction(
            Compaction(
                event.id or f"compaction-{event.seq}", 0, line, self._draft.file, event.at,
                "trim" if is_trim else "summary",
                trigger=as_text(data.get("reason")) or strategy, tokens_before=as_int(data.get("tokensBefore")),
                tokens_after=as_int(data.get("tokensAfter")), producer=event.engine,
                summary=self._newest_summary(), duration_seconds=_seconds(data.get("durationMs")),
            ),
            is_here=True,
        )  # fmt: skip

    def _newest_summary(self) -> Any:
        last = next(reversed(self._nodes.values()), None)
        return last.text if last is not None and last.text.chars else None

    def _cleared(self, event: Envelope, line: int) -> None:
        self._draft.compaction(
            Compaction(
                event.id or f"cleared-{event.seq}", 0, line, self._draft.file, event.at, "clear",
                trigger=as_text(event.data.get("why")), producer=event.engine,
            ),
            is_here=True,
        )  # fmt: skip

    def _summary(self, event: Envelope, line: int) -> None:
        told = as_dict(event.data.get("node"))
        name = as_id(told.get("id"))
        if name is None:
            self._draft.problem("summary_without_id", "a summary without an id is not in the graph", line=line)
            return
        kind = KINDS.get(as_text(told.get("kind")), "leaf")
        made_from = [one for value in as_list(told.get("sources")) if (one := as_id(value))]
        known = [one for one in made_from if one in self._nodes]
        cover = as_dict(told.get("cover"))
        node = SummaryNode(
            name, kind, as_int(told.get("depth")) or 0, as_int(told.get("depth")),
            as_int(told.get("tokens")), self._draft.pool.put(as_text(told.get("text")) or ""),
            made_from=known, covers=[one for one in made_from if one not in self._nodes] or self._covered(cover),
            consumers=[one for value in as_list(told.get("consumers")) if (one := as_id(value))],
            in_context=told.get("active") is True, model=as_text(event.data.get("model")), created_at=event.at,
        )  # fmt: skip
        for one in known:
            self._nodes[one].consumers = list(dict.fromkeys([*self._nodes[one].consumers, name]))
        self._nodes[name] = node
        store = self._store_of(event)
        store.nodes = list(self._nodes.values())

    def _covered(self, cover: dict[str, Any]) -> list[str]:
        first, last = as_int(cover.get("first_seq")), as_int(cover.get("last_seq"))
        if first is None or last is None or last - first > len(self._messages):
            return []
        names = (self._messages.get(f"message-{number}") for number in range(first, last + 1))
        return [one.id for one in names if one is not None and one.id]

    def _replaced(self, event: Envelope, line: int) -> None:
        for value in as_list(event.data.get("ids")):
            node = self._nodes.get(as_id(value) or "")
            if node is not None:
                node.in_context = False

    def _store_of(self, event: Envelope) -> SummaryStore:
        if self._store is None:
            self._store = SummaryStore(event.engine, self._draft.file)
        return self._store

    def _topic(self, slug: str, event: Envelope) -> Topic:
        topic = self._topics.get(slug)
        if topic is None:
            topic = self._topics[slug] = Topic(slug, slug, created_at=event.at)
        topic.last_active_at = event.at or topic.last_active_at
        return topic

    def _topic_switch(self, event: Envelope, line: int) -> None:
        data = event.data
        slug = as_id(data.get("topic")) or "(none)"
        topic = self._topic(slug, event)
        topic.name = as_text(data.get("displayName")) or topic.name
        topic.color = as_text(data.get("color")) or topic.color
        topic.is_declared = data.get("declared") is not False
        self._transcript.topic_events.append(
            TopicEvent(
                as_id(data.get("id")), "context_switch", slug, event.at,
                "recorded" if event.at is not None else "unknown", as_text(data.get("trigger")),
                as_text(data.get("summary")), source="events",
            )
        )  # fmt: skip

    def _topic_status(self, event: Envelope, line: int) -> None:
        topic = self._topic(as_id(event.data.get("topic")) or "(none)", event)
        topic.status = as_text(event.data.get("status"))

    def _spawn(self, event: Envelope, line: int) -> None:
        data = event.data
        name = as_id(data.get("id")) or f"agent-{event.seq}"
        self._agents[name] = SubAgent(name, as_text(data.get("mode")) or "agent", as_text(data.get("task")))

    def _spawn_end(self, event: Envelope, line: int) -> None:
        name = as_id(event.data.get("id")) or f"agent-{event.seq}"
        agent = self._agents.setdefault(name, SubAgent(name, "agent"))
        status = as_text(event.data.get("status"))
        agent.task = " · ".join(one for one in (agent.task, status) if one) or None


def _seconds(value: Any) -> float | None:
    number = as_float(value)
    return None if number is None else number / 1000


def _flat(data: dict[str, Any], prefix: str = "", depth: int = 0) -> dict[str, Scalar]:
    """Data as dotted names with plain values; lists, and what lies deeper, by their length, texts bounded."""
    found: dict[str, Scalar] = {}
    for key, value in list(data.items())[:100]:
        name = f"{prefix}{key}"[:200]
        if isinstance(value, dict) and depth < 4:
            found.update(_flat(value, f"{name}.", depth + 1))
        elif isinstance(value, list | dict):
            found[name] = len(value)
        elif isinstance(value, str):
            found[name] = value[:MOST_DATA_CHARS]
        else:
            found[name] = as_plain(value)
    return found
