"""The session's own windows as a run, so that every engine is compared with what really happened."""

from __future__ import annotations

from collections.abc import Mapping

from contextviz.engines.engine import AssembleRequest, EngineSpec, Host, ReplayEngine
from contextviz.engines.material import Material
from contextviz.engines.replay import RunRequest, replay
from contextviz.engines.settings import Value
from contextviz.engines.summaries import RuleSummariser
from contextviz.engines.window import Assembly, CompactionMade, Part, PartPiece
from contextviz.events.compaction import Compaction
from contextviz.events.run import Run
from contextviz.events.snapshot import ContextItem
from contextviz.events.text import TextPool

_NONE = RuleSummariser("none", lambda request: "")


class RecordedWindows(ReplayEngine):
    """Decides nothing: gives the window that was recorded for each call, without system prompt and tools."""

    spec = EngineSpec(
        "recorded", "1", "As recorded", "The windows the session's own client gave its model.", "8.3",
        qualities={"window": "exact", "boundaries": "exact"},
        simulated="Recorded windows are shown without system prompt and tools, which are counted beside the messages.",
    )  # fmt: skip

    def __init__(self, host: Host, settings: Mapping[str, Value]) -> None:
        super().__init__(host, settings)
        self._own = host.material.recorded
        self._calls = [point.model_call for point in host.material.points]
        self._left: list[Compaction] = list(self._own.compactions) if self._own else []
        self._made: dict[int, Part | None] = {}  # by position in the table; None: not of the messages
        self._held: list[Part | None] = []  # by place in the recorded window
        self._next = 0
        self._window: list[Part] = []
        self._messages = 0

    def assemble(self, request: AssembleRequest) -> Assembly:
        """The recorded window; an empty one where none was."""
        call = self._calls[request.call] if request.call < len(self._calls) else None
        if self._own is None or call is None or not self._read(call):
            return Assembly([], mode="not recorded")
        window = [part for part in self._held if part is not None]
        self._tell(call, window, len(request.messages))
        self._window, self._messages = window, len(request.messages)
        return Assembly(window)

    def _read(self, call: int) -> bool:
        """Go on to the snapshot of `call`; each is a difference to the one before it."""
        assert self._own is not None
        while self._next < len(self._own.places):
            snapshot = self._own.log.snapshots[self._own.places[self._next]]
            if snapshot.call_index > call:
                return False
            self._next += 1
            keep = snapshot.keep if snapshot.previous is not None else 0
            del self._held[keep:]
            self._held.extend(map(self._part, snapshot.tail))
            if snapshot.call_index == call:
                return True
        return False

    def _part(self, position: int) -> Part | None:
        if position not in self._made:
            assert self._own is not None
            self._made[position] = self._of(self._own.log.table.items[position])
        return self._made[position]

    def _of(self, item: ContextItem) -> Part | None:
        assert self._own is not None
        if item.kind in ("system", "tools"):
            return None
        seq = self._own.seqs.get(item.message_index) if item.message_index is not None else None
        message = self.host.material.messages[seq] if seq is not None else None
        text = "" if item.kind == "image" else self._own.text(item.text)
        piece = PartPiece(
            item.kind, text, None, item.state, item.tool_name, item.tool_call_id, item.is_error,
        )  # fmt: skip
        return Part(
            item.role, message, (piece,), segment="summary" if item.kind == "summary" else "message",
            reason=item.reason, node=item.entry,
        )  # fmt: skip

    def _tell(self, call: int, window: list[Part], messages: int) -> None:
        """Which boundaries lie before this call; what left the window is of the last of them."""
        passed = [one for one in self._left if one.after_call is not None and one.after_call <= call]
        if not passed:
            return
        self._left = [one for one in self._left if one.after_call is None or one.after_call > call]
        before = _seqs(self._window).union(range(self._messages, messages))
        for one in passed[:-1]:
            self._boundary(one, ())
        self._boundary(passed[-1], tuple(sorted(before - _seqs(window))))

    def _boundary(self, one: Compaction, dropped: tuple[int, ...]) -> None:
        assert self._own is not None
        self.host.compacted(
            CompactionMade(
                one.kind, one.trigger or "unknown", one.tokens_before, one.tokens_after, dropped,
                summary=self._own.text(one.summary) if one.summary is not None else None,
                reason=one.summary_note or f"recorded boundary {one.number}",
            )
        )  # fmt: skip


def _seqs(window: list[Part]) -> set[int]:
    return {part.message.seq for part in window if part.message is not None}


def recorded_run(material: Material, pool: TextPool, request: RunRequest | None = None) -> Run:
    """The session's own windows as a run. `material` is what `reading.material_of` gave."""
    run = replay(material, RecordedWindows, request or RunRequest(), pool=pool, summarise=_NONE)
    if material.recorded is None:
        run.notes.append("The session has no recorded windows: every one of this run is empty.")
    return run
