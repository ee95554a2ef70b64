"""The scorecard of a run: every metric of metrics.md section 8, and what stands behind them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from contextviz.analysis.compaction.loss import STATES
from contextviz.analysis.replay.billing import Bill, CallOutput, SummaryCalls, bill, is_windowless
from contextviz.analysis.replay.coverage import Coverage, coverage
from contextviz.analysis.replay.history import HistoryMessage
from contextviz.analysis.replay.metrics import METRICS, Basis, Metric
from contextviz.analysis.replay.needs import Needs
from contextviz.analysis.replay.prefix import Stability, stability
from contextviz.analysis.replay.recall import Recall, Share, recall
from contextviz.analysis.replay.retention import Retention, retention
from contextviz.events.run import Run
from contextviz.events.text import TextPool
from contextviz.tokens.prices import PriceTable

THRASH_BOUNDARIES = 3
THRASH_TURNS = 10
MOST_CULPRITS = 20
# What is known of a run although none of its windows is
_WITHOUT_WINDOWS = frozenset({"summariser_calls"})
Json = dict[str, object]
Value = tuple[float | int | None, Basis, str]
NO_WINDOW = "No window is known for any call of this run."


@dataclass(slots=True)
class Scorecard:
    """The metrics of one run by id. `thrash` is how many boundaries lie among three or more within ten turns,
    `overshoot` how many calls had a window beyond the budget (None: no budget is known)."""

    metrics: dict[str, Metric]
    thrash: int
    overshoot: int | None
    recall: Recall
    retention: Retention
    stability: Stability
    coverage: Coverage
    bill: Bill
    needs: Needs

    def value(self, id: str) -> float | int | None:
        """The value of a metric by its id; raises KeyError for one there is not."""
        return self.metrics[id].value

    def as_json(self) -> Json:
        """Plain values, in the order of metrics.md; shares are not rounded. Without any window, what is behind the
        metrics is null as they are."""
        known = self.recall.is_known
        behind = self._behind()
        return {
            "metrics": {id: _metric_json(metric) for id, metric in self.metrics.items()},
            "thrash": self.thrash if known else None,
            "overshoot_calls": self.overshoot,
            "needs": {
                "grammar": self.needs.grammar,
                "answered_calls": self.needs.answered,
                "total": self.needs.total,
                "left_out": self.needs.left_out,
                "bands": [
                    {"distance": name, "needed": needed}
                    | ({"found": found, "reached": reached} if known else {"found": None, "reached": None})
                    for name, needed, found, reached in self.recall.bands
                ],
            },
            **(behind if known else _blank(behind)),
        }

    def _behind(self) -> Json:
        return {
            "losses": {
                "boundaries": self.retention.boundaries,
                "boundaries_read": self.retention.read,
                "states": {state: self.retention.states[state] for state in STATES},
                "notes": list(self.retention.notes),
            },
            "prefix": {
                "breaks": self.stability.breaks,
                "culprits": [culprit._asdict() for culprit in self.stability.culprits[:MOST_CULPRITS]],
            },
            "coverage": {
                "dropped": self.coverage.dropped,
                "once": self.coverage.once,
                "gaps": self.coverage.gap_count,
                "overlaps": self.coverage.overlap_count,
                "cycles": len(self.coverage.cycles),
                "depth": self.coverage.depth,
                "fan_in": self.coverage.fan_in,
            },
            "bill": {
                "cache_read": self.bill.cached,
                "written": self.bill.written,
                "output": self.bill.output,
                "unpriced_calls": self.bill.unpriced.total(),
            },
        }


def _blank(values: Json) -> Json:
    """The same with null for every number."""
    return {
        name: _blank(value) if isinstance(value, dict) else None if isinstance(value, int) else value
        for name, value in values.items()
    }


def scorecard(
    run: Run, pool: TextPool, *, history: Sequence[HistoryMessage], needs: Needs,
    outputs: Sequence[CallOutput] = (), prices: PriceTable | None = None, root: str | None = None,
    summaries: SummaryCalls | None = None,
) -> Scorecard:  # fmt: skip
    """Measure `run`. `needs` are those of the recorded session (the same for every engine), `outputs` its answers by
    call, `prices` the table for `cost`; `root` is the session's folder, which paths are compared relative to.

    `summaries` is for a run of what was recorded: what the session says of its own summariser. Where a run has calls
    and no window at all, all that is read from windows is unknown.
    """
    kept = retention(run, pool, history, root=root)
    met = recall(run, pool, needs, history=history)
    stable, covered, billed = stability(run.calls), coverage(run), bill(run, outputs, prices)
    values: dict[str, Value] = {
        **_loss_values(kept),
        **_window_values(run, stable),
        "coverage": _coverage_value(covered),
        **_bill_values(billed, run.measured.estimator),
    }
    if summaries is not None:
        values["summariser_calls"] = _known(summaries.count, "derived", summaries.note, summaries.note)
    if is_windowless(run):
        values = {id: found if id in _WITHOUT_WINDOWS else (None, "unknown", NO_WINDOW) for id, found in values.items()}
    shares = dict(zip(("near_recall", "far_recall", "far_reach"), met.shares(), strict=True))
    metrics = {
        id: _of_share(id, shares[id], needs) if id in shares else _of_value(id, values[id]) for id in METRICS
    }  # fmt: skip
    measured = run.measured
    budget = max(0, measured.window - measured.system_tokens - measured.reserve)
    has_budget = bool(measured.window) and not is_windowless(run)
    overshoot = sum(call.tokens > budget for call in run.calls) if has_budget else None
    return Scorecard(metrics, thrash(run), overshoot, met, kept, stable, covered, billed, needs)


def thrash(run: Run) -> int:
    """How many boundaries are among THRASH_BOUNDARIES or more within THRASH_TURNS turns."""
    turns = [run.messages[boundary.messages - 1].turn for boundary in run.boundaries if boundary.messages > 0]
    caught: set[int] = set()
    for first in range(len(turns) - THRASH_BOUNDARIES + 1):
        last = first + THRASH_BOUNDARIES - 1
        if turns[last] - turns[first] < THRASH_TURNS:
            caught.update(range(first, last + 1))
    return len(caught)


def _loss_values(kept: Retention) -> dict[str, Value]:
    said = " ".join(kept.notes)
    nothing = "No boundary took an identifier out of the window."
    by_id = {"retention": kept.retention, "reach": kept.reach, "staleness": kept.staleness}
    return {
        id: (value, "derived", said) if value is not None else
            (None, "unknown", nothing if id != "staleness" or not kept.rows else "Nothing of what left was kept.")
        for id, value in by_id.items()
    }  # fmt: skip


def _window_values(run: Run, stable: Stability) -> dict[str, Value]:
    sizes = [call.tokens for call in run.calls]
    counted = f"Counted by {run.measured.estimator}."
    none = "The session has no model call."
    one = "There are fewer than two calls."
    mean = sum(sizes) / len(sizes) if sizes else None
    return {
        "prefix_share": _known(stable.prefix_share, "estimated", counted, one),
        "rewrite_factor": _known(stable.rewrite_factor, "estimated", counted, none),
        "mean_window": _known(mean, "estimated", counted, none),
        "peak_window": _known(max(sizes, default=None), "estimated", counted, none),
        "boundaries": (len(run.boundaries), "derived", ""),
        "summariser_calls": (run.summariser_calls, "derived", f"By {run.summariser}." if run.summariser else ""),
    }


def _coverage_value(covered: Coverage) -> Value:
    missing = "No boundary says which messages it dropped."
    if not covered.is_told:
        missing = "Nothing says which messages its summaries were made from."
    return _known(covered.share, "derived", "", missing)


def _bill_values(billed: Bill, estimator: str) -> dict[str, Value]:
    basis: Basis = billed.basis
    answers = "answers as reported" if billed.are_answers_reported else "and so are answers without reported tokens"
    note = f"Windows are counted by {estimator}, {answers}."
    missing = "The recorded answers' tokens are not known."
    return {
        "billed_tokens": _known(billed.tokens, basis, note, missing),
        "cost": _known(billed.cost, basis, note, billed.why_no_cost or missing),
    }


def _known(value: float | int | None, basis: Basis, note: str, missing: str) -> Value:
    return (value, basis, note) if value is not None else (None, "unknown", missing)


def _of_value(id: str, found: Value) -> Metric:
    value, basis, note = found
    return Metric(METRICS[id], value, basis, None, note)


def _of_share(id: str, share: Share, needs: Needs) -> Metric:
    if not share.is_known:
        return Metric(METRICS[id], None, "unknown", None, NO_WINDOW, share.needed)
    if share.value is None:
        where = "from that far back" if needs.total else "of its history by name"
        return Metric(METRICS[id], None, "unknown", None, f"No call needed anything {where}.", 0)
    note = f"{share.found:,} of {share.needed:,} needs."
    return Metric(METRICS[id], share.value, "derived", share.interval, note, share.needed)


def _metric_json(metric: Metric) -> Json:
    return {
        "value": metric.value,
        "unit": metric.spec.unit,
        "basis": metric.basis,
        "interval": list(metric.interval) if metric.interval else None,
        "count": metric.count,
        "better": metric.spec.better,
        "what": metric.spec.what,
        "note": metric.note,
    }


def sentences(card: Scorecard) -> Iterator[str]:
    """What a person should know beside the numbers: thrash and windows beyond the budget."""
    if card.thrash:
        yield f"{card.thrash:,} boundaries follow each other closely: three or more within {THRASH_TURNS} turns."
    if card.overshoot:
        many = "window is" if card.overshoot == 1 else "windows are"
        yield f"{card.overshoot:,} {many} beyond the budget."
