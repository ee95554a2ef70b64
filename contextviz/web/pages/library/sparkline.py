"""The window over a session's calls as SVG paths in a box of 100 by 24."""

from __future__ import annotations

from dataclasses import dataclass

from contextviz.charts import words
from contextviz.store.queries.sparklines import Sparkline

WIDTH, HEIGHT = 100.0, 24.0
LEAST = 1.0  # height of the largest that is drawn: a lower one would be the edge of an empty box
EDGE = 1.5  # no compaction is nearer to a side, whose edge it would seem


@dataclass(frozen=True, slots=True)
class Spark:
    """What components/sparkline.html draws."""

    # Path data of the filled area and of the line above it; calls of unknown size leave a gap
    area: str
    line: str
    # Height of the window line, None where the window is unknown
    limit: float | None
    # Where compactions stand
    marks: list[float]
    # The picture in a sentence
    label: str
    # What stands there where all are too low to be seen under their window, "" where they are drawn
    instead: str = ""


def spark(line: Sparkline | None) -> Spark | None:
    """The picture, None where no size is known."""
    known = [value for value in line.tokens if value is not None] if line else []
    if line is None or not known:
        return None
    top = max([*known, line.window or 0, 1]) * 1.04
    step = WIDTH / len(line.tokens)
    outline, area = [], []
    for start, run in _runs(line.tokens):
        points = [(start + place, HEIGHT - value / top * HEIGHT) for place, value in enumerate(run)]
        steps = "".join(f"V{_short(y)}H{_short((place + 1) * step)}" for place, y in points)
        left, first = points[0][0] * step, points[0][1]
        outline.append(f"M{_short(left)} {_short(first)}{steps}")
        area.append(f"M{_short(left)} {HEIGHT:.0f}{steps}V{HEIGHT:.0f}Z")
    begin, end, most = (words.compact(value) for value in (known[0], known[-1], max(known)))
    label = f"Window from {begin} to {end} tokens, largest {most}"
    limit = round(HEIGHT - line.window / top * HEIGHT, 1) if line.window else None
    if line.window and max(known) / top * HEIGHT < LEAST:
        return Spark("", "", None, [], label, f"at most {words.percent(max(known) / line.window)}")
    marks = [round(min(max(mark * WIDTH, EDGE), WIDTH - EDGE), 1) for mark in line.marks]
    return Spark("".join(area), "".join(outline), limit, marks, label)


def _short(number: float) -> str:
    return f"{number:.1f}".removesuffix(".0")


def _runs(tokens: tuple[int | None, ...]) -> list[tuple[int, list[int]]]:
    """Neighbouring known values, each run with the place where it begins."""
    runs: list[tuple[int, list[int]]] = []
    for place, value in enumerate(tokens):
        if value is None:
            continue
        if runs and runs[-1][0] + len(runs[-1][1]) == place:
            runs[-1][1].append(value)
        else:
            runs.append((place, [value]))
    return runs
