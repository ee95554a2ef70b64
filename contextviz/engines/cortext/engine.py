"""Cortext as a replay engine: an exact window, a simulated memory (engines document, section 4)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from contextviz.engines.cortext.costs import WriteCosts, event_data
from contextviz.engines.cortext.gate import Buffer, streamed
from contextviz.engines.cortext.injection import block
from contextviz.engines.cortext.recall import Memory, Store, Working
from contextviz.engines.cortext.scope import scope_key
from contextviz.engines.cortext.settings import SPEC
from contextviz.engines.cortext.view import View
from contextviz.engines.cortext.window import Anchor, Mode, archived_sentence, bridge_text
from contextviz.engines.engine import AssembleRequest, CompactRequest, Host, ReplayEngine
from contextviz.engines.material import ReplayMessage
from contextviz.engines.recording import handle_of
from contextviz.engines.settings import Value
from contextviz.engines.window import Assembly, CompactionMade, CompactResult, Part, made
from contextviz.events.engine_event import Quality
from contextviz.events.javascript import length16, trim
from contextviz.tokens.estimators import chars4_each

_SHOWN_QUERY = 200
_MOST_STAGED = 64


class Cortext(ReplayEngine):
    """Everything from the anchor on, verbatim; what is before it is remembered, and recalled into the system prompt
    once a turn, as the host asks for the addition once a turn."""

    spec = SPEC

    def __init__(self, host: Host, settings: Mapping[str, Value]) -> None:
        super().__init__(host, settings)
        self._mode: Mode = "full" if settings["compactionMode"] == "full" else "hybrid"
        self._view = View()
        self._seen = 0  # messages of the last assembled view
        self._anchor: Anchor | None = None
        self._cut = 0
        self._heads: list[Part] = []  # system messages before the cut
        self._head_units = 0
        self._store = Store(host.scorer, self.whole("recallItemUnits"))
        self._working = Working()
        self._costs = WriteCosts(self.whole("hintRecommendedAt"), self.whole("hintRequiredAt"))
        self._buffers = {"thinking": Buffer(), "text": Buffer()}
        self._staged: list[Memory] = []
        self._is_flagged = False
        self._asked: tuple[int, str] | None = None  # turn and query of the last recall
        self._recalled = ""
        self._staged_block = ""
        self._system: Part | None = None
        bridge = bridge_text(self._mode)
        self._bridge_units = length16(bridge)
        self._bridge = made("user", bridge, segment="bridge", reason="stands for what was archived")
        self.scope = scope_key(str(settings["memoryScope"]), "", host.session_id, host.agent)

    # ---- messages ----

    def bootstrap(self) -> None:
        """See Engine."""
        self.host.told("session.bootstrap", {"scope": self.scope, "mode": self._mode}, "exact")

    def ingest(self, message: ReplayMessage) -> None:
        """Remember it; an answer is what the gate has watched."""
        if message.role == "user":
            self._costs.turn(message.turn)
        text = self._view.add(message)
        if message.role == "assistant" and self.flag("interruptGate"):
            self._watch(message)
        trimmed = trim(text)
        if trimmed:
            self._store.write(message.seq, trimmed)
            self._costs.wrote(chars4_each(trimmed))

    def _watch(self, message: ReplayMessage) -> None:
        told: dict[str, list[int]] = {}
        for piece in message.pieces:
            buffer = self._buffers.get(piece.kind)
            if buffer is None or (piece.kind == "thinking" and not self.flag("ingestReasoning")):
                continue
            stream = "thinking" if piece.kind == "thinking" else "assistant"
            for segment in streamed(buffer, piece.text):
                told.setdefault(stream, []).append(length16(segment))
                self._costs.looked_up(chars4_each(segment))
                if self._cut and len(self._staged) < _MOST_STAGED:
                    self._gate(segment, stream, message)
        for stream, sizes in told.items():
            self.host.told(
                "gate.segment",
                {"stream": stream, "chars": sum(sizes), "run": _run(message), "segments": len(sizes)},
                "derived",
            )

    def _gate(self, segment: str, stream: str, message: ReplayMessage) -> None:
        found = self._store.gated(segment, self._view.messages[self._cut].seq)
        if found is None:
            return
        memory, kind = found
        self._staged.append(memory)
        revises = kind == "interrupt" and self.flag("forceRepass")
        self._is_flagged = self._is_flagged or revises
        self.host.told(
            "gate.fired",
            {"kind": kind, "stream": stream, "stagedCount": len(self._staged), "revise": revises, "run": _run(message),
             "memory": memory.seq},
            "simulated",
        )  # fmt: skip

    # ---- windows ----

    def assemble(self, request: AssembleRequest) -> Assembly:
        """The window from the anchor on, the bridge before it, and what is recalled."""
        view = self._view
        if not view.holds(request.messages):
            self._found_again(request.messages)
        self._seen = len(view.messages)
        self._recall(request)
        system = self._addition()
        if not self._cut:
            return Assembly(view.parts.copy(), view.tokens(0, 0), system, "full")
        parts = [*self._heads, self._bridge, *view.parts[self._cut :]]
        tokens = view.tokens(self._cut, self._head_units + self._bridge_units)
        return Assembly(parts, tokens, system, "windowed")

    def _found_again(self, messages: Sequence[ReplayMessage]) -> None:
        """The host's list is another one than the messages that came: find the anchor in it, or give it up."""
        self._view.take(messages)
        if self._anchor is None:
            return
        cut = self._view.found(self._anchor)
        if cut is None:
            self.host.told("window.cleared", {**self._anchor_data(self._anchor), "why": "anchor-missing"}, "exact")
            self._anchor = None
        self._move(cut or 0)

    def _move(self, cut: int) -> None:
        self._cut = cut
        self._heads = [self._view.parts[at] for at in self._view.systems if at < cut]
        self._head_units = sum(self._view.units_of(at) for at in self._view.systems if at < cut)
        before = self._view.messages[cut].seq if cut else 0
        self._working = self._store.working(before, self.whole("recallLimit")) if cut else Working()
        self._working.checked = cut

    def _recall(self, request: AssembleRequest) -> None:
        query = trim(request.prompt) or self._view.query()
        turn = request.messages[-1].turn if request.messages else 0
        if not query or self._asked == (turn, query):
            return
        self._asked = (turn, query)
        limit = self.whole("recallLimit")
        self._costs.looked_up(chars4_each(query))
        found = self._store.recall(query, limit, self._view.newest_user)
        self._recalled = self._store.lines((memory for memory, _ in found), limit)
        staged, self._staged = self._staged, []
        self._staged_block = self._store.lines(staged, limit)
        if found or staged:
            self.host.told(
                "recall.injected",
                {"query": query[:_SHOWN_QUERY], "items": len(found), "staged": len(staged),
                 "ids": ",".join(str(memory.seq) for memory, _ in found), "position": "system-prefix",
                 "tokens": chars4_each(self._recalled) + chars4_each(self._staged_block)},
                "simulated",
            )  # fmt: skip

    def _addition(self) -> Part | None:
        working = ""
        if self._cut:
            held = self._working.against(self._view.texts)
            working = self._store.lines(held, self.whole("recallLimit"))
        text = block(self._staged_block, self._recalled, working)
        if not text:
            self._system = None
        elif self._system is None or self._system.text != text:
            self._system = made("system", text, segment="recalled", reason="recalled into the system prompt")
        return self._system

    # ---- ends of turns, and the host's wish for room ----

    def after_turn(self, messages: Sequence[ReplayMessage]) -> None:
        """The run ends: text that no segment took is dropped, a flagged answer is revised, the turn is counted."""
        for buffer in self._buffers.values():
            buffer.text = ""
        if self._is_flagged and messages:
            self.host.told("answer.revised", {"run": _run(messages[-1]), "reason": "interrupt"}, "simulated")
        self._is_flagged = False
        cost = self._costs.end_turn()
        if cost is not None:
            self.host.told("consolidation", event_data(cost), "simulated")

    def compact(self, request: CompactRequest) -> CompactResult:
        """Move the window as far as the mode allows; budget, count and force are not looked at (4.5)."""
        view = self._view
        if self.flag("autoConsolidate"):
            data = {"where": "compact", "hint": self._costs.hint, "ok": True}
            self.host.told("consolidation", data, "simulated")
            self._costs.consolidated()
        length = self._seen or len(view.messages)
        if not length:
            return CompactResult(False, "there is no message to archive")
        cut = view.cut(length, self._mode, self.whole("protectTail"))
        dropped = view.dropped(cut)
        if cut <= 0 or not dropped:
            self._finished(False, None, None, "nothing before the protected window to archive")
            return CompactResult(False, "nothing before the protected window to archive")
        before = view.tokens(0, 0, length)
        previous, self._anchor = self._cut, view.anchor(cut, self.host.now() or None)
        if cut != previous:
            self._move(cut)
        after = view.tokens(cut, self._head_units + self._bridge_units, length)
        reason = archived_sentence(dropped, self._mode)
        if cut != previous:
            self._archived(previous, cut, before, after, reason, is_forced=request.is_forced)
        self._finished(True, before, after, reason)
        return CompactResult(True, reason, before, after, reason)

    def _archived(self, previous: int, cut: int, before: int, after: int, reason: str, *, is_forced: bool) -> None:
        assert self._anchor is not None
        gone = [one for one in self._view.messages[previous:cut] if one.role not in ("system", "developer")]
        for one in gone:
            if one.text:
                self.host.keep(handle_of(one.text), one, one.text)
        data = {"cutIndex": cut, "previousCut": previous or None, "mode": self._mode}
        self.host.told("window.moved", self._anchor_data(self._anchor) | data, "exact")
        self.host.compacted(
            CompactionMade(
                "trim", "overflow" if is_forced else "host", before, after, tuple(one.seq for one in gone),
                reason=reason,
                data={"cut": cut, "dropped": self._anchor.dropped, "mode": self._mode, "scope": self.scope},
            )
        )  # fmt: skip

    def _finished(self, compacted: bool, before: int | None, after: int | None, reason: str) -> None:
        quality: Quality = "exact"
        data = {"strategy": "window", "tokensBefore": before, "tokensAfter": after, "compacted": compacted}
        self.host.told("compaction.finished", {**data, "reason": reason}, quality)

    def _anchor_data(self, anchor: Anchor) -> dict[str, str | int | None]:
        return {
            "scope": self.scope, "role": anchor.role, "textPrefix": anchor.prefix, "dropped": anchor.dropped,
        }  # fmt: skip


def _run(message: ReplayMessage) -> str:
    return f"turn-{message.turn}"
