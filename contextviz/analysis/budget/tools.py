"""Tokens by tool and by file, and tool uses that were answered before without a change in between."""

from __future__ import annotations

import heapq
import posixpath
from array import array
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from contextviz.analysis.budget.items import Shares, last_uses
from contextviz.analysis.budget.residency import Walk
from contextviz.analysis.budget.tables import FileTotal, Repeat, TargetKind, ToolTotal
from contextviz.analysis.budget.targets import Target, ToolUse

MOST_TOOLS = 60
MOST_FILES = 100
MOST_REPEATS = 60


class _Sums:
    """Sums by name in columns of numbers: a session has tens of thousands of files, and an object each is megabytes."""

    def __init__(self) -> None:
        self.places: dict[str, int] = {}
        self.uses, self.errors, self.writes = array("q"), array("q"), array("q")
        self.results, self.asked = array("q"), array("q")
        self.carry, self.now = array("d"), array("d")

    def place(self, name: str) -> int:
        """Where a name's sums are; a new one has zeros."""
        found = self.places.setdefault(name, len(self.carry))
        if found == len(self.carry):
            for whole in (self.uses, self.errors, self.writes, self.results, self.asked):
                whole.append(0)
            self.carry.append(0.0)
            self.now.append(0.0)
        return found

    def count(self, name: str, use: ToolUse) -> None:
        at = self.place(name)
        self.uses[at] += 1
        self.writes[at] += use.target.effect == "write"
        self.asked[at] += use.call_ref.estimated_tokens
        if use.result is not None:
            self.results[at] += use.result.text.estimated_tokens
            self.errors[at] += use.result.is_error

    def add(self, at: int, carry: float, now: float) -> None:
        self.carry[at] += carry
        self.now[at] += now

    def dearest(self, most: int) -> list[tuple[str, int]]:
        """The names with the dearest carry, dearest first, with their places."""
        return heapq.nsmallest(
            most, self.places.items(), key=lambda pair: (-self.carry[pair[1]], -self.results[pair[1]], pair[0])
        )


def per_tool_and_file(
    walk: Walk, shares: Shares, uses: Sequence[ToolUse]
) -> tuple[list[ToolTotal], list[FileTotal], int, int]:
    """Totals of the tools and of the files with the dearest carry, and how many of each there are."""
    tools, files = _Sums(), _Sums()
    for use in uses:
        tools.count(use.target.tool, use)
        if use.target.kind == "file":
            files.count(use.target.text, use)
    tool_places = array("q", (tools.place(tool) if tool else -1 for _, tool, _, _ in shares.keys))
    file_places = array("q", (files.place(target) if kind == "file" else -1 for _, _, target, kind in shares.keys))
    for kind_at, now, carry in zip(shares.kinds, shares.now, shares.carry, strict=True):
        for sums, at in ((tools, tool_places[kind_at]), (files, file_places[kind_at])):
            if at >= 0:
                sums.add(at, carry, now)
    scale = walk.last_rate.scale
    listed = _tools(tools, scale), _files(files, scale, last_uses(uses))
    return *listed, len(tools.places), len(files.places)


def _tools(sums: _Sums, scale: float) -> list[ToolTotal]:
    return [
        ToolTotal(
            name, sums.uses[at], sums.errors[at], round(sums.results[at] * scale), round(sums.asked[at] * scale),
            round(sums.carry[at]), round(sums.now[at]),
        )
        for name, at in sums.dearest(MOST_TOOLS)
    ]  # fmt: skip


def _files(sums: _Sums, scale: float, last: Mapping[str, int]) -> list[FileTotal]:
    return [
        FileTotal(
            path, sums.uses[at] - sums.writes[at], sums.writes[at], round(sums.results[at] * scale),
            round(sums.carry[at]), round(sums.now[at]), last.get(path),
        )
        for path, at in sums.dearest(MOST_FILES)
    ]  # fmt: skip


@dataclass(slots=True)
class _Changes:
    """How often each file changed as far as tool calls say, counted up."""

    files: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    names: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    everything: int = 0
    any: int = 0

    def note(self, target: Target) -> None:
        for path in target.changed:
            self.files[path] += 1
        for name in target.changed_names:
            self.names[name] += 1
        self.everything += target.changes_all
        self.any += bool(target.changed or target.changed_names or target.changes_all)

    def version(self, target: Target) -> tuple[int, ...]:
        """Equal at two moments exactly when nothing known changed what `target` looks at."""
        if target.kind == "file":
            return (self.files[target.text], self.names[posixpath.basename(target.text)], self.everything)
        # What a command or a search looks at is not known: any change may be one to it.
        return (self.any,)


@dataclass(slots=True)
class _Seen:
    use: ToolUse
    answer: bytes
    version: tuple[int, ...]
    # What came again: how often, its estimated tokens and carry, and the last one
    times: int = 0
    tokens: int = 0
    carry: float = 0.0
    last: ToolUse | None = None

    def add(self, use: ToolUse, carry: float) -> None:
        self.times += 1
        self.tokens += use.result.text.estimated_tokens if use.result else 0
        self.carry += carry
        self.last = use


def repeats(walk: Walk, uses: Sequence[ToolUse], carries: Mapping[str, float]) -> list[Repeat]:
    """Reads and commands asked again in the same words and answered with the same bytes, no change known in between.

    `carries` is the carry of a result's items by tool call id. The dearest come first. metrics.md 3 (rework bill).
    """
    changes = _Changes()
    latest: dict[tuple[str, bytes], _Seen] = {}
    runs: list[_Seen] = []
    again = _asked_again(uses)
    for use in uses:
        is_reader = use.target.effect != "write" and not use.target.changed_names and not use.target.changes_all
        if (
            is_reader
            and hash(use.signature) in again
            and use.result is not None
            and use.result.text.size
            and not use.result.is_synthetic
        ):
            version = changes.version(use.target)
            seen = latest.get(use.signature)
            if seen and seen.version == version and seen.answer == use.result.text.digest:
                seen.add(use, carries.get(use.id or "", 0.0))
            else:
                latest[use.signature] = run = _Seen(use, use.result.text.digest, version)
                runs.append(run)
        changes.note(use.target)
    found = [_repeat(run, run.last, walk.last_rate.scale) for run in runs if run.last is not None]
    return sorted(found, key=lambda row: (-row.tokens, row.first_call or 0, row.tool))


def _asked_again(uses: Sequence[ToolUse]) -> set[int]:
    """The hashes of signatures that came more than once: of most uses nothing need be remembered."""
    once: set[int] = set()
    found: set[int] = set()
    for use in uses:
        signature = hash(use.signature)
        (found if signature in once else once).add(signature)
    return found


def _repeat(run: _Seen, last: ToolUse, scale: float) -> Repeat:
    target, kind = run.use.target.text, run.use.target.kind
    shown: tuple[str, TargetKind] = (target, kind)
    return Repeat(
        run.use.target.tool, *shown, run.times, round(run.tokens * scale), round(run.carry), run.use.call, last.call,
        run.use.result_message, last.result_message,
    )  # fmt: skip
