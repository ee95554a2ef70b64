"""Tokens by tool and by file, and tool uses that were answered before without a change in between."""

from __future__ import annotations

import posixpath
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


@dataclass(slots=True)
class _Sum:
    uses: int = 0
    errors: int = 0
    writes: int = 0
    results: int = 0
    asked: int = 0
    carry: float = 0.0
    now: float = 0.0

    def add(self, carry: float, now: float) -> None:
        self.carry += carry
        self.now += now


def per_tool_and_file(
    walk: Walk, shares: Shares, uses: Sequence[ToolUse]
) -> tuple[list[ToolTotal], list[FileTotal], int, int]:
    """Totals of the tools and of the files with the dearest carry, and how many of each there are."""
    tools: dict[str, _Sum] = defaultdict(_Sum)
    files: dict[str, _Sum] = defaultdict(_Sum)
    for use in uses:
        _count(tools[use.target.tool], use)
        if use.target.kind == "file":
            _count(files[use.target.text], use)
    rows = [
        [*([tools[tool]] if tool else ()), *([files[target]] if kind == "file" else ())]
        for _, tool, target, kind in shares.keys
    ]
    for place, now, carry in zip(shares.kinds, shares.now, shares.carry, strict=True):
        for row in rows[place]:
            row.add(carry, now)
    scale = walk.last_rate.scale
    last = last_uses(uses)
    listed = _tools(_dearest(tools, MOST_TOOLS), scale), _files(_dearest(files, MOST_FILES), scale, last)
    return *listed, len(tools), len(files)


def _dearest(sums: Mapping[str, _Sum], most: int) -> dict[str, _Sum]:
    return dict(sorted(sums.items(), key=lambda pair: (-pair[1].carry, -pair[1].results, pair[0]))[:most])


def _count(row: _Sum, use: ToolUse) -> None:
    row.uses += 1
    row.writes += use.target.effect == "write"
    row.asked += use.call_ref.estimated_tokens
    if use.result is not None:
        row.results += use.result.text.estimated_tokens
        row.errors += use.result.is_error


def _tools(sums: Mapping[str, _Sum], scale: float) -> list[ToolTotal]:
    return [
        ToolTotal(
            name, row.uses, row.errors, round(row.results * scale), round(row.asked * scale), round(row.carry),
            round(row.now),
        )
        for name, row in sums.items()
    ]  # fmt: skip


def _files(sums: Mapping[str, _Sum], scale: float, last: Mapping[str, int]) -> list[FileTotal]:
    return [
        FileTotal(
            path, row.uses - row.writes, row.writes, round(row.results * scale), round(row.carry), round(row.now),
            last.get(path),
        )
        for path, row in sums.items()
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
