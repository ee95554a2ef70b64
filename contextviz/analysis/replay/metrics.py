"""The metrics of a run by id (metrics.md section 8): what each is, its unit, and which way is better."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from contextviz.analysis.replay.intervals import Interval

Unit = Literal["share", "times", "tokens", "count", "USD"]
Basis = Literal["derived", "estimated", "unknown"]
Better = Literal["higher", "lower"]


@dataclass(frozen=True, slots=True)
class MetricSpec:
    """A metric: `what` is one sentence for a person."""

    id: str
    label: str
    unit: Unit
    better: Better
    what: str


@dataclass(frozen=True, slots=True)
class Metric:
    """A metric's value for one run. None is unknown or not applicable, and `note` says why; `interval` is at 95 %.

    `count` is how many needs a recall or a reach was measured on, None for other metrics: few of them decide little.
    """

    spec: MetricSpec
    value: float | int | None
    basis: Basis
    interval: Interval | None = None
    note: str = ""
    count: int | None = None


def _spec(id: str, label: str, unit: Unit, better: Better, what: str) -> MetricSpec:
    return MetricSpec(id, label, unit, better, what)


METRICS: Mapping[str, MetricSpec] = {
    one.id: one
    for one in (
        _spec("retention", "Retention", "share", "higher",
              "Of the identifiers that left at boundaries, the share that still stands word for word in the window"
              " right after."),
        _spec("reach", "Reach", "share", "higher",
              "Retention, and what stands there in another spelling or can be got back through a handle that stands"
              " there."),
        _spec("staleness", "Staleness", "share", "lower",
              "Of the identifiers that were kept, the share that no longer held when the rest left: a removed file, an"
              " overwritten value."),
        _spec("near_recall", "Near recall", "share", "higher",
              "Of what calls needed from less than 10,000 tokens back, the share that stands word for word in their"
              " windows."),
        _spec("far_recall", "Far recall", "share", "higher",
              "Of what calls needed from 10,000 tokens back or more, the share that stands word for word in their"
              " windows."),
        _spec("far_reach", "Far reach", "share", "higher",
              "Far recall, and what can be got back through a handle that stands in the window, its bytes verified."),
        _spec("prefix_share", "Prefix share", "share", "higher",
              "Of the tokens of every window but the first, the share that is the unchanged beginning of the window"
              " before."),
        _spec("rewrite_factor", "Rewrite factor", "times", "lower",
              "Newly written tokens of all windows by the largest window: how often it was written over."),
        _spec("mean_window", "Mean window", "tokens", "lower",
              "The mean size of a call's window, without the system prompt."),
        _spec("peak_window", "Peak window", "tokens", "lower",
              "The largest window of any call, without the system prompt."),
        _spec("boundaries", "Boundaries", "count", "lower",
              "How often something was taken out of the window: compactions, trims, moves and clears."),
        _spec("summariser_calls", "Summariser calls", "count", "lower",
              "How often a summariser was asked."),
        _spec("coverage", "Coverage", "share", "higher",
              "Of the messages that boundaries dropped, the share that exactly one summary stands for at the end."),
        _spec("billed_tokens", "Billed tokens", "tokens", "lower",
              "Prompt and answer tokens of all calls, the system prompt in every one; the summariser's own are not in"
              " it."),
        _spec("cost", "Cost", "USD", "lower",
              "What those tokens cost at the model's list prices, a kept prefix read from a cache that never expires."),
    )
}  # fmt: skip
