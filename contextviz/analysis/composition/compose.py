"""What was in the window at each call: tokens by category, and the signed rest to the reported prompt."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from contextviz.analysis.composition.calibration import Calibration, Key, Sample, Unlogged, calibrate
from contextviz.analysis.composition.categories import CATEGORIES, POSITION, Category, category_of, item_tokens
from contextviz.events.call import ModelCall
from contextviz.events.session import Transcript
from contextviz.events.snapshot import SnapshotLog

Basis = Literal["reported", "derived", "estimated", "unknown"]


@dataclass(frozen=True, slots=True)
class WindowSums:
    """Estimated tokens of one snapshot by category (in the order of CATEGORIES), and what it does not log.

    `grew` is whether the snapshot keeps the whole previous window of its agent.
    """

    estimated: tuple[int, ...]
    unlogged: Unlogged
    grew: bool
    items: int

    @property
    def total(self) -> int:
        """Estimated tokens of the whole window."""
        return sum(self.estimated)


@dataclass(frozen=True, slots=True)
class Composition:
    """One call's window tokens by category. Σ of the known parts + `residual` = `reported`, exactly.

    `tokens` are in the order of CATEGORIES; None where a part is there but its size cannot be known. Without
    a reported prompt, `reported` and `residual` are None and the parts are estimates.
    """

    call_index: int
    agent: str | None
    tokens: tuple[int | None, ...]
    reported: int | None
    residual: int | None
    scale_basis: Literal["derived", "estimated"] = "estimated"
    baseline_category: Category | None = None
    has_snapshot: bool = True
    note: str | None = None

    @property
    def parts(self) -> dict[Category, int | None]:
        """Tokens by category, in stack order."""
        return dict(zip(CATEGORIES, self.tokens, strict=True))

    @property
    def known(self) -> int:
        """The sum of the parts whose size is known."""
        return sum(part for part in self.tokens if part is not None)

    @property
    def total(self) -> int:
        """The window's tokens: reported, else the sum of the known parts."""
        return self.known if self.reported is None else self.reported

    @property
    def bases(self) -> dict[Category, Basis]:
        """Where each part's number comes from; a scaled estimate and a baseline are derived."""
        return {category: self._basis(category, part) for category, part in self.parts.items()}

    def _basis(self, category: Category, part: int | None) -> Basis:
        if part is None or not self.has_snapshot:
            return "unknown"
        return "derived" if category == self.baseline_category else self.scale_basis


def window_sums(log: SnapshotLog) -> Iterator[WindowSums]:
    """The sums of each snapshot, in order; costs what changed from window to window, not the windows."""
    meter = _Meter(log)
    for position in range(len(log.snapshots)):
        yield meter.measure(position)


def category_sums(log: SnapshotLog) -> list[tuple[int, ...]]:
    """Estimated tokens of each snapshot by category, in the order of CATEGORIES."""
    return [sums.estimated for sums in window_sums(log)]


class _Meter:
    """Walks the snapshots once and keeps, for each chain's newest one, its window and sums.

    The last two columns count system and tool-definition items, whose absence means that they are not logged.
    """

    def __init__(self, log: SnapshotLog):
        self._log = log
        self._places = [POSITION[category_of(item)] for item in log.table.items]
        self._tokens = [item_tokens(item) for item in log.table.items]
        self._extra = [{"system": 11, "tools": 12}.get(item.kind) for item in log.table.items]
        self._tips: dict[int, tuple[list[int], list[int]]] = {}

    def measure(self, position: int) -> WindowSums:
        snapshot = self._log.snapshots[position]
        window, sums = self._tip(snapshot.previous)
        grew = snapshot.previous is not None and snapshot.keep == len(window)
        self._count(window[snapshot.keep :], sums, -1)
        del window[snapshot.keep :]
        self._count(snapshot.tail, sums, 1)
        window.extend(snapshot.tail)
        self._tips[position] = (window, sums)
        unlogged: Unlogged = ("none" if sums[11] else "system") if sums[12] else ("tools" if sums[11] else "both")
        return WindowSums(tuple(sums[:11]), unlogged, grew, len(window))

    def _tip(self, previous: int | None) -> tuple[list[int], list[int]]:
        if previous is None:
            return [], [0] * 13
        known = self._tips.pop(previous, None)
        if known is not None:
            return known
        window = self._log.positions(previous)
        sums = [0] * 13
        self._count(window, sums, 1)
        return window, sums

    def _count(self, numbers: list[int] | tuple[int, ...], sums: list[int], sign: int) -> None:
        for number in numbers:
            sums[self._places[number]] += sign * self._tokens[number]
            extra = self._extra[number]
            if extra is not None:
                sums[extra] += sign


def reported_prompt(call: ModelCall) -> int | None:
    """The prompt tokens the provider reported for `call`, or None."""
    return call.usage.prompt_tokens if call.basis == "reported" else None


def calibrations(transcript: Transcript, sums: list[WindowSums]) -> dict[Key, Calibration]:
    """Calibrations from all calls of `transcript` that were reported and whose whole window is known."""
    samples = []
    for snapshot, window in zip(transcript.log.snapshots, sums, strict=True):
        call = transcript.calls[snapshot.call_index]
        reported = reported_prompt(call)
        if reported is not None and call.purpose == "turn" and snapshot.basis != "partial":
            samples.append(Sample(call.agent, call.model, reported, window.total, window.unlogged, window.grew))
    return calibrate(samples)


def compose(call: ModelCall, window: WindowSums | None, calibration: Calibration | None) -> Composition:
    """The composition of one call from its window's sums; without a window everything is residual."""
    reported = reported_prompt(call)
    if window is None:
        note = "What the model was given at this call is not known."
        return Composition(
            call.index, call.agent, (None,) * len(CATEGORIES), reported, reported, has_snapshot=False, note=note
        )
    calibration = calibration or Calibration(note="No reported prompt to compare with; the parts are estimates.")
    tokens: list[int | None] = [round(part * calibration.scale) for part in window.estimated]
    for category in _unlogged_categories(window.unlogged):
        place = POSITION[category]
        if category == calibration.baseline_category and calibration.baseline is not None:
            tokens[place] = (tokens[place] or 0) + calibration.baseline
        elif not tokens[place]:
            tokens[place] = None
    residual = None if reported is None else reported - sum(part for part in tokens if part is not None)
    return Composition(
        call.index,
        call.agent,
        tuple(tokens),
        reported,
        residual,
        calibration.scale_basis,
        calibration.baseline_category,
        note=calibration.note,
    )


def _unlogged_categories(unlogged: Unlogged) -> tuple[Category, ...]:
    if unlogged == "both":
        return ("system", "tools")
    return () if unlogged == "none" else (unlogged,)


def compositions(transcript: Transcript, sums: list[WindowSums] | None = None) -> list[Composition]:
    """The composition of every call of `transcript`, in the order of its calls; `sums` where they are there already."""
    sums = list(window_sums(transcript.log)) if sums is None else sums
    found = calibrations(transcript, sums)
    by_call = {snapshot.call_index: window for snapshot, window in zip(transcript.log.snapshots, sums, strict=True)}
    result = []
    for call in transcript.calls:
        window = by_call.get(call.index)
        key = None if window is None else (call.agent, call.model, window.unlogged)
        result.append(compose(call, window, None if key is None else found.get(key)))
    return result
