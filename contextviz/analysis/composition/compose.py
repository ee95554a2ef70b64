"""What was in the window at each call: tokens by category, and the signed rest to the reported prompt."""

from __future__ import annotations

from array import array
from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from contextviz.analysis.composition.calibration import Calibration, Key, Sample, Unlogged, calibrate
from contextviz.analysis.composition.categories import CATEGORIES, POSITION, Category, category_of, item_tokens
from contextviz.analysis.composition.summarising import LESS_TOOLS, NO_TOOLS, NOT_KNOWN, summary_rates, without_tools
from contextviz.events.call import ModelCall
from contextviz.events.frozen import frozen
from contextviz.events.session import Transcript
from contextviz.events.snapshot import SnapshotLog

Basis = Literal["reported", "derived", "estimated", "unknown"]


@frozen
class WindowSums:
    """Estimated tokens of one snapshot by category (in the order of CATEGORIES), and what it does not log.

    `grew` is whether the snapshot keeps the whole previous window of its agent, but for what the client put into that
    one request alone.
    """

    estimated: tuple[int, ...]
    unlogged: Unlogged
    grew: bool
    items: int

    @property
    def total(self) -> int:
        """Estimated tokens of the whole window."""
        return sum(self.estimated)


@frozen
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


class SumsColumns:
    """The WindowSums of every snapshot in columns of numbers: an object for each is the larger part of their memory.

    `estimated` holds len(CATEGORIES) numbers for each snapshot, one after the other.
    """

    def __init__(self, sums: Iterable[WindowSums]) -> None:
        self.estimated = array("q")
        self._unlogged: list[Unlogged] = []
        self._grew = bytearray()
        self._items = array("q")
        for one in sums:
            self.estimated.extend(one.estimated)
            self._unlogged.append(one.unlogged)
            self._grew.append(one.grew)
            self._items.append(one.items)

    def __len__(self) -> int:
        return len(self._items)

    def __iter__(self) -> Iterator[WindowSums]:
        return map(self.__getitem__, range(len(self)))

    def __getitem__(self, position: int) -> WindowSums:
        start = position * len(CATEGORIES)
        estimated = tuple(self.estimated[start : start + len(CATEGORIES)])
        return WindowSums(estimated, self._unlogged[position], bool(self._grew[position]), self._items[position])

    def unlogged(self, position: int) -> Unlogged:
        """What snapshot `position` does not log."""
        return self._unlogged[position]


@dataclass(frozen=True, slots=True)
class Measures:
    """What several questions ask of one transcript, worked out once: category and estimated tokens of each item of the
    table, the sums of each snapshot, the calibrations, and those of calls that are no turns by model."""

    categories: list[Category]
    tokens: array[int]
    sums: SumsColumns
    rates: dict[Key, Calibration]
    summary_rates: dict[str | None, Calibration]

    def rate(self, call: ModelCall, unlogged: Unlogged) -> Calibration:
        """The calibration of a call's window, of which `unlogged` is not logged; plain estimates where none fits."""
        if call.purpose == "turn":
            known = self.rates.get((call.agent, call.model, unlogged))
            return known or (_UNKNOWN if reported_prompt(call) is None else _NOT_COMPARED)
        rate = self.summary_rates.get(call.model, _UNKNOWN)
        told = NO_TOOLS if unlogged in ("none", "system") else NOT_KNOWN
        return replace(rate, note=f"{rate.note} {told}" if rate.note else told)


def measure(transcript: Transcript) -> Measures:
    """Measure the windows of `transcript`; costs what changed from window to window, not the windows."""
    items = transcript.log.table.items
    categories = list(map(category_of, items))
    tokens = array("q", map(item_tokens, items))
    sums = SumsColumns(_as_sent(transcript, _sums(_Meter(transcript.log, categories, tokens))))
    rates = calibrations(transcript, sums)
    return Measures(categories, tokens, sums, rates, summary_rates(rates))


def _as_sent(transcript: Transcript, sums: Iterable[WindowSums]) -> Iterator[WindowSums]:
    """The sums of each snapshot; what a request is known not to hold is not unlogged there."""
    toolless: Container[int] = without_tools(transcript)
    for snapshot, window in zip(transcript.log.snapshots, sums, strict=True):
        is_toolless = snapshot.call_index in toolless
        yield replace(window, unlogged=LESS_TOOLS[window.unlogged]) if is_toolless else window


def window_sums(log: SnapshotLog) -> Iterator[WindowSums]:
    """The sums of each snapshot, in order; costs what changed from window to window, not the windows."""
    items = log.table.items
    return _sums(_Meter(log, map(category_of, items), array("q", map(item_tokens, items))))


def _sums(meter: _Meter) -> Iterator[WindowSums]:
    return map(meter.measure, range(meter.length))


def category_sums(log: SnapshotLog) -> list[tuple[int, ...]]:
    """Estimated tokens of each snapshot by category, in the order of CATEGORIES."""
    return [sums.estimated for sums in window_sums(log)]


_EXTRA = {"system": 11, "tools": 12}


class _Meter:
    """Walks the snapshots once and keeps, for each chain's newest one, its window and sums.

    The last two columns count system and tool-definition items, whose absence means that they are not logged.
    """

    def __init__(self, log: SnapshotLog, categories: Iterable[Category], tokens: Sequence[int]):
        self._log = log
        self.length = len(log.snapshots)
        self._places = bytes(map(POSITION.__getitem__, categories))
        self._tokens = tokens
        self._extra = {at: _EXTRA[item.kind] for at, item in enumerate(log.table.items) if item.kind in _EXTRA}
        items = log.table.items
        self._passing = {at for at, item in enumerate(items) if item.kind == "injected" and item.entry is None}
        self._tips: dict[int, tuple[list[int], list[int]]] = {}

    def measure(self, position: int) -> WindowSums:
        snapshot = self._log.snapshots[position]
        window, sums = self._tip(snapshot.previous)
        # What the client adds to one request alone stands at its end and moves on with the next.
        grew = snapshot.previous is not None and self._passing.issuperset(window[snapshot.keep :])
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
        places, tokens, extra = self._places, self._tokens, self._extra
        for number in numbers:
            sums[places[number]] += sign * tokens[number]
            if number in extra:
                sums[extra[number]] += sign


def reported_prompt(call: ModelCall) -> int | None:
    """The prompt tokens the provider reported for `call`, or None."""
    return call.usage.prompt_tokens if call.basis == "reported" else None


def calibrations(transcript: Transcript, sums: Iterable[WindowSums]) -> dict[Key, Calibration]:
    """Calibrations from all calls of `transcript` that were reported and whose whole window is known."""
    samples = []
    for snapshot, window in zip(transcript.log.snapshots, sums, strict=True):
        call = transcript.calls[snapshot.call_index]
        reported = reported_prompt(call)
        if reported is not None and call.purpose == "turn" and snapshot.basis != "partial":
            samples.append(Sample(call.agent, call.model, reported, window.total, window.unlogged, window.grew))
    return calibrate(samples)


_UNKNOWN = Calibration(note="No reported prompt to compare with; the parts are estimates.")
# Reported, and no sample: its window is known in part only.
_NOT_COMPARED = Calibration(
    note="Only a part of the window is in the records, so the estimates are not scaled to the reported prompt."
)


def compose(call: ModelCall, window: WindowSums | None, calibration: Calibration | None) -> Composition:
    """The composition of one call from its window's sums; without a window everything is residual."""
    reported = reported_prompt(call)
    if window is None:
        note = "What the model was given at this call is not known."
        return Composition(
            call.index, call.agent, (None,) * len(CATEGORIES), reported, reported, has_snapshot=False, note=note
        )
    calibration = calibration or _UNKNOWN
    return _composed(call, reported, window, calibration, _Scaler().scaled(window.estimated, calibration.scale))


def _composed(
    call: ModelCall, reported: int | None, window: WindowSums, calibration: Calibration, scaled: list[int]
) -> Composition:
    tokens: list[int | None] = [*scaled]
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


def compositions(transcript: Transcript, measures: Measures | None = None) -> list[Composition]:
    """The composition of every call of `transcript`, in the order of its calls; `measures` where they are there
    already."""
    known = measure(transcript) if measures is None else measures
    # Snapshots by call; -1 where a call has none.
    by_call = array("q", [-1]) * len(transcript.calls)
    for position, snapshot in enumerate(transcript.log.snapshots):
        by_call[snapshot.call_index] = position
    result = []
    scaler = _Scaler()
    for call in transcript.calls:
        if by_call[call.index] < 0:
            result.append(compose(call, None, None))
            continue
        window = known.sums[by_call[call.index]]
        calibration = known.rate(call, window.unlogged)
        scaled = scaler.scaled(window.estimated, calibration.scale)
        result.append(_composed(call, reported_prompt(call), window, calibration, scaled))
    return result


class _Scaler:
    """Scales the sums of neighbouring windows, of which most parts are the same: equal numbers are one object."""

    def __init__(self) -> None:
        self._scale = 1.0
        self._before: tuple[int, ...] = ()
        self._scaled: list[int] = []

    def scaled(self, estimated: tuple[int, ...], scale: float) -> list[int]:
        if scale != self._scale or not self._before:
            self._scaled = [round(part * scale) for part in estimated]
        else:
            known = zip(estimated, self._before, self._scaled, strict=True)
            self._scaled = [old if part == before else round(part * scale) for part, before, old in known]
        self._before, self._scale = estimated, scale
        return self._scaled
