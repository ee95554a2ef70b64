"""What if: another budget or threshold for one run, its cuts shown at once, the whole run by a job."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from contextviz.analysis.lab import places
from contextviz.charts import words
from contextviz.engines.engine import EngineSpec
from contextviz.services import replay
from contextviz.store.viewing import current_viewer
from contextviz.web.pages.lab.columns import Column
from contextviz.web.pages.lab.forms import BIGGEST_TOKENS, BadForm, FieldView, as_typed, asked_of, find_spec, run_form
from contextviz.web.pages.lab.place import LabPlace
from contextviz.web.pages.links import message_url

MAY_RUN = ("operator", "admin", "system")
MOST_CUTS = 12
MOST_EVICTED = 40
MOST_TRIED = 400
MEASURED = ("window", "reserve", "system_tokens", "estimator")
LEAST_WINDOW = 2_000
LEAST_REACH = 100  # of a count that is not of tokens


@dataclass(frozen=True, slots=True)
class EvictedRow:
    """A message that the cut removes."""

    name: str
    url: str
    tokens: int


@dataclass(frozen=True, slots=True)
class CutRow:
    """One cut: where, why, what it leaves; `is_new` where the run as it is has none at that call."""

    number: int
    call: int | None
    url: str
    kind: str
    why: str
    before: int | None
    after: int | None
    evicted: int
    evicted_tokens: int
    is_new: bool


@dataclass(frozen=True, slots=True)
class Slider:
    """A number that can be dragged: its control, and the ends and steps of the range."""

    field: FieldView
    least: str
    most: str
    step: str
    value: str
    unit: str
    # The value as people read it
    said: str


@dataclass(frozen=True, slots=True)
class WhatIfPage:
    """The what-if of one run. `sentence` says what changes; `refused` why nothing can be shown at once, "" where it
    can. `tried` are the calls of all cuts for the chart, `limit` the window tried."""

    column: Column | None
    choices: tuple[tuple[str, str, bool], ...]
    engine: str
    label: str
    sliders: tuple[Slider, ...]
    fixed: tuple[tuple[str, str], ...]
    # All of the form, for a replay with it; the runs that are compared; whether this person may start one
    carried: tuple[tuple[str, str], ...]
    runs: str
    may_run: bool
    error: str
    refused: str
    sentence: str
    note: str
    cuts: tuple[CutRow, ...]
    cut_count: int
    shown_cut: int | None
    evicted: tuple[EvictedRow, ...]
    evicted_count: int
    evicted_tokens: int
    tried: str
    limit: int | None
    peak: int | None
    over: int
    estimator: str
    notes: tuple[str, ...]


def what_if(
    place: LabPlace, columns: Sequence[Column], specs: Sequence[EngineSpec], typed: Mapping[str, str],
    call: int | None, *, is_asked: bool,
) -> WhatIfPage:  # fmt: skip
    """The what-if of the run that the address names, else of the first replay, else of keeping the tail. Its cuts only
    where they are asked for: they take up to some seconds."""
    replays = [column for column in columns if column.run is not None]
    usual = next((one for one in replays if one.boundary_count), replays[0] if replays else None)
    column = next((one for one in replays if one.slot == place.slot), usual)
    spec = find_spec(specs, column.run.key) if column and column.run else find_spec(specs, "keep-tail")
    choices = tuple(
        (f"{one.sign} {one.name}", place.url(view="what-if", slot=one.slot), one is column) for one in replays
    )
    if spec is None:
        gone = "The engine of this run is not installed any more, so it cannot be tried with other numbers."
        return _empty(column, choices, gone)
    filled = _filled(column, spec, typed)
    sliders = _sliders(spec, column, columns, filled)
    page = replace(_empty(column, choices, ""), engine=spec.key, label=spec.label, sliders=sliders)
    page = replace(page, fixed=_fixed(spec, filled, sliders), runs=",".join(place.runs))
    page = replace(page, carried=(*page.fixed, *((one.field.name, one.value) for one in sliders)))
    try:
        asked = asked_of(spec, filled)
    except BadForm as error:
        return replace(page, error=str(error))
    if not is_asked:
        return page
    try:
        found = replay.preview(
            place.session_id, asked.engine, asked.settings, measure=asked.measure, summariser=asked.summariser,
            scorer=asked.scorer,
        )  # fmt: skip
    except (replay.NeedsJob, replay.ReplayRefused) as refusal:
        return replace(page, refused=str(refusal))
    return _told(page, place, columns, found, call)


def _filled(column: Column | None, spec: EngineSpec, typed: Mapping[str, str]) -> dict[str, str]:
    """What the run was made with, and over it what was typed."""
    known: dict[str, str] = {}
    if column is not None and column.run is not None:
        known = as_typed(column.run.settings, spec.settings)
        asked = column.run.asked
        known |= {name: str(asked[name]) for name in MEASURED if asked.get(name) not in (None, "")}
        by = {"summariser": column.run.summariser, "scorer": column.run.scorer}
        known |= {name: one for name, one in by.items() if one}
    return known | {name: value for name, value in typed.items() if value.strip()}


def _sliders(
    spec: EngineSpec, column: Column | None, columns: Sequence[Column], filled: Mapping[str, str]
) -> tuple[Slider, ...]:
    form = run_form([spec], spec, filled)
    sizes = [one.window or 0 for one in columns]
    sizes += [one.peak or 0 for one in columns]
    largest = _round(max([*sizes, 10 * LEAST_WINDOW]) * 1.25)
    # A run that knew no window is tried without one: 0 is taken as not known.
    own = (column.window or 0) if column else max([*sizes, 10 * LEAST_WINDOW])
    found = [_slider(form.measure[0], LEAST_WINDOW if own else 0, largest, own)]
    for field in form.settings:
        if field.is_what_if and field.kind == "number":
            usual = float(field.default.replace(",", "") or 0)
            reach = largest if field.unit == "tokens" else max(LEAST_REACH, 10 * _number(field, usual))
            most = float(field.most or reach)
            found.append(_slider(field, float(field.least or 0), most if most <= 2 else min(most, reach), usual))
    return tuple(found)


def _slider(field: FieldView, least: float, most: float, usual: float) -> Slider:
    """A range from `least` to `most`, wide enough for what stands in it, whose steps meet that value: a browser moves a
    value that lies between two of them, and the cuts with it."""
    value = _number(field, usual)
    if field.step == "any":
        most = max(most, value)
        value = min(max(value, least), most)
        steps = (0.01, 0.001) if most <= 2 else (0.1, 0.01)
        step = next((f"{one:g}" for one in steps if abs((value - least) / one % 1 - 0.5) > 0.5 - 1e-6), "any")
        return Slider(field, f"{least:.12g}", f"{most:.12g}", step, f"{value:.12g}", field.unit, f"{value:,.12g}")
    most = max(most, min(value, BIGGEST_TOKENS), least + 1)
    by = max(10 ** max(len(str(int(most))) - 3, 0), 1)
    value = int(min(value, most))
    first = int(min(least, value))  # a number below is one that somebody asked for
    first += (value - first) % by
    return Slider(field, str(first), str(int(most)), str(by), str(value), field.unit or "tok", f"{value:,}")


def _number(field: FieldView, usual: float) -> float:
    try:
        value = float(field.value.replace(",", "") or usual)
    except ValueError:
        return usual
    return value if value == value else usual


def _round(value: float) -> int:
    power = 10 ** max(len(str(int(value))) - 2, 0)
    return int(-(-value // power) * power)


def _fixed(spec: EngineSpec, filled: Mapping[str, str], sliders: Sequence[Slider]) -> tuple[tuple[str, str], ...]:
    """What else the run was made with, for the form to carry along."""
    shown = {slider.field.name for slider in sliders}
    return tuple((name, value) for name, value in filled.items() if name not in shown)


def _told(
    page: WhatIfPage, place: LabPlace, columns: Sequence[Column], found: replay.WhatIf, call: int | None
) -> WhatIfPage:
    own = page.column or (columns[0] if columns else None)
    base = set(page.column.boundary_calls) if page.column else set()
    rows = [_cut(place, own.numbers if own else [], cut, base) for cut in found.cuts]
    shown = _at(rows, call)
    chosen = next((cut for cut in found.cuts if cut.number == shown), None)
    start = max(next((at for at, row in enumerate(rows) if row.number == shown), 0) - MOST_CUTS // 2, 0)
    unread = f"The first {len(rows):,} of {found.cut_count:,} cuts are looked at."
    return replace(
        page,
        sentence=_sentence(found, page.column),
        note="" if found.cut_count <= len(rows) else unread,
        cuts=tuple(rows[start : start + MOST_CUTS]),
        cut_count=found.cut_count,
        shown_cut=shown,
        evicted=tuple(_evicted(place, one) for one in chosen.evicted[:MOST_EVICTED]) if chosen else (),
        evicted_count=chosen.evicted_count if chosen else 0,
        evicted_tokens=chosen.evicted_tokens if chosen else 0,
        tried=",".join(str(at) for at in places((row.call for row in rows if row.call is not None), MOST_TRIED)),
        limit=found.measured.window or None,
        peak=found.peak_tokens,
        over=found.over,
        estimator=found.measured.estimator,
        notes=(*_differences(found, page.column), *found.notes),
    )


def _differences(found: replay.WhatIf, column: Column | None) -> list[str]:
    """Why the cuts may be others than the run's where not a number was changed."""
    run = column.run if column else None
    if run is None:
        return []
    may = "so the cuts may be others than the run's even with the same numbers."
    said = []
    if run.summariser and found.summariser and run.summariser != found.summariser:
        said.append(f"Here summaries are by {found.summariser}, in the run they are by {run.summariser}, {may}")
    if run.scorer and found.scorer and run.scorer != found.scorer:
        said.append(f"Here likeness is by {found.scorer}, in the run it is by {run.scorer}, {may}")
    if run.is_stale:
        said.append(f"The session has changed since the run was made, {may}")
    return said


def _evicted(place: LabPlace, one: replay.Evicted) -> EvictedRow:
    if one.message is None:
        return EvictedRow(f"{one.role}, message {one.seq + 1:,} of the replay", "", one.tokens)
    name = f"{one.role}, message {one.message + 1:,}"
    return EvictedRow(name, message_url(place.session_id, one.message), one.tokens)


def _cut(place: LabPlace, numbers: Sequence[int], cut: replay.Cut, base: set[int]) -> CutRow:
    call = numbers[cut.call] if cut.call is not None and cut.call < len(numbers) else None
    url = place.url(view="what-if", call=call, boundary=None, node=None) if call is not None else ""
    return CutRow(
        cut.number, call, url, cut.kind, cut.reason or cut.trigger or "", cut.tokens_before, cut.tokens_after,
        cut.evicted_count, cut.evicted_tokens, call not in base,
    )  # fmt: skip


def _at(rows: Sequence[CutRow], call: int | None) -> int | None:
    """The cut whose evicted messages are listed: the last at or before the play-head, else the first."""
    before = [row for row in rows if row.call is not None and call is not None and row.call <= call]
    chosen = before[-1] if before else (rows[0] if rows else None)
    return chosen.number if chosen else None


def _sentence(found: replay.WhatIf, column: Column | None) -> str:
    said = f"{words.counted(found.cut_count, 'cut')} in {words.counted(found.calls, 'call')}"
    if column is not None:
        said += f", where this run has {words.counted(column.boundary_count, 'boundary', 'boundaries')}"
    peak = None if found.peak_tokens is None else found.peak_tokens + found.measured.system_tokens
    return f"{said}. The largest window is ~{words.tokens(peak)} tokens."


def _empty(column: Column | None, choices: tuple[tuple[str, str, bool], ...], refused: str) -> WhatIfPage:
    may_run = current_viewer().role in MAY_RUN
    return WhatIfPage(
        column, choices, "", "", (), (), (), "", may_run, "", refused, "", "", (), 0, None, (), 0, 0, "", None, None, 0,
        "", (),
    )  # fmt: skip
