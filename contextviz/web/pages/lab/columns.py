"""The runs that are compared, recorded and replayed alike: names, series and boundaries on the session's calls."""

from __future__ import annotations

from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from operator import lt
from threading import Lock
from typing import Any
from uuid import UUID

from contextviz.analysis.lab import places, reduced
from contextviz.analysis.strip import StripTable
from contextviz.charts import words
from contextviz.charts.lab import SIGNS
from contextviz.engines.engine import EngineSpec
from contextviz.store.queries import runs
from contextviz.store.queries.runs import RunRow, RunSeries
from contextviz.store.values import SessionRow
from contextviz.web.pages.boundary_words import window_words
from contextviz.web.pages.lab.place import KEY_CHARS, RECORDED

SIGN_NAMES = ("circle", "square", "triangle", "diamond")
MOST_SETTING_WORDS = 4
MOST_KEPT = 8  # of the longest sessions that is some 20 MB


@dataclass(frozen=True, slots=True)
class Column:
    """One run of the comparison.

    `numbers` are the session's calls that it has windows for, in order, `tokens` the size of each (None is unknown) by
    `basis`: reported by the provider, or estimated by `estimator`. `boundary_calls` are the calls right after its
    boundaries in order, side by side with their `boundary_numbers`; of `boundary_count` some may have none after them.
    """

    slot: int
    key: str
    name: str
    numbers: Sequence[int]
    tokens: Sequence[int | None]
    boundary_calls: Sequence[int]
    boundary_numbers: Sequence[int]
    boundary_count: int
    basis: str
    estimator: str
    window: int | None
    # Where the window is from, in words; "" where the source reported it
    window_from: str
    threshold: int | None
    # What is in every request beside the messages, counted in `tokens`
    system_tokens: int | None
    # None for what the agent really did
    run: RunRow | None = None
    # How many calls were beyond the budget
    over: int = 0
    # Mean and largest of what is known of `tokens`, None where nothing is
    mean: float | None = None
    peak: int | None = None
    # Of what was recorded: the scorecard of a replay of the recorded windows, {} without one
    scorecard: Mapping[str, Any] = field(default_factory=dict)

    @property
    def is_windowless(self) -> bool:
        """Whether it is a replay with calls and without an item in any of their windows, so that none is known."""
        return self.run is not None and self.run.call_count > 0 and not self.run.item_count

    @property
    def sign(self) -> str:
        """What stands for it in charts and tables: ● ■ ▲ ◆."""
        return SIGNS[self.slot - 1]

    @property
    def shape(self) -> str:
        """The sign's name, for readers."""
        return SIGN_NAMES[self.slot - 1]

    def index_at(self, call: int) -> int | None:
        """Which of its calls was made at call `call` of the session, or last before it; None where none was."""
        at = bisect_right(self.numbers, call) - 1
        return at if at >= 0 else None

    def boundary_at(self, call: int) -> tuple[int, int] | None:
        """Number and call of the last boundary before call `call` was made; None where none was."""
        at = bisect_right(self.boundary_calls, call) - 1
        return (self.boundary_numbers[at], self.boundary_calls[at]) if at >= 0 else None


@dataclass(frozen=True, slots=True)
class DrawnLane:
    """A column as charts.lab draws it: reduced, with all its boundaries."""

    name: str
    calls: list[int]
    tokens: list[int | None]
    boundaries: list[int]
    boundary_count: int
    peak: int | None
    window: int | None
    threshold: int | None


def run_key(run: RunRow) -> str:
    """What an address calls a run: the end of its id, which no two runs of a session share in practice."""
    return run.id.hex[-KEY_CHARS:]


def recorded_column(
    row: SessionRow, table: StripTable, slot: int, scorecard: Mapping[str, Any] | None = None
) -> Column:
    """The session as it was, from its strip; `scorecard` is that of a replay of the recorded windows."""
    tokens: Sequence[int | None] = table.reported
    is_estimated = None in table.reported
    if is_estimated:  # of tens of thousands of calls, as providers report them: nothing to add up
        sizes = [_sum_at(table, row) if one is None else one for row, one in enumerate(table.reported)]
        tokens, is_estimated = sizes, sizes != table.reported
    marks = sorted((mark.after_call, mark.number) for mark in table.compactions if mark.after_call is not None)
    window = next((value for value in reversed(table.window) if value is not None), row.window)
    mean, peak = _sizes(tokens)
    return Column(
        slot, RECORDED, "Recorded", table.calls, tokens, [call for call, _ in marks], [number for _, number in marks],
        len(table.compactions), "estimated" if is_estimated else "reported",
        "the provider's own count where it is reported", window, window_words(row.window_basis), table.threshold, None,
        mean=mean, peak=peak, scorecard=scorecard or {},
    )  # fmt: skip


def _sum_at(table: StripTable, row: int) -> int | None:
    known = [value for column in table.categories.values() if (value := column[row]) is not None]
    return sum(known) if known else None


def _sizes(tokens: Sequence[int | None]) -> tuple[float | None, int | None]:
    known: Sequence[int] = [one for one in tokens if one is not None] if None in tokens else tokens  # type: ignore[assignment]
    return (sum(known) / len(known), max(known)) if known else (None, None)


@dataclass(frozen=True, slots=True)
class _Read:
    """What a page needs of a run's series. A run that is done never changes, so it is read once."""

    numbers: list[int]
    tokens: Sequence[int | None]
    boundary_calls: list[int]
    boundary_numbers: list[int]
    boundary_count: int
    over: int
    mean: float | None
    peak: int | None


_kept: OrderedDict[tuple[UUID, str], _Read] = OrderedDict()
_keeping = Lock()


def _read(run: RunRow, system: int) -> _Read:
    """A run's series, kept for the next page; the run's row was read just now, so that it is there and may be seen."""
    key = (run.id, run.hash)
    with _keeping:
        found = _kept.get(key)
        if found is not None:
            _kept.move_to_end(key)
            return found
    series = runs.series(run)
    numbers = numbers_of(series)
    # Without an item in any window none of them is known: the system prompt alone is no window.
    tokens = [value + system if run.item_count else None for value in series.tokens]
    last = len(numbers)
    marks = [
        (numbers[mark.call], mark.number) for mark in series.boundaries if mark.call is not None and mark.call < last
    ]
    found = _Read(
        numbers, tokens, [call for call, _ in marks], [number for _, number in marks], len(series.boundaries),
        sum(map(bool, series.is_over)), *_sizes(tokens),
    )  # fmt: skip
    with _keeping:
        _kept[key] = found
        while len(_kept) > MOST_KEPT:
            _kept.popitem(last=False)
    return found


def replay_column(run: RunRow, slot: int, spec: EngineSpec | None) -> Column:
    """A replay that is done. At most one query."""
    measured = run.measured
    system = measured.system_tokens if measured else 0
    read = _read(run, system)
    return Column(
        slot, run_key(run), run_name(run, spec), read.numbers, read.tokens, read.boundary_calls, read.boundary_numbers,
        read.boundary_count, "estimated", measured.estimator if measured else "",
        (measured.window or None) if measured else None, _window_from(measured.basis if measured else {}), None, system,
        run, read.over, read.mean, read.peak,
    )  # fmt: skip


def numbers_of(series: RunSeries) -> list[int]:
    """The session's call numbers of a run's calls; where the session reports none, they are counted."""
    known = [index if call is None else call for index, call in enumerate(series.model_call)]
    found = [index + 1 for index in known]
    if all(map(lt, found, islice(found, 1, None))):
        return found
    # Call points of one session rise; one that does not would hide another.
    risen: list[int] = []
    for number in found:
        risen.append(max(number, risen[-1] + 1) if risen else number)
    return risen


def call_words(run: RunRow, number: int) -> tuple[int, str]:
    """Call `number` of a run as the Lab's pages number calls (the session's), and the same in words: of a run that
    numbers it otherwise, both. At most one query."""
    numbers = replay_column(run, 1, None).numbers
    shown = numbers[number - 1] if 0 < number <= len(numbers) else number
    if shown == number:
        return shown, f"call {number:,}"
    return shown, f"call {number:,} of this run, the session's call {shown:,}"


def _window_from(basis: Mapping[str, str]) -> str:
    return {"set": "set for this run", "session": "", "unknown": "not known"}.get(basis.get("window", ""), "")


def run_name(run: RunRow, spec: EngineSpec | None) -> str:
    """A run's name: its engine's label, with what tells it apart from the engine's defaults."""
    said = settings_words(run, spec)
    return f"{run.label} ({said})" if said else run.label


def settings_words(run: RunRow, spec: EngineSpec | None) -> str:
    """What was asked of a run beside its engine's defaults, in a few words; "" where nothing was."""
    usual = {setting.key: setting.default for setting in spec.settings} if spec else {}
    changed = [(key, value) for key, value in run.settings.items() if key in usual and value != usual[key]]
    asked = [(name.replace("_", " "), value) for name, value in run.asked.items() if value not in (None, "")]
    given = [f"{name} {_plain(value)}" for name, value in (*asked, *changed)]
    more = len(given) - MOST_SETTING_WORDS
    return ", ".join(given[:MOST_SETTING_WORDS]) + (f" and {more} more" if more > 0 else "")


def _plain(value: Any) -> str:
    if isinstance(value, bool):
        return "on" if value else "off"
    return words.compact(value) if isinstance(value, int | float) else str(value)[:40]


def lane_of(column: Column) -> DrawnLane:
    """The column reduced for its lane: peaks and the calls beside boundaries stay."""
    at = {number: row for row, number in enumerate(column.numbers)}
    beside = [row + step for call in column.boundary_calls if (row := at.get(call)) is not None for step in (-1, 0)]
    rows = reduced(column.tokens, beside)
    return DrawnLane(
        column.name, [column.numbers[row] for row in rows], [column.tokens[row] for row in rows],
        places(column.boundary_calls), column.boundary_count, column.peak, column.window, column.threshold,
    )  # fmt: skip
