"""Keeps what a replay does: windows as differences, boundaries, nodes, events and originals, counted as they come."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from contextviz.engines.material import Material, ReplayMessage
from contextviz.engines.placing import Places
from contextviz.engines.summaries import Summariser, SummariserFailed, SummaryRequest
from contextviz.engines.window import Assembly, CompactionMade, NodeMade
from contextviz.events.compaction import Compaction, SummaryNode
from contextviz.events.engine_event import EngineEvent, EventType, Quality
from contextviz.events.run import Run, RunBoundary, RunCall, RunMessage, RunOriginal
from contextviz.events.text import HANDLE_LENGTH, TextPool

MOST_EVENTS = 100_000
_MOST_NAMED, _MOST_NAME = 20, 80
_MOST_REASONS = 3


class Recorder:
    """Turns what an engine gives into a `Run`."""

    def __init__(self, run: Run, pool: TextPool, material: Material, estimator: str) -> None:
        self._run = run
        self._pool = pool
        self._estimator = estimator
        self._places = Places(run.log.table, pool, run.measured.estimator)
        self._arrived: ReplayMessage | None = None
        self._messages = 0
        self._now = 0
        self._handles: set[str] = set()
        self._nodes: dict[str, SummaryNode] = {}
        self._active: set[str] = set()
        self._told_alone: set[str] = set()
        self._dropped: set[int] = set()  # seqs that boundaries have told of
        self.last_tokens: int | None = None

    @property
    def calls(self) -> int:
        """How many calls there were."""
        return len(self._run.calls)

    def now(self) -> int:
        """The time of the newest message in milliseconds; the last known one where it has none."""
        return self._now

    def count(self, text: str) -> int:
        """Tokens of a text by the run's estimator."""
        return self._places.count(text)

    def arrived(self, message: ReplayMessage) -> None:
        """A message is read."""
        self._arrived = message
        self._messages += 1
        if message.at is not None:
            self._now = message.at
        tokens = sum(self._places.size_of(piece.text, piece.ref) for piece in message.pieces)
        self._run.messages.append(RunMessage(message.seq, message.source_index, message.role, message.turn, tokens))

    def tokens_of(self, assembly: Assembly) -> int:
        """What a window holds by the run's estimator, without the system prompt that every request has."""
        return self._places.measured(assembly)

    def call(self, assembly: Assembly, messages: int, model_call: int | None, budget: int) -> None:
        """A call is made with this window, the one that was measured last."""
        taken = self._places.taken(assembly)
        total = self._places.total
        broken = None
        if taken.shared < len(taken.before):
            left = taken.window[taken.shared] if taken.shared < len(taken.window) else None
            broken = "nothing follows any more" if left is None else self._run.log.table.items[left].reason
        self._run.log.add(taken.before, taken.window, taken.keep)
        self._tell_alone()
        self._tell_left(total)
        self.last_tokens = total
        self._run.calls.append(
            RunCall(
                index=self.calls, messages=messages, model_call=model_call, items=len(taken.window), tokens=total,
                engine_tokens=assembly.estimated_tokens, kept_items=taken.shared, kept_tokens=taken.tokens,
                hash=taken.digest, is_over=assembly.is_over or bool(budget and total > budget), mode=assembly.mode,
                broken_by=broken,
            )
        )  # fmt: skip

    def _tell_left(self, total: int) -> None:
        """A boundary for messages that are in the window no more although no compaction of the engine's own took them:
        an assembly that gives only what fits moves the window too (metrics.md)."""
        left = sorted(set(self._places.left) - self._dropped)
        if left:
            made = CompactionMade(
                "trim", "assembly", self.last_tokens, total, tuple(left), reason="not among what was assembled any more"
            )
            self._boundary(made, self._run.measured.estimator)

    def _tell_alone(self) -> None:
        """Say of results that are in a window without their calls, once for each: a provider refuses such a window, and
        some engines make it by their rule. What an engine says of it itself is not said again."""
        alone = sorted(self._places.alone - self._told_alone)
        if not alone:
            return
        self._told_alone.update(alone)
        shown = ", ".join(name[:_MOST_NAME] for name in alone[:_MOST_NAMED])
        more = f" and {len(alone) - _MOST_NAMED:,} more" if len(alone) > _MOST_NAMED else ""
        what = "A tool's result is" if len(alone) == 1 else f"Results of {len(alone):,} tool calls are"
        message = f"{what} in the window without the call: {shown}{more}."
        self.told("engine.error", {"message": message, "phase": "pairs", "results": len(alone)}, "exact")

    # ---- what the engine tells ----

    def summarised(self, summarise: Summariser) -> Callable[[SummaryRequest], str]:
        """The summariser, with its calls and failures counted and the position in the session filled in."""

        def counted(request: SummaryRequest) -> str:
            self._run.summariser_calls += 1
            try:
                return summarise(replace(request, messages=request.messages or self._messages))
            except SummariserFailed as failure:
                failed = self._run.failed_summaries
                failed[str(failure)] = failed.get(str(failure), 0) + 1
                raise

        return counted

    def told(self, kind: EventType, data: Mapping[str, Any], quality: Quality) -> None:
        """An event of section 8.2, at the place the replay has reached."""
        if len(self._run.events) >= MOST_EVENTS:
            self._run.left_out_events += 1
            return
        arrived = self._arrived
        place = {"seq": arrived.seq if arrived else None, "turn": arrived.turn if arrived else 0, "call": self.calls}
        self._run.events.append(
            EngineEvent(kind, self._run.engine, self._at(), "", None, "replay", quality, {**place, **data})
        )

    def _at(self) -> datetime | None:
        arrived = self._arrived
        if arrived is None or arrived.at is None:
            return None
        return datetime.fromtimestamp(arrived.at / 1000, UTC)

    def node(self, made: NodeMade) -> None:
        """A summary was made; its sources are no longer in the window."""
        covers = [str(seq) for seq in made.covers]
        known = SummaryNode(
            made.id, made.kind, made.depth, made.depth, made.tokens, self._pool.put(made.text),  # type: ignore[arg-type]
            made_from=list(made.sources), covers=covers, model=None, created_at=self._at(),
            given=self._pool.put(made.given) if made.given is not None else None,
        )  # fmt: skip
        for source in made.sources:
            if source in self._nodes:
                self._nodes[source].consumers.append(made.id)
            self._active.discard(source)
        self._nodes[made.id] = known
        self._active.add(made.id)
        self._run.nodes.append(known)
        quality: Quality = made.quality if made.quality in ("exact", "derived") else "simulated"  # type: ignore[assignment]
        self.told(
            "summary.created",
            {"node": made.id, "depth": made.depth, "outputTokens": made.tokens, "level": made.level,
             "covers": len(made.covers), "sources": len(made.sources)},
            quality,
        )  # fmt: skip

    def replaced(self, node_id: str) -> None:
        """A summary is no longer in the window although none is made of it."""
        self._active.discard(node_id)

    def compacted(self, made: CompactionMade) -> None:
        """A boundary."""
        self._boundary(made, self._estimator)

    def _boundary(self, made: CompactionMade, estimator: str) -> None:
        self._dropped.update(made.dropped)
        run = self._run
        number = len(run.boundaries) + 1
        call = self.calls
        compaction = Compaction(
            f"{run.engine}-{number}", number, None, "", self._at(), made.kind, made.trigger, made.tokens_before,
            made.tokens_after, self._pool.put(made.summary) if made.summary else None,
            before_call=call - 1 if call else None, after_call=call, producer=run.engine,
            summary_note=made.reason or None,
        )  # fmt: skip
        run.boundaries.append(
            RunBoundary(
                compaction,
                made.dropped,
                made.nodes,
                self._messages,
                estimator,
                made.summariser_calls,
                dict(made.data),
            )
        )
        self.told(
            "compaction.finished",
            {"strategy": made.kind, "trigger": made.trigger, "tokensBefore": made.tokens_before,
             "tokensAfter": made.tokens_after, "compacted": True, "reason": made.reason, "dropped": len(made.dropped)},
            "exact",
        )  # fmt: skip

    def keep(self, handle: str, message: ReplayMessage | None, text: str) -> None:
        """An original that `handle` (the first 24 hex digits of its SHA-256, or the engine's own) stands for."""
        if handle in self._handles:
            return
        self._handles.add(handle)
        self._run.originals.append(RunOriginal(handle, self._pool.put(text), message.seq if message else None))

    def noted(self, sentence: str) -> None:
        """A sentence about the whole run, kept once."""
        if sentence not in self._run.notes:
            self._run.notes.append(sentence)

    def finish(self) -> None:
        """The replay is over: say which summaries are still in the window, and free what found items again."""
        for node in self._run.nodes:
            node.in_context = node.id in self._active
        last = len(self._run.calls) - 1
        for boundary in self._run.boundaries:
            if boundary.compaction.after_call is not None and boundary.compaction.after_call > last:
                boundary.compaction.after_call = None
        if self._run.left_out_events:
            self._run.notes.append(
                f"{self._run.left_out_events:,} events beyond {MOST_EVENTS:,} are counted and not kept."
            )
        if failures := failures_of(self._run):
            self._run.notes.append(failures)
        self._run.log.table.settle()


def failures_of(run: Run) -> str:
    """How many summaries could not be made and why, the most frequent reason first; "" where none failed."""
    failed = sum(run.failed_summaries.values())
    if not failed:
        return ""
    reasons = sorted(run.failed_summaries, key=lambda sentence: -run.failed_summaries[sentence])
    noun = "summary" if run.summariser_calls == 1 else "summaries"
    return f"{failed:,} of {run.summariser_calls:,} {noun} could not be made: {' '.join(reasons[:_MOST_REASONS])}"


def handle_of(text: str) -> str:
    """The handle of a text: the first 24 hex digits of the SHA-256 of its UTF-8 bytes (3.2)."""
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:HANDLE_LENGTH]
