"""The logs' rows tied to the calls of a transcript: which request is which answer, and what each of its messages is."""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from contextviz.events.call import ModelCall
from contextviz.events.evidence import TracedMessage, TracedWindow
from contextviz.events.problem import ReadProblem
from contextviz.events.snapshot import ContextItem
from contextviz.sources.openclaw.draft import Draft
from contextviz.sources.openclaw.nodes import BOUNDARIES
from contextviz.sources.openclaw.traces.cuts import is_cut
from contextviz.sources.openclaw.traces.fingerprints import Imprints
from contextviz.sources.openclaw.traces.identity import LOGS, Identities
from contextviz.sources.openclaw.traces.values import Json, SessionTrace, ToolKey, TracedRow
from contextviz.sources.values import as_text

NO_TOOLS: ToolKey = ("", ())
Moment = tuple[datetime, ModelCall]


def joined(draft: Draft, trace: SessionTrace) -> list[TracedWindow]:
    """What the logs say of each call of a transcript, in the order in which the answers began."""
    nodes = [node for node in draft.tree.nodes if node.call is not None]
    calls = [(at, draft.calls[node.call or 0]) for node in nodes if (at := node.said_at or node.at) is not None]
    calls.sort(key=lambda pair: pair[0])
    imprints = trace.imprints
    requests = _by_call(calls, trace.requests, imprints)
    openings = _by_call(calls, trace.openings, imprints, is_many=True)
    ties = _Ties(draft, trace, Identities(draft.pool, trace, imprints))
    made = (ties.window(one, requests.get(one[1].index), openings.get(one[1].index)) for one in calls)
    return [window for window in made if window is not None]


def leftovers(trace: SessionTrace, windows: Sequence[TracedWindow]) -> Iterator[ReadProblem]:
    """What of the cache trace belongs to no call of the transcript, so that nothing is left out silently."""
    file = trace.files[0] if trace.files else None
    used = sum(window.source == "cache_trace" and window.messages is not None for window in windows)
    left = len(trace.requests) - used
    if left > 0:
        said = f"{left} requests of the cache trace have no answer in the transcript (failed, or not written down)"
        yield ReadProblem("trace_unmatched", said, "info", file, None, None, left)
    if trace.apart:
        said = (
            f"{trace.apart} requests of the cache trace are runs that the client keeps to itself (memory flushes): they"
            f" have no row in the transcript; their prompts report {trace.apart_tokens} tokens"
        )
        yield ReadProblem("trace_apart", said, "info", file, None, None, trace.apart)


def _by_call(
    calls: Sequence[tuple[datetime, ModelCall]], rows: Sequence[TracedRow], imprints: Imprints, *, is_many: bool = False
) -> dict[int, TracedRow]:
    """The row that each call belongs to: the last one before its answer began. A request has one answer, a run many;
    a run id that differs, or usage that does, says that they do not belong together."""
    ordered = sorted(rows, key=lambda row: row.at)
    times = [row.at for row in ordered]
    found: dict[int, TracedRow] = {}
    used: set[int] = set()
    for moment, call in calls:
        place = bisect_right(times, moment) - 1
        if place < 0 or (place in used and not is_many) or not _fits(ordered[place], call, imprints):
            continue
        until = ordered[place].until
        if until is not None and until < moment:
            continue
        used.add(place)
        found[call.index] = ordered[place]
    return found


def _fits(row: TracedRow, call: ModelCall, imprints: Imprints) -> bool:
    run = imprints.runs.get(call.entry or "")
    if run is not None and row.run is not None and run != row.run:
        return False
    usage = call.usage
    said = (usage.input_tokens or 0, usage.cache_read_tokens or 0, usage.cache_write_tokens or 0)
    return row.usage is None or row.usage == said


@dataclass(slots=True)
class _Ties:
    """Turns rows into windows. `firsts` is the entry of each run's first answer, by the row that opened it."""

    draft: Draft
    trace: SessionTrace
    identities: Identities
    firsts: dict[int, str | None] = field(default_factory=dict)
    sets: dict[ToolKey, tuple[ContextItem, ...]] = field(default_factory=dict)
    boundaries: list[datetime] = field(default_factory=list)

    def __post_init__(self) -> None:
        nodes = self.draft.tree.nodes
        self.boundaries = sorted(n.at for n in nodes if n.kind in BOUNDARIES and n.at is not None)
        for row in self.trace.openings:
            key = self._tool_key(row)
            named = {as_text(tool.get("name")): tool for tool in row.tools}
            if key is None or key in self.sets or not all(name in named for name in key[1]):
                continue
            # A part of them would pass for the whole: the rest of their tokens would be the system prompt's.
            if not any(is_cut(named[name]) for name in key[1]):
                self.sets[key] = tuple(self._tool(named[name]) for name in key[1])

    def window(self, moment: Moment, request: TracedRow | None, opening: TracedRow | None) -> TracedWindow | None:
        """What is said of one call: by its own request, else by its run's opening where it is the run's first."""
        at, call = moment
        row = request or opening
        if row is None:
            return None
        messages, before = None, None
        if opening is not None:
            is_first = id(opening) not in self.firsts
            before = self.firsts.setdefault(id(opening), call.entry)
            if is_first and opening.prompt is not None and self._is_plain(opening.at, at):
                messages = (*self.identities.messages(opening), self._prompt(opening))
        if request is not None:
            messages = tuple(self.identities.messages(request))
        key = self._tool_key(row) or NO_TOOLS
        return TracedWindow(
            call_index=call.index,
            source=row.source,
            file=row.file,
            line=row.line,
            messages=messages,
            system=self._system(request, opening),
            system_chars=opening.system_chars if opening is not None else None,
            tools=self.sets.get(key, ()),
            tool_names=key[1],
            opening_before=before,
            is_literal=request is not None,
        )

    def _is_plain(self, start: datetime, end: datetime) -> bool:
        """Whether nothing was compacted between a run's opening and its first answer: the window is another then."""
        return bisect_right(self.boundaries, start) == bisect_right(self.boundaries, end)

    def _prompt(self, opening: TracedRow) -> TracedMessage:
        text = self.draft.pool.put(opening.prompt or "")
        reason = "what opened the run, in the trajectory and not in the transcript"
        return TracedMessage("user", None, (ContextItem("user", "text", text, reason=reason),))

    def _system(self, request: TracedRow | None, opening: TracedRow | None) -> ContextItem | None:
        for row in (request, opening):
            if row is not None and row.system is not None:
                reason = f"system prompt, from the {LOGS[row.source]}"
                return ContextItem("system", "system", self.draft.pool.put(row.system), reason=reason)
        return None

    def _tool_key(self, row: TracedRow) -> ToolKey | None:
        """Which tools a row's run offered: as the cache trace names them, else all of a list as long as was said."""
        run = row.run or ""
        named = self.trace.tool_names.get(run)
        if named is not None or not row.tools or len(row.tools) != self.trace.tool_counts.get(run):
            return named
        return ("", tuple(as_text(tool.get("name")) or "" for tool in row.tools))

    def _tool(self, tool: Json) -> ContextItem:
        text = self.draft.pool.put(json.dumps(tool, ensure_ascii=False))
        reason = "tool definition, from the trajectory"
        return ContextItem("system", "tools", text, reason=reason, tool_name=as_text(tool.get("name")))
