"""Scorecards as a table that a person can read: a row for each metric, a column for each engine."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TextIO

from contextviz.analysis.replay import METRICS, Metric, sentences
from contextviz.analysis.replay.metrics import MetricSpec
from contextviz.cli.inspect_table import DASH, plural, safe
from contextviz.cli.replay.measuring import Measured
from contextviz.cli.replay.reading import Opened

MOST_NOTES = 20
MOST_LABELS = 4  # of metrics that are unknown for one reason
# Sizes of both kinds stand in one table, so each says what it counts.
SYSTEM_PROMPT = {
    "mean_window": "without system prompt", "peak_window": "without system prompt",
    "billed_tokens": "with system prompt", "cost": "with system prompt",
}  # fmt: skip


def print_table(opened: Opened, runs: list[Measured], out: TextIO) -> None:
    """Print the session, the metrics and the notes. Unknown is an em dash, its reason below; an interval is in
    brackets."""
    material = opened.material
    out.write(
        f"{safe(opened.transcript.session.id)}: {plural(len(material.messages), 'message')} and"
        f" {plural(len(material.points), 'model call')} to replay\n\n"
    )
    rows = [["", *(safe(one.run.key) for one in runs)]]
    rows += [[label_of(spec), *(_cell(one.card.metrics[id]) for one in runs)] for id, spec in METRICS.items()]
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    for row in rows:
        cells = [row[0].ljust(widths[0])] + [cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True)]
        out.write("  ".join(cells).rstrip() + "\n")
    for one in runs:
        said = [*sentences(one.card), *one.run.notes]
        unknown = list(_unknown(one))
        if said or unknown:
            out.write(f"\n{safe(one.run.key)}:\n")
            out.writelines(f"  {safe(note)}\n" for note in [*unknown, *said[:MOST_NOTES]])
            if len(said) > MOST_NOTES:
                out.write(f"  and {len(said) - MOST_NOTES} more, in --json.\n")


def label_of(spec: MetricSpec) -> str:
    """A metric's name in the table: of a size also whether the system prompt is in it."""
    counted = SYSTEM_PROMPT.get(spec.id)
    return f"{spec.label}, {counted}" if counted else spec.label


def _unknown(one: Measured) -> Iterator[str]:
    """A line for each reason why a metric has no value: "— Cost: …"."""
    reasons: dict[str, list[str]] = {}
    for metric in one.card.metrics.values():
        if metric.value is None:
            reasons.setdefault(metric.note, []).append(metric.spec.label)
    for reason, labels in reasons.items():
        more = f" and {len(labels) - MOST_LABELS} more" if len(labels) > MOST_LABELS else ""
        yield f"{DASH} {', '.join(labels[:MOST_LABELS])}{more}: {reason}"


def needs_words(metric: Metric) -> str:
    """How many needs a value rests on, in words; "" for a metric that is not of needs."""
    return "" if metric.count is None else plural(metric.count, "need")


def _cell(metric: Metric) -> str:
    return f"{shown(metric)} ({needs_words(metric)})" if metric.value is not None and metric.count else shown(metric)


def shown(metric: Metric) -> str:
    """A value in its unit, with its interval where there is one."""
    value = metric.value
    if value is None:
        return DASH
    if metric.spec.unit == "share":
        inside = f" [{metric.interval[0]:.1%}, {metric.interval[1]:.1%}]" if metric.interval else ""
        return f"{value:.1%}{inside}"
    if metric.spec.unit == "times":
        return f"{value:,.2f}×"
    if metric.spec.unit == "USD":
        return f"${value:,.4f}"
    return f"{value:,.0f}"
