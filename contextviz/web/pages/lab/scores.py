"""The scorecard: what each run cost and kept, a row a metric, with the best of each row said and not only coloured."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from contextviz.analysis.replay.metrics import METRICS
from contextviz.analysis.replay.scorecard import NO_WINDOW
from contextviz.charts import words
from contextviz.services.replay import NO_WINDOWS, RecordedSpend, recorded_spend
from contextviz.store.values import SessionRow
from contextviz.web.pages.lab.columns import Column

Format = Callable[[float | None], str]
NOT_MEASURED = "Not measured yet: replay the session by “As recorded” to measure what was recorded."


@dataclass(frozen=True, slots=True)
class Metric:
    """One row's meaning. `better` is 1 where more is better, −1 where less is, 0 where neither is said."""

    id: str
    name: str
    unit: str
    help: str
    better: int
    show: Format


@dataclass(frozen=True, slots=True)
class Score:
    """One value with its interval (95 %), where the two ends are known, and where it comes from."""

    value: float | None
    low: float | None = None
    high: float | None = None
    basis: str = "unknown"
    # What makes it less than it seems, "" where nothing does
    note: str = ""
    # How many needs it rests on, None for what is not of needs
    count: int | None = None


@dataclass(frozen=True, slots=True)
class ScoreCell:
    """A value in words; `is_best` among the runs beside it."""

    text: str
    interval: str
    basis: str
    is_best: bool
    note: str
    # How many needs it rests on, in words; "" where it is unknown or not of needs
    count: str = ""


@dataclass(frozen=True, slots=True)
class ScoreRow:
    """One metric over the runs."""

    id: str
    name: str
    unit: str
    help: str
    cells: tuple[ScoreCell, ...]


def _share(value: float | None) -> str:
    return words.UNKNOWN if value is None else words.percent(value).removesuffix(f"{words.THIN}%")


def _times(value: float | None) -> str:
    return words.UNKNOWN if value is None else f"{value:,.2f}"


def _dollars(value: float | None) -> str:
    return words.money(value).lstrip("$")


def _whole(value: float | None) -> str:
    return words.tokens(value)


_SHOWN: dict[str, tuple[str, Format]] = {
    "share": ("%", _share), "tokens": ("tok", words.compact), "times": ("×", _times), "count": ("", _whole),
    "USD": ("USD", _dollars),
}  # fmt: skip
# The headline first; the loss of boundaries after what the run needed.
ORDER = (
    "far_recall", "far_reach", "near_recall", "mean_window", "peak_window", "billed_tokens", "cost", "prefix_share",
    "rewrite_factor", "boundaries", "summariser_calls", "coverage", "retention", "reach", "staleness",
)  # fmt: skip
NAMES = {
    "far_recall": "Far need recall", "far_reach": "Far need reach", "near_recall": "Near need recall",
    "retention": "Kept at boundaries", "reach": "Reached at boundaries", "staleness": "Stale of what was kept",
    "billed_tokens": "Billed, main chain", "cost": "Cost, main chain", "prefix_share": "Prefix kept",
    "mean_window": "Mean window, with system prompt", "peak_window": "Peak window, with system prompt",
}  # fmt: skip
_WITH_SYSTEM = (
    " Here the system prompt and tools are counted in, so that it stands beside what was recorded; the command line and"
    " the API leave them out."
)
_MAIN = (
    " Of what was recorded, the turns of the main chain are counted, as in a replay: neither a summariser's calls nor"
    " sub-agents' are in it, so that it may be less than the session's own sum elsewhere."
)
OVER = Metric(
    "over_budget", "Over budget", "calls", "Calls whose window was larger than the budget allows.", -1, _whole
)


def _metric(id: str) -> Metric:
    spec = METRICS[id]
    unit, show = _SHOWN[spec.unit]
    is_window = id in ("mean_window", "peak_window")
    help = spec.what.replace(", without the system prompt", "") + _WITH_SYSTEM if is_window else spec.what
    if id in ("billed_tokens", "cost"):
        help += _MAIN
    better = 0 if id == "boundaries" else 1 if spec.better == "higher" else -1
    return Metric(id, NAMES.get(id, spec.label), unit, help, better, show)


LISTED: tuple[Metric, ...] = (*map(_metric, ORDER), OVER)


def score_rows(row: SessionRow, columns: Sequence[Column]) -> list[ScoreRow]:
    """A row for each metric that at least one run has a value for, and for the headline ones in any case."""
    found = []
    spend = recorded_spend(row.id, row.revision) if any(column.run is None for column in columns) else None
    for metric in LISTED:
        scores = [score_of(row, column, metric.id, spend) for column in columns]
        if all(score.value is None for score in scores) and metric.id not in ("far_recall", "far_reach", "cost"):
            continue
        best = best_of(metric, scores)
        cells = tuple(
            ScoreCell(
                metric.show(score.value), _interval(metric, score), score.basis, place in best, score.note,
                _count(score),
            )
            for place, score in enumerate(scores)
        )  # fmt: skip
        found.append(ScoreRow(metric.id, metric.name, metric.unit, metric.help, cells))
    return found


def best_of(metric: Metric, scores: Sequence[Score]) -> set[int]:
    """The places of the best values: of every one that reads the same as the best; none where all do."""
    known = [(place, score.value) for place, score in enumerate(scores) if score.value is not None]
    values = {metric.show(value) for _, value in known}
    if not metric.better or len(known) < 2 or len(values) < 2:
        return set()
    _, top = max((metric.better * value, value) for _, value in known)
    return {place for place, value in known if metric.show(value) == metric.show(top)}


def _interval(metric: Metric, score: Score) -> str:
    if score.low is None or score.high is None:
        return ""
    return f"{metric.show(score.low)} to {metric.show(score.high)}"


def _count(score: Score) -> str:
    return "" if score.value is None or score.count is None else words.counted(score.count, "need")


def score_of(row: SessionRow, column: Column, metric: str, spend: RecordedSpend | None = None) -> Score:
    """One metric of one run: measured from its windows here, else as its job computed it; `spend` is what was recorded
    of the session's calls, for the recorded run."""
    if column.is_windowless and metric != "summariser_calls":
        return Score(None, note=NO_WINDOW)
    own = _own(column, metric)
    if own is not None:
        return own
    if column.run is None:
        return (_spent(spend, metric) if spend else None) or _recorded(row, column, metric)
    return _kept(column.run.scorecard, metric)


def _own(column: Column, metric: str) -> Score | None:
    """What follows from the series that the page has anyway; recorded and replayed alike."""
    if metric in ("mean_window", "peak_window"):
        value = column.mean if metric == "mean_window" else column.peak
        return Score(value, basis="unknown" if value is None else column.basis)
    if metric == "boundaries":
        return Score(column.boundary_count, basis="derived" if column.run else "reported")
    if column.run is None:
        return None
    if metric == "over_budget":
        return Score(column.over, basis="derived") if column.window else Score(None)
    return None


_COST_NOTES = {
    "reported": "As the client wrote it.", "derived": "From the prices that hold here and the reported tokens.",
    "estimated": "From the prices that hold here; some tokens are estimated.",
}  # fmt: skip


def _spent(spend: RecordedSpend, metric: str) -> Score | None:
    """What the session's own calls say of a metric; None where they say nothing."""
    if metric == "summariser_calls":
        made = spend.summaries
        return Score(made.count, basis="unknown" if made.count is None else "derived", note=made.note)
    if metric == "billed_tokens" and spend.tokens is not None:
        note = "As the provider reported it." if spend.tokens_basis == "reported" else "Some of it is estimated."
        return Score(spend.tokens, basis=spend.tokens_basis, note=note + _without(spend.uncounted, "token count"))
    if metric == "cost" and spend.cost is not None:
        note = _COST_NOTES.get(spend.cost_basis, "") + _without(spend.unpriced, "price")
        return Score(spend.cost, basis=spend.cost_basis, note=note)
    return None


def _without(calls: int, what: str) -> str:
    return f" Left out, without a {what}: {words.counted(calls, 'call')}." if calls else ""


def _recorded(row: SessionRow, column: Column, metric: str) -> Score:
    """From a replay of the recorded windows themselves, where there is one."""
    if not column.scorecard:
        return Score(None, note=NOT_MEASURED if row.snapshot_count else NO_WINDOWS)
    found = _kept(column.scorecard, metric)
    return replace(found, note=f"By the replay of the recorded windows. {found.note}".strip())


def _kept(card: Mapping[str, Any], metric: str) -> Score:
    found = card.get("metrics", {}).get(metric)
    if not isinstance(found, Mapping):
        return Score(None, note="This run has no scorecard.")
    low, high = found.get("interval") or (None, None)
    basis, note = str(found.get("basis", "unknown")), str(found.get("note") or "")
    return Score(found.get("value"), low, high, basis, note, found.get("count"))
