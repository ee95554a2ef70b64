"""context-memory as a replay engine: topics, their notes, and what is read back (engines document, section 6)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

from contextviz.engines.context_memory.folder import Folder, moment
from contextviz.engines.context_memory.settings import SPEC
from contextviz.engines.context_memory.topics import LabelledTopics, WordTopics, read_labels
from contextviz.engines.engine import AssembleRequest, CompactRequest, Host, ReplayEngine
from contextviz.engines.material import ReplayMessage
from contextviz.engines.settings import Value
from contextviz.engines.summaries import SummariserFailed, SummaryRequest
from contextviz.engines.window import Assembly, CompactionMade, CompactResult, NodeMade, Part, made
from contextviz.events.engine_event import Quality
from contextviz.tokens.estimators import chars4_each

SPAWNING = frozenset({"Task", "Agent", "sessions_spawn", "spawn_agent", "subagent"})
_MOST_SUMMARISED = 400_000  # characters
_SYSTEM = ("system", "developer")


class ContextMemory(ReplayEngine):
    """All messages since the host compacted last, and the notes that were read back."""

    spec = SPEC

    def __init__(self, host: Host, settings: Mapping[str, Value]) -> None:
        super().__init__(host, settings)
        labels, self._problems = read_labels(str(settings["labels"]))
        self._labelled = LabelledTopics(labels) if labels else None
        self._classifier = WordTopics(self.number("newTopicBelow"))
        self.folder = Folder()
        self._front: list[Part] = []  # system messages, the summary, what was recovered
        self._front_tokens = 0
        self._heads: list[Part] = []
        self._parts: list[Part] = []
        self._sizes: list[int] = []
        self._tokens = 0
        self._node: str | None = None
        self._summary: str | None = None
        self._compactions = 0
        self._children: dict[str, tuple[str, int | None]] = {}

    @property
    def _topic_quality(self) -> Quality:
        return "derived" if self._labelled is not None else "simulated"

    def bootstrap(self) -> None:
        """Say which labels could not be read."""
        self.host.told("session.bootstrap", {"topics": "labels" if self._labelled else "simulated"}, "exact")
        for sentence in self._problems[:50]:
            self.host.told("engine.error", {"message": sentence, "phase": "labels"}, "exact")

    def _now(self) -> datetime:
        return moment(self.host.now())

    # ---- messages ----

    def ingest(self, message: ReplayMessage) -> None:
        """Take it into the window; a user's may switch the topic, whose notes are then read back behind it."""
        if message.role in _SYSTEM and not self._parts:
            part = Part(message.role, message, reason="system messages stay")
            self._heads.append(part)
            self._front.append(part)
            self._front_tokens += chars4_each(message.text)
            return
        self._take(Part(message.role, message, reason="since the last compaction"), chars4_each(message.text))
        if message.role == "user":
            self._turn(message)
        notes = self.folder.topics.get(self.folder.current)
        if notes is not None and message.role in ("user", "assistant"):
            said = " ".join(piece.text for piece in message.pieces if piece.kind == "text")
            if notes.note("User" if message.role == "user" else "Agent", said):
                data = {"where": "maintain", "ok": True, "file": f"contexts/{notes.key}/THREAD.md"}
                self.host.told("consolidation", data, "simulated")
        self._agents(message)

    def _take(self, part: Part, tokens: int) -> None:
        self._parts.append(part)
        self._sizes.append(tokens)
        self._tokens += tokens

    def _turn(self, message: ReplayMessage) -> None:
        now = self._now()
        labelled = self._labelled
        topic = labelled.topic_of(message.turn) if labelled else self._classifier.topic_of(message.text)
        known = self.folder.topics.get(topic)
        was_dormant = known is not None and known.is_dormant
        previous = self.folder.current
        switched = self.folder.switch(topic, now, message.text)
        if was_dormant and known is not None:
            known.is_dormant = False
            self._status(topic, "active", now)
        if switched is None:
            return
        name, is_new = switched
        self.host.told(
            "topic.switch",
            {"id": name, "topic": topic, "trigger": "user_message", "declared": True, "previous": previous or None,
             "isNew": is_new},
            self._topic_quality,
        )  # fmt: skip
        if not is_new and self.flag("readsBack") and known is not None:
            self._read_back(known.read_back(), topic)

    def _read_back(self, text: str, topic: str) -> None:
        part = made("user", text, segment="memory", reason=f"notes on {topic[:60]}, read back")
        tokens = chars4_each(text)
        self._take(part, tokens)
        data = {"query": topic, "items": 2, "position": "user-message", "origin": "memory", "tokens": tokens}
        self.host.told("recall.injected", data, "simulated")

    def _status(self, topic: str, status: str, at: datetime) -> None:
        data = {"topic": topic, "status": status, "lastActive": at.isoformat().replace("+00:00", "Z")}
        self.host.told("topic.status", data, self._topic_quality)

    def _agents(self, message: ReplayMessage) -> None:
        for piece in message.pieces:
            if piece.tool_name not in SPAWNING or not piece.tool_call_id:
                continue
            if piece.kind == "tool_call":
                self._started(piece.tool_call_id, piece.text, message.at)
            elif piece.kind == "tool_result":
                self._ended(piece.tool_call_id, len(piece.text), message.at, "error" if piece.is_error else "ok")

    def _started(self, child: str, task: str, at: int | None) -> None:
        name = self.folder.spawn(task)
        self._children[child] = (name, at)
        self.host.told("agent.spawn", {"id": name, "parentId": name.rpartition("-a")[0], "task": task[:200]}, "derived")

    def _ended(self, child: str, chars: int, at: int | None, status: str) -> None:
        name, started = self._children.pop(child, (child, None))
        duration = at - started if at is not None and started is not None else None
        self.folder.ended(name, status, duration)
        data = {"id": name, "status": status, "durationMs": duration, "resultChars": chars}
        self.host.told("agent.end", data, "derived")

    def prepare_subagent_spawn(self, parent: str, child: str, *, is_fork: bool = False) -> None:
        """A sub-agent is told of by the host."""
        self._started(child, "", self.host.now() or None)

    def on_subagent_ended(self, child: str, result: str, *, reason: str = "completed") -> None:
        """Its end is."""
        self._ended(child, len(result), self.host.now() or None, reason)

    # ---- windows ----

    def assemble(self, request: AssembleRequest) -> Assembly:
        """What is there since the last compaction, behind its summary and the notes that were recovered."""
        tokens = self._front_tokens + self._tokens
        over = bool(request.budget and tokens > request.budget)
        return Assembly([*self._front, *self._parts], tokens, is_over=over)

    def after_turn(self, messages: Sequence[ReplayMessage]) -> None:
        """Topics that nobody touched for seven days are dormant."""
        for notes in self.folder.gone_dormant(self._now()):
            self._status(notes.key, "dormant", notes.last_active)

    def compact(self, request: CompactRequest) -> CompactResult:
        """The host's own compaction: a summary for what is old, the tail kept; then the agent recovers its notes."""
        cut = self._cut(request.budget)
        if cut <= 0:
            return CompactResult(False, "what would be kept is all there is")
        gone = self._parts[:cut]
        seqs = tuple(part.message.seq for part in gone if part.message is not None)
        text = "\n".join(f"{part.role}: {part.text}" for part in gone)[:_MOST_SUMMARISED]
        try:
            summary = self.host.summarise(SummaryRequest(text, previous=self._summary, covers=seqs))
        except SummariserFailed as failed:
            data = {"message": str(failed)[:500], "phase": "compact", "fallback": "live-context"}
            self.host.told("engine.error", data, "exact")
            return CompactResult(False, f"no summary was made: {failed}")
        before = self._front_tokens + self._tokens
        self._tokens -= sum(self._sizes[:cut])
        del self._parts[:cut]
        del self._sizes[:cut]
        node = self._summarised(summary, seqs)
        self._recover()
        after = self._front_tokens + self._tokens
        reason = "the host made a summary of what was old; the agent read its notes back"
        trigger = "overflow" if request.is_forced else "host"
        self.host.compacted(
            CompactionMade("summary", trigger, before, after, seqs, (node,), summary, reason, 1)
        )  # fmt: skip
        return CompactResult(True, reason, before, after, summary)

    def _summarised(self, summary: str, seqs: tuple[int, ...]) -> str:
        self._compactions += 1
        node = f"host-summary-{self._compactions}"
        sources = (self._node,) if self._node is not None else ()
        self.host.node(NodeMade(node, 0, summary, chars4_each(summary), "rolling", sources, seqs))
        self._node, self._summary = node, summary
        part = made("user", summary, segment="summary", reason="the host's summary", kind="summary", node=node)
        self._front = [*self._heads, part]
        return node

    def _recover(self) -> None:
        now = self._now()
        _, active = self.folder.compaction(now)
        text = self.folder.recovery(now)
        self._front.append(made("user", text, segment="memory", reason="notes recovered after the compaction"))
        self._front_tokens = sum(chars4_each(part.text) for part in self._front)
        self.host.told(
            "recall.injected",
            {"query": self.folder.current, "items": 3, "position": "user-message", "origin": "memory",
             "tokens": chars4_each(text), "activeTopics": len(active)},
            "simulated",
        )  # fmt: skip

    def _cut(self, budget: int) -> int:
        """Back from the end until enough is kept, then on to the first message of a user or the model (section 11)."""
        keep = self.whole("keepRecentTokens")
        if budget:
            keep = min(keep, budget // 4)
        kept, cut = 0, len(self._parts)
        while cut > 0 and kept < keep:
            cut -= 1
            kept += self._sizes[cut]
        last = len(self._parts) - 1
        while cut < last and self._parts[cut].role not in ("user", "assistant"):
            cut += 1
        return min(cut, last)
