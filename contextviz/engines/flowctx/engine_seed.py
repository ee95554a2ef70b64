"""flowctx as seed 002 describes it: the session stays as it is and the window is made of it at each call, results
outside the protected tail compressed, folded turns replaced by summaries, a hand-off note behind (section 3.1)."""

from __future__ import annotations

import math
from collections.abc import Mapping

from contextviz.engines.engine import AssembleRequest, CompactRequest, EngineSpec, Host
from contextviz.engines.flowctx.config import SEED_SETTINGS
from contextviz.engines.flowctx.projection import SEED_NAME
from contextviz.engines.flowctx.shared import ESTIMATOR, FlowctxEngine, part_tokens, text_blocks, text_tokens
from contextviz.engines.flowctx.tree import Timeline, cover_end
from contextviz.engines.material import ReplayMessage
from contextviz.engines.settings import Value
from contextviz.engines.window import Assembly, CompactionMade, CompactResult, Part, made
from contextviz.tokens.estimators import cp_weighted


def frozen_start(timeline: Timeline, fresh_tail_window: float, keep_recent_turns: float) -> int:
    """Where protection begins: the later of `fresh_tail_window` messages from the end and the start of the newest
    `keep_recent_turns` user turns. Since it is the later one, 0 turns protect the whole tail, and 1 only the current
    task where that is shorter."""
    tail = max(0, math.ceil(len(timeline) - fresh_tail_window))
    turns = math.floor(keep_recent_turns)
    if turns <= 0:
        return tail
    users = timeline.users
    return max(tail, users[-turns] if turns <= len(users) else 0)


class FlowctxSeed(FlowctxEngine):
    """See the module."""

    spec = EngineSpec(
        "flowctx", "seed-002", "flowctx (original)",
        "Compresses old tool results in the window only, and replaces old turns by summaries when the window fills.",
        "3", SEED_SETTINGS,
        {"protection": "exact", "gate": "exact", "tree": "exact", "projection": "derived", "placeholders": "derived",
         "handoff": "derived", "summary": "simulated"},
        "The original's code is not published: protection and gate are as its description says, reducers and summary"
        " tree are the port's, the wording of markers and placeholders follows its demonstration, and the hand-off note"
        " is the newest summary. Summaries are made by a rule or by a summariser of yours.",
        ESTIMATOR, uses_summariser=True,
    )  # fmt: skip
    engine_name = SEED_NAME

    def __init__(self, host: Host, settings: Mapping[str, Value]) -> None:
        super().__init__(host, settings)
        self._frozen = 0  # results before it are compressed
        self._cover = 0  # messages before it are replaced by placeholders
        self._kept = 0  # tokens of the messages from there on
        self._note_part: Part | None = None
        self._note_tokens = 0
        turns = self.number("projectionKeepRecentTurns")
        self._protected_turns = min(turns, self.number("summaryKeepRecentTurns"))

    def ingest(self, message: ReplayMessage) -> None:
        """It is taken as it is."""
        part = Part(message.role, message)
        self.messages.append(message)
        self.parts.append(part)
        self.timeline.add(message.role, text_tokens(part))
        self.sizes.append(part_tokens(part))
        self._kept += self.sizes[-1]
        if message.role == "assistant":
            self.tell_tools(message)

    def assemble(self, request: AssembleRequest) -> Assembly:
        """Placeholders, what they do not cover with old results compressed, the hand-off note."""
        self._freeze()
        note = [self._note_part] if self._note_part is not None else []
        parts = [*self.placeholders, *self.parts[self._cover :], *note]
        return Assembly(parts, self._total(), mode="windowed" if self._cover else "full")

    def compact(self, request: CompactRequest) -> CompactResult:
        """It is passed through: the engine does not own compaction."""
        return CompactResult(False, "flowctx passes compaction through to its host", self._total(), self._total())

    def maintain(self) -> None:
        """The gate: fold when the window is full enough and the session old enough."""
        budget = self.host.budget or self.whole("contextWindowTokens")
        current, turns = self._total(), len(self.timeline.users)
        ratio, least = self.number("summaryTriggerRatio"), self.number("summaryMinTurns")
        should = self.flag("layeredSummary") and current / budget >= ratio and turns >= least
        self.host.told(
            "compaction.evaluated",
            {"current": current, "threshold": math.ceil(budget * ratio), "budget": budget, "should": should,
             "trigger": "ratio", "userTurns": turns, "minTurns": least, "estimator": ESTIMATOR},
            "exact",
        )  # fmt: skip
        if should:
            self._fold()

    def given_text(self, place: int) -> str:
        """The original: what is compressed is the window alone."""
        return text_blocks(Part(self.messages[place].role, self.messages[place]))

    def _start(self) -> int:
        return frozen_start(self.timeline, self.number("freshTailWindow"), self._protected_turns)

    def _total(self) -> int:
        return self.placeholder_tokens + self._kept + self._note_tokens

    def _freeze(self) -> None:
        """Compress the results that are protected no more; what was compressed stays so."""
        start = self._start()
        for place in range(self._frozen, start):
            message = self.messages[place]
            part = self.projected(message) if message.role == "tool" else None
            if part is None:
                continue
            self.parts[place] = part
            size = part_tokens(part)
            if place >= self._cover:
                self._kept += size - self.sizes[place]
            self.sizes[place] = size
        self._frozen = max(self._frozen, start)

    def _fold(self) -> None:
        before, calls = self._total(), self.calls_made
        start = self._start()
        nodes = [one.node for one in self.drain(start) if one.node is not None]
        if not nodes:
            return
        dropped = range(0)
        if self.flag("summaryReplacesHistory"):
            cover = max(self._cover, cover_end(self.timeline, start, self.tree.nodes))
            dropped = range(self._cover, cover)
            self._kept -= sum(self.sizes[place] for place in dropped)
            self._cover = cover
        newest = max(nodes, key=lambda node: (node.end_turn, -node.depth))
        text = f"<flowctx-handoff-note>\n{newest.content}\n</flowctx-handoff-note>"
        self._note_part = made("user", text, segment="handoff", reason="hand-off note", node=newest.id)
        self._note_tokens = cp_weighted(text)
        self.host.told(
            "recall.injected",
            {"origin": "memory", "position": "user-message", "query": "", "key": newest.id, "tokens": self._note_tokens,
             "estimator": ESTIMATOR},
            "derived",
        )  # fmt: skip
        self.host.compacted(
            CompactionMade(
                "summary", "ratio", before, self._total(), tuple(self.messages[place].seq for place in dropped),
                tuple(node.id for node in nodes), None, "the window was full enough and the session old enough",
                self.calls_made - calls,
            )
        )  # fmt: skip
