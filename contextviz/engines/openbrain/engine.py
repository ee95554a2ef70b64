"""OpenBrain as a replay engine, by our rule (engines document, section 5)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import cast

from contextviz.engines.engine import AssembleRequest, CompactRequest, Host, ReplayEngine
from contextviz.engines.material import ReplayMessage
from contextviz.engines.openbrain.handover import Started, handovers
from contextviz.engines.openbrain.merge import Budget
from contextviz.engines.openbrain.settings import SPEC
from contextviz.engines.openbrain.thoughts import Thought, source_of
from contextviz.engines.placing import CALL_IS_GONE
from contextviz.engines.recording import handle_of
from contextviz.engines.replay import clock_text
from contextviz.engines.settings import Value
from contextviz.engines.summaries import SummariserFailed, SummaryRequest
from contextviz.engines.window import Assembly, CompactionMade, CompactResult, NodeMade, Part, made
from contextviz.events.engine_event import Quality
from contextviz.events.message import Role
from contextviz.tokens.estimators import chars4_each

_MOST_QUERY = 2000  # characters of a question that are scored
_MOST_SUMMARISED = 400_000  # characters of dropped messages that a summary is made of
_SYSTEM = ("system", "developer")


@dataclass(slots=True)
class Stored:
    """A thought in the replay's store, with the message it is of and the parts that show it."""

    thought: Thought
    likeness: tuple[str, str]
    tokens: int
    message: ReplayMessage | None
    node: str | None = None
    recent: Part | None = None
    recalled: Part | None = None


class OpenBrain(ReplayEngine):
    """Recall by likeness, then the newest thoughts, in the budget; the rest stays in the store."""

    spec = SPEC

    def __init__(self, host: Host, settings: Mapping[str, Value]) -> None:
        super().__init__(host, settings)
        self._source = source_of(str(settings["source"]), host.agent)
        self._session = host.session_id
        self._store: list[Stored] = []
        self._scorer = host.scorer()
        self._heads: list[Part] = []
        self._head_tokens = 0
        self._turn = 0
        self._prompt = ""
        self._kept_until = 0  # thoughts before it have left the newest
        self._archived = 0  # thoughts before it are in a summary
        self._summaries = 0
        self._found: tuple[str, int, list[tuple[int, float]]] = ("", -1, [])
        self._children: dict[str, int] = {}
        self._tokens = 0
        self._calls: set[str] = set()  # that came
        self._alone: dict[Part, Part] = {}  # by the part of a result: the same without its call
        self._raw = 0  # tokens of the messages that are in no summary

    def bootstrap(self) -> None:
        """The store of a replay begins empty."""
        self.host.told("session.bootstrap", {"source": self._source, "importedMessages": 0}, "derived")

    def ingest(self, message: ReplayMessage) -> None:
        """Store it whole; system messages stay with the window and are no thoughts."""
        self._turn = message.turn
        self._calls.update(message.calls)
        if message.role in _SYSTEM:
            self._heads.append(Part(message.role, message, reason="system messages stay"))
            self._head_tokens += chars4_each(message.text)
            return
        if message.role == "user":
            self._prompt = message.text
        self._add(message.text, message.role, "message", message)
        self._raw += self._store[-1].tokens
        for one in handovers(message):
            if isinstance(one, Started):
                self.prepare_subagent_spawn(self._session, one.child)
            else:
                self.on_subagent_ended(one.child, one.result, reason="error" if one.is_error else "completed")

    def _add(self, content: str, role: str, kind: str, message: ReplayMessage | None, node: str | None = None) -> None:
        number = len(self._store)
        thought = Thought(
            f"th-{number:06d}", content, self._source, self._session, self._turn, role, kind,
            clock_text(self.host.now() or None) or "",
        )  # fmt: skip
        self._store.append(Stored(thought, thought.likeness, chars4_each(content), message, node))
        self._scorer.add(content)

    # ---- windows ----

    def assemble(self, request: AssembleRequest) -> Assembly:
        """Newest first until one does not fit, then the most alike that still fit (5.3)."""
        # A budget that the system messages use up alone holds no thought.
        room = max(1, request.budget - self._head_tokens) if request.budget else 0
        budget = Budget(room)
        first = max(0, len(self._store) - self.whole("recentMessages"))
        recent = self._newest(first, budget)
        spent = budget.tokens
        recalled = self._alike(request.prompt or self._prompt, budget)
        self._left(first)
        is_over = False
        if self._store and not recent and self.whole("recentMessages"):
            # The host sends the question in any case.
            newest = self._store[-1]
            newest.recent = newest.recent or _part(newest, "message", "the newest message, which does not fit")
            recent, is_over = [newest.recent], True
            budget.tokens += newest.tokens
        parts = [*self._heads, *self._with_calls([*recalled, *recent])]
        self._tokens = self._head_tokens + budget.tokens
        if recalled:
            self._tell_recall(request.prompt, len(recalled), budget.tokens - spent)
        return Assembly(parts, self._tokens, mode="recalled and recent" if recalled else "recent", is_over=is_over)

    def _with_calls(self, parts: list[Part]) -> list[Part]:
        """A result that is remembered without its call says so: likeness and newness know nothing of pairs."""
        inside = {name for part in parts if part.message is not None for name in part.message.calls}
        shown = []
        for part in parts:
            answers = part.message.answers if part.message is not None else []
            if all(name in inside or name not in self._calls for name in answers):
                shown.append(part)
            else:
                alone = self._alone.get(part)
                if alone is None:
                    alone = self._alone[part] = replace(part, reason=f"{part.reason}; {CALL_IS_GONE}")
                shown.append(alone)
        return shown

    def _newest(self, first: int, budget: Budget) -> list[Part]:
        kept: list[Part] = []
        for stored in reversed(self._store[first:]):
            if budget.has(stored.thought.id, stored.likeness):
                continue
            if not budget.take(stored.thought.id, stored.likeness, stored.tokens):
                break
            if stored.recent is None:
                stored.recent = _part(stored, "message", "among the newest thoughts")
            kept.append(stored.recent)
        kept.reverse()
        return kept

    def _alike(self, query: str, budget: Budget) -> list[Part]:
        kept: list[int] = []
        for number, _ in self._search(query):
            stored = self._store[number]
            if budget.has(stored.thought.id, stored.likeness):
                continue
            if budget.take(stored.thought.id, stored.likeness, stored.tokens):
                kept.append(number)
        parts = []
        for number in sorted(kept):
            stored = self._store[number]
            if stored.recalled is None:
                stored.recalled = _part(stored, "recalled", "recalled by likeness to the question")
            parts.append(stored.recalled)
        return parts

    def _search(self, query: str) -> list[tuple[int, float]]:
        query, size = query[:_MOST_QUERY], len(self._store)
        if self._found[:2] != (query, size):
            limit = self.whole("semanticSearchLimit")
            self._found = (query, size, self._scorer.top(query, limit) if limit and query else [])
        return self._found[2]

    def _left(self, first: int) -> None:
        """Messages that are no longer among the newest can be got back from the store."""
        for stored in self._store[self._kept_until : first]:
            if stored.message is not None and stored.thought.content:
                self.host.keep(handle_of(stored.thought.content), stored.message, stored.thought.content)
        self._kept_until = max(self._kept_until, first)

    def _tell_recall(self, query: str, items: int, tokens: int) -> None:
        data = {"query": query[:200], "items": items, "position": "messages", "origin": "recalled", "tokens": tokens}
        self.host.told("recall.injected", data, "simulated")

    # ---- the host's wish for room ----

    def maintain(self) -> None:
        """The design names no prompt authority, so its host budgets on the raw transcript (1.2) and asks for room once
        what is not archived of that fills its share, however small the window is."""
        budget, share = self.host.budget, self.spec.host_compacts_at
        if budget and share is not None and self._raw > share * budget:
            self.compact(CompactRequest(budget, self._raw))

    def compact(self, request: CompactRequest) -> CompactResult:
        """Archive what has left the newest thoughts as one thought more, a summary (5.3, ours)."""
        gone = [stored for stored in self._store[self._archived : self._kept_until] if stored.message is not None]
        if not gone:
            return CompactResult(False, "everything is among the newest thoughts or archived already")
        seqs = tuple(stored.message.seq for stored in gone if stored.message is not None)
        text = "\n".join(f"{stored.thought.role}: {stored.thought.content}" for stored in gone)[:_MOST_SUMMARISED]
        try:
            summary = self.host.summarise(SummaryRequest(text, covers=seqs))
        except SummariserFailed as failed:
            data = {"message": str(failed)[:500], "phase": "compact", "fallback": "live-context"}
            self.host.told("engine.error", data, "exact")
            return CompactResult(False, f"no summary was made: {failed}")
        before = self._tokens
        self._archived = self._kept_until
        self._raw -= sum(stored.tokens for stored in gone)
        self._summaries += 1
        node = f"thought-summary-{self._summaries}"
        self.host.node(NodeMade(node, 0, summary, chars4_each(summary), "rolling", covers=seqs))
        self._add(summary, "assistant", "summary", None, node)
        self.host.told("consolidation", {"where": "compact", "ok": True, "thoughts": len(gone)}, "derived")
        after = before + chars4_each(summary)
        reason = f"archived {len(gone)} messages as one summary thought; the window is made anew from the store"
        self.host.compacted(
            CompactionMade(
                "summary", "overflow" if request.is_forced else "host", before, after, seqs, (node,), summary, reason, 1
            )
        )
        return CompactResult(True, reason, before, after, summary)

    # ---- sub-agents ----

    def prepare_subagent_spawn(self, parent: str, child: str, *, is_fork: bool = False) -> None:
        """Give the child what is most alike to the newest question."""
        found = self._search(self._prompt)
        self._children[child] = len(self._children)
        data = {
            "id": child, "parentId": parent, "mode": "fork" if is_fork else "isolated", "thoughts": len(found),
            "tokens": sum(self._store[number].tokens for number, _ in found),
        }  # fmt: skip
        self.host.told("agent.spawn", data, "derived")

    def on_subagent_ended(self, child: str, result: str, *, reason: str = "completed") -> None:
        """Store its result as a thought."""
        is_known = self._children.pop(child, None) is not None
        if result:
            self._add(result, "assistant", "subagent-result", None)
        quality: Quality = "derived"
        data = {"id": child, "status": reason, "resultChars": len(result), "isKnown": is_known}
        self.host.told("agent.end", data, quality)

    def dispose(self) -> None:
        """Summaries that are not among the newest thoughts at the end are out of the window."""
        for stored in self._store[: max(0, len(self._store) - self.whole("recentMessages"))]:
            if stored.node is not None:
                self.host.replaced(stored.node)


def _part(stored: Stored, segment: str, reason: str) -> Part:
    if stored.message is not None:
        return Part(stored.message.role, stored.message, segment=segment, reason=reason)
    role = cast(Role, stored.thought.role)
    if stored.node is not None:
        return made(role, stored.thought.content, segment="summary", reason=reason, kind="summary", node=stored.node)
    return made(role, stored.thought.content, segment=segment, reason=f"a sub-agent's result, {reason}")
