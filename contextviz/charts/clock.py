"""A wall clock as an axis, with long idle stretches folded to narrow bands of equal width."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import pairwise

from contextviz.charts import words
from contextviz.charts.figure import nice_step

IDLE = timedelta(minutes=5)
_BAND = 0.035  # of the width: 28 px of 800
_STEPS = (1, 5, 10, 15, 30, 60, 120, 180, 360, 720, 1440, 2880, 10080)  # minutes between ticks


@dataclass(frozen=True, slots=True)
class Gap:
    """One folded idle stretch: where it stands on the axis (0…1) and how long it was."""

    x0: float
    x1: float
    seconds: float

    @property
    def text(self) -> str:
        """Its length in words."""
        return words.duration(self.seconds)


@dataclass(frozen=True, slots=True)
class Clock:
    """Maps moments to 0…1. `edges` are moments (seconds), `places` where they stand; linear between them."""

    edges: tuple[float, ...]
    places: tuple[float, ...]
    gaps: tuple[Gap, ...]

    def x(self, moment: datetime) -> float:
        """Where a moment stands; before the first is 0, after the last 1."""
        at = seconds(moment)
        right = bisect_right(self.edges, at)
        if right == 0:
            return 0.0
        if right == len(self.edges):
            return 1.0
        start, end = self.edges[right - 1], self.edges[right]
        share = (at - start) / (end - start)
        return self.places[right - 1] + share * (self.places[right] - self.places[right - 1])

    def ticks(self, wanted: int = 8) -> list[tuple[float, str]]:
        """Round times and their places, none inside a folded stretch and none too near to another."""
        shown = self.edges[-1] - self.edges[0] - sum(gap.seconds for gap in self.gaps)
        step = next((m for m in _STEPS if m * 60 >= shown / wanted), None) or nice_step(shown / 60, wanted)
        days = datetime.fromtimestamp(self.edges[0], UTC).date() != datetime.fromtimestamp(self.edges[-1], UTC).date()
        found: list[tuple[float, str]] = []
        for start, end in self._stretches():
            at = -(-start // (step * 60)) * step * 60
            while at <= end and len(found) < 4 * wanted:
                moment = datetime.fromtimestamp(at, UTC)
                place = self.x(moment)
                if not found or place - found[-1][0] > 0.6 / wanted:
                    found.append((place, f"{moment.day} {moment:%b %H:%M}" if days else f"{moment:%H:%M}"))
                at += step * 60
        return found

    def _stretches(self) -> list[tuple[float, float]]:
        folded = {gap.x0 for gap in self.gaps}
        pairs = zip(self.edges, self.edges[1:], self.places, strict=False)
        return [(start, end) for start, end, place in pairs if place not in folded]


def seconds(moment: datetime) -> float:
    """A moment in seconds; one without a zone is taken as UTC."""
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


def clock(spans: Iterable[tuple[datetime, datetime]], idle: timedelta = IDLE) -> Clock | None:
    """The clock over these stretches of activity (a moment is a stretch of no length); None without two moments."""
    busy = _merged(sorted((seconds(start), seconds(end)) for start, end in spans))
    points = sorted({at for span in busy for at in span})
    if len(points) < 2:
        return None
    limit = idle.total_seconds()
    rests = {(before[1], after[0]) for before, after in pairwise(busy)}
    pairs = list(pairwise(points))
    total = points[-1] - points[0]
    # A stretch is folded only where that saves room: a short session's five minutes stay as they are.
    folded = {pair for pair in pairs if pair in rests and pair[1] - pair[0] > max(limit, 2 * _BAND * total)}
    long = [end - start for start, end in folded]
    band = min(_BAND, 0.3 / len(long)) if long else 0.0
    active = total - sum(long)
    room = 1.0 - band * len(long)
    edges, places, gaps = [points[0]], [0.0], []
    for start, end in pairs:
        width = band if (start, end) in folded else (end - start) / active * room if active else room / len(pairs)
        if (start, end) in folded:
            gaps.append(Gap(places[-1], places[-1] + width, end - start))
        edges.append(end)
        places.append(places[-1] + width)
    scale = places[-1] or 1.0
    return Clock(
        tuple(edges),
        tuple(place / scale for place in places),
        tuple(Gap(gap.x0 / scale, gap.x1 / scale, gap.seconds) for gap in gaps),
    )


def _merged(spans: list[tuple[float, float]]) -> list[tuple[float, float]]:
    merged: list[tuple[float, float]] = []
    for start, end in spans:
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(merged[-1][1], end))
        else:
            merged.append((start, max(start, end)))
    return merged
