"""The Lab's page: runs of one session compared on one scrubber."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from django.urls import reverse

from contextviz.charts import lab as lab_chart
from contextviz.charts import lab_scores, words
from contextviz.engines.engine import EngineSpec
from contextviz.services import figures, replay
from contextviz.store.queries import runs
from contextviz.store.queries.runs import RunRow
from contextviz.store.values import NotFound, SessionRow
from contextviz.store.viewing import current_viewer
from contextviz.web.pages.held import title_of
from contextviz.web.pages.lab.at import AtCall, at_call
from contextviz.web.pages.lab.cards import RunCard, WaitingRuns, run_card, version_words, waiting_runs
from contextviz.web.pages.lab.columns import Column, recorded_column, replay_column, run_key, run_name
from contextviz.web.pages.lab.forms import AS_RECORDED, RunForm, default_engines, find_spec, run_form
from contextviz.web.pages.lab.place import MOST_RUNS_SHOWN, RECORDED, LabPlace
from contextviz.web.pages.lab.scores import ScoreRow, score_of, score_rows
from contextviz.web.pages.lab.what_if import MAY_RUN
from contextviz.web.pages.tabs import Tab, session_tabs


@dataclass(frozen=True, slots=True)
class Chart:
    """A figure with its sentence and its table twin."""

    src: str
    height: int
    summary: str
    columns: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()


@dataclass(frozen=True, slots=True)
class RunChoice:
    """A run that can be chosen for the comparison."""

    key: str
    name: str
    detail: str
    is_chosen: bool


@dataclass(frozen=True, slots=True)
class ParetoPoint:
    """A run on the Pareto plot, as charts.lab_scores draws it."""

    name: str
    mean_window: float | None
    recall: float | None
    low: float | None = None
    high: float | None = None
    reach: float | None = None
    count: int | None = None


@dataclass(frozen=True, slots=True)
class LabPage:
    """Everything the Lab shows. Without a replay `columns` hold the recorded run alone, or nothing."""

    row: SessionRow
    title: str
    tabs: list[Tab]
    place: LabPlace
    # Their keys, as an address names them; "" while only what was recorded can be compared
    runs: str
    columns: list[Column]
    cards: list[RunCard]
    choices: list[RunChoice]
    # Runs that are done and not compared, in words, "" for none
    left_out: str
    waiting: WaitingRuns
    has_replays: bool
    may_run: bool
    form: RunForm
    is_form_open: bool
    defaults: str
    fill: Chart | None
    calls: int
    pareto: Chart | None
    # Why there is no such plot
    no_pareto: str
    scores: list[ScoreRow]
    at: AtCall | None
    notices: tuple[str, ...]
    most_runs: int


@dataclass(frozen=True, slots=True)
class Comparison:
    """What was read for a comparison: the chosen runs as columns, and what there is beside them."""

    row: SessionRow
    place: LabPlace
    columns: list[Column]
    all_runs: list[RunRow]
    specs: list[EngineSpec]
    notices: tuple[str, ...]

    @property
    def call(self) -> int | None:
        """The call at the play-head: as asked, moved onto one that a run has; the last one by itself."""
        last = max((column.numbers[-1] for column in self.columns if column.numbers), default=None)
        if last is None:
            return None
        first = min(column.numbers[0] for column in self.columns if column.numbers)
        return last if self.place.call is None else min(max(self.place.call, first), last)


def compared(row: SessionRow, place: LabPlace) -> Comparison:
    """The runs that an address names, or those to begin with: what was recorded, and the newest replays. One query for
    each replay, and two."""
    found = runs.runs_of(row.id)
    known = {run_key(run): run for run in found}
    keys, notices = _keys(row, place, known)
    specs = replay.catalogue()
    columns = []
    for slot, key in enumerate(keys, start=1):
        if key == RECORDED:
            columns.append(recorded_column(row, figures.strip_of(row.id), slot, _recorded_card(row, found)))
        else:
            run = known[key]
            columns.append(replay_column(run, slot, find_spec(specs, run.key)))
    return Comparison(row, replace(place, runs=tuple(keys)), columns, found, specs, notices)


def _recorded_card(row: SessionRow, found: Sequence[RunRow]) -> dict[str, Any] | None:
    """The scorecard of the newest replay of the recorded windows, None where the session has none of them."""
    if not row.snapshot_count:
        return None
    return next(
        (run.scorecard for run in found if run.engine == AS_RECORDED and run.is_done and not run.is_stale), None
    )


def _keys(row: SessionRow, place: LabPlace, known: Mapping[str, RunRow]) -> tuple[list[str], tuple[str, ...]]:
    notices = list(place.notices)
    keys = []
    for key in place.runs:
        run = known.get(key)
        if key == RECORDED:
            keys.append(key)
        elif run is None:
            notices.append(f"There is no run {key[:12]} of this session, or it was deleted.")
        elif run.is_done:
            keys.append(key)
        elif run.is_finished:
            notices.append(f"The run by {run.label} did not come to its end: {run.outcome or run.state}")
    if not place.runs:
        if place.boundary or place.node or place.only or place.slot:
            notices.append(
                "This address does not say which runs it counts: the newest are compared, perhaps others than before."
            )
        # What was recorded stands there by itself; its replay is only measured.
        others = [
            key for key, run in known.items() if run.is_done and not (row.call_count and run.engine == AS_RECORDED)
        ]
        newest = others[: MOST_RUNS_SHOWN - bool(row.call_count)]
        keys = [*([RECORDED] if row.call_count else []), *reversed(newest)]
    return keys, tuple(notices)


def run_of(place: LabPlace, key: str) -> RunRow:
    """A run of the session by what addresses call it; raises NotFound."""
    found = next((run for run in runs.runs_of(place.session_id) if run_key(run) == key[-8:].lower()), None)
    if found is None:
        raise NotFound(f"Session {place.session_id} has no run {key[:40]}.")
    return found


def lab_page(
    found: Comparison, typed: Mapping[str, str], *, error: str = "", wrong: str = "", is_asked: bool = False
) -> LabPage:
    """The page; `typed` is what its forms hold, `error` why the last of them was not taken and `wrong` the field."""
    row, place, specs = found.row, found.place, found.specs
    spec = find_spec(specs, place.engine) or next(iter(default_engines(specs)), specs[0])
    notices = list(found.notices)
    if place.engine and find_spec(specs, place.engine) is None:
        notices.append(f"There is no engine {place.engine[:40]!r} here; the form is that of {spec.label}.")
    call = found.call
    if call is not None and place.call is not None and call != place.call:
        notices.append(f"No run has call {place.call:,}; the play-head stands at call {call:,}.")
    cards = [run_card(place, column, specs) for column in found.columns]
    at = None if call is None else at_call(row, place, found.columns, specs, call, typed, is_asked=is_asked)
    notices += at.notices if at else ()
    defaults = default_engines(specs, has_windows=bool(row.snapshot_count))
    has_replays = any(run.is_done for run in found.all_runs)
    return LabPage(
        row=row, title=title_of(row), tabs=session_tabs(row, "lab"), place=place,
        runs=",".join(place.runs) if has_replays else "", columns=found.columns, cards=cards,
        choices=_choices(found), left_out=_left_out(found), has_replays=has_replays,
        waiting=waiting_runs(row.id, found.all_runs, is_fresh=not has_replays),
        may_run=current_viewer().role in MAY_RUN,
        form=run_form(specs, spec, typed if place.view != "what-if" or error else {}, error=error, wrong=wrong),
        is_form_open=bool(error or place.engine), defaults=words.listed([one.label for one in defaults]),
        fill=_fill(found), calls=max((column.numbers[-1] for column in found.columns if column.numbers), default=0),
        pareto=_pareto(found), no_pareto=_no_pareto(found), scores=score_rows(row, found.columns),
        at=at, notices=tuple(notices), most_runs=replay.MOST_RUNS,
    )  # fmt: skip


def _choices(found: Comparison) -> list[RunChoice]:
    chosen = set(found.place.runs)
    listed = []
    if found.row.call_count:
        listed.append(RunChoice(RECORDED, "Recorded", "what the agent really did", RECORDED in chosen))
    for run in found.all_runs:
        if run.is_done:
            name = run_name(run, find_spec(found.specs, run.key))
            detail = words.counted(run.boundary_count, "boundary", "boundaries")
            version = version_words(run, find_spec(found.specs, run.key))
            detail = f"{version}, {detail}" if version else detail
            listed.append(RunChoice(run_key(run), name, detail, run_key(run) in chosen))
    return listed


def _left_out(found: Comparison) -> str:
    # A replay of the recorded windows is only measured; its numbers stand in the recorded column.
    names = [
        run_name(run, find_spec(found.specs, run.key))
        for run in found.all_runs
        if run.is_done and run_key(run) not in found.place.runs
        and not (run.engine == AS_RECORDED and RECORDED in found.place.runs)
    ]  # fmt: skip
    if len(names) > 2:
        return f"{names[0]} and {len(names) - 1:,} more are not shown"
    return f"{words.listed(names)} {'are' if len(names) > 1 else 'is'} not shown" if names else ""


def _fill(found: Comparison) -> Chart | None:
    if not found.columns:
        return None
    rows = []
    for column in found.columns:
        rows.append(
            (
                f"{column.sign} {column.name}", words.tokens(len(column.numbers)),
                words.compact(column.peak), words.compact(column.tokens[-1] if column.tokens else None),
                words.compact(column.window), words.tokens(column.boundary_count),
            )
        )  # fmt: skip
    return Chart(
        f"{reverse('lab_fill', args=[found.row.id])}?runs={','.join(found.place.runs)}",
        lab_chart.height(len(found.columns)),
        lab_chart.summary(found.columns), ("Run", "calls", "largest, tok", "last, tok", "window, tok", "boundaries"),
        tuple(rows),
    )  # fmt: skip


def points(found: Comparison) -> tuple[list[ParetoPoint], list[ParetoPoint]]:
    """The compared runs on the Pareto plot, and beside them the baselines that were run too."""
    own = [
        _point(found.row, column, f"{column.sign} {column.run.label if column.run else column.name}")
        for column in found.columns
    ]
    chosen = {column.run.id for column in found.columns if column.run}
    others = []
    for run in found.all_runs:
        spec = find_spec(found.specs, run.key)
        if run.is_done and run.id not in chosen and spec is not None and spec.is_baseline:
            metrics = run.scorecard.get("metrics", {})
            mean = (metrics.get("mean_window") or {}).get("value")
            system = run.measured.system_tokens if run.measured else 0
            others.append(
                ParetoPoint(
                    run_name(run, spec), None if mean is None else mean + system,
                    (metrics.get("far_recall") or {}).get("value"),
                    count=(metrics.get("far_recall") or {}).get("count"),
                )
            )  # fmt: skip
    return own, others


def _point(row: SessionRow, column: Column, name: str) -> ParetoPoint:
    recall, reach = score_of(row, column, "far_recall"), score_of(row, column, "far_reach")
    return ParetoPoint(
        name,
        score_of(row, column, "mean_window").value,
        recall.value,
        recall.low,
        recall.high,
        reach.value,
        recall.count,
    )


def _pareto(found: Comparison) -> Chart | None:
    own, others = points(found)
    if not any(one.recall is not None and one.mean_window is not None for one in own):
        return None
    rows = tuple(
        (
            one.name, words.compact(one.mean_window), words.percent(one.recall),
            f"{words.percent(one.low)} to {words.percent(one.high)}" if one.low is not None else words.UNKNOWN,
            words.percent(one.reach), words.tokens(one.count),
        )
        for one in [*own, *others]
    )  # fmt: skip
    return Chart(
        f"{reverse('lab_pareto', args=[found.row.id])}?runs={','.join(found.place.runs)}", 250,
        lab_scores.summary(own),
        ("Run", "mean window, tok", "far recall", "interval, 95 %", "far reach", "needs"), rows,
    )  # fmt: skip


def _no_pareto(found: Comparison) -> str:
    """Why nothing can be drawn of far recall."""
    replays = [column for column in found.columns if column.run is not None]
    if not replays:
        return "Measured for replays: what each call of the recorded run needed is looked for in the windows of others."
    said = {score_of(found.row, column, "far_recall").note for column in replays}
    return " ".join(sorted(note for note in said if note)) or "Far recall is not known for these runs."
