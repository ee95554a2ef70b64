"""flowctx-dsh 0.1.0, the port: results are compressed as they are written, summaries stand in front of a history that
stays, and the engine beneath compacts when the window is nearly full (section 3.1)."""

from __future__ import annotations

import math
from collections.abc import Mapping

from contextviz.engines.engine import AssembleRequest, CompactRequest, EngineSpec, Host
from contextviz.engines.flowctx.config import PORT_SETTINGS
from contextviz.engines.flowctx.shared import (
    ESTIMATOR,
    INSTRUCTIONS,
    FlowctxEngine,
    part_tokens,
    text_blocks,
    text_tokens,
)
from contextviz.engines.flowctx.store import Scratchpad, arguments_of
from contextviz.engines.material import ReplayMessage
from contextviz.engines.settings import Value
from contextviz.engines.summaries import SummariserFailed, SummaryRequest
from contextviz.engines.window import Assembly, CompactionMade, CompactResult, NodeMade, Part, made
from contextviz.events.javascript import trim
from contextviz.tokens.estimators import cp_weighted

ATTEMPTS = 2  # one more after a failure


class FlowctxPort(FlowctxEngine):
    """See the module."""

    spec = EngineSpec(
        "flowctx", "port-0.1.0", "flowctx (port)",
        "Compresses large tool results at once, and puts summaries of old turns in front of the history.", "3",
        PORT_SETTINGS,
        {"projection": "exact", "tree": "exact", "placeholders": "exact", "compaction": "derived",
         "summary": "simulated"},
        "Summaries are made by a rule or by a summariser of yours, not by flowctx's model; background work is done when"
        " the next call is made; the engine beneath is known by its threshold and what it keeps.",
        ESTIMATOR, uses_summariser=True,
    )  # fmt: skip
    note_tokens = 8192

    def __init__(self, host: Host, settings: Mapping[str, Value]) -> None:
        super().__init__(host, settings)
        self._scratchpad = Scratchpad(self.number("scratchpadMaxChars"))
        self._memory: Part | None = None
        self._pending: float | None = None  # where the tail began when work was left for the background
        self._base = 0  # messages before it are in the summary of the engine beneath
        self._summary: Part | None = None
        self._kept = 0  # tokens of the messages from there on
        self._compactions = 0

    def ingest(self, message: ReplayMessage) -> None:
        """A result is compressed before anything sees it."""
        self._settle()
        part = self.projected(message) if message.role == "tool" and self.flag("projection") else None
        part = part or Part(message.role, message)
        self.messages.append(message)
        self.parts.append(part)
        self.timeline.add(message.role, text_tokens(part))
        self.sizes.append(part_tokens(part))
        self._kept += self.sizes[-1]
        if message.role == "assistant":
            self.tell_tools(message)
            self._edit(message)

    def assemble(self, request: AssembleRequest) -> Assembly:
        """Placeholders, working memory, and all that the engine beneath has left."""
        self._settle()
        if self.host.window and self.host.system_tokens + self._total() > self._limit():
            self._compact("ratio")
        if self.flag("layeredSummary"):
            frozen = max(0.0, len(self.messages) - self.number("freshTailWindow"))
            plan = self.tree.plan(self.timeline, frozen)
            self._pending = frozen if plan.leaf or plan.condense else None
        front = [*self.placeholders, *(part for part in (self._memory, self._summary) if part is not None)]
        return Assembly([*front, *self.parts[self._base :]], self._total(), mode="full")

    def after_turn(self, messages: object) -> None:
        """Background work is done by then."""
        self._settle()

    def dispose(self) -> None:
        """The last of it."""
        self._settle()

    def compact(self, request: CompactRequest) -> CompactResult:
        """The engine beneath makes room."""
        before = self._total()
        if not self._compact("overflow" if request.is_forced else "host"):
            return CompactResult(False, "nothing that could be summarised is left", before, before)
        return CompactResult(True, "the oldest messages became one summary", before, self._total())

    def given_text(self, place: int) -> str:
        """As it is in the session, so a compressed result as it was compressed."""
        return text_blocks(self.parts[place])

    # ---- background work ----

    def _settle(self) -> None:
        frozen, self._pending = self._pending, None
        if frozen is None:
            return
        before, calls = self._total(), self.calls_made
        nodes = tuple(one.node.id for one in self.drain(frozen) if one.node is not None)
        if nodes:
            self.host.compacted(
                CompactionMade(
                    "summary", "drain", before, self._total(), nodes=nodes, summariser_calls=self.calls_made - calls,
                    reason="summaries were put in front; the history they cover stays",
                )
            )  # fmt: skip

    # ---- the engine beneath ----

    def _limit(self) -> int:
        return math.floor(self.host.window * self.number("thresholdRatio"))

    def _total(self) -> int:
        own = [part for part in (self._memory, self._summary) if part is not None]
        return self.placeholder_tokens + sum(cp_weighted(part.text) for part in own) + self._kept

    def _compact(self, trigger: str) -> bool:
        start = self._tail_start()
        if start <= self._base:
            return False
        dropped = range(self._base, start)
        text = "\n\n".join(self.given_text(place) for place in dropped)
        covers = tuple(self.messages[place].seq for place in dropped)
        summary, attempts = self._summarised(text, covers)
        if summary is None:
            return False
        before = self._total()
        previous = self._summary.node if self._summary is not None else None
        self._compactions += 1
        name = f"compaction-{self._compactions}"
        self.host.node(
            NodeMade(name, 0, summary, cp_weighted(summary), "rolling", (previous,) if previous else (), covers,
                     given=summary)
        )  # fmt: skip
        self._kept -= sum(self.sizes[place] for place in dropped)
        self._base = start
        self._summary = made("user", summary, segment="summary", reason="summary of the engine beneath", kind="summary",
                             node=name)  # fmt: skip
        self.host.compacted(
            CompactionMade(
                "summary", trigger, before, self._total(), covers, (name,), summary, "the window was nearly full",
                attempts, {"limit": self._limit()},
            )
        )  # fmt: skip
        return True

    def _tail_start(self) -> int:
        """Where what is kept begins: the newest messages within its share, at least one, no result without its
        call."""
        room = math.floor(self.host.window * self.number("retainRatio"))
        start = len(self.parts)
        while start > self._base and self.sizes[start - 1] <= room:
            start -= 1
            room -= self.sizes[start]
        start = min(start, len(self.parts) - 1)
        while start > self._base and self.parts[start].role == "tool":
            start -= 1
        return start

    def _summarised(self, text: str, covers: tuple[int, ...]) -> tuple[str | None, int]:
        previous = self._summary.text if self._summary is not None else None
        target = self.whole("summaryMaxTokens") or self.note_tokens
        for attempt in range(1, ATTEMPTS + 1):
            try:
                made_text = self.host.summarise(
                    SummaryRequest(text, previous=previous, target_tokens=target, covers=covers,
                                   instructions=INSTRUCTIONS)
                )  # fmt: skip
            except SummariserFailed as error:
                self.host.told("engine.error", {"message": str(error), "phase": "compaction"}, "simulated")
                continue
            if trim(made_text):
                return made_text, attempt
        return None, ATTEMPTS

    # ---- working memory ----

    def _edit(self, message: ReplayMessage) -> None:
        if not self.flag("scratchpad"):
            return
        edits = [
            self._scratchpad.run(piece.tool_name or "", arguments_of(piece.text))
            for piece in message.pieces
            if piece.kind == "tool_call"
        ]
        if any(edits):
            text = self._scratchpad.render()
            self._memory = made("user", text, segment="working", reason="working memory") if text else None
